package jupyter_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"
	"go.uber.org/goleak"

	"github.com/gorovod/gorovod/kernel/jupyter"
)

// zmq4Leaks are goroutines that zmq4's client sockets leave behind when they are closed.
var zmq4Leaks = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/go-zeromq/zmq4.(*qreader).listen"),
	goleak.IgnoreAnyFunction("github.com/go-zeromq/zmq4.(*socket).connReaper"),
}

const testKey = "a key for tests"

var nullSecurity = null.Security()

// client is a front end of the tests, on zmq4's sockets.
type client struct {
	t        *testing.T
	key      string
	session  string
	sockets  map[string]zmq4.Socket
	incoming map[string]chan msg
}

// msg is a message as a client sees it.
type msg struct {
	Identities []string
	Type       string
	ID         string
	Parent     jupyter.Header
	Header     jupyter.Header
	Content    map[string]any
	Metadata   map[string]any
	Buffers    [][]byte
	signature  string
}

// kernel is an echo kernel in this process, and its end.
type kernel struct {
	*echoKernel
	server *jupyter.Server
	info   jupyter.ConnectionInfo
	served chan error
	stop   context.CancelFunc
}

// startKernel serves an echo kernel on ports of the system's choice until the test ends.
func startKernel(t *testing.T, o jupyter.Options, key string) *kernel {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.CommTargets == nil {
		o.CommTargets = map[string]jupyter.CommTarget{"echo": echoTarget}
	}
	s, err := jupyter.Listen(jupyter.ConnectionInfo{IP: "127.0.0.1", Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	k := &kernel{echoKernel: newEchoKernel(), server: s, info: s.Connection(), served: make(chan error, 1), stop: stop}
	go func() { k.served <- s.Serve(ctx, k.echoKernel) }()
	t.Cleanup(func() {
		stop()
		if err := k.wait(t); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return k
}

// wait waits for the end of Serve, again and again if need be.
func (k *kernel) wait(t *testing.T) error {
	select {
	case err := <-k.served:
		k.served <- err
		return err
	case <-time.After(patience):
		t.Fatal("Serve does not return")
		return nil
	}
}

var clients atomic.Int64

// connect connects a client to all sockets of a kernel.
func connect(t *testing.T, info jupyter.ConnectionInfo) *client {
	t.Helper()
	c := &client{
		t: t, key: info.Key, session: fmt.Sprintf("client-%d", clients.Add(1)),
		sockets: map[string]zmq4.Socket{}, incoming: map[string]chan msg{},
	}
	id := zmq4.WithID(zmq4.SocketIdentity(c.session))
	quiet := zmq4.WithDialerRetry(10 * time.Millisecond)
	ctx := context.Background()
	c.open("iopub", zmq4.NewSub(ctx, quiet), info.IOPubPort)
	c.open("shell", zmq4.NewDealer(ctx, id, quiet), info.ShellPort)
	c.open("control", zmq4.NewDealer(ctx, id, quiet), info.ControlPort)
	c.open("stdin", zmq4.NewDealer(ctx, id, quiet), info.StdinPort)
	return c
}

func (c *client) open(name string, s zmq4.Socket, port int) {
	c.t.Helper()
	if err := s.Dial(fmt.Sprintf("tcp://127.0.0.1:%d", port)); err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	if name == "iopub" {
		if err := s.SetOption(zmq4.OptionSubscribe, ""); err != nil {
			c.t.Fatal(err)
		}
	}
	in := make(chan msg, 100_000)
	done := make(chan struct{})
	c.sockets[name], c.incoming[name] = s, in
	go func() {
		defer close(done)
		for {
			m, err := s.Recv()
			if err != nil {
				return
			}
			in <- c.parse(m.Frames)
		}
	}()
	c.t.Cleanup(func() {
		s.Close()
		<-done
	})
}

func (c *client) parse(frames [][]byte) msg {
	var m msg
	for len(frames) > 0 && string(frames[0]) != "<IDS|MSG>" {
		m.Identities = append(m.Identities, string(frames[0]))
		frames = frames[1:]
	}
	if len(frames) < 6 {
		c.t.Errorf("a message of %d frames", len(frames))
		return m
	}
	m.signature = string(frames[1])
	if want := c.signature(frames[2:6]); m.signature != want {
		c.t.Errorf("signature %q, want %q", m.signature, want)
	}
	for i, into := range []any{&m.Header, &m.Parent, &m.Metadata, &m.Content} {
		if err := json.Unmarshal(frames[2+i], into); err != nil {
			c.t.Errorf("frame %d: %v", i, err)
		}
	}
	m.Type, m.ID, m.Buffers = m.Header.Type, m.Header.ID, frames[6:]
	return m
}

func (c *client) signature(parts [][]byte) string {
	if c.key == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(c.key))
	for _, p := range parts {
		mac.Write(p)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// compose gives the frames of a message and its id.
func (c *client) compose(kind string, content any, parent any, buffers ...[]byte) ([][]byte, string) {
	h := map[string]any{
		"msg_id": fmt.Sprintf("%s-%d", c.session, clients.Add(1)), "msg_type": kind, "session": c.session,
		"username": "tester", "date": time.Now().UTC().Format(time.RFC3339Nano), "version": "5.4", "extra": "kept",
	}
	var parts [][]byte
	for _, v := range []any{h, parent, map[string]any{}, content} {
		if v == nil {
			v = map[string]any{}
		}
		b, err := json.Marshal(v)
		if err != nil {
			c.t.Fatal(err)
		}
		parts = append(parts, b)
	}
	frames := append([][]byte{[]byte("<IDS|MSG>"), []byte(c.signature(parts))}, parts...)
	return append(frames, buffers...), h["msg_id"].(string)
}

func (c *client) sendFrames(channel string, frames [][]byte) {
	c.t.Helper()
	if err := c.sockets[channel].Send(zmq4.NewMsgFrom(frames...)); err != nil {
		c.t.Fatalf("send on %s: %v", channel, err)
	}
}

// send sends a message and gives its id.
func (c *client) send(channel, kind string, content any, buffers ...[]byte) string {
	c.t.Helper()
	frames, id := c.compose(kind, content, nil, buffers...)
	c.sendFrames(channel, frames)
	return id
}

// next gives the next message of a channel.
func (c *client) next(channel string) msg {
	c.t.Helper()
	select {
	case m := <-c.incoming[channel]:
		return m
	case <-time.After(patience):
		c.t.Fatalf("no message on %s", channel)
		return msg{}
	}
}

// reply gives the reply to a request, which must be the next message of its channel.
func (c *client) reply(channel, id string) msg {
	c.t.Helper()
	m := c.next(channel)
	if m.Parent.ID != id {
		c.t.Fatalf("%s has parent %q, want %q: %v", m.Type, m.Parent.ID, id, m.Content)
	}
	return m
}

// published gives all iopub messages of a request from busy to idle, without these two.
func (c *client) published(id string) []msg {
	c.t.Helper()
	var all []msg
	busy := false
	for {
		m := c.next("iopub")
		if m.Parent.ID != id {
			continue
		}
		if m.Type == "status" {
			switch m.Content["execution_state"] {
			case "busy":
				busy = true
				continue
			case "idle":
				if !busy {
					c.t.Errorf("idle without busy")
				}
				return all
			}
		}
		if !busy {
			c.t.Errorf("%s before busy", m.Type)
		}
		all = append(all, m)
	}
}

// run runs a cell and gives its reply and what it published.
func (c *client) run(code string) (msg, []msg) {
	c.t.Helper()
	id := c.send("shell", "execute_request", map[string]any{"code": code})
	return c.reply("shell", id), c.published(id)
}

// ready waits until the kernel has welcomed this client, its first, and told it that it is starting.
func (c *client) ready() *client {
	c.t.Helper()
	if m := c.next("iopub"); m.Type != "iopub_welcome" || m.Content["subscription"] != "" {
		c.t.Fatalf("the first message is %s %v", m.Type, m.Content)
	}
	if m := c.next("iopub"); m.Type != "status" || m.Content["execution_state"] != "starting" {
		c.t.Fatalf("the second message is %s %v", m.Type, m.Content)
	}
	return c
}

// start serves a kernel and connects a client to it.
func start(t *testing.T) (*kernel, *client) {
	t.Helper()
	k := startKernel(t, jupyter.Options{}, testKey)
	return k, connect(t, k.info).ready()
}

// types gives the types of messages. Text of one stream counts once: how it is put together is a matter of time.
func types(ms []msg) []string {
	var names []string
	for i, m := range ms {
		if m.Type == "stream" && i > 0 && ms[i-1].Type == "stream" && ms[i-1].Content["name"] == m.Content["name"] {
			continue
		}
		names = append(names, m.Type)
	}
	return names
}

// streamText joins the text of a stream.
func streamText(ms []msg, name string) string {
	s := ""
	for _, m := range ms {
		if m.Type == "stream" && m.Content["name"] == name {
			s += m.Content["text"].(string)
		}
	}
	return s
}
