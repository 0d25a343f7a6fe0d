package value_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/gorovod/gorovod/value"
)

// interpreted builds the type that an interpreter makes for t: every struct anonymous, every field exported, an
// unexported one by an X in front.
func interpreted(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Slice:
		return reflect.SliceOf(interpreted(t.Elem()))
	case reflect.Array:
		return reflect.ArrayOf(t.Len(), interpreted(t.Elem()))
	case reflect.Pointer:
		return reflect.PointerTo(interpreted(t.Elem()))
	case reflect.Map:
		return reflect.MapOf(interpreted(t.Key()), interpreted(t.Elem()))
	case reflect.Struct:
		if !strings.HasPrefix(t.PkgPath(), "github.com/gorovod") {
			return t
		}
		fields := make([]reflect.StructField, t.NumField())
		for i := range fields {
			f := t.Field(i)
			name := f.Name
			if !unicode.IsUpper(rune(name[0])) {
				name = "X" + name
			}
			fields[i] = reflect.StructField{Name: name, Type: interpreted(f.Type)}
		}
		return reflect.StructOf(fields)
	}
	return t
}

type (
	layer struct {
		weights [][]float32
		bias    []float32
		act     *string
	}
	model struct {
		Name    string
		layers  []layer
		byName  map[string]*layer
		byPoint map[point]layer
		grid    [2][2]point
		_       bool
		layer
		n     celsius
		best  *layer
		nowAs struct{ a, B int }
	}
)

func newModel() model {
	relu := "relu"
	l := layer{weights: [][]float32{{1, 2}, nil}, bias: []float32{}, act: &relu}
	return model{
		Name: "m", layers: []layer{l, {}}, byName: map[string]*layer{"first": &l, "none": nil},
		byPoint: map[point]layer{{1, 2}: l}, grid: [2][2]point{{{1, 2}, {3, 4}}, {}},
		layer: l, n: 36.6, best: &l, nowAs: struct{ a, B int }{5, 6},
	}
}

func TestInterpretedAndCompiledLayoutsShareBytes(t *testing.T) {
	t.Parallel()
	in := newModel()
	sent := mustMarshal(t, reflect.ValueOf(in), value.Options{})

	other := reflect.New(interpreted(reflect.TypeFor[model]()))
	if err := value.Unmarshal(sent, other, value.Options{}); err != nil {
		t.Fatalf("compiled to interpreted: %v", err)
	}
	if got := fmt.Sprint(other.Elem().FieldByName("Xlayers").Index(0).FieldByName("Xweights")); got != "[[1 2] []]" {
		t.Errorf("the unexported field arrived as %s", got)
	}
	back := mustMarshal(t, other.Elem(), value.Options{})
	if string(back) != string(sent) {
		t.Error("the interpreted layout is encoded in other bytes")
	}
	var out model
	if err := value.Unmarshal(back, reflect.ValueOf(&out), value.Options{}); err != nil {
		t.Fatalf("interpreted to compiled: %v", err)
	}
	if diff := cmp.Diff(in, out, same); diff != "" {
		t.Errorf("the value changed (-sent +arrived):\n%s", diff)
	}
	if out.best != out.byName["first"] {
		t.Error("a pointer that was shared is no longer")
	}
}

// A value that reflect marked as read from an unexported field is encoded like any other, if it has an address.
func TestValuesOfUnexportedFields(t *testing.T) {
	t.Parallel()
	m := newModel()
	b := mustMarshal(t, reflect.ValueOf(&m).Elem().FieldByName("layers"), value.Options{})
	var got []layer
	if err := value.Unmarshal(b, reflect.ValueOf(&got), value.Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.layers, got, same); diff != "" {
		t.Error(diff)
	}
	if _, err := value.Marshal(reflect.ValueOf(m).FieldByName("layers"), value.Options{}); err == nil {
		t.Error("a value without an address, read from an unexported field, was encoded")
	}
}
