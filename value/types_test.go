package value_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorovod/gorovod/value"
)

// box stands for a non-empty interface, in the way of an interpreter that keeps such values in structs of its own.
type box struct {
	method func() // what reflect must not stumble over
	inner  reflect.Value
}

// naming is the Types of an imagined evaluator: it knows the test's types by short names, boxes, and leaves the rest
// to Builtin. It notes whatever it is asked.
type naming struct {
	value.Builtin
	asked *[]string
}

var shortNames = map[string]reflect.Type{
	"point": reflect.TypeFor[point](), "*list": reflect.TypeFor[*list](), "celsius": reflect.TypeFor[celsius](),
}

func (n naming) IsBox(t reflect.Type) bool  { return t == reflect.TypeFor[box]() }
func (n naming) IsNil(v reflect.Value) bool { return !v.Interface().(box).inner.IsValid() }

func (n naming) Name(v reflect.Value) (string, reflect.Value, error) {
	concrete := v
	if v.Kind() == reflect.Interface {
		concrete = v.Elem()
	}
	if b, ok := concrete.Interface().(box); ok {
		concrete = b.inner
	}
	*n.asked = append(*n.asked, concrete.Type().String())
	for name, t := range shortNames {
		if t == concrete.Type() {
			return name, concrete, nil
		}
	}
	return n.Builtin.Name(v)
}

func (n naming) New(name string, iface reflect.Type) (reflect.Type, error) {
	if t := shortNames[name]; t != nil {
		return t, nil
	}
	return n.Builtin.New(name, iface)
}

func (n naming) Store(name string, concrete reflect.Value, iface reflect.Type) (reflect.Value, error) {
	if n.IsBox(iface) {
		return reflect.ValueOf(box{inner: concrete}), nil
	}
	return n.Builtin.Store(name, concrete, iface)
}

func TestTypesIsAskedForEveryInterface(t *testing.T) {
	t.Parallel()
	type all struct {
		a     any
		err   error
		boxed box
		none  box
		m     map[any]any
		s     []any
	}
	asked := []string{}
	o := value.Options{Types: naming{asked: &asked}}
	in := all{
		a: point{1, 2}, err: errors.New("e"), boxed: box{func() {}, reflect.ValueOf(point{3, 4})},
		m: map[any]any{point{5, 6}: celsius(7)}, s: []any{&list{value: 8}, nil, 9, []any{point{9, 9}}},
	}
	b := mustMarshal(t, reflect.ValueOf(in), o)
	want := []string{
		"value_test.point", "*errors.errorString", "value_test.point", "value_test.point", "value_test.celsius",
		"*value_test.list", "int", "[]interface {}", "value_test.point",
	}
	// A key with an interface inside is encoded twice: to sort by it, and in its place.
	want = append(want[:4:4], append([]string{"value_test.point"}, want[4:]...)...)
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked for other interfaces (-want +got):\n%s", diff)
	}
	var out all
	if err := value.Unmarshal(b, reflect.ValueOf(&out), o); err != nil {
		t.Fatal(err)
	}
	if got := out.boxed.inner.Interface(); got != (point{3, 4}) || out.none.inner.IsValid() {
		t.Errorf("the boxes arrived as %v and %v", got, out.none)
	}
	out.boxed, in.boxed = box{}, box{}
	if diff := cmp.Diff(in, out, same, cmp.Comparer(func(a, b box) bool { return true })); diff != "" {
		t.Errorf("the value changed:\n%s", diff)
	}
	if err := o.Travels(reflect.TypeFor[all]()); err != nil {
		t.Errorf("with its Types the type travels, but: %v", err)
	}
	if err := value.Travels(reflect.TypeFor[all]()); err == nil || !strings.HasPrefix(err.Error(), ".boxed.method: ") {
		t.Errorf("without its Types a box is a struct: %v", err)
	}
}

// misbehaving is a Types whose answers are no good.
type misbehaving struct{ how string }

func (m misbehaving) Name(v reflect.Value) (string, reflect.Value, error) {
	switch m.how {
	case "panic":
		panic("name")
	case "nothing":
		return "x", reflect.Value{}, nil
	}
	return "x", v.Elem(), nil
}

func (m misbehaving) New(string, reflect.Type) (reflect.Type, error) {
	switch m.how {
	case "new panics":
		panic("new")
	case "no type":
		return nil, nil
	case "channel":
		return reflect.TypeFor[chan int](), nil
	}
	return reflect.TypeFor[int](), nil
}

func (m misbehaving) Store(_ string, v reflect.Value, _ reflect.Type) (reflect.Value, error) {
	switch m.how {
	case "store panics":
		panic("store")
	case "stores nothing":
		return reflect.Value{}, nil
	case "refuses":
		return v, errors.New("not today")
	}
	return v, nil
}

func TestMisbehavingTypesGiveErrors(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"panic": "finding the dynamic type panicked: name", "nothing": `"x" came without a value`,
		"new panics": "panicked: new", "no type": `no type is known here by the name "x"`, "channel": "a channel cannot travel",
		"store panics": "panicked: store", "stores nothing": "cannot be held by", "refuses": "not today", "wrong": "cannot be held by",
	} {
		o := value.Options{Types: misbehaving{how}}
		var in fmt.Stringer = stringer(1)
		b, err := value.Marshal(reflect.ValueOf(&in).Elem(), o)
		if err == nil {
			err = value.Unmarshal(b, reflect.ValueOf(&in).Elem(), o)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", how, err, want)
		}
	}
}

type stringer int

func (stringer) String() string { return "" }
