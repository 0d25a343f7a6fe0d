package jupyter_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/google/go-cmp/cmp"

	"github.com/gorovod/gorovod/kernel/jupyter"
)

// logged collects log lines and tells when one that contains a text is there.
type logged struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func newLogged() *logged { return &logged{grown: make(chan struct{}, 1)} }

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.grown <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) wait(t *testing.T, what string) {
	t.Helper()
	deadline := time.After(patience)
	for !strings.Contains(l.String(), what) {
		select {
		case <-l.grown:
		case <-deadline:
			t.Fatalf("no %q in the log:\n%s", what, l.String())
		}
	}
}

func (l *logged) options() jupyter.Options {
	return jupyter.Options{Logger: slog.New(slog.NewTextHandler(l, nil))}
}

func TestMessagesThatAreDropped(t *testing.T) {
	log := newLogged()
	k := startKernel(t, log.options(), testKey)
	c := connect(t, k.info).ready()
	content := map[string]any{"code": "print x"}
	good, _ := c.compose("kernel_info_request", content, nil)
	alter := func(change func(frames [][]byte) [][]byte) [][]byte {
		frames, _ := c.compose("execute_request", content, nil)
		return change(frames)
	}
	other := &client{t: t, key: "another key", session: "other"}
	foreign, _ := other.compose("execute_request", content, nil)
	signed := func(frames [][]byte) [][]byte {
		frames[1] = []byte(c.signature(frames[2:6]))
		return frames
	}
	c.sendFrames("shell", good)
	c.next("shell")
	tests := []struct {
		name   string
		frames [][]byte
		reason string
	}{
		{"altered content", alter(func(f [][]byte) [][]byte { f[5] = []byte(`{"code":"print y"}`); return f }), "signature is wrong"},
		{"another key", foreign, "signature is wrong"},
		{"no signature", alter(func(f [][]byte) [][]byte { f[1] = nil; return f }), "signature is wrong"},
		{"replay", good, "seen before"},
		{"no delimiter", [][]byte{[]byte("hello")}, "no <IDS|MSG>"},
		{"nothing at all", [][]byte{{}}, "no <IDS|MSG>"},
		{"too short", [][]byte{[]byte("<IDS|MSG>"), {}, []byte("{}")}, "2 frames after"},
		{"content is a list", alter(func(f [][]byte) [][]byte { f[5] = []byte(`[]`); return signed(f) }), "content is not a JSON object"},
		{"header is not JSON", alter(func(f [][]byte) [][]byte { f[2] = []byte(`{"a`); return signed(f) }), "header is not a JSON object"},
		{"header of wrong types", alter(func(f [][]byte) [][]byte { f[2] = []byte(`{"msg_type":3}`); return signed(f) }), "header cannot be read"},
		{"no type", alter(func(f [][]byte) [][]byte { f[2] = []byte(`{}`); return signed(f) }), "no msg_type"},
		{"unknown type", alter(func(f [][]byte) [][]byte { f[2] = []byte(`{"msg_type":"dance_request"}`); return signed(f) }), "type is not known"},
	}
	for _, tt := range tests {
		for _, channel := range []string{"shell", "control"} {
			if channel == "control" && tt.name != "replay" {
				tt.frames = append([][]byte{[]byte("more"), []byte("identities")}, tt.frames...)
				if tt.name == "unknown type" {
					continue // its signature was seen on shell
				}
			}
			c.sendFrames(channel, tt.frames)
			log.wait(t, tt.reason)
		}
	}
	if reply, _ := c.run("print x"); reply.Content["execution_count"] != 1.0 {
		t.Errorf("something of these was run: %v", reply.Content)
	}
}

func TestRequestsWithBadContent(t *testing.T) {
	_, c := start(t)
	for kind, content := range map[string]any{
		"execute_request":   map[string]any{"code": 3},
		"complete_request":  map[string]any{"code": []int{}},
		"inspect_request":   map[string]any{"cursor_pos": "x"},
		"history_request":   map[string]any{"hist_access_type": "whole"},
		"comm_info_request": map[string]any{"target_name": 3},
	} {
		id := c.send("shell", kind, content)
		if m := c.reply("shell", id); m.Content["status"] != "error" || m.Content["evalue"] == "" {
			t.Errorf("%s: %v", kind, m.Content)
		}
		c.published(id)
	}
	if m := c.reply("shell", c.send("shell", "execute_request", map[string]any{})); m.Content["status"] != "error" {
		t.Errorf("no code: %v", m.Content)
	}
	if m := c.reply("shell", c.send("shell", "is_complete_request", map[string]any{"code": 1})); m.Content["status"] != "unknown" {
		t.Errorf("is_complete: %v", m.Content)
	}
}

func TestWithoutAKeyNothingIsSigned(t *testing.T) {
	k := startKernel(t, jupyter.Options{}, "")
	c := connect(t, k.info).ready()
	for range 2 { // equal messages are no replay
		if reply, _ := c.run("print a"); reply.Content["status"] != "ok" || reply.signature != "" {
			t.Errorf("%q %v", reply.signature, reply.Content)
		}
	}
}

