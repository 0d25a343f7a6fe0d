package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gorovod/gorovod/worker"
	"github.com/gorovod/gorovod/worker/workertest"
)

// TestMain lets the test binary be the processes that the tests start.
func TestMain(m *testing.M) {
	worker.Serve(workertest.Engine{})
	goleak.VerifyTestMain(m)
}

// recorder hears a session: one text in which output, pictures and questions stand as they came.
type recorder struct {
	mu   sync.Mutex
	text bytes.Buffer
	said chan struct{} // gets a value, if there is room, whenever something came
}

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.text, format, args...)
	select {
	case r.said <- struct{}{}:
	default:
	}
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func startSession(t *testing.T, env ...string) (*worker.SessionProcess, *recorder) {
	t.Helper()
	r := &recorder{said: make(chan struct{}, 1)}
	s, err := worker.StartSession(t.Context(), worker.SessionConfig{
		Env:     env,
		Stdout:  func(p []byte) { r.add("%s", p) },
		Stderr:  func(p []byte) { r.add("!%s", p) },
		Display: func(bundle []byte) error { r.add("<%s>\n", bundle); return nil },
		Ask: func(_ context.Context, q worker.AskFor) (string, error) {
			r.add("?%s\n", q.Prompt)
			return "blue green", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, r
}

func TestASessionAnswersAfterItsOutput(t *testing.T) {
	s, heard := startSession(t)
	for i := range 50 {
		got, err := s.Eval(t.Context(), fmt.Appendf(nil, "print a%d; eprint b; display c; print d; value v%d", i, i))
		if err != nil || string(got) != fmt.Sprint("v", i) {
			t.Fatalf("got %q, %v", got, err)
		}
		// Standard output and standard error are two pipes, so only what a message parts is in a known order.
		text := heard.String()
		before, after, _ := strings.Cut(text, "<c>\n")
		if !strings.Contains(before, fmt.Sprintf("a%d\n", i)) || !strings.Contains(before, "!b\n") || after != "d\n" {
			t.Fatalf("heard %q", text)
		}
		heard.mu.Lock()
		heard.text.Reset()
		heard.mu.Unlock()
	}
}

func TestASessionAsks(t *testing.T) {
	s, heard := startSession(t)
	for unit, want := range map[string]string{"ask Colour": "blue green <nil>", "scan": "blue green <nil>"} {
		if got, err := s.Eval(t.Context(), []byte(unit)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", unit, got, err)
		}
	}
	if text := heard.String(); !strings.Contains(text, "?Colour\n") {
		t.Errorf("heard %q", text)
	}
}

func TestValuesGoIntoASessionAndComeBack(t *testing.T) {
	s, _ := startSession(t)
	parts := [][]byte{bytes.Repeat([]byte{1}, 40<<20), []byte("end")}
	if err := s.Bind(t.Context(), "x", parts); err != nil {
		t.Fatal(err)
	}
	got, err := s.Encode(t.Context(), []string{"x", "x"})
	if err != nil || len(got) != 2 || !bytes.Equal(got[1], bytes.Join(parts, nil)) {
		t.Errorf("the values did not come back as they went: %v", err)
	}
	if _, err := s.Encode(t.Context(), []string{"y"}); err == nil || err.Error() != "undefined: y" {
		t.Errorf("got %v", err)
	}
}

func TestInterrupt(t *testing.T) {
	for _, tc := range []struct {
		unit string
		dies bool
	}{{"print go; wait", false}, {"print go; sleep", true}, {"print go; busy", true}} {
		t.Run(tc.unit, func(t *testing.T) {
			s, heard := startSession(t)
			ctx, cancel := context.WithCancel(t.Context())
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				<-heard.said
				cancel()
			}()
			got, err := s.Eval(ctx, []byte(tc.unit))
			<-stopped
			if !tc.dies {
				if err != nil || string(got) != "interrupted" {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			var death *worker.SessionDeath
			if !errors.As(err, &death) || !death.Killed || !strings.Contains(death.Error(), "could not be interrupted") {
				t.Errorf("got %v", err)
			}
			if death := s.Death(); death == nil {
				t.Error("the session lives")
			}
		})
	}
}

func TestASessionThatDiesSaysWhy(t *testing.T) {
	for _, tc := range []struct {
		unit, want, signal, last string
		code                     int
	}{
		{unit: "print gone; overflow", want: "fatal error: stack overflow", code: 2},
		{unit: "crash oh no", want: "panic: oh no", code: 2},
		{unit: "eprint last; exit 3", want: "exited with code 3", code: 3, last: "last"},
		{unit: "kill", want: "killed by SIGKILL", signal: "SIGKILL"},
		{unit: "unpipe", want: "closed the pipe"},
	} {
		t.Run(tc.unit, func(t *testing.T) {
			t.Parallel()
			s, heard := startSession(t)
			_, err := s.Eval(t.Context(), []byte(tc.unit))
			var death *worker.SessionDeath
			if !errors.As(err, &death) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(death.Error(), tc.want) || death.ExitCode != tc.code || !strings.Contains(death.LastOutput, tc.last) {
				t.Errorf("got %+v", death)
			}
			if strings.Contains(heard.String(), "goroutine 1 ") || strings.Contains(death.LastOutput, "goroutine 1 ") {
				t.Errorf("the interpreter's stack was shown: %s", heard)
			}
			if tc.signal != "" && death.Signal != tc.signal {
				t.Errorf("got signal %q", death.Signal)
			}
			if strings.Contains(tc.unit, "gone") && !strings.Contains(heard.String(), "gone\n") {
				t.Errorf("heard %q", heard)
			}
			if _, err := s.Eval(t.Context(), []byte("value 1")); !errors.As(err, &death) {
				t.Errorf("the next request got %v", err)
			}
		})
	}
}

func TestASessionThatCannotBeginSaysWhy(t *testing.T) {
	_, err := worker.StartSession(t.Context(), worker.SessionConfig{Env: []string{"WORKERTEST_REFUSE=1"}})
	if err == nil || !strings.Contains(err.Error(), "asked to refuse") {
		t.Errorf("got %v", err)
	}
	_, err = worker.StartSession(t.Context(), worker.SessionConfig{Executable: "/bin/true"})
	if err == nil || !strings.Contains(err.Error(), "exited with code 0") {
		t.Errorf("got %v", err)
	}
	_, err = worker.StartSession(t.Context(), worker.SessionConfig{Executable: "/no/such"})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestCloseTakesWhatTheSessionStarted(t *testing.T) {
	s, heard := startSession(t)
	if _, err := s.Eval(t.Context(), []byte("spawn")); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscanf(heard.String(), "spawned %d", &pid); err != nil {
		t.Fatal(err)
	}
	s.Close()
	for deadline := time.Now().Add(10 * time.Second); running(pid); {
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
	if d := s.Death(); d == nil || !d.Killed || !strings.Contains(d.Error(), "closed") {
		t.Errorf("got %v", d)
	}
}

// running says whether the process is there and is not only waiting to be reaped.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
