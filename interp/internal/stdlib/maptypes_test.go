package stdlib_test

import (
	"bytes"
	"testing"

	"github.com/gorovod/gorovod/interp/internal/stdlib"
	"github.com/traefik/yaegi/interp"
)

// run evaluates declarations and then the body of a function that prints to w, and gives what it printed.
func run(t *testing.T, declarations, body string) string {
	t.Helper()
	var out bytes.Buffer
	i := interp.New(interp.Options{Stdout: &out, Unrestricted: true})
	use(t, i, "fmt", "errors", "io", "os", "encoding/json", "log/slog", "flag", "strings", "net/http", "net/http/httptest")
	if err := i.Use(stdlib.MapTypes()); err != nil {
		t.Fatal(err)
	}
	// fmt once more: its Print functions are replaced when it is used, and take over what MapTypes says of the real ones.
	use(t, i, "fmt")
	const imports = `import ("fmt"; "errors"; "io"; "os"; "encoding/json"; "log/slog"; "flag"; "strings"; "net/http"; "net/http/httptest")`
	for _, source := range []string{imports, declarations, "func body() {\n" + body + "\n}"} {
		if _, err := i.Eval(source); err != nil {
			t.Fatalf("%v\nin %s", err, source)
		}
	}
	if _, err := i.Eval("body()"); err != nil {
		t.Fatalf("running %s: %v", body, err)
	}
	return out.String()
}

func TestPrintingHonoursMethods(t *testing.T) {
	const color = `type color int; func (c color) String() string { return [...]string{"red", "green"}[c] }`
	const point = `type point struct{ X, Y int }; func (p *point) String() string { return fmt.Sprintf("(%d,%d)", p.X, p.Y) }`
	const oops = `type oops struct{ Code int }; func (o oops) Error() string { return fmt.Sprint("oops ", o.Code) }; func fail() error { return oops{8} }`
	const both = `type both int; func (b both) String() string { return "text" }; func (b both) GoString() string { return "both!" }`
	const nasty = `type nasty int; func (n nasty) String() string { panic("no") }`
	const hex = `type hex int; func (h hex) Format(f fmt.State, verb rune) { fmt.Fprintf(f, "0x%x", int(h)) }`
	tests := []struct{ name, declarations, body, want string }{
		{"Println", color, `fmt.Println(color(1))`, "green\n"},
		{"verb of text", color, `fmt.Printf("%v %s %q %6s|%-6v|%x", color(1), color(0), color(0), color(0), color(0), color(0))`, `green red "red"    red|red   |726564`},
		{"verb of the number", color, `fmt.Printf("%d %03d %#v", color(1), color(1), color(1))`, "1 001 1"},
		{"Sprint", color, `fmt.Print(fmt.Sprint(color(0)), fmt.Sprintf("%v", color(1)), fmt.Sprintln(color(0)))`, "redgreenred\n"},
		{"Append", color, `fmt.Print(string(fmt.Append(nil, color(0))), string(fmt.Appendf(nil, "%v", color(1))))`, "redgreen"},
		{"pointer receiver", point, `p := &point{1, 2}; fmt.Println(p)`, "(1,2)\n"},
		{"error", oops, `fmt.Println(oops{7}); err := fail(); fmt.Println(err); fmt.Printf("%v|%s|%+v", err, err, err)`, "oops 7\noops 8\noops 8|oops 8|oops 8"},
		{"Errorf", oops, `fmt.Println(fmt.Errorf("wrapped: %w", oops{7}))`, "wrapped: oops 7\n"},
		{"GoString", both, `fmt.Printf("%v %#v", both(1), both(1))`, "text both!"},
		{"panic", nasty, `fmt.Printf("%v", nasty(1))`, "%!v(PANIC=String method: no)"},
		{"Formatter", hex, `fmt.Println(hex(255))`, "0xff\n"},
		{"as an any", color, `var x any = color(1); fmt.Println(x)`, "green\n"},
		{"as a Stringer", color, `var x fmt.Stringer = color(1); fmt.Println(x); fmt.Printf("%d", x)`, "green\n1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := run(t, test.declarations, test.body); got != test.want {
				t.Errorf("%s prints %q, want %q", test.body, got, test.want)
			}
		})
	}
}

