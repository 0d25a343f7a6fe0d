package interp

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Operators and builtins: yaegi mistakes a name in parentheses among conditions, compares no channels of different
// directions, gives a shifted constant the type int, panics when a condition becomes an interface's value, reads the left
// side of `x[i] += f()` before the call, writes what append appends before it has read it all, and gives new(x) no value.

// paren takes the parentheses off a name.
func (l *lowering) paren(p *ast.ParenExpr) {
	if id, ok := ast.Unparen(p).(*ast.Ident); ok {
		l.edit(p, func(self int) []piece { return l.inside(id, self) })
	}
}

// binary notes the edits of an operation with two operands.
func (l *lowering) binary(b *ast.BinaryExpr) {
	switch b.Op {
	case token.EQL, token.NEQ:
		l.compareChannels(b)
	case token.SHL, token.SHR:
		l.shift(b)
	}
}

func (l *lowering) compareChannels(b *ast.BinaryExpr) {
	x, ok1 := l.v.info.TypeOf(b.X).Underlying().(*types.Chan)
	y, ok2 := l.v.info.TypeOf(b.Y).Underlying().(*types.Chan)
	if !ok1 || !ok2 || x.Dir() == y.Dir() {
		return
	}
	if x.Dir() == types.SendRecv {
		l.convert(b.X, l.v.info.TypeOf(b.Y))
	} else {
		l.convert(b.Y, l.v.info.TypeOf(b.X))
	}
}

// convert writes a conversion round an expression.
func (l *lowering) convert(x ast.Expr, t types.Type) {
	l.edit(x, func(self int) []piece { return l.converted(t, l.inside(x, self)) })
}

// shift gives a shifted constant the type that the checker has found for it, and a count that is itself a shift of a
// constant one that yaegi can count by.
func (l *lowering) shift(b *ast.BinaryExpr) {
	if y := l.v.info.Types[b.Y]; y.Value == nil && l.shiftsConstant(b.Y) {
		l.convert(b.Y, types.Typ[types.Uint])
	}
	x := l.v.info.Types[b.X]
	basic, ok := x.Type.Underlying().(*types.Basic)
	if !ok || x.Value == nil || basic.Info()&types.IsInteger == 0 {
		return
	}
	text, _, ok := literal(basic, x.Value)
	if !ok {
		return
	}
	deps := l.constantDeps(b.X)
	t := types.Default(x.Type)
	if t != types.Typ[types.Int] {
		l.edit(b.X, func(int) []piece { return append(l.converted(t, []piece{made("%s", text)}), deps...) })
	}
}

func (l *lowering) shiftsConstant(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.SHL || b.Op == token.SHR) {
			found = found || l.v.info.Types[b.X].Value != nil
		}
		_, call := n.(*ast.CallExpr)
		return !call && !found
	})
	return found
}

// condition tells a comparison or another expression that yaegi computes as a condition.
func (l *lowering) isCondition(x ast.Expr) bool {
	if l.v.info.Types[x].Value != nil {
		return false
	}
	switch x := ast.Unparen(x).(type) {
	case *ast.BinaryExpr:
		switch x.Op {
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ, token.LAND, token.LOR:
			return true
		}
	case *ast.UnaryExpr:
		return x.Op == token.NOT
	}
	return false
}

// conditionValue makes a value of its own of a condition that becomes an interface's.
func (l *lowering) conditionValue(x ast.Expr) {
	if l.isCondition(x) {
		t := types.Default(l.v.info.TypeOf(x))
		l.edit(x, func(self int) []piece { return l.converted(t, l.inside(x, self)) })
	}
}

// blankCondition makes a value of a condition that is assigned to nothing.
func (l *lowering) blankCondition(s *ast.AssignStmt) {
	for i, x := range s.Lhs {
		if len(s.Rhs) == len(s.Lhs) && isBlankOrNil(x) {
			l.conditionValue(s.Rhs[i])
		}
	}
}

// opAssign writes `x[i] += f()` as `v := f(); x[i] += v`, with the calls of the left side first.
func (l *lowering) opAssign(s *ast.AssignStmt) {
	if s.Tok == token.ASSIGN || s.Tok == token.DEFINE || !l.flows().block[s] || !hasCallOrReceive(l.v.info, s.Rhs[0]) {
		return
	}
	if _, ident := ast.Unparen(s.Lhs[0]).(*ast.Ident); ident {
		return
	}
	id := sep + itoa(l.newTmp())
	l.edit(s, func(self int) []piece {
		w := &opWriter{l: l, self: self, id: id}
		left := w.operand(s.Lhs[0])
		out := append([]piece{made("{ ")}, w.before...)
		out = append(append(out, made("v%s := ", id)), l.inside(s.Rhs[0], self)...)
		out = append(append(out, made("; ")), left...)
		return append(out, made(" %s v%s }", s.Tok, id))
	})
}

// opWriter keeps what the left side of an assignment calls.
type opWriter struct {
	l      *lowering
	self   int
	id     string
	n      int
	before []piece
}

