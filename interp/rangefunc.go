package interp

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Loops over functions: the body becomes a function literal that says whether to go on.
//
//	{ st := 0
//	  f(func(k K, v V) bool { if st != 0 { rt.Yielded(st) }; st = 3; …; st = 0; return true })
//	  if st == 3 { rt.Yielded(4) }; st = 2
//	  if next == 1 { break outer } … }
//
// st is 0 while the body may be called, 1 once it has ended the loop, 2 after the loop, 3 while the body runs, which is
// also what a panic leaves. What leaves more than the body says so in next, and is done once f has returned.

func (y *yield) state() string { return "st" + y.id }
func (y *yield) next() string  { return "next" + y.outermost().id }
func (y *yield) ret() string   { return "ret" + y.outermost().id + "v" }

func (l *lowering) rangeFunc(s *ast.RangeStmt, sig *types.Signature) {
	y := l.flows().yields[s]
	l.edit(s, func(self int) []piece {
		out := []piece{made("{ %s := 0; ", y.state())}
		if y.outer == nil && y.tells {
			out = append(out, made("%s := 0; ", y.next()))
			if y.rets {
				out = append(out, l.resultVars(y)...)
			}
		}
		fn := "f" + y.id
		out = append(append(out, made("%s := ", fn)), l.inside(s.X, self)...)
		out = append(out, made("; %s(func(", fn))
		params := sig.Params().At(0).Type().Underlying().(*types.Signature).Params()
		var targets []ast.Expr
		var names []string
		for i := range params.Len() {
			x := s.Key
			if i == 1 {
				x = s.Value
			}
			name := "p" + y.id + itoa(i)
			if !isBlankOrNil(x) {
				targets, names = append(targets, x), append(names, name)
			}
			if i > 0 {
				out = append(out, made(", "))
			}
			out = append(append(out, made("%s ", name)), typePieces(params.At(i).Type(), l.v.pkg)...)
		}
		out = append(out, made(") bool { if %s != 0 { %s.Yielded(%s) }; %s = 3; ", y.state(), rtName, y.state(), y.state()))
		out = append(out, l.bind(s, targets, names, self)...)
		out = append(out, l.render(l.offset(s.Body.Lbrace)+1, l.offset(s.Body.Rbrace), self+1)...)
		out = append(out, made("; %s = 0; return true }); if %s == 3 { %s.Yielded(4) }; %s = 2", y.state(), y.state(), rtName, y.state()))
		for _, e := range y.exits {
			out = append(out, made("; if %s == %d { ", y.next(), e.code))
			out = append(append(out, l.leave(e, y.outer, y)...), made(" }"))
		}
		return append(out, made(" }"))
	})
}

// resultVars declares where a return inside a loop over a function leaves its values.
func (l *lowering) resultVars(y *yield) []piece {
	var out []piece
	for i, t := range l.resultsOf(y.fn) {
		out = append(out, made("var %s%d ", y.ret(), i))
		out = append(append(out, typePieces(t, l.v.pkg)...), made("; "))
	}
	return out
}

func (l *lowering) resultsOf(fn ast.Node) []types.Type {
	var sig *types.Signature
	switch fn := fn.(type) {
	case *ast.FuncLit:
		sig, _ = l.v.info.TypeOf(fn).(*types.Signature)
	case *ast.FuncDecl:
		if obj, ok := l.v.info.Defs[fn.Name].(*types.Func); ok {
			sig = obj.Signature()
		}
	}
	var out []types.Type
	if sig != nil {
		for v := range sig.Results().Variables() {
			out = append(out, v.Type())
		}
	}
	return out
}

// leave writes how an exit goes on in the body of at, nil for the function itself. from is the loop whose code has been
// written last, nil at the exit itself.
func (l *lowering) leave(e *exit, at, from *yield) []piece {
	f := l.flow
	if e.br == nil {
		if at != nil {
			return []piece{made("%s = 1; return false", at.state())}
		}
		if e.bare {
			return []piece{made("return")}
		}
		out := []piece{made("return ")}
		for i := range l.resultsOf(from.fn) {
			if i > 0 {
				out = append(out, made(", "))
			}
			out = append(out, made("%s%d", from.ret(), i))
		}
		return out
	}
	target := f.target[e.br]
	if r, ok := target.(*ast.RangeStmt); ok && at != nil && f.yields[r] == at {
		reset := made("%s = 0; ", at.next())
		if e.br.Tok == token.CONTINUE {
			return []piece{reset, made("%s = 0; return true", at.state())}
		}
		return []piece{reset, made("%s = 1; return false", at.state())}
	}
	if at != nil {
		if b := at.stmt.Body; target.Pos() < b.Pos() || target.End() > b.End() {
			return []piece{made("%s = 1; return false", at.state())}
		}
	}
	out := []piece{made("%s = 0; ", from.next())}
	return append(out, l.plainBranch(e.br)...)
}

