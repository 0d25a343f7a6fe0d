package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/kernel/jupyter"
	"github.com/gorovod/gorovod/worker"
)

// session keeps a session process for the notebook: it starts one, and another when that has died.
type session struct {
	notebook *interp.Notebook
	config   Config
	ctx      context.Context // ends with the kernel
	stop     context.CancelFunc
	starts   sync.WaitGroup
	target   atomic.Pointer[target]

	mu      sync.Mutex
	dir     string // where the next process begins; "" until it was changed
	current *life
	closed  bool
}

// life is one session process.
type life struct {
	replay  *interp.Unit  // the declarations that it begins with; nil for the first
	ready   chan struct{} // closed when process or err is set
	process *worker.SessionProcess
	err     error // it could not be started, or not take the declarations
}

// target is the cell in which the session's output is shown.
type target struct {
	out *jupyter.Output
	ctx context.Context // ends with the cell
}

func newSession(n *interp.Notebook, c Config) *session {
	s := &session{notebook: n, config: c, dir: c.Dir}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(nil)
	return s
}

// begin starts a process in the background. The caller holds the lock.
func (s *session) begin(replay *interp.Unit) {
	l := &life{replay: replay, ready: make(chan struct{})}
	s.current = l
	if s.closed {
		l.err = jupyter.ErrShutdown
		close(l.ready)
		return
	}
	config := worker.SessionConfig{
		Executable: s.config.Executable, Dir: s.dir,
		Stdout:  func(p []byte) { s.write(jupyter.Stdout, p) },
		Stderr:  func(p []byte) { s.write(jupyter.Stderr, p) },
		Display: s.display,
		Ask:     s.ask,
	}
	s.starts.Go(func() {
		defer close(l.ready)
		if l.process, l.err = worker.StartSession(s.ctx, config); l.err != nil || replay == nil {
			return
		}
		o, err := evalIn(s.ctx, l.process, replay)
		if err == nil && o.Failure != nil {
			err = errors.New(o.Failure.Headline())
		}
		if err != nil {
			l.process.Close()
			l.err = fmt.Errorf("bring the notebook's declarations into a new session: %w", err)
		}
	})
}

// close ends the process and waits for everything that was started.
func (s *session) close() {
	s.stop()
	s.mu.Lock()
	s.closed = true
	l := s.current
	s.mu.Unlock()
	s.starts.Wait()
	if l.process != nil {
		l.process.Close()
	}
}

// acquire gives the process, when it can be asked. When it has died since, a new one is started, and the cell is told.
// That changes the notebook, so what is to be evaluated must be checked behind it.
func (s *session) acquire(ctx context.Context) (*worker.SessionProcess, error) {
	for {
		s.mu.Lock()
		l := s.current
		s.mu.Unlock()
		select {
		case <-l.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if l.err != nil {
			s.again(l)
			return nil, l.err
		}
		death := l.process.Death()
		if death == nil {
			return l.process, nil
		}
		lost := s.replace(death)
		s.write(jupyter.Stderr, []byte("Meanwhile, "+lost.Error()+"\n"))
	}
}

// again tries once more what could not be started.
func (s *session) again(l *life) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == l {
		s.begin(l.replay)
	}
}

// lostError is the end of a session, and of the variables that it had.
type lostError struct {
	death *worker.SessionDeath
	names []string
}

func (e *lostError) Error() string {
	return "the session " + e.death.Reason + ". " + e.consequence()
}

func (e *lostError) Unwrap() error { return e.death }

// consequence tells what the user still has.
func (e *lostError) consequence() string {
	const kept = "A new session was started; it has the notebook's functions, types and constants."
	switch len(e.names) {
	case 0:
		return kept + " There were no variables to lose."
	case 1:
		return kept + " This variable was lost: " + e.names[0]
	}
	return kept + " These variables were lost: " + strings.Join(e.names, ", ")
}

// replace starts a new process after the death of one.
func (s *session) replace(death *worker.SessionDeath) *lostError {
	unit, names := s.notebook.Replay()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(unit)
	return &lostError{death, names}
}

