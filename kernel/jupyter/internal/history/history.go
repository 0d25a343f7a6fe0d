// Package history keeps the cells that a user ran, over all kernels of that user, as lines of JSON in one file. It
// takes a cell when it has ended and answers the three questions of the Jupyter protocol: the last n, a range of a
// session, a search by pattern.
//
// A line is appended whole and under a lock, so that kernels may run side by side. The file is a convenience: when it
// cannot be read or written, the history of this kernel alone is kept in memory, and nothing fails.
package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxFile is the size at which the older half of the file is dropped.
	maxFile = 16 << 20
	// maxLine bounds what is read of one line; a cell of more is not kept in the file.
	maxLine = 4 << 20
)

// Entry is a cell that ran.
type Entry struct {
	Session int    `json:"session"`
	Line    int    `json:"line"` // the cell's number; 0 marks the begin of a session
	Code    string `json:"code"`
	// Output is the text of the cell's result, nil when it had none.
	Output any       `json:"output,omitempty"`
	Time   time.Time `json:"time"`
}

// Store is the history of one kernel and, through its file, of those before it.
type Store struct {
	path string
	log  *slog.Logger

	mu      sync.Mutex
	session int // 0 until it is needed
	own     []Entry
	failed  bool // the file was found unusable; said once
}

// Open gives a Store over a file, which need not exist. An empty path keeps the history in memory.
// The file is not touched before the first cell or question.
func Open(path string, log *slog.Logger) *Store {
	return &Store{path: path, log: log}
}

