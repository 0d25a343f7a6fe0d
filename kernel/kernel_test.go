package kernel_test

import (
	"strings"
	"testing"

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

func TestRun(t *testing.T) {
	nb := start(t, kernel.Config{})
	nb.ok("base := 100")
	c := nb.ok("%%run -np 3 -o got\nfmt.Println(`hello`)\nbase + hvd.Rank()")
	if c.result != "[0] 100\n[1] 101\n[2] 102" || strings.Count(c.stdout, "hello\n") != 3 {
		t.Errorf("%s", c)
	}
	nb.shows("got", "[100 101 102]")
}
