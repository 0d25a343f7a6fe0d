package jupyter_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorovod/gorovod/kernel/jupyter"
)

func TestKernelInfoOnBothSockets(t *testing.T) {
	_, c := start(t)
	for _, channel := range []string{"shell", "control"} {
		id := c.send(channel, "kernel_info_request", nil)
		m := c.reply(channel, id)
		if m.Type != "kernel_info_reply" || m.Content["status"] != "ok" || m.Content["protocol_version"] != "5.4" {
			t.Errorf("%s: %s %v", channel, m.Type, m.Content)
		}
		if got := m.Content["language_info"].(map[string]any)["file_extension"]; got != ".echo" {
			t.Errorf("%s: file_extension %v", channel, got)
		}
		if out := c.published(id); len(out) != 0 {
			t.Errorf("%s published %v", channel, types(out))
		}
	}
}

func TestExecute(t *testing.T) {
	tests := map[string]struct {
		code   string
		types  []string
		stdout string
		stderr string
		status string
	}{
		"streams in order":   {"print a\neprint b\nprint c", []string{"execute_input", "stream", "stream", "stream"}, "a\nc\n", "b\n", "ok"},
		"small prints":       {"print a\nprint b", []string{"execute_input", "stream"}, "a\nb\n", "", "ok"},
		"text before result": {"print a\nresult 3", []string{"execute_input", "stream", "execute_result"}, "a\n", "", "ok"},
		"split runes":        {"bytes 日本語", []string{"execute_input", "stream"}, "日本語", "", "ok"},
		"not UTF-8":          {"garbage", []string{"execute_input", "stream"}, "a\uFFFDb\uFFFD", "", "ok"},
		"display and update": {"display x <b>\nupdate x y\nclear wait",
			[]string{"execute_input", "display_data", "update_display_data", "clear_output"}, "", "", "ok"},
		"error after output": {"print a\nerror e", []string{"execute_input", "stream", "error"}, "a\n", "", "error"},
		"panic of handler":   {"panic p", []string{"execute_input", "error"}, "", "", "error"},
		"nothing":            {"", []string{"execute_input"}, "", "", "ok"},
	}
	_, c := start(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			reply, out := c.run(tt.code)
			if reply.Content["status"] != tt.status {
				t.Errorf("reply %v", reply.Content)
			}
			if diff := cmp.Diff(tt.types, types(out)); diff != "" {
				t.Error(diff)
			}
			if got := streamText(out, "stdout"); got != tt.stdout {
				t.Errorf("stdout %q, want %q", got, tt.stdout)
			}
			if got := streamText(out, "stderr"); got != tt.stderr {
				t.Errorf("stderr %q, want %q", got, tt.stderr)
			}
		})
	}
}

func TestExecuteContents(t *testing.T) {
	_, c := start(t)
	reply, out := c.run("print p\nresult 3")
	if got := reply.Content; got["execution_count"] != 1.0 || reply.Metadata["started"] == nil {
		t.Errorf("reply %v %v", got, reply.Metadata)
	}
	if diff := cmp.Diff(map[string]any{
		"data": map[string]any{"text/plain": "3"}, "metadata": map[string]any{}, "transient": map[string]any{}, "execution_count": 1.0,
	}, out[2].Content); diff != "" {
		t.Error(diff)
	}
	if topic := out[1].Identities[0]; !strings.HasPrefix(topic, "kernel.") || !strings.HasSuffix(topic, ".stream.stdout") {
		t.Errorf("topic %q", topic)
	}
	_, out = c.run("display d1 <b>")
	if diff := cmp.Diff(map[string]any{
		"data": map[string]any{"text/html": "<b>", "image/png": "AQI="}, "metadata": map[string]any{},
		"transient": map[string]any{"display_id": "d1"},
	}, out[1].Content); diff != "" {
		t.Error(diff)
	}
	reply, out = c.run("boom now")
	want := map[string]any{"ename": "EchoError", "evalue": "boom now", "traceback": []any{"cell", "boom now"}}
	if diff := cmp.Diff(want, out[1].Content); diff != "" {
		t.Error(diff)
	}
	for k, v := range want {
		if diff := cmp.Diff(v, reply.Content[k]); diff != "" {
			t.Errorf("reply's %s: %s", k, diff)
		}
	}
	if reply, out = c.run("where"); streamText(out, "stdout") != reply.Parent.ID {
		t.Errorf("the handler sees another parent")
	}
}

