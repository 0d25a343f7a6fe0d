package rendezvous

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// keepAlive finds out about a host that went away without a word within half
// a minute. It is the kernels that answer, so a driver or worker that is
// merely stopped or busy is not taken for dead.
var keepAlive = net.KeepAliveConfig{
	Enable:   true,
	Idle:     10 * time.Second,
	Interval: 5 * time.Second,
	Count:    4,
}

// listenSpec is a parsed Config.Listen.
type listenSpec struct {
	host     string
	from, to int
}

// parseListen reads "", "host:port", "host:from-to", "port" and "from-to".
func parseListen(spec string) (listenSpec, error) {
	out := listenSpec{host: "127.0.0.1"}
	ports := strings.TrimSpace(spec)
	if ports == "" {
		return out, nil
	}
	if strings.Contains(ports, ":") {
		host, p, err := net.SplitHostPort(ports)
		if err != nil {
			return out, fmt.Errorf("%q is no address to listen on: %w; give host:port, host:from-to, port or from-to", spec, err)
		}
		out.host, ports = host, p
	}
	first, last, isRange := strings.Cut(ports, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.ParseUint(strings.TrimSpace(first), 10, 16)
	to, err2 := strconv.ParseUint(strings.TrimSpace(last), 10, 16)
	if err := errors.Join(err1, err2); err != nil {
		return out, fmt.Errorf("%q has no usable port: ports are numbers from 0 to 65535; give host:port, host:from-to, port or from-to", spec)
	}
	if from > to || (isRange && from == 0) {
		return out, fmt.Errorf("the port range of %q is empty: give it as from-to, 1 or higher, the smaller port first", spec)
	}
	out.from, out.to = int(from), int(to)
	return out, nil
}

// listen opens the first port of the range that is free.
func (l listenSpec) listen(ctx context.Context) (net.Listener, error) {
	lc := net.ListenConfig{KeepAliveConfig: keepAlive}
	for port := l.from; ; port++ {
		addr := net.JoinHostPort(l.host, strconv.Itoa(port))
		ln, err := lc.Listen(ctx, "tcp", addr)
		if err == nil {
			return ln, nil
		}
		if port < l.to && errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if l.from < l.to && errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("listen on %s: every port from %d to %d is in use: give another range", l.host, l.from, l.to)
		}
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
}

// gate is a listener that bounds how many connections may be open without
// having shown the token. When one more comes, the oldest of them is closed:
// a part of the run shows its token within milliseconds of connecting and is
// gone from the line long before it gets to the front, while a stranger
// stays in it and falls out at the end.
type gate struct {
	net.Listener
	max int

	mu       sync.Mutex
	pending  list.List // of *gatedConn, oldest first
	evicted  int
	accepted int
}

func newGate(ln net.Listener, max int) *gate {
	return &gate{Listener: ln, max: max}
}

// Accept implements net.Listener.
func (g *gate) Accept() (net.Conn, error) {
	nc, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &gatedConn{Conn: nc, gate: g}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.accepted++
	c.place = g.pending.PushBack(c)
	if g.pending.Len() > g.max {
		oldest := g.pending.Front()
		g.pending.Remove(oldest)
		victim := oldest.Value.(*gatedConn)
		victim.place = nil
		g.evicted++
		victim.Conn.Close()
	}
	return c, nil
}

// counts tells how many connections came and how many had to give way.
func (g *gate) counts() (accepted, evicted int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.accepted, g.evicted
}

// closePending closes every connection that has not shown the token.
func (g *gate) closePending() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for e := g.pending.Front(); e != nil; e = g.pending.Front() {
		g.pending.Remove(e)
		c := e.Value.(*gatedConn)
		c.place = nil
		c.Conn.Close()
	}
}

type gatedConn struct {
	net.Conn
	gate  *gate
	place *list.Element // nil once admitted, evicted or closed; guarded by gate.mu
}

// admit takes the connection out of the line: it has shown the token.
func (c *gatedConn) admit() {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c.place != nil {
		c.gate.pending.Remove(c.place)
		c.place = nil
	}
}

// Close implements net.Conn.
func (c *gatedConn) Close() error {
	c.admit()
	return c.Conn.Close()
}

type connKey struct{}

// withConn is the http.Server's ConnContext: it lets a handler find the
// connection that its request came on.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	if gc, ok := c.(*gatedConn); ok {
		return context.WithValue(ctx, connKey{}, gc)
	}
	return ctx
}

func admitConn(ctx context.Context) {
	if gc, ok := ctx.Value(connKey{}).(*gatedConn); ok {
		gc.admit()
	}
}