func TestOtherMethodsHonoured(t *testing.T) {
	tests := []struct{ name, declarations, body, want string }{
		{"json.Marshaler", `type m int; func (m m) MarshalJSON() ([]byte, error) { return []byte("\"em\""), nil }`,
			`b, err := json.Marshal(m(1)); fmt.Print(string(b), err)`, `"em"<nil>`},
		{"json.Unmarshaler", `type m struct{ s string }; func (m *m) UnmarshalJSON(b []byte) error { m.s = "got " + string(b); return nil }`,
			`v := &m{}; err := json.Unmarshal([]byte("12"), v); fmt.Print(v.s, err)`, `got 12<nil>`},
		{"TextUnmarshaler", `type m struct{ s string }; func (m *m) UnmarshalText(b []byte) error { m.s = "got " + string(b); return nil }`,
			`v := &m{}; err := json.Unmarshal([]byte("\"12\""), v); fmt.Print(v.s, err)`, `got 12<nil>`},
		{"Unwrap", `var sentinel = errors.New("sentinel"); type e struct{}; func (e) Error() string { return "e" }; func (e) Unwrap() error { return sentinel }`,
			`fmt.Print(errors.Is(fmt.Errorf("x: %w", e{}), sentinel), errors.Is(e{}, sentinel))`, `true true`},
		{"Unwrap of several", `var sentinel = errors.New("sentinel"); type e struct{}; func (e) Error() string { return "e" }; func (e) Unwrap() []error { return []error{io.EOF, sentinel} }`,
			`fmt.Print(errors.Is(e{}, sentinel), errors.Is(e{}, io.EOF), errors.Is(e{}, io.ErrClosedPipe))`, `true true false`},
		{"Is", `type e struct{}; func (e) Error() string { return "e" }; func (e) Is(target error) bool { return target == io.EOF }`,
			`fmt.Print(errors.Is(e{}, io.EOF), errors.Is(e{}, os.ErrExist))`, `true false`},
		{"slog", `type v int; func (v v) LogValue() slog.Value { return slog.StringValue("logged") }; type c int; func (c) String() string { return "red" }`,
			`var b strings.Builder; opts := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { if a.Key == "time" { return slog.Attr{} }; return a }}; slog.SetDefault(slog.New(slog.NewTextHandler(&b, opts))); slog.Info("hello", "v", v(1), "c", c(1)); slog.SetDefault(slog.New(slog.NewJSONHandler(&b, opts))); slog.Info("hello", "c", c(1)); fmt.Print(b.String())`,
			"level=INFO msg=hello v=logged c=red\n{\"level\":\"INFO\",\"msg\":\"hello\",\"c\":1}\n"},
		{"bool flag", `type b struct{ set bool }; func (b *b) String() string { return "" }; func (b *b) Set(s string) error { b.set = s == "true"; return nil }; func (b *b) IsBoolFlag() bool { return true }`,
			`v := &b{}; fs := flag.NewFlagSet("x", flag.ContinueOnError); fs.Var(v, "v", "usage"); err := fs.Parse([]string{"-v", "rest"}); fmt.Print(v.set, err, fs.Args())`, `true <nil> [rest]`},
		{"io.Copy", `type r struct{}; func (r) Read([]byte) (int, error) { panic("Read") }; func (r) WriteTo(w io.Writer) (int64, error) { n, err := io.WriteString(w, "direct"); return int64(n), err }`,
			`var b strings.Builder; n, err := io.Copy(&b, r{}); fmt.Print(n, err, b.String())`, `6 <nil>direct`},
		{"Close of another kind", `type r struct{ s *strings.Reader }; func (r r) Read(p []byte) (int, error) { return r.s.Read(p) }; func (r r) Close() {}`,
			`b, err := io.ReadAll(r{strings.NewReader("abc")}); fmt.Print(string(b), err)`, `abc<nil>`},
		{"Flush", `type w struct{ rec *httptest.ResponseRecorder }; func (w w) Header() http.Header { return w.rec.Header() }; func (w w) Write(b []byte) (int, error) { return w.rec.Write(b) }; func (w w) WriteHeader(c int) { w.rec.WriteHeader(c) }; func (w w) Flush() { w.rec.Flush() }`,
			`rec := httptest.NewRecorder(); err := http.NewResponseController(w{rec}).Flush(); fmt.Print(rec.Flushed, err)`, `true <nil>`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := run(t, test.declarations, test.body); got != test.want {
				t.Errorf("%s prints %q, want %q", test.body, got, test.want)
			}
		})
	}
}
