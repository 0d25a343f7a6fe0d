// Package child starts a process in a group of its own and hears all of it: what it writes, in the order in which
// it was written, to its last word, and how it ended.
//
// It takes a command and two functions that receive output and end. It gives a Child, with two extra pipes (file
// descriptors 3 and 4 in the process) when somebody wants to talk with it. Descriptors 1 and 2 are real pipes that the
// parent reads, so that even a process that is killed in the middle of a line is heard to that place, and Drain
// takes what is in them at a given moment, so that output can be put in order with a message on another pipe.
//
// When the process ends, everything in its group is killed before its number can belong to somebody else, the
// pipes are read empty without waiting for whoever else may hold them open, and Wait returns.
package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Stream is one of the two output streams.
type Stream uint8

// The two output streams.
const (
	Stdout Stream = iota
	Stderr
)

const readSize = 64 << 10

// Spec is the process to start.
type Spec struct {
	Path  string
	Args  []string // after the program's name
	Env   []string // the whole environment
	Dir   string
	Stdin *os.File // nil: nothing to read
	// Talk gives the process descriptors 3 and 4, and the Child Control and Events.
	Talk bool
	// Terse takes the stacks out of a crash report of the Go runtime.
	Terse bool
	// Orphan lets the process outlive a parent that was killed. It is for a process that notices that by itself
	// and still has to clean up; every other process is killed with its parent (on Linux).
	Orphan bool
}

// Child is a started process.
type Child struct {
	Control *os.File // what is written here the process reads from descriptor 3; nil unless Spec.Talk
	Events  *os.File // what the process writes to descriptor 4 is read here; nil unless Spec.Talk

	cmd     *exec.Cmd
	exited  chan struct{} // closed when the process has ended and its group was killed
	oomKill uint64

	reaping sync.Mutex
	reaped  bool

	mu      sync.Mutex // held from reading a pipe to having delivered what was read
	pipes   [2]*os.File
	sink    func(Stream, []byte)
	buf     []byte
	words   lastWords
	trace   *traceFilter // nil unless Spec.Terse
	readers sync.WaitGroup
}

// Start starts the process. Its output stays in the pipes until Listen is called.
func Start(spec Spec) (*Child, error) {
	c := &Child{exited: make(chan struct{}), buf: make([]byte, readSize), oomKill: oomKills()}
	if spec.Terse {
		c.trace = &traceFilter{}
	}
	c.cmd = exec.Command(spec.Path, spec.Args...)
	c.cmd.Env, c.cmd.Dir = spec.Env, spec.Dir
	if c.cmd.Env == nil {
		c.cmd.Env = []string{}
	}
	if spec.Stdin != nil {
		c.cmd.Stdin = spec.Stdin
	}
	c.cmd.SysProcAttr = processGroup(spec.Orphan)
	theirs, err := c.makePipes(spec.Talk)
	defer closeAll(theirs)
	if err != nil {
		c.closePipes()
		return nil, fmt.Errorf("make pipes to %s: %w", spec.Path, err)
	}
	started := make(chan error)
	go c.own(started)
	if err := <-started; err != nil {
		c.closePipes()
		return nil, err
	}
	return c, nil
}

// makePipes makes the pipes and returns the process' ends of them.
func (c *Child) makePipes(talk bool) (theirs []*os.File, err error) {
	count := 2
	if talk {
		count = 4
	}
	var ends [8]*os.File
	for i := 0; i < count && err == nil; i++ {
		ends[2*i], ends[2*i+1], err = os.Pipe()
	}
	c.pipes[Stdout], c.cmd.Stdout = ends[0], ends[1]
	c.pipes[Stderr], c.cmd.Stderr = ends[2], ends[3]
	if talk {
		c.Control, c.Events = ends[5], ends[6]
		c.cmd.ExtraFiles = []*os.File{ends[4], ends[7]}
	}
	return []*os.File{ends[1], ends[3], ends[4], ends[7]}, err
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

func (c *Child) closePipes() {
	closeAll([]*os.File{c.pipes[Stdout], c.pipes[Stderr], c.Control, c.Events})
}

// own starts the process and waits for its end, all on one thread: Linux sends the parent-death signal when the
// thread that started the process ends, and a thread may end long before its process does.
func (c *Child) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	if waitWithoutReaping(c.PID()) {
		c.KillGroup()
		c.reaping.Lock()
		_ = c.cmd.Wait() // ProcessState holds how it ended
	} else {
		_ = c.cmd.Wait()
		c.reaping.Lock()
		_ = syscall.Kill(-c.PID(), syscall.SIGKILL)
	}
	c.reaped = true
	c.reaping.Unlock()
	close(c.exited)
}

