package kernel_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorovod/gorovod/kernel"
)

func TestCells(t *testing.T) {
	nb := start(t, kernel.Config{})
	nb.shows("6 * 7", "42")
	nb.shows("x := 20\nfunc add(n int) int { return x + n }\nadd(1)", "21")
	if c := nb.ok(`fmt.Println("out"); fmt.Fprintln(os.Stderr, "err")`); c.stdout != "out\n" || c.stderr != "err\n" || c.results != nil {
		t.Errorf("%s", c)
	}
	c := nb.fails("var a int = \"x\"\nnope()", "cell[4]:1:13", "cell[4]:2:1: undefined: nope", "(and 1 more error)")
	if strings.Count(c.failure, "^") != 2 {
		t.Errorf("%s", c)
	}
	nb.fails("before := 42\nfunc fill(m map[string]int) {\n\tm[`x`] = 1\n}\nfill(nil)",
		"Panic: panic: assignment to entry in nil map", "cell[5]:3", "in fill", "m[`x`] = 1", "cell[5]:5", "fill(nil)")
	nb.shows("before", "42")
}

func TestSpecialLines(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"inner/deeper", "outer"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(dir, "outer"))
	nb := start(t, kernel.Config{Dir: dir})
	where := func(want string) {
		t.Helper()
		nb.shows("here, _ := os.Getwd()\nhere", filepath.Join(dir, want))
		if c := nb.ok("$ pwd"); c.stdout != filepath.Join(dir, want)+"\n" {
			t.Errorf("%s", c)
		}
	}
	where("")
	nb.ok("%cd inner\n%cd deeper")
	where("inner/deeper")
	nb.ok("%run -o places filepath.Base(func() string { d, _ := os.Getwd(); return d }())")
	nb.shows("places[0]", "deeper")
	nb.ok("os.Chdir(`..`)") // what the code does counts too
	where("inner")
	nb.ok("%cd")
	where("outer")
	nb.ok("%cd ~/../inner")
	where("inner")
	nb.fails("%cd no-such", "%cd", "no-such")
	nb.fails("x := os // %cd\n%cd y", "cell[", "stand at the top")
	nb.fails("%cd /\n%bogus", "%bogus", ":2: ")
	where("inner") // a mistake in a later line costs nothing
	if c := nb.ok("%help"); !strings.Contains(c.stdout, "%%run [flags]") {
		t.Errorf("%s", c)
	}
	if c := nb.ok("%go111module off\n1"); c.result != "1" || c.stderr == "" {
		t.Errorf("%s", c)
	}
	nb.fails("$ false", "exit status 1")
	nb.fails("$ no-such-command", "no-such-command")
	if c := nb.ok("$ sh -c 'echo out; echo err >&2'"); c.stdout != "out\n" || c.stderr != "err\n" {
		t.Errorf("%s", c)
	}
	nb.fails("%help\n\nwrong()", "cell[", ":3:1: undefined: wrong")
}

func TestACommandIsInterrupted(t *testing.T) {
	nb := start(t, kernel.Config{})
	c := nb.begin("$ sh -c 'echo up; sleep 3600'", nil)
	c.until("output", func() bool { return c.stdout != "" })
	nb.ask("control", "interrupt_request", map[string]any{})
	c.finish().failed("Interrupted: interrupted")
	nb.shows("1", "1")
}

func TestTheDeathOfTheSession(t *testing.T) {
	nb := start(t, kernel.Config{Dir: t.TempDir()})
	nb.ok("%cd /\nfunc stays() int { return 11 }\nlost := 1\nconst c = 5")
	nb.fails("syscall.Kill(os.Getpid(), syscall.SIGKILL)\nselect {}", "SessionLost: the session was killed by SIGKILL", "This variable was lost: lost")
	nb.shows("stays() + c", "16")
	nb.shows("d, _ := os.Getwd()\nd", "/")
	nb.fails("lost", "undefined: lost")

	// It dies while nothing runs, which the next cell tells.
	pid := nb.ok("kept := 2\nos.Getpid()").result
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitGone(t, n)
	c := nb.ok("%run -np 2 hvd.Rank() + stays()\nstays()")
	if c.result != "11" || !strings.Contains(c.stderr, "Meanwhile, the session was killed by SIGKILL") || !strings.Contains(c.stderr, "kept") {
		t.Errorf("%s", c)
	}
	if got := c.displays[len(c.displays)-1]["text/plain"]; got != "[0] 11\n[1] 12" {
		t.Errorf("%s", c)
	}
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); syscall.Kill(pid, 0) == nil; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("process %d does not go", pid)
		}
	}
}

func TestInterrupt(t *testing.T) {
	nb := start(t, kernel.Config{})
	nb.ok("kept := 3\nfunc f() int { return 4 }")
	for _, code := range []string{
		"for {\n}", "time.Sleep(time.Hour)", "<-make(chan int)", "%run -np 3 func() int { fmt.Println(`on`); select {} }()",
		"numbers := rand.Perm(10_000_000)\nfmt.Println(`on`)\nsort.Slice(numbers, func(a, b int) bool { return numbers[a] < numbers[b] })",
	} {
		if !strings.Contains(code, "`on`") {
			code = "fmt.Println(`on`)\n" + code
		}
		c := nb.begin(code, nil)
		c.until("output", func() bool { return strings.Contains(c.stdout, "on\n") })
		nb.ask("control", "interrupt_request", map[string]any{})
		c.finish().failed("Interrupted: ", "interrupted")
		nb.shows("f()", "4")
		if c := nb.begin("kept", nil).finish(); c.reply["status"] != "ok" && !strings.Contains(code, "sort") {
			t.Errorf("%s\nlost its variable after %s", c, code)
		}
	}
}

