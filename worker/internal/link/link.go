// Package link carries calls between a parent and the child process it started, over a pair of pipes.
//
// It takes two byte streams and gives both ends the same abilities: Call sends a request and waits for its reply,
// Notify sends a message that has none, and a Handler answers what the other end asks. The kernel evaluates cells
// through it, and a running cell asks the kernel for input or shows a picture through the same two pipes.
//
// On the wire a message is a four-byte big-endian length, a CBOR head of that length, and then the message's
// blobs, as they are. Blobs stand outside the head so that a value of a gigabyte is written from the buffer that
// it was encoded into and read into the buffer that it will be decoded from: CBOR inside CBOR would copy it at
// each step.
package link

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

const (
	maxHead = 64 << 20
	maxBlob = 1 << 40
	// A claimed length is believed this far before bytes have arrived; beyond it the buffer grows with them.
	firstAlloc = 16 << 20
)

// ErrClosed is returned by calls that were waiting, or were made, after the other end was gone.
var ErrClosed = errors.New("the other process closed the connection")

// Message is one request, reply or notification.
type Message struct {
	Method string
	Body   cbor.RawMessage // one CBOR item
	Blobs  [][]byte
}

// Decode reads the message's body into v.
func (m *Message) Decode(v any) error {
	if err := decoding.Unmarshal(m.Body, v); err != nil {
		return fmt.Errorf("read the body of a %q message: %w", m.Method, err)
	}
	return nil
}

// New makes a message of v, which CBOR must be able to hold, and of blobs that travel as they are.
func New(method string, v any, blobs ...[]byte) (*Message, error) {
	body, err := encoding.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write the body of a %q message: %w", method, err)
	}
	return &Message{Method: method, Body: body, Blobs: blobs}, nil
}

// Handler answers one request. Its context ends when the caller gave up or the connection ended. The error's text
// is what the caller sees.
type Handler func(ctx context.Context, request *Message) (*Message, error)

// RemoteError is an error that the other process' Handler returned.
type RemoteError struct{ Method, Text string }

func (e *RemoteError) Error() string { return e.Text }

// Config says how a Peer treats what arrives. Nil fields are left out.
type Config struct {
	Handle Handler        // requests; each runs in its own goroutine
	Notify func(*Message) // notifications; in order, in the reading goroutine
	Before func()         // called before any message is acted on, in the reading goroutine
}

type kind uint8

const (
	kindRequest kind = iota + 1
	kindReply
	kindError
	kindNotify
	kindCancel
)

type head struct {
	_      struct{} `cbor:",toarray"`
	Kind   kind
	ID     uint64
	Method string
	Body   cbor.RawMessage
	Blobs  []uint64
}

