package interp

import (
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"sort"
	"unsafe"
)

// Struct types that refer to each other: yaegi builds one type of such a ring right and leaves holes in the others. Here
// the types of a unit that has a ring are declared before the rest of it, and the rings' reflect types are built anew:
// first each with its layout, parts that lead back into the ring held by placeholders of the same form, then with the
// true types of its fields.

// compileTypes compiles the type declarations of a file ahead of the rest if there are rings among them. What it has
// compiled is taken out of the file.
func (e *Evaluator) compileTypes(file *ast.File) error {
	rings := typeRings(file)
	if len(rings) == 0 {
		return nil
	}
	first := *file
	first.Decls = nil
	var rest []ast.Decl
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && (g.Tok == token.TYPE || g.Tok == token.IMPORT) {
			first.Decls = append(first.Decls, d)
			continue
		}
		rest = append(rest, d)
	}
	if _, err := e.yaegi.CompileAST(&first); err != nil {
		return err
	}
	file.Decls, file.Imports = rest, nil
	for _, ring := range rings {
		if err := e.buildRing(ring); err != nil {
			return err
		}
	}
	return nil
}

// typeRings finds the sets of struct types of a file that refer to each other, or to themselves.
func typeRings(file *ast.File) [][]string {
	uses := map[string]map[string]bool{}
	structs := map[string]bool{}
	var names []string
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.TypeSpec)
			name := spec.Name.Name
			names = append(names, name)
			_, structs[name] = spec.Type.(*ast.StructType)
			uses[name] = map[string]bool{}
			ast.Inspect(spec.Type, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					uses[name][id.Name] = true
				}
				return true
			})
		}
	}
	reach := map[string]map[string]bool{}
	for _, from := range names {
		seen := map[string]bool{}
		var visit func(string)
		visit = func(name string) {
			for to := range uses[name] {
				if uses[to] != nil && !seen[to] {
					seen[to] = true
					visit(to)
				}
			}
		}
		visit(from)
		reach[from] = seen
	}
	done := map[string]bool{}
	var out [][]string
	for _, a := range names {
		if done[a] || !reach[a][a] {
			continue
		}
		var ring []string
		for _, b := range names {
			if structs[b] && reach[a][b] && reach[b][a] {
				done[b] = true
				ring = append(ring, b)
			}
		}
		if len(ring) > 0 {
			sort.Strings(ring)
			out = append(out, ring)
		}
	}
	return out
}

// ring is a set of yaegi's types for which reflect types are built.
type ring struct {
	members map[string]reflect.Value // the types of yaegi, as pointers
	built   map[string]reflect.Type
	state   map[string]int
	serial  *int
}

// buildRing gives the struct types of a ring their reflect types.
func (e *Evaluator) buildRing(names []string) error {
	r := &ring{members: map[string]reflect.Value{}, built: map[string]reflect.Type{}, state: map[string]int{}, serial: &e.rings}
	for _, name := range names {
		t := e.typeOf(name)
		if !t.IsValid() {
			return fmt.Errorf("type %s is not supported by the interpreter", name)
		}
		r.members[name] = t
	}
	for _, name := range names {
		if err := r.layout(name); err != nil {
			return err
		}
	}
	for _, name := range names {
		rt := r.members[name].Elem().FieldByName("rtype")
		open(rt).Set(reflect.ValueOf(r.built[name]))
	}
	for _, name := range names {
		fields := open(r.members[name].Elem().FieldByName("field"))
		for i := range fields.Len() {
			t := open(fields.Index(i).FieldByName("typ"))
			setFieldType(r.built[name], i, trueType(t))
		}
	}
	return nil
}

// typeOf finds yaegi's type of a name of the notebook.
func (e *Evaluator) typeOf(name string) reflect.Value {
	scopes := open(reflect.ValueOf(e.yaegi).Elem().FieldByName("scopes"))
	sc := scopes.MapIndex(reflect.ValueOf("main"))
	if !sc.IsValid() {
		return reflect.Value{}
	}
	sym := open(sc.Elem().FieldByName("sym")).MapIndex(reflect.ValueOf(name))
	if !sym.IsValid() || sym.IsNil() {
		return reflect.Value{}
	}
	typ := open(sym.Elem().FieldByName("typ"))
	if typ.IsNil() || category(typ) != "structT" || open(typ.Elem().FieldByName("incomplete")).Bool() {
		return reflect.Value{}
	}
	return typ
}

func category(t reflect.Value) string {
	return fmt.Sprint(open(t.Elem().FieldByName("cat")).Interface())
}

// trueType asks yaegi for the reflect type of one of its types.
func trueType(t reflect.Value) reflect.Type {
	return t.MethodByName("TypeOf").Call(nil)[0].Interface().(reflect.Type)
}

