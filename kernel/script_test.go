package kernel

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorovod/gorovod/launch"
)

func TestParseScript(t *testing.T) {
	np := func(n int) launch.Options { return launch.Options{NumProc: n} }
	for _, tc := range []struct {
		name, text string
		steps      []step
		code       string
	}{
		{"go alone", "x := 1\n", nil, "x := 1\n"},
		{"empty", "", nil, ""},
		{"cd", "\n  %cd a b \nx", []step{changeDir{"a b"}}, "\n          \nx"},
		{"home", "%cd", []step{changeDir{""}}, "   "},
		{"commands", "$ls -l 'a b'\n$ echo \"q\\\"\"\ny", []step{command{[]string{"ls", "-l", "a b"}}, command{[]string{"echo", `q"`}}},
			"            \n            \ny"},
		{"questions", "fmt.Println?\n?x\ny??", []step{page{"fmt.Println", 0}, page{"x", 0}, page{"y", 1}}, "            \n  \n   "},
		{"magic in question", "?%%run", []step{page{"%%run", 0}}, "      "},
		{"after a comment it is Go", "// c\n%cd x", nil, "// c\n%cd x"},
		{"windows", "%cd x\r\ny\r\n", []step{changeDir{"x"}}, "      \ny\r\n"},
		{"cell", "\n%%run -np 3 -o got\n%cd is not special here\nf()",
			[]step{&run{np(3), "got", "\n                  \n%cd is not special here\nf()"}}, ""},
		{"line", "%run -np=2 f(\"a b\", 'c')\ng()",
			[]step{&run{np(2), "", "           f(\"a b\", 'c')\n   "}}, "                        \ng()"},
		{"a line whose expression begins with a quote", "%run 'x' + 1", []step{&run{np(0), "", "     'x' + 1"}}, "            "},
		{"a line with quotes that no shell would take", "%run -o x '\"'", []step{&run{np(0), "x", "          '\"'"}}, "             "},
		{"end of flags", "%run -np4 -- -x", []step{&run{np(4), "", "             -x"}}, "               "},
		{"several", "%run -np 2 f()\n%run -o y g()", []step{
			&run{np(2), "", "           f()\n             "}, &run{np(0), "y", "              \n          g()"},
		}, "              \n             "},
		{"flags", `%%run --env A="b c" --timeout 1m --output group` + "\n1",
			[]step{&run{launch.Options{Env: []string{"A=b c"}, Timeout: time.Minute, Output: launch.OutputGroup}, "",
				strings.Repeat(" ", 47) + "\n1"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseScript(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			opts := []cmp.Option{
				cmp.AllowUnexported(run{}, changeDir{}, command{}, page{}, printed{}), cmpopts.EquateEmpty(),
				cmpopts.IgnoreFields(launch.Options{}, "Stdout", "Stderr", "Observer", "Logger"),
			}
			if diff := cmp.Diff(tc.steps, got.steps, opts...); diff != "" {
				t.Error(diff)
			}
			if got.code != tc.code {
				t.Errorf("code %q, want %q", got.code, tc.code)
			}
		})
	}
}

func TestParseScriptRefuses(t *testing.T) {
	for _, tc := range []struct {
		text string
		line int
		want string
	}{
		{"%bogus\nx", 1, `unknown special line "%bogus"; there are %%run [flags], `},
		{"%cd x\n%nope", 2, "%nope"},
		{"$", 1, "belongs a command"},
		{"$ echo 'a", 1, "the quote ' that begins in"},
		{"%go111module maybe", 1, "expecting a single argument 'on' or 'off'"},
		{"%cd x\n%%run\n1", 2, "must be the first line"},
		{"%%run -np 0\n1", 1, "num-proc"},
		{"%%run -np 2 f()\n1", 1, `"f()" is none`},
		{"%%run --output-filename 'a\n1", 1, "the quote '"},
		{"%%run --hosts a:2\n1", 1, "--hosts"},
		{"%run -np 2", 1, "%run needs an expression"},
		{"%run -o", 1, "o"},
	} {
		_, err := parseScript(tc.text)
		e, ok := err.(*scriptError)
		if !ok || e.line != tc.line || !strings.Contains(e.text, tc.want) {
			t.Errorf("%q: got %v, want one in line %d with %q", tc.text, err, tc.line, tc.want)
		}
	}
}

func TestHelpIsAsked(t *testing.T) {
	for _, text := range []string{"%%run --help", "%%run -np 2 --help\n1", "%run --help", "%help"} {
		s, err := parseScript(text)
		if err != nil || len(s.steps) != 1 {
			t.Fatalf("%q: %v", text, err)
		}
		if p, ok := s.steps[0].(printed); !ok || !strings.Contains(p.text, "%run") {
			t.Errorf("%q: got %v", text, s.steps)
		}
	}
}

// FuzzParseScript holds the parser to what the rest relies on: code keeps its size and its lines, and nothing of it
// is changed.
func FuzzParseScript(f *testing.F) {
	for _, seed := range []string{
		"x := 1", "%cd a\n$ echo 'a'\nx", "%%run -np 2 -o x\nhvd.Rank()", "%run -np 2 f(\"é\")\ng()", "fmt.Println?\n?x", "%run '\"'",
		"%run -- -x", "$ \"\\\\\"", "%\r\n$\t", "%%run --help", "%run\x00", "%%run\n%%run", "? ", "%run --env A='b\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseScript(text)
		if err != nil {
			return
		}
		check := func(what, code string) {
			if len(code) != len(text) {
				t.Fatalf("%s of %q has another size: %q", what, text, code)
			}
			for i := range len(code) {
				if code[i] != text[i] && (code[i] != ' ' || text[i] == '\n') {
					t.Fatalf("%s of %q differs at %d: %q", what, text, i, code)
				}
			}
		}
		if s.code != "" {
			check("the code", s.code)
		}
		for _, st := range s.steps {
			if r, ok := st.(*run); ok {
				check("the run", r.code)
			}
		}
		for cursor := range len(text) + 1 {
			if line, code := placeOf(text, cursor); line == nil {
				check("the place", code)
			}
		}
	})
}

func TestWords(t *testing.T) {
	for _, tc := range []struct {
		line string
		want []word
		fail bool
	}{
		{"", nil, false},
		{"  a  bc ", []word{{"a", 2}, {"bc", 5}}, false},
		{`a"b c"d '' x\ y`, []word{{"ab cd", 0}, {"", 8}, {"x y", 11}}, false},
		{`'a\' "b\"\c"`, []word{{`a\`, 0}, {`b"\c`, 5}}, false},
		{`a 'b c`, []word{{"a", 0}, {"b c", 2}}, true},
		{`a\`, []word{{`a\`, 0}}, false},
	} {
		got, err := words(tc.line)
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(word{})); diff != "" || (err != nil) != tc.fail {
			t.Errorf("%q: %v %s", tc.line, err, diff)
		}
	}
}
