package jupyter

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gorovod/gorovod/kernel/jupyter/internal/history"
	"github.com/gorovod/gorovod/kernel/jupyter/internal/zmtp"
)

// onShell takes a request of the shell socket. It does not wait: cells and comm messages are queued, what asks the
// handler runs on a goroutine.
func (s *Server) onShell(m *message) {
	switch m.header.Type {
	case "execute_request":
		s.cells.inbox.put(m)
	case "comm_open", "comm_msg", "comm_close":
		s.commInbox.put(m)
	case "shutdown_request": // deprecated here since 5.4, but still sent
		s.shutdown(s.shell, m)
	default:
		s.onEither(s.shell, m)
	}
}

// onControl takes a request of the control socket, where nothing waits for a cell.
func (s *Server) onControl(m *message) {
	switch m.header.Type {
	case "interrupt_request":
		s.bracket(m, func(*origin) {
			s.cells.interrupt()
			s.guard("Interrupt", s.handler.Interrupt)
			s.reply(s.control, m, "interrupt_reply", map[string]any{"status": "ok"}, nil)
		})
	case "shutdown_request":
		s.shutdown(s.control, m)
	default:
		s.onEither(s.control, m)
	}
}

// onEither takes the requests that both sockets answer.
func (s *Server) onEither(r *zmtp.Router, m *message) {
	answer := s.queryFor(m)
	if answer == nil {
		s.log.Warn("message ignored: its type is not known", "type", m.header.Type)
		return
	}
	kind := replyType(m.header.Type)
	s.goQuery(func() {
		s.bracket(m, func(*origin) {
			var content map[string]any
			if failed := s.guard(m.header.Type, func() { content = answer(s.ctx) }); failed != nil {
				content = errorReply(failed)
			}
			s.reply(r, m, kind, content, nil)
		})
	})
}

// bracket does a request's work between its busy and its idle.
func (s *Server) bracket(m *message, work func(*origin)) {
	from := &origin{m.rawHeader}
	s.iopub.status(from, "busy")
	defer s.iopub.status(from, "idle")
	work(from)
}

// replyType gives the type of the reply to a request: x_request has x_reply.
func replyType(request string) string {
	const suffix = "_request"
	return request[:len(request)-len(suffix)] + "_reply"
}

// shutdown ends the kernel. The reply goes out when the handler has let go of everything.
func (s *Server) shutdown(r *zmtp.Router, m *message) {
	var content struct {
		Restart bool `json:"restart"`
	}
	json.Unmarshal(m.content, &content) // without the flag it is no restart
	from := &origin{m.rawHeader}
	s.iopub.status(from, "busy")
	s.endAfter(content.Restart, func() {
		reply := map[string]any{"status": "ok", "restart": content.Restart}
		s.reply(r, m, "shutdown_reply", reply, nil)
		// The other front ends learn of it here.
		if err := s.iopub.publish(from, "shutdown_reply", reply); err != nil {
			s.log.Error("cannot publish the shutdown", "error", err)
		}
		s.iopub.status(from, "idle")
	})
}

// runComms takes comm messages in order, until ctx is done.
func (s *Server) runComms(ctx context.Context) {
	for {
		a, ok := s.commInbox.take(ctx)
		if !ok {
			return
		}
		s.bracket(a.m, func(from *origin) { s.comms.handle(a.m, from) })
	}
}

// queryFor gives what answers a request that does not run code, nil if there is no such request.
func (s *Server) queryFor(m *message) func(context.Context) map[string]any {
	queries := map[string]func(context.Context, json.RawMessage) (map[string]any, error){
		"kernel_info_request": s.kernelInfo,
		"complete_request":    s.complete,
		"inspect_request":     s.inspect,
		"is_complete_request": s.isComplete,
		"history_request":     s.historyTuples,
		"comm_info_request":   s.commInfo,
		"connect_request":     s.connect,
	}
	q := queries[m.header.Type]
	if q == nil {
		return nil
	}
	return func(ctx context.Context) map[string]any {
		content, err := q(ctx, m.content)
		if err != nil {
			return errorReply(&ExecuteError{Name: "Error", Value: err.Error()})
		}
		if _, set := content["status"]; !set {
			content["status"] = "ok"
		}
		return content
	}
}

// decode reads a request's content.
func decode(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	return nil
}

func (s *Server) kernelInfo(context.Context, json.RawMessage) (map[string]any, error) {
	i := s.handler.Info()
	links := i.HelpLinks
	if links == nil {
		links = []HelpLink{}
	}
	return map[string]any{
		"protocol_version":       protocolVersion,
		"implementation":         i.Implementation,
		"implementation_version": i.ImplementationVersion,
		"language_info":          i.Language,
		"banner":                 i.Banner,
		"help_links":             links,
		"debugger":               false,
		"supported_features":     []string{},
	}, nil
}