// ended turns the death of the session, which took what was asked of it, into its replacement.
func (s *session) ended(err error) error {
	var death *worker.SessionDeath
	if !errors.As(err, &death) || s.ctx.Err() != nil {
		return err
	}
	return s.replace(death)
}

// eval evaluates a unit in a process that was acquired before its code was checked: another process has other names.
// The error is a *lostError when that cost the session.
func (s *session) eval(ctx context.Context, p *worker.SessionProcess, u *interp.Unit) (*interp.Outcome, error) {
	o, err := evalIn(ctx, p, u)
	return o, s.ended(err)
}

func evalIn(ctx context.Context, p *worker.SessionProcess, u *interp.Unit) (*interp.Outcome, error) {
	unit, err := u.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", u.Name, err)
	}
	outcome, err := p.Eval(ctx, unit)
	if err != nil {
		return nil, err
	}
	return interp.UnmarshalOutcome(outcome)
}

// changeDirCode is evaluated in the session but never becomes part of the notebook.
const changeDirCode = "import gorovod_os \"os\"\nif err := gorovod_os.Chdir(%q); err != nil {\n\tpanic(err)\n}"

// changeDir changes the folder of the session, of those that come after it, and of the commands and runs of cells.
func (s *session) changeDir(ctx context.Context, path string) error {
	home, homeless := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, "~"); path == "" || ok && (rest == "" || rest[0] == '/') {
		if homeless != nil {
			return fmt.Errorf("%%cd %s: find your home folder: %w", path, homeless)
		}
		path = home + rest
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.folder(), path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("%%cd: change the folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%%cd: change the folder: %s is a file", path)
	}
	p, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	c, err := s.notebook.Check("%cd", fmt.Sprintf(changeDirCode, path))
	if err != nil {
		return fmt.Errorf("%%cd: change the session's folder: %w", err)
	}
	o, err := s.eval(ctx, p, c.Unit)
	if err != nil {
		return err
	}
	if o.Failure != nil {
		return fmt.Errorf("%%cd: change the session's folder to %s: %s", path, o.Failure.Message)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir = path
	return nil
}

// folder gives the notebook's folder: the session's, which code may have changed, or else where one would begin.
func (s *session) folder() string {
	s.mu.Lock()
	l, dir := s.current, s.dir
	s.mu.Unlock()
	select {
	case <-l.ready:
		if l.process != nil && l.process.Death() == nil {
			if there, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", l.process.PID())); err == nil && filepath.IsAbs(there) {
				return there
			}
		}
	default:
	}
	if dir == "" {
		dir, _ = os.Getwd() // an empty path still means where the process is
	}
	return dir
}

// show makes a cell the one in which the session's output is shown, until the next. A silent cell gives way to the
// one before it when it ends.
func (s *session) show(ctx context.Context, out *jupyter.Output, silent bool) (ended func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	before := s.target.Swap(&target{out, ctx})
	return func() {
		cancel(errNobody)
		if silent {
			s.target.Store(before)
		}
	}
}

// write shows what the session has written.
func (s *session) write(stream string, p []byte) {
	t := s.target.Load()
	if t == nil {
		s.config.Logger.Warn("the session wrote something before the first cell", "stream", stream, "text", string(p))
		return
	}
	_, _ = t.out.Writer(stream).Write(p) // never fails
}

var errNobody = errors.New("no cell is running in which the question could be asked")

// display shows what the session's code wants shown.
func (s *session) display(data []byte) error {
	t := s.target.Load()
	if t == nil {
		return errors.New("no cell has run yet in which it could be shown")
	}
	d, err := readDisplay(data)
	if err != nil {
		return err
	}
	return d.show(t.out)
}

// ask puts a question of the session's code to the user. Where nobody can answer, input is at its end.
func (s *session) ask(ctx context.Context, question worker.AskFor) (string, error) {
	t := s.target.Load()
	if t == nil {
		return "", errNobody
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })()
	line, err := t.out.Input(ctx, question.Prompt, question.Password)
	if errors.Is(err, jupyter.ErrNoStdin) {
		err = io.EOF
	}
	return line, err
}
