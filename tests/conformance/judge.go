package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// verdict says what came of a program. A larger one is worse.
type verdict int

const (
	right   verdict = iota // it did what the compiled program does
	refused                // gorovod said that it does not support it
	wrong                  // everything else: a wrong exit status or output, a hang, a crash
)

func (v verdict) String() string { return [...]string{"right", "refused", "wrong"}[v] }

// What gorovod's exit status tells: see `gorovod run --help`. A program's own exit status is never its.
const (
	statusRefused = 2
	refusedWords  = "not supported by the interpreter"
)

const (
	programTime = 20 * time.Second
	// stopTime is what gorovod gets to end a run that was interrupted.
	stopTime = 5 * time.Second
	// keptOutput is how much of a program's output is kept: more than any .out file holds.
	keptOutput = 1 << 20
)

// outcome is what a program did.
type outcome struct {
	status   int  // exit status of `gorovod run`, -1 if a signal ended it
	timedOut bool // it had to be stopped
	output   []byte
	time     time.Duration
}

// judge compares an outcome with what the program should do: exit with status 0 and, if want is not nil, print that.
func judge(o outcome, want []byte) (verdict, string) {
	switch {
	case o.timedOut:
		return wrong, fmt.Sprintf("was not done after %v", programTime)
	case o.status == statusRefused:
		return refused, telling(o.output)
	case o.status != 0 && bytes.Contains(o.output, []byte(refusedWords)):
		return refused, telling(o.output)
	case o.status != 0:
		return wrong, fmt.Sprintf("exit status %d: %s", o.status, telling(o.output))
	case want != nil && !bytes.Equal(o.output, want):
		return wrong, "its output differs from the .out file: " + difference(o.output, want)
	}
	return right, ""
}

// telling gives the line of the output that says most about a failure: gorovod's own, or the last but for the stack.
func telling(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "rank 0 ") || strings.Contains(line, refusedWords) {
			return short(line)
		}
	}
	return short(lines[0])
}

func short(line string) string {
	const most = 160
	if len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// difference names the first line that is not as wanted.
func difference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		switch {
		case i >= len(g):
			return fmt.Sprintf("it ends before line %d, %q", i+1, short(w[i]))
		case i >= len(w):
			return fmt.Sprintf("line %d is too many: %q", i+1, short(g[i]))
		case g[i] != w[i]:
			return fmt.Sprintf("line %d is %q, not %q", i+1, short(g[i]), short(w[i]))
		}
	}
	return ""
}

// runner runs programs of a folder through `gorovod run`.
type runner struct {
	gorovod string // the binary
	folder  string // GOROOT/test
	scratch string // where programs get a folder for their temporary files
}

// run runs one program and judges it.
func (r runner) run(ctx context.Context, name string) (verdict, string, error) {
	source := filepath.Join(r.folder, filepath.FromSlash(name))
	if _, err := os.Stat(source); err != nil {
		return wrong, "", fmt.Errorf("looking for a program of the list: %w", err)
	}
	want, err := os.ReadFile(strings.TrimSuffix(source, ".go") + ".out")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrong, "", fmt.Errorf("reading what a program should print: %w", err)
	}
	o, err := r.execute(ctx, name)
	if err != nil {
		return wrong, "", fmt.Errorf("running %s: %w", name, err)
	}
	v, reason := judge(o, want)
	return v, reason, nil
}

// execute runs a program in the folder of the tests, as Go's own test runner does, with both outputs in one.
func (r runner) execute(ctx context.Context, name string) (o outcome, err error) {
	temporary, err := os.MkdirTemp(r.scratch, "program")
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	output := &firstBytes{most: keptOutput}
	command := exec.CommandContext(ctx, r.gorovod, "run", "-np", "1", "--output", "raw", name)
	command.Dir = r.folder
	command.Env = append(os.Environ(), "TMPDIR="+temporary)
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopTime
	begin := time.Now()
	err = command.Run()
	if command.ProcessState == nil { // it did not start
		return o, err
	}
	if ctx.Err() != nil { // the agent is of gorovod's group, and takes the workers with it
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	}
	o = outcome{command.ProcessState.ExitCode(), ctx.Err() != nil, output.kept, time.Since(begin)}
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) || o.timedOut {
		err = nil
	}
	return o, err
}

// firstBytes keeps the first bytes written to it.
type firstBytes struct {
	kept []byte
	most int
}

func (f *firstBytes) Write(p []byte) (int, error) {
	f.kept = append(f.kept, p[:min(len(p), f.most-len(f.kept))]...)
	return len(p), nil
}
