package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/rendezvous"
	"github.com/gorovod/gorovod/worker"
	"github.com/gorovod/gorovod/worker/workertest"
)

const driverVar = "LAUNCH_TEST_DRIVER"

// engine evaluates acts, which the tests give, and Programs, which the examples do.
type engine struct{ workertest.Engine }

func (e engine) Program(ctx context.Context, program []byte, s worker.Surroundings) ([]byte, *rendezvous.Failure) {
	if _, err := interp.UnmarshalProgram(program); err == nil {
		return worker.Interpreter().Program(ctx, program, s)
	}
	return e.Engine.Program(ctx, program, s)
}

// TestMain lets the test binary be the workers, and a driver that a test can kill.
func TestMain(m *testing.M) {
	worker.Serve(engine{})
	if program := os.Getenv(driverVar); program != "" {
		o, err := Options{NumProc: 2}.checked()
		if err == nil {
			_, err = execute(context.Background(), []byte(program), o)
		}
		fmt.Println(err)
		os.Exit(1)
	}
	// The race detector would let each process linger for a second.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// output is a writer that tells when a text has come.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	want []string
	seen chan struct{}
}

// expect makes a writer that closes seen when each of the texts has come.
func expect(want ...string) *output { return &output{want: want, seen: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	left := len(o.want)
	o.want = slices.DeleteFunc(o.want, func(want string) bool { return strings.Contains(o.text.String(), want) })
	if left > 0 && len(o.want) == 0 {
		close(o.seen)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// perform runs acts.
func perform(ctx context.Context, t *testing.T, program string, o Options) ([]Result, error) {
	t.Helper()
	if o.Stdout == nil {
		o.Stdout = expect()
	}
	if o.Stderr == nil {
		o.Stderr = expect()
	}
	o, err := o.checked()
	if err != nil {
		t.Fatal(err)
	}
	return execute(ctx, []byte(program), o)
}

func values(results []Result) []string {
	var all []string
	for _, r := range results {
		all = append(all, string(r.Value))
	}
	return all
}

// asRunError gives the RunError in err and checks that its process is gone.
func asRunError(t *testing.T, err error) *RunError {
	t.Helper()
	var e *RunError
	if !errors.As(err, &e) {
		t.Fatalf("got %v; want a RunError", err)
	}
	return e
}

func TestResultsComeByRank(t *testing.T) {
	results, err := perform(t.Context(), t, "rank", Options{NumProc: 4})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"0 of 4", "1 of 4", "2 of 4", "3 of 4"}
	if diff := cmp.Diff(want, values(results)); diff != "" {
		t.Error(diff)
	}
	for i, r := range results {
		if r.Rank != i || r.PID == 0 || r.Host == "" {
			t.Errorf("got %+v", r)
		}
	}
}

func TestTheZeroOptionsRunOneWorker(t *testing.T) {
	results, err := perform(t.Context(), t, "rank", Options{})
	if err != nil || !cmp.Equal(values(results), []string{"0 of 1"}) {
		t.Errorf("got %q, %v", values(results), err)
	}
}

func TestARunFromAGoroutineWhoseThreadEnds(t *testing.T) {
	type end struct {
		results []Result
		err     error
	}
	done := make(chan end)
	for range 3 {
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			results, err := perform(t.Context(), t, "rank", Options{NumProc: 2})
			done <- end{results, err}
		}()
	}
	for range 3 {
		if e := <-done; e.err != nil || len(e.results) != 2 {
			t.Errorf("got %v, %v", e.results, e.err)
		}
	}
}

func TestRunsSideBySide(t *testing.T) {
	var runs sync.WaitGroup
	for range 2 {
		runs.Go(func() {
			results, err := perform(t.Context(), t, "rank", Options{NumProc: 8})
			if err != nil || len(results) != 8 {
				t.Errorf("got %d results, %v", len(results), err)
			}
		})
	}
	runs.Wait()
}

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		name, program string
		np            int
		rank          int
		kind          string
		wants         []string // in the error's text
		first         string   // the text begins so; %H is the host
	}{
		{
			name: "panic while others sleep", program: "2: panic index out of range [5] with length 3; sleep", np: 4, rank: 2,
			kind:  rendezvous.FailurePanic,
			wants: []string{"\n    cell[7]:3:5 in f\n    cell[7]:9 in main", "of the other 3: ranks 0, 1 and 3 were stopped"},
			first: "rank 2 on ",
		},
		{
			name: "error", program: "1: fail no such file; value 1", np: 2, rank: 1,
			kind: rendezvous.FailureError, wants: []string{"failed: no such file"},
		},
		{
			name: "kill -9", program: "1: eprint working; 1: kill; sleep", np: 3, rank: 1,
			kind: rendezvous.FailureSignal, wants: []string{"was killed by SIGKILL", "its last lines on standard error:\n    working", "ranks 0 and 2 were stopped"},
		},
		{
			name: "exit 0", program: "1: exit 0; sleep", np: 2, rank: 1,
			kind: rendezvous.FailureExit, wants: []string{"exited with code 0 without giving a result"},
		},
		{
			name: "exit 3", program: "eprint usage: x; exit 3", np: 1, rank: 0,
			kind: rendezvous.FailureExit, wants: []string{"exited with code 3", "\n    usage: x"},
		},
		{
			name: "crash", program: "0: crash in a goroutine; sleep", np: 2, rank: 0,
			kind: rendezvous.FailureExit, wants: []string{"crashed with exit code 2: panic: in a goroutine"},
		},
		{
			name: "stack overflow", program: "overflow", np: 1, rank: 0,
			kind: rendezvous.FailureExit, wants: []string{"fatal error: stack overflow"},
		},
		{
			name: "pipes closed", program: "0: unpipe; sleep", np: 2, rank: 0,
			kind: rendezvous.FailureExit, wants: []string{"rank 0"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := perform(t.Context(), t, tc.program, Options{NumProc: tc.np})
			e := asRunError(t, err)
			root := e.Failures[0]
			if root.Rank != tc.rank || root.Kind != tc.kind || root.PID == 0 {
				t.Errorf("got rank %d, kind %s, pid %d", root.Rank, root.Kind, root.PID)
			}
			for _, want := range append(tc.wants, tc.first) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q; want %q in it", err, want)
				}
			}
			if ExitStatus(err) != 1 {
				t.Errorf("got exit status %d", ExitStatus(err))
			}
		})
	}
}