// PID is the process' number.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// KillGroup kills the process and all that it started in its group. It does nothing once the process has ended.
func (c *Child) KillGroup() {
	c.reaping.Lock()
	defer c.reaping.Unlock()
	if !c.reaped {
		_ = syscall.Kill(-c.PID(), syscall.SIGKILL)
	}
}

// Signal sends the process alone a signal.
func (c *Child) Signal(s syscall.Signal) {
	c.reaping.Lock()
	defer c.reaping.Unlock()
	if !c.reaped {
		_ = syscall.Kill(c.PID(), s)
	}
}

// Listen gives everything the process writes to sink, one call at a time. The bytes are sink's only during the call.
func (c *Child) Listen(sink func(Stream, []byte)) {
	c.mu.Lock()
	c.sink = sink
	c.mu.Unlock()
	for s := range c.pipes {
		c.readers.Go(func() { c.read(Stream(s)) })
	}
}

func (c *Child) read(s Stream) {
	conn, err := c.pipes[s].SyscallConn()
	if err != nil {
		return
	}
	for ended := false; !ended && err == nil; {
		err = conn.Read(func(fd uintptr) bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			var n int
			n, ended = c.take(s, fd)
			return n > 0 || ended
		})
	}
}

// take reads once from a pipe that does not block and delivers what was there.
func (c *Child) take(s Stream, fd uintptr) (n int, ended bool) {
	for {
		n, err := unix.Read(int(fd), c.buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return 0, false
		case err != nil || n <= 0:
			return 0, true
		}
		c.deliver(s, c.buf[:n])
		return n, false
	}
}

func (c *Child) deliver(s Stream, p []byte) {
	if s == Stderr {
		c.words.report(p)
		if c.trace != nil {
			p = c.trace.filter(p)
		}
		c.words.write(p)
	}
	if c.sink != nil && len(p) > 0 {
		c.sink(s, p)
	}
}

// Drain delivers what is in the output pipes now and returns. What the process wrote before it sent a message on
// descriptor 4 has been delivered when Drain returns to the reader of that message.
func (c *Child) Drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.pipes {
		conn, err := c.pipes[s].SyscallConn()
		if err != nil {
			continue
		}
		_ = conn.Control(func(fd uintptr) {
			// No more than is there now: a process that never stops writing must not hold Drain for ever.
			there, err := unix.IoctlGetInt(int(fd), bytesWaiting)
			for n := 1; err == nil && n > 0 && there > 0; there -= n {
				n, _ = c.take(Stream(s), fd)
			}
		})
	}
}

// Done is closed when the process has ended. Its last output may not have been delivered yet; Wait sees to that.
func (c *Child) Done() <-chan struct{} { return c.exited }

// Wait waits for the end of the process and of its output. It closes Control, but leaves Events to its reader, which
// will find the end there and must close it.
func (c *Child) Wait() Exit {
	<-c.exited
	c.Drain()
	closeAll([]*os.File{c.pipes[Stdout], c.pipes[Stderr], c.Control})
	c.readers.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var e Exit
	if ws, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = unix.SignalName(ws.Signal())
	} else {
		e.Code = c.cmd.ProcessState.ExitCode()
	}
	if c.trace != nil {
		// The Go runtime ends a crash with exit code 2, or by the signal that it could not handle.
		left := c.trace.rest(e.Code == 2 || e.Signal != "")
		c.trace = nil
		c.deliver(Stderr, left)
	}
	e.Tail, e.Fatal = c.words.tail(), c.words.fatal()
	e.OOMKilled = e.Signal == "SIGKILL" && oomKills() > c.oomKill
	return e
}
