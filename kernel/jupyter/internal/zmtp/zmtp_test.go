package zmtp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

const patience = 30 * time.Second

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// dial connects as a peer of some kind.
func dial(t *testing.T, l net.Listener, kind zmq4.SocketType, identity string) *zmq4.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	zc, err := zmq4.Open(conn, null.Security(), kind, zmq4.SocketIdentity(identity), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	return zc
}

func closeWith(t *testing.T, c interface{ Close(time.Duration) error }) {
	t.Cleanup(func() {
		if err := c.Close(0); err != nil {
			t.Error(err)
		}
	})
}

func take(t *testing.T, r *Router) [][]byte {
	t.Helper()
	select {
	case m := <-r.Incoming():
		return m
	case <-time.After(patience):
		t.Fatal("no message")
		return nil
	}
}

func TestRouter(t *testing.T) {
	l := listen(t)
	r := NewRouter(l, quiet)
	closeWith(t, r)
	a, b, anonymous := dial(t, l, zmq4.Dealer, "a"), dial(t, l, zmq4.Dealer, "b"), dial(t, l, zmq4.Dealer, "")
	for _, p := range []*zmq4.Conn{a, b, anonymous} {
		if err := p.SendMsg(zmq4.NewMsgFrom([]byte("one"), nil, bytes.Repeat([]byte("x"), 3<<20))); err != nil {
			t.Fatal(err)
		}
		m := take(t, r)
		if len(m) != 4 || string(m[1]) != "one" || len(m[2]) != 0 || len(m[3]) != 3<<20 {
			t.Errorf("%d frames", len(m))
		}
		if err := r.Send([][]byte{m[0], []byte("to"), m[0]}); err != nil {
			t.Error(err)
		}
		back, err := p.RecvMsg()
		if err != nil || string(back.Frames[1]) != string(m[0]) {
			t.Errorf("%v %v", back.Frames, err)
		}
	}
	if err := r.Send([][]byte{[]byte("nobody"), nil}); !errors.Is(err, ErrNoPeer) {
		t.Errorf("%v", err)
	}
}

func TestRouterHandsOverToTheNewestOfAnIdentity(t *testing.T) {
	l := listen(t)
	r := NewRouter(l, quiet)
	closeWith(t, r)
	old := dial(t, l, zmq4.Dealer, "a")
	old.SendMsg(zmq4.NewMsgString("x"))
	take(t, r)
	fresh := dial(t, l, zmq4.Dealer, "a")
	if _, err := old.RecvMsg(); err == nil { // its end says that the new one is in place
		t.Error("the old connection got a message")
	}
	if err := r.Send([][]byte{[]byte("a"), []byte("hello")}); err != nil {
		t.Fatal(err)
	}
	if m, err := fresh.RecvMsg(); err != nil || string(m.Frames[0]) != "hello" {
		t.Errorf("%v %v", m, err)
	}
}

func TestWaitPeer(t *testing.T) {
	l := listen(t)
	r := NewRouter(l, quiet)
	got := make(chan error)
	go func() { got <- r.WaitPeer(context.Background(), "late") }()
	dial(t, l, zmq4.Dealer, "other")
	dial(t, l, zmq4.Dealer, "late")
	if err := <-got; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { got <- r.WaitPeer(ctx, "never") }()
	cancel()
	if err := <-got; !errors.Is(err, ErrNoPeer) {
		t.Error(err)
	}
	go func() { got <- r.WaitPeer(context.Background(), "never") }()
	r.Close(0)
	if err := <-got; !errors.Is(err, ErrNoPeer) {
		t.Error(err)
	}
}