// layout builds the struct type of a member, members that it holds by value first.
func (r *ring) layout(name string) error {
	switch r.state[name] {
	case 1:
		return fmt.Errorf("invalid recursive type %s", name)
	case 2:
		return nil
	}
	r.state[name] = 1
	t := r.members[name]
	rt, err := r.structType(t)
	if err != nil {
		return err
	}
	r.built[name] = rt
	r.state[name] = 2
	return nil
}

func (r *ring) structType(t reflect.Value) (reflect.Type, error) {
	fields := open(t.Elem().FieldByName("field"))
	var out []reflect.StructField
	for i := range fields.Len() {
		f := fields.Index(i)
		name := open(f.FieldByName("name")).String()
		if !token.IsExported(name) {
			name = "X" + name
		}
		ft, err := r.form(open(f.FieldByName("typ")))
		if err != nil {
			return nil, err
		}
		out = append(out, reflect.StructField{
			Name: name, Type: ft, Tag: reflect.StructTag(open(f.FieldByName("tag")).String()),
			Anonymous: fields.Len() == 1 && open(f.FieldByName("embed")).Bool(),
		})
	}
	return reflect.StructOf(out), nil
}

// form gives a type of the same layout as one that may lead into the ring.
func (r *ring) form(t reflect.Value) (reflect.Type, error) {
	name := open(t.Elem().FieldByName("name")).String()
	if m, ok := r.members[name]; ok && open(t.Elem().FieldByName("path")).String() == open(m.Elem().FieldByName("path")).String() {
		if err := r.layout(name); err != nil {
			return nil, err
		}
		return r.built[name], nil
	}
	if !r.leads(t, map[uintptr]bool{}) {
		return trueType(t), nil
	}
	switch cat := category(t); cat {
	case "ptrT":
		return reflect.PointerTo(r.placeholder()), nil
	case "sliceT", "variadicT":
		return reflect.SliceOf(r.placeholder()), nil
	case "mapT":
		return reflect.MapOf(reflect.TypeFor[int](), r.placeholder()), nil
	case "chanT", "chanSendT", "chanRecvT":
		return reflect.ChanOf(reflect.BothDir, r.placeholder()), nil
	case "funcT":
		return reflect.FuncOf([]reflect.Type{r.placeholder()}, nil, false), nil
	case "arrayT":
		elem, err := r.form(open(t.Elem().FieldByName("val")))
		if err != nil {
			return nil, err
		}
		return reflect.ArrayOf(int(open(t.Elem().FieldByName("length")).Int()), elem), nil
	case "linkedT":
		return r.form(open(t.Elem().FieldByName("val")))
	case "structT":
		return r.structType(t)
	default:
		return nil, fmt.Errorf("a type that is declared by itself (%s) is not supported by the interpreter", cat)
	}
}

// placeholder gives a type that no other ring has, so that reflection does not take two of them for one.
func (r *ring) placeholder() reflect.Type {
	*r.serial++
	return reflect.ArrayOf(*r.serial, reflect.TypeFor[byte]())
}

// leads says whether a type mentions a member of the ring.
func (r *ring) leads(t reflect.Value, seen map[uintptr]bool) bool {
	if !t.IsValid() || t.IsNil() || seen[t.Pointer()] {
		return false
	}
	seen[t.Pointer()] = true
	if _, ok := r.members[open(t.Elem().FieldByName("name")).String()]; ok {
		return true
	}
	if category(t) == "interfaceT" || !open(t.Elem().FieldByName("rtype")).IsNil() {
		return false
	}
	for _, f := range []string{"key", "val"} {
		if r.leads(open(t.Elem().FieldByName(f)), seen) {
			return true
		}
	}
	for _, f := range []string{"arg", "ret"} {
		list := open(t.Elem().FieldByName(f))
		for i := range list.Len() {
			if r.leads(open(list.Index(i)), seen) {
				return true
			}
		}
	}
	fields := open(t.Elem().FieldByName("field"))
	for i := range fields.Len() {
		if r.leads(open(fields.Index(i).FieldByName("typ")), seen) {
			return true
		}
	}
	return false
}

// setFieldType changes the type of a field, which has the same layout as the one that was there.
func setFieldType(s reflect.Type, i int, t reflect.Type) {
	type word struct{ tab, data unsafe.Pointer }
	type field struct{ _, typ, _ unsafe.Pointer }
	// A struct's type is its common part, the package's name and the fields.
	common := unsafe.Sizeof(uintptr(0))*4 + 16
	rt := (*word)(unsafe.Pointer(&s)).data
	fields := *(*[]field)(unsafe.Add(rt, common+unsafe.Sizeof(uintptr(0))))
	if len(fields) != s.NumField() {
		panic("interp: reflection's struct types are not as expected")
	}
	fields[i].typ = (*word)(unsafe.Pointer(&t)).data
	if s.Field(i).Type != t {
		panic("interp: reflection's struct types are not as expected")
	}
}