func TestExecutionCountAndSilence(t *testing.T) {
	_, c := start(t)
	exec := func(code string, more map[string]any) (msg, []msg) {
		t.Helper()
		more["code"] = code
		id := c.send("shell", "execute_request", more)
		return c.reply("shell", id), c.published(id)
	}
	steps := []struct {
		name  string
		code  string
		more  map[string]any
		count float64
		types []string
	}{
		{"stored", "result 1", map[string]any{}, 1, []string{"execute_input", "execute_result"}},
		{"silent", "print x\nresult 1\nerror", map[string]any{"silent": true, "stop_on_error": false}, 1, nil},
		{"not stored", "result 1", map[string]any{"store_history": false}, 1, []string{"execute_input", "execute_result"}},
		{"blank", " \n", map[string]any{}, 1, []string{"execute_input"}},
		{"stored again", "result 2", map[string]any{}, 2, []string{"execute_input", "execute_result"}},
	}
	for _, s := range steps {
		reply, out := exec(s.code, s.more)
		if reply.Content["execution_count"] != s.count {
			t.Errorf("%s: count %v, want %v", s.name, reply.Content["execution_count"], s.count)
		}
		if diff := cmp.Diff(s.types, types(out)); diff != "" {
			t.Errorf("%s: %s", s.name, diff)
		}
	}
	id := c.send("shell", "history_request", map[string]any{"hist_access_type": "tail", "n": 10, "output": true, "raw": true})
	want := []any{
		[]any{1.0, 1.0, []any{"result 1", "1"}},
		[]any{1.0, 2.0, []any{"result 2", "2"}},
	}
	if diff := cmp.Diff(want, c.reply("shell", id).Content["history"]); diff != "" {
		t.Error(diff)
	}
}

