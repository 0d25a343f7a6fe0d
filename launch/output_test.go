package launch

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorovod/gorovod/rendezvous"
)

func TestTagger(t *testing.T) {
	type wrote struct {
		rank int
		text string
	}
	for _, tc := range []struct {
		name   string
		writes []wrote
		want   string
	}{
		{"nothing", nil, ""},
		{"lines", []wrote{{0, "a\nb\n"}, {1, "c\n"}}, "[0] a\n[0] b\n[1] c\n"},
		{"an empty line", []wrote{{0, "a\n\nb\n"}}, "[0] a\n[0] \n[0] b\n"},
		{"no last newline", []wrote{{0, "a"}}, "[0] a\n"},
		{"a line in two parts", []wrote{{0, "a"}, {0, "b\n"}}, "[0] ab\n"},
		{"another rank between two parts", []wrote{{0, "a"}, {1, "x\n"}, {0, "b\n"}}, "[0] a\n[1] x\n[0] b\n"},
		{"CR LF", []wrote{{0, "a\r\nb\r\n"}, {1, "c\n"}}, "[0] a\r\n[0] b\r\n[1] c\n"},
		{"CR LF in two parts", []wrote{{0, "a\r"}, {0, "\nb\n"}}, "[0] a\r\n[0] b\n"},
		{"progress", []wrote{{0, "10%\r"}, {0, "20%\r"}, {0, "done\n"}}, "[0] 10%\r[0] 20%\r[0] done\n"},
		{"progress that begins with the return", []wrote{{0, "\r10%"}, {0, "\r20%"}, {0, "\n"}}, "\r[0] 10%\r[0] 20%\n"},
		{"progress at the end", []wrote{{0, "10%\r"}}, "[0] 10%\r\n"},
		{"progress of two ranks", []wrote{{0, "10%\r"}, {1, "15%\r"}, {0, "20%\r"}}, "[0] 10%\r[1] 15%\r[0] 20%\r\n"},
		{"progress of two ranks, return first", []wrote{{0, "\r10%"}, {1, "\r15%"}}, "\r[0] 10%\r[1] 15%\n"},
		{"progress over a begun one", []wrote{{0, "\r10%"}, {1, "15%\r"}}, "\r[0] 10%\r[1] 15%\r\n"},
		{"a line after another's progress", []wrote{{0, "10%\r"}, {1, "hello\n"}}, "[0] 10%\r\n[1] hello\n"},
		{"progress after another's begun line", []wrote{{0, "answer: "}, {1, "\r10%"}}, "[0] answer: \n\r[1] 10%\n"},
		{"bytes", []wrote{{0, "\xff\x00\n"}}, "[0] \xff\x00\n"},
		{"many digits", []wrote{{123, "a\n"}}, "[123] a\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			tag := &tagger{w: &b, tagged: true}
			for _, w := range tc.writes {
				if err := tag.write(w.rank, []byte(w.text)); err != nil {
					t.Fatal(err)
				}
			}
			if err := tag.end(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzTagger looks for output that a tag has changed: what is left without tags is what was written, but for line
// ends that were added where ranks met.
func FuzzTagger(f *testing.F) {
	f.Add("a\nb", "\rc\r", "d\r\n")
	f.Add("\r\r\n", "x", "\n\n")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var out bytes.Buffer
		tag := &tagger{w: &out, tagged: true}
		for i, text := range []string{a, b, c} {
			if strings.ContainsAny(text, "[]") {
				t.Skip("looks like a tag")
			}
			if err := tag.write(i%2, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := tag.end(); err != nil {
			t.Fatal(err)
		}
		bare := strings.NewReplacer("[0] ", "", "[1] ", "", "\n", "", "\r", "").Replace(out.String())
		if want := strings.NewReplacer("\n", "", "\r", "").Replace(a + b + c); bare != want {
			t.Errorf("%q became %q", want, bare)
		}
		if s := strings.TrimRight(out.String(), "\r"); strings.Trim(a+b+c, "\r") != "" && !strings.HasSuffix(s, "\n") {
			t.Errorf("%q does not end its last line", s)
		}
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("nobody listens") }

func TestResultsSurviveABrokenWriter(t *testing.T) {
	results, err := perform(t.Context(), t, "print x; value 1", Options{Stdout: brokenWriter{}})
	var e *OutputError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "nobody listens") {
		t.Errorf("got %v", err)
	}
	if !cmp.Equal(values(results), []string{"1"}) {
		t.Errorf("got %q", values(results))
	}
}

func TestWithLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a\n": "a", "a\nb\n": "b", "10%\r20%\r": "20%", "\xff\n": "\uFFFD", "a\n\n": "a",
	} {
		if got := withLine(Event{}, rendezvous.Record{Kind: rendezvous.Stderr, Data: []byte(in)}); got.Line != want || got.Stream != Stderr {
			t.Errorf("%q: got %+v", in, got)
		}
	}
}
