package interp

import (
	"go/ast"
	"go/types"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// This file writes down for the evaluator what types are in Go. A shape says how a type is composed, so that the
// evaluator can make the type that Go would have from the one that yaegi has: "=" is a type that is the same in both,
// "N" with a name and a semicolon is one that the notebook declares, "*", "[", "a", "m" and "c" are pointer, slice, array,
// map and channel with the shapes of their parts, "f" is a function, "s" a struct. Shapes stand in string literals of
// lowered code, with the names of types left open.

// shapeOf gives a type's shape, and whether it is another than "=".
func (l *lowering) shapeOf(t types.Type) (shape []piece, own bool) {
	if t == nil || !l.own(t) {
		return []piece{made("=")}, false
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		ps := forEvaluator(typePieces(t, l.v.pkg))
		return append(append([]piece{made("N")}, ps...), made(";")), true
	case *types.Pointer:
		return l.composed("*", t.Elem()), true
	case *types.Slice:
		return l.composed("[", t.Elem()), true
	case *types.Array:
		return l.composed("a", t.Elem()), true
	case *types.Chan:
		return l.composed("c", t.Elem()), true
	case *types.Map:
		return l.composed("m", t.Key(), t.Elem()), true
	case *types.Signature:
		var parts []types.Type
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for i := range tuple.Len() {
				parts = append(parts, tuple.At(i).Type())
			}
		}
		return l.composed("f", parts...), true
	case *types.Struct:
		return l.structShape(t), true
	}
	return []piece{made("=")}, false
}

func (l *lowering) composed(kind string, parts ...types.Type) []piece {
	out := []piece{made("%s", kind)}
	for _, p := range parts {
		shape, _ := l.shapeOf(p)
		out = append(out, shape...)
	}
	return out
}

func (l *lowering) structShape(t *types.Struct) []piece {
	out := []piece{made("s")}
	for i := range t.NumFields() {
		f := t.Field(i)
		kind := "f"
		if f.Embedded() {
			kind = "e"
		}
		text := kind + f.Name() + ";" + strconv.Quote(t.Tag(i))
		quoted := strconv.Quote(text)
		out = append(out, made("%s", quoted[1:len(quoted)-1]))
		shape, _ := l.shapeOf(f.Type())
		out = append(out, shape...)
	}
	return append(out, made("."))
}

// own says whether a type is another for compiled code than yaegi's: it names a type of the notebook, or a struct with
// fields that yaegi renames.
func (l *lowering) own(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if types.IsInterface(t) || t.Obj().Pkg() == nil || underlies(t) {
			return false
		}
		return t.Obj().Pkg() == l.v.pkg || t.TypeArgs().Len() > 0
	case *types.Pointer:
		return l.own(t.Elem())
	case *types.Slice:
		return l.own(t.Elem())
	case *types.Array:
		return l.own(t.Elem())
	case *types.Chan:
		return l.own(t.Elem())
	case *types.Map:
		return l.own(t.Key()) || l.own(t.Elem())
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for i := range tuple.Len() {
				if l.own(tuple.At(i).Type()) {
					return true
				}
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if !f.Exported() || f.Embedded() || l.own(f.Type()) {
				return true
			}
		}
	}
	return false
}

// described is what the evaluator is told of a declaration.
type described struct {
	shape    []piece     // of the type under a declared type
	display  string      // a type's name in Go
	methods  []signature // of an interface type
	register []piece     // statements that tell the methods
}

type signature struct {
	name string
	typ  []piece
}

// describe notes what the evaluator is told of a declaration.
func (l *lowering) describe(d *decl) {
	d.described = described{display: displayName(d)}
	switch d.kind {
	case typeKind:
		spec := d.node.(*ast.GenDecl).Specs[0].(*ast.TypeSpec)
		obj, _ := l.v.info.Defs[spec.Name].(*types.TypeName)
		if obj == nil || obj.IsAlias() {
			return
		}
		t := obj.Type()
		if methodful(t) {
			l.describeInterface(d, t)
			return
		}
		d.shape, _ = l.shapeOf(t.Underlying())
		l.describePromoted(d, t)
	case methodKind:
		l.describeMethod(d)
	}
}

// displayName gives the name that a reader knows a type by.
func displayName(d *decl) string {
	name := d.name
	if i := strings.Index(name, sep+"i"); i > 0 && d.inst != nil {
		return name[:i] + decodeName(name[i+len(sep+"i"):])
	}
	if i := strings.Index(name, sep); i > 0 {
		name = name[:i]
	}
	return name
}