func TestMemoryLimit(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector needs more address space than the test's limit")
	}
	_, err := perform(t.Context(), t, "0: memory; sleep", Options{NumProc: 2})
	if e := asRunError(t, err); e.Failures[0].Rank != 0 || !strings.Contains(err.Error(), "ran out of memory") {
		t.Errorf("got %v", err)
	}
}

func TestCancel(t *testing.T) {
	for _, program := range []string{
		"0: sleep; print on; sleep", "0: busy; print on; busy", "print on; wait", "unready;print on; sleep", "spawn; print on; sleep",
	} {
		t.Run(program, func(t *testing.T) {
			out := expect("[1] on")
			ctx, cancel := context.WithCancel(t.Context())
			var mu sync.Mutex
			pids := map[int]bool{}
			stopper := make(chan struct{})
			go func() {
				defer close(stopper)
				<-out.seen
				cancel()
			}()
			_, err := perform(ctx, t, program, Options{NumProc: 2, Stdout: out, Observer: func(e Event) {
				mu.Lock()
				defer mu.Unlock()
				pids[e.PID] = true
			}})
			<-stopper
			if !errors.Is(err, context.Canceled) || ExitStatus(err) != 130 || !strings.Contains(err.Error(), "interrupted") {
				t.Errorf("got %v", err)
			}
			for _, m := range regexp.MustCompile(`spawned (\d+)`).FindAllStringSubmatch(out.String(), -1) {
				pid, _ := strconv.Atoi(m[1])
				pids[pid] = true
			}
			delete(pids, 0)
			if len(pids) < 2 {
				t.Errorf("only the processes %v were seen", pids)
			}
			waitGone(t, pids)
		})
	}
}

// waitGone waits until processes are gone: those that Run has to wait for are at once, and those which they started
// when init has had its turn.
func waitGone(t *testing.T, pids map[int]bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		var alive []int
		for pid := range pids {
			if running(pid) {
				alive = append(alive, pid)
			}
		}
		if len(alive) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: %v", alive)
		}
	}
}

// running says whether the process is there and is not only waiting to be reaped.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func TestStartTimeoutNamesTheRank(t *testing.T) {
	_, err := perform(t.Context(), t, "unready;0: ready;2: ready;sleep", Options{NumProc: 3, StartTimeout: time.Second})
	var e *TimeoutError
	if !errors.As(err, &e) || !e.Start || len(e.Ranks) != 1 || e.Ranks[0].Rank != 1 || e.Ranks[0].State != StateConnected || e.Ranks[0].PID == 0 {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"start timeout: rank 1 of 3 was not ready after 1s", "last seen connected", "127.0.0.1:", "--start-timeout"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q; want %q in it", err, want)
		}
	}
}

