package kernel_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorovod/gorovod/kernel"
)

func TestRun(t *testing.T) {
	nb := start(t, kernel.Config{})
	nb.ok("base := 100\ntype pair struct{ A, b int }\nfunc mk(r int) pair { return pair{base + r, r} }")
	c := nb.ok("%%run -np 3 -o got\nfmt.Println(`hello`)\nmk(hvd.Rank())")
	if c.result != "[0] {100 0}\n[1] {101 1}\n[2] {102 2}" || strings.Count(c.stdout, "hello\n") != 3 {
		t.Errorf("%s", c)
	}
	nb.shows("got[2].A + got[1].b", "103")
	if c := nb.ok("%%run -np 2\nx := 1\nx++"); c.results != nil {
		t.Errorf("%s", c)
	}
	// A value that is bound is shown shortened; the rest is in the variable.
	c = nb.ok("%run -o long strings.Repeat(`é`, 300)")
	if want := "[0] " + strings.Repeat("é", 199) + "…"; c.result != want {
		t.Errorf("%s", c)
	}
	nb.shows("len(long[0])", "600")
	if c := nb.ok("%run \"a\\nb\\n\""); c.result != "[0] a\n    b" {
		t.Errorf("%s", c)
	}
	// All ranks' values are shown, whatever is shown of their output.
	c = nb.ok("%%run -np 2 --output root\nfmt.Println(`from`, hvd.Rank())\nhvd.Rank()")
	if c.stdout != "from 0\n" || c.result != "[0] 0\n[1] 1" {
		t.Errorf("%s", c)
	}
	if c := nb.ok("%run -np 2 hvd.Rank()\n%run -o z 7\nz"); c.result != "[7]" || len(c.displays) != 4 {
		t.Errorf("%s", c)
	}
}

func TestRunOptions(t *testing.T) {
	dir := t.TempDir()
	nb := start(t, kernel.Config{Dir: dir})
	marker := filepath.Join(dir, "started")
	c := nb.ok(fmt.Sprintf("%%%%run -np 3 --dry-run\nos.WriteFile(%q, nil, 0o600)\n1", marker))
	if !strings.Contains(c.stdout, "nothing was started") || c.displays != nil || c.results != nil {
		t.Errorf("%s", c)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a dry run started something")
	}
	nb.ok("%%run --output-filename logs\nfmt.Println(`kept`)")
	if text, err := os.ReadFile(filepath.Join(dir, "logs/rank.0/stdout")); err != nil || string(text) != "kept\n" {
		t.Errorf("got %q, %v", text, err)
	}
	nb.ok("bulky := make([]float64, 9<<20)")
	if c := nb.ok("%run len(bulky)"); !strings.Contains(c.stderr, "the variable bulky is large: 72.0 MiB go to each rank") {
		t.Errorf("%s", c)
	}
	nb.fails("%%run -o 9x\n1", "9x")
	nb.fails("%%run -o x\nfunc f() {}", "-o x", "gives no value")
	nb.fails("%%run --nope\n1", "UsageError: cell[", ":1: ", "--nope", "-np", "--output-filename", "-o")
	nb.fails("%%run --env NOT_SET_ANYWHERE\n1", "UsageError", "NOT_SET_ANYWHERE")
	if c := nb.ok("%%run --help"); !strings.Contains(c.stdout, "-np, --num-proc N") {
		t.Errorf("%s", c)
	}
}

