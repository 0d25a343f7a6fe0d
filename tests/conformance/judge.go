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
	"slices"
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
	// patience is what a program gets that is run by itself because it did worse than known.
	patience = 3 * programTime
	// stopTime is what gorovod gets to end a run that was interrupted.
	stopTime = 5 * time.Second
	// keptOutput is how much of a program's output is kept: more than any .out file holds.
	keptOutput = 1 << 20
)

// outcome is what a program did.
type outcome struct {
	status         int  // exit status of `gorovod run`, -1 if a signal ended it
	timedOut       bool // it had to be stopped
	stdout, stderr []byte
	time           time.Duration
}

// judge compares an outcome with what the program should do: exit with status 0 and, if want is not nil, print that.
func judge(o outcome, want []byte) (verdict, string) {
	said := slices.Concat(o.stderr, o.stdout)
	switch {
	case o.timedOut:
		return wrong, fmt.Sprintf("was not done after %v", o.time.Round(time.Second))
	case o.status == statusRefused:
		return refused, telling(said)
	case o.status != 0 && bytes.Contains(o.stderr, []byte(refusedWords)):
		return refused, telling(said)
	case o.status != 0:
		return wrong, fmt.Sprintf("exit status %d: %s", o.status, telling(said))
	case want != nil && !interleaved(want, o.stdout, o.stderr):
		return wrong, "its output differs from the .out file: " + difference(o, want)
	}
	return right, ""
}

// interleaved tells whether the lines of want are those of a and b, each in their order. The .out files hold both
// outputs of a program as one; a rank's two outputs come through two pipes, and what was written first is lost.
func interleaved(want, a, b []byte) bool {
	w, x, y := lines(want), lines(a), lines(b)
	if len(w) != len(x)+len(y) {
		return false
	}
	taken := map[int]bool{0: true} // how many lines of x can be in the part of w that was seen
	for i, line := range w {
		next := map[int]bool{}
		for n := range taken {
			if n < len(x) && x[n] == line {
				next[n+1] = true
			}
			if m := i - n; m < len(y) && y[m] == line {
				next[n] = true
			}
		}
		taken = next
	}
	return taken[len(x)]
}

// lines splits a text; each line keeps its newline.
func lines(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }

// telling gives the line of the output that says most about a failure: gorovod's own, or else the first.
func telling(output []byte) string {
	all := strings.Split(strings.TrimSpace(string(output)), "\n")
	for _, line := range all {
		if strings.HasPrefix(line, "rank 0 ") || strings.Contains(line, refusedWords) {
			return short(line)
		}
	}
	return short(all[0])
}

func short(line string) string {
	const most = 160
	if len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// difference names the first line that is not as wanted, in the output that should have it.
func difference(o outcome, want []byte) string {
	got, w := lines(o.stdout), lines(want)
	if len(got) == 0 {
		got = lines(o.stderr)
	}
	for i := range max(len(got), len(w)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("it ends before line %d, %q", i+1, short(w[i]))
		case i >= len(w):
			return fmt.Sprintf("line %d is too many: %q", i+1, short(got[i]))
		case got[i] != w[i]:
			return fmt.Sprintf("line %d is %q, not %q", i+1, short(got[i]), short(w[i]))
		}
	}
	return "there is more on standard error: " + telling(o.stderr)
}

// runner runs programs of a folder through `gorovod run`.
type runner struct {
	gorovod string // the binary
	folder  string // GOROOT/test
	scratch string // where programs get a folder for their temporary files
	limit   time.Duration
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

// execute runs a program in the folder of the tests, as Go's own test runner does.
func (r runner) execute(ctx context.Context, name string) (o outcome, err error) {
	temporary, err := os.MkdirTemp(r.scratch, "program")
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	stdout, stderr := &firstBytes{most: keptOutput}, &firstBytes{most: keptOutput}
	command := exec.CommandContext(ctx, r.gorovod, "run", "-np", "1", "--output", "raw", name)
	command.Dir = r.folder
	command.Env = append(os.Environ(), "TMPDIR="+temporary)
	command.Stdout, command.Stderr = stdout, stderr
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
	o = outcome{command.ProcessState.ExitCode(), ctx.Err() != nil, stdout.kept, stderr.kept, time.Since(begin)}
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
