package kernel_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"go.uber.org/goleak"

	"github.com/gorovod/gorovod/kernel"
	"github.com/gorovod/gorovod/kernel/jupyter"
	"github.com/gorovod/gorovod/worker"
)

// patience bounds every wait of the tests.
const patience = 2 * time.Minute

// TestMain lets the test binary be the sessions, agents and workers that the kernels start.
func TestMain(m *testing.M) {
	worker.Serve(worker.Interpreter())
	goleak.VerifyTestMain(m,
		// Goroutines that zmq4's client sockets leave behind when they are closed.
		goleak.IgnoreAnyFunction("github.com/go-zeromq/zmq4.(*qreader).listen"),
		goleak.IgnoreAnyFunction("github.com/go-zeromq/zmq4.(*socket).connReaper"),
	)
}

// message is a message as a front end sees it.
type message struct {
	Header, Parent jupyter.Header
	Content        map[string]any
}

func (m message) text(key string) string {
	s, _ := m.Content[key].(string)
	return s
}

func (m message) data() map[string]any {
	d, _ := m.Content["data"].(map[string]any)
	return d
}

// notebook is a kernel that is served in this process, and its front end.
type notebook struct {
	t        *testing.T
	key      string
	sockets  map[string]zmq4.Socket
	incoming map[string]chan message
	stop     context.CancelFunc
	served   chan error
	answers  []string
}

var ids atomic.Int64

