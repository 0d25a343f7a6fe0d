package conformance

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	tests := []struct {
		name   string
		o      outcome
		want   []byte
		is     verdict
		reason string
	}{
		{"status 0", outcome{stdout: []byte("anything\n")}, nil, right, ""},
		{"as the .out file says", outcome{stdout: []byte("1\n")}, []byte("1\n"), right, ""},
		{"on standard error", outcome{stderr: []byte("1\n")}, []byte("1\n"), right, ""},
		{"on both", outcome{stdout: []byte("1\n3\n"), stderr: []byte("2\n")}, []byte("1\n2\n3\n"), right, ""},
		{"on both, out of order", outcome{stdout: []byte("3\n1\n"), stderr: []byte("2\n")}, []byte("1\n2\n3\n"), wrong, `line 1 is "3\n"`},
		{"more on standard error", outcome{stdout: []byte("1\n"), stderr: []byte("2\n")}, []byte("1\n"), wrong, "more on standard error: 2"},
		{"empty .out file", outcome{stdout: []byte("1\n")}, []byte{}, wrong, "differs"},
		{"other output", outcome{stdout: []byte("1\n3\n")}, []byte("1\n2\n"), wrong, `line 2 is "3\n", not "2\n"`},
		{"no newline", outcome{stdout: []byte("1")}, []byte("1\n"), wrong, `line 1 is "1", not "1\n"`},
		{"too little output", outcome{stdout: []byte("1\n")}, []byte("1\n2\n"), wrong, `ends before line 2, "2\n"`},
		{"too much output", outcome{stdout: []byte("1\n2\n")}, []byte("1\n"), wrong, `line 2 is too many: "2\n"`},
		{"checked and refused", outcome{status: 2, stderr: []byte("x.go:1:2: no\n")}, nil, refused, "x.go:1:2: no"},
		{"refused by a rank", outcome{status: 1, stderr: []byte("rank 0 on h (pid 1) could not start: x.go:1:2: not supported by the interpreter: f\n")},
			nil, refused, "could not start"},
		{"the words of a refusal, printed", outcome{stderr: []byte("not supported by the interpreter\n")}, nil, right, ""},
		{"a program's own exit status 2", outcome{status: 1, stderr: []byte("log\nrank 0 on h (pid 1) exited with code 2\n")},
			nil, wrong, "exit status 1: rank 0 on h (pid 1) exited with code 2"},
		{"killed", outcome{status: -1}, nil, wrong, "exit status -1"},
		{"hang", outcome{status: 130, timedOut: true, time: 20 * time.Second}, nil, wrong, "not done after 20s"},
		{"hang with the right output", outcome{timedOut: true, stdout: []byte("1\n")}, []byte("1\n"), wrong, "not done"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			is, reason := judge(test.o, test.want)
			if is != test.is || !strings.Contains(reason, test.reason) {
				t.Errorf("judge gives %s, %q; want %s, …%s…", is, reason, test.is, test.reason)
			}
		})
	}
}

func TestFirstBytes(t *testing.T) {
	f := firstBytes{most: 5}
	for _, s := range []string{"abc", "def", "ghi"} {
		if n, err := f.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("Write(%q) = %d, %v; want all of it taken", s, n, err)
		}
	}
	if string(f.kept) != "abcde" {
		t.Errorf("kept %q, want the first 5 bytes", f.kept)
	}
}

func TestLists(t *testing.T) {
	programs, err := readPrograms(strings.NewReader("# about\n\nok\ta.go\nfail\td/b.go\n"))
	if want := []program{{"a.go", true}, {"d/b.go", false}}; err != nil || !slices.Equal(programs, want) {
		t.Errorf("readPrograms gives %v, %v; want %v", programs, err, want)
	}
	known, err := readShortfalls(strings.NewReader("# about\nwrong\ta.go\nrefused\td/b.go\n"))
	if want := (shortfalls{"a.go": wrong, "d/b.go": refused}); err != nil || !maps.Equal(known, want) {
		t.Errorf("readShortfalls gives %v, %v; want %v", known, err, want)
	}
	for _, text := range []string{"right\ta.go", "wrong\t", "wrong", "ok\ta.go", "wrong\ta.go\nrefused\ta.go"} {
		if known, err := readShortfalls(strings.NewReader(text)); err == nil {
			t.Errorf("readShortfalls(%q) = %v, want an error", text, known)
		}
	}
	for _, text := range []string{"right\ta.go", "ok\t", "ok a.go", "ok\ta.go\nok\ta.go"} {
		if programs, err := readPrograms(strings.NewReader(text)); err == nil {
			t.Errorf("readPrograms(%q) = %v, want an error", text, programs)
		}
	}
}

// TestShrink shows that the list of shortfalls only shrinks, and what counts as worse.
func TestShrink(t *testing.T) {
	programs := []program{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}, {name: "e"}}
	known := shortfalls{"a": wrong, "b": wrong, "c": refused, "d": refused}
	verdicts := map[string]verdict{"a": refused, "b": right, "c": wrong, "e": refused} // d was not run
	if got := known.worse(programs, verdicts); !slices.Equal(got, []string{"c", "e"}) {
		t.Errorf("worse gives %v, want c and e", got)
	}
	smaller, better := known.shrink(verdicts)
	if want := (shortfalls{"a": refused, "c": refused, "d": refused}); better != 2 || !maps.Equal(smaller, want) {
		t.Errorf("shrink gives %v, %d; want %v, 2", smaller, better, want)
	}
	path := filepath.Join(t.TempDir(), "shortfalls.tsv")
	if _, there, err := loadShortfalls(path); there || err != nil {
		t.Errorf("loadShortfalls of a file that is not there: %v, %v", there, err)
	}
	if err := smaller.write(path, programs); err != nil {
		t.Fatal(err)
	}
	if again, there, err := loadShortfalls(path); !there || err != nil || !maps.Equal(again, smaller) {
		t.Errorf("written and read, %v is %v, %v, %v", smaller, again, there, err)
	}
}
