package interp

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"reflect"

	"github.com/gorovod/gorovod/interp/internal/stdlib"
	"github.com/gorovod/gorovod/value"
)

// JSON gives a rank's encoded value as encoding/json would write it: exported fields, by their tags.
func (p *Plan) JSON(encoded []byte) (json.RawMessage, error) {
	if p.p.result == nil || p.p.result.t == nil || len(encoded) == 0 {
		return json.RawMessage("null"), nil
	}
	r := &reflector{p: p, busy: map[types.Type]bool{}}
	t, err := r.typeOf(p.p.result.t)
	if err != nil {
		return nil, err
	}
	v := reflect.New(t)
	if err := value.Unmarshal(encoded, v, value.Options{}); err != nil {
		return nil, err
	}
	return json.Marshal(v.Interface())
}

// reflector makes the reflect types of checked types, in a process that has no evaluator.
type reflector struct {
	p    *Plan
	busy map[types.Type]bool
}

var basicTypes = map[types.BasicKind]reflect.Type{
	types.Bool: reflect.TypeFor[bool](), types.String: reflect.TypeFor[string](),
	types.Int: reflect.TypeFor[int](), types.Int8: reflect.TypeFor[int8](), types.Int16: reflect.TypeFor[int16](),
	types.Int32: reflect.TypeFor[int32](), types.Int64: reflect.TypeFor[int64](),
	types.Uint: reflect.TypeFor[uint](), types.Uint8: reflect.TypeFor[uint8](), types.Uint16: reflect.TypeFor[uint16](),
	types.Uint32: reflect.TypeFor[uint32](), types.Uint64: reflect.TypeFor[uint64](), types.Uintptr: reflect.TypeFor[uintptr](),
	types.Float32: reflect.TypeFor[float32](), types.Float64: reflect.TypeFor[float64](),
	types.Complex64: reflect.TypeFor[complex64](), types.Complex128: reflect.TypeFor[complex128](),
}

func (r *reflector) typeOf(t types.Type) (reflect.Type, error) {
	t = types.Unalias(t)
	if r.busy[t] {
		return nil, fmt.Errorf("type %s refers to itself, which --json cannot write", t)
	}
	r.busy[t] = true
	defer delete(r.busy, t)
	switch t := t.(type) {
	case *types.Named:
		return r.named(t)
	case *types.Basic:
		if rt := basicTypes[t.Kind()]; rt != nil {
			return rt, nil
		}
	case *types.Pointer:
		return r.over(t.Elem(), reflect.PointerTo)
	case *types.Slice:
		return r.over(t.Elem(), reflect.SliceOf)
	case *types.Array:
		return r.over(t.Elem(), func(e reflect.Type) reflect.Type { return reflect.ArrayOf(int(t.Len()), e) })
	case *types.Map:
		k, err := r.typeOf(t.Key())
		if err != nil {
			return nil, err
		}
		return r.over(t.Elem(), func(e reflect.Type) reflect.Type { return reflect.MapOf(k, e) })
	case *types.Struct:
		return r.structType(t)
	case *types.Interface:
		if t.Empty() {
			return reflect.TypeFor[any](), nil
		}
	}
	return nil, fmt.Errorf("a value of type %s has no JSON form", t)
}

func (r *reflector) over(elem types.Type, wrap func(reflect.Type) reflect.Type) (reflect.Type, error) {
	e, err := r.typeOf(elem)
	if err != nil {
		return nil, err
	}
	return wrap(e), nil
}

func (r *reflector) named(t *types.Named) (reflect.Type, error) {
	obj := t.Obj()
	if obj.Pkg() == nil {
		return reflect.TypeFor[error](), nil
	}
	if obj.Pkg() == r.p.p.v.pkg || obj.Pkg().Path() == "main" {
		for _, m := range []string{"MarshalJSON", "MarshalText"} {
			if types.NewMethodSet(types.NewPointer(t)).Lookup(obj.Pkg(), m) != nil {
				return nil, fmt.Errorf("type %s has a method %s, which runs only on the ranks: return what it gives instead", obj.Name(), m)
			}
		}
		return r.typeOf(t.Underlying())
	}
	x, ok := stdlib.Symbols(obj.Pkg().Path())
	if !ok {
		return nil, fmt.Errorf("type %s has no JSON form here", t)
	}
	for _, symbols := range x {
		if s, ok := symbols[obj.Name()]; ok && s.Kind() == reflect.Pointer {
			return s.Type().Elem(), nil
		}
	}
	return nil, fmt.Errorf("type %s has no JSON form here", t)
}

// structType makes a struct whose unexported fields are there, since values travel by position, but not in the JSON.
func (r *reflector) structType(t *types.Struct) (reflect.Type, error) {
	var fields []reflect.StructField
	for i := range t.NumFields() {
		f := t.Field(i)
		ft, err := r.typeOf(f.Type())
		if err != nil {
			return nil, err
		}
		sf := reflect.StructField{Name: f.Name(), Type: ft, Tag: reflect.StructTag(t.Tag(i)), Anonymous: f.Embedded() && f.Exported() && ft.Kind() == reflect.Struct}
		if !f.Exported() {
			sf.Name, sf.Tag = "X"+itoa(i)+f.Name(), `json:"-"`
		}
		fields = append(fields, sf)
	}
	return structOf(fields)
}

// structOf turns the panic by which reflect refuses a struct into an error.
func structOf(fields []reflect.StructField) (t reflect.Type, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New(fmt.Sprint(r))
		}
	}()
	return reflect.StructOf(fields), nil
}
