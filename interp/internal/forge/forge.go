// Package forge makes types at run time that reflection cannot make: types with a name, with unexported fields, with
// methods, and interface types. To compiled code they are what the compiler would have made of the same declarations,
// so that fmt, encoding/json, errors and all others treat their values as they should.
//
// A type is made in two steps, so that types can refer to each other: [New] gives it with its layout, [Type.Complete]
// fills in what it is made of. Methods are added by [Type.Method]. Types live as long as the process.
package forge

import (
	"fmt"
	"go/token"
	"hash/fnv"
	"reflect"
	"sync"
	"unsafe"
)

// Type is a named type that was made here, with the type of pointers to it.
type Type struct {
	mu      sync.Mutex
	name    string
	pkg     int32
	self    *rtype
	ptr     *rtype
	u, pu   *uncommon
	m, pm   *methods
	stubs   map[string][]int
	params  *[128]*rtype // of a function type
	methods []string     // names, in the order of the tables
	value   []string     // those that values have, not only pointers
}

var (
	keepMutex sync.Mutex
	keep      []*Type // the collector does not see all references to types
	keepAny   []any
	serial    uint32
)

func keepAlive(x ...any) {
	keepMutex.Lock()
	defer keepMutex.Unlock()
	keepAny = append(keepAny, x...)
}

func newHash(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	keepMutex.Lock()
	defer keepMutex.Unlock()
	serial++
	return h.Sum32() ^ serial*2654435761
}

// New gives a type with a name, as String gives it (main.T), and the layout of another. Until Complete it is not to be
// used but as a part of other types.
func New(pkg, name string, layout reflect.Type) *Type {
	t := &Type{name: pkg + "." + name, pkg: nameOff(pkg, false), stubs: map[string][]int{}}
	t.alloc(layout)
	t.self.hash = newHash(t.name)
	t.self.str = nameOff(t.name, token.IsExported(name))
	t.self.tflag = t.self.tflag&^flagExtraStar | flagNamed | flagUncommon
	t.u.pkgPath = t.pkg
	p := &ptrBlock{ptrType: *(*ptrType)(unsafe.Pointer(ptrOf(reflect.PointerTo(layout))))}
	p.elem, p.hash, p.str, p.ptrToThis = t.self, newHash("*"+t.name), nameOff("*"+t.name, false), 0
	p.tflag = p.tflag&^(flagExtraStar|flagNamed) | flagUncommon
	p.u.moff, p.u.pkgPath = uint32(unsafe.Offsetof(p.m)-unsafe.Offsetof(p.u)), t.pkg
	t.ptr, t.pu, t.pm = &p.rtype, &p.u, &p.m
	t.self.ptrToThis = typeOff(t.ptr)
	keepMutex.Lock()
	keep = append(keep, t)
	keepMutex.Unlock()
	return t
}

func (t *Type) alloc(layout reflect.Type) {
	src := unsafe.Pointer(ptrOf(layout))
	set := func(self *rtype, u *uncommon, m *methods) {
		t.self, t.u, t.m = self, u, m
		u.moff = uint32(uintptr(unsafe.Pointer(m)) - uintptr(unsafe.Pointer(u)))
	}
	switch layout.Kind() {
	case reflect.Struct:
		b := &structBlock{structType: *(*structType)(src)}
		set(&b.rtype, &b.u, &b.m)
	case reflect.Pointer, reflect.Slice:
		b := &ptrBlock{ptrType: *(*ptrType)(src)}
		set(&b.rtype, &b.u, &b.m)
	case reflect.Array:
		b := &arrayBlock{arrayType: *(*arrayType)(src)}
		set(&b.rtype, &b.u, &b.m)
	case reflect.Chan:
		b := &chanBlock{chanType: *(*chanType)(src)}
		set(&b.rtype, &b.u, &b.m)
	case reflect.Map:
		b := &mapBlock{mapType: *(*mapType)(src)}
		set(&b.rtype, &b.u, &b.m)
	case reflect.Func:
		b := &funcBlock{funcType: *(*funcType)(src)}
		set(&b.rtype, &b.u, &b.m)
		t.params = &b.params
	case reflect.Interface:
		b := &struct {
			interfaceBlock
			m methods
		}{interfaceBlock: interfaceBlock{interfaceType: *(*interfaceType)(src)}}
		set(&b.rtype, &b.u, &b.m)
	default:
		b := &basicBlock{rtype: *(*rtype)(src)}
		set(&b.rtype, &b.u, &b.m)
	}
}

