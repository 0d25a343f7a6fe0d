package history

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// brief gives entries as "session.line code".
func brief(entries []Entry) []string {
	list := []string{}
	for _, e := range entries {
		list = append(list, fmt.Sprintf("%d.%d %s", e.Session, e.Line, e.Code))
	}
	return list
}

func check(t *testing.T, what string, got []Entry, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, brief(got)); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func TestKernelsSideBySide(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl")
	const kernels, cells = 4, 50
	var wg sync.WaitGroup
	for range kernels {
		wg.Go(func() {
			s := Open(path, quiet)
			for i := range cells {
				s.Add(i+1, "code", nil)
			}
		})
	}
	wg.Wait()
	s := Open(path, quiet)
	if n := len(s.Tail(1000)); n != kernels*cells {
		t.Errorf("%d entries", n)
	}
	for session := 1; session <= kernels; session++ {
		if n := len(s.Range(session, 1, 0)); n != cells {
			t.Errorf("session %d has %d", session, n)
		}
	}
}

func TestDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl")
	content := "not JSON\n" + `{"session":4,"line":1,"code":"a"}` + "\n\x00\xff\n" + `{"session":"x"}` + "\n" + `{"session":4,"line":2,"co`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Open(path, quiet)
	s.Add(1, "b", "out")
	check(t, "this kernel", s.Tail(10), "4.1 a", "5.1 b")
	check(t, "the next", Open(path, quiet).Tail(10), "4.1 a", "5.1 b")
}

func TestUnusableFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", dir, filepath.Join(file, "below", "h.jsonl")} {
		var log strings.Builder
		s := Open(path, slog.New(slog.NewTextHandler(&log, nil)))
		s.Add(1, "a", nil)
		s.Add(2, "b", nil)
		check(t, path, s.Tail(10), "1.1 a", "1.2 b")
		check(t, path, s.Range(0, 2, 3), "1.2 b")
		if n := strings.Count(log.String(), "\n"); path != "" && n != 1 {
			t.Errorf("%s: %d log lines", path, n)
		}
	}
}

func TestGrownFileIsShortened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl")
	s := Open(path, quiet)
	long := strings.Repeat("x", maxLine/2)
	for i := range 10 {
		s.Add(i+1, long+fmt.Sprint(i), nil)
	}
	s.Add(11, strings.Repeat("y", maxLine), nil) // too long for the file
	next := Open(path, quiet)
	next.Add(1, "z", nil)
	got := next.Tail(100)
	if st, err := os.Stat(path); err != nil || st.Size() > maxFile/2+1000 {
		t.Errorf("%v %v", st.Size(), err)
	}
	if len(got) < 3 || got[len(got)-1].Code != "z" || got[len(got)-1].Session != 2 || !strings.HasSuffix(got[len(got)-2].Code, "9") {
		t.Errorf("%d entries", len(got))
	}
}

func TestFileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "h.jsonl")
	Open(path, quiet).Add(1, "a", nil)
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if st, err := os.Stat(p); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v %v", p, st.Mode(), err)
		}
	}
}

func TestSearchPatterns(t *testing.T) {
	tests := []struct {
		pattern string
		match   string
		not     string
	}{
		{"", "anything\nat all", ""},
		{"*", "", ""},
		{"a*", "abc", "ba"},
		{"a?c", "a\nc", "ac"},
		{"?", "日", "日本"},
		{"x[0-9]", "x7", "xa"},
		{"x[^0-9]", "xa", "x7"},
		{"x[!0-9]", "xa", "x7"},
		{"a[]]", "a]", "a["},
		{"a[", "a[", "a"},
		{"a[]", "a[]", "a"},
		{"[a^]", "^", "b"},
		{`\d+.(`, `\d+.(`, "1"},
		{"*日*", "a日b", "a"},
		{"[z-a]x", "", ""},
	}
	for _, tt := range tests {
		s := Open("", quiet)
		s.Add(1, tt.match, nil)
		s.Add(2, tt.not, nil)
		got, err := s.Search(tt.pattern, 0, false)
		if tt.pattern == "[z-a]x" {
			if err == nil {
				t.Errorf("%q is taken", tt.pattern)
			}
			continue
		}
		if err != nil || len(got) == 0 || got[0].Line != 1 || len(got) > 1 && tt.not != "" {
			t.Errorf("%q: %v, %v", tt.pattern, brief(got), err)
		}
	}
}

func TestDefaultPath(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	for dir, want := range map[string]string{
		"/data": "/data/app/history.jsonl", "": "/home/u/.local/share/app/history.jsonl", "relative": "/home/u/.local/share/app/history.jsonl",
	} {
		t.Setenv("XDG_DATA_HOME", dir)
		if got := DefaultPath("app"); got != want {
			t.Errorf("%q: %q", dir, got)
		}
	}
}
