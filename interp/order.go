package interp

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Assignments to several operands: Go evaluates the operands of the left side and all of the right side before it
// assigns anything, from left to right. yaegi assigns one after the other, mistakes fields and map elements, and loses
// what is assigned to an interface. Only variables and elements of plain types that do not depend on each other are left
// to it.

// assignStmt notes the edit of an assignment that yaegi would get wrong.
func (l *lowering) assignStmt(s *ast.AssignStmt) {
	if len(s.Lhs) < 2 {
		if l.receivesInto(s) {
			l.edit(s, func(self int) []piece { return l.assignByParts(s, self) })
			return
		}
		l.sharedDefine(s)
		return
	}
	switch s.Tok {
	case token.DEFINE:
		if len(s.Rhs) > 1 && (l.redeclares(s) || l.flows().block[s] && l.hasLiteral(s.Rhs)) {
			l.edit(s, func(self int) []piece { return l.defineByParts(s, self) })
			return
		}
		l.sharedDefine(s)
	case token.ASSIGN:
		if l.assignsInOrder(s) {
			return
		}
		l.edit(s, func(self int) []piece { return l.assignByParts(s, self) })
	}
}

// localVars parts a var declaration in a function where yaegi would confuse its values, or give a function literal that
// returns nothing but zeros.
func (l *lowering) localVars(d *ast.DeclStmt) {
	g, ok := d.Decl.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR {
		return
	}
	parts := false
	for _, s := range g.Specs {
		spec := s.(*ast.ValueSpec)
		if l.tops[l.v.info.Defs[spec.Names[0]]] != nil {
			return
		}
		parts = parts || len(spec.Values) > 1 && l.hasLiteral(spec.Values)
		for _, x := range spec.Values {
			parts = parts || l.isLiteral(x)
		}
	}
	if !parts {
		return
	}
	l.edit(g, func(self int) []piece {
		var out []piece
		for i, s := range g.Specs {
			if i > 0 {
				out = append(out, made("; "))
			}
			spec := s.(*ast.ValueSpec)
			if len(spec.Values) != len(spec.Names) {
				out = append(append(out, made("var ")), l.inside(spec, self)...)
				continue
			}
			l.tmp++
			id := sep + itoa(l.tmp)
			var then []piece
			for i, x := range spec.Values {
				name := "v" + id + itoa(i)
				out = append(out, l.temporary(name, spec.Names[i], x, self)...)
				if spec.Names[i].Name == "_" {
					continue
				}
				if len(then) > 0 {
					then = append(then, made("; "))
				}
				then = append(append(then, made("var ")), l.inside(spec.Names[i], self)...)
				then = append(append(then, made(" ")), typePieces(l.v.info.TypeOf(spec.Names[i]), l.v.pkg)...)
				then = append(then, made(" = %s", name))
			}
			out = append(out, then...)
		}
		return out
	})
}

// isLiteral tells a function literal, also one that is converted.
func (l *lowering) isLiteral(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.FuncLit:
		return true
	case *ast.CallExpr:
		return len(x.Args) == 1 && l.v.info.Types[x.Fun].IsType() && l.isLiteral(x.Args[0])
	}
	return false
}

// hasLiteral says whether there is a composite literal among values that are assigned together: yaegi confuses it with
// the others.
func (l *lowering) hasLiteral(xs []ast.Expr) bool {
	for _, x := range xs {
		x = ast.Unparen(x)
		if u, ok := x.(*ast.UnaryExpr); ok && u.Op == token.AND {
			x = ast.Unparen(u.X)
		}
		if _, ok := x.(*ast.CompositeLit); ok {
			return true
		}
	}
	return false
}

func (l *lowering) redeclares(s *ast.AssignStmt) bool {
	for _, x := range s.Lhs {
		id := x.(*ast.Ident)
		if id.Name == "_" {
			continue
		}
		obj := l.v.info.Defs[id]
		if obj == nil || l.tops[obj] != nil {
			return true
		}
	}
	return false
}