func (w *opWriter) operand(x ast.Expr) []piece {
	l := w.l
	if !hasCallOrReceive(l.v.info, x) {
		return l.inside(x, w.self)
	}
	switch x := ast.Unparen(x).(type) {
	case *ast.IndexExpr:
		base := w.operand(x.X)
		return append(append(append(base, made("[")), w.operand(x.Index)...), made("]"))
	case *ast.SelectorExpr:
		return append(append(w.operand(x.X), made(".")), l.inside(x.Sel, w.self)...)
	case *ast.StarExpr:
		return append([]piece{made("*")}, w.operand(x.X)...)
	}
	name := "o" + w.id + itoa(w.n)
	w.n++
	w.before = append(append(append(w.before, made("%s := ", name)), l.inside(x, w.self)...), made("; "))
	return []piece{made("%s", name)}
}

// appendCall has append read all that it appends before it writes any.
func (l *lowering) appendCall(c *ast.CallExpr) {
	if c.Ellipsis.IsValid() {
		return
	}
	for _, x := range c.Args[1:] {
		l.functionName(x)
	}
	if len(c.Args) < 3 {
		return
	}
	reads := false
	for _, x := range c.Args[2:] {
		reads = reads || l.readsMemory(x)
	}
	s, ok := l.v.info.TypeOf(c).Underlying().(*types.Slice)
	if !reads || !ok {
		return
	}
	l.editRange(c.Args[1].Pos(), c.Args[len(c.Args)-1].End(), func(self int) []piece {
		out := append(typePieces(types.NewSlice(s.Elem()), l.v.pkg), made("{"))
		return append(append(out, l.list(c.Args[1:], self)...), made("}..."))
	})
}

func (l *lowering) readsMemory(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr, *ast.StarExpr:
			found = true
		case *ast.SelectorExpr:
			found = found || l.v.info.Selections[n] != nil
		case *ast.FuncLit:
			return false
		}
		return !found
	})
	return found
}

// newCall writes new of a value.
func (l *lowering) newCall(c *ast.CallExpr) {
	if len(c.Args) != 1 || l.v.info.Types[c.Args[0]].IsType() {
		return
	}
	p, ok := l.v.info.TypeOf(c).Underlying().(*types.Pointer)
	if !ok {
		return
	}
	l.edit(c, func(self int) []piece { return l.addressOf(l.inside(c.Args[0], self), p) })
}

// addressOf writes a pointer to a variable with a value.
func (l *lowering) addressOf(value []piece, p *types.Pointer) []piece {
	out := append([]piece{made("func(x%s ", sep)}, typePieces(p.Elem(), l.v.pkg)...)
	out = append(append(out, made(") ")), typePieces(p, l.v.pkg)...)
	out = append(append(out, made(" { return &x%s }(", sep)), value...)
	return append(out, made(")"))
}

// nilSpread gives a nil that is spread its type.
func (l *lowering) nilSpread(c *ast.CallExpr) {
	if !c.Ellipsis.IsValid() || !l.v.info.Types[c.Args[len(c.Args)-1]].IsNil() {
		return
	}
	sig, ok := l.v.info.TypeOf(c.Fun).Underlying().(*types.Signature)
	if ok && sig.Variadic() {
		l.convert(c.Args[len(c.Args)-1], sig.Params().At(sig.Params().Len()-1).Type())
	}
}

// compositeLit writes out a literal without a type that stands for a pointer to a slice or map.
func (l *lowering) compositeLit(c *ast.CompositeLit) {
	if c.Type != nil {
		return
	}
	p, ok := l.v.info.TypeOf(c).Underlying().(*types.Pointer)
	if !ok {
		return
	}
	switch p.Elem().Underlying().(type) {
	case *types.Slice, *types.Map:
	default:
		return
	}
	l.edit(c, func(self int) []piece {
		value := append(typePieces(p.Elem(), l.v.pkg), l.inside(c, self)...)
		return l.addressOf(value, p)
	})
}

// structType gives the second blank field of a struct and those after it names: yaegi's would be the same.
func (l *lowering) structType(s *ast.StructType) {
	n := 0
	for _, f := range s.Fields.List {
		for _, id := range f.Names {
			if id.Name != "_" {
				continue
			}
			if n++; n > 1 {
				l.replace(id, made("_%s%d", sep, n))
			}
		}
	}
}

// returnedFunctions makes values of their own of functions of the notebook that are returned by name.
func (l *lowering) returnedFunctions(r *ast.ReturnStmt) {
	for _, x := range r.Results {
		l.functionName(x)
	}
}

// functionName makes a value of its own of a function of the notebook where yaegi would hand over its own description.
func (l *lowering) functionName(x ast.Expr) {
	id, ok := ast.Unparen(x).(*ast.Ident)
	if !ok {
		return
	}
	f, ok := l.v.info.Uses[id].(*types.Func)
	if !ok || f.Pkg() != l.v.pkg || f.Signature().TypeParams().Len() > 0 {
		return
	}
	l.edit(x, func(self int) []piece { return l.functionValue(f.Signature(), l.inside(id, self)) })
}

// functionValue writes a function literal that calls a function.
func (l *lowering) functionValue(sig *types.Signature, name []piece) []piece {
	out := []piece{made("func(")}
	call := append(append([]piece{}, name...), made("("))
	for i := range sig.Params().Len() {
		if i > 0 {
			out, call = append(out, made(", ")), append(call, made(", "))
		}
		t, dots := sig.Params().At(i).Type(), ""
		if sig.Variadic() && i == sig.Params().Len()-1 {
			t, dots = t.Underlying().(*types.Slice).Elem(), "..."
		}
		out = append(append(out, made("p%s%d %s", sep, i, dots)), typePieces(t, l.v.pkg)...)
		call = append(call, made("p%s%d%s", sep, i, dots))
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
