package interp

import (
	"context"
	"testing"
	"time"
)

// TestStop stops code where it can be stopped, and sees that what earlier cells made still works afterwards.
func TestStop(t *testing.T) {
	if raceDetector {
		t.Skip("yaegi lets its global frame grow while goroutines read it, which does no harm but is a race")
	}
	for name, code := range map[string]string{
		"busy loop": "for { n++ }",
		"sleep":     "time.Sleep(time.Hour)",
		"channel":   "<-make(chan int)",
		"select":    "select {}",
		"recursion": "var f func(int) int\nf = func(i int) int { if i == 0 { return 0 }; return f(i-1) + f(i-1) }\nf(60)",
		"range":     "for range make(chan int) { }",
		"mutex":     "var mu sync.Mutex\nmu.Lock()\nmu.Lock()",
		"wait":      "var wg sync.WaitGroup\nwg.Add(1)\nwg.Wait()",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			s.eval("n := 0\nadd := func(i int) int { return i + 1 }\nfunc twice(i int) int { return add(add(i)) }\nch := make(chan int)\ngo func() { for v := range ch { ch <- v * 2 } }()")
			cell, err := s.n.Check("cell[2]", code)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			timer := time.AfterFunc(100*time.Millisecond, cancel)
			defer timer.Stop()
			o := s.e.Eval(ctx, cell.Unit)
			cell.Commit()
			if o.Failure == nil || o.Failure.Kind != Interrupted {
				t.Fatalf("failure %v, want an interrupt", o.Failure)
			}
			if o.Stuck {
				t.Error("the code is called stuck")
			}
			if got := s.eval("twice(40)"); got != "=> 42\n" {
				t.Errorf("a closure of an earlier cell gives %q", got)
			}
			if got := s.eval("x := 0\nfor i := 0; i < 10; i++ { x += i }\nx"); got != "=> 45\n" {
				t.Errorf("the next cell gives %q", got)
			}
		})
	}
}

// TestStuck sees that code which nothing can stop is told from code that waits.
func TestStuck(t *testing.T) {
	s := newSession(t)
	s.eval("a := make([]int, 3_000_000)\nfor i := 0; i < len(a); i++ { a[i] = (i * 7919) % 3_000_000 }")
	cell, err := s.n.Check("cell[2]", "sort.Slice(a, func(i, j int) bool { return a[i] < a[j] })")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	o := s.e.Eval(ctx, cell.Unit)
	if o.Failure == nil || o.Failure.Kind != Interrupted || !o.Stuck {
		t.Errorf("got failure %v, stuck %v", o.Failure, o.Stuck)
	}
}
