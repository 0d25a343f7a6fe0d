package interp

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Switches and selects: yaegi forgets the value that is switched on when there is an init statement before it, cannot
// compare interfaces and nil in cases, lets fallthrough pass by a default that is not the last case, assigns what a case
// of select receives to variables only, and does not leave a select by a label.

// switchStmt notes the edits of a switch that yaegi would get wrong.
func (l *lowering) switchStmt(s *ast.SwitchStmt) {
	if !l.flows().block[s] && l.flow.label[s] == nil {
		return
	}
	numbered := l.numbersCases(s)
	compared := s.Tag != nil && l.comparesCases(s)
	if !numbered && !compared && !l.forgetsTag(s) {
		return
	}
	l.tmp++
	t, n := "t"+sep+itoa(l.tmp), "n"+sep+itoa(l.tmp)
	l.editRange(s.Switch, s.Body.Lbrace+1, func(self int) []piece {
		out := []piece{made("{ ")}
		if s.Init != nil {
			out = append(append(out, l.inside(s.Init, self)...), made("; "))
		}
		if s.Tag != nil {
			out = append(out, l.tagValue(t, s.Tag, self)...)
		}
		if numbered {
			return append(out, l.chooseCase(s, t, n, compared, self)...)
		}
		out = append(out, l.labelOf(s)...)
		if compared {
			return append(out, made("switch {"))
		}
		return append(out, made("switch %s {", t))
	})
	for i, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		switch {
		case numbered:
			l.editRange(c.Case, c.Colon+1, func(int) []piece { return []piece{made("case %d:", i)} })
		case compared:
			for _, x := range c.List {
				l.edit(x, func(self int) []piece { return l.comparedTo(t, x, self) })
			}
		}
	}
	l.editRange(s.Body.Rbrace, s.Body.Rbrace+1, func(int) []piece { return []piece{made("}}")} })
}

func (l *lowering) tagValue(t string, tag ast.Expr, self int) []piece {
	out := append([]piece{made("var %s ", t)}, typePieces(types.Default(l.v.info.TypeOf(tag)), l.v.pkg)...)
	if l.v.info.Types[tag].Value == nil {
		out = []piece{made("%s := ", t)}
		return append(append(out, l.inside(tag, self)...), made("; "))
	}
	return append(append(append(out, made(" = ")), l.inside(tag, self)...), made("; "))
}

func (l *lowering) comparedTo(t string, x ast.Expr, self int) []piece {
	if l.v.info.Types[x].IsNil() {
		return []piece{made("%s == nil", t)}
	}
	return wrap(made("%s == (", t), l.inside(x, self), made(")"))
}

// numbersCases says whether fallthrough meets a default that is not the last case: such cases are chosen by number.
func (l *lowering) numbersCases(s *ast.SwitchStmt) bool {
	falls, early := false, false
	for i, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		early = early || c.List == nil && i < len(s.Body.List)-1
		if len(c.Body) > 0 {
			b, ok := c.Body[len(c.Body)-1].(*ast.BranchStmt)
			falls = falls || ok && b.Tok == token.FALLTHROUGH
		}
	}
	return falls && early
}

// comparesCases says whether interfaces or nil are compared.
func (l *lowering) comparesCases(s *ast.SwitchStmt) bool {
	if types.IsInterface(l.v.info.TypeOf(s.Tag)) {
		return true
	}
	for _, c := range s.Body.List {
		for _, x := range c.(*ast.CaseClause).List {
			if tv := l.v.info.Types[x]; tv.IsNil() || types.IsInterface(tv.Type) {
				return true
			}
		}
	}
	return false
}

func (l *lowering) forgetsTag(s *ast.SwitchStmt) bool {
	if s.Init == nil || s.Tag == nil {
		return false
	}
	_, ident := ast.Unparen(s.Tag).(*ast.Ident)
	return !ident
}

// chooseCase writes a switch that finds the number of the case, and the head of the one that runs it.
func (l *lowering) chooseCase(s *ast.SwitchStmt, t, n string, compared bool, self int) []piece {
	out := []piece{made("%s := -1; switch ", n)}
	if s.Tag != nil && !compared {
		out = append(out, made("%s ", t))
	}
	out = append(out, made("{ "))
	for i, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		if c.List == nil {
			out = append(out, made("default: "))
		} else {
			out = append(out, made("case "))
			for j, x := range c.List {
				if j > 0 {
					out = append(out, made(", "))
				}
				if compared {
					out = append(out, l.comparedTo(t, x, self)...)
				} else {
					out = append(out, l.inside(x, self)...)
				}
			}
			out = append(out, made(": "))
		}
		out = append(out, made("%s = %d; ", n, i))
	}
	out = append(out, made("}; "))
	out = append(out, l.labelOf(s)...)
	return append(out, made("switch %s {", n))
}

// commClause notes the edit of a case of select that receives into more than fresh variables.
func (l *lowering) commClause(c *ast.CommClause) {
	a, ok := c.Comm.(*ast.AssignStmt)
	if !ok {
		return
	}
	if a.Tok == token.DEFINE {
		shared := false
		for _, x := range a.Lhs {
			shared = shared || l.flows().shared[l.v.info.Defs[x.(*ast.Ident)]]
		}
		if !shared {
			return
		}
	}
	l.tmp++
	id := sep + itoa(l.tmp)
	l.editRange(c.Case, c.Colon+1, func(self int) []piece {
		out := []piece{made("case ")}
		var targets []ast.Expr
		var names []string
		for i, x := range a.Lhs {
			if i > 0 {
				out = append(out, made(", "))
			}
			if isBlankOrNil(x) {
				out = append(out, made("_"))
				continue
			}
			name := "v" + id + itoa(i)
			out = append(out, made("%s", name))
			targets, names = append(targets, x), append(names, name)
		}
		if len(targets) == 0 {
			out = append(out, made(" = "))
		} else {
			out = append(out, made(" := "))
		}
		out = append(append(out, l.inside(a.Rhs[0], self)...), made(": "))
		if a.Tok == token.ASSIGN {
			return append(append(out, l.assignNamed(targets, names, self)...), made("; "))
		}
		for i, x := range targets {
			out = append(append(out, l.inside(x, self)...), made(" := %s; ", names[i]))
		}
		return out
	})
}

const endPrefix = "end" + sep

// leavesSelect says whether a labelled break leads out of a select, which yaegi does not do.
func (w *flowWalker) leavesSelect(b *ast.BranchStmt, target ast.Stmt) bool {
	if b.Label == nil || b.Tok != token.BREAK {
		return false
	}
	for i := len(w.stack) - 1; i >= 0 && w.stack[i] != target; i-- {
		switch w.stack[i].(type) {
		case *ast.SelectStmt:
			return true
		}
	}
	return false
}
