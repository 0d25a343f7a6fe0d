package ours_test

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/traefik/yaegi/interp"

	"github.com/gorovod/gorovod/interp/internal/ours"
	"github.com/gorovod/gorovod/interp/internal/stdlib"
)

func TestPath(t *testing.T) {
	const display, hvd = "github.com/gorovod/gorovod/display", "github.com/gorovod/gorovod/hvd"
	if got := ours.Packages(); !slices.Equal(got, []string{display, hvd}) {
		t.Errorf("the packages are %v", got)
	}
	for path, want := range map[string]string{
		display: display, hvd: hvd, "display": display, "hvd": hvd,
		"github.com/gopherdata/gophernotes": display, "github.com/gopherdata/gophernotes/display": display,
		"": "", "fmt": "", "github.com/gorovod/gorovod": "", "github.com/gorovod/gorovod/": "", "github.com/gorovod/gorovod/interp": "",
	} {
		if got := ours.Path(path); got != want {
			t.Errorf("Path(%q) is %q, want %q", path, got, want)
		}
	}
	if ours.ByName("hvd") != hvd || ours.ByName("interp") != "" || ours.ByName("") != "" {
		t.Errorf("ByName gives %q, %q, %q", ours.ByName("hvd"), ours.ByName("interp"), ours.ByName(""))
	}
}

// TestTypesAndSymbols holds the checker's and the interpreter's view of a package to each other.
func TestTypesAndSymbols(t *testing.T) {
	std := stdlib.NewImporter()
	for _, path := range ours.Packages() {
		pkg, err := ours.Import(std, path)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ours.Import(std, path); again != pkg || err != nil {
			t.Errorf("a second import of %s gives another package (%v)", path, err)
		}
		exports, ok := ours.Symbols(path)
		if !ok {
			t.Fatalf("there are no symbols of %s", path)
		}
		symbols := exports[path+"/"+pkg.Name()]
		for _, name := range pkg.Scope().Names() {
			object := pkg.Scope().Lookup(name)
			if !object.Exported() {
				continue
			}
			if !ours.Has(path, name) || !symbols[name].IsValid() {
				t.Errorf("the interpreter lacks %s.%s", path, name)
			}
			if _, isType := object.(*types.TypeName); isType && types.IsInterface(object.Type()) && !symbols["_"+name].IsValid() {
				t.Errorf("there is no wrapper for %s.%s", path, name)
			}
		}
		for _, needed := range ours.Needs(path) {
			if _, ok := stdlib.Symbols(needed); !ok {
				t.Errorf("%s needs the symbols of %s, which are not there", path, needed)
			}
		}
	}
	if _, err := ours.Import(std, "display"); err == nil {
		t.Error("an alias was imported as if it were a path")
	}
	if _, ok := ours.Symbols("display"); ok || ours.Has("display", "HTML") || ours.Needs("fmt") != nil {
		t.Error("there are symbols of what is no path of ours")
	}
}

func TestImageIsThatOfTheStandardLibrary(t *testing.T) {
	std := stdlib.NewImporter()
	pkg, err := ours.Import(std, ours.Path("display"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := std.Import("image")
	if err != nil {
		t.Fatal(err)
	}
	param := pkg.Scope().Lookup("Image").(*types.Func).Signature().Params().At(0).Type()
	if !types.Identical(param, img.Scope().Lookup("Image").Type()) {
		t.Errorf("display.Image takes a %s that is not image.Image", param)
	}
}

func TestDoc(t *testing.T) {
	for _, test := range []struct{ path, name, start string }{
		{ours.Path("hvd"), "", "Package hvd is "},
		{ours.Path("hvd"), "Rank", "Rank gives "},
		{ours.Path("display"), "HTML", "HTML shows "},
		{ours.Path("display"), "HTMLer", "HTMLer shows "},
	} {
		if got := ours.Doc(test.path, test.name); !strings.HasPrefix(got, test.start) {
			t.Errorf("the comment of %s %s is %q", test.path, test.name, got)
		}
	}
	if got := ours.Doc("fmt", "Println"); got != "" {
		t.Errorf("the comment of fmt.Println is %q", got)
	}
}

// TestInterpretedValues hands values of interpreted types to the real functions of display.
func TestInterpretedValues(t *testing.T) {
	i := interp.New(interp.Options{})
	for _, path := range append([]string{ours.Path("display"), "fmt"}, ours.Needs(ours.Path("display"))...) {
		for _, symbols := range []func(string) (interp.Exports, bool){ours.Symbols, stdlib.Symbols} {
			if x, ok := symbols(path); ok {
				if err := i.Use(x); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := i.Use(interp.Exports{".": {"MapTypes": reflect.ValueOf(ours.MapTypes())}}); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Eval(`
		import ("fmt"; "image"; "image/color"; "github.com/gorovod/gorovod/display")
		type H struct{ text string }
		func (h H) HTML() string { return "<b>" + h.text + "</b>" }
		type S struct{ H }
		func (s S) String() string { return "text of " + s.text }
		type R int
		func (r *R) Render() display.Data { return display.Markdown(fmt.Sprint("# ", int(*r))) }
		type Dot struct{}
		func (Dot) ColorModel() color.Model { return color.GrayModel }
		func (Dot) Bounds() image.Rectangle { return image.Rect(0, 0, 2, 3) }
		func (Dot) At(x, y int) color.Color { return color.Black }
		var r R = 7
		func asHTMLer(h display.HTMLer) string { return h.HTML() }
	`); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ code, form, want string }{
		{`display.Auto(H{"x"})`, "text/html", "<b>x</b>"},
		{`display.Any("", H{"x"})`, "text/html", "<b>x</b>"},
		{`display.Auto(S{H{"x"}})`, "text/html", "<b>x</b>"},
		{`display.Auto(S{H{"x"}})`, "text/plain", "text of x"},
		{`display.Auto(&r)`, "text/markdown", "# 7"},
		{`display.HTML(asHTMLer(H{"y"}))`, "text/html", "<b>y</b>"},
		{`display.Image(Dot{})`, "text/plain", "image of 2 by 3 pixels"},
		{`display.MakeData(display.MIMETypeText, "z")`, "text/plain", "z"},
	} {
		v, err := i.Eval(test.code)
		if err != nil {
			t.Errorf("%s: %v", test.code, err)
			continue
		}
		form := v.FieldByName("Data").MapIndex(reflect.ValueOf(test.form))
		if !form.IsValid() || fmt.Sprint(form) != test.want {
			t.Errorf("%s gives %v as %s, want %s", test.code, v, test.form, test.want)
		}
	}
}