func (l *lowering) describeInterface(d *decl, t types.Type) {
	i := t.Underlying().(*types.Interface)
	if strings.HasPrefix(d.name, writtenPrefix) {
		text := types.TypeString(i, func(p *types.Package) string { return p.Name() })
		d.display = "interface { " + strings.TrimSuffix(strings.TrimPrefix(text, "interface{"), "}") + " }"
	}
	d.methods = []signature{}
	for m := range i.Methods() {
		s := m.Signature()
		s = types.NewSignatureType(nil, nil, nil, s.Params(), s.Results(), s.Variadic())
		d.methods = append(d.methods, signature{m.Name(), forEvaluator(typePieces(s, l.v.pkg))})
	}
	sort.Slice(d.methods, func(i, j int) bool { return d.methods[i].name < d.methods[j].name })
}

// describePromoted registers the methods that a struct has from embedded fields.
func (l *lowering) describePromoted(d *decl, t types.Type) {
	if _, ok := t.Underlying().(*types.Struct); !ok {
		return
	}
	values := types.NewMethodSet(t)
	set := types.NewMethodSet(types.NewPointer(t))
	for i := range set.Len() {
		s := set.At(i)
		if len(s.Index()) < 2 {
			continue
		}
		f := s.Obj().(*types.Func)
		if f.Pkg() != l.v.pkg && !f.Exported() {
			continue
		}
		path := append([]piece{made("p%s.", sep)}, l.embeddedPath(t, s.Index())...)
		path = append(path, made("%s", f.Name()))
		d.register = append(d.register, l.registration(d.name, f.Name(), f.Signature(), path, values.Lookup(f.Pkg(), f.Name()) != nil, t)...)
	}
}

// describeMethod registers a declared method.
func (l *lowering) describeMethod(d *decl) {
	typ, name, _ := strings.Cut(d.name, ".")
	fn := d.node.(*ast.FuncDecl)
	obj, _ := l.v.info.Defs[fn.Name].(*types.Func)
	if obj == nil {
		return
	}
	sig := obj.Signature()
	var recv types.Type
	if sig.Recv() != nil {
		recv = sig.Recv().Type()
	} else if sig.Params().Len() > 0 { // a copy of a generic type's method
		recv = sig.Params().At(0).Type()
		var rest []*types.Var
		for i := 1; i < sig.Params().Len(); i++ {
			rest = append(rest, sig.Params().At(i))
		}
		sig = types.NewSignatureType(nil, nil, nil, types.NewTuple(rest...), sig.Results(), sig.Variadic())
	}
	p, pointer := types.Unalias(recv).(*types.Pointer)
	callee := []piece{made("(*p%s).%s", sep, name)}
	if pointer {
		recv = p.Elem()
		callee = []piece{made("p%s.%s", sep, name)}
	}
	d.register = l.registration(typ, name, sig, callee, !pointer, recv)
}

// registration writes the statement that gives the evaluator a method of a type.
func (l *lowering) registration(typ, name string, sig *types.Signature, callee []piece, ofValue bool, recv types.Type) []piece {
	head, call := l.forwarding(sig, "\x00")
	body := func(callee []piece) []piece {
		before, after, _ := strings.Cut(call[0].text, "\x00")
		out := append([]piece{made("%s", before)}, callee...)
		return append(append(out, made("%s", after)), call[1:]...)
	}
	comma := ""
	if sig.Params().Len() > 0 {
		comma = ", "
	}
	out := []piece{made("%s.Method(\"", rtName), {ref: typ}, made("\", %q, %t, func(p%s *", name, ofValue, sep), {ref: typ}, made("%s", comma)}
	out = append(append(append(out, head[1:]...), body(callee)...), made("}, "))
	if !ofValue || !pointerShaped(recv) {
		return append(out, made("nil); "))
	}
	out = append(out, made("func(v%s ", sep), piece{ref: typ}, made("%s", comma))
	out = append(out, head[1:]...)
	direct := slices.Clone(callee)
	direct[0].text = strings.NewReplacer("(*p"+sep+")", "v"+sep, "p"+sep+".", "v"+sep+".").Replace(direct[0].text)
	return append(append(out, body(direct)...), made("}); "))
}

// pointerShaped says whether interfaces may hold values of a type themselves.
func pointerShaped(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Chan, *types.Signature:
		return true
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Struct:
		for f := range u.Fields() {
			if pointerShaped(f.Type()) {
				return true
			}
		}
	case *types.Array:
		return u.Len() > 0 && pointerShaped(u.Elem())
	}
	return false
}
