package child

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be the processes that the tests start.
func TestMain(m *testing.M) {
	if act := os.Getenv("CHILD_TEST_ACT"); act != "" {
		acts[act]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var acts = map[string]func(){
	"order": func() {
		for i := range 200 {
			fmt.Fprintf(os.Stdout, "line %d\n", i)
			os.NewFile(4, "events").Write([]byte{1})
			io.ReadFull(os.NewFile(3, "control"), make([]byte, 1))
		}
	},
	"flood": func() {
		block := bytes.Repeat([]byte("x"), 1<<20)
		for range 10 {
			os.Stdout.Write(block)
			os.Stderr.Write(block)
		}
		os.Stdout.WriteString("end")
	},
	"overflow": func() { var f func(int) int; f = func(n int) int { return f(n+1) + 1 }; fmt.Println(f(0)) },
	"panic":    func() { go func() { panic("in a goroutine") }(); time.Sleep(time.Hour) },
	"maps": func() {
		m := map[int]int{}
		for range 4 {
			go func() {
				for i := range 1 << 30 {
					m[i%8] = i
				}
			}()
		}
		time.Sleep(time.Hour)
	},
	"memory": func() {
		limit := syscall.Rlimit{Cur: 2 << 30, Max: 2 << 30}
		syscall.Setrlimit(syscall.RLIMIT_AS, &limit)
		for all := [][]byte{}; ; runtime.KeepAlive(all) {
			all = append(all, make([]byte, 64<<20))
		}
	},
	"exit3": func() { fmt.Fprintln(os.Stderr, "bad input: x"); os.Exit(3) },
	"quiet": func() {},
	"forever": func() {
		fmt.Println("ready")
		time.Sleep(time.Hour)
	},
	"grandchild": func() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CHILD_TEST_ACT=forever")
		cmd.Stdout = os.Stdout // keeps the pipe open when its parent is gone
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
	},
	// A parent that starts a child in a goroutine whose thread ends with it, and then stays.
	"thread": func() {
		started := make(chan *Child)
		go func() {
			// The thread of a goroutine that ends while locked to it ends too.
			runtime.LockOSThread()
			c, err := Start(spec("forever"))
			if err != nil {
				panic(err)
			}
			started <- c
		}()
		c := <-started
		first := make(chan struct{})
		var once sync.Once
		c.Listen(func(Stream, []byte) { once.Do(func() { close(first) }) })
		<-first
		select {
		case <-c.Done():
			fmt.Println("died with the thread")
		case <-time.After(300 * time.Millisecond): // the absence of an event has no event
			fmt.Println("lives")
		}
		c.KillGroup()
		c.Wait()
	},
}

func spec(act string) Spec {
	return Spec{Path: os.Args[0], Talk: true, Env: append(os.Environ(), "CHILD_TEST_ACT="+act)}
}

func start(t *testing.T, act string) *Child {
	t.Helper()
	c, err := Start(spec(act))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDrainPutsOutputBeforeTheMessage(t *testing.T) {
	c := start(t, "order")
	var got bytes.Buffer
	c.Listen(func(_ Stream, p []byte) { got.Write(p) })
	mark := make([]byte, 1)
	for i := range 200 {
		if _, err := io.ReadFull(c.Events, mark); err != nil {
			t.Fatal(err)
		}
		c.Drain()
		c.mu.Lock()
		if want := fmt.Sprintf("line %d\n", i); !bytes.HasSuffix(got.Bytes(), []byte(want)) {
			t.Errorf("after message %d the output ends in %q", i, got.Bytes()[max(0, got.Len()-10):])
		}
		c.mu.Unlock()
		c.Control.Write(mark)
	}
	if e := c.Wait(); e.Code != 0 || e.Signal != "" {
		t.Errorf("%+v", e)
	}
	c.Events.Close()
}

func TestAllOutputArrives(t *testing.T) {
	c := start(t, "flood")
	var n [2]int
	var end []byte
	c.Listen(func(s Stream, p []byte) {
		n[s] += len(p)
		if s == Stdout {
			end = append(end[:0], p[max(0, len(p)-3):]...)
		}
	})
	c.Wait()
	c.Events.Close()
	if n[Stdout] != 10<<20+3 || n[Stderr] != 10<<20 || string(end) != "end" {
		t.Errorf("got %d bytes of stdout, ending in %q, and %d of stderr", n[Stdout], end, n[Stderr])
	}
}

func TestHowItEnded(t *testing.T) {
	for _, tc := range []struct {
		act   string
		kill  bool
		wants []string
		code  int
		tail  string
	}{
		{act: "quiet", wants: []string{"exited with code 0"}},
		{act: "exit3", wants: []string{"exited with code 3"}, code: 3, tail: "bad input: x"},
		{act: "overflow", wants: []string{"crashed with exit code 2", "fatal error: stack overflow"}, code: 2},
		{act: "panic", wants: []string{"crashed with exit code 2", "panic: in a goroutine"}, code: 2},
		{act: "maps", wants: []string{"crashed with exit code 2", "fatal error: concurrent map writes"}, code: 2},
		{act: "memory", wants: []string{"ran out of memory", "raise the memory limit"}, code: 2},
		{act: "forever", kill: true, wants: []string{"killed by SIGKILL", "dmesg"}},
	} {
		t.Run(tc.act, func(t *testing.T) {
			t.Parallel()
			if raceDetector && tc.act == "memory" {
				t.Skip("the race detector needs more address space than the test's limit")
			}
			c := start(t, tc.act)
			ready := make(chan struct{})
			var once sync.Once
			c.Listen(func(Stream, []byte) { once.Do(func() { close(ready) }) })
			if tc.kill {
				<-ready
				c.Signal(syscall.SIGKILL)
			}
			e := c.Wait()
			c.Events.Close()
			for _, want := range tc.wants {
				if !strings.Contains(e.String(), want) {
					t.Errorf("got %q; want %q in it (report: %s)", e, want, e.Fatal)
				}
			}
			if e.Code != tc.code || !strings.Contains(e.Tail, tc.tail) {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestItsGroupEndsWithIt(t *testing.T) {
	c := start(t, "grandchild")
	var out bytes.Buffer
	c.Listen(func(_ Stream, p []byte) { out.Write(p) })
	c.Wait() // although the grandchild holds the pipe open
	c.Events.Close()
	line, _, _ := strings.Cut(out.String(), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); alive(pid); {
		if time.Now().After(deadline) {
			t.Fatal("the grandchild lives on")
		}
	}
}

// alive says whether the process runs; one that is dead but not yet waited for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func TestAChildOutlivesTheThreadOfItsCaller(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CHILD_TEST_ACT=thread")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil || string(out) != "lives\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestStartNamesWhatItCouldNotStart(t *testing.T) {
	before := openFiles(t)
	_, err := Start(Spec{Path: "/no/such/program"})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("got %v", err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files were open before and %d after", before, after)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

func TestLastWords(t *testing.T) {
	for _, tc := range []struct{ name, in, fatal, tail string }{
		{name: "nothing"},
		{name: "plain", in: "a\nb\n", tail: "a\nb"},
		{name: "no newline", in: "panic: x", fatal: "panic: x", tail: "panic: x"},
		{
			name:  "the runtime explains before it names",
			in:    "runtime: goroutine stack exceeds 1000000000-byte limit\nruntime: sp=0x1\nfatal error: stack overflow\n\ngoroutine 1",
			fatal: "fatal error: stack overflow\nruntime: goroutine stack exceeds 1000000000-byte limit\nruntime: sp=0x1\n\ngoroutine 1",
			tail:  "runtime: goroutine stack exceeds 1000000000-byte limit\nruntime: sp=0x1\nfatal error: stack overflow\n\ngoroutine 1",
		},
		{name: "not UTF-8", in: "\xff\n", tail: "\uFFFD"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var whole, byByte lastWords
			whole.write([]byte(tc.in))
			whole.report([]byte(tc.in))
			for i := range len(tc.in) {
				byByte.write([]byte(tc.in[i : i+1]))
				byByte.report([]byte(tc.in[i : i+1]))
			}
			for name, w := range map[string]*lastWords{"whole": &whole, "by byte": &byByte} {
				if tail, fatal := w.tail(), w.fatal(); fatal != tc.fatal || tail != tc.tail {
					t.Errorf("%s: got %q and %q", name, fatal, tail)
				}
			}
		})
	}
}

func FuzzLastWords(f *testing.F) {
	f.Add([]byte("panic: a\n\nfatal error: b\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var w lastWords
		for range 2 {
			w.write(in)
			w.report(in)
		}
		if n := len(w.tail()); n > 3*tailBytes {
			t.Errorf("the tail has %d bytes", n)
		}
		if n := len(w.fatal()); n > 9*fatalBytes {
			t.Errorf("the report has %d bytes", n)
		}
	})
}
