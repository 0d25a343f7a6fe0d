package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// roleVar tells an executable that it was started as one of our processes. It is removed from the environment
// before anything else happens, so that what such a process starts in turn is an ordinary process again.
const roleVar = "GOROVOD_ROLE"

// The roles, which are also the names of the commands that ps shows.
const (
	roleAgent   = "agent"
	roleWorker  = "worker"
	roleSession = "session"
)

// capable is what this process is: one whose executable can be started as a worker.
var capable atomic.Bool

// Main makes the running executable one that can be started as a worker of Go programs: Serve with Interpreter.
func Main() { Serve(Interpreter()) }

// Serve makes the running executable one that can be started as a worker. It has to be called first thing in main:
// when the process was started as an agent, a worker or a session, it does that work with the given engine and
// never returns; otherwise it returns at once.
func Serve(engine Engine) {
	capable.Store(true)
	role, ok := os.LookupEnv(roleVar)
	if !ok {
		return
	}
	_ = os.Unsetenv(roleVar)
	if role != roleAgent && os.Getenv(traceVar) == "none" {
		_ = os.Unsetenv(traceVar) // the runtime has read it, and it is not for what the user's code starts
	}
	os.Exit(serve(role, engine))
}

// Capable says whether Serve or Main was called, so that launch can start workers from the running executable.
func Capable() bool { return capable.Load() }

func serve(role string, engine Engine) int {
	var err error
	switch role {
	case roleAgent:
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		// A driver that is gone closes our standard output too. Writing there must not end us before the workers are
		// dead. (To ignore the signal would make the workers ignore it.)
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		err = Agent(ctx, os.Stdin, os.Stdout)
	case roleWorker:
		err = runInherited(func(r, w *os.File) error { return Slot(context.Background(), r, w, engine) })
	case roleSession:
		err = runInherited(func(r, w *os.File) error { return Session(context.Background(), r, w, engine) })
	default:
		err = fmt.Errorf("%s=%q is no role; unset it: gorovod sets it by itself where it is needed", roleVar, role)
	}
	switch {
	case errors.Is(err, errRankFailed):
		return 1
	case errors.Is(err, errParentGone):
		// Whatever the user's code has started goes too.
		_ = syscall.Kill(0, syscall.SIGKILL)
		return 1
	case err != nil:
		slog.Error("gorovod "+role, "err", err)
		return 1
	}
	return 0
}

var (
	errRankFailed = errors.New("the rank has failed, and said so")
	errParentGone = errors.New("the process that this one works for is gone")
)

// runInherited runs f with the two pipes that a parent's child.Start left in descriptors 3 and 4.
func runInherited(f func(r, w *os.File) error) error {
	var files [2]*os.File
	for i := range files {
		fd := 3 + i
		// What the user's code starts must not hold the pipes open, nor read what is in them.
		syscall.CloseOnExec(fd)
		// A file that does not block is waited for by the runtime's poller rather than by a thread.
		if err := syscall.SetNonblock(fd, true); err != nil {
			return fmt.Errorf("use file descriptor %d, which the parent process should have left open: %w; "+
				"this command is started by gorovod itself, not by hand", fd, err)
		}
		files[i] = os.NewFile(uintptr(fd), "parent")
	}
	return f(files[0], files[1])
}

// self is the path of the running executable. When another file has taken its place since (a new build), that one
// might speak another version of the pipes, so the running one is used through /proc.
func self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the running executable, to start a worker from it: %w", err)
	}
	const proc = "/proc/self/exe"
	running, err := os.Stat(proc)
	if err != nil {
		return path, nil // no /proc here
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(there, running) {
		return proc, nil
	}
	return path, nil
}