func TestUserExpressions(t *testing.T) {
	_, c := start(t)
	id := c.send("shell", "execute_request", map[string]any{
		"code": "print a", "user_expressions": map[string]any{"good": "1+1", "worse": "bad", "none": 3},
	})
	got := c.reply("shell", id).Content["user_expressions"]
	want := map[string]any{
		"good":  map[string]any{"status": "ok", "data": map[string]any{"text/plain": "1+1"}, "metadata": map[string]any{}},
		"worse": map[string]any{"status": "error", "ename": "EchoError", "evalue": "bad", "traceback": []any{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestQueueIsAbortedAfterAnError(t *testing.T) {
	k, c := start(t)
	first := c.send("shell", "execute_request", map[string]any{"code": "hold a\nerror e"})
	<-k.running
	second := c.send("shell", "execute_request", map[string]any{"code": "print b"})
	third := c.send("shell", "execute_request", map[string]any{"code": "print c", "stop_on_error": false})
	// A reply to what was sent after them says that they have arrived.
	c.reply("shell", c.send("shell", "kernel_info_request", nil))
	k.release <- struct{}{}
	if got := c.reply("shell", first).Content["status"]; got != "error" {
		t.Errorf("first: %v", got)
	}
	for _, id := range []string{second, third} {
		if diff := cmp.Diff(map[string]any{"status": "aborted"}, c.reply("shell", id).Content); diff != "" {
			t.Error(diff)
		}
		if out := c.published(id); len(out) != 0 {
			t.Errorf("an aborted cell published %v", types(out))
		}
	}
	if reply, _ := c.run("print d"); reply.Content["status"] != "ok" || reply.Content["execution_count"] != 2.0 {
		t.Errorf("the next cell: %v", reply.Content)
	}
}

func TestQueueGoesOnWithoutStopOnError(t *testing.T) {
	k, c := start(t)
	first := c.send("shell", "execute_request", map[string]any{"code": "hold a\nerror e", "stop_on_error": false})
	<-k.running
	second := c.send("shell", "execute_request", map[string]any{"code": "print b"})
	k.release <- struct{}{}
	if got := c.reply("shell", first).Content["status"]; got != "error" {
		t.Errorf("first: %v", got)
	}
	if got := c.reply("shell", second).Content["status"]; got != "ok" {
		t.Errorf("second: %v", got)
	}
}

func TestQuestionsAreAnsweredWhileACellRuns(t *testing.T) {
	k, c := start(t)
	cell := c.send("shell", "execute_request", map[string]any{"code": "hold a"})
	<-k.running
	for _, r := range []struct{ channel, kind string }{
		{"shell", "kernel_info_request"}, {"shell", "complete_request"}, {"shell", "inspect_request"},
		{"shell", "is_complete_request"}, {"shell", "history_request"}, {"shell", "comm_info_request"},
		{"shell", "connect_request"}, {"control", "kernel_info_request"},
	} {
		id := c.send(r.channel, r.kind, map[string]any{"code": "pr", "cursor_pos": 2, "hist_access_type": "tail"})
		m := c.reply(r.channel, id)
		if want := strings.Replace(r.kind, "request", "reply", 1); m.Type != want || m.Content["status"] == "error" {
			t.Errorf("%s %s: %s %v", r.channel, r.kind, m.Type, m.Content)
		}
		c.published(id)
	}
	k.release <- struct{}{}
	c.reply("shell", cell)
}

func TestACellRunsWhileACompletionIsSlow(t *testing.T) {
	k := startKernel(t, jupyter.Options{}, testKey)
	k.completing = make(chan struct{})
	c := connect(t, k.info).ready()
	slow := c.send("shell", "complete_request", map[string]any{"code": "pr", "cursor_pos": 2})
	if reply, _ := c.run("print a"); reply.Content["status"] != "ok" {
		t.Errorf("cell: %v", reply.Content)
	}
	close(k.completing)
	c.reply("shell", slow)
}

func TestCompleteCountsCodePoints(t *testing.T) {
	_, c := start(t)
	tests := []struct {
		code       string
		cursor     any
		matches    []any
		start, end float64
	}{
		{"日本 p", 4, []any{"print", "page", "password"}, 3, 4},
		{"𝔘 pri x", 5, []any{"print"}, 2, 5},
		{"wö", 2, []any{"wörter"}, 0, 2},
		{"pri", nil, []any{"print"}, 0, 3},
		{"pri", 1000, []any{"print"}, 0, 3},
		{"pri", -5, []any{"print", "page", "password", "result", "wörter"}, 0, 0},
		{"zz", 2, []any{}, 0, 2},
	}
	for _, tt := range tests {
		id := c.send("shell", "complete_request", map[string]any{"code": tt.code, "cursor_pos": tt.cursor})
		got := c.reply("shell", id).Content
		if diff := cmp.Diff([]any{tt.matches, tt.start, tt.end, "ok"},
			[]any{got["matches"], got["cursor_start"], got["cursor_end"], got["status"]}); diff != "" {
			t.Errorf("%q: %s", tt.code, diff)
		}
	}
}

func TestInspectAndIsComplete(t *testing.T) {
	_, c := start(t)
	ask := func(kind string, content map[string]any) map[string]any {
		t.Helper()
		return c.reply("shell", c.send("shell", kind, content)).Content
	}
	got := ask("inspect_request", map[string]any{"code": "print ö", "cursor_pos": 7, "detail_level": 1})
	if diff := cmp.Diff(map[string]any{
		"status": "ok", "found": true, "data": map[string]any{"text/plain": "print at 8/1"}, "metadata": map[string]any{},
	}, got); diff != "" {
		t.Error(diff)
	}
	got = ask("inspect_request", map[string]any{"code": "x", "cursor_pos": 1, "detail_level": 0})
	if diff := cmp.Diff(map[string]any{
		"status": "ok", "found": false, "data": map[string]any{}, "metadata": map[string]any{},
	}, got); diff != "" {
		t.Error(diff)
	}
	if got = ask("inspect_request", map[string]any{"code": "fail"}); got["status"] != "error" || got["evalue"] != "cannot inspect" {
		t.Errorf("failing: %v", got)
	}
	for code, want := range map[string]map[string]any{
		"print": {"status": "complete"}, "a\\": {"status": "incomplete", "indent": "  "}, ")": {"status": "invalid"},
	} {
		if diff := cmp.Diff(want, ask("is_complete_request", map[string]any{"code": code})); diff != "" {
			t.Errorf("%q: %s", code, diff)
		}
	}
}

func TestInterrupt(t *testing.T) {
	k, c := start(t)
	cell := c.send("shell", "execute_request", map[string]any{"code": "hold a"})
	<-k.running
	next := c.send("shell", "execute_request", map[string]any{"code": "print b"})
	c.reply("shell", c.send("shell", "kernel_info_request", nil))
	id := c.send("control", "interrupt_request", nil)
	if m := c.reply("control", id); m.Type != "interrupt_reply" || m.Content["status"] != "ok" {
		t.Errorf("%s %v", m.Type, m.Content)
	}
	<-k.interrupts
	if got := c.reply("shell", cell).Content; got["ename"] != "Interrupted" {
		t.Errorf("cell: %v", got)
	}
	if got := c.reply("shell", next).Content["status"]; got != "aborted" {
		t.Errorf("the cell behind it: %v", got)
	}
	if reply, _ := c.run("print c"); reply.Content["status"] != "ok" {
		t.Errorf("the next cell: %v", reply.Content)
	}
}

func TestShutdown(t *testing.T) {
	for _, channel := range []string{"control", "shell"} {
		for _, restart := range []bool{false, true} {
			k, c := start(t)
			cell := c.send("shell", "execute_request", map[string]any{"code": "hold a"})
			<-k.running
			queued := c.send("shell", "execute_request", map[string]any{"code": "print b"})
			c.reply("shell", c.send("shell", "kernel_info_request", nil))
			id := c.send(channel, "shutdown_request", map[string]any{"restart": restart})
			if got := c.reply("shell", cell).Content; got["evalue"] != jupyter.ErrShutdown.Error() {
				t.Errorf("the running cell: %v", got)
			}
			if got := c.reply("shell", queued).Content["status"]; got != "aborted" {
				t.Errorf("the queued cell: %v", got)
			}
			want := map[string]any{"status": "ok", "restart": restart}
			if diff := cmp.Diff(want, c.reply(channel, id).Content); diff != "" {
				t.Error(diff)
			}
			if out := c.published(id); len(out) != 1 || out[0].Type != "shutdown_reply" {
				t.Errorf("published %v", types(out))
			}
			if got := <-k.shutdowns; got != restart {
				t.Errorf("the handler was told restart=%v", got)
			}
			if err := k.wait(t); err != nil {
				t.Errorf("Serve: %v", err)
			}
		}
	}
}

func TestEndOfContextEndsTheCell(t *testing.T) {
	k, c := start(t)
	cell := c.send("shell", "execute_request", map[string]any{"code": "hold a"})
	<-k.running
	k.stop()
	if got := c.reply("shell", cell).Content; got["evalue"] != jupyter.ErrShutdown.Error() {
		t.Errorf("the running cell: %v", got)
	}
	if out := c.published(cell); types(out)[len(out)-1] != "error" {
		t.Errorf("published %v", types(out))
	}
	if restart := <-k.shutdowns; restart {
		t.Error("the handler was told of a restart")
	}
	if err := k.wait(t); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestACellThatDoesNotEnd(t *testing.T) {
	s, err := jupyter.Listen(jupyter.ConnectionInfo{Key: testKey}, newLogged().options())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	h := newEchoKernel()
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, h) }()
	c := connect(t, s.Connection()).ready()
	c.send("shell", "execute_request", map[string]any{"code": "stuck a"})
	<-h.running
	stop()
	if err := <-served; err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Errorf("Serve: %v", err)
	}
	close(h.release)
}

func TestAServerThatIsNotServed(t *testing.T) {
	s, err := jupyter.Listen(jupyter.ConnectionInfo{Key: testKey}, newLogged().options())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
