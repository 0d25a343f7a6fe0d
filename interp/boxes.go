package interp

import (
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	yaegi "github.com/traefik/yaegi/interp"

	"github.com/gorovod/gorovod/interp/internal/forge"
)

// boxes makes the types that interfaces hold, from what lowered code says of them (describe.go) and from the types
// that yaegi has. Both have the same layout, so that a value changes its type by its type word alone.
type boxes struct {
	mu     sync.Mutex
	named  map[string]*declaredType
	ifaces map[string]*forge.Interface
	cache  sync.Map                // boxKey to reflect.Type
	origin map[reflect.Type]string // shapes of the types made
	inner  map[reflect.Type]reflect.Type
	newest map[string]*declaredType // by the notebook's names
	made   map[reflect.Type]*declaredType
	stale  bool // types were made again since
}

// boxKey says which type is asked for: a shape, and yaegi's type, which has what the shape leaves out.
type boxKey struct {
	shape string
	inner reflect.Type
}

// declaredType is a type that the notebook declares.
type declaredType struct {
	name    string // the evaluator's
	key     string // the notebook's
	display string // Go's
	shape   string
	inner   reflect.Type
	forged  *forge.Type
	methods map[string]forge.Method
}

// basicAsserts are assertions of basic types, by the types' names.
var basicAsserts = map[string]reflect.Value{
	"Int": basicAssert[int](), "Int8": basicAssert[int8](), "Int16": basicAssert[int16](), "Int32": basicAssert[int32](),
	"Int64": basicAssert[int64](), "Uint": basicAssert[uint](), "Uint8": basicAssert[uint8](), "Uint16": basicAssert[uint16](),
	"Uint32": basicAssert[uint32](), "Uint64": basicAssert[uint64](), "Uintptr": basicAssert[uintptr](),
	"Float32": basicAssert[float32](), "Float64": basicAssert[float64](), "Bool": basicAssert[bool](), "String": basicAssert[string](),
	"Complex64": basicAssert[complex64](), "Complex128": basicAssert[complex128](),
}

func basicAssert[T any]() reflect.Value {
	return reflect.ValueOf(func(x any) (T, bool) {
		v, ok := unwrapped(x).(T)
		return v, ok
	})
}

// basicName gives the name of a basic type among basicAsserts: byte and rune are what they stand for.
func basicName(b *types.Basic) string {
	name := types.Typ[b.Kind()].Name()
	return strings.ToUpper(name[:1]) + name[1:]
}

func newBoxes() *boxes {
	return &boxes{named: map[string]*declaredType{}, ifaces: map[string]*forge.Interface{}, origin: map[reflect.Type]string{},
		inner: map[reflect.Type]reflect.Type{}, newest: map[string]*declaredType{}, made: map[reflect.Type]*declaredType{}}
}

// symbols gives what lowered code calls.
func (b *boxes) symbols() map[string]reflect.Value {
	m := map[string]reflect.Value{
		"Named":  reflect.ValueOf(b.declare),
		"Method": reflect.ValueOf(b.method),
		"Box":    reflect.ValueOf(b.box),
		"As":     reflect.ValueOf(b.as),
		"Is":     reflect.ValueOf(b.is),
		"Try":    reflect.ValueOf(b.try),
		"Which":  reflect.ValueOf(b.which),
		"Any":    reflect.ValueOf(func(x any) any { return x }),
		"Equal":  reflect.ValueOf(func(x, y any) bool { return x == y }),
	}
	for name, f := range basicAsserts {
		m["Is"+name] = f
	}
	return m
}

// declare notes a declared type. p is a nil pointer to it.
func (b *boxes) declare(name, key, display, shape string, p any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &declaredType{name: name, key: key, display: display, shape: shape, inner: reflect.TypeOf(p).Elem(), methods: map[string]forge.Method{}}
	b.named[name], b.newest[key] = t, t
}

// method notes a method of a declared type: a function of the receiver's address, and one of the receiver where an
// interface holds that itself.
func (b *boxes) method(typ, name string, ofValue bool, pointer, value any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.named[typ]
	if t == nil {
		return
	}
	f := reflect.TypeOf(pointer)
	var in, out []reflect.Type
	for i := 1; i < f.NumIn(); i++ {
		in = append(in, f.In(i))
	}
	for i := range f.NumOut() {
		out = append(out, f.Out(i))
	}
	m := forge.Method{Name: name, Type: reflect.FuncOf(in, out, f.IsVariadic()), Pointer: pointer, Value: value, OfValue: ofValue}
	if value == nil {
		m.Value = pointer
	}
	old, known := t.methods[name]
	t.methods[name] = m
	switch {
	case t.forged == nil:
	case known && old.Type == m.Type && old.OfValue == m.OfValue:
		if err := t.forged.AddMethod(m); err != nil {
			panic(err)
		}
	default: // the runtime remembers what a type does not implement: from now on it is another type
		b.renew()
	}
}

