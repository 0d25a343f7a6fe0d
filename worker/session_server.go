package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/gorovod/gorovod/worker/internal/link"
)

// Session is the work of a session process: it answers the requests of the kernel at the other end of r and w, with
// an evaluator of the engine, until the kernel closes its end.
func Session(ctx context.Context, r io.Reader, w io.Writer, engine Engine) error {
	h := &sessionServer{}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h.peer = link.NewPeer(r, w, link.Config{Handle: h.handle})
	served := make(chan error, 1)
	go func() { served <- h.peer.Serve(ctx) }()
	h.began.Lock()
	ask := func(question AskFor) (string, error) { return h.ask(ctx, question) }
	evaluator, err := engine.Session(Surroundings{
		Stdin:   &askingReader{ask: ask},
		Ask:     ask,
		Display: func(bundle []byte) error { return h.display(ctx, bundle) },
		Ready:   func() {},
	})
	h.evaluator = evaluator
	h.began.Unlock()
	if err != nil {
		if m, err := link.New(msgFailed, err.Error()); err == nil {
			_ = h.peer.Notify(m)
		}
		return err
	}
	if err := h.peer.Notify(&link.Message{Method: msgReady}); err != nil {
		return fmt.Errorf("%w: %w", errParentGone, err)
	}
	return errors.Join(errParentGone, <-served)
}

// sessionServer is the child's side of a session.
type sessionServer struct {
	peer      *link.Peer
	began     sync.Mutex // held while a request, or the beginning, is worked on
	evaluator Evaluator
}

func (h *sessionServer) handle(ctx context.Context, m *link.Message) (*link.Message, error) {
	h.began.Lock()
	defer h.began.Unlock()
	switch m.Method {
	case msgEval:
		if len(m.Blobs) != 1 {
			return nil, fmt.Errorf("evaluate: the request has %d units", len(m.Blobs))
		}
		outcome, err := h.evaluator.Eval(ctx, m.Blobs[0])
		return &link.Message{Method: msgEval, Blobs: [][]byte{outcome}}, err
	case msgEncode:
		var names []string
		if err := m.Decode(&names); err != nil {
			return nil, err
		}
		values, err := h.evaluator.Encode(ctx, names)
		return &link.Message{Method: msgEncode, Blobs: values}, err
	case msgBind:
		var name string
		if err := m.Decode(&name); err != nil {
			return nil, err
		}
		return nil, h.evaluator.Bind(ctx, name, m.Blobs)
	}
	return nil, fmt.Errorf("a session does not answer %q", m.Method)
}

func (h *sessionServer) display(ctx context.Context, bundle []byte) error {
	if _, err := h.peer.Call(ctx, &link.Message{Method: msgDisplay, Blobs: [][]byte{bundle}}); err != nil {
		return fmt.Errorf("cannot display: %w", err)
	}
	return nil
}

func (h *sessionServer) ask(ctx context.Context, question AskFor) (string, error) {
	m, err := link.New(msgAsk, question)
	if err != nil {
		return "", err
	}
	reply, err := h.peer.Call(ctx, m)
	var refused *link.RemoteError
	switch {
	case errors.As(err, &refused) && refused.Text == io.EOF.Error():
		return "", io.EOF // nobody will answer, which is how a program's input ends
	case err != nil:
		return "", fmt.Errorf("read from standard input: %w", err)
	}
	var line string
	err = reply.Decode(&line)
	return line, err
}

// askingReader is the session's standard input: when nothing is left of the last line, it asks for another.
type askingReader struct {
	ask  func(AskFor) (string, error)
	mu   sync.Mutex
	left []byte
}

func (r *askingReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.left) == 0 {
		line, err := r.ask(AskFor{})
		if err != nil {
			return 0, err
		}
		r.left = append([]byte(line), '\n')
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}
