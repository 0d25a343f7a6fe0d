package jupyter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The names of a cell's two streams.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// ErrNoStdin says that the front end which sent a cell takes no questions, as when a notebook is run without a user.
var ErrNoStdin = errors.New("the front end does not allow input")

// Output takes what a cell shows, and asks what it asks. It may be used by several goroutines at once, and after the
// cell's end: what comes then is still shown in the cell.
//
// Output waits while the front end has much to read, so that a cell cannot fill the kernel's memory.
type Output struct {
	s      *Server
	req    *message
	from   *origin
	count  int
	silent bool
	stdin  bool

	mu     sync.Mutex
	stdout decoder
	stderr decoder
	result any // the text of the last result, for the history
}

// Parent gives the header of the cell's request.
func (o *Output) Parent() Header { return o.req.header }

// Stream shows text that was written to Stdout or Stderr; any other name counts as Stdout. The text may end within a
// rune, whose rest comes with the next call; bytes that are not UTF-8 are shown as U+FFFD.
func (o *Output) Stream(name, text string) { o.write(name, []byte(text)) }

// Writer gives a stream as an io.Writer, whose Write never fails.
func (o *Output) Writer(name string) io.Writer { return streamWriter{o, name} }

type streamWriter struct {
	o    *Output
	name string
}

func (w streamWriter) Write(p []byte) (int, error) {
	w.o.write(w.name, p)
	return len(p), nil
}

func (o *Output) write(name string, p []byte) {
	if o.silent {
		return
	}
	o.s.iopub.throttle(o.s.ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	d := &o.stdout
	if name == Stderr {
		d = &o.stderr
	} else {
		name = Stdout
	}
	o.s.iopub.stream(o.from, name, d.decode(p))
}

// finish sends all that was written.
func (o *Output) finish() {
	if o.silent {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.s.iopub.stream(o.from, Stdout, o.stdout.flush())
	o.s.iopub.stream(o.from, Stderr, o.stderr.flush())
	o.s.iopub.flush()
}

// Display shows a bundle. With an id, UpdateDisplay can change it later.
func (o *Output) Display(b Bundle, id string) error {
	return o.show("display_data", b, id, nil)
}

// UpdateDisplay changes everything that was shown with that id.
func (o *Output) UpdateDisplay(b Bundle, id string) error {
	if id == "" {
		return errors.New("update a display: it needs the id that it was shown with")
	}
	return o.show("update_display_data", b, id, nil)
}

// Result shows a bundle as the value of the cell, Out[n].
func (o *Output) Result(b Bundle) error {
	if err := o.show("execute_result", b, "", map[string]any{"execution_count": o.count}); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.result = b.Data["text/plain"]
	return nil
}

func (o *Output) show(kind string, b Bundle, id string, more map[string]any) error {
	if o.silent {
		return nil
	}
	content := b.content()
	content["transient"] = map[string]any{}
	if id != "" {
		content["transient"] = map[string]any{"display_id": id}
	}
	for k, v := range more {
		content[k] = v
	}
	o.s.iopub.throttle(o.s.ctx)
	if err := o.s.iopub.publish(o.from, kind, content); err != nil {
		return fmt.Errorf("show a result: %w", err)
	}
	return nil
}

// content gives a bundle as the fields of a message; both are objects even when empty.
func (b Bundle) content() map[string]any {
	c := map[string]any{"data": map[string]any{}, "metadata": map[string]any{}}
	if b.Data != nil {
		c["data"] = b.Data
	}
	if b.Metadata != nil {
		c["metadata"] = b.Metadata
	}
	return c
}

// ClearOutput removes what the cell has shown; with wait, only when the next thing is shown.
func (o *Output) ClearOutput(wait bool) {
	if o.silent {
		return
	}
	if err := o.s.iopub.publish(o.from, "clear_output", map[string]any{"wait": wait}); err != nil {
		o.s.log.Error("cannot clear a cell's output", "error", err)
	}
}

// OpenComm opens a comm from the kernel's side, to a target that the front end knows.
func (o *Output) OpenComm(target string, data any, h CommHandler) (*Comm, error) {
	return o.s.comms.open(o.from, target, data, h)
}

// Input asks the user for a line. It returns ErrNoStdin when the front end takes no questions, and the cause of ctx
// when that is done first.
func (o *Output) Input(ctx context.Context, prompt string, password bool) (string, error) {
	if !o.stdin {
		return "", ErrNoStdin
	}
	o.s.iopub.flush() // the prompt comes after what was printed before it
	return o.s.stdin.ask(ctx, o.req, prompt, password)
}

// historyOutput gives the text of the cell's result, or nil.
func (o *Output) historyOutput() any {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s, ok := o.result.(string); ok {
		return s
	}
	return nil
}

// publishError shows a cell's error.
func (o *Output) publishError(e *ExecuteError) {
	if o.silent {
		return
	}
	if err := o.s.iopub.publish(o.from, "error", e.content()); err != nil {
		o.s.log.Error("cannot publish a cell's error", "error", err)
	}
}

// content gives an error as the fields of a message.
func (e *ExecuteError) content() map[string]any {
	lines := e.Traceback
	if lines == nil {
		lines = []string{}
	}
	return map[string]any{"ename": e.Name, "evalue": e.Value, "traceback": lines}
}

// errorReply gives a reply's content for a request that failed.
func errorReply(e *ExecuteError) map[string]any {
	c := e.content()
	c["status"] = "error"
	return c
}

// newOutput makes the Output of an execute request.
func (s *Server) newOutput(m *message, req *ExecuteRequest) *Output {
	return &Output{
		s: s, req: m, from: &origin{json.RawMessage(m.rawHeader)},
		count: req.Count, silent: req.Silent, stdin: req.AllowStdin,
	}
}
