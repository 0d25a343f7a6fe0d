package interp

import (
	"go/ast"
	"go/types"
)

// Method values: yaegi looks at the receiver when the function is called, Go when it is made. It takes a method expression
// of an interface for a method value. Both become function literals.
//
//	t.M  ->  func() func(int) int { r := t; return func(a int) int { return r.M(a) } }()
//	T.M  ->  func(r T, a int) int { return r.M(a) }
func (l *lowering) methodValue(x *ast.SelectorExpr) bool {
	s := l.v.info.Selections[x]
	if s == nil || s.Kind() == types.FieldVal || s.Kind() == types.MethodVal && l.flows().called[x] {
		return false
	}
	m := s.Obj().(*types.Func)
	if s.Kind() == types.MethodExpr {
		l.edit(x, func(self int) []piece {
			sig := l.v.info.TypeOf(x).(*types.Signature)
			recv := sig.Params().At(0).Type()
			path, _ := l.path(recv, s)
			return l.forward(sig, "r"+sep, append(path, l.inside(x.Sel, self)...), typePieces(recv, l.v.pkg))
		})
		return true
	}
	l.edit(x, func(self int) []piece {
		sig := l.v.info.TypeOf(x).(*types.Signature)
		out := append([]piece{made("func() ")}, typePieces(types.NewSignatureType(nil, nil, nil, sig.Params(), sig.Results(), sig.Variadic()), l.v.pkg)...)
		out = append(append(out, made(" { r%s := ", sep)), l.receiver(x, s, m, self)...)
		if types.IsInterface(s.Recv()) {
			out = append(out, made("; if r%s == nil { %s.NilDereference() }", sep, rtName))
		}
		out = append(out, made("; return "))
		out = append(out, l.forward(sig, "r"+sep, l.inside(x.Sel, self), nil)...)
		return append(out, made(" }()"))
	})
	return true
}

// receiver writes what a method is bound to: a copy of the value, or its address.
func (l *lowering) receiver(x *ast.SelectorExpr, s *types.Selection, m *types.Func, self int) []piece {
	path, t := l.path(l.v.info.TypeOf(x.X), s)
	out := l.inside(x.X, self)
	if len(path) > 0 {
		out = append(append(out, made(".")), path[:len(path)-1]...)
	}
	_, isPtr := t.Underlying().(*types.Pointer)
	wants := false
	if r := m.Signature().Recv(); r != nil {
		_, wants = r.Type().(*types.Pointer)
	}
	switch {
	case types.IsInterface(t), isPtr == wants:
		return out
	case wants:
		return wrap(made("&("), out, made(")"))
	}
	return wrap(made("*("), out, made(")"))
}

// path writes the embedded fields on the way to a promoted method, each with a dot after it, and gives the last one's type.
func (l *lowering) path(t types.Type, s *types.Selection) ([]piece, types.Type) {
	var out []piece
	for _, i := range s.Index()[:len(s.Index())-1] {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		f := t.Underlying().(*types.Struct).Field(i)
		if ps := l.embeddedName(f); ps != nil {
			out = append(out, ps...)
		} else {
			out = append(out, made("%s", f.Name()))
		}
		out = append(out, made("."))
		t = f.Type()
	}
	return out, t
}

// embeddedName writes the name of an embedded field, which is that of its type.
func (l *lowering) embeddedName(f *types.Var) []piece {
	if !f.Embedded() || l.ofForge(f.Type()) {
		return nil
	}
	t := f.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if ps := forEvaluator(typePieces(t, l.v.pkg)); len(ps) == 1 && ps[0].ref != "" {
		return ps
	}
	return nil
}

// forward writes a function literal that calls the method of recv; if first is given, recv is its first parameter.
func (l *lowering) forward(sig *types.Signature, recv string, method, first []piece) []piece {
	out := []piece{made("func(")}
	call := append([]piece{made("%s.", recv)}, method...)
	call = append(call, made("("))
	from := 0
	if first != nil {
		out = append(append(out, made("%s ", recv)), first...)
		from = 1
	}
	for i := from; i < sig.Params().Len(); i++ {
		if i > 0 {
			out = append(out, made(", "))
		}
		if i > from {
			call = append(call, made(", "))
		}
		t := sig.Params().At(i).Type()
		name, dots := "a"+sep+itoa(i), ""
		if sig.Variadic() && i == sig.Params().Len()-1 {
			out = append(append(out, made("%s ...", name)), typePieces(t.Underlying().(*types.Slice).Elem(), l.v.pkg)...)
			dots = "..."
		} else {
			out = append(append(out, made("%s ", name)), typePieces(t, l.v.pkg)...)
		}
		call = append(call, made("%s%s", name, dots))
	}
	out = append(out, made(") ("))
	for i := range sig.Results().Len() {
		if i > 0 {
			out = append(out, made(", "))
		}
		out = append(out, typePieces(sig.Results().At(i).Type(), l.v.pkg)...)
	}
	out = append(out, made(") { "))
	if sig.Results().Len() > 0 {
		out = append(out, made("return "))
	}
	return append(append(out, call...), made(") }"))
}
