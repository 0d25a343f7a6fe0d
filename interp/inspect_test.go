package interp

import (
	"strings"
	"testing"
)

func TestInspect(t *testing.T) {
	n := written(t, earlier...)
	for _, test := range []struct {
		text   string
		detail int
		want   string // plain; a line of ... stands for any lines
	}{
		// the standard library
		{"fmt.Println|", 0, `func Println(a ...any) (n int, err error)

Println formats using the default formats for its operands and writes to
standard output. Spaces are always added between operands and a newline
is appended. It returns the number of bytes written and any write error
encountered.

import "fmt"
`},
		{"fmt.Prin|tln(1)", 0, "func Println(a ...any) (n int, err error)\n..."},
		{"fmt.Println(|", 0, "func Println(a ...any) (n int, err error)\n..."},
		{"fmt.Println(1, |)", 0, "func Println(a ...any) (n int, err error)\n..."},
		{"fmt.Println(1, \"a|", 0, "func Println(a ...any) (n int, err error)\n..."},
		{"fmt.Println(strings.Repeat(\"a\", |", 0, "func Repeat(s string, count int) string\n..."},
		{"x := []string{}\nslices.Sort(|", 0, "func Sort[S ~[]E, E cmp.Ordered](x S)\n..."},
		{"fm|t.Println", 0, "package fmt\n\nPackage fmt implements formatted I/O...\n..."},
		{"strconv|", 0, "package strconv\n\n..."},
		{"import \"enc|oding/json\"", 0, "package json\n\nPackage json implements...\n..."},
		{"math.Pi|", 0, "const Pi = 3.14159\n\nhttps://oeis.org/A000796\n\nimport \"math\"\n"},
		{"http.MethodGet|", 0, "const MethodGet = \"GET\"\n..."},
		{"os.Stdout|", 0, "var Stdout *os.File\n\nStdin, Stdout, and Stderr are open Files...\n..."},
		{"var w io.Writer|", 0, "type Writer interface {\n\tWrite(p []byte) (n int, err error)\n}\n\nWriter is the interface...\n..."},
		{"var b strings.Builder|", 0, "type Builder struct {\n\t// and fields that are not exported\n}\n\nfunc (b *strings.Builder) Cap() int\n..."},
		{"var w io.Writer\nw.Write|", 0, "func (io.Writer) Write(p []byte) (n int, err error)\n\nimport \"io\"\n"},
		{"http.DefaultClient.Timeout|", 0, "field Timeout time.Duration\n\nTimeout specifies a time limit...\n..."},
		{"hvd.Rank|", 0, "func Rank() int\n\nRank gives the number of this process in the run, from 0 to Size()-1.\n\nimport \"github.com/gorovod/gorovod/hvd\"\n"},
		{"display.HTMLer|", 0, "type HTMLer interface {\n\tHTML() string\n}\n..."},

		// the language
		{"len|", 0, "func len(v Type) int\n\nThe len built-in function...\n..."},
		{"append(|", 0, "func append(slice []Type, elems ...Type) []Type\n..."},
		{"var e error|", 0, "type error interface {\n\tError() string\n}\n..."},
		{"var s string|", 0, "type string\n\nstring is the set of all strings...\n..."},
		{"true|", 0, "const true = true\n..."},

		// the notebook
		{"origin.Length|()", 0, `func (p Point) Length() int

Length gives the distance from the origin. It is rounded down.

declared in cell[1]
`},
		{"origin.Length()|", 1, ""},
		{"origin.Len|gth()", 1, `func (p Point) Length() int

Length gives the distance from the origin. It is rounded down.

func (p Point) Length() int { return int(math.Sqrt(float64(p.X*p.X + p.Y*p.Y))) }

declared in cell[1]
`},
		{"Poin|t{}", 0, `type Point struct {
	X int
	Y int
	name string
}

func (p Point) Length() int
func (p *Point) Move(dx int, dy int)

Point is a place.

declared in cell[1]
`},
		{"origin.X|", 0, "field X int\n\nas seen from the left\n\ndeclared in cell[1]\n"},
		{"origin.name|", 0, "field name string\n\nname is what people call it.\n\ndeclared in cell[1]\n"},
		{"Point{X|: 1}", 0, "field X int\n\nas seen from the left\n\ndeclared in cell[1]\n"},
		{"distance(|", 0, "func distance(a Point, b Point) (float64, error)\n\ndistance is how far it is.\n\ndeclared in cell[1]\n"},
		{"limit|", 0, "const limit = 10\n\nlimit of everything\n\ndeclared in cell[1]\n"},
		{"origin|", 0, "var origin Point\n\ndeclared in cell[2]\n"},
		{"origin|", 1, "var origin Point\n\nfunc (p Point) Length() int\nfunc (p *Point) Move(dx int, dy int)\n\ntype Point struct {\n\tX int\n..."},
		{"pair(|", 0, "func pair[A, B any](a A, b B) Pair[A, B]\n\ndeclared in cell[2]\n"},
		{"shape.Grow(|", 0, "func (Shape) Grow(by float64) Shape\n\ndeclared in cell[2]\n"},
		{"(origin|", 0, "var origin Point\n\ndeclared in cell[2]\n"},
		{"if orig|in.X > ", 0, "var origin Point\n\ndeclared in cell[2]\n"},

		// the cell itself
		{"// f is new.\nfunc f(a int) {}\nf|(1)", 0, "func f(a int)\n\nf is new.\n\ndeclared in this cell\n"},
		{"func f(a int) { a|++ }", 0, "var a int\n\ndeclared in this cell\n"},
		{"x := 1.5\nx|", 0, "var x float64\n\ndeclared in this cell\n"},
		{"for i, p := range points { p|", 0, "var p Point\n\ndeclared in this cell\n"},
		{"// Point is new.\ntype Point struct{ Z int }\nPoint|{}", 0, "type Point struct {\n\tZ int\n}\n\nfunc (p Point) Length() int\nfunc (p *Point) Move(dx int, dy int)\n\nPoint is new.\n\ndeclared in this cell\n"},
		{"%%run -np 2\norigin|", 0, "var origin Point\n\ndeclared in cell[2]\n"},

		// nothing to tell
		{"|", 0, ""},
		{"nothing|", 0, ""},
		{"fmt.Nothing|", 0, ""},
		{"// fmt.Println|", 0, ""},
		{"%%run ori|gin", 0, ""},
		{"x := 12|", 0, ""},
		{"fmt.Println(1) |", 0, ""},
		{"import \"nothing|\"", 0, ""},
		{"if|", 0, ""},
	} {
		text, at := cursor(t, test.text)
		got, found := n.Inspect(text, at, test.detail)
		if found != (test.want != "") || !alike(got.Plain, test.want) {
			t.Errorf("%s\n--- got %v\n%s\n--- want\n%s", test.text, found, got.Plain, test.want)
		}
		if found == (got.Markdown == "") {
			t.Errorf("%s: the Markdown is %q", test.text, got.Markdown)
		}
	}
}

