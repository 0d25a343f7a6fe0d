package zmtp

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
)

// ErrNoPeer says that no connection has the identity that a message is for.
var ErrNoPeer = errors.New("no connection has this identity")

// Router is a ROUTER socket: messages come with the identity of their sender as first frame, and go to the peer whose
// identity is their first frame.
type Router struct {
	s        *socket
	incoming chan [][]byte

	mu      sync.Mutex
	byName  map[string]*peer
	arrived chan struct{} // closed and replaced when a peer arrives
}

// NewRouter serves the connections of l, which it closes in the end.
func NewRouter(l net.Listener, log *slog.Logger) *Router {
	r := &Router{
		s:        newSocket(zmq4.Router, l, log),
		incoming: make(chan [][]byte),
		byName:   map[string]*peer{},
		arrived:  make(chan struct{}),
	}
	r.s.attach, r.s.receive, r.s.detach = r.attach, r.receive, r.detach
	r.s.start()
	return r
}

// attach enters a peer under its identity. A second connection of the same identity takes over, because it is the same
// client that has come back, perhaps before the end of its first connection was noticed.
func (r *Router) attach(p *peer) {
	if p.identity == "" {
		p.identity = "\x00" + rand.Text() // a leading zero, as in ZeroMQ, keeps it apart from chosen ones
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.byName[p.identity]; old != nil {
		old.conn.Close()
	}
	r.byName[p.identity] = p
	close(r.arrived)
	r.arrived = make(chan struct{})
}

func (r *Router) receive(p *peer, frames [][]byte) {
	m := append([][]byte{[]byte(p.identity)}, frames...)
	select {
	case r.incoming <- m:
	case <-r.s.done:
	}
}

func (r *Router) detach(p *peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName[p.identity] == p {
		delete(r.byName, p.identity)
	}
}

// Incoming gives the messages of all peers, in each peer's order. It is never closed: a receiver also watches Done.
func (r *Router) Incoming() <-chan [][]byte { return r.incoming }

// Done is closed when the socket begins to close.
func (r *Router) Done() <-chan struct{} { return r.s.done }

// Send queues a message for the peer that its first frame names.
func (r *Router) Send(frames [][]byte) error {
	r.mu.Lock()
	p := r.byName[string(frames[0])]
	r.mu.Unlock()
	if p == nil {
		return ErrNoPeer
	}
	p.out.push(outgoing{frames: frames[1:]})
	return nil
}

// WaitPeer waits until a peer of that identity is connected.
func (r *Router) WaitPeer(ctx context.Context, identity string) error {
	for {
		r.mu.Lock()
		p, arrived := r.byName[identity], r.arrived
		r.mu.Unlock()
		if p != nil {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return ErrNoPeer
		case <-r.s.done:
			return ErrNoPeer
		}
	}
}

// Close delivers what is queued, within linger, and ends the socket.
func (r *Router) Close(linger time.Duration) error { return r.s.closeWithin(linger) }

// Pub is a PUB socket: a message goes to every peer that subscribed to a prefix of its first frame.
type Pub struct {
	s          *socket
	welcome    func(topic string) [][]byte
	subscribed func()

	mu     sync.Mutex
	topics map[*peer]map[string]int // counted: an XSUB may subscribe to the same twice
}

// NewPub serves the connections of l, which it closes in the end. Both functions are called at every new subscription,
// on the subscriber's goroutine: welcome gives a message for this subscriber alone, which is its first of that topic, or
// nil; subscribed comes after the subscription is in force.
func NewPub(l net.Listener, log *slog.Logger, welcome func(topic string) [][]byte, subscribed func()) *Pub {
	p := &Pub{s: newSocket(zmq4.Pub, l, log), welcome: welcome, subscribed: subscribed, topics: map[*peer]map[string]int{}}
	p.s.attach, p.s.receive, p.s.detach = p.attach, p.receive, p.detach
	p.s.start()
	return p
}

func (p *Pub) attach(sub *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.topics[sub] = map[string]int{}
}

func (p *Pub) detach(sub *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.topics, sub)
}

// receive takes a subscription (1 and a topic) or its end (0 and a topic); anything else means nothing to a PUB.
func (p *Pub) receive(sub *peer, frames [][]byte) {
	const maxTopics = 1024
	if len(frames) != 1 || len(frames[0]) == 0 {
		return
	}
	topic := string(frames[0][1:])
	p.mu.Lock()
	topics := p.topics[sub]
	switch frames[0][0] {
	case 0:
		if topics[topic]--; topics[topic] <= 0 {
			delete(topics, topic)
		}
		p.mu.Unlock()
	case 1:
		if len(topics) < maxTopics {
			if frames := p.welcome(topic); frames != nil {
				sub.out.push(outgoing{frames: frames})
			}
			topics[topic]++
		}
		p.mu.Unlock()
		p.subscribed()
	default:
		p.mu.Unlock()
	}
}

// Send queues a message for those who subscribed to it.
func (p *Pub) Send(frames [][]byte) {
	topic := string(frames[0])
	p.mu.Lock()
	defer p.mu.Unlock()
	for sub, topics := range p.topics {
		for prefix := range topics {
			if strings.HasPrefix(topic, prefix) {
				sub.out.push(outgoing{frames: frames})
				break
			}
		}
	}
}

// Throttle waits while any subscriber has more than limit bytes before it, or until ctx is done.
func (p *Pub) Throttle(ctx context.Context, limit int) error {
	p.mu.Lock()
	subs := make([]*peer, 0, len(p.topics))
	for sub := range p.topics {
		subs = append(subs, sub)
	}
	p.mu.Unlock()
	for _, sub := range subs {
		if err := sub.out.wait(ctx, limit); err != nil {
			return err
		}
	}
	return nil
}

// Close delivers what is queued, within linger, and ends the socket.
func (p *Pub) Close(linger time.Duration) error { return p.s.closeWithin(linger) }

// Echo is a REP socket that answers every message with itself, as a kernel's heartbeat does.
type Echo struct{ s *socket }

// NewEcho serves the connections of l, which it closes in the end.
func NewEcho(l net.Listener, log *slog.Logger) *Echo {
	e := &Echo{newSocket(zmq4.Rep, l, log)}
	// A peer that asks without reading the answers waits here, not in memory.
	e.s.receive = func(p *peer, frames [][]byte) {
		p.out.push(outgoing{frames: frames})
		p.out.wait(context.Background(), 1<<20) // ends at the latest when the writer gives the peer up
	}
	e.s.start()
	return e
}

// Close ends the socket.
func (e *Echo) Close(linger time.Duration) error { return e.s.closeWithin(linger) }
