package interp

import (
	"context"
	"os"
	"strings"
	"testing"
)

// runOn does what the kernel does with a cell under %%run, with evaluators of this process as the ranks, and binds the
// values to a name if there is one.
func (s *session) runOn(ranks int, text, bind string) string {
	s.t.Helper()
	s.no++
	plan, err := s.n.Plan("cell["+itoa(s.no)+"]", text)
	if err != nil {
		return "error: " + err.Error()
	}
	values, err := s.e.Encode(plan.Captures())
	if err != nil {
		return "error: " + err.Error()
	}
	prog, err := plan.Program(values)
	if err != nil {
		s.t.Fatal(err)
	}
	data, err := prog.Marshal()
	if err != nil {
		s.t.Fatal(err)
	}
	var out strings.Builder
	var parts [][]byte
	for range ranks {
		p, err := UnmarshalProgram(data)
		if err != nil {
			s.t.Fatal(err)
		}
		e, err := NewEvaluator(EvaluatorConfig{})
		if err != nil {
			s.t.Fatal(err)
		}
		var o *Outcome
		out.WriteString(capture(s.t, func() { o = e.Run(context.Background(), p, nil) }))
		if testing.Verbose() && os.Getenv("GOROVOD_SHOW_UNITS") != "" {
			s.t.Logf("program:\n%s", p.Unit.Source)
		}
		if o.Failure != nil {
			return out.String() + "error: " + o.Failure.Error()
		}
		if o.Bundle != nil {
			out.WriteString("=> " + o.Bundle["text/plain"].(string) + "\n")
		}
		parts = append(parts, o.Result)
	}
	if bind == "" {
		return out.String()
	}
	c, err := plan.Bind(bind)
	if err != nil {
		return out.String() + "error: " + err.Error()
	}
	if o := s.e.Eval(context.Background(), c.Unit); o.Failure != nil {
		return out.String() + "error: " + o.Failure.Error()
	}
	if err := s.e.Bind(bind, parts); err != nil {
		return out.String() + "error: " + err.Error()
	}
	c.Commit()
	return out.String()
}

func TestPlan(t *testing.T) {
	data, err := os.ReadFile("testdata/ranks.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, book := range strings.Split(string(data), "\n======\n") {
		title, rest, _ := strings.Cut(strings.TrimPrefix(book, "# "), "\n")
		t.Run(title, func(t *testing.T) {
			s := newSession(t)
			for _, cell := range strings.Split(rest, "\n---\n") {
				code, want := expectation(cell)
				var got string
				if args, body, ok := cutRun(code); ok {
					got = s.runOn(2, body, args)
				} else {
					got = s.eval(code)
				}
				if got = strings.TrimRight(got, "\n"); !matches(got, want) {
					t.Errorf("cell %d:\n%s\n--- got\n%s\n--- want\n%s", s.no, code, got, want)
				}
			}
		})
	}
}

// cutRun takes the line `%%run NAME` off a cell.
func cutRun(code string) (name, body string, ok bool) {
	line, body, _ := strings.Cut(code, "\n")
	name, ok = strings.CutPrefix(line, "%%run")
	return strings.TrimSpace(name), "\n" + body, ok
}