func TestPubTopics(t *testing.T) {
	l := listen(t)
	subscribed := make(chan struct{}, 10)
	p := NewPub(l, quiet, noWelcome, func() { subscribed <- struct{}{} })
	closeWith(t, p)
	p.Send([][]byte{[]byte("a"), []byte("nobody hears this")})
	subs := map[string]*zmq4.Conn{}
	for _, topic := range []string{"", "a", "ab", "a+a-a"} {
		subs[topic] = dial(t, l, zmq4.Sub, "")
		frames := map[string][]string{"": {"\x01"}, "a": {"\x01a"}, "ab": {"\x01ab"}, "a+a-a": {"\x01a", "\x01a", "\x00a", "\x01z"}}[topic]
		for _, f := range frames {
			if err := subs[topic].SendMsg(zmq4.NewMsgString(f)); err != nil {
				t.Fatal(err)
			}
			if f[0] == 1 {
				<-subscribed
			}
		}
	}
	for _, topic := range []string{"a", "b", "abc"} {
		p.Send([][]byte{[]byte(topic), []byte("end")})
	}
	for topic, want := range map[string][]string{"": {"a", "b", "abc"}, "a": {"a", "abc"}, "ab": {"abc"}, "a+a-a": {"a", "abc"}} {
		var got []string
		for range want {
			m, err := subs[topic].RecvMsg()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(m.Frames[0]))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", topic, diff)
		}
	}
}