func TestRepliesKeepIdentitiesAndTheWholeParent(t *testing.T) {
	_, c := start(t)
	frames, _ := c.compose("kernel_info_request", nil, nil)
	c.sendFrames("shell", append([][]byte{[]byte("via"), {0, 1}}, frames...))
	m := c.next("shell")
	if diff := cmp.Diff([]string{"via", "\x00\x01"}, m.Identities); diff != "" {
		t.Error(diff)
	}
	var want jupyter.Header
	json.Unmarshal(frames[2], &want)
	if diff := cmp.Diff(want, m.Parent); diff != "" {
		t.Error(diff)
	}
}

func TestTwoClients(t *testing.T) {
	k, c := start(t)
	reply, _ := c.run("print a")
	session := reply.Header.Session
	d := connect(t, k.info)
	// The second comes late: it has what is published from its subscription on, and never a second "starting".
	for seen := false; !seen; {
		id := d.send("shell", "kernel_info_request", nil)
		if m := d.reply("shell", id); m.Header.Session != session {
			t.Errorf("session %q, then %q", session, m.Header.Session)
		}
		select {
		case m := <-d.incoming["iopub"]:
			seen = true
			if m.Content["execution_state"] == "starting" {
				t.Errorf("a second starting")
			}
		default:
		}
	}
	id := c.send("shell", "execute_request", map[string]any{"code": "print b"})
	if out := d.published(id); streamText(out, "stdout") != "b\n" {
		t.Errorf("the other client sees %v", out)
	}
	c.reply("shell", id)
	select {
	case m := <-d.incoming["shell"]:
		t.Errorf("the other client got the reply %v", m)
	default:
	}
}

func TestOutputAfterTheCell(t *testing.T) {
	k, c := start(t)
	reply, _ := c.run("print a")
	out := k.lastOutput()
	out.Stream(jupyter.Stdout, "late")
	m := c.next("iopub")
	if m.Type != "stream" || m.Content["text"] != "late" || m.Parent.ID != reply.Parent.ID {
		t.Errorf("%s %v of %s", m.Type, m.Content, m.Parent.ID)
	}
	c.run("print b")
	out.Stream(jupyter.Stdout, "later")
	if m := c.next("iopub"); m.Content["text"] != "later" || m.Parent.ID != reply.Parent.ID {
		t.Errorf("%s %v of %s", m.Type, m.Content, m.Parent.ID)
	}
}

func TestMuchOutputArrivesWhole(t *testing.T) {
	_, c := start(t)
	const size = 20_000_000
	_, out := c.run(fmt.Sprintf("flood %d\nprint end", size))
	text := streamText(out, "stdout")
	if want := strings.Repeat(strings.Repeat("x", 99)+"\n", size/100) + "end\n"; text != want {
		t.Errorf("%d bytes of %d", len(text), len(want))
	}
	for _, m := range out {
		if n := len(fmt.Sprint(m.Content["text"])); n > 1<<20 {
			t.Errorf("a text of %d bytes", n)
		}
	}
	if len(out) > size/(16<<10) {
		t.Errorf("%d messages", len(out))
	}
}

