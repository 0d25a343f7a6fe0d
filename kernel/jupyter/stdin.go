package jupyter

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gorovod/gorovod/kernel/jupyter/internal/zmtp"
)

// stdinWait is how long a front end that allows input may take to connect its stdin socket, which it does beside the
// shell socket.
const stdinWait = 5 * time.Second

// stdin asks front ends for input, one question at a time.
type stdin struct {
	router *zmtp.Router
	s      *Server
	log    *slog.Logger
	asking chan struct{} // holds a token while a question is open

	mu      sync.Mutex
	pending *question
}

// question is an open input request.
type question struct {
	id     string // of the input_request
	peer   string // whom it was put to
	answer chan string
}

func newStdin(r *zmtp.Router, s *Server) *stdin {
	return &stdin{router: r, s: s, log: s.log, asking: make(chan struct{}, 1)}
}

// ask puts a question to the client that sent req.
func (in *stdin) ask(ctx context.Context, req *message, prompt string, password bool) (string, error) {
	select {
	case in.asking <- struct{}{}:
		defer func() { <-in.asking }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	peer := string(req.identities[0])
	wait, cancel := context.WithTimeout(ctx, stdinWait)
	defer cancel()
	if err := in.router.WaitPeer(wait, peer); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("ask for input: the front end has not connected its stdin socket: %w", err)
	}
	content := map[string]any{"prompt": prompt, "password": password}
	m, err := in.s.compose.compose("input_request", req.rawHeader, content, nil)
	if err != nil {
		return "", fmt.Errorf("ask for input: %w", err)
	}
	m.identities = req.identities
	q := &question{id: m.header.ID, peer: peer, answer: make(chan string, 1)}
	in.setPending(q)
	defer in.setPending(nil)
	in.s.mlog.write("send", chanStdin, m)
	if err := in.router.Send(in.s.sign.frames(m)); err != nil {
		return "", fmt.Errorf("ask for input: the front end has gone: %w", err)
	}
	select {
	case text := <-q.answer:
		return text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (in *stdin) setPending(q *question) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pending = q
}

// handle takes a message of the stdin socket. An answer that comes too late, or from someone who was not asked, is
// dropped.
func (in *stdin) handle(m *message) {
	if m.header.Type != "input_reply" {
		in.log.Warn("message ignored: its type is not known on this socket", "type", m.header.Type, "channel", chanStdin)
		return
	}
	var content struct {
		Value string `json:"value"`
	}
	if err := json.Unmarshal(m.content, &content); err != nil {
		in.log.Warn("input_reply ignored: it has no text", "error", err)
		return
	}
	var parent Header
	json.Unmarshal(m.parent, &parent) // many clients send none
	in.mu.Lock()
	defer in.mu.Unlock()
	q := in.pending
	switch {
	case q == nil, q.peer != string(m.identities[0]):
		in.log.Info("input_reply ignored: nobody has asked for it")
	case parent.Type == "input_request" && parent.ID != q.id:
		in.log.Info("input_reply ignored: it answers an earlier question")
	default:
		in.pending = nil
		q.answer <- content.Value
	}
}
