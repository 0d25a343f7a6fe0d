package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gorovod/gorovod/worker/internal/child"
	"github.com/gorovod/gorovod/worker/internal/link"
)

// interruptGrace is how long a session may go on with a request that was canceled. The rest of the second in which
// an interrupt has to work is for killing the session and saying so.
const interruptGrace = 500 * time.Millisecond

// SessionConfig says how to start a session and who hears it. The functions must not call the session.
type SessionConfig struct {
	Executable string   // empty: see Executable
	Dir        string   // empty: the caller's
	Env        []string // added to the caller's environment

	// Stdout and Stderr get what the session writes, as it is read; one call at a time for both. What was written
	// before a request was answered is given before the answer is. The bytes are theirs only during the call.
	Stdout, Stderr func([]byte)
	// Display gets a MIME bundle (JSON) to show, after the output that was written before it. The code that shows
	// it waits for Display to return.
	Display func(bundle []byte) error
	// Ask gets a question of the code to the user. The context ends with the session. io.EOF is the end of the input.
	Ask func(ctx context.Context, question AskFor) (string, error)
}

// SessionProcess is a running session, as the kernel sees it. Requests are made one at a time.
type SessionProcess struct {
	cfg     SessionConfig
	process *child.Child
	peer    *link.Peer
	stop    context.CancelFunc
	ready   chan struct{} // closed when the session can be asked
	ended   chan struct{} // closed when it is gone and heard to the end; death is set then
	death   *SessionDeath

	mu     sync.Mutex
	reason string // why we killed it
	refuse string // why it could not begin
}

// SessionDeath is the error of all requests to a session that has ended.
type SessionDeath struct {
	Reason     string // what happened to it, to stand behind "the session": was killed by SIGKILL, ...
	Fatal      string // the Go runtime's crash report, as far as it was kept
	LastOutput string // its last lines on standard error
	ExitCode   int
	Signal     string // such as SIGKILL
	Killed     bool   // the kernel's side ended it: it was closed, or did not heed an interrupt
}

func (d *SessionDeath) Error() string { return "the session " + d.Reason }

// The requests that a session answers.
const (
	msgReady  = "ready"
	msgFailed = "failed"
	msgEval   = "eval"
	msgEncode = "encode"
	msgBind   = "bind"
	msgAsk    = "ask"
)

// StartSession starts a session and waits until it can evaluate.
func StartSession(ctx context.Context, cfg SessionConfig) (*SessionProcess, error) {
	exe, err := Executable(cfg.Executable)
	if err != nil {
		return nil, fmt.Errorf("start a session: %w", err)
	}
	env := append(quiet(slices.DeleteFunc(os.Environ(), isRankVariable)), cfg.Env...)
	process, err := child.Start(child.Spec{
		Path: exe, Args: []string{roleSession}, Dir: cfg.Dir, Env: append(env, roleVar+"="+roleSession), Talk: true, Terse: terse(),
	})
	if err != nil {
		return nil, fmt.Errorf("start a session: %w", err)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &SessionProcess{cfg: cfg, process: process, stop: stop, ready: make(chan struct{}), ended: make(chan struct{})}
	s.peer = link.NewPeer(process.Events, process.Control, link.Config{
		Before: process.Drain, Notify: s.notified, Handle: s.asked,
	})
	process.Listen(s.heard)
	go s.attend(serving)
	select {
	case <-s.ready:
		return s, nil
	case <-s.ended:
		return nil, fmt.Errorf("start a session from %s: %w", exe, s.death)
	case <-ctx.Done():
		s.Close()
		return nil, fmt.Errorf("start a session from %s: %w", exe, context.Cause(ctx))
	}
}

// attend hears the session to its end.
func (s *SessionProcess) attend(ctx context.Context) {
	var events sync.WaitGroup
	events.Go(func() {
		if err := s.peer.Serve(ctx); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			s.kill(fmt.Sprintf("was stopped because it could not be understood any more: %v", err))
		} else {
			// It has closed its end, by ending or so that nobody can talk with it any more. Ending takes it a moment.
			select {
			case <-s.process.Done():
			case <-time.After(interruptGrace):
				s.kill("was stopped because it closed the pipe on which it is talked with")
			}
		}
	})
	exit := s.process.Wait()
	_ = s.process.Events.SetReadDeadline(time.Now().Add(time.Second))
	s.stop()
	events.Wait()
	s.process.Events.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.death = &SessionDeath{
		Reason: exit.String(), Fatal: exit.Fatal, LastOutput: exit.Tail, ExitCode: exit.Code, Signal: exit.Signal,
	}
	switch {
	case s.reason != "":
		s.death.Reason, s.death.Killed = s.reason, true
	case s.refuse != "":
		s.death.Reason = "could not begin: " + s.refuse
	}
	close(s.ended)
}