// alike compares texts line by line; a wanted line may end in dots, and dots alone end the comparison.
func alike(got, want string) bool {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i, line := range w {
		if line == "..." {
			return true
		}
		if i >= len(g) || !matches(g[i], line) {
			return false
		}
	}
	return len(g) == len(w)
}

func TestInspectMarkdown(t *testing.T) {
	n := written(t, earlier...)
	got, _ := n.Inspect("io.EOF", 6, 0)
	want := "```go\nvar EOF error\n```\n\nEOF is the error returned by Read when no more input is available. (Read must return EOF itself, " +
		"not an error wrapping EOF, because callers will test for EOF using ==.) Functions should return EOF only to signal a graceful end of input."
	if !strings.HasPrefix(got.Markdown, want) || !strings.HasSuffix(got.Markdown, "\n\n`import \"io\"`\n") {
		t.Errorf("got %s", got.Markdown)
	}
	got, _ = n.Inspect("limit", 5, 0)
	if want := "```go\nconst limit = 10\n```\n\nlimit of everything\n\n*declared in cell[1]*\n"; got.Markdown != want {
		t.Errorf("got %s", got.Markdown)
	}
}

func FuzzInspect(f *testing.F) {
	n := written(f, earlier...)
	for _, seed := range []string{"fmt.Println(", "x := Point{", "func f(p Point) { p.", "import \"s\"", "%%run\norigin.X", "for i := range points", "a, b", "é.é", "\"", "pair[int](", "\xff."} {
		f.Add(seed, len(seed)-1)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		if i, found := n.Inspect(text, at, 1); found != (i.Plain != "" && i.Markdown != "") {
			t.Errorf("%q at %d: %v, %+v", text, at, found, i)
		}
	})
}

func BenchmarkInspect(b *testing.B) {
	n := written(b, earlier...)
	for b.Loop() {
		n.Inspect("fmt.Println(origin.Length(), ", 29, 0)
	}
}
