package jupyter_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorovod/gorovod/kernel/jupyter"
)

func TestInput(t *testing.T) {
	_, c := start(t)
	id := c.send("shell", "execute_request", map[string]any{"code": "print who\ninput name?\npassword pin?", "allow_stdin": true})
	q := c.next("stdin")
	if diff := cmp.Diff(map[string]any{"prompt": "name?", "password": false}, q.Content); diff != "" || q.Type != "input_request" || q.Parent.ID != id {
		t.Errorf("%s of %s: %s", q.Type, q.Parent.ID, diff)
	}
	c.send("stdin", "input_reply", map[string]any{"value": "Ada\n"})
	q = c.next("stdin")
	if q.Content["password"] != true {
		t.Errorf("%v", q.Content)
	}
	// An answer to the first question, sent again, is not one to the second; nor is a foreign message.
	frames, _ := c.compose("input_reply", map[string]any{"value": "wrong"}, map[string]any{"msg_id": "x", "msg_type": "input_request"})
	c.sendFrames("stdin", frames)
	c.send("stdin", "input_something", map[string]any{"value": "wrong"})
	frames, _ = c.compose("input_reply", map[string]any{"value": "1"}, q.Header)
	c.sendFrames("stdin", frames)
	if got := c.reply("shell", id).Content["status"]; got != "ok" {
		t.Errorf("status %v", got)
	}
	if got := streamText(c.published(id), "stdout"); got != "who\n<Ada\n><1>" {
		t.Errorf("%q", got)
	}
}

func TestInputIsNotAllowed(t *testing.T) {
	_, c := start(t)
	id := c.send("shell", "execute_request", map[string]any{"code": "input name?", "allow_stdin": false})
	if got := c.reply("shell", id).Content["evalue"]; got != jupyter.ErrNoStdin.Error() {
		t.Errorf("%v", got)
	}
}

func TestInputGoesToTheClientThatRunsTheCell(t *testing.T) {
	k, c := start(t)
	d := connect(t, k.info)
	id := d.send("shell", "execute_request", map[string]any{"code": "input name?"})
	d.next("stdin")
	c.send("stdin", "input_reply", map[string]any{"value": "not asked"})
	c.reply("control", c.send("control", "kernel_info_request", nil))
	d.send("stdin", "input_reply", map[string]any{"value": "asked"})
	d.reply("shell", id)
	if got := streamText(c.published(id), "stdout"); got != "<asked>" {
		t.Errorf("%q", got)
	}
}

func TestInterruptOfInput(t *testing.T) {
	_, c := start(t)
	id := c.send("shell", "execute_request", map[string]any{"code": "input name?"})
	c.next("stdin")
	c.reply("control", c.send("control", "interrupt_request", nil))
	if got := c.reply("shell", id).Content["ename"]; got != "Interrupted" {
		t.Errorf("%v", got)
	}
	c.send("stdin", "input_reply", map[string]any{"value": "too late"})
	id = c.send("shell", "execute_request", map[string]any{"code": "input again?"})
	q := c.next("stdin")
	frames, _ := c.compose("input_reply", map[string]any{"value": "in time"}, q.Header)
	c.sendFrames("stdin", frames)
	c.reply("shell", id)
	c.published(id)
}