// TestThrottle has a subscriber that reads only when it is told to.
func TestThrottle(t *testing.T) {
	l := listen(t)
	subscribed := make(chan struct{}, 1)
	p := NewPub(l, quiet, noWelcome, func() { subscribed <- struct{}{} })
	closeWith(t, p)
	sub := dial(t, l, zmq4.Sub, "")
	sub.SendMsg(zmq4.NewMsgString("\x01"))
	<-subscribed
	const count, size = 100, 1 << 20
	for range count {
		p.Send([][]byte{make([]byte, size)}) // more than the kernel's buffers take
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Throttle(ctx, size); err == nil {
		t.Error("there is room beside 100 MiB")
	}
	waited := make(chan error)
	go func() { waited <- p.Throttle(context.Background(), size) }()
	for range count {
		if _, err := sub.RecvMsg(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	// One that goes away holds nobody up.
	for range count {
		p.Send([][]byte{make([]byte, size)})
	}
	go func() { waited <- p.Throttle(context.Background(), size) }()
	sub.Close()
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

func TestCloseDeliversWhatIsQueued(t *testing.T) {
	l := listen(t)
	subscribed := make(chan struct{}, 1)
	p := NewPub(l, quiet, noWelcome, func() { subscribed <- struct{}{} })
	sub := dial(t, l, zmq4.Sub, "")
	sub.SendMsg(zmq4.NewMsgString("\x01"))
	<-subscribed
	const count = 2000
	for i := range count {
		p.Send([][]byte{fmt.Append(nil, i), make([]byte, 10_000)})
	}
	closed := make(chan error)
	go func() { closed <- p.Close(patience) }()
	for i := range count {
		m, err := sub.RecvMsg()
		if err != nil {
			t.Fatalf("after %d of %d: %v", i, count, err)
		}
		if string(m.Frames[0]) != fmt.Sprint(i) {
			t.Fatalf("%s, want %d", m.Frames[0], i)
		}
	}
	if _, err := sub.RecvMsg(); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	sub.Close()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	p.Send([][]byte{nil}) // harmless
	if err := p.Close(0); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

func TestCloseDoesNotWaitForThoseWhoDoNotRead(t *testing.T) {
	l := listen(t)
	r := NewRouter(l, quiet)
	p := dial(t, l, zmq4.Dealer, "a")
	silent, err := net.Dial("tcp", l.Addr().String()) // in its handshake for ever
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	p.SendMsg(zmq4.NewMsgString("x")) // nobody takes it
	if err := r.WaitPeer(context.Background(), "a"); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		r.Send([][]byte{[]byte("a"), make([]byte, 1<<20)})
	}
	if err := r.Close(time.Millisecond); err != nil {
		t.Error(err)
	}
}

func TestPingIsAnswered(t *testing.T) {
	l := listen(t)
	e := NewEcho(l, quiet)
	closeWith(t, e)
	p := dial(t, l, zmq4.Req, "")
	if err := p.SendCmd("PING", []byte{0, 10, 'c', 't', 'x'}); err != nil {
		t.Fatal(err)
	}
	c, err := p.RecvCmd()
	if err != nil || c.Name != "PONG" || string(c.Body) != "ctx" {
		t.Errorf("%v %v", c, err)
	}
	if err := p.SendCmd("DANCE", nil); err != nil { // what it does not know, it passes over
		t.Fatal(err)
	}
	p.SendMsg(zmq4.NewMsgFrom(nil, []byte("beat")))
	if m, err := p.RecvMsg(); err != nil || len(m.Frames) != 2 || string(m.Frames[1]) != "beat" {
		t.Errorf("%v %v", m, err)
	}
}

func TestManyConnections(t *testing.T) {
	l := listen(t)
	r := NewRouter(l, quiet)
	closeWith(t, r)
	var conns []net.Conn
	for range maxPeers + 10 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
	}
	// Those over the limit are closed. Which they are depends on the order in which they were accepted.
	refused := make(chan struct{}, len(conns))
	for _, c := range conns {
		go func() {
			io.Copy(io.Discard, c)
			refused <- struct{}{}
		}()
	}
	for range 10 {
		select {
		case <-refused:
		case <-time.After(patience):
			t.Fatal("too many connections are kept")
		}
	}
	for _, c := range conns {
		c.Close()
	}
	for range maxPeers {
		<-refused
	}
}

func TestReadMessageLimits(t *testing.T) {
	tests := map[string]struct {
		in   string
		want string
	}{
		"nothing":              {"", "EOF"},
		"no size":              {"\x00", "unexpected EOF"},
		"no body":              {"\x00\x05ab", "unexpected EOF"},
		"no second frame":      {"\x01\x01a", "unexpected EOF"},
		"too long":             {"\x02\x00\x00\x00\x00\x00\x00\x04\x01", "a message of more than 1024 bytes"},
		"too long in sum":      {"\x03\x00\x00\x00\x00\x00\x00\x04\x00" + string(make([]byte, 1024)) + "\x00\x01a", "a message of more than 1024 bytes"},
		"negative as a number": {"\x02\xff\xff\xff\xff\xff\xff\xff\xff", "a message of more than 1024 bytes"},
		"too many frames":      {string(bytes.Repeat([]byte{1, 0}, maxFrames+1)), fmt.Sprintf("a message of more than %d frames", maxFrames)},
		"flags":                {"\x10\x00", "a frame with unknown flags 0x10"},
		"command of two":       {"\x05\x00", "a command inside a message"},
		"command in a message": {"\x01\x00\x04\x00", "a command inside a message"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := readMessage(bufio.NewReader(bytes.NewReader([]byte(tt.in))), 1024)
			if err == nil || err.Error() != tt.want {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzReadMessage(f *testing.F) {
	f.Add([]byte("\x01\x01a\x00\x02bc"))
	f.Add([]byte("\x04\x07\x04PING\x00\x01"))
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00\x01x"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bufio.NewReader(bytes.NewReader(in))
		for {
			frames, command, err := readMessage(r, 1<<16)
			if err != nil {
				return
			}
			pongFor(frames)
			var out bytes.Buffer
			w := bufio.NewWriter(&out)
			if err := writeMessage(w, outgoing{frames, command}); err != nil {
				t.Fatal(err)
			}
			w.Flush()
			again, commandAgain, err := readMessage(bufio.NewReader(&out), 1<<16)
			if err != nil || command != commandAgain || !cmp.Equal(frames, again) {
				t.Fatalf("%q written and read is %q, %v", frames, again, err)
			}
		}
	})
}

// scripted is a connection whose peer has already said everything.
type scripted struct {
	net.Conn
	in *bytes.Reader
}

func (s scripted) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s scripted) Write(p []byte) (int, error) { return len(p), nil }

func FuzzHandshake(f *testing.F) {
	greeting := make([]byte, 64)
	greeting[0], greeting[9], greeting[10] = 0xff, 0x7f, 3
	copy(greeting[12:], "NULL")
	ready := "\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER\x08Identity\x00\x00\x00\x01a"
	f.Add(append(greeting, append([]byte{4, byte(len(ready))}, ready...)...))
	f.Add(greeting)
	f.Fuzz(func(t *testing.T, in []byte) {
		handshake(scripted{in: bytes.NewReader(in)}, zmq4.Router)
	})
}

func noWelcome(string) [][]byte { return nil }
