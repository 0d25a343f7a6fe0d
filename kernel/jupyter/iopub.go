package jupyter

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/gorovod/gorovod/kernel/jupyter/internal/zmtp"
)

const (
	// gatherFor is how long text waits for more of it, so that a loop of small prints makes few messages.
	gatherFor = 8 * time.Millisecond
	// gatherMax is the size at which text no longer waits.
	gatherMax = 64 << 10
	// textMax is the largest text of one message.
	textMax = 256 << 10
	// queueMax is how many bytes may wait for the slowest subscriber before a cell's output waits for it.
	queueMax = 16 << 20
)

// iopub publishes what the kernel and its cells have to show.
type iopub struct {
	pub     *zmtp.Pub
	compose *composer
	sign    *signer
	mlog    *messageLog
	log     *slog.Logger
	gather  chan struct{} // tells run that text has begun to wait

	mu       sync.Mutex
	starting bool    // the "starting" status is still to be sent
	from     *origin // what the waiting text belongs to
	name     string
	text     strings.Builder
}

// origin is the request that a published message belongs to. Its address tells one request from another.
type origin struct{ header json.RawMessage }

func newIOPub(l net.Listener, s *Server) *iopub {
	p := &iopub{compose: s.compose, sign: s.sign, mlog: s.mlog, log: s.log, gather: make(chan struct{}, 1), starting: true}
	p.mu.Lock() // a subscriber may come before pub is set
	defer p.mu.Unlock()
	p.pub = zmtp.NewPub(l, s.log, p.welcome, p.subscribed)
	return p
}

// run sends text that has waited long enough, until stop is closed.
func (p *iopub) run(stop <-chan struct{}) {
	timer := time.NewTimer(gatherFor)
	defer timer.Stop()
	for {
		select {
		case <-p.gather:
			timer.Reset(gatherFor)
		case <-timer.C:
			p.flush()
		case <-stop:
			p.flush()
			return
		}
	}
}

// welcome tells a subscriber that it will miss nothing from now on. It is newer than the version of the protocol that
// the kernel speaks; who does not know the message ignores it.
func (p *iopub) welcome(topic string) [][]byte {
	m, err := p.compose.compose("iopub_welcome", nil, map[string]any{"subscription": topic}, nil)
	if err != nil {
		p.log.Error("cannot welcome a subscriber", "error", err)
		return nil
	}
	m.identities = [][]byte{[]byte(topic)}
	p.mlog.write("send", chanIOPub, m)
	return p.sign.frames(m)
}

// subscribed sends the one "starting" status to the first who can hear it.
func (p *iopub) subscribed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start()
}

func (p *iopub) start() {
	if p.starting {
		p.starting = false
		p.send(nil, "status", map[string]any{"execution_state": "starting"}, nil, nil)
	}
}

// status tells that a request is being worked on ("busy") or done ("idle").
func (p *iopub) status(from *origin, state string) {
	if err := p.publish(from, "status", map[string]any{"execution_state": state}); err != nil {
		p.log.Error("cannot publish a status", "error", err)
	}
}

// publish sends a message after the text that came before it.
func (p *iopub) publish(from *origin, kind string, content any) error {
	return p.publishFull(from, kind, content, nil, nil)
}

func (p *iopub) publishFull(from *origin, kind string, content, metadata any, buffers [][]byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start()
	p.flushLocked()
	return p.send(from, kind, content, metadata, buffers)
}

// stream takes valid text that a cell has written.
func (p *iopub) stream(from *origin, name, text string) {
	if text == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text.Len() > 0 && (p.from != from || p.name != name) {
		p.flushLocked()
	}
	if p.text.Len() == 0 {
		p.from, p.name = from, name
		select {
		case p.gather <- struct{}{}:
		default:
		}
	}
	p.text.WriteString(text)
	if p.text.Len() >= gatherMax {
		p.flushLocked()
	}
}

func (p *iopub) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flushLocked()
}

func (p *iopub) flushLocked() {
	if p.text.Len() == 0 {
		return
	}
	p.start()
	from, rest := p.from, p.text.String()
	p.text.Reset()
	p.from = nil
	for rest != "" {
		var head string
		head, rest = cut(rest, textMax)
		if err := p.send(from, "stream", map[string]any{"name": p.name, "text": head}, nil, nil); err != nil {
			p.log.Error("cannot publish a cell's output", "error", err)
		}
	}
}

// send composes and queues one message. The caller holds the lock.
func (p *iopub) send(from *origin, kind string, content, metadata any, buffers [][]byte) error {
	var parent json.RawMessage
	if from != nil {
		parent = from.header
	}
	m, err := p.compose.compose(kind, parent, content, metadata)
	if err != nil {
		return err
	}
	topic := "kernel." + p.compose.session + "." + kind
	if kind == "stream" {
		topic += "." + p.name
	}
	m.identities = [][]byte{[]byte(topic)}
	m.buffers = buffers
	p.mlog.write("send", chanIOPub, m)
	p.pub.Send(p.sign.frames(m))
	return nil
}

// throttle makes a producer wait for slow subscribers.
func (p *iopub) throttle(ctx context.Context) {
	p.pub.Throttle(ctx, queueMax) // an error only says that ctx is done, and then nothing is worth waiting for
}