// renew lets all types be made again.
func (b *boxes) renew() {
	for _, t := range b.named {
		t.forged = nil
	}
	b.cache.Clear()
	b.stale = true
}

// layoutError is raised where yaegi keeps a type in a way that is not expected here.
type layoutError struct{ shape, rest string }

func (e layoutError) Error() string {
	return "the interpreter keeps a type in a way that is not known here: " + clean(e.shape)
}

// outer gives the type that an interface holds for a type of yaegi.
func (b *boxes) outer(shape string, inner reflect.Type) reflect.Type {
	key := boxKey{shape, inner}
	if t, ok := b.cache.Load(key); ok {
		return t.(reflect.Type)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := shapeReader{b: b, all: shape, rest: shape}
	t := p.read(inner)
	b.cache.Store(key, t)
	if shape != "=" {
		b.origin[t] = shape
		b.inner[t] = inner
	}
	return t
}

type shapeReader struct {
	b         *boxes
	all, rest string
}

func (p *shapeReader) fail() { panic(layoutError{p.all, p.rest}) }

func (p *shapeReader) kind(t reflect.Type, k reflect.Kind) {
	if t.Kind() != k {
		p.fail()
	}
}

// until takes the text up to a mark.
func (p *shapeReader) until(mark byte) string {
	i := strings.IndexByte(p.rest, mark)
	if i < 0 {
		p.fail()
	}
	s := p.rest[:i]
	p.rest = p.rest[i+1:]
	return s
}

func (p *shapeReader) read(inner reflect.Type) reflect.Type {
	if p.rest == "" {
		p.fail()
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	switch c {
	case '=':
		return inner
	case 'N':
		return p.b.forged(p.until(';'), inner)
	case '*':
		p.kind(inner, reflect.Pointer)
		return reflect.PointerTo(p.read(inner.Elem()))
	case '[':
		p.kind(inner, reflect.Slice)
		return reflect.SliceOf(p.read(inner.Elem()))
	case 'a':
		p.kind(inner, reflect.Array)
		return reflect.ArrayOf(inner.Len(), p.read(inner.Elem()))
	case 'c':
		p.kind(inner, reflect.Chan)
		return reflect.ChanOf(inner.ChanDir(), p.read(inner.Elem()))
	case 'm':
		p.kind(inner, reflect.Map)
		key := p.read(inner.Key())
		return reflect.MapOf(key, p.read(inner.Elem()))
	case 'f':
		p.kind(inner, reflect.Func)
		var in, out []reflect.Type
		for i := range inner.NumIn() {
			in = append(in, p.read(inner.In(i)))
		}
		for i := range inner.NumOut() {
			out = append(out, p.read(inner.Out(i)))
		}
		return reflect.FuncOf(in, out, inner.IsVariadic())
	case 's':
		p.kind(inner, reflect.Struct)
		return p.structType(inner)
	}
	p.fail()
	return nil
}

func (p *shapeReader) structType(inner reflect.Type) reflect.Type {
	var fields []forge.Field
	start := p.rest
	for i := 0; !strings.HasPrefix(p.rest, "."); i++ {
		if i >= inner.NumField() || p.rest == "" {
			p.fail()
		}
		embedded := p.rest[0] == 'e'
		p.rest = p.rest[1:]
		name := p.until(';')
		quoted, err := strconv.QuotedPrefix(p.rest)
		if err != nil {
			p.fail()
		}
		p.rest = p.rest[len(quoted):]
		tag, _ := strconv.Unquote(quoted)
		fields = append(fields, forge.Field{Name: name, Tag: tag, Embedded: embedded, Type: p.read(inner.Field(i).Type)})
	}
	key := boxKey{"s" + start[:len(start)-len(p.rest)], inner}
	p.rest = p.rest[1:]
	if t, ok := p.b.cache.Load(key); ok {
		return t.(reflect.Type)
	}
	t, err := forge.Struct(inner, structText(fields), "main", fields)
	if err != nil {
		p.fail()
	}
	p.b.cache.Store(key, t)
	return t
}

// structText writes a struct type as reflection does.
func structText(fields []forge.Field) string {
	if len(fields) == 0 {
		return "struct {}"
	}
	var b strings.Builder
	b.WriteString("struct {")
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteByte(' ')
		if !f.Embedded {
			b.WriteString(f.Name + " ")
		}
		b.WriteString(f.Type.String())
		if f.Tag != "" {
			b.WriteString(" " + strconv.Quote(f.Tag))
		}
	}
	return b.String() + " }"
}

// forged gives the type of a declared one, with its methods.
func (b *boxes) forged(name string, inner reflect.Type) reflect.Type {
	t := b.named[name]
	if t == nil || t.inner.Kind() != inner.Kind() {
		panic(layoutError{name, ""})
	}
	if t.forged != nil {
		return t.forged.Type()
	}
	t.forged = forge.New("main", t.display, t.inner)
	self := t.forged.Type()
	b.made[self] = t
	b.origin[self], b.inner[self] = "N"+name+";", t.inner
	ptr := reflect.PointerTo(self)
	b.origin[ptr], b.inner[ptr] = "*N"+name+";", reflect.PointerTo(t.inner)
	p := shapeReader{b: b, all: t.shape, rest: t.shape}
	if err := t.forged.Complete(p.read(t.inner)); err != nil {
		panic(err)
	}
	for _, m := range t.methods {
		if err := t.forged.AddMethod(m); err != nil {
			panic(err)
		}
	}
	return self
}

// eface is how an interface without methods lies in memory.
type eface struct{ typ, data unsafe.Pointer }

func efaceOf(v *any) *eface { return (*eface)(unsafe.Pointer(v)) }

func typeWord(t reflect.Type) unsafe.Pointer {
	v := any(t)
	return efaceOf(&v).data
}

// box gives a value of yaegi's the type that it has in Go.
func (b *boxes) box(shape string, v any) any {
	if v == nil {
		return nil
	}
	inner := reflect.TypeOf(v)
	efaceOf(&v).typ = typeWord(b.outer(shape, inner))
	return v
}

// holds says whether an interface's value is of a type. p is a nil pointer to yaegi's type.
func (b *boxes) holds(shape string, p, x any) bool {
	if x == nil {
		return false
	}
	if p == nil {
		return false
	}
	t, inner := reflect.TypeOf(x), reflect.TypeOf(p).Elem()
	if inner.Kind() == reflect.Interface {
		return t.Implements(inner)
	}
	if t == b.outer(shape, inner) {
		return true
	}
	if !b.stale || shape == "=" {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.origin[t] == shape
}

func (b *boxes) is(shape string, p, x any) bool { return b.holds(shape, p, unwrapped(x)) }

// try is as where another type's value gives nil.
func (b *boxes) try(shape string, p, x any) any {
	x = unwrapped(x)
	if !b.holds(shape, p, x) {
		return nil
	}
	return b.take(p, x)
}

// as gives the address of what an interface holds, as a pointer to yaegi's type. What is there does not change.
func (b *boxes) as(shape string, p, x any, static string) any {
	x = unwrapped(x)
	if !b.holds(shape, p, x) {
		panic(b.failed(shape, p, x, static))
	}
	return b.take(p, x)
}

// take gives the address of what x holds, of the type of p.
func (b *boxes) take(p, x any) any {
	inner := reflect.TypeOf(p).Elem()
	if inner.Kind() == reflect.Interface {
		v := reflect.New(inner)
		v.Elem().Set(reflect.ValueOf(x))
		return v.Interface()
	}
	e := efaceOf(&x)
	data := e.data
	if forge.Direct(inner) {
		word := new(unsafe.Pointer)
		*word = data
		data = unsafe.Pointer(word)
	}
	efaceOf(&p).data = data
	return p
}

// which gives the number of the first type that an interface's value has.
func (b *boxes) which(x any, cases ...any) int {
	x = unwrapped(x)
	for i := 0; i+1 < len(cases); i += 2 {
		shape, _ := cases[i].(string)
		switch {
		case shape == "nil":
			if x == nil {
				return i / 2
			}
		case b.holds(shape, cases[i+1], x):
			return i / 2
		}
	}
	return -1
}

// unwrapped takes away what yaegi puts round some values.
func unwrapped(x any) any {
	switch v := x.(type) {
	case reflect.Value:
		if v.IsValid() && v.CanInterface() {
			return unwrapped(v.Interface())
		}
	case nil:
	default:
		if t := reflect.TypeOf(x); t.Kind() == reflect.Struct && t.Name() == "valueInterface" && t.PkgPath() == yaegiPath {
			if in := unbox(reflect.ValueOf(x)); in.IsValid() {
				return unwrapped(in.Interface())
			}
			return nil
		}
	}
	return x
}

// asPanic gives what Go panics with for what reflection, by which yaegi calls methods of interfaces, panics with.
func asPanic(v any) any {
	if s, ok := v.(string); ok && s == "reflect: Method on nil interface value" {
		return nilPointer()
	}
	if e, ok := v.(*reflect.ValueError); ok && e.Kind == reflect.Invalid {
		return nilPointer()
	}
	return v
}

func nilPointer() (r any) {
	defer func() { r = recover() }()
	var p *int
	return *p
}

// assertionError is what a failed assertion panics with.
type assertionError struct{ text string }

func (e *assertionError) Error() string { return e.text }
func (*assertionError) RuntimeError()   {}

var _ runtime.Error = (*assertionError)(nil)

func (b *boxes) failed(shape string, p, x any, static string) error {
	inner := reflect.TypeOf(p).Elem()
	if inner.Kind() == reflect.Interface {
		if x == nil {
			return &assertionError{fmt.Sprintf("interface conversion: interface is nil, not %s", inner)}
		}
		t := reflect.TypeOf(x)
		missing := ""
		for i := range inner.NumMethod() {
			if _, ok := t.MethodByName(inner.Method(i).Name); !ok && missing == "" {
				missing = inner.Method(i).Name
			}
		}
		return &assertionError{fmt.Sprintf("interface conversion: %s is not %s: missing method %s", t, inner, missing)}
	}
	want := b.outer(shape, inner)
	if x == nil {
		return &assertionError{fmt.Sprintf("interface conversion: %s is nil, not %s", static, want)}
	}
	note := ""
	if reflect.TypeOf(x).String() == want.String() {
		note = " (types from different scopes)"
	}
	return &assertionError{fmt.Sprintf("interface conversion: %s is %s, not %s%s", static, reflect.TypeOf(x), want, note)}
}

// Interface is an interface type with methods that a Unit declares.
type Interface struct {
	Symbol  string // in the package of types
	Display string
	Methods []string
}

const (
	typesPath = "gorovod/types"
	typesName = "types" + sep
)

// interfaces makes the interface types of a Unit, for yaegi as symbols of a package. Their methods' types are not known
// before the Unit's types are.
func (e *Evaluator) interfaces(u *Unit) error {
	if len(u.Interfaces) == 0 {
		return nil
	}
	symbols := map[string]reflect.Value{}
	for _, i := range u.Interfaces {
		pkg := "main"
		if !token.IsIdentifier(strings.SplitN(i.Display, "[", 2)[0]) {
			pkg = ""
		}
		f := forge.NewInterface(pkg, i.Display, false)
		var ms []forge.InterfaceMethod
		for _, m := range i.Methods {
			ms = append(ms, forge.InterfaceMethod{Name: m, Type: reflect.TypeFor[func()]()})
		}
		f.SetMethods(ms)
		e.boxes.ifaces[i.Symbol] = f
		symbols[i.Symbol] = reflect.Zero(reflect.PointerTo(f.Type()))
	}
	return e.yaegi.Use(yaegi.Exports{typesPath + "/types": symbols})
}

// signature takes the type of an interface type's method, by a nil pointer to it.
func (e *Evaluator) signature(symbol, method string, p any) {
	if e.sigs[symbol] == nil {
		e.sigs[symbol] = map[string]reflect.Type{}
	}
	e.sigs[symbol][method] = reflect.TypeOf(p).Elem()
}

// completeInterfaces gives interface types the types of their methods.
func (e *Evaluator) completeInterfaces(u *Unit) {
	for _, i := range u.Interfaces {
		f := e.boxes.ifaces[i.Symbol]
		var ms []forge.InterfaceMethod
		for m, t := range e.sigs[i.Symbol] {
			ms = append(ms, forge.InterfaceMethod{Name: m, Type: t})
		}
		sort.Slice(ms, func(i, j int) bool { return ms[i].Name < ms[j].Name })
		f.SetMethods(ms)
	}
}
