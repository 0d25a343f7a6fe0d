package interp

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
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
		if name, ok, err := d.e.boxes.travelName(dyn.Type()); err != nil || ok {
			return name, dyn, err
		}
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
	if strings.Contains(name, notebookPrefix) {
		t, rest, err := d.e.boxes.travelType(name, iface)
		if err == nil && rest != "" {
			err = fmt.Errorf("%q is no name of a type", name)
		}
		return t, err
	}
	return value.Builtin{}.New(name, iface)
}

// Store puts a value into an interface.
func (d *dynamicTypes) Store(name string, concrete reflect.Value, iface reflect.Type) (reflect.Value, error) {
	if d.IsBox(iface) {
		return reflect.Value{}, fmt.Errorf("a value of type %s in an interface of the notebook cannot travel: use a struct or any", clean(name))
	}
	if !strings.Contains(name, notebookPrefix) {
		return value.Builtin{}.Store(name, concrete, iface)
	}
	if !concrete.Type().AssignableTo(iface) {
		return reflect.Value{}, fmt.Errorf("a value of type %s cannot be put into %s here", clean(name), iface)
	}
	out := reflect.New(iface).Elem()
	out.Set(concrete)
	return out, nil
}

// travelName names a type that a type of the notebook is part of.
func (b *boxes) travelName(t reflect.Type) (name string, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ours(t) {
		return "", false, nil
	}
	name, err = b.nameOf(t)
	return name, true, err
}

func (b *boxes) ours(t reflect.Type) bool {
	if b.made[t] != nil {
		return true
	}
	if t.Name() != "" {
		return false
	}
	switch t.Kind() {
	case reflect.Map:
		return b.ours(t.Key()) || b.ours(t.Elem())
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return b.ours(t.Elem())
	}
	return false
}

func (b *boxes) nameOf(t reflect.Type) (string, error) {
	if d := b.made[t]; d != nil {
		if b.newest[d.key] != d {
			return "", fmt.Errorf("an interface holds a value of type %s as it was declared before", d.display)
		}
		return notebookPrefix + d.key, nil
	}
	if t.Name() == "" {
		elem := func(prefix string) (string, error) {
			name, err := b.nameOf(t.Elem())
			return prefix + name, err
		}
		switch t.Kind() {
		case reflect.Pointer:
			return elem("*")
		case reflect.Slice:
			return elem("[]")
		case reflect.Array:
			return elem("[" + strconv.Itoa(t.Len()) + "]")
		case reflect.Map:
			key, err := b.nameOf(t.Key())
			if err != nil {
				return "", err
			}
			return elem("map[" + key + "]")
		}
	}
	v := reflect.New(reflect.TypeFor[any]()).Elem()
	v.Set(reflect.Zero(t))
	name, _, err := value.Builtin{}.Name(v)
	return name, err
}

// travelType finds the type that travelName named, at the beginning of a name.
func (b *boxes) travelType(name string, iface reflect.Type) (t reflect.Type, rest string, err error) {
	composed := func(rest string, of func(reflect.Type) reflect.Type) (reflect.Type, string, error) {
		t, rest, err := b.travelType(rest, iface)
		if err != nil {
			return nil, "", err
		}
		return of(t), rest, nil
	}
	switch {
	case len(name) > 1000:
		return nil, "", fmt.Errorf("the name of a type is too long")
	case strings.HasPrefix(name, "*"):
		return composed(name[1:], reflect.PointerTo)
	case strings.HasPrefix(name, "[]"):
		return composed(name[2:], reflect.SliceOf)
	case strings.HasPrefix(name, "["):
		number, rest, _ := strings.Cut(name[1:], "]")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > 1<<20 {
			return nil, "", fmt.Errorf("%q is no name of a type", name)
		}
		return composed(rest, func(t reflect.Type) reflect.Type { return reflect.ArrayOf(n, t) })
	case strings.HasPrefix(name, "map["):
		key, rest, err := b.travelType(name[4:], iface)
		if err != nil {
			return nil, "", err
		}
		if !strings.HasPrefix(rest, "]") || !key.Comparable() {
			return nil, "", fmt.Errorf("%q is no name of a type", name)
		}
		return composed(rest[1:], func(t reflect.Type) reflect.Type { return reflect.MapOf(key, t) })
	}
	leaf := name
	if i := strings.IndexByte(name, ']'); i >= 0 && !strings.Contains(name[:i], "[") {
		leaf = name[:i]
	}
	if key, ok := strings.CutPrefix(leaf, notebookPrefix); ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		d := b.newest[key]
		if d == nil {
			return nil, "", fmt.Errorf("type %s is not known here", clean(key))
		}
		return b.forged(d.name, d.inner), name[len(leaf):], nil
	}
	t, err = value.Builtin{}.New(leaf, iface)
	return t, name[len(leaf):], err
}