// plainBranch writes a branch where its target is in reach.
func (l *lowering) plainBranch(b *ast.BranchStmt) []piece {
	target := l.flow.target[b]
	if b.Tok == token.GOTO {
		name := b.Label.Name
		if ls, ok := target.(*ast.LabeledStmt); ok && l.prefixed(ls.Stmt) {
			name = jumpPrefix + name
		}
		return []piece{made("goto %s", name)}
	}
	if l.flow.left[b] {
		return []piece{made("goto %s%s", endPrefix, b.Label.Name)}
	}
	var out []piece
	if s, ok := target.(*ast.ForStmt); ok && b.Tok == token.CONTINUE && l.flow.loops[s] != "" {
		out = l.copyBack(s)
	}
	if s, ok := target.(*ast.SelectStmt); ok {
		return append(out, made("goto %s", l.endOf(s)))
	}
	if b.Label == nil {
		return append(out, made("%s", b.Tok))
	}
	return append(out, made("%s %s", b.Tok, b.Label.Name))
}

// branch notes the edit of a break, continue or goto that leads out of a rewritten loop, or on in it.
func (l *lowering) branch(b *ast.BranchStmt) {
	f := l.flows()
	target := f.target[b]
	if target == nil {
		return
	}
	y := f.within[b]
	if e := exitOf(y, b); e != nil {
		l.edit(b, func(int) []piece {
			return []piece{made("{ %s = %d; %s = 1; return false }", y.next(), e.code, y.state())}
		})
		return
	}
	if f.left[b] {
		if r, ok := target.(*ast.RangeStmt); !ok || f.yields[r] == nil {
			l.edit(b, func(int) []piece { return l.plainBranch(b) })
			return
		}
	}
	switch s := target.(type) {
	case *ast.RangeStmt:
		if own := f.yields[s]; own != nil {
			l.edit(b, func(int) []piece {
				if b.Tok == token.CONTINUE {
					return []piece{made("{ %s = 0; return true }", own.state())}
				}
				return []piece{made("{ %s = 1; return false }", own.state())}
			})
		}
	case *ast.ForStmt:
		if b.Tok == token.CONTINUE && f.loops[s] != "" {
			l.edit(b, func(int) []piece { return append(append([]piece{made("{ ")}, l.plainBranch(b)...), made(" }")) })
		}
	case *ast.SelectStmt:
		l.edit(b, func(int) []piece { return l.plainBranch(b) })
	case *ast.LabeledStmt:
		if l.prefixed(s.Stmt) {
			l.edit(b, func(int) []piece { return l.plainBranch(b) })
		}
	}
}

func exitOf(y *yield, b *ast.BranchStmt) *exit {
	if y == nil {
		return nil
	}
	for _, e := range y.exits {
		if e.br == b {
			return e
		}
	}
	return nil
}

// returnStmt notes the edit of a return inside a loop over a function.
func (l *lowering) returnStmt(r *ast.ReturnStmt) {
	y := l.flows().within[r]
	if y == nil {
		if l.lostResults(r) {
			l.returnByParts(r)
		}
		return
	}
	code := 0
	for _, e := range y.exits {
		if e.br == nil && e.bare == (len(r.Results) == 0) {
			code = e.code
		}
	}
	l.edit(r, func(self int) []piece {
		out := []piece{made("{ ")}
		if n := len(l.resultsOf(y.fn)); n == len(r.Results) {
			for i, x := range r.Results {
				out = append(out, made("%s%d = ", y.ret(), i))
				out = append(append(out, l.inside(x, self)...), made("; "))
			}
		} else if len(r.Results) > 0 {
			for i := range n {
				if i > 0 {
					out = append(out, made(", "))
				}
				out = append(out, made("%s%d", y.ret(), i))
			}
			out = append(append(out, made(" = ")), l.list(r.Results, self)...)
			out = append(out, made("; "))
		}
		return append(out, made("%s = %d; %s = 1; return false }", y.next(), code, y.state()))
	})
}

// topReturn writes the end of a return at a cell's top level.
func (l *lowering) topReturn(b *ast.BlockStmt) []piece {
	y := l.flows().within[b]
	if y == nil {
		return []piece{made("; return }")}
	}
	for _, e := range y.exits {
		if e.br == nil && e.bare {
			return []piece{made("; %s = %d; %s = 1; return false }", y.next(), e.code, y.state())}
		}
	}
	return nil
}