// assignsInOrder says whether yaegi can be left to do an assignment of several values.
func (l *lowering) assignsInOrder(s *ast.AssignStmt) bool {
	if len(s.Rhs) != len(s.Lhs) && l.sameTypes(s) {
		return true
	}
	elements := false
	for _, x := range s.Lhs {
		if isBlankOrNil(x) {
			continue
		}
		t := l.v.info.TypeOf(x)
		if _, basic := t.Underlying().(*types.Basic); !basic {
			return false
		}
		switch x := ast.Unparen(x).(type) {
		case *ast.Ident:
		case *ast.IndexExpr:
			if len(s.Rhs) != len(s.Lhs) {
				return false
			}
			elements = true
			if _, slice := l.v.info.TypeOf(x.X).Underlying().(*types.Slice); !slice || !l.simpleOperand(x.X) || !l.simpleOperand(x.Index) {
				return false
			}
		default:
			return false
		}
	}
	if len(s.Rhs) != len(s.Lhs) {
		return true
	}
	if elements { // a swap of elements; anything that a variable of the left side could change is not left to yaegi
		for _, x := range s.Lhs {
			if _, ok := ast.Unparen(x).(*ast.IndexExpr); !ok {
				return false
			}
		}
		for _, x := range s.Rhs {
			ix, ok := ast.Unparen(x).(*ast.IndexExpr)
			if !ok || !l.simpleOperand(ix.X) || !l.simpleOperand(ix.Index) {
				return false
			}
		}
		return true
	}
	for _, x := range s.Rhs { // yaegi evaluates a call or literal into the variable itself, and forgets the other values
		switch ast.Unparen(x).(type) {
		case *ast.CallExpr, *ast.CompositeLit, *ast.FuncLit, *ast.TypeAssertExpr:
			if l.v.info.Types[x].Value == nil {
				return false
			}
		}
		if hasCallOrReceive(l.v.info, x) {
			return false
		}
	}
	return true
}

// sameTypes says whether what one expression gives goes to variables of just its types.
func (l *lowering) sameTypes(s *ast.AssignStmt) bool {
	tuple, ok := l.v.info.TypeOf(s.Rhs[0]).(*types.Tuple)
	if !ok || tuple.Len() != len(s.Lhs) {
		return false
	}
	if _, call := ast.Unparen(s.Rhs[0]).(*ast.CallExpr); !call {
		return false
	}
	for i, x := range s.Lhs {
		if isBlankOrNil(x) {
			continue
		}
		if _, ident := ast.Unparen(x).(*ast.Ident); !ident || !types.Identical(l.v.info.TypeOf(x), tuple.At(i).Type()) {
			return false
		}
	}
	return true
}

// simpleOperand says whether evaluating an operand twice or later changes nothing: variables, constants, and sums of them.
func (l *lowering) simpleOperand(x ast.Expr) bool {
	if tv := l.v.info.Types[x]; tv.Value != nil {
		return true
	}
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return true
	case *ast.BinaryExpr:
		return x.Op != token.QUO && x.Op != token.REM && l.simpleOperand(x.X) && l.simpleOperand(x.Y)
	}
	return false
}