func TestTimeoutNamesTheRanks(t *testing.T) {
	_, err := perform(t.Context(), t, "1: sleep; value 1", Options{NumProc: 2, Timeout: 2 * time.Second})
	var e *TimeoutError
	if !errors.As(err, &e) || e.Start || len(e.Ranks) != 1 || e.Ranks[0].Rank != 1 {
		t.Fatalf("got %v", err)
	}
}

func TestAnExecutableThatIsNoWorker(t *testing.T) {
	_, err := perform(t.Context(), t, "value 1", Options{NumProc: 2, Executable: "/bin/true"})
	if err == nil || !strings.Contains(err.Error(), "its agent exited with code 0 (/bin/true must be gorovod") {
		t.Errorf("got %v", err)
	}
}

func TestOutputArrivesWhole(t *testing.T) {
	const each = 10 << 20
	out := expect()
	dir := t.TempDir()
	_, err := perform(t.Context(), t, fmt.Sprintf("flood %d", each), Options{NumProc: 4, Stdout: out, OutputDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var seen [4]int
	for line := range strings.Lines(out.String()) {
		tag, rest, _ := strings.Cut(line, "] ")
		rank, err := strconv.Atoi(strings.TrimPrefix(tag, "["))
		if err != nil || rest[0] != byte('0'+rank) {
			t.Fatalf("got the line %q", line)
		}
		seen[rank] += len(rest)
	}
	for rank, n := range seen {
		file, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("rank.", rank), "stdout"))
		if err != nil || len(file) != each {
			t.Errorf("rank %d's file has %d bytes, %v", rank, len(file), err)
		}
		// A last line without an end was given one.
		if n != each && n != each+1 {
			t.Errorf("rank %d: %d bytes came", rank, n)
		}
	}
}

