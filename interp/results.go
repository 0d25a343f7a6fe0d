package interp

import (
	"go/ast"
	"go/token"
	"go/types"
)

// yaegi lets a function's result be the place that the call's value is assigned to: a named result begins with what was
// there, and is written there before the function returns. So named results are set to zero where a function begins,
// and what such a function gives goes by a variable of its own where what it is assigned to could be seen.

// results notes the edits for the results of a function that is written or called, and for what has them.
func (l *lowering) results(node ast.Node) {
	switch node := node.(type) {
	case *ast.FuncDecl:
		l.namedResults(node.Type, node.Body)
	case *ast.FuncLit:
		l.namedResults(node.Type, node.Body)
	case *ast.AssignStmt:
		l.assignResult(node)
	case *ast.ReturnStmt:
		for _, x := range node.Results {
			l.returnReceived(x)
		}
	case *ast.IfStmt:
		l.ifStmt(node)
	case *ast.CallExpr:
		if id, ok := node.Fun.(*ast.Ident); ok && l.v.info.Uses[id] == types.Universe.Lookup("make") {
			l.makeChan(node)
		}
	}
}

// namedResults notes the edit that sets a function's named results to zero.
func (l *lowering) namedResults(t *ast.FuncType, body *ast.BlockStmt) {
	if body == nil || t.Results == nil {
		return
	}
	var out []piece
	for _, field := range t.Results.List {
		for _, id := range field.Names {
			obj := l.v.info.Defs[id]
			if obj == nil || id.Name == "_" || l.setFirst(obj, body) {
				continue
			}
			name := []piece{made("%s", id.Name)}
			switch u := obj.Type().Underlying().(type) {
			case *types.Basic:
				zero := "0"
				switch {
				case u.Info()&types.IsString != 0:
					zero = `""`
				case u.Info()&types.IsBoolean != 0:
					zero = "false"
				case u.Kind() == types.UnsafePointer:
					zero = "nil"
				}
				out = append(append(append(out, made(" ")), name...), made(" = %s;", zero))
			case *types.Slice, *types.Pointer, *types.Map:
				out = append(append(append(out, made(" ")), name...), made(" = nil;"))
			default:
				out = append(append(out, made(" { var %s ", zeroName)), typePieces(obj.Type(), l.v.pkg)...)
				out = append(append(append(out, made("; ")), name...), made(" = %s };", zeroName))
			}
		}
	}
	if out == nil {
		return
	}
	l.editRange(body.Lbrace+1, body.Lbrace+1, func(int) []piece { return append([]piece(nil), out...) })
}

// setFirst says whether a function begins with setting a result, to something that is made without it.
func (l *lowering) setFirst(obj types.Object, body *ast.BlockStmt) bool {
	if len(body.List) == 0 {
		return false
	}
	switch s := body.List[0].(type) {
	case *ast.ReturnStmt:
		return len(s.Results) > 0 && !l.mentions(s, obj)
	case *ast.AssignStmt:
		if len(s.Lhs) != 1 || s.Tok != token.ASSIGN {
			return false
		}
		id, ok := s.Lhs[0].(*ast.Ident)
		return ok && l.v.info.Uses[id] == obj && !l.mentions(s.Rhs[0], obj)
	}
	return false
}

func (l *lowering) mentions(n ast.Node, obj types.Object) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			found = found || l.v.info.Uses[n] == obj
		case *ast.FuncLit, *ast.CallExpr:
			found = found || l.v.info.Types[n.(ast.Expr)].Value == nil
		}
		return !found
	})
	return found
}

// assignResult notes the edit of `x = f()` where f has a named result.
func (l *lowering) assignResult(s *ast.AssignStmt) {
	top := l.frag == l.p.body && s.Tok == token.DEFINE
	if len(s.Lhs) != 1 || len(s.Rhs) != 1 || s.Tok != token.ASSIGN && !top || !l.namesResult(s.Rhs[0]) {
		return
	}
	for x := s.Lhs[0]; ; {
		switch y := x.(type) {
		case *ast.Ident:
			obj := l.v.info.Uses[y]
			if obj == nil {
				obj = l.v.info.Defs[y]
			}
			if y.Name == "_" || obj == nil || top && l.tops[obj] == nil {
				return
			}
		case *ast.SelectorExpr:
			x = y.X
			continue
		case *ast.StarExpr:
			x = y.X
			continue
		case *ast.ParenExpr:
			x = y.X
			continue
		default:
			return
		}
		break
	}
	l.edit(s, func(self int) []piece {
		out := append([]piece{made("{ v%sr := ", sep)}, l.inside(s.Rhs[0], self)...)
		out = append(append(out, made("; ")), l.inside(s.Lhs[0], self)...)
		return append(out, made(" = v%sr }", sep))
	})
}

// namesResult says whether an expression is a call of a declared function whose one result has a name.
func (l *lowering) namesResult(x ast.Expr) bool {
	c, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return false
	}
	id := l.genericName(ast.Unparen(c.Fun))
	if sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok && id == nil {
		id = sel.Sel
	}
	if id == nil {
		return false
	}
	f, ok := l.v.info.Uses[id].(*types.Func)
	if !ok || f.Pkg() != l.v.pkg {
		return false
	}
	res := f.Signature().Results()
	return res.Len() == 1 && res.At(0).Name() != ""
}

// returnReceived gives what a function receives and returns a place of its own: what the call's value is assigned to
// could not be changed otherwise.
func (l *lowering) returnReceived(x ast.Expr) {
	u, ok := ast.Unparen(x).(*ast.UnaryExpr)
	if !ok || u.Op != token.ARROW {
		return
	}
	t := l.v.info.TypeOf(x)
	if _, tuple := t.(*types.Tuple); tuple || t == nil {
		return
	}
	l.edit(x, func(self int) []piece {
		out := append([]piece{made("[1]")}, typePieces(t, l.v.pkg)...)
		out = append(append(out, made("{")), l.render(l.offset(x.Pos()), l.offset(x.End()), self+1)...)
		return append(out, made("}[0]"))
	})
}