// DefaultPath gives the place of an application's history file under the user's data folder, or "" when there is none.
func DefaultPath(app string) string {
	dir := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(dir) { // as the XDG specification wants it
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(dir, app, "history.jsonl")
}

// Add keeps a cell that has ended.
func (s *Store) Add(line int, code string, output any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	e := Entry{Session: s.session, Line: line, Code: code, Output: output, Time: time.Now().UTC()}
	s.own = append(s.own, e)
	s.withFile(func(f *os.File) error { return appendEntry(f, e) })
}

// begin takes the next session number of the file.
func (s *Store) begin() {
	if s.session != 0 {
		return
	}
	s.session = 1
	s.withFile(func(f *os.File) error {
		entries, err := read(f)
		if err != nil {
			return err
		}
		for _, e := range entries {
			s.session = max(s.session, e.Session+1)
		}
		if err := shorten(f); err != nil {
			return err
		}
		return appendEntry(f, Entry{Session: s.session, Time: time.Now().UTC()})
	})
}

// withFile runs do on the locked file. An error is logged, the first time.
func (s *Store) withFile(do func(*os.File) error) {
	if s.path == "" {
		return
	}
	err := func() error {
		if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(s.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := lock(f); err != nil {
			return err
		}
		return do(f) // closing the file unlocks it
	}()
	if err != nil && !s.failed {
		s.failed = true
		s.log.Warn("the history file cannot be used; this kernel's own history is kept in memory", "file", s.path, "error", err)
	}
}

func appendEntry(f *os.File, e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(line) >= maxLine {
		return nil
	}
	line = append(line, '\n')
	if st, err := f.Stat(); err == nil && st.Size() > 0 {
		// A kernel that was killed while it wrote has left a line without an end.
		var b [1]byte
		if _, err := f.ReadAt(b[:], st.Size()-1); err == nil && b[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = f.Write(line)
	return err
}

// read gives the entries of the file from its beginning. Lines that are damaged are passed over.
func read(f *os.File) ([]Entry, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var entries []Entry
	sc := bufio.NewScanner(f)
	sc.Buffer(make([]byte, 64<<10), maxLine+1)
	for sc.Scan() {
		var e Entry
		if json.Unmarshal(sc.Bytes(), &e) == nil && e.Session > 0 {
			entries = append(entries, e)
		}
	}
	if err := sc.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, err
	}
	return entries, nil
}

// shorten drops the older half of a file that has grown too large.
func shorten(f *os.File) error {
	st, err := f.Stat()
	if err != nil || st.Size() <= maxFile {
		return err
	}
	keep := make([]byte, maxFile/2)
	if _, err := f.ReadAt(keep, st.Size()-int64(len(keep))); err != nil {
		return err
	}
	if i := bytes.IndexByte(keep, '\n'); i >= 0 {
		keep = keep[i+1:]
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.Write(keep)
	return err
}

// all gives every entry that is known, by session and line.
func (s *Store) all() []Entry {
	s.begin()
	var entries []Entry
	s.withFile(func(f *os.File) error {
		from, err := read(f)
		for _, e := range from {
			if e.Line > 0 && e.Session != s.session {
				entries = append(entries, e)
			}
		}
		return err
	})
	entries = append(entries, s.own...)
	slices.SortStableFunc(entries, func(a, b Entry) int {
		if a.Session != b.Session {
			return a.Session - b.Session
		}
		return a.Line - b.Line
	})
	return entries
}

// Tail gives the last n entries, the oldest first.
func (s *Store) Tail(n int) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return last(s.all(), n)
}

// Range gives the entries of a session whose lines are at least start and less than stop; a stop of 0 is no limit.
// Session 0 is this kernel's, -1 the one before it, and so on.
func (s *Store) Range(session, start, stop int) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := s.all()
	if session <= 0 {
		session = s.relative(entries, session)
	}
	return slices.DeleteFunc(entries, func(e Entry) bool {
		return e.Session != session || e.Line < start || stop > 0 && e.Line >= stop
	})
}

// relative gives the number of the session that is back sessions before this one, 0 if there are not so many.
func (s *Store) relative(entries []Entry, back int) int {
	if back == 0 {
		return s.session
	}
	var earlier []int
	for _, e := range entries {
		if e.Session != s.session && !slices.Contains(earlier, e.Session) {
			earlier = append(earlier, e.Session)
		}
	}
	if at := len(earlier) + back; at >= 0 {
		return earlier[at]
	}
	return 0
}

// Search gives the last n entries (all, for 0) whose whole code matches a pattern with the wildcards *, ? and […].
// With unique, of those with equal code only the last is given.
func (s *Store) Search(pattern string, n int, unique bool) ([]Entry, error) {
	if pattern == "" {
		pattern = "*"
	}
	re, err := regexp.Compile(globToRegexp(pattern))
	if err != nil {
		return nil, fmt.Errorf("search the history for %q: it is not a pattern: %w", pattern, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := slices.DeleteFunc(s.all(), func(e Entry) bool { return !re.MatchString(e.Code) })
	if unique {
		seen := map[string]bool{}
		slices.Reverse(found)
		found = slices.DeleteFunc(found, func(e Entry) bool {
			dup := seen[e.Code]
			seen[e.Code] = true
			return dup
		})
		slices.Reverse(found)
	}
	if n > 0 {
		found = last(found, n)
	}
	return found, nil
}

func last(entries []Entry, n int) []Entry {
	return entries[max(0, len(entries)-max(0, n)):]
}

// globToRegexp translates a pattern; a bracket that is not closed stands for itself.
func globToRegexp(pattern string) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for rest := pattern; rest != ""; {
		switch c := rest[0]; c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		case '[':
			if set, n := bracket(rest); n > 0 {
				b.WriteString(set)
				rest = rest[n:]
				continue
			}
			b.WriteString(`\[`)
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
		rest = rest[1:]
	}
	b.WriteString(`\z`)
	return b.String()
}

// bracket translates the set that p begins with and gives its length, 0 when it is not closed.
func bracket(p string) (set string, n int) {
	begin := 1
	if begin < len(p) && (p[begin] == '^' || p[begin] == '!') {
		begin++
	}
	end := begin
	if end < len(p) && p[end] == ']' { // a bracket that comes first is a member
		end++
	}
	for end < len(p) && p[end] != ']' {
		end++
	}
	if end >= len(p) || end == begin {
		return "", 0
	}
	members := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`).Replace(p[begin:end])
	if begin == 2 {
		return "[^" + members + "]", end + 1
	}
	return "[" + members + "]", end + 1
}