func TestOutputModes(t *testing.T) {
	const program = "1: print b1; 1: display {\"pic\":1}; 1: begin b2; 0: print a1; 0: eprint a2; value 1"
	for _, tc := range []struct {
		mode                  OutputMode
		stdout, stderr, shown string
	}{
		{OutputGroup, "[0] a1\n[1] b1\n[1] b2\n", "[0] a2\n", `{"pic":1}`},
		{OutputRoot, "a1\n", "a2\n", `{"pic":1}`},
	} {
		t.Run(string(tc.mode), func(t *testing.T) {
			out, errs := expect(), expect()
			shown := ""
			_, err := perform(t.Context(), t, program, Options{
				NumProc: 2, Output: tc.mode, Stdout: out, Stderr: errs,
				Observer: func(e Event) { shown += string(e.Display) },
			})
			if err != nil {
				t.Fatal(err)
			}
			got := []string{out.String(), errs.String(), shown}
			if diff := cmp.Diff([]string{tc.stdout, tc.stderr, tc.shown}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRawBytesPass(t *testing.T) {
	out := expect()
	if _, err := perform(t.Context(), t, `bytes "\xff\x00\r\nno end"`, Options{Output: OutputRaw, Stdout: out}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "\xff\x00\r\nno end" {
		t.Errorf("got %q", got)
	}
}

func TestAPictureComesBehindTheLinesBefore(t *testing.T) {
	out := expect()
	var at []string
	_, err := perform(t.Context(), t, "print one; begin half; display {}; print two", Options{Stdout: out, Observer: func(e Event) {
		if e.Display != nil {
			at = append(at, out.String())
		}
	}})
	if err != nil || !cmp.Equal(at, []string{"[0] one\n[0] half"}) {
		t.Errorf("got %q, %v", at, err)
	}
}

func TestEventsFollowEachRank(t *testing.T) {
	states := map[int][]State{}
	var lines []string
	_, err := perform(t.Context(), t, "print x; 1: fail no", Options{NumProc: 2, Observer: func(e Event) {
		if s := states[e.Rank]; len(s) == 0 || s[len(s)-1] != e.State {
			states[e.Rank] = append(s, e.State)
		}
		if e.Line != "" {
			lines = append(lines, e.Line)
		}
	}})
	asRunError(t, err)
	if last := states[1][len(states[1])-1]; last != StateFailed {
		t.Errorf("rank 1 went through %v", states[1])
	}
	if len(lines) == 0 || lines[0] != "x" {
		t.Errorf("the lines %q were told", lines)
	}
}

func TestEnvironmentOfTheWorkers(t *testing.T) {
	t.Setenv("HOROVOD_RANK", "77")
	t.Setenv("OMPI_COMM_WORLD_SIZE", "99")
	t.Setenv("HOROVOD_CYCLE_TIME", "5")
	t.Setenv("LAUNCH_TEST_HERE", "here")
	o := Options{NumProc: 2, Env: []string{"LAUNCH_TEST_HERE", "HOROVOD_X=a b=c"}, Dir: "/"}
	results, err := perform(t.Context(), t, "environ HOROVOD_", o)
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	want := "HOROVOD_CROSS_RANK=0 HOROVOD_CROSS_SIZE=1 HOROVOD_CYCLE_TIME=5 HOROVOD_HOSTNAME=" + host +
		" HOROVOD_LOCAL_RANK=1 HOROVOD_LOCAL_SIZE=2 HOROVOD_RANK=1 HOROVOD_SIZE=2 HOROVOD_X=a b=c"
	if diff := cmp.Diff(want, string(results[1].Value)); diff != "" {
		t.Error(diff)
	}
	for _, tc := range []struct{ program, want string }{
		{"environ OMPI_", ""}, {"environ GOROVOD_", ""}, {"env LAUNCH_TEST_HERE", "here"}, {"dir", "/"},
	} {
		results, err := perform(t.Context(), t, tc.program, o)
		if err != nil || string(results[0].Value) != tc.want {
			t.Errorf("%s: got %q, %v", tc.program, values(results), err)
		}
	}
}

func TestTheTokenIsInNoArgumentList(t *testing.T) {
	out := expect("[0] on", "[1] on")
	ctx, cancel := context.WithCancel(t.Context())
	var found []string
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		defer cancel()
		<-out.seen
		// Tokens and fingerprints are long runs of letters and digits; nothing in our argument lists is.
		secret := regexp.MustCompile(`[A-Za-z0-9]{26,}`)
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err == nil && bytes.HasPrefix(data, []byte(os.Args[0]+"\x00")) {
				found = append(found, string(bytes.ReplaceAll(data, []byte{0}, []byte(" "))))
				if args := data[len(os.Args[0]):]; !bytes.Contains(args, []byte("-test.")) && secret.Match(args) {
					t.Errorf("the argument list %q", args)
				}
			}
		}
	}()
	_, _ = perform(ctx, t, "print on; sleep", Options{NumProc: 2, Stdout: out})
	<-looked
	if text := strings.Join(found, "\n"); strings.Count(text, " worker ") < 2 || strings.Count(text, " agent ") < 1 {
		t.Errorf("the processes were not found among %q", found)
	}
}

func TestNothingIsLeftOfAKilledDriver(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), driverVar+"=spawn; print on; sleep")
	out := expect("[0] on", "[1] on")
	cmd.Stdout = out
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-out.seen
	pids := descendants(t, cmd.Process.Pid)
	if len(pids) < 5 { // an agent, two workers, two processes that those started
		t.Errorf("the driver's processes are %v", pids)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitGone(t, pids)
	_ = cmd.Wait() // it was killed; its output ends when the last process that holds it does
}

func descendants(t *testing.T, root int) map[int]bool {
	t.Helper()
	parents := map[int]int{}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var state string
		var ppid int
		_, rest, _ := strings.Cut(string(data), ") ")
		if _, err := fmt.Sscan(rest, &state, &ppid); err == nil {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			parents[pid] = ppid
		}
	}
	found := map[int]bool{}
	for pid := range parents {
		for p := parents[pid]; p > 1; p = parents[p] {
			if p == root {
				found[pid] = true
			}
		}
	}
	return found
}

func TestNothingIsLeftOfARun(t *testing.T) {
	if _, err := perform(t.Context(), t, "value 1", Options{}); err != nil {
		t.Fatal(err)
	}
	before := openFiles(t)
	for range 3 {
		if _, err := perform(t.Context(), t, "print x; 1: fail no; value 1", Options{NumProc: 2, OutputDir: t.TempDir()}); err == nil {
			t.Fatal("no failure")
		}
	}
	if after := openFiles(t); len(after) > len(before) {
		t.Errorf("open before: %v\nafter: %v", before, after)
	}
	if pids := descendants(t, os.Getpid()); len(pids) > 0 {
		t.Errorf("processes are left: %v", pids)
	}
	goleak.VerifyNone(t)
}

func openFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	var open []string
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			open = append(open, target)
		}
	}
	return open
}

func TestBigResult(t *testing.T) {
	results, err := perform(t.Context(), t, "big 50_000_000", Options{NumProc: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if !bytes.Equal(r.Value, bytes.Repeat([]byte{7}, 50_000_000)) {
			t.Errorf("rank %d's result did not come as it went", r.Rank)
		}
	}
}
