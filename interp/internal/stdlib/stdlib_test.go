package stdlib_test

import (
	"bytes"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorovod/gorovod/interp/internal/stdlib"
	"github.com/traefik/yaegi/interp"
	"golang.org/x/tools/go/gcexportdata"
)

func TestFitsToolchain(t *testing.T) {
	if v := runtime.Version(); v != stdlib.GoVersion && !strings.HasPrefix(v, stdlib.GoVersion+".") {
		t.Fatalf("the tables are those of %s and the toolchain is %s: run go generate ./interp/internal/stdlib", stdlib.GoVersion, v)
	}
	list := exec.Command("go", "list", "std")
	list.Env = append(list.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Skipf("no go command to compare with: %v", err)
	}
	var want []string
	for _, path := range strings.Fields(string(out)) {
		elems := strings.Split(path, "/")
		if !slices.Contains(elems, "internal") && !slices.Contains(elems, "vendor") {
			want = append(want, path)
		}
	}
	slices.Sort(want)
	if got := stdlib.Packages(); !slices.Equal(got, want) {
		t.Errorf("packages are\n%v\nand the toolchain has\n%v\nrun go generate ./interp/internal/stdlib", got, want)
	}
}

// Every exported object that the checker sees is a symbol of the interpreter, unless it is generic or a constraint.
func TestSymbolsComplete(t *testing.T) {
	im := stdlib.NewImporter()
	for _, path := range stdlib.Packages() {
		pkg, err := im.Import(path)
		if err != nil {
			t.Errorf("Import(%q): %v", path, err)
			continue
		}
		if pkg.Path() != path || pkg.Name() != stdlib.Name(path) || !pkg.Complete() {
			t.Errorf("Import(%q) = %v, complete: %v", path, pkg, pkg.Complete())
		}
		exports, ok := stdlib.Symbols(path)
		if !ok {
			if stdlib.Unsupported(path) == "" {
				t.Errorf("%s has no symbols and no reason why", path)
			}
			continue
		}
		if path == "unsafe" {
			continue // TestUnsafe
		}
		values := exports[path+"/"+pkg.Name()]
		for _, name := range pkg.Scope().Names() {
			object := pkg.Scope().Lookup(name)
			want := object.Exported() && !generic(object)
			if has := stdlib.Has(path, name); has != want {
				t.Errorf("Has(%q, %q) = %v, want %v", path, name, has, want)
			}
			if want != values[name].IsValid() {
				t.Errorf("Symbols(%q) has %s: %v, want %v", path, name, values[name].IsValid(), want)
			}
		}
	}
}

func generic(object types.Object) bool {
	switch t := object.Type().(type) {
	case *types.Signature:
		return t.TypeParams().Len() > 0
	case *types.Named:
		if iface, ok := t.Underlying().(*types.Interface); ok && !iface.IsMethodSet() {
			return true
		}
		_, isType := object.(*types.TypeName)
		return isType && t.TypeParams().Len() > 0
	case *types.Alias:
		return t.TypeParams().Len() > 0
	}
	return false
}

