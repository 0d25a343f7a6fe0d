package interp

import (
	"go/ast"
	"go/token"
	"go/types"
)

// yaegi skips the assignment in `x = T{…}` and `x = <-c`: it puts the new value in the place of the variable instead of
// into it. Whoever holds the variable's address keeps the old one: a pointer, and for a variable of the notebook the
// evaluator itself. Where that can be seen, the value takes a detour on which yaegi does assign.
func (l *lowering) assign(s *ast.AssignStmt) {
	if len(s.Lhs) != len(s.Rhs) {
		return
	}
	for i, r := range s.Rhs {
		id, ok := ast.Unparen(s.Lhs[i]).(*ast.Ident)
		if !ok || !l.skipped(r) {
			continue
		}
		v, ok := l.varOf(id)
		if !ok || s.Tok == token.DEFINE && l.tops[v] == nil || !l.seenElsewhere(v) {
			continue
		}
		l.detour(r)
	}
}

// skipped says whether yaegi would skip the assignment of the expression.
func (l *lowering) skipped(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.CompositeLit:
		_, ok := l.v.info.TypeOf(x).Underlying().(*types.Struct)
		return ok
	case *ast.UnaryExpr:
		return x.Op == token.ARROW
	}
	return false
}

func (l *lowering) detour(x ast.Expr) {
	t := l.v.info.TypeOf(x)
	l.edit(x, func(self int) []piece {
		out := append([]piece{made("[1]")}, typePieces(t, l.v.pkg)...)
		return append(append(out, made("{")), append(l.inside(x, self), made("}[0]"))...)
	})
}

func (l *lowering) varOf(id *ast.Ident) (*types.Var, bool) {
	obj := l.v.info.Uses[id]
	if obj == nil {
		obj = l.v.info.Defs[id]
	}
	v, ok := obj.(*types.Var)
	return v, ok
}

// seenElsewhere says whether something but the code that names the variable can see its place.
func (l *lowering) seenElsewhere(v *types.Var) bool {
	if l.tops[v] != nil || v.Parent() == l.v.pkg.Scope() {
		return true
	}
	if l.addressed == nil {
		l.addressed = map[types.Object]bool{}
		ast.Inspect(l.frag.file, l.noteAddress)
	}
	return l.addressed[v]
}

// noteAddress notes the variables whose address is taken: by &, by a method with a pointer receiver, by slicing an array.
func (l *lowering) noteAddress(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			l.addressed[l.root(n.X)] = true
		}
	case *ast.SelectorExpr:
		s := l.v.info.Selections[n]
		if s == nil || s.Kind() != types.MethodVal {
			break
		}
		if f, ok := s.Obj().(*types.Func); ok && f.Signature().Recv() != nil {
			if _, ptr := f.Signature().Recv().Type().(*types.Pointer); ptr {
				l.addressed[l.root(n.X)] = true
			}
		}
	case *ast.SliceExpr:
		l.addressed[l.root(n.X)] = true
	}
	return true
}

// root gives the variable that an addressable expression is a part of.
func (l *lowering) root(x ast.Expr) types.Object {
	for {
		switch y := ast.Unparen(x).(type) {
		case *ast.Ident:
			if v, ok := l.varOf(y); ok {
				return v
			}
			return nil
		case *ast.SelectorExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		default:
			return nil
		}
	}
}
