package forge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// as gives a value another type of the same layout.
func as(v any, t reflect.Type) any {
	(*[2]unsafe.Pointer)(unsafe.Pointer(&v))[0] = unsafe.Pointer(ptrOf(t))
	return v
}

type inner = struct {
	XA int
	XB string
	C  []float64
}

func forged(t *testing.T) *Type {
	t.Helper()
	layout := reflect.TypeFor[inner]()
	n := New("main", "T", layout)
	s, err := Struct(layout, "struct{...}", "main", []Field{
		{Name: "a", Type: reflect.TypeFor[int]()}, {Name: "B", Type: reflect.TypeFor[string](), Tag: `json:"bee"`},
		{Name: "C", Type: reflect.TypeFor[[]float64]()},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Complete(s); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPrint(t *testing.T) {
	n := forged(t)
	v := as(inner{1, "x", []float64{2}}, n.Type())
	if got, want := fmt.Sprintf("%v %+v %#v %T", v, v, v, v), `{1 x [2]} {a:1 B:x C:[2]} main.T{a:1, B:"x", C:[]float64{2}} main.T`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if j, _ := json.Marshal(v); string(j) != `{"bee":"x","C":[2]}` {
		t.Errorf("json: %s", j)
	}
	if rt := reflect.TypeOf(v); rt.Name() != "T" || rt.PkgPath() != "main" || reflect.PointerTo(rt).String() != "*main.T" {
		t.Errorf("%s %s %s", rt.Name(), rt.PkgPath(), reflect.PointerTo(rt))
	}
	runtime.GC()
	if !reflect.DeepEqual(v, as(inner{1, "x", []float64{2}}, n.Type())) {
		t.Error("not equal")
	}
}

func TestMethods(t *testing.T) {
	n := forged(t)
	add := func(name string, f any, of bool) {
		t.Helper()
		ft := reflect.TypeOf(f)
		var in, out []reflect.Type
		for i := 1; i < ft.NumIn(); i++ {
			in = append(in, ft.In(i))
		}
		for i := range ft.NumOut() {
			out = append(out, ft.Out(i))
		}
		made := reflect.MakeFunc(ft, func(a []reflect.Value) []reflect.Value { return reflect.ValueOf(f).Call(a) }).Interface()
		if err := n.AddMethod(Method{Name: name, Type: reflect.FuncOf(in, out, ft.IsVariadic()), Pointer: made, OfValue: of}); err != nil {
			t.Fatal(err)
		}
	}
	add("String", func(p *inner) string { return "<" + p.XB + ">" }, true)
	add("Read", func(p *inner, b []byte) (int, error) { p.XA++; return copy(b, p.XB), io.EOF }, false)
	v := as(inner{1, "x", nil}, n.Type())
	p := &inner{1, "hello", nil}
	pv := as(p, reflect.PointerTo(n.Type()))
	if got := fmt.Sprint(v, pv, []any{v}, map[string]any{"k": pv}); got != "<x> <hello> [<x>] map[k:<hello>]" {
		t.Error(got)
	}
	slice := reflect.MakeSlice(reflect.SliceOf(n.Type()), 2, 2).Interface()
	if got := fmt.Sprint(slice); got != "[<> <>]" {
		t.Error(got)
	}
	b, err := io.ReadAll(pv.(io.Reader))
	if string(b) != "hello" || err != nil || p.XA != 2 {
		t.Error(b, err, p.XA)
	}
	if _, ok := v.(io.Reader); ok {
		t.Error("a value has a pointer's method")
	}
	if s := v.(fmt.Stringer); s.String() != "<x>" {
		t.Error(s.String())
	}
	m, _ := reflect.TypeOf(v).MethodByName("String")
	if got := m.Func.Call([]reflect.Value{reflect.ValueOf(v)})[0].String(); got != "<x>" {
		t.Error(got)
	}
	n = forged(t)
	add("Error", func(p *inner) string { return strings.ToUpper(p.XB) }, true)
	e := as(inner{1, "bad", nil}, n.Type()).(error)
	if got := fmt.Sprint(fmt.Errorf("so %w", e)); got != "so BAD" {
		t.Error(got)
	}
	target := as(new(inner), reflect.PointerTo(n.Type()))
	if !errors.As(fmt.Errorf("so %w", e), target) {
		t.Error("As")
	}
	for range 20 {
		runtime.GC()
		_ = make([]byte, 1<<20)
	}
	done := make(chan string)
	go func() { // a new stack, which grows inside the method
		add("Deep", func(p *inner) string {
			var f func(int) string
			f = func(i int) string {
				if i == 0 {
					return p.XB
				}
				var pad [1000]byte
				_ = pad[i%1000]
				return f(i - 1)
			}
			return f(1000)
		}, true)
		done <- as(inner{1, "deep", nil}, n.Type()).(interface{ Deep() string }).Deep()
	}()
	if got := <-done; got != "deep" {
		t.Error(got)
	}
}

func TestInterface(t *testing.T) {
	i := NewInterface("main", "Shape", false)
	i.SetMethods([]InterfaceMethod{{"String", reflect.TypeFor[func() string]()}})
	if got := i.Type().String(); got != "main.Shape" || i.Type().NumMethod() != 1 {
		t.Error(got)
	}
	n := forged(t)
	f := func(p *inner) string { return "hi" }
	_ = n.AddMethod(Method{Name: "String", Type: reflect.TypeFor[func() string](), Pointer: f, OfValue: true})
	if !n.Type().Implements(i.Type()) {
		t.Error("does not implement")
	}
	v := reflect.New(i.Type()).Elem()
	v.Set(reflect.ValueOf(as(inner{}, n.Type())))
	if got := v.Method(0).Call(nil)[0].String(); got != "hi" {
		t.Error(got)
	}
	if got := fmt.Sprint(v.Interface()); got != "hi" {
		t.Error(got)
	}
}

func TestStubs(t *testing.T) {
	for _, i := range []int{0, 7, 8, 63, 64, 511, 512, 4097, stubCount - 1} {
		old := contexts[i]
		f := func() int { return i }
		contexts[i] = *(*unsafe.Pointer)(unsafe.Pointer(&f))
		entry := stubAddress(i)
		closure := &entry
		g := *(*func() int)(unsafe.Pointer(&closure))
		if got := g(); got != i {
			t.Errorf("entry %d goes to %d", i, got)
		}
		contexts[i] = old
	}
}
