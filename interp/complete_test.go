package interp

import (
	"go/token"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// written gives a notebook whose cells were checked and committed, not run.
func written(t testing.TB, cells ...string) *Notebook {
	t.Helper()
	n := NewNotebook()
	for i, text := range cells {
		c, err := n.Check("cell["+itoa(i+1)+"]", text)
		if err != nil {
			t.Fatal(err)
		}
		c.Commit()
	}
	return n
}

// cursor takes the mark | out of a text and gives its place in code points.
func cursor(t testing.TB, text string) (string, int) {
	t.Helper()
	before, after, ok := strings.Cut(text, "|")
	if !ok {
		t.Fatalf("there is no cursor in %q", text)
	}
	return before + after, utf8.RuneCountInString(before)
}

// earlier are the cells that tests of completion and inspection start from.
var earlier = []string{
	`import "strings"
// Point is a place.
type Point struct {
	X, Y int // as seen from the left
	// name is what people call it.
	name string
}

// Length gives the distance from the origin.
// It is rounded down.
func (p Point) Length() int { return int(math.Sqrt(float64(p.X*p.X + p.Y*p.Y))) }

func (p *Point) Move(dx, dy int) { p.X += dx; p.Y += dy }

type Named struct {
	*Point
	Title string
}

/* distance is how far
it is. */
func distance(a, b Point) (float64, error) { return 0, nil }

// limit of everything
const limit = 10
`,
	`points := []Point{{1, 2, "a"}}
origin := Point{}
named := &Named{}
ch := make(chan Point, 1)
byName := map[string]*Point{}
type Pair[A, B any] struct { First A; Second B }
func pair[A, B any](a A, b B) Pair[A, B] { return Pair[A, B]{a, b} }
type Shape interface { Area() float64; Grow(by float64) Shape }
var shape Shape
`,
}

func TestComplete(t *testing.T) {
	n := written(t, earlier...)
	for _, test := range []struct {
		text string
		want string // all matches, separated by spaces
	}{
		// members of packages
		{"fmt.Prin|", "Print Printf Println"},
		{"strings.HasP|", "HasPrefix"},
		{"strings.HasP|(\"a\", \"b\")", "HasPrefix"},
		{"x := strings.HasP|", "HasPrefix"},
		{"fmt.Println(strings.HasP|", "HasPrefix"},
		{"fmt.Println(strings.HasP|)\ny := 1", "HasPrefix"},
		{"if strings.HasP|", "HasPrefix"},
		{"for _, f := range strings.FieldsF|", "FieldsFunc FieldsFuncSeq"},
		{"for i := 0; i < strings.Coun|", "Count"},
		{"switch strings.HasP|", "HasPrefix"},
		{"switch x := 1; x {\ncase strings.Coun|", "Count"},
		{"func f() {\n\tgo func() {\n\t\tstrings.HasP|", "HasPrefix"},
		{"fmt.prin|", "Print Printf Println"},
		{"fmt.Nothing|", ""},
		{"nothing.A|", ""},
		{"var b strings.B|", "Builder"},
		{"func f(b *strings.B|", "Builder"},
		{"type T struct {\n\tb strings.B|", "Builder"},
		{"[]strings.B|", "Builder"},
		{"import s \"strings\"\ns.HasP|", "HasPrefix"},
		{"hvd.Ra|", "Rank"},
		{"display.HTM|", "HTML HTMLer"},
		{"Displ|", "display"},
		{"unsafe.Si|", "Sizeof"},
		{"math.MaxInt|", "MaxInt MaxInt16 MaxInt32 MaxInt64 MaxInt8"},

		// fields and methods
		{"origin.|", "Length Move X Y name"},
		{"origin.L|", "Length"},
		{"points[0].|", "Length Move X Y name"},
		{"points[0].Len| + 1", "Length"},
		{"Point{}.|", "Length X Y name"},
		{"Point.|", "Length"},
		{"(*Point).|", "Length Move"},
		{"named.|", "Length Move Point Title X Y name"},
		{"(<-ch).X|", "X"},
		{"byName[\"a\"].X|", "X"},
		{"shape.|", "Area Grow"},
		{"shape.Grow(1).Gr|", "Grow"},
		{"pair(1, \"a\").|", "First Second"},
		{"for _, p := range points {\n\tp.Le|", "Length"},
		{"for _, p := range points {\n\tp.Le|\n}\norigin.X", "Length"},
		{"if p := points[0]; p.Le|", "Length"},
		{"func f(p Point) {\n\tp.Le|", "Length"},
		{"func f(p Point) int {\n\treturn p.Le|\n}\nf(origin)", "Length"},
		{"f := func(p *Point) { p.Mo|", "Move"},
		{"new(strings.Builder).WriteS|", "WriteString"},
		{"var b strings.Builder\nb.WriteS|", "WriteString"},
		{"time.Now().Wee|", "Weekday"},
		{"http.DefaultClient.Time|", "Timeout"},
		{"p := Point{}\np.Mo|", "Move"},
		{"1.|", ""},
		{"\"a\".|", ""},
		{"fmt.Println.|", ""},
		{"distance(origin, origin).|", ""},

		// names
		{"orig|", "origin"},
		{"dist|", "distance"},
		{"poi|", "points"},
		{"lim|", "limit"},
		{"fmt.Println(orig|", "origin"},
		{"func f(origins int) {\n\torig|", "origins origin"},
		{"origami := 1\norig|", "origami origin"},
		{"orig|\norigami := 1", "origin"},
		{"func f() { orig| }\norigami := 1", "origami origin"},
		{"g(orig|\nfunc original() {}", "origin original"},
		{"len|", "len"},
		{"strin|", "strings string"},
		{"strc|", "strconv"},
		{"var x Poi|", "Point"},
		{"var x strin|", "strings string"},
		{"x := []Poi|", "Point"},
		{"fall|", "fallthrough"},
		{"x := fals|", "false"},
		{"x := fun|", "func"},
		{"x := retur|", ""},
		{"for i := range poi|", "points"},
		{"for i := ran|", "range rand"},
		{"switch 1 {\ncase 1:\n\tdefau|", "default"},
		{"outer:\nfor {\n\tbreak ou|\n}", "outer"},
		{"func f() {\nouter:\n\tfor {\n\t\tcontinue |\n\t}\n}", "outer"},
		{"orig|in.X", "origin"},
		{"or|igin", "or_nothing"},
		{"größe := 1\ngrö|", "größe"},
		{"\"é\"; orig|", "origin"},
		{"func Poi|", ""},
		{"type Poi|", ""},
		{"var poi|", ""},
		{"func f(poi|", "Point"},

		// struct literals
		{"Point{|", "X Y name *"},
		{"Point{X: 1, |", "Y name *"},
		{"Point{X: orig|", "origin"},
		{"Point{na|: \"a\"}", "name"},
		{"[]Point{{X: 1}, {na|", "name named"},
		{"map[string]int{lim|", "limit"},
		{"&http.Client{Time|", "Timeout"},

		// imports
		{"import \"stri|", "strings"},
		{"import \"stri|\"", "strings"},
		{"import \"encoding/js|\"", "encoding/json"},
		{"import (\n\t\"fmt\"\n\ts \"stri|", "strings"},
		{"import \"hv|", "hvd"},
		{"import \"js|", "encoding/json net/rpc/jsonrpc"},
		{"import \"github.com/gorovod/|\"", "github.com/gorovod/gorovod/display github.com/gorovod/gorovod/hvd"},
		{"import \"plug|", ""},
		{"import \"fmt\"; orig|", "origin"},

		// where there is nothing to say
		{"// fmt.Prin|", ""},
		{"/* fmt.Prin| */", ""},
		{"\"fmt.Prin|\"", ""},
		{"`fmt.Prin|", ""},
		{"'f|'", ""},
		{"x := 12|", ""},
		{"x := 0x1f|", ""},

		// magics
		{"%%run -np 4 orig|\norigin", ""},
		{"%%run -np 4\norig|", "origin"},
		{"%%run|", ""},
		{"$ orig|", ""},
	} {
		text, at := cursor(t, test.text)
		c := n.Complete(text, at)
		want := strings.Fields(test.want)
		got := c.Matches
		switch {
		case slices.Contains(want, "*"):
			want = want[:len(want)-1]
			got = got[:min(len(got), len(want))]
		case test.want == "or_nothing":
			want = got
			if !slices.Contains(got, "origin") {
				want = []string{"origin"}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", test.text, got, want)
		}
		if len(c.Kinds) != len(c.Matches) || len(c.Signatures) != len(c.Matches) {
			t.Errorf("%s: %d matches, %d kinds, %d signatures", test.text, len(c.Matches), len(c.Kinds), len(c.Signatures))
		}
	}
	if got := n.Complete("origin.", 7).Matches; len(got) == 0 {
		t.Error("the notebook was changed by completion")
	}
}

func TestCompletionDetails(t *testing.T) {
	n := written(t, earlier...)
	for _, test := range []struct {
		text                   string
		start, end             int
		match, kind, signature string
	}{
		{"fmt.Printl|", 4, 10, "Println", "function", "(a ...any) (n int, err error)"},
		{"é := origin.Len|", 12, 15, "Length", "function", "() int"},
		{"\"日本\"; points[0].na|", 16, 18, "name", "property", "string"},
		{"orig|in", 0, 4, "origin", "instance", "Point"},
		{"lim|", 0, 3, "limit", "constant", "untyped int"},
		{"math.P|", 5, 6, "Pi", "constant", "untyped float"},
		{"var x Poi|", 6, 9, "Point", "class", ""},
		{"strco|", 0, 5, "strconv", "module", "strconv"},
		{"import \"encoding/cs|\"", 8, 19, "encoding/csv", "module", ""},
		{"pai|", 0, 3, "pair", "function", "[A, B any](a A, b B) Pair[A, B]"},
		{"defe|", 0, 4, "defer", "keyword", ""},
	} {
		text, at := cursor(t, test.text)
		c := n.Complete(text, at)
		i := slices.Index(c.Matches, test.match)
		if i < 0 {
			t.Errorf("%s: %s is not among %q", test.text, test.match, c.Matches)
			continue
		}
		if c.Start != test.start || c.End != test.end || c.Kinds[i] != test.kind || c.Signatures[i] != test.signature {
			t.Errorf("%s: %d to %d is %s of kind %q, signature %q; want %d to %d, %q, %q", test.text, c.Start, c.End, c.Matches[i],
				c.Kinds[i], c.Signatures[i], test.start, test.end, test.kind, test.signature)
		}
	}
}

// TestCompletionLeavesNoTrace holds that a notebook is the same after it was asked.
func TestCompletionLeavesNoTrace(t *testing.T) {
	n := written(t, earlier...)
	files := func() (count int) {
		n.fset.Iterate(func(*token.File) bool { count++; return true })
		return count
	}
	frags, before, names := len(n.frags), files(), len(n.names)
	for _, text := range []string{"origin.", "type Point struct{}\nPoint{}.", "import \"os\"\nos.", "func f( {", "limit := 3\nlimi"} {
		n.Complete(text, len(text))
		n.Inspect(text, len(text), 1)
	}
	if len(n.frags) != frags || files() != before || len(n.names) != names {
		t.Errorf("%d fragments, %d files, %d names; there were %d, %d, %d", len(n.frags), files(), len(n.names), frags, before, names)
	}
}

func FuzzComplete(f *testing.F) {
	n := written(f, earlier...)
	for _, seed := range []string{"fmt.Pri", "x := Point{", "func f(p Point) { p.", "import \"s", "%%run\nx.", "for i := range ", "a, b", "switch x := y.(type) {", "goto ", "é.é", "type T[P any] struct{ a P }; T[int]{}.", "\xff.", "/*"} {
		f.Add(seed, len(seed))
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		c := n.Complete(text, at)
		if c.Start < 0 || c.End < c.Start || c.End > utf8.RuneCountInString(text) || len(c.Kinds) != len(c.Matches) || len(c.Signatures) != len(c.Matches) {
			t.Errorf("%q at %d: %+v", text, at, c)
		}
	})
}

func BenchmarkComplete(b *testing.B) {
	n := written(b, earlier...)
	text := "for _, p := range points {\n\tfmt.Println(p.Le"
	for b.Loop() {
		n.Complete(text, len(text))
	}
}

// TestCompleteBesideVariables completes in a notebook that has variables of every kind of type: the scratch copy that is
// checked needs all that the notebook has.
func TestCompleteBesideVariables(t *testing.T) {
	s := newSession(t)
	for _, cell := range []string{
		"reader := bufio.NewReader(strings.NewReader(\"\"))\nvar when time.Time",
		"type T struct{ A int }\nts := []T{{1}}\nm := map[string]*T{}",
		"func f[E any](e E) []E { return []E{e} }\nfs := f(ts)",
	} {
		if got := s.eval(cell); got != "" {
			t.Fatal(got)
		}
		if c := s.n.Complete("strings.ToU", 11); len(c.Matches) == 0 || c.Matches[0] != "ToUpper" {
			t.Errorf("after %q: %v", cell, c)
		}
	}
	if c := s.n.Complete("fs[0][0].", 9); len(c.Matches) != 1 || c.Matches[0] != "A" {
		t.Errorf("fields: %v", c)
	}
}