func TestInput(t *testing.T) {
	nb := start(t, kernel.Config{})
	nb.answers = []string{"Ada 36"}
	if c := nb.ok("var name string\nvar age int\nfmt.Scanln(&name, &age)\nfmt.Println(age, name)"); c.stdout != "36 Ada\n" {
		t.Errorf("%s", c)
	}
	// Where nobody can be asked, input is at its end.
	nb.shows("var s string\nn, err := fmt.Scanln(&s)\nfmt.Sprint(n, err == io.EOF, bufio.NewScanner(os.Stdin).Scan())", "0 true false")
}

func TestRequests(t *testing.T) {
	nb := start(t, kernel.Config{Version: "v1"})
	info := nb.ask("shell", "kernel_info_request", map[string]any{})
	if info["implementation"] != "gorovod" || info["implementation_version"] != "v1" {
		t.Errorf("got %v", info)
	}
	// Silent cells and those without a number.
	if c := nb.begin("quiet := 1\nfmt.Println(quiet)\nquiet", map[string]any{"silent": true}).finish(); c.stdout != "" || c.results != nil {
		t.Errorf("%s", c)
	}
	nb.begin("wrong()", map[string]any{"store_history": false}).finish().failed("unnumbered[2]:1:1: undefined: wrong")
	c := nb.begin("quiet + 1", map[string]any{"user_expressions": map[string]any{"a": "quiet + 2", "b": "nope", "c": "var x int"}}).finish()
	values := c.reply["user_expressions"].(map[string]any)
	status := func(key string) (string, string) {
		v := values[key].(map[string]any)
		if data, ok := v["data"].(map[string]any); ok {
			return v["status"].(string), data["text/plain"].(string)
		}
		return v["status"].(string), v["evalue"].(string)
	}
	for key, want := range map[string][2]string{
		"a": {"ok", "3"}, "b": {"error", "expression b:1:1: undefined: nope"}, "c": {"error", `"var x int" has no value`},
	} {
		if s, text := status(key); s != want[0] || text != want[1] {
			t.Errorf("%s: got %s %q", key, s, text)
		}
	}
}

func TestHelpWhileTyping(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "some/where"), 0o755); err != nil {
		t.Fatal(err)
	}
	nb := start(t, kernel.Config{Dir: dir})
	nb.ok("planet := struct{ Mass int }{3}")
	for _, tc := range []struct{ code, want string }{
		{"%", "%%run %run %cd %help %go111module"},
		{"%%r", "%%run"},
		{"%%run -np 2 --ti", "--timeout"},
		{"%%run --output r", "root raw"},
		{"%cd so", "some/"},
		{"%cd some/", "some/where/"},
		{"%run -np 2 plane", "planet"},
		{"%cd x\n\"é🙂\"; planet.M", "Mass"},
	} {
		got := nb.ask("shell", "complete_request", map[string]any{"code": tc.code, "cursor_pos": len([]rune(tc.code))})
		var matches []string
		for _, m := range got["matches"].([]any) {
			matches = append(matches, m.(string))
		}
		if strings.Join(matches, " ") != tc.want {
			t.Errorf("%q: got %q", tc.code, matches)
		}
	}
	for code, want := range map[string]string{"%%run": "--output-filename", "%cd x": "home folder", "$ ls": "not in a shell", "?%run": "EXPR"} {
		got := nb.ask("shell", "inspect_request", map[string]any{"code": code, "cursor_pos": 2, "detail_level": 0})
		text, _ := got["data"].(map[string]any)["text/plain"].(string)
		if got["found"] != true || !strings.Contains(text, want) {
			t.Errorf("%q: got %v", code, got)
		}
	}
	nb.ok("// area gives the area of a rectangle.\nfunc area(w, h float64) float64 { return w * h }")
	c := nb.ok("area?\n?strings.Repeat\n%%run?")
	pages := fmt.Sprint(c.reply["payload"])
	for _, want := range []string{"area gives the area", "Repeat(s string, count int) string", "--num-proc", "source:page"} {
		if !strings.Contains(pages, want) {
			t.Errorf("no %q in %s", want, pages)
		}
	}
	nb.fails("noSuch?", "there is no noSuch in this notebook")
	for code, want := range map[string]string{
		"x := 1": "complete", "func f() {": "incomplete", "%cd x": "complete", "%%run -np 2": "incomplete", "%%run --help": "complete",
		"%%run\nf()": "complete", "a := )": "invalid", "%help\nif x {": "incomplete", "": "complete",
	} {
		if got := nb.ask("shell", "is_complete_request", map[string]any{"code": code}); got["status"] != want {
			t.Errorf("%q: got %v", code, got)
		}
	}
}