// Type gives the reflect.Type.
func (t *Type) Type() reflect.Type { return typeOf(t.self) }

// Complete makes the type's underlying type that of another, which has the same layout.
func (t *Type) Complete(u reflect.Type) error {
	if u.Kind() != t.Type().Kind() {
		return fmt.Errorf("completing %s as %s: it was made as a %s", t.name, u, t.Type().Kind())
	}
	src := unsafe.Pointer(ptrOf(u))
	dst := unsafe.Pointer(t.self)
	switch u.Kind() {
	case reflect.Struct:
		s, d := (*structType)(src), (*structType)(dst)
		d.fields, d.pkgPath = s.fields, s.pkgPath
	case reflect.Pointer, reflect.Slice:
		(*ptrType)(dst).elem = (*ptrType)(src).elem
	case reflect.Array:
		s, d := (*arrayType)(src), (*arrayType)(dst)
		d.elem, d.slice = s.elem, s.slice
	case reflect.Chan:
		(*chanType)(dst).elem = (*chanType)(src).elem
	case reflect.Map:
		s, d := (*mapType)(src), (*mapType)(dst)
		base := d.rtype
		*d = *s
		d.rtype = base
	case reflect.Func:
		if u.NumIn()+u.NumOut() > len(t.params) {
			return fmt.Errorf("completing %s: too many parameters", t.name)
		}
		for i := range u.NumIn() {
			t.params[i] = ptrOf(u.In(i))
		}
		for i := range u.NumOut() {
			t.params[u.NumIn()+i] = ptrOf(u.Out(i))
		}
	case reflect.Interface:
		s, d := (*interfaceType)(src), (*interfaceType)(dst)
		d.methods, d.pkgPath = s.methods, s.pkgPath
	}
	keepAlive(u)
	return nil
}

// Direct says whether an interface holds a value of the type itself, not its address.
func Direct(t reflect.Type) bool { return ptrOf(t).tflag&flagDirect != 0 }

// Method is a method of a forged type. Func is a function of the receiver and the parameters; Pointer takes the
// receiver's address. Value is needed for types whose values interfaces hold directly.
type Method struct {
	Name    string
	Type    reflect.Type // without the receiver
	Pointer any
	Value   any  // for pointers only: nil
	OfValue bool // values have it too
}

// AddMethod adds a method, or gives the one of that name another function.
func (t *Type) AddMethod(m Method) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old, ok := t.stubs[m.Name]; ok {
		return t.replace(old, m)
	}
	if int(t.pu.mcount) == maxMethods {
		return fmt.Errorf("type %s has too many methods", t.name)
	}
	exported := token.IsExported(m.Name)
	name, mtyp := nameOff(m.Name, exported), typeOff(ptrOf(m.Type))
	p, err := stub(closureOf(m.Pointer))
	if err != nil {
		return err
	}
	ifn := addReflectOff(stubAddress(p))
	stubs := []int{p}
	insert(t.pu, t.pm, method{name, mtyp, ifn, ifn}, m.Name, exported, &t.methods)
	if m.OfValue {
		tfn := ifn
		if Direct(t.Type()) {
			v, err := stub(closureOf(m.Value))
			if err != nil {
				return err
			}
			ifn = addReflectOff(stubAddress(v))
			tfn = ifn
			stubs = append(stubs, v)
		} else {
			v, err := stub(closureOf(t.byValue(m)))
			if err != nil {
				return err
			}
			tfn = addReflectOff(stubAddress(v))
		}
		insert(t.u, t.m, method{name, mtyp, ifn, tfn}, m.Name, exported, &t.value)
	}
	t.stubs[m.Name] = stubs
	keepAlive(m.Type)
	return nil
}

func (t *Type) replace(stubs []int, m Method) error {
	stubMutex.Lock()
	defer stubMutex.Unlock()
	contexts[stubs[0]] = closureOf(m.Pointer)
	if len(stubs) > 1 && m.Value != nil {
		contexts[stubs[1]] = closureOf(m.Value)
	}
	return nil
}

