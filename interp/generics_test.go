package interp

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/gorovod/gorovod/interp/internal/generic"
)

// TestGenericsOnRanks runs the cells on generics as ranks too: what is the value of a cell is its rank's.
func TestGenericsOnRanks(t *testing.T) {
	for _, topic := range []string{"generics", "genericstd", "results", "recursive"} {
		data, err := os.ReadFile("testdata/cells/" + topic + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, book := range strings.Split(string(data), "\n======\n") {
			title, _, _ := strings.Cut(strings.TrimPrefix(book, "# "), "\n")
			t.Run(topic+"/"+title, func(t *testing.T) {
				s := newSession(t)
				for _, cell := range strings.Split(strings.TrimPrefix(book, "# "+title+"\n"), "\n---\n") {
					code, want := expectation(cell)
					if strings.HasPrefix(want, "=> ") {
						if got := s.rank(code); got != "cannot" && got != want {
							t.Errorf("on a rank:\n%s\n--- got\n%s\n--- want\n%s", code, got, want)
						}
					}
					s.eval(code)
				}
			})
		}
	}
}

// rank runs a cell as a rank, with its captured values.
func (s *session) rank(code string) string {
	plan, err := s.n.Plan("cell", code)
	if err != nil {
		if strings.Contains(err.Error(), "cannot travel") {
			return "cannot"
		}
		return err.Error()
	}
	values, err := s.e.Encode(plan.Captures())
	if err != nil {
		return "cannot"
	}
	p, err := plan.Program(values)
	if err != nil {
		return err.Error()
	}
	data, err := p.Marshal()
	if err != nil {
		s.t.Fatal(err)
	}
	if p, err = UnmarshalProgram(data); err != nil {
		s.t.Fatal(err)
	}
	e, err := NewEvaluator(EvaluatorConfig{})
	if err != nil {
		s.t.Fatal(err)
	}
	o := e.Run(context.Background(), p, nil)
	if o.Failure != nil {
		return o.Failure.Error() + "\n" + p.Unit.Source
	}
	text, _ := o.Bundle["text/plain"].(string)
	return "=> " + text
}

// TestInstancesOnce tells that an instance is written once, and again only if what it is of has changed.
func TestInstancesOnce(t *testing.T) {
	s := newSession(t)
	count := func(code string) int {
		t.Helper()
		cell, err := s.n.Check("cell", code)
		if err != nil {
			t.Fatal(err)
		}
		if o := s.e.Eval(context.Background(), cell.Unit); o.Failure != nil {
			t.Fatal(o.Failure)
		}
		cell.Commit()
		return strings.Count(cell.Unit.Source, "func F")
	}
	for _, step := range []struct {
		code string
		n    int
	}{
		{"func k() int { return 1 }\nfunc F[T any](x T) int { return k() }", 0},
		{"F(1)", 1},
		{"F(2)", 0},
		{"F(2) + F(\"\") + F[string](\"\")", 1},
		{"func k() int { return 2 }", 0},
		{"F(1)", 1},
		{"F(1)", 0},
	} {
		if n := count(step.code); n != step.n {
			t.Errorf("%q: %d copies, want %d", step.code, n, step.n)
		}
	}
}

// TestLibrary parses all generic code of the standard library that has its source here.
func TestLibrary(t *testing.T) {
	s := newSession(t)
	for name := range generic.Source() {
		if d := s.n.preludeDecl(name); d == nil || d.node == nil {
			t.Errorf("%s is not there", decodeName(name))
		}
	}
}