func TestTheDisplayOfARun(t *testing.T) {
	nb := start(t, kernel.Config{})
	c := nb.begin("%%run -np 2\nfmt.Println(`last <words>`)\nselect {}", nil)
	c.until("a display with both lines", func() bool {
		return len(c.updates) > 0 && strings.Count(c.updates[len(c.updates)-1]["text/plain"].(string), "last <words>") == 2
	})
	last := c.updates[len(c.updates)-1]
	for _, want := range []string{"rank  host", "running", "last line"} {
		if text := last["text/plain"].(string); !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if page := last["text/html"].(string); !strings.Contains(page, "last &lt;words&gt;</code>") || strings.Contains(page, "<words>") {
		t.Errorf("got %s", page)
	}
	nb.ask("control", "interrupt_request", map[string]any{})
	c.finish().failed("Interrupted", "had not finished")
	if len(c.displays) != 1 {
		t.Errorf("%d displays", len(c.displays))
	}
	text := c.updates[len(c.updates)-1]["text/plain"].(string)
	if !strings.HasPrefix(text, "2 ranks on 1 host, ended by an error after ") || strings.Contains(text, "\n") {
		t.Errorf("got %q", text)
	}
	c = nb.ok("%run hvd.Rank()")
	if text := c.updates[len(c.updates)-1]["text/plain"].(string); !strings.HasPrefix(text, "1 rank on 1 host, ") || strings.Contains(text, "error") {
		t.Errorf("got %q", text)
	}
}

func TestWhatRanksDisplay(t *testing.T) {
	nb := start(t, kernel.Config{})
	c := nb.ok("%%run -np 2 --output group\nDisplay(display.WithID(`same`, display.HTML(fmt.Sprint(`<b>`, hvd.Rank()))))\ndisplay.Clear(false)\n" +
		"display.Update(`same`, display.HTML(fmt.Sprint(`<i>`, hvd.Rank())))\ndisplay.SVG(fmt.Sprint(`<svg>`, hvd.Rank()))")
	var pages []string
	for _, d := range c.updates {
		page := d["text/html"].(string)
		if strings.HasPrefix(page, "<b>") || strings.HasPrefix(page, "<i>") || strings.Contains(page, ">rank ") && !strings.Contains(page, "host") {
			pages = append(pages, page)
		}
	}
	want := []string{`<small style="opacity: 0.7">rank 0</small>`, "<b>0", "<i>0", `<small style="opacity: 0.7">rank 1</small>`, "<b>1", "<i>1"}
	if strings.Join(pages, " ") != strings.Join(want, " ") {
		t.Errorf("got %q", pages)
	}
	if strings.Count(c.stderr, "display.Clear does nothing in a run") != 1 {
		t.Errorf("%s", c)
	}
	page, _ := c.results[0]["text/html"].(string)
	if !strings.Contains(page, "<th>0</th><td style=\"text-align: left\"><svg>0</td>") || !strings.Contains(page, "<svg>1") {
		t.Errorf("%s", c)
	}
}

func TestRunsThatFail(t *testing.T) {
	nb := start(t, kernel.Config{})
	nb.ok("pipe := make(chan int)\ntype ring struct{ next *ring }\nloop := &ring{}\nloop.next = loop\nfunc up() {\n\tpanic(`given up`)\n}")
	nb.fails("%%run\nlen(pipe)", "CheckError: cell[2]:2:5", "pipe", "chan")
	nb.fails("%%run\nloop.next != nil", "loop", "cannot travel")
	nb.fails("%%run\nfmt.Println(`started`)\nvar n int = `x`", "cell[4]:3:13")
	c := nb.fails("%%run -np 4\nif hvd.Rank() == 2 {\n\tup()\n}\nselect {}",
		"RunError: rank 2 on ", "given up", "cell[1]:6", "panic(`given up`)", "cell[5]:3", "up()", "ranks 0, 1 and 3 were stopped")
	if strings.Contains(c.value, "\n") {
		t.Errorf("the error's line has more than one: %q", c.value)
	}
	nb.fails("%%run -np 2 --timeout 200ms\nselect {}", "TimeoutError: timeout: ranks 0 and 1 of 2")
	nb.fails("%run -o never panic(`no`)", "-o never", "gives no value")
	nb.fails("%run -np 2 -o never func() int { panic(`no`) }()", "RunError")
	nb.fails("never", "undefined: never")
}

func TestAKernelThatEndsEndsItsRun(t *testing.T) {
	nb := start(t, kernel.Config{})
	c := nb.begin("%%run -np 2\nfmt.Println(`pid`, os.Getpid())\nselect {}", nil)
	c.until("both ranks", func() bool { return strings.Count(c.stdout, "pid") == 2 })
	nb.end()
	for line := range strings.Lines(c.stdout) {
		var rank, pid int
		if _, err := fmt.Sscanf(line, "[%d] pid %d", &rank, &pid); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		waitGone(t, pid)
	}
}