// byValue gives a function that takes the receiver by value.
func (t *Type) byValue(m Method) any {
	in := []reflect.Type{t.Type()}
	for i := range m.Type.NumIn() {
		in = append(in, m.Type.In(i))
	}
	var out []reflect.Type
	for i := range m.Type.NumOut() {
		out = append(out, m.Type.Out(i))
	}
	f := reflect.ValueOf(m.Pointer)
	recv := f.Type().In(0)
	return reflect.MakeFunc(reflect.FuncOf(in, out, m.Type.IsVariadic()), func(args []reflect.Value) []reflect.Value {
		p := reflect.New(t.Type())
		p.Elem().Set(args[0])
		args[0] = reflect.NewAt(recv.Elem(), p.UnsafePointer())
		if m.Type.IsVariadic() {
			return f.CallSlice(args)
		}
		return f.Call(args)
	}).Interface()
}

// insert keeps a method table sorted by name, exported ones first, as the runtime expects it.
func insert(u *uncommon, table *methods, m method, name string, exported bool, names *[]string) {
	i := 0
	for i < len(*names) && (*names)[i] < name {
		i++
	}
	*names = append(*names, "")
	copy((*names)[i+1:], (*names)[i:])
	(*names)[i] = name
	copy(table[i+1:], table[i:u.mcount])
	table[i] = m
	u.mcount++
	if exported {
		u.xcount++
	}
}

// closureOf gives the address of a function value's closure.
func closureOf(f any) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&f))[1] }

// Field is a field of a struct type.
type Field struct {
	Name     string
	Type     reflect.Type
	Tag      string
	Embedded bool
}

// Struct gives a struct type without a name, whose layout is that of another.
func Struct(layout reflect.Type, text string, pkg string, fields []Field) (reflect.Type, error) {
	if layout.Kind() != reflect.Struct || layout.NumField() != len(fields) {
		return nil, fmt.Errorf("the interpreter keeps %s as %s", text, layout)
	}
	b := &structBlock{structType: *(*structType)(unsafe.Pointer(ptrOf(layout)))}
	b.fields = make([]structField, len(fields))
	b.pkgPath = encodeName(pkg, "", false, false)
	for i, f := range fields {
		b.fields[i] = structField{
			name:   encodeName(f.Name, f.Tag, token.IsExported(f.Name), f.Embedded),
			typ:    ptrOf(f.Type),
			offset: layout.Field(i).Offset,
		}
	}
	b.hash, b.str, b.ptrToThis = newHash(text), nameOff(text, false), 0
	b.tflag = b.tflag &^ (flagExtraStar | flagNamed | flagUncommon)
	keepAlive(b, fields)
	return typeOf(&b.rtype), nil
}

// InterfaceMethod is a method of an interface type.
type InterfaceMethod struct {
	Name string
	Type reflect.Type
}

// Interface is an interface type that was made here.
type Interface struct{ t *interfaceBlock }

// NewInterface gives an interface type. Its methods, sorted by name, are given by Complete. Without a name it is one
// that is written out.
func NewInterface(pkg, name string, empty bool) *Interface {
	src := reflect.TypeFor[error]()
	if empty {
		src = reflect.TypeFor[any]()
	}
	b := &interfaceBlock{interfaceType: *(*interfaceType)(unsafe.Pointer(ptrOf(src)))}
	full := name
	b.tflag = b.tflag &^ (flagExtraStar | flagNamed | flagUncommon)
	if token.IsIdentifier(name) || pkg != "" {
		full = pkg + "." + name
		b.tflag |= flagNamed | flagUncommon
	}
	b.hash, b.str, b.ptrToThis = newHash(full), nameOff(full, token.IsExported(name)), 0
	b.u.pkgPath = nameOff(pkg, false)
	b.u.moff = uint32(unsafe.Sizeof(b.u))
	b.pkgPath = encodeName("main", "", false, false)
	b.methods = nil
	keepAlive(b)
	return &Interface{b}
}

// SetMethods gives the type its methods' names, with types that stand for the right ones until Complete.
func (i *Interface) SetMethods(ms []InterfaceMethod) {
	out := make([]imethod, len(ms))
	for k, m := range ms {
		// All names are marked as exported: reflection calls no others, and the interpreter calls through reflection.
		out[k] = imethod{nameOff(m.Name, true), typeOff(ptrOf(m.Type))}
	}
	i.t.methods = out
	keepAlive(ms)
}

// Type gives the reflect.Type.
func (i *Interface) Type() reflect.Type { return typeOf(&i.t.rtype) }