// assignByParts writes an assignment with temporaries.
func (l *lowering) assignByParts(s *ast.AssignStmt, self int) []piece {
	l.tmp++
	id := sep + itoa(l.tmp)
	var out []piece
	if !l.flows().block[s] {
		out = append(out, made("func() { "))
	} else {
		out = append(out, made("{ "))
	}
	w := &lvalues{l: l, self: self, id: id}
	for _, x := range s.Lhs {
		w.add(x)
	}
	out = append(out, w.before...)
	names := make([]string, len(s.Lhs))
	for i := range s.Lhs {
		names[i] = "v" + id + itoa(i)
	}
	if len(s.Rhs) != len(s.Lhs) {
		for i, name := range names {
			if i > 0 {
				out = append(out, made(", "))
			}
			if isBlankOrNil(s.Lhs[i]) {
				name = "_"
			}
			out = append(out, made("%s", name))
		}
		out = append(append(append(out, made(" := ")), l.list(s.Rhs, self)...), made("; "))
		out = append(out, l.convertNames(s, names)...)
	} else {
		for i, x := range s.Rhs {
			out = append(out, l.temporary(names[i], s.Lhs[i], x, self)...)
		}
	}
	out = append(out, w.assign(names)...)
	if !l.flow.block[s] {
		return append(out, made(" }()"))
	}
	return append(out, made(" }"))
}

// temporary declares a variable of the type that x is assigned to.
func (l *lowering) temporary(name string, lhs, x ast.Expr, self int) []piece {
	if isBlankOrNil(lhs) {
		if tv := l.v.info.Types[x]; tv.IsNil() {
			return nil
		}
		return append(append([]piece{made("_ = ")}, l.inside(x, self)...), made("; "))
	}
	return l.temporaryOf(name, l.v.info.TypeOf(lhs), x, self)
}

func (l *lowering) temporaryOf(name string, t types.Type, x ast.Expr, self int) []piece {
	if lit, ok := ast.Unparen(x).(*ast.FuncLit); ok { // not by var: yaegi would make it return zeros
		out := []piece{made("%s := ", name)}
		if !types.IsInterface(t) && !types.Identical(t, l.v.info.TypeOf(lit)) {
			out = append(append(out, typePieces(t, l.v.pkg)...), made("("))
			return append(append(out, l.inside(lit, self)...), made("); "))
		}
		return append(append(out, l.inside(lit, self)...), made("; "))
	}
	if tv := l.v.info.Types[x]; tv.Value == nil && types.Identical(t, tv.Type) {
		return append(append([]piece{made("%s := ", name)}, l.inside(x, self)...), made("; "))
	}
	if isReceive(x) { // yaegi would give the variable the channel's type
		out := append([]piece{made("%sr := ", name)}, l.inside(x, self)...)
		out = append(append(out, made("; var %s ", name)), typePieces(t, l.v.pkg)...)
		return append(out, made(" = %sr; ", name))
	}
	out := append([]piece{made("var %s ", name)}, typePieces(t, l.v.pkg)...)
	if tv := l.v.info.Types[x]; tv.IsNil() {
		return append(out, made("; "))
	}
	return append(append(append(out, made(" = ")), l.inside(x, self)...), made("; "))
}

// defineByParts writes `a, b := x, y` where a is there already.
func (l *lowering) defineByParts(s *ast.AssignStmt, self int) []piece {
	l.tmp++
	id := sep + itoa(l.tmp)
	var out []piece
	for i, x := range s.Rhs {
		out = append(out, l.temporary("v"+id+itoa(i), s.Lhs[i], x, self)...)
	}
	for i, x := range s.Lhs {
		if isBlankOrNil(x) {
			continue
		}
		op := " = "
		if obj := l.v.info.Defs[x.(*ast.Ident)]; obj != nil && l.tops[obj] == nil {
			op = " := "
		}
		if i > 0 {
			out = append(out, made("; "))
		}
		out = append(append(out, l.inside(x, self)...), made("%sv%s%d", op, id, i))
	}
	return out
}

// assignNamed writes assignments of values that have names to operands of any kind.
func (l *lowering) assignNamed(targets []ast.Expr, values []string, self int) []piece {
	l.tmp++
	w := &lvalues{l: l, self: self, id: sep + itoa(l.tmp)}
	for _, x := range targets {
		w.add(x)
	}
	return append(w.before, w.assign(values)...)
}

// lvalues evaluates the operands of left sides before anything is assigned.
type lvalues struct {
	l      *lowering
	self   int
	id     string
	n      int
	before []piece
	refs   [][]piece // how each left side is written afterwards; nil for the blank one
}

