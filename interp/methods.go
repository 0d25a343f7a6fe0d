package interp

import (
	"reflect"
	"unsafe"
)

// removeMethods takes methods that a Unit declares again off yaegi's types, since yaegi finds the first of a name. Its
// structures are not exported and are reached by their fields' names; a test holds them to what is expected here. The
// returned function puts the methods back, for a Unit that is then refused.
func (e *Evaluator) removeMethods(ms []Method) (restore func()) {
	var undo []func()
	for _, m := range ms {
		for _, list := range e.methodLists(m.Type) {
			old := list.Interface()
			kept := reflect.MakeSlice(list.Type(), 0, list.Len())
			for i := range list.Len() {
				if list.Index(i).Elem().FieldByName("ident").String() != m.Name {
					kept = reflect.Append(kept, list.Index(i))
				}
			}
			list.Set(kept)
			undo = append(undo, func() { list.Set(reflect.ValueOf(old)) })
		}
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

// methodLists gives the settable method lists of a type and of the pointer to it.
func (e *Evaluator) methodLists(name string) []reflect.Value {
	scopes := open(reflect.ValueOf(e.yaegi).Elem().FieldByName("scopes"))
	sc := scopes.MapIndex(reflect.ValueOf("main"))
	if !sc.IsValid() {
		return nil
	}
	sym := open(sc.Elem().FieldByName("sym")).MapIndex(reflect.ValueOf(name))
	if !sym.IsValid() || sym.IsNil() {
		return nil
	}
	typ := open(sym.Elem().FieldByName("typ"))
	if typ.IsNil() {
		return nil
	}
	out := []reflect.Value{open(typ.Elem().FieldByName("method"))}
	if ptr := open(typ.Elem().FieldByName("ptr")); ptr.IsValid() && ptr.Kind() == reflect.Pointer && !ptr.IsNil() {
		out = append(out, open(ptr.Elem().FieldByName("method")))
	}
	return out
}

// open gives an addressable field as if it were exported.
func open(v reflect.Value) reflect.Value {
	if !v.IsValid() || !v.CanAddr() {
		return v
	}
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}
