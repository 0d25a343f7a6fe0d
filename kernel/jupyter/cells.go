package jupyter

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// lateArrival is how long after a failed cell a request may come in and still be taken for one that was sent before
// its client could know of the failure.
const lateArrival = 100 * time.Millisecond

// cells runs the execute requests, one at a time and in order.
type cells struct {
	s     *Server
	inbox *inbox
	count int // the last cell that was numbered

	// After a failed cell that stops the queue: when its reply was sent. A request that was written before that moment
	// and comes within lateArrival of it belongs to the queue, even if it was still on its way; a front end sends the
	// cells of "Run All" at once.
	failedAt time.Time

	mu      sync.Mutex
	running context.CancelCauseFunc // ends the context of the running cell
}

func newCells(s *Server) *cells { return &cells{s: s, inbox: newInbox()} }

// run runs cells until ctx is done; what is then in the queue is aborted.
func (c *cells) run(ctx context.Context) {
	for {
		a, ok := c.inbox.take(ctx)
		if !ok {
			c.abortAll()
			return
		}
		if c.sentBeforeFailure(a) {
			c.abort(a.m)
			continue
		}
		c.execute(ctx, a.m)
	}
}

// interrupt ends the context of the running cell, if there is one.
func (c *cells) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		c.running(ErrInterrupted)
	}
}

func (c *cells) setRunning(cancel context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = cancel
}

// execute runs one cell from its busy to its idle.
func (c *cells) execute(ctx context.Context, m *message) {
	s := c.s
	started := time.Now()
	metadata := map[string]any{"started": timestamp(started)}
	var waiting []arrival // what the failure of this cell aborts
	s.bracket(m, func(*origin) {
		req, err := parseExecute(m)
		if err != nil {
			s.reply(s.shell, m, "execute_reply", c.content(ExecuteResult{Err: &ExecuteError{Name: "Error", Value: err.Error()}}, nil), metadata)
			return
		}
		if req.StoreHistory {
			c.count++
		}
		req.Count = c.count
		out := s.newOutput(m, req)
		if !req.Silent {
			if err := s.iopub.publish(out.from, "execute_input", map[string]any{"code": req.Code, "execution_count": req.Count}); err != nil {
				s.log.Error("cannot publish a cell's code", "error", err)
			}
		}
		res := c.call(ctx, req, out)
		out.finish()
		if res.Err != nil {
			out.publishError(res.Err)
		}
		if req.StoreHistory {
			s.history.Add(req.Count, req.Code, out.historyOutput())
		}
		if res.Err != nil && req.StopOnError {
			// Before the reply: what comes behind it may be an answer to it.
			c.failedAt, waiting = time.Now(), c.inbox.takeAll()
		}
		s.reply(s.shell, m, "execute_reply", c.content(res, req), metadata)
	})
	for _, a := range waiting {
		c.abort(a.m)
	}
}

// call calls the handler with a context that an interrupt ends.
func (c *cells) call(ctx context.Context, req *ExecuteRequest, out *Output) (res ExecuteResult) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.setRunning(cancel)
	defer func() {
		c.setRunning(nil)
		cancel(nil)
	}()
	if failed := c.s.guard("Execute", func() { res = c.s.handler.Execute(ctx, req, out) }); failed != nil {
		return ExecuteResult{Err: failed}
	}
	return res
}

// content gives the reply to an execute request; req is nil when it could not be read.
func (c *cells) content(res ExecuteResult, req *ExecuteRequest) map[string]any {
	content := map[string]any{"status": "ok"}
	values := map[string]any{}
	if res.Err != nil {
		content = errorReply(res.Err)
	} else if req != nil {
		for name := range req.UserExpressions {
			values[name] = expressionContent(res.UserExpressions, name)
		}
	}
	payload := res.Payload
	if payload == nil {
		payload = []map[string]any{}
	}
	content["execution_count"] = c.count
	content["user_expressions"] = values
	content["payload"] = payload
	return content
}

func expressionContent(values map[string]Expression, name string) map[string]any {
	v, ok := values[name]
	switch {
	case !ok:
		return errorReply(&ExecuteError{Name: "Error", Value: "the kernel has not evaluated this expression"})
	case v.Err != nil:
		return errorReply(v.Err)
	}
	content := v.Bundle.content()
	content["status"] = "ok"
	return content
}

// sentBeforeFailure tells whether a request was on its way when the cell before it failed.
func (c *cells) sentBeforeFailure(a arrival) bool {
	if c.failedAt.IsZero() || a.at.Sub(c.failedAt) > lateArrival {
		return false
	}
	sent, err := time.Parse(time.RFC3339Nano, a.m.header.Date)
	// Browsers count whole milliseconds.
	return err == nil && sent.Before(c.failedAt.Truncate(time.Millisecond))
}

// abortAll aborts the cells that wait.
func (c *cells) abortAll() {
	for _, a := range c.inbox.takeAll() {
		c.abort(a.m)
	}
}

// abort answers a request that is not run.
func (c *cells) abort(m *message) {
	c.s.bracket(m, func(*origin) {
		content := map[string]any{"status": "aborted"}
		c.s.reply(c.s.shell, m, "execute_reply", content, content)
	})
}

// parseExecute reads an execute request, with the defaults that the protocol gives to what is missing.
func parseExecute(m *message) (*ExecuteRequest, error) {
	var content struct {
		Code         *string        `json:"code"`
		Silent       bool           `json:"silent"`
		StoreHistory *bool          `json:"store_history"`
		Expressions  map[string]any `json:"user_expressions"`
		AllowStdin   *bool          `json:"allow_stdin"`
		StopOnError  *bool          `json:"stop_on_error"`
	}
	if err := json.Unmarshal(m.content, &content); err != nil {
		return nil, fmt.Errorf("read the execute request: %w", err)
	}
	if content.Code == nil {
		return nil, fmt.Errorf("read the execute request: it has no code")
	}
	orTrue := func(b *bool) bool { return b == nil || *b }
	req := &ExecuteRequest{
		Code: *content.Code, Silent: content.Silent,
		StoreHistory: orTrue(content.StoreHistory) && !content.Silent && strings.TrimSpace(*content.Code) != "",
		AllowStdin:   orTrue(content.AllowStdin), StopOnError: orTrue(content.StopOnError),
		Header: m.header, Metadata: m.metadata,
	}
	for name, e := range content.Expressions {
		if text, ok := e.(string); ok {
			if req.UserExpressions == nil {
				req.UserExpressions = map[string]string{}
			}
			req.UserExpressions[name] = text
		}
	}
	return req, nil
}
