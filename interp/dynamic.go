package interp

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/gorovod/gorovod/value"
)

// dynamicTypes tells package value what is in the interfaces of evaluated code. yaegi keeps a value of a notebook's type
// in an interface in one of three ways: bare, as the anonymous struct that it makes for the type; in a box that also
// knows the type's name (valueInterface); or in a wrapper with methods for compiled code (a struct with IValue first).
type dynamicTypes struct{ e *Evaluator }

var _ value.Boxer = (*dynamicTypes)(nil)

const yaegiPath = "github.com/traefik/yaegi/interp"

// IsBox tells yaegi's valueInterface.
func (d *dynamicTypes) IsBox(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.Name() == "valueInterface" && t.PkgPath() == yaegiPath
}

// IsNil tells a box that holds nothing.
func (d *dynamicTypes) IsNil(v reflect.Value) bool { return !unbox(v).IsValid() }

// unbox takes the value out of a valueInterface, whose fields are not exported.
func unbox(v reflect.Value) reflect.Value {
	if !v.CanAddr() {
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		v = c
	}
	f := v.FieldByName("value")
	if !f.IsValid() || f.Type() != reflect.TypeOf(reflect.Value{}) {
		return reflect.Value{}
	}
	return *(*reflect.Value)(unsafe.Pointer(f.UnsafeAddr()))
}

// boxedName reads the type's name from a box.
func boxedName(v reflect.Value) string {
	n := v.FieldByName("node")
	if !n.IsValid() || n.IsNil() {
		return ""
	}
	t := n.Elem().FieldByName("typ")
	if !t.IsValid() || t.IsNil() {
		return ""
	}
	return t.Elem().FieldByName("name").String()
}

// Name names what an interface holds.
func (d *dynamicTypes) Name(v reflect.Value) (string, reflect.Value, error) {
	for {
		switch {
		case v.Kind() == reflect.Interface && !v.IsNil() && (d.IsBox(v.Elem().Type()) || isWrapper(v.Elem().Type())):
			v = v.Elem()
			continue
		case d.IsBox(v.Type()):
			name := boxedName(v)
			v = unbox(v)
			if t := d.e.types[name]; t != nil && v.IsValid() && t == v.Type() {
				return notebookPrefix + name, v, nil
			}
			continue
		case isWrapper(v.Type()):
			if err, ok := v.Interface().(error); ok {
				return value.Builtin{}.Name(reflect.ValueOf(&err).Elem())
			}
			v = v.Field(0)
			continue
		}
		break
	}
	dyn := v
	if dyn.Kind() == reflect.Interface {
		dyn = dyn.Elem()
	}
	if dyn.IsValid() {
		if name, ok, err := d.notebookName(dyn.Type()); err != nil {
			return "", reflect.Value{}, err
		} else if ok {
			return name, dyn, nil
		}
	}
	return value.Builtin{}.Name(v)
}

const notebookPrefix = "notebook."

// notebookName finds the notebook's type that yaegi's reflect type stands for. Several types may have the same one: then
// the name is not known, and guessing it would change the value.
func (d *dynamicTypes) notebookName(t reflect.Type) (string, bool, error) {
	prefix := notebookPrefix
	elem := t
	if t.Kind() == reflect.Pointer {
		prefix, elem = "*"+prefix, t.Elem()
	}
	if elem.Kind() != reflect.Struct || elem.Name() != "" {
		return "", false, nil
	}
	found := ""
	for name, nt := range d.e.types {
		if nt != elem {
			continue
		}
		if found != "" {
			return "", false, fmt.Errorf("an interface holds a value that may be of type %s or %s: the interpreter keeps them alike", clean(min(found, name)), clean(max(found, name)))
		}
		found = name
	}
	return prefix + found, found != "", nil
}

func isWrapper(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).Name == "IValue" && len(t.Name()) > 0 && t.Name()[0] == '_'
}

// New gives the type of a name.
func (d *dynamicTypes) New(name string, iface reflect.Type) (reflect.Type, error) {
	if t := d.notebookType(name); t != nil {
		return t, nil
	}
	return value.Builtin{}.New(name, iface)
}

func (d *dynamicTypes) notebookType(name string) reflect.Type {
	ptr := false
	if len(name) > 0 && name[0] == '*' {
		ptr, name = true, name[1:]
	}
	if len(name) <= len(notebookPrefix) || name[:len(notebookPrefix)] != notebookPrefix {
		return nil
	}
	t := d.e.types[name[len(notebookPrefix):]]
	if t != nil && ptr {
		return reflect.PointerTo(t)
	}
	return t
}

// Store puts a value into an interface.
func (d *dynamicTypes) Store(name string, concrete reflect.Value, iface reflect.Type) (reflect.Value, error) {
	if d.IsBox(iface) {
		return reflect.Value{}, fmt.Errorf("a value of type %s in an interface of the notebook cannot travel: use a struct or any", clean(name))
	}
	if d.notebookType(name) == nil {
		return value.Builtin{}.Store(name, concrete, iface)
	}
	if !concrete.Type().AssignableTo(iface) {
		return reflect.Value{}, fmt.Errorf("a value of type %s cannot be put into %s here", clean(name), iface)
	}
	out := reflect.New(iface).Elem()
	out.Set(concrete)
	return out, nil
}