// position is the code and cursor of a request; without a cursor it is the code's end.
type position struct {
	Code   string `json:"code"`
	Cursor *int   `json:"cursor_pos"`
	Detail int    `json:"detail_level"`
}

func (p position) offset() int {
	if p.Cursor == nil {
		return len(p.Code)
	}
	return byteOffset(p.Code, *p.Cursor)
}

func (s *Server) complete(ctx context.Context, raw json.RawMessage) (map[string]any, error) {
	var p position
	if err := decode(raw, &p); err != nil {
		return nil, err
	}
	c, err := s.handler.Complete(ctx, p.Code, p.offset())
	if err != nil {
		return nil, err
	}
	start, end := codePoints(p.Code, c.Start), codePoints(p.Code, c.End)
	texts, types := []string{}, []map[string]any{}
	for _, m := range c.Matches {
		texts = append(texts, m.Text)
		// JupyterLab's own extension: what a match is.
		t := map[string]any{"text": m.Text, "start": start, "end": end, "type": m.Kind, "signature": m.Signature}
		types = append(types, t)
	}
	return map[string]any{
		"matches": texts, "cursor_start": start, "cursor_end": end,
		"metadata": map[string]any{"_jupyter_types_experimental": types},
	}, nil
}

func (s *Server) inspect(ctx context.Context, raw json.RawMessage) (map[string]any, error) {
	var p position
	if err := decode(raw, &p); err != nil {
		return nil, err
	}
	i, err := s.handler.Inspect(ctx, p.Code, p.offset(), p.Detail)
	if err != nil {
		return nil, err
	}
	content := i.Bundle.content()
	content["found"] = i.Found
	return content, nil
}

func (s *Server) isComplete(ctx context.Context, raw json.RawMessage) (map[string]any, error) {
	var p position
	if err := decode(raw, &p); err != nil {
		return map[string]any{"status": Unknown}, nil
	}
	c, err := s.handler.IsComplete(ctx, p.Code)
	if err != nil {
		s.log.Warn("cannot tell whether code is complete", "error", err)
		return map[string]any{"status": Unknown}, nil // this reply has no place for an error
	}
	content := map[string]any{"status": c.Status}
	if c.Status == Incomplete {
		content["indent"] = c.Indent
	}
	return content, nil
}

func (s *Server) historyTuples(_ context.Context, raw json.RawMessage) (map[string]any, error) {
	var r struct {
		Output  bool   `json:"output"`
		Access  string `json:"hist_access_type"`
		Session int    `json:"session"`
		Start   int    `json:"start"`
		Stop    int    `json:"stop"`
		N       *int   `json:"n"`
		Pattern string `json:"pattern"`
		Unique  bool   `json:"unique"`
	}
	if err := decode(raw, &r); err != nil {
		return nil, err
	}
	var entries []history.Entry
	switch r.Access {
	case "tail":
		n := 10
		if r.N != nil {
			n = *r.N
		}
		entries = s.history.Tail(n)
	case "range":
		entries = s.history.Range(r.Session, r.Start, r.Stop)
	case "search":
		n := 0
		if r.N != nil {
			n = *r.N
		}
		var err error
		if entries, err = s.history.Search(r.Pattern, n, r.Unique); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("hist_access_type is %q; it can be tail, range and search", r.Access)
	}
	tuples := [][3]any{}
	for _, e := range entries {
		t := [3]any{e.Session, e.Line, e.Code}
		if r.Output {
			t[2] = [2]any{e.Code, e.Output}
		}
		tuples = append(tuples, t)
	}
	return map[string]any{"history": tuples}, nil
}

func (s *Server) commInfo(_ context.Context, raw json.RawMessage) (map[string]any, error) {
	var r struct {
		Target string `json:"target_name"`
	}
	if err := decode(raw, &r); err != nil {
		return nil, err
	}
	return map[string]any{"comms": s.comms.info(r.Target)}, nil
}

// connect is deprecated; a few tools still ask for the ports.
func (s *Server) connect(context.Context, json.RawMessage) (map[string]any, error) {
	return map[string]any{
		"shell_port": s.info.ShellPort, "iopub_port": s.info.IOPubPort, "stdin_port": s.info.StdinPort,
		"hb_port": s.info.HeartbeatPort, "control_port": s.info.ControlPort,
	}, nil
}