func TestImporterSharesPackages(t *testing.T) {
	im := stdlib.NewImporter()
	server, err := im.Import("net/http") // makes a part of io on the way
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, path := range stdlib.Packages() {
				if _, err := im.Import(path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	again, _ := im.Import("net/http")
	if server != again {
		t.Error("the second import of net/http is another package")
	}
	reader := types.Universe.Lookup("any").Type()
	if pkg, err := im.Import("io"); err != nil {
		t.Fatal(err)
	} else {
		reader = pkg.Scope().Lookup("ReadCloser").Type()
	}
	request := server.Scope().Lookup("Request").Type().Underlying().(*types.Struct)
	for field := range request.Fields() {
		if field.Name() == "Body" && !types.Identical(field.Type(), reader) {
			t.Errorf("http.Request.Body is %v and not identical to io.ReadCloser", field.Type())
		}
	}
	if _, err := im.Import("example.com/nowhere"); err == nil || !strings.Contains(err.Error(), "example.com/nowhere is not in the standard library") {
		t.Errorf("importing a package that is not there: %v", err)
	}
}

func TestImporterChecksCode(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("GOROOT", "")
	const source = `package p
import ("fmt"; "slices"; "iter"; "os"; "encoding/json"; "unsafe"; "math/rand/v2"; "net/http")
func keys(m map[string]int) iter.Seq[string] { return func(yield func(string) bool) { for k := range m { if !yield(k) { return } } } }
func f(w http.ResponseWriter) error {
	s := slices.Collect(keys(map[string]int{"a": rand.IntN(3)}))
	slices.SortFunc(s, func(a, b string) int { return len(a) - len(b) })
	fmt.Fprintln(os.Stdout, s, unsafe.Sizeof(s))
	return json.NewEncoder(w).Encode(s)
}`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	im := stdlib.NewImporter()
	for range 2 {
		if _, err := (&types.Config{Importer: im}).Check("p", fset, []*ast.File{file}, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestByName(t *testing.T) {
	tests := []struct {
		name string
		want []string
	}{
		{"fmt", []string{"fmt"}},
		{"rand", []string{"math/rand", "math/rand/v2", "crypto/rand"}},
		{"template", []string{"text/template", "html/template"}},
		{"scanner", []string{"text/scanner", "go/scanner"}},
		{"pprof", []string{"runtime/pprof", "net/http/pprof"}},
		{"trace", []string{"runtime/trace"}},
		{"nosuch", nil},
		{"", nil},
	}
	for _, test := range tests {
		if got := stdlib.ByName(test.name); !slices.Equal(got, test.want) {
			t.Errorf("ByName(%q) = %q, want %q", test.name, got, test.want)
		}
	}
	for _, path := range stdlib.Packages() {
		if !slices.Contains(stdlib.ByName(stdlib.Name(path)), path) {
			t.Errorf("ByName(%q) does not have %s", stdlib.Name(path), path)
		}
	}
}

func TestNeeds(t *testing.T) {
	for path, need := range map[string]string{"bufio": "io", "net/http": "context", "os": "io/fs", "sort": ""} {
		got := stdlib.Needs(path)
		if need != "" && !slices.Contains(got, need) {
			t.Errorf("Needs(%q) = %q, without %s", path, got, need)
		}
		if slices.Contains(got, path) {
			t.Errorf("Needs(%q) has the package itself", path)
		}
	}
	for _, path := range stdlib.Packages() {
		for _, need := range stdlib.Needs(path) {
			if _, ok := stdlib.Symbols(need); !ok {
				t.Errorf("%s needs %s, which has no symbols", path, need)
			}
		}
	}
}

// use gives an interpreter the packages and what they need.
func use(t *testing.T, i *interp.Interpreter, paths ...string) {
	t.Helper()
	for _, path := range paths {
		for _, p := range append(stdlib.Needs(path), path) {
			exports, ok := stdlib.Symbols(p)
			if !ok {
				t.Fatalf("no symbols of %s", p)
			}
			if err := i.Use(exports); err != nil {
				t.Fatalf("Use(%s): %v", p, err)
			}
		}
	}
}

func TestInterpreterRuns(t *testing.T) {
	tests := []struct {
		imports string
		code    string
		want    string
	}{
		{"math", `math.Pi`, "3.141592653589793"},
		{"math", `uint64(math.MaxUint64)`, "18446744073709551615"},
		{"math", `math.SmallestNonzeroFloat64`, "5e-324"},
		{"math", `math.MaxFloat64`, "1.7976931348623157e+308"},
		{"time", `time.Second + 500*time.Millisecond`, "1.5s"},
		{"time", `time.RFC3339`, "2006-01-02T15:04:05Z07:00"},
		{"io", `io.EOF.Error()`, "EOF"},
		{"strings", `strings.Fields(" a b ")`, "[a b]"},
		{"math/rand/v2", `rand.New(rand.NewPCG(1, 2)).IntN(1)`, "0"},
		{"os/exec", `exec.Command("true").Args`, "[true]"},
		{"crypto/sha256", `sha256.Sum256(nil)[0]`, "227"},
		{"text/template", `template.HTMLEscapeString("<")`, "&lt;"},
		{"bufio", `type upper struct{}; func (upper) Read(p []byte) (int, error) { copy(p, "X\n"); return 2, nil }; func line() string { s, _ := bufio.NewReader(upper{}).ReadString('\n'); return s }; line()`, "X\n"},
		{"sort", `type byLen []string; func (b byLen) Len() int { return len(b) }; func (b byLen) Less(i, j int) bool { return len(b[i]) < len(b[j]) }; func (b byLen) Swap(i, j int) { b[i], b[j] = b[j], b[i] }; func sorted() []string { s := []string{"aaa", "b", "cc"}; sort.Sort(byLen(s)); return s }; sorted()`, "[b cc aaa]"},
	}
	for _, test := range tests {
		t.Run(test.imports+" "+test.code[:min(20, len(test.code))], func(t *testing.T) {
			i := interp.New(interp.Options{Unrestricted: true})
			use(t, i, test.imports, "fmt")
			if _, err := i.Eval(`import "` + test.imports + `"; import "fmt"`); err != nil {
				t.Fatal(err)
			}
			steps := strings.Split(test.code, "; func ")
			last := test.code
			if len(steps) > 1 {
				cut := strings.LastIndex(test.code, "; ")
				if _, err := i.Eval(test.code[:cut]); err != nil {
					t.Fatal(err)
				}
				last = test.code[cut+2:]
			}
			got, err := i.Eval("fmt.Sprint(" + last + ")")
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestVariablesAreAddressable(t *testing.T) {
	exports, _ := stdlib.Symbols("os")
	if v := exports["os/os"]["Args"]; !v.CanSet() || v.Type() != reflect.TypeFor[[]string]() {
		t.Errorf("os.Args is %v, settable: %v", v, v.CanSet())
	}
	if again, _ := stdlib.Symbols("os"); reflect.ValueOf(again).Pointer() != reflect.ValueOf(exports).Pointer() {
		t.Error("the tables of os were built twice")
	}
}

func TestUnsafe(t *testing.T) {
	for name, want := range map[string]bool{"Pointer": true, "Add": true, "Sizeof": true, "Slice": false, "nosuch": false} {
		if got := stdlib.Has("unsafe", name); got != want {
			t.Errorf("Has(unsafe, %s) = %v, want %v", name, got, want)
		}
	}
	i := interp.New(interp.Options{Unrestricted: true})
	use(t, i, "unsafe")
	if _, err := i.Eval(`import "unsafe"; var f = 1.5`); err != nil {
		t.Fatal(err)
	}
	if v, err := i.Eval(`*(*uint64)(unsafe.Pointer(&f))`); err != nil || v.Uint() != math.Float64bits(1.5) {
		t.Errorf("the bits of 1.5 are %v, %v", v, err)
	}
}

// An untyped constant has the value that the checker knows, whatever its size.
func TestUntypedConstantsExact(t *testing.T) {
	im := stdlib.NewImporter()
	for _, path := range stdlib.Packages() {
		exports, ok := stdlib.Symbols(path)
		if !ok {
			continue
		}
		pkg, err := im.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range exports[path+"/"+pkg.Name()] {
			object, isConst := pkg.Scope().Lookup(name).(*types.Const)
			got, isExact := value.Interface().(constant.Value)
			if isConst && isExact && !constant.Compare(got, token.EQL, object.Val()) {
				t.Errorf("%s.%s is %s and should be %s", path, name, got.ExactString(), object.Val().ExactString())
			}
		}
	}
}

func TestImporterReadsOthers(t *testing.T) {
	im := stdlib.NewImporter()
	fset := token.NewFileSet()
	const source = "package other\nimport \"io\"\ntype T struct{ R io.Reader }"
	file, err := parser.ParseFile(fset, "other.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := (&types.Config{Importer: im}).Check("example.com/other", fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer
	if err := gcexportdata.Write(&data, fset, pkg); err != nil {
		t.Fatal(err)
	}
	fresh := stdlib.NewImporter()
	read, err := fresh.Read("example.com/other", data.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	field := read.Scope().Lookup("T").Type().Underlying().(*types.Struct).Field(0).Type()
	lib, err := fresh.Import("io")
	if err != nil {
		t.Fatal(err)
	}
	if want := lib.Scope().Lookup("Reader").Type(); !types.Identical(field, want) {
		t.Errorf("the field's type %v is not io.Reader", field)
	}
	if _, err := fresh.Read("io", data.Bytes()); err == nil {
		t.Error("a package was read in the place of io")
	}
	if _, err := fresh.Read("example.com/broken", []byte("garbage")); err == nil {
		t.Error("garbage was read as export data")
	}
}

func TestUnknown(t *testing.T) {
	for _, path := range []string{"", "nosuch", "internal/abi", "plugin"} {
		if _, ok := stdlib.Symbols(path); ok {
			t.Errorf("there are symbols of %q", path)
		}
	}
	if stdlib.Has("slices", "Sort") || stdlib.Has("io", "_Reader") || stdlib.Has("nosuch", "X") {
		t.Error("Has tells of a symbol that is generic, a wrapper or not there")
	}
	if stdlib.Unsupported("plugin") == "" || stdlib.Unsupported("fmt") != "" {
		t.Error("plugin is supported, or fmt is not")
	}
}

func TestDoc(t *testing.T) {
	tests := []struct{ path, name, want string }{
		{"fmt", "", "Package fmt implements formatted I/O"},
		{"fmt", "Println", "Println formats using the default formats"},
		{"strings", "Builder", "A Builder is used to efficiently build"},
		{"strings", "Builder.WriteString", "WriteString appends the contents"},
		{"net/http", "Server.Addr", "Addr optionally specifies the TCP address"},
		{"io", "EOF", "EOF is the error returned by Read"},
		{"time", "Second", "Common durations"},
		{"fmt", "Stringer.String", ""},
		{"http", "Get", ""},
		{"net/http", "Get", "Get issues a GET"},
		{"builtin", "append", "The append built-in function"},
		{"nosuch", "X", ""},
		{"fmt", "nosuch", ""},
	}
	for _, test := range tests {
		got := stdlib.Doc(test.path, test.name)
		if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("Doc(%q, %q) = %.60q, want %q…", test.path, test.name, got, test.want)
		}
	}
	for _, path := range stdlib.Packages() {
		if stdlib.Doc(path, "") == "" {
			t.Errorf("package %s has no comment", path)
		}
	}
}

// The tables are data: making them costs nothing when a process starts.
func TestStartsWithoutWork(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the test binary again")
	}
	command := exec.Command(testBinary(t), "-test.run=^$")
	command.Env = append(command.Environ(), "GODEBUG=inittrace=1")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(stderr.String()) {
		if fields := strings.Fields(line); strings.Contains(line, "interp/internal/stdlib ") && len(fields) > 9 {
			if allocs := fields[9]; len(allocs) > 2 {
				t.Errorf("the package's start makes %s allocations; the tables are no longer static data:\n%s", allocs, line)
			}
			return
		}
	}
	t.Skipf("the runtime told nothing of the package's start:\n%s", stderr.String())
}

func testBinary(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
