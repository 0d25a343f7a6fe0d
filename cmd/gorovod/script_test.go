package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary stand in for gorovod: a copy of it under that name, first on the
// scripts' PATH, runs main. Agents, workers and sessions are started from that copy in turn.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gorovod": main})
}

// TestScripts runs the scripts of testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// Nothing may come from a Go installation, or from whoever runs the tests.
			env.Setenv("GOROOT", "")
			env.Setenv("HOME", env.WorkDir+"/home")
			for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX", "JUPYTER_DATA_DIR", "GOROVOD_START_TIMEOUT"} {
				env.Setenv(name, "")
			}
			return os.Mkdir(env.WorkDir+"/home", 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status},
	})
}

// status runs a command and checks its exit status:
//
//	status 2 gorovod run --nope file.go
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("status %q is not a number", args[0])
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s ended with status %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// TestInterrupt presses Ctrl-C while the ranks of a run are busy: exit status 130, and every process
// of the run is gone when gorovod is.
func TestInterrupt(t *testing.T) {
	file := t.TempDir() + "/busy.go"
	code := "fmt.Println(\"pid\", os.Getpid())\nfor {\n}\n"
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sent := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sent.String(), func(t *testing.T) {
			command := exec.Command("gorovod", "run", "-np", "2", file)
			output, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			pids := readPids(t, output, 2)
			if err := command.Process.Signal(sent); err != nil {
				t.Fatal(err)
			}
			err = command.Wait()
			if err == nil {
				t.Error("gorovod ended with status 0")
			}
			if got := command.ProcessState.ExitCode(); sent == os.Interrupt && got != 130 {
				t.Errorf("gorovod ended with status %d (%v), want 130", got, err)
			}
			for _, pid := range pids {
				if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
					t.Errorf("rank with pid %d is still there: %v", pid, err)
				}
			}
		})
	}
}

// readPids reads the lines "[rank] pid N" of n ranks.
func readPids(t *testing.T, output interface{ Read([]byte) (int, error) }, n int) []int {
	t.Helper()
	var pids []int
	lines := bufio.NewScanner(output)
	for len(pids) < n && lines.Scan() {
		_, number, found := strings.Cut(lines.Text(), "pid ")
		if !found {
			continue
		}
		pid, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		pids = append(pids, pid)
	}
	if len(pids) < n {
		t.Fatalf("the run ended before %d ranks were up: %v", n, pids)
	}
	return pids
}
