// Package zmtp gives a Jupyter kernel the three ZeroMQ sockets it binds: ROUTER (shell, control and stdin), PUB
// (iopub) and an echo (heartbeat). It takes a net.Listener and gives whole messages as slices of frames.
//
// The handshake is go-zeromq/zmq4's. Its sockets are not used, because a kernel's ports are open to whoever can
// reach the machine, and zmq4 v0.17 was seen to
//   - accept one connection at a time, so that a client which connects and says nothing shuts out all others;
//   - allocate whatever length a frame claims, so that nine bytes end the process;
//   - publish to one subscriber after the other, so that one which stops reading stops them all, behind a queue
//     without an end;
//   - lose what is queued when a socket is closed, which is where a kernel's last replies are;
//   - leave a goroutine behind for every closed PUB socket.
//
// Here every connection has a goroutine that reads and one that writes, with a queue of its own between them and the
// kernel. Sending never blocks. A sender that can wait asks Pub.Throttle to, so that a cell that prints without end is
// slowed to the speed of its readers; a peer that takes nothing for a while is cut off. Close delivers what is
// queued, within the time it is given, and waits for every goroutine.
package zmtp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
)

const (
	// handshakeTimeout bounds how long a connection may take to say what it is.
	handshakeTimeout = 10 * time.Second
	// stallTimeout is how long a peer may take no byte at all before it counts as gone.
	stallTimeout = 30 * time.Second
	// maxPeers bounds the connections of one socket, those in handshake included.
	maxPeers = 256
	// maxMessage bounds one incoming message. Its memory is taken as the bytes arrive, never on a peer's word.
	maxMessage = 512 << 20
)

// socket is what the three kinds have in common: it accepts connections, runs their goroutines and ends them.
type socket struct {
	kind     zmq4.SocketType
	listener net.Listener
	log      *slog.Logger
	// attach is called when a peer's handshake is done, receive for each message of it, and detach when it is gone.
	attach  func(*peer)
	receive func(*peer, [][]byte)
	detach  func(*peer)

	done   chan struct{} // closed when the socket begins to close
	wg     sync.WaitGroup
	mu     sync.Mutex
	peers  map[*peer]struct{}
	closed bool
}

func newSocket(kind zmq4.SocketType, l net.Listener, log *slog.Logger) *socket {
	return &socket{
		kind: kind, listener: l, log: log.With("socket", string(kind), "addr", l.Addr().String()),
		attach: func(*peer) {}, receive: func(*peer, [][]byte) {}, detach: func(*peer) {},
		done: make(chan struct{}), peers: map[*peer]struct{}{},
	}
}

func (s *socket) start() {
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		s.accept()
	}()
}

func (s *socket) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of file descriptors, or a connection that was reset before it was taken: both pass.
			s.log.Warn("cannot accept a connection", "error", err)
			select {
			case <-s.done:
				return
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		p := &peer{conn: conn, out: newQueue()}
		if !s.add(p) {
			conn.Close()
			continue
		}
		go func() {
			defer s.wg.Done()
			s.serve(p)
		}()
	}
}

// add registers a connection, unless the socket is closing or full.
func (s *socket) add(p *peer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if len(s.peers) >= maxPeers {
		s.log.Warn("connection refused: too many are open", "limit", maxPeers, "peer", p.conn.RemoteAddr().String())
		return false
	}
	s.peers[p] = struct{}{}
	s.wg.Add(1)
	return true
}

func (s *socket) remove(p *peer) {
	s.mu.Lock()
	delete(s.peers, p)
	s.mu.Unlock()
}

// serve runs one connection from its handshake to its end.
func (s *socket) serve(p *peer) {
	defer s.remove(p)
	defer p.conn.Close()
	log := s.log.With("peer", p.conn.RemoteAddr().String())

	p.setDeadline(time.Now().Add(handshakeTimeout))
	identity, err := handshake(p.conn, s.kind)
	if err != nil {
		log.Debug("connection dropped in its handshake", "error", err)
		return
	}
	p.identity = identity
	p.setDeadline(time.Time{})

	s.attach(p)
	defer s.detach(p)
	written := make(chan struct{})
	go func() {
		defer close(written)
		if err := p.write(); err != nil {
			log.Debug("connection dropped: cannot write to it", "error", err)
			p.conn.Close() // which ends the reader
			p.out.close()  // and whoever waits for room
			p.out.discard()
		}
	}()
	err = s.read(p)
	p.out.close()
	if err != nil {
		log.Debug("connection ended", "error", err)
		p.out.discard()
	}
	<-written
}