// TestAStalledSubscriber has a subscriber that reads nothing beside one that does.
func TestAStalledSubscriber(t *testing.T) {
	k, c := start(t)
	stalled, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", k.info.IOPubPort))
	if err != nil {
		t.Fatal(err)
	}
	defer stalled.Close()
	zc, err := zmq4.Open(stalled, nullSecurity, zmq4.Sub, nil, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zc.SendMsg(zmq4.NewMsg([]byte{1})); err != nil {
		t.Fatal(err)
	}
	_, out := c.run("flood 5000000")
	if n := len(streamText(out, "stdout")); n != 5_000_000 {
		t.Errorf("%d bytes", n)
	}
}

func TestStrayConnections(t *testing.T) {
	k, c := start(t)
	greeting := func() []byte {
		g := make([]byte, 64)
		g[0], g[9], g[10] = 0xff, 0x7f, 3
		copy(g[12:], "NULL")
		return g
	}
	ready := "\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
	handshake := append(greeting(), append([]byte{4, byte(len(ready))}, ready...)...)
	huge := []byte{2, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for name, bytes := range map[string][]byte{
		"silent":                    {},
		"HTTP":                      []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n" + strings.Repeat("x", 100)),
		"half a greeting":           greeting()[:20],
		"a huge command":            append(greeting(), 6, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		"a malformed command":       append(greeting(), 4, 7, 5, 'R', 'E', 'A', 'D', 'Y', 200),
		"another kind of socket":    append(greeting(), append([]byte{4, 24}, "\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"...)...),
		"a huge frame":              append(handshake[:len(handshake):len(handshake)], huge...),
		"unknown flags":             append(handshake[:len(handshake):len(handshake)], 0xf8, 0),
		"a frame that does not end": append(handshake[:len(handshake):len(handshake)], 2, 0, 0, 0, 0, 0, 1, 0, 0),
	} {
		for _, port := range []int{k.info.ShellPort, k.info.ControlPort, k.info.StdinPort, k.info.IOPubPort, k.info.HeartbeatPort} {
			conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				t.Fatal(name, err)
			}
			defer conn.Close()
			conn.Write(bytes)
		}
		if reply, _ := c.run("print a"); reply.Content["status"] != "ok" {
			t.Errorf("%s: %v", name, reply.Content)
		}
	}
	connect(t, k.info) // new clients still get in
}

func TestHeartbeat(t *testing.T) {
	k, c := start(t)
	cell := c.send("shell", "execute_request", map[string]any{"code": "hold a"})
	<-k.running
	req := zmq4.NewReq(context.Background())
	defer req.Close()
	if err := req.Dial(fmt.Sprintf("tcp://127.0.0.1:%d", k.info.HeartbeatPort)); err != nil {
		t.Fatal(err)
	}
	for _, beat := range []string{"ping", "", strings.Repeat("x", 1000)} {
		if err := req.Send(zmq4.NewMsgString(beat)); err != nil {
			t.Fatal(err)
		}
		m, err := req.Recv()
		if err != nil || string(m.Bytes()) != beat {
			t.Errorf("sent %q, got %q, %v", beat, m.Bytes(), err)
		}
	}
	k.release <- struct{}{}
	c.reply("shell", cell)
}

func TestMessageLog(t *testing.T) {
	log := newLogged()
	k := startKernel(t, jupyter.Options{MessageLog: log}, testKey)
	c := connect(t, k.info).ready()
	id := c.send("shell", "execute_request", map[string]any{"code": "password p", "allow_stdin": true})
	c.next("stdin")
	c.send("stdin", "input_reply", map[string]any{"value": "s3cret"})
	c.reply("shell", id)
	c.published(id)
	var got []string
	lines := bufio.NewScanner(strings.NewReader(log.String()))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Direction, Channel string
			Header             jupyter.Header
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Direction+" "+e.Channel+" "+e.Header.Type)
	}
	want := []string{
		"send iopub iopub_welcome", "send iopub status", "recv shell execute_request", "send iopub status", "send iopub execute_input",
		"send stdin input_request", "recv stdin input_reply", "send iopub stream", "send shell execute_reply", "send iopub status",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The cell prints what was typed; the log must not have it from the answer itself.
	if n := strings.Count(log.String(), "s3cret"); n != 1 {
		t.Errorf("what was typed is %d times in the log", n)
	}
	if strings.Contains(log.String(), testKey) {
		t.Errorf("the key is in the log")
	}
}

func TestIPC(t *testing.T) {
	dir := t.TempDir()
	info := jupyter.ConnectionInfo{
		Transport: "ipc", IP: dir + "/k", Key: testKey,
		ShellPort: 1, IOPubPort: 2, StdinPort: 3, ControlPort: 4, HeartbeatPort: 5,
	}
	ctx, stop := context.WithCancel(context.Background())
	s, err := jupyter.Listen(info, jupyter.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, newEchoKernel()) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	conn, err := net.Dial("unix", dir+"/k-1")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	zc, err := zmq4.Open(conn, nullSecurity, zmq4.Dealer, zmq4.SocketIdentity("me"), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, key: testKey, session: "ipc"}
	frames, id := c.compose("kernel_info_request", nil, nil)
	if err := zc.SendMsg(zmq4.NewMsgFrom(frames...)); err != nil {
		t.Fatal(err)
	}
	m, err := zc.RecvMsg()
	if err != nil {
		t.Fatal(err)
	}
	if got := c.parse(m.Frames); got.Type != "kernel_info_reply" || got.Parent.ID != id {
		t.Errorf("%s %v", got.Type, got.Parent)
	}
}

func TestListenErrors(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	tests := map[string]struct {
		info jupyter.ConnectionInfo
		want string
	}{
		"port in use":       {jupyter.ConnectionInfo{StdinPort: busy.Addr().(*net.TCPAddr).Port}, "bind the stdin socket"},
		"transport":         {jupyter.ConnectionInfo{Transport: "pigeon"}, `"pigeon"`},
		"scheme":            {jupyter.ConnectionInfo{Key: "k", SignatureScheme: "hmac-md5"}, `"hmac-md5"`},
		"no such address":   {jupyter.ConnectionInfo{IP: "192.0.2.1"}, "bind the shell socket"},
		"port out of range": {jupyter.ConnectionInfo{IOPubPort: 70000}, "iopub_port is 70000"},
		"ipc without path":  {jupyter.ConnectionInfo{Transport: "ipc"}, `needs the sockets' path`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := jupyter.Listen(tt.info, jupyter.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q in it", err, tt.want)
			}
		})
	}
}
