// Package workertest has an engine that does as it is told, for tests of what holds the processes together: real
// processes, pipes and connections, with acts in the place of Go code.
//
// A test binary calls worker.Serve(workertest.Engine{}) first thing in TestMain. It then gives programs such as
//
//	print hello; 2: panic index out of range; value 42
//
// to launch: acts parted by semicolons, each done by every rank, or by the one whose number and colon stand before
// it. See the acts table for what there is. A program's value is the text that its last "value" act gave.
package workertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gorovod/gorovod/rendezvous"
	"github.com/gorovod/gorovod/worker"
)

// Engine evaluates acts.
type Engine struct{}

// stage is what an act acts on.
type stage struct {
	worker.Surroundings
	ctx   context.Context
	value []byte
	fail  *rendezvous.Failure
}

var acts = map[string]func(s *stage, arg string){
	// How it goes on.
	"ready": func(s *stage, _ string) { s.Ready() },
	"value": func(s *stage, arg string) { s.value = []byte(arg) },
	"rank":  func(s *stage, _ string) { s.value = fmt.Appendf(nil, "%d of %d", s.Slot.Rank, s.Slot.Size) },
	"env":   func(s *stage, arg string) { s.value = []byte(os.Getenv(arg)) },
	"environ": func(s *stage, arg string) {
		env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return !strings.HasPrefix(kv, arg) })
		slices.Sort(env)
		s.value = []byte(strings.Join(env, " "))
	},
	"dir": func(s *stage, _ string) { dir, _ := os.Getwd(); s.value = []byte(dir) },
	"big": func(s *stage, arg string) { s.value = bytes.Repeat([]byte{7}, number(arg)) },
	// What is seen of it.
	"print":  func(_ *stage, arg string) { fmt.Println(arg) },
	"begin":  func(_ *stage, arg string) { fmt.Print(arg) },
	"eprint": func(_ *stage, arg string) { fmt.Fprintln(os.Stderr, arg) },
	"bytes":  func(_ *stage, arg string) { text, _ := strconv.Unquote(arg); _, _ = io.WriteString(os.Stdout, text) },
	"flood": func(s *stage, arg string) {
		line := fmt.Appendf(nil, "%d %s\n", s.Slot.Rank, strings.Repeat("x", 97))
		for n := number(arg); n > 0; n -= len(line) {
			_, _ = os.Stdout.Write(line[:min(n, len(line))])
		}
	},
	"display": func(s *stage, arg string) {
		if err := s.Display([]byte(arg)); err != nil {
			s.fail = &rendezvous.Failure{Kind: rendezvous.FailureError, Message: err.Error()}
		}
	},
	"ask": func(s *stage, arg string) {
		line, err := s.Ask(worker.AskFor{Prompt: arg})
		s.value = fmt.Appendf(nil, "%s %v", line, err)
	},
	"scan": func(s *stage, arg string) {
		var a, b string
		_, err := fmt.Fscan(s.Stdin, &a, &b)
		s.value = fmt.Appendf(nil, "%s %s %v", a, b, err)
	},
	// How it does not end.
	"sleep": func(*stage, string) { time.Sleep(time.Hour) },
	"busy": func(*stage, string) {
		for n := 0; ; {
			n++
		}
	},
	"wait": func(s *stage, _ string) { <-s.ctx.Done(); s.value = []byte("interrupted") },
	// How it ends too early.
	"fail": func(s *stage, arg string) { s.fail = &rendezvous.Failure{Kind: rendezvous.FailureError, Message: arg} },
	"panic": func(s *stage, arg string) {
		s.fail = &rendezvous.Failure{
			Kind: rendezvous.FailurePanic, Message: arg,
			Stack: []rendezvous.Frame{{Func: "f", File: "cell[7]", Line: 3, Column: 5}, {Func: "main", File: "cell[7]", Line: 9}},
		}
	},
	"exit":     func(_ *stage, arg string) { os.Exit(number(arg)) },
	"kill":     func(*stage, string) { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); time.Sleep(time.Hour) },
	"crash":    func(_ *stage, arg string) { go panic(arg); time.Sleep(time.Hour) },
	"overflow": func(*stage, string) { fmt.Println(deep(1)) },
	"memory": func(*stage, string) {
		_ = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 2 << 30, Max: 2 << 30})
		for all := [][]byte{}; ; {
			all = append(all, make([]byte, 64<<20))
		}
	},
	"unpipe": func(*stage, string) {
		for fd := 3; fd <= 4; fd++ {
			_ = syscall.Close(fd)
		}
		time.Sleep(time.Hour)
	},
	// A process of its own that stays in the group.
	"spawn": func(s *stage, _ string) {
		cmd := exec.Command("sleep", "3600")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			s.fail = &rendezvous.Failure{Kind: rendezvous.FailureError, Message: err.Error()}
			return
		}
		fmt.Println("spawned", cmd.Process.Pid)
	},
}

func deep(n int) int {
	if n < 0 {
		return 0
	}
	return deep(n+1) + n
}

func number(arg string) int {
	n, err := strconv.Atoi(strings.ReplaceAll(arg, "_", ""))
	if err != nil {
		panic(err)
	}
	return n
}

// perform does the acts of a program.
func perform(s *stage, program string) {
	for act := range strings.SplitSeq(program, ";") {
		act = strings.TrimSpace(act)
		if rank, rest, ok := strings.Cut(act, ": "); ok {
			if n, err := strconv.Atoi(rank); err == nil {
				if n != s.Slot.Rank {
					continue
				}
				act = rest
			}
		}
		if act == "" {
			continue
		}
		name, arg, _ := strings.Cut(act, " ")
		do := acts[name]
		if do == nil {
			s.fail = &rendezvous.Failure{Kind: rendezvous.FailureError, Message: "no such act: " + name}
		} else {
			do(s, arg)
		}
		if s.fail != nil {
			return
		}
	}
}

// Program does the acts of a program. Unless it begins with "unready" it calls Ready before.
func (Engine) Program(ctx context.Context, program []byte, around worker.Surroundings) ([]byte, *rendezvous.Failure) {
	s := &stage{Surroundings: around, ctx: ctx}
	text, unready := strings.CutPrefix(string(program), "unready;")
	if !unready {
		s.Ready()
	}
	perform(s, text)
	return s.value, s.fail
}

// Session makes a session whose units are acts.
func (Engine) Session(around worker.Surroundings) (worker.Evaluator, error) {
	if os.Getenv("WORKERTEST_REFUSE") != "" {
		return nil, errors.New("asked to refuse")
	}
	return &evaluator{around: around, values: map[string][]byte{}}, nil
}

type evaluator struct {
	around worker.Surroundings
	values map[string][]byte
}

// Eval does the acts of a unit and gives their value.
func (e *evaluator) Eval(ctx context.Context, unit []byte) ([]byte, error) {
	s := &stage{Surroundings: e.around, ctx: ctx}
	perform(s, string(unit))
	if s.fail != nil {
		return nil, errors.New(s.fail.Message)
	}
	return s.value, nil
}

// Encode gives what was bound.
func (e *evaluator) Encode(_ context.Context, names []string) ([][]byte, error) {
	var values [][]byte
	for _, name := range names {
		v, ok := e.values[name]
		if !ok {
			return nil, fmt.Errorf("undefined: %s", name)
		}
		values = append(values, v)
	}
	return values, nil
}

// Bind keeps the parts, one behind the other.
func (e *evaluator) Bind(_ context.Context, name string, parts [][]byte) error {
	e.values[name] = bytes.Join(parts, nil)
	return nil
}
