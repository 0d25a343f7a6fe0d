package interp

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// session is a notebook and its evaluator in one process.
type session struct {
	t  *testing.T
	n  *Notebook
	e  *Evaluator
	no int
}

func newSession(t *testing.T) *session {
	t.Helper()
	e, err := NewEvaluator(EvaluatorConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return &session{t: t, n: NewNotebook(), e: e}
}

// eval does what the kernel and the session process do with a cell, and gives what a reader would see of it: warnings,
// output, value or error.
func (s *session) eval(text string) string {
	s.no++
	cell, err := s.n.Check("cell["+itoa(s.no)+"]", text)
	if err != nil {
		return "error: " + err.Error()
	}
	var out strings.Builder
	for _, w := range cell.Warnings {
		out.WriteString("warning: " + w + "\n")
	}
	data, err := cell.Unit.Marshal()
	if err != nil {
		s.t.Fatal(err)
	}
	u, err := UnmarshalUnit(data)
	if err != nil {
		s.t.Fatal(err)
	}
	var o *Outcome
	out.WriteString(capture(s.t, func() { o = s.e.Eval(context.Background(), u) }))
	if o.Failure == nil || o.Failure.Kind != Refused {
		cell.Commit()
	}
	if testing.Verbose() && os.Getenv("GOROVOD_SHOW_UNITS") != "" {
		s.t.Logf("unit:\n%s", u.Source)
	}
	if o.Failure != nil {
		out.WriteString("error: " + o.Failure.Error() + "\n")
	}
	if text, ok := o.Bundle["text/plain"].(string); ok {
		out.WriteString("=> " + text + "\n")
	}
	for mime, v := range o.Bundle {
		if mime != "text/plain" {
			out.WriteString(mime + ": " + plainText([]any{v}) + "\n")
		}
	}
	return out.String()
}

// capture gives what f writes to the standard streams.
func capture(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = w, w
	done := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		done <- string(b)
	}()
	f()
	os.Stdout, os.Stderr = stdout, stderr
	w.Close()
	return <-done
}

// startsGoroutine matches cells whose code runs in several goroutines.
var startsGoroutine = regexp.MustCompile(`\bgo (func|\w+[.(\[])|\.Go\(|AfterFunc|http\.|iter\.Pull`)

// TestCells runs notebooks written in testdata/cells: cells parted by lines of three dashes, in each cell the comment
// lines at the end that start by //> say what a reader sees, in order. A line `//> ...` ends the comparison.
func TestCells(t *testing.T) {
	files, err := filepath.Glob("testdata/cells/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cells: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, book := range strings.Split(string(data), "\n======\n") {
			title, _, _ := strings.Cut(strings.TrimPrefix(book, "# "), "\n")
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+title, func(t *testing.T) {
				if raceDetector && startsGoroutine.MatchString(book) {
					t.Skip("what yaegi's goroutines share of its frames is a race by its design")
				}
				s := newSession(t)
				for _, cell := range strings.Split(strings.TrimPrefix(book, "# "+title+"\n"), "\n---\n") {
					code, want := expectation(cell)
					got := strings.TrimRight(s.eval(code), "\n")
					if !matches(got, want) {
						t.Errorf("cell %d:\n%s\n--- got\n%s\n--- want\n%s", s.no, code, got, want)
					}
				}
			})
		}
	}
}

func expectation(cell string) (code, want string) {
	var c, w []string
	for _, line := range strings.Split(strings.TrimRight(cell, "\n"), "\n") {
		if rest, ok := strings.CutPrefix(line, "//>"); ok {
			w = append(w, strings.TrimPrefix(rest, " "))
		} else {
			c = append(c, line)
		}
	}
	return strings.Join(c, "\n"), strings.Join(w, "\n")
}

func matches(got, want string) bool {
	if head, ok := strings.CutSuffix(want, "..."); ok {
		return strings.HasPrefix(got, head)
	}
	return got == want
}