func (w *lvalues) add(x ast.Expr) {
	if isBlankOrNil(x) {
		w.refs = append(w.refs, nil)
		return
	}
	w.refs = append(w.refs, w.place(x))
}

func (w *lvalues) keep(x ast.Expr) []piece {
	if tv := w.l.v.info.Types[x]; tv.Value != nil {
		return w.l.inside(x, w.self)
	}
	name := "o" + w.id + itoa(w.n)
	w.n++
	w.before = append(w.before, made("%s := ", name))
	w.before = append(append(w.before, w.l.inside(x, w.self)...), made("; "))
	return []piece{made("%s", name)}
}

// place writes an operand of a left side with what it depends on kept in temporaries.
func (w *lvalues) place(x ast.Expr) []piece {
	info := w.l.v.info
	switch x := ast.Unparen(x).(type) {
	case *ast.IndexExpr:
		var base []piece
		if _, array := info.TypeOf(x.X).Underlying().(*types.Array); array {
			base = w.place(x.X)
		} else {
			base = w.keep(x.X)
		}
		index := w.keep(x.Index)
		return append(append(append(base, made("[")), index...), made("]"))
	case *ast.SelectorExpr:
		if s := info.Selections[x]; s != nil {
			var base []piece
			if _, ptr := info.TypeOf(x.X).Underlying().(*types.Pointer); ptr {
				base = w.keep(x.X)
			} else {
				base = w.place(x.X)
			}
			return append(append(base, made(".")), w.l.inside(x.Sel, w.self)...)
		}
	case *ast.StarExpr:
		return append([]piece{made("*")}, w.keep(x.X)...)
	}
	return w.l.inside(x, w.self)
}

func (w *lvalues) assign(values []string) []piece {
	var out []piece
	for i, ref := range w.refs {
		if ref == nil {
			continue
		}
		if len(out) > 0 {
			out = append(out, made("; "))
		}
		out = append(append(out, ref...), made(" = %s", values[i]))
	}
	return out
}

// sharedDefine gives a variable that outlives its iteration a place of its own where yaegi would use the same one again:
// what is received, found in a map, asserted or written as an array.
func (l *lowering) sharedDefine(s *ast.AssignStmt) {
	if s.Tok != token.DEFINE || len(s.Rhs) != 1 || !l.reusesPlace(s.Rhs[0], len(s.Lhs)) {
		return
	}
	shared := false
	for _, x := range s.Lhs {
		obj := l.v.info.Defs[x.(*ast.Ident)]
		shared = shared || obj != nil && l.flows().shared[obj] && l.tops[obj] == nil
	}
	if !shared || !l.flow.block[s] {
		return
	}
	l.tmp++
	id := sep + itoa(l.tmp)
	l.edit(s, func(self int) []piece {
		var out, then []piece
		for i, x := range s.Lhs {
			if i > 0 {
				out = append(out, made(", "))
			}
			if isBlankOrNil(x) {
				out = append(out, made("_"))
				continue
			}
			out = append(out, made("v%s%d", id, i))
			op := " = "
			if obj := l.v.info.Defs[x.(*ast.Ident)]; obj != nil && l.tops[obj] == nil {
				op = " := "
			}
			then = append(append(then, made("; ")), l.inside(x, self)...)
			then = append(then, made("%sv%s%d", op, id, i))
		}
		out = append(append(out, made(" := ")), l.inside(s.Rhs[0], self)...)
		return append(out, then...)
	})
}

func (l *lowering) reusesPlace(x ast.Expr, n int) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.UnaryExpr:
		return x.Op == token.ARROW
	case *ast.IndexExpr, *ast.TypeAssertExpr:
		return n == 2
	case *ast.CompositeLit:
		_, array := l.v.info.TypeOf(x).Underlying().(*types.Array)
		return array
	}
	return false
}