// read hands on the messages of a peer until its connection ends. A clean end gives nil.
func (s *socket) read(p *peer) error {
	r := bufio.NewReaderSize(p.conn, 64<<10)
	for {
		frames, command, err := readMessage(r, maxMessage)
		if err != nil {
			if endOfConnection(err) {
				return nil
			}
			return err
		}
		if command {
			if pong, ok := pongFor(frames); ok {
				p.out.push(outgoing{frames: [][]byte{pong}, command: true})
			}
			continue
		}
		select {
		case <-s.done: // what still comes while we say goodbye is of no use
		default:
			s.receive(p, frames)
		}
	}
}

// closeWithin stops accepting, delivers what is queued and waits for every goroutine, for no longer than linger.
func (s *socket) closeWithin(linger time.Duration) error {
	deadline := time.Now().Add(linger)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.wg.Wait()
		return nil
	}
	s.closed = true
	close(s.done)
	err := s.listener.Close()
	for p := range s.peers {
		p.finish(deadline)
	}
	s.mu.Unlock()
	s.wg.Wait()
	if err != nil {
		return fmt.Errorf("close the %s socket: %w", s.kind, err)
	}
	return nil
}

// peer is one connection.
type peer struct {
	conn     net.Conn
	identity string
	out      *queue

	mu       sync.Mutex
	deadline time.Time // set once the socket is closing: no read or write goes on after it
}

// setDeadline moves the connection's deadline, never past the one that closing has set.
func (p *peer) setDeadline(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deadline.IsZero() {
		p.conn.SetDeadline(t)
	}
}

func (p *peer) setWriteDeadline(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deadline.IsZero() {
		p.conn.SetWriteDeadline(t)
	}
}

// finish asks the peer's goroutines to end once the queue is delivered, and makes them by the deadline.
func (p *peer) finish(deadline time.Time) {
	p.mu.Lock()
	p.deadline = deadline
	p.conn.SetDeadline(deadline)
	p.mu.Unlock()
	p.out.close()
}

// write sends what is queued until the queue is closed and empty, then ends our half of the connection. The other
// side answers by ending its half; closing before that could throw away bytes that it has not read yet.
func (p *peer) write() error {
	w := bufio.NewWriterSize(&timedWriter{p}, 64<<10)
	for {
		m, more := p.out.pop()
		if !more {
			break
		}
		if err := writeMessage(w, m); err != nil {
			return err
		}
		if p.out.empty() {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if half, ok := p.conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// timedWriter writes to a peer in pieces, each of which must make progress in stallTimeout.
type timedWriter struct{ p *peer }

func (t *timedWriter) Write(b []byte) (int, error) {
	const piece = 256 << 10
	total := 0
	for len(b) > 0 {
		n := min(len(b), piece)
		t.p.setWriteDeadline(time.Now().Add(stallTimeout))
		written, err := t.p.conn.Write(b[:n])
		total += written
		if err != nil {
			return total, err
		}
		b = b[n:]
	}
	return total, nil
}

// outgoing is a message in a peer's queue.
type outgoing struct {
	frames  [][]byte
	command bool
}

func (o outgoing) size() int {
	n := 0
	for _, f := range o.frames {
		n += len(f)
	}
	return n
}

// queue holds what waits to be written to one peer. Pushing never blocks.
type queue struct {
	mu     sync.Mutex
	filled *sync.Cond
	items  []outgoing
	bytes  int
	closed bool
	room   chan struct{} // closed when bytes falls below roomBelow; nil when nobody waits
	below  int
}

func newQueue() *queue {
	q := &queue{}
	q.filled = sync.NewCond(&q.mu)
	return q
}

// push adds a message; after close it does nothing.
func (q *queue) push(m outgoing) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.items = append(q.items, m)
	q.bytes += m.size()
	q.filled.Signal()
}

// pop waits for the next message. It gives false when the queue is closed and empty.
func (q *queue) pop() (outgoing, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 {
		if q.closed {
			return outgoing{}, false
		}
		q.filled.Wait()
	}
	m := q.items[0]
	q.items[0] = outgoing{}
	q.items = q.items[1:]
	q.bytes -= m.size()
	q.release()
	return m, true
}

func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) == 0
}

// close lets pop give what is left and then end.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
	q.release()
}

// discard throws away what is left, for a peer that can no longer be written to.
func (q *queue) discard() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items, q.bytes = nil, 0
	q.release()
}

// release wakes those who wait for room. The caller holds the lock.
func (q *queue) release() {
	if q.room != nil && (q.closed || q.bytes < q.below) {
		close(q.room)
		q.room = nil
	}
}

// wait returns once fewer than limit bytes are queued, the queue is closed, or ctx is done.
func (q *queue) wait(ctx context.Context, limit int) error {
	for {
		q.mu.Lock()
		if q.closed || q.bytes < limit {
			q.mu.Unlock()
			return nil
		}
		if q.room == nil {
			q.room, q.below = make(chan struct{}), limit
		}
		room := q.room
		q.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