func TestComms(t *testing.T) {
	_, c := start(t)
	comms := func(target string) map[string]any {
		t.Helper()
		m := c.reply("shell", c.send("shell", "comm_info_request", map[string]any{"target_name": target}))
		return m.Content["comms"].(map[string]any)
	}
	id := c.send("shell", "comm_open", map[string]any{"comm_id": "c1", "target_name": "echo", "data": map[string]any{}})
	if out := c.published(id); len(out) != 0 {
		t.Errorf("open: %v", types(out))
	}
	if diff := cmp.Diff(map[string]any{"c1": map[string]any{"target_name": "echo"}}, comms("")); diff != "" {
		t.Error(diff)
	}
	if got := comms("other"); len(got) != 0 {
		t.Errorf("of another target: %v", got)
	}
	id = c.send("shell", "comm_msg", map[string]any{"comm_id": "c1", "data": map[string]any{"x": 1}}, []byte{0, 1}, []byte{}, []byte("b"))
	out := c.published(id)
	if len(out) != 1 || out[0].Type != "comm_msg" {
		t.Fatalf("msg: %v", types(out))
	}
	if diff := cmp.Diff(map[string]any{"comm_id": "c1", "data": map[string]any{"x": 1.0}}, out[0].Content); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]byte{{0, 1}, {}, []byte("b")}, out[0].Buffers); diff != "" {
		t.Error(diff)
	}
	c.published(c.send("shell", "comm_close", map[string]any{"comm_id": "c1", "data": map[string]any{}}))
	if got := comms(""); len(got) != 0 {
		t.Errorf("after close: %v", got)
	}
	for name, content := range map[string]map[string]any{
		"unknown target": {"comm_id": "c2", "target_name": "jupyter.widget", "data": map[string]any{}},
		"refused":        {"comm_id": "c2", "target_name": "echo", "data": map[string]any{"refuse": true}},
	} {
		out := c.published(c.send("shell", "comm_open", content))
		if len(out) != 1 || out[0].Type != "comm_close" || out[0].Content["comm_id"] != "c2" {
			t.Errorf("%s: %v", name, out)
		}
	}
	for _, kind := range []string{"comm_msg", "comm_close"} {
		if out := c.published(c.send("shell", kind, map[string]any{"comm_id": "none", "data": map[string]any{}})); len(out) != 0 {
			t.Errorf("%s to nobody: %v", kind, types(out))
		}
	}
	_, out = c.run("open front.end")
	if len(out) != 2 || out[1].Type != "comm_open" || out[1].Content["target_name"] != "front.end" {
		t.Errorf("from the kernel: %v", out)
	}
}

func TestHistoryOverKernels(t *testing.T) {
	o := jupyter.Options{HistoryFile: filepath.Join(t.TempDir(), "sub", "history.jsonl")}
	for _, code := range []string{"result 1", "result 2"} {
		k := startKernel(t, o, testKey)
		connect(t, k.info).ready().run(code)
		k.stop()
		k.wait(t)
	}
	k := startKernel(t, o, testKey)
	c := connect(t, k.info).ready()
	c.run("result 2")
	tests := map[string]struct {
		ask  map[string]any
		want []any
	}{
		"tail":          {map[string]any{"hist_access_type": "tail", "n": 2}, []any{[]any{2.0, 1.0, "result 2"}, []any{3.0, 1.0, "result 2"}}},
		"this session":  {map[string]any{"hist_access_type": "range", "session": 0}, []any{[]any{3.0, 1.0, "result 2"}}},
		"last session":  {map[string]any{"hist_access_type": "range", "session": -1, "start": 1, "stop": 2}, []any{[]any{2.0, 1.0, "result 2"}}},
		"range is open": {map[string]any{"hist_access_type": "range", "session": 1, "start": 1, "stop": 1}, []any{}},
		"search":        {map[string]any{"hist_access_type": "search", "pattern": "*[12]"}, []any{[]any{1.0, 1.0, "result 1"}, []any{2.0, 1.0, "result 2"}, []any{3.0, 1.0, "result 2"}}},
		"unique":        {map[string]any{"hist_access_type": "search", "pattern": "result*", "unique": true}, []any{[]any{1.0, 1.0, "result 1"}, []any{3.0, 1.0, "result 2"}}},
		"search n":      {map[string]any{"hist_access_type": "search", "pattern": "*", "n": 1}, []any{[]any{3.0, 1.0, "result 2"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := c.reply("shell", c.send("shell", "history_request", tt.ask)).Content["history"]
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
