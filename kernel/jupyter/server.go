package jupyter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gorovod/gorovod/kernel/jupyter/internal/history"
	"github.com/gorovod/gorovod/kernel/jupyter/internal/zmtp"
)

const (
	chanShell   = "shell"
	chanControl = "control"
	chanStdin   = "stdin"
	chanIOPub   = "iopub"
)

const (
	// endGrace is how long the handler may take to shut down and the running cell to end. With linger it is less than
	// the five seconds after which Jupyter kills a kernel.
	endGrace = 3 * time.Second
	// linger is how long the last messages may take to be delivered.
	linger = time.Second
)

// The causes for which the context of a cell is done.
var (
	ErrInterrupted = errors.New("interrupted")
	ErrShutdown    = errors.New("the kernel is shutting down")
)

// Options are what a kernel may set of its server; the zero value is ready to use.
type Options struct {
	Logger *slog.Logger // nil: slog.Default
	// MessageLog, when not nil, gets every message that comes or goes as a line of JSON. The lines hold what users
	// write, so the file should be readable by them alone.
	MessageLog io.Writer
	// HistoryFile keeps the cells of all kernels of the user; empty keeps those of this kernel, in memory.
	// See DefaultHistoryFile.
	HistoryFile string
	// CommTargets are the comms that a front end may open.
	CommTargets map[string]CommTarget
}

// DefaultHistoryFile gives the place of a kernel's history under the user's data folder (XDG_DATA_HOME), or "" when
// the user has none.
func DefaultHistoryFile(kernel string) string { return history.DefaultPath(kernel) }

// Server is a kernel's side of the protocol, bound to its sockets.
type Server struct {
	info    ConnectionInfo
	log     *slog.Logger
	compose *composer
	sign    *signer
	mlog    *messageLog
	handler Handler

	shell, control *zmtp.Router
	stdin          *stdin
	iopub          *iopub
	heartbeat      *zmtp.Echo
	comms          *comms
	commInbox      *inbox
	cells          *cells
	history        *history.Store

	ctx     context.Context // done when the kernel shuts down
	cancel  context.CancelCauseFunc
	queries sync.WaitGroup // cells, comms and queries; grows only while ctx is not done, by queryMu
	queryMu sync.Mutex
	ending  sync.Once
	ended   chan struct{} // closed when a shutdown is done, but for the sockets
	endErr  error
}

// Serve binds the sockets that info names and serves a kernel until a front end shuts it down or ctx is done. It
// returns when everything that it has started has ended; an error says what has not.
func Serve(ctx context.Context, info ConnectionInfo, h Handler, o Options) error {
	s, err := Listen(info, o)
	if err != nil {
		return err
	}
	return s.Serve(ctx, h)
}

// Listen binds the sockets. Connections are accepted from then on; messages are read once Serve is called. A Server
// that is not served must be closed.
func Listen(info ConnectionInfo, o Options) (*Server, error) {
	if err := info.check(); err != nil {
		return nil, fmt.Errorf("bind the kernel's sockets: %w", err)
	}
	log := o.Logger
	if log == nil {
		log = slog.Default()
	}
	s := &Server{
		info: info, log: log, compose: newComposer(), sign: newSigner(info.Key),
		mlog:    &messageLog{log: log, w: o.MessageLog},
		history: history.Open(o.HistoryFile, log),
		ended:   make(chan struct{}),
	}
	if info.Key == "" {
		log.Warn("the connection has no key: whoever can reach the kernel's ports can run code as this user")
	}
	listeners, err := s.bind()
	if err != nil {
		return nil, err
	}
	s.shell = zmtp.NewRouter(listeners[chanShell], log)
	s.control = zmtp.NewRouter(listeners[chanControl], log)
	s.stdin = newStdin(zmtp.NewRouter(listeners[chanStdin], log), s)
	s.iopub = newIOPub(listeners[chanIOPub], s)
	s.heartbeat = zmtp.NewEcho(listeners["heartbeat"], log)
	s.comms = newComms(s, o.CommTargets)
	s.commInbox = newInbox()
	s.cells = newCells(s)
	return s, nil
}

// bind opens the five listeners, or none.
func (s *Server) bind() (map[string]net.Listener, error) {
	ports := []struct {
		name string
		port *int
	}{
		{chanShell, &s.info.ShellPort}, {chanControl, &s.info.ControlPort}, {chanStdin, &s.info.StdinPort},
		{chanIOPub, &s.info.IOPubPort}, {"heartbeat", &s.info.HeartbeatPort},
	}
	listeners := map[string]net.Listener{}
	for _, p := range ports {
		l, port, err := s.info.listen(p.name, *p.port)
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return nil, err
		}
		listeners[p.name], *p.port = l, port
	}
	return listeners, nil
}

// Connection gives the connection as it is bound, with the ports that the system chose.
func (s *Server) Connection() ConnectionInfo { return s.info }