func (s *SessionProcess) heard(stream child.Stream, p []byte) {
	if f := [...]func([]byte){s.cfg.Stdout, s.cfg.Stderr}[stream]; f != nil {
		f(p)
	}
}

func (s *SessionProcess) notified(m *link.Message) {
	switch m.Method {
	case msgReady:
		select {
		case <-s.ready:
		default:
			close(s.ready)
		}
	case msgFailed:
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = m.Decode(&s.refuse)
	}
}

// asked answers what the session's code asks for.
func (s *SessionProcess) asked(ctx context.Context, m *link.Message) (*link.Message, error) {
	switch m.Method {
	case msgDisplay:
		if s.cfg.Display == nil || len(m.Blobs) != 1 {
			return nil, errors.New("there is nobody to show it to")
		}
		return nil, s.cfg.Display(m.Blobs[0])
	case msgAsk:
		var question AskFor
		if err := m.Decode(&question); err != nil {
			return nil, err
		}
		if s.cfg.Ask == nil {
			return nil, errors.New("there is nobody to ask for input")
		}
		line, err := s.cfg.Ask(ctx, question)
		if err != nil {
			return nil, err
		}
		return link.New(msgAsk, line)
	}
	return nil, fmt.Errorf("the kernel does not answer %q", m.Method)
}

// Eval evaluates a unit and returns its encoded outcome. When ctx ends the session is told to stop, and an outcome
// that says so comes back; a session that does not stop is killed, and the error is its *SessionDeath.
func (s *SessionProcess) Eval(ctx context.Context, unit []byte) ([]byte, error) {
	reply, err := s.call(ctx, &link.Message{Method: msgEval, Blobs: [][]byte{unit}})
	if err != nil {
		return nil, err
	}
	if len(reply.Blobs) != 1 {
		return nil, fmt.Errorf("evaluate: the session answered with %d outcomes", len(reply.Blobs))
	}
	return reply.Blobs[0], nil
}

// Encode returns the encoded values of the session's variables, in the order of names.
func (s *SessionProcess) Encode(ctx context.Context, names []string) ([][]byte, error) {
	m, err := link.New(msgEncode, names)
	if err != nil {
		return nil, err
	}
	reply, err := s.call(ctx, m)
	if err != nil {
		return nil, err
	}
	if len(reply.Blobs) != len(names) {
		return nil, fmt.Errorf("encode %d variables: the session answered with %d values", len(names), len(reply.Blobs))
	}
	return reply.Blobs, nil
}

// Bind gives a variable of the session, a slice, one element for each encoded value.
func (s *SessionProcess) Bind(ctx context.Context, name string, parts [][]byte) error {
	m, err := link.New(msgBind, name, parts...)
	if err != nil {
		return err
	}
	_, err = s.call(ctx, m)
	return err
}

func (s *SessionProcess) call(ctx context.Context, m *link.Message) (*link.Message, error) {
	pending, err := s.peer.Send(m)
	if err != nil {
		return nil, s.whyGone(err)
	}
	reply, err := pending.Wait(ctx)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		reply, err = s.interrupt(pending)
	}
	return reply, s.whyGone(err)
}

// interrupt cancels a request and insists.
func (s *SessionProcess) interrupt(pending *link.Pending) (*link.Message, error) {
	pending.Cancel()
	ctx, cancel := context.WithTimeout(context.Background(), interruptGrace)
	defer cancel()
	reply, err := pending.Wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.kill("was stopped because the code that it ran could not be interrupted")
		return pending.Wait(context.Background())
	}
	return reply, err
}

// whyGone puts the session's death in the place of the closed pipe that it left.
func (s *SessionProcess) whyGone(err error) error {
	if err == nil || !errors.Is(err, link.ErrClosed) {
		return err
	}
	<-s.ended
	return s.death
}

func (s *SessionProcess) kill(reason string) {
	s.mu.Lock()
	if s.reason == "" {
		s.reason = reason
	}
	s.mu.Unlock()
	s.process.KillGroup()
}

// PID is the session's process number.
func (s *SessionProcess) PID() int { return s.process.PID() }

// Signal sends the session's process a signal.
func (s *SessionProcess) Signal(sig syscall.Signal) { s.process.Signal(sig) }

// Ended is closed when the session is gone and all its output was delivered.
func (s *SessionProcess) Ended() <-chan struct{} { return s.ended }

// Death says how the session ended, or nil while it lives.
func (s *SessionProcess) Death() *SessionDeath {
	select {
	case <-s.ended:
		return s.death
	default:
		return nil
	}
}

// Close ends the session with all that it has started, and waits until it is gone.
func (s *SessionProcess) Close() {
	s.kill("was closed")
	<-s.ended
}