var (
	encoding = must(cbor.EncOptions{}.EncMode())
	// The peer may be a process in which a user's code has run wild, so its messages are read strictly.
	decoding = must(cbor.DecOptions{MaxNestedLevels: 64, MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 20}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Peer is one end of a connection. Serve must be running for Call to return.
type Peer struct {
	cfg Config
	r   *bufio.Reader

	wmu sync.Mutex
	w   io.Writer

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan answer
	running map[uint64]context.CancelFunc
	closed  error
}

type answer struct {
	msg *Message
	err error
}

// NewPeer makes the end that reads r and writes w.
func NewPeer(r io.Reader, w io.Writer, cfg Config) *Peer {
	return &Peer{
		cfg: cfg, r: bufio.NewReaderSize(r, 64<<10), w: w,
		waiting: map[uint64]chan answer{}, running: map[uint64]context.CancelFunc{},
	}
}

// Serve reads until the stream ends, then fails the calls that still wait, cancels the handlers that still run and
// waits for them. It returns nil when the other end closed the stream between two messages.
func (p *Peer) Serve(ctx context.Context) error {
	var handlers sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	var err error
	for err == nil {
		err = p.step(ctx, &handlers)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	p.fail(err)
	cancel()
	handlers.Wait()
	return err
}

// fail ends the calls that wait, and all later ones.
func (p *Peer) fail(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = ErrClosed
	if cause != nil {
		p.closed = fmt.Errorf("%w: %w", ErrClosed, cause)
	}
	for id, ch := range p.waiting {
		ch <- answer{err: p.closed}
		delete(p.waiting, id)
	}
}

func (p *Peer) step(ctx context.Context, handlers *sync.WaitGroup) error {
	h, m, err := readMessage(p.r)
	if err != nil {
		return err
	}
	if p.cfg.Before != nil {
		p.cfg.Before()
	}
	switch h.Kind {
	case kindRequest:
		ctx, cancel := context.WithCancel(ctx)
		p.mu.Lock()
		p.running[h.ID] = cancel
		p.mu.Unlock()
		handlers.Go(func() {
			p.answer(ctx, h.ID, m)
			cancel()
			p.mu.Lock()
			delete(p.running, h.ID)
			p.mu.Unlock()
		})
	case kindReply:
		p.settle(h.ID, answer{msg: m})
	case kindError:
		var text string
		if err := m.Decode(&text); err != nil {
			return err
		}
		p.settle(h.ID, answer{err: &RemoteError{Method: h.Method, Text: text}})
	case kindNotify:
		if p.cfg.Notify != nil {
			p.cfg.Notify(m)
		}
	case kindCancel:
		p.mu.Lock()
		if cancel := p.running[h.ID]; cancel != nil {
			cancel()
		}
		p.mu.Unlock()
	default:
		return fmt.Errorf("read a message: its kind is %d, which is none that this version knows", h.Kind)
	}
	return nil
}

func (p *Peer) answer(ctx context.Context, id uint64, m *Message) {
	var reply *Message
	err := fmt.Errorf("no handler for %q", m.Method)
	if p.cfg.Handle != nil {
		reply, err = p.cfg.Handle(ctx, m)
	}
	// A failed write means that the other end is gone; the reading goroutine finds that out by itself.
	if err != nil {
		body, _ := encoding.Marshal(err.Error())
		_ = p.write(head{Kind: kindError, ID: id, Method: m.Method, Body: body}, nil)
		return
	}
	if reply == nil {
		reply = &Message{Method: m.Method}
	}
	_ = p.write(head{Kind: kindReply, ID: id, Method: reply.Method, Body: reply.Body}, reply.Blobs)
}

func (p *Peer) settle(id uint64, a answer) {
	p.mu.Lock()
	ch := p.waiting[id]
	delete(p.waiting, id)
	p.mu.Unlock()
	if ch != nil {
		ch <- a
	}
}

// Pending is a request that was sent and not yet answered.
type Pending struct {
	p  *Peer
	id uint64
	ch chan answer
}

// Send sends a request and returns without waiting for its reply.
func (p *Peer) Send(m *Message) (*Pending, error) {
	ch := make(chan answer, 1)
	p.mu.Lock()
	if p.closed != nil {
		defer p.mu.Unlock()
		return nil, p.closed
	}
	p.next++
	id := p.next
	p.waiting[id] = ch
	p.mu.Unlock()
	if err := p.write(head{Kind: kindRequest, ID: id, Method: m.Method, Body: m.Body}, m.Blobs); err != nil {
		p.mu.Lock()
		delete(p.waiting, id)
		p.mu.Unlock()
		return nil, fmt.Errorf("%w: send a %q request: %w", ErrClosed, m.Method, err)
	}
	return &Pending{p: p, id: id, ch: ch}, nil
}

// Cancel asks the other end to stop working on the request. Its reply still comes.
func (c *Pending) Cancel() {
	_ = c.p.write(head{Kind: kindCancel, ID: c.id}, nil)
}

// Wait returns the reply, or the context's error when that ends first; it can be called again then.
func (c *Pending) Wait(ctx context.Context) (*Message, error) {
	select {
	case a := <-c.ch:
		return a.msg, a.err
	default:
	}
	select {
	case a := <-c.ch:
		return a.msg, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Call sends a request and waits for its reply. When ctx ends first the other end is told, and Call returns.
func (p *Peer) Call(ctx context.Context, m *Message) (*Message, error) {
	pending, err := p.Send(m)
	if err != nil {
		return nil, err
	}
	reply, err := pending.Wait(ctx)
	if err != nil && ctx.Err() != nil {
		pending.Cancel()
		p.mu.Lock()
		delete(p.waiting, pending.id)
		p.mu.Unlock()
	}
	return reply, err
}

// Notify sends a message that is not answered.
func (p *Peer) Notify(m *Message) error {
	return p.write(head{Kind: kindNotify, Method: m.Method, Body: m.Body}, m.Blobs)
}

func (p *Peer) write(h head, blobs [][]byte) error {
	for _, b := range blobs {
		h.Blobs = append(h.Blobs, uint64(len(b)))
	}
	if h.Body == nil {
		h.Body = cbor.RawMessage{0xf6} // null
	}
	data, err := encoding.Marshal(h)
	if err != nil {
		return fmt.Errorf("write a %q message: %w", h.Method, err)
	}
	if len(data) > maxHead {
		return fmt.Errorf("write a %q message: its head of %d bytes is over the limit of %d", h.Method, len(data), maxHead)
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(data)), uint32(len(data)))
	frame = append(frame, data...)
	p.wmu.Lock()
	defer p.wmu.Unlock()
	if _, err := p.w.Write(frame); err != nil {
		return err
	}
	for _, b := range blobs {
		if _, err := p.w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// readMessage reads one message. io.EOF means that the stream ended where a message could have begun.
func readMessage(r io.Reader) (head, *Message, error) {
	var h head
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return h, nil, io.EOF
		}
		return h, nil, fmt.Errorf("read a message's length: %w", err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxHead {
		return h, nil, fmt.Errorf("read a message: its head claims %d bytes, over the limit of %d", n, maxHead)
	}
	data, err := readN(r, uint64(n))
	if err != nil {
		return h, nil, fmt.Errorf("read a message's head: %w", err)
	}
	if err := decoding.Unmarshal(data, &h); err != nil {
		return h, nil, fmt.Errorf("read a message's head: %w", err)
	}
	m := &Message{Method: h.Method, Body: h.Body}
	for _, size := range h.Blobs {
		if size > maxBlob {
			return h, nil, fmt.Errorf("read a %q message: a blob claims %d bytes, over the limit of %d", h.Method, size, uint64(maxBlob))
		}
		b, err := readN(r, size)
		if err != nil {
			return h, nil, fmt.Errorf("read a %q message's blob: %w", h.Method, err)
		}
		m.Blobs = append(m.Blobs, b)
	}
	return h, m, nil
}

// readN reads n bytes. What the length claims is believed as far as 128 times what has come: believing all of it would
// let a process that has run wild claim a size for which this one dies, and growing in smaller steps would cost a large
// value three times its size.
func readN(r io.Reader, n uint64) ([]byte, error) {
	buf := make([]byte, min(n, firstAlloc))
	have := uint64(0)
	for {
		m, err := io.ReadFull(r, buf[have:])
		have += uint64(m)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil && have < n {
			return nil, fmt.Errorf("%d of %d bytes came: %w", have, n, err)
		}
		if have == n {
			return buf, nil
		}
		next := 64 * have
		if n < 2*next { // the rest at once, lest a last step of a few bytes copies all
			next = n
		}
		grown := make([]byte, next)
		copy(grown, buf)
		buf = grown
	}
}