// Serve serves a kernel; see the function Serve. It can be called once.
func (s *Server) Serve(ctx context.Context, h Handler) error {
	s.handler = h
	// What ends the kernel is end, not ctx: a cell that runs must first be told why.
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	defer s.cancel(ErrShutdown)

	var loops sync.WaitGroup
	stop := make(chan struct{})
	loops.Go(func() { s.receive(chanShell, s.shell, s.onShell) })
	loops.Go(func() { s.receive(chanControl, s.control, s.onControl) })
	loops.Go(func() { s.receive(chanStdin, s.stdin.router, s.stdin.handle) })
	loops.Go(func() { s.iopub.run(stop) })
	s.goQuery(func() { s.cells.run(s.ctx) })
	s.goQuery(func() { s.runComms(s.ctx) })

	select {
	case <-ctx.Done():
		s.end(false)
	case <-s.ended:
	}
	<-s.ended
	s.iopub.flush()
	err := s.Close()
	close(stop)
	loops.Wait()
	return errors.Join(s.endErr, err)
}

// Close closes the sockets, after what is queued on them has been delivered.
func (s *Server) Close() error {
	closers := []func(time.Duration) error{
		s.shell.Close, s.control.Close, s.stdin.router.Close, s.iopub.pub.Close, s.heartbeat.Close,
	}
	errs := make([]error, len(closers))
	var wg sync.WaitGroup
	for i, c := range closers {
		wg.Go(func() { errs[i] = c(linger) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// end shuts the kernel down, up to but not including its sockets.
func (s *Server) end(restart bool) {
	s.endAfter(restart, func() {})
}

// endAfter does the same and calls last, which may send the last messages, before the sockets are closed.
func (s *Server) endAfter(restart bool, last func()) {
	s.ending.Do(func() {
		defer close(s.ended)
		defer last()
		s.queryMu.Lock()
		s.cancel(ErrShutdown)
		s.queryMu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), endGrace)
		defer cancel()
		s.guard("Shutdown", func() { s.handler.Shutdown(ctx, restart) })
		done := make(chan struct{})
		go func() { // ends with the queries, which endErr tells of when it does not
			defer close(done)
			s.queries.Wait()
		}()
		select {
		case <-done:
		case <-ctx.Done():
			s.endErr = fmt.Errorf("shut the kernel down: a cell or a query still runs after %v", endGrace)
		}
	})
}

// goQuery runs work on a goroutine that the end waits for. Once the end has begun it does nothing.
func (s *Server) goQuery(work func()) {
	s.queryMu.Lock()
	defer s.queryMu.Unlock()
	if s.ctx.Err() == nil {
		s.queries.Go(work)
	}
}

// receive hands on the valid messages of a socket until it closes.
func (s *Server) receive(channel string, r *zmtp.Router, handle func(*message)) {
	for {
		select {
		case frames := <-r.Incoming():
			m, err := s.sign.parse(frames)
			if err != nil {
				s.log.Warn("message dropped", "channel", channel, "reason", err)
				continue
			}
			s.mlog.write("recv", channel, m)
			handle(m)
		case <-r.Done():
			return
		}
	}
}

// reply answers a request on the socket that it came from.
func (s *Server) reply(r *zmtp.Router, to *message, kind string, content, metadata any) {
	m, err := s.compose.compose(kind, to.rawHeader, content, metadata)
	if err != nil {
		s.log.Error("a reply cannot be written", "error", err)
		m, err = s.compose.compose(kind, to.rawHeader, errorReply(&ExecuteError{Name: "KernelError", Value: err.Error()}), nil)
		if err != nil {
			return
		}
	}
	m.identities = to.identities
	channel := chanShell
	if r == s.control {
		channel = chanControl
	}
	s.mlog.write("send", channel, m)
	if err := r.Send(s.sign.frames(m)); err != nil {
		s.log.Info("reply not sent: its client has gone", "type", kind)
	}
}

// guard calls a part of the handler and reports whether it came back without a panic.
func (s *Server) guard(what string, call func()) (panicked *ExecuteError) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("the kernel's handler panicked", "in", what, "panic", r, "stack", string(debug.Stack()))
			panicked = &ExecuteError{Name: "KernelError", Value: fmt.Sprintf("%s panicked: %v (the kernel's log has the stack)", what, r)}
		}
	}()
	call()
	return nil
}

// inbox is a queue without a limit: messages are signed, so what fills it is the user's own.
type inbox struct {
	wake chan struct{}

	mu    sync.Mutex
	items []arrival
}

// arrival is a message and when it came.
type arrival struct {
	m  *message
	at time.Time
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

func (q *inbox) put(m *message) {
	q.mu.Lock()
	q.items = append(q.items, arrival{m, time.Now()})
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take waits for a message; it gives false when ctx is done.
func (q *inbox) take(ctx context.Context) (arrival, bool) {
	for ctx.Err() == nil {
		q.mu.Lock()
		if len(q.items) > 0 {
			a := q.items[0]
			q.items[0] = arrival{}
			q.items = q.items[1:]
			q.mu.Unlock()
			return a, true
		}
		q.mu.Unlock()
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
	return arrival{}, false
}

// takeAll empties the queue.
func (q *inbox) takeAll() []arrival {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = nil
	return items
}