// start serves a kernel on real sockets until the test ends.
func start(t *testing.T, c kernel.Config) *notebook {
	t.Helper()
	const key = "a key for tests"
	server, err := jupyter.Listen(jupyter.ConnectionInfo{IP: "127.0.0.1", Key: key}, jupyter.Options{
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	nb := &notebook{
		t: t, key: key, sockets: map[string]zmq4.Socket{}, incoming: map[string]chan message{}, stop: stop, served: make(chan error, 1),
	}
	go func() { nb.served <- server.Serve(ctx, kernel.New(c)) }()
	t.Cleanup(nb.end)
	info := server.Connection()
	id := zmq4.WithID(zmq4.SocketIdentity(fmt.Sprint("front-", ids.Add(1))))
	nb.open("iopub", zmq4.NewSub(context.Background()), info.IOPubPort)
	nb.open("shell", zmq4.NewDealer(context.Background(), id), info.ShellPort)
	nb.open("control", zmq4.NewDealer(context.Background(), id), info.ControlPort)
	nb.open("stdin", zmq4.NewDealer(context.Background(), id), info.StdinPort)
	return nb
}

// end ends the kernel and waits for it.
func (nb *notebook) end() {
	nb.stop()
	select {
	case err := <-nb.served:
		nb.served <- err
		if err != nil {
			nb.t.Errorf("Serve: %v", err)
		}
	case <-time.After(patience):
		nb.t.Error("the kernel does not end")
	}
}

func (nb *notebook) open(name string, s zmq4.Socket, port int) {
	nb.t.Helper()
	if err := s.Dial(fmt.Sprintf("tcp://127.0.0.1:%d", port)); err != nil {
		nb.t.Fatalf("%s: %v", name, err)
	}
	if name == "iopub" {
		if err := s.SetOption(zmq4.OptionSubscribe, ""); err != nil {
			nb.t.Fatal(err)
		}
	}
	in, done := make(chan message, 100_000), make(chan struct{})
	nb.sockets[name], nb.incoming[name] = s, in
	go func() {
		defer close(done)
		for {
			m, err := s.Recv()
			if err != nil {
				return
			}
			in <- nb.parse(m.Frames)
		}
	}()
	nb.t.Cleanup(func() {
		s.Close()
		<-done
	})
}

func (nb *notebook) parse(frames [][]byte) (m message) {
	for len(frames) > 0 && string(frames[0]) != "<IDS|MSG>" {
		frames = frames[1:]
	}
	if len(frames) < 6 {
		nb.t.Errorf("a message of %d frames", len(frames))
		return m
	}
	for i, into := range map[int]any{2: &m.Header, 3: &m.Parent, 5: &m.Content} {
		if err := json.Unmarshal(frames[i], into); err != nil {
			nb.t.Errorf("frame %d: %v", i, err)
		}
	}
	return m
}

// send sends a request and gives its id.
func (nb *notebook) send(channel, kind string, content any) string {
	nb.t.Helper()
	id := fmt.Sprint("request-", ids.Add(1))
	header := map[string]any{
		"msg_id": id, "msg_type": kind, "session": "front", "username": "tester",
		"date": time.Now().UTC().Format(time.RFC3339Nano), "version": "5.4",
	}
	mac := hmac.New(sha256.New, []byte(nb.key))
	var parts [][]byte
	for _, v := range []any{header, map[string]any{}, map[string]any{}, content} {
		b, err := json.Marshal(v)
		if err != nil {
			nb.t.Fatal(err)
		}
		mac.Write(b)
		parts = append(parts, b)
	}
	frames := append([][]byte{[]byte("<IDS|MSG>"), []byte(hex.EncodeToString(mac.Sum(nil)))}, parts...)
	if err := nb.sockets[channel].Send(zmq4.NewMsgFrom(frames...)); err != nil {
		nb.t.Fatalf("send on %s: %v", channel, err)
	}
	return id
}

// next gives the next message of a channel; what is said in the test's error when there is none.
func (nb *notebook) next(channel, what string) message {
	nb.t.Helper()
	select {
	case m := <-nb.incoming[channel]:
		return m
	case <-time.After(patience):
		nb.t.Fatalf("no message on %s: %s", channel, what)
		return message{}
	}
}

// ask sends a request and gives the content of its reply.
func (nb *notebook) ask(channel, kind string, content any) map[string]any {
	nb.t.Helper()
	id := nb.send(channel, kind, content)
	for {
		if m := nb.next(channel, "the reply to "+kind); m.Parent.ID == id {
			return m.Content
		}
	}
}

// cell is an execution as the front end sees it.
type cell struct {
	nb                           *notebook
	id, code                     string
	reply                        map[string]any
	stdout, stderr               string
	results, displays            []map[string]any
	updates                      []map[string]any // all that displays were and became
	failure, name, value, result string
}

// begin sends a cell.
func (nb *notebook) begin(code string, options map[string]any) *cell {
	nb.t.Helper()
	content := map[string]any{"code": code, "allow_stdin": len(nb.answers) > 0, "store_history": true}
	maps.Copy(content, options)
	return &cell{nb: nb, code: code, id: nb.send("shell", "execute_request", content)}
}

var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")

// take takes one message of the cell, and says whether it was the last.
func (c *cell) take(m message) (idle bool) {
	if m.Parent.ID != c.id {
		return false
	}
	switch m.Header.Type {
	case "stream":
		if m.text("name") == "stdout" {
			c.stdout += m.text("text")
		} else {
			c.stderr += m.text("text")
		}
	case "execute_result":
		c.results = append(c.results, m.data())
		c.result, _ = m.data()["text/plain"].(string)
	case "display_data":
		c.displays = append(c.displays, m.data())
		c.updates = append(c.updates, m.data())
	case "update_display_data":
		c.updates = append(c.updates, m.data())
	case "error":
		c.name, c.value = m.text("ename"), m.text("evalue")
		c.failure = c.name + ": " + c.value
		for _, line := range m.Content["traceback"].([]any) {
			c.failure += "\n" + ansi.ReplaceAllString(line.(string), "")
		}
	case "status":
		return m.text("execution_state") == "idle"
	}
	return false
}

// until reads what the cell shows until a condition holds.
func (c *cell) until(what string, holds func() bool) *cell {
	c.nb.t.Helper()
	for !holds() {
		if c.take(c.nb.next("iopub", what)) {
			c.nb.t.Fatalf("%s ended without %s", c, what)
		}
	}
	return c
}

// finish reads to the cell's end, answering what it asks.
func (c *cell) finish() *cell {
	c.nb.t.Helper()
	deadline := time.After(patience)
	for idle := false; !idle || c.reply == nil; {
		select {
		case m := <-c.nb.incoming["iopub"]:
			idle = c.take(m) || idle
		case m := <-c.nb.incoming["shell"]:
			if m.Parent.ID == c.id {
				c.reply = m.Content
			}
		case <-c.nb.incoming["stdin"]:
			if len(c.nb.answers) == 0 {
				c.nb.t.Fatalf("%s asks, and there is no answer", c)
			}
			c.nb.send("stdin", "input_reply", map[string]any{"value": c.nb.answers[0]})
			c.nb.answers = c.nb.answers[1:]
		case <-deadline:
			c.nb.t.Fatalf("%s does not end", c)
		}
	}
	return c
}

func (c *cell) String() string {
	return fmt.Sprintf("cell %q\nstdout: %s\nstderr: %s\nresult: %s\ndisplays: %v\nerror: %s", c.code, c.stdout, c.stderr, c.result, c.displays, c.failure)
}

// ok runs a cell that must not fail.
func (nb *notebook) ok(code string) *cell {
	nb.t.Helper()
	c := nb.begin(code, nil).finish()
	if c.reply["status"] != "ok" {
		nb.t.Fatalf("%s", c)
	}
	return c
}

// fails runs a cell that must fail with all the words in its error.
func (nb *notebook) fails(code string, words ...string) *cell {
	nb.t.Helper()
	c := nb.begin(code, nil).finish()
	return c.failed(words...)
}

func (c *cell) failed(words ...string) *cell {
	c.nb.t.Helper()
	if c.reply["status"] != "error" {
		c.nb.t.Fatalf("%s\nshould have failed", c)
	}
	for _, w := range words {
		if !strings.Contains(c.failure, w) {
			c.nb.t.Errorf("%s\nhas no %q in its error", c, w)
		}
	}
	return c
}

// shows checks a cell's result.
func (nb *notebook) shows(code, want string) {
	nb.t.Helper()
	if c := nb.ok(code); c.result != want {
		nb.t.Errorf("%s\nwant the result %q", c, want)
	}
}
