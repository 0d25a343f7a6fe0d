package interp

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Selects: yaegi's break leaves the loop round them instead, and a branch at the end of a clause is not taken; a variable
// that is received into is one of its own even with `=`, and the same in every iteration; operands are not evaluated in
// order, and blank ones are not understood. So clauses are written as
//
//	{ c := ch; v := T(val); select { case c <- v: {…}; case r, ok := <-d: { x := r; … } }; end: {} }
//
// and a break becomes a goto.

// selectStmt notes the edit of a select.
func (l *lowering) selectStmt(s *ast.SelectStmt) {
	l.edit(s, func(self int) []piece {
		w := &selectWriter{l: l, self: self, id: sep + itoa(l.newTmp())}
		return w.write(s)
	})
}

func (l *lowering) newTmp() int {
	l.tmp++
	return l.tmp
}

// endOf names the place after a select to which its breaks go.
func (l *lowering) endOf(s *ast.SelectStmt) string { return endPrefix + itoa(l.offset(s.Pos())) }

type selectWriter struct {
	l      *lowering
	self   int
	id     string
	before []piece
	calls  bool // an operand calls or receives: all are evaluated beforehand
}

func (w *selectWriter) write(s *ast.SelectStmt) []piece {
	l := w.l
	for _, c := range s.Body.List {
		for _, x := range w.operands(c.(*ast.CommClause)) {
			w.calls = w.calls || hasCallOrReceive(l.v.info, x)
		}
	}
	var body []piece
	for i, c := range s.Body.List {
		c := c.(*ast.CommClause)
		end := s.Body.Rbrace
		if i+1 < len(s.Body.List) {
			end = s.Body.List[i+1].Pos()
		}
		head, then := w.comm(c, i)
		body = append(append(body, head...), made(": { "))
		body = append(body, then...)
		body = append(body, l.render(l.offset(c.Colon)+1, l.offset(end), w.self+1)...)
		body = append(body, made("}; "))
	}
	out := append([]piece{made("{ ")}, w.before...)
	out = append(append(out, l.labelOf(s)...), made("select { "))
	out = append(append(out, body...), made("}"))
	if l.breaksOut(s) {
		out = append(out, made("; %s: {}", l.endOf(s)))
	}
	return append(out, made(" }"))
}

// breaksOut says whether a break leaves the select.
func (l *lowering) breaksOut(s *ast.SelectStmt) bool {
	for b, target := range l.flows().target {
		if target == s && b.Tok == token.BREAK {
			return true
		}
	}
	return false
}

// operands gives what a clause evaluates before one is chosen.
func (w *selectWriter) operands(c *ast.CommClause) []ast.Expr {
	switch s := c.Comm.(type) {
	case *ast.SendStmt:
		return []ast.Expr{s.Chan, s.Value}
	case *ast.ExprStmt:
		return []ast.Expr{received(s.X)}
	case *ast.AssignStmt:
		return []ast.Expr{received(s.Rhs[0])}
	}
	return nil
}

// received gives the channel of a receive.
func received(x ast.Expr) ast.Expr { return ast.Unparen(x).(*ast.UnaryExpr).X }

// comm writes a clause's communication, and what its body begins with.
func (w *selectWriter) comm(c *ast.CommClause, i int) (head, then []piece) {
	l := w.l
	n := w.id + itoa(i)
	switch s := c.Comm.(type) {
	case nil:
		return []piece{made("default")}, nil
	case *ast.SendStmt:
		ch := w.channel(s.Chan, n)
		elem := l.v.info.TypeOf(s.Chan).Underlying().(*types.Chan).Elem()
		value := l.inside(s.Value, w.self)
		if tv := l.v.info.Types[s.Value]; w.calls || tv.Value != nil || !types.Identical(tv.Type, elem) || !l.simpleOperand(s.Value) {
			w.before = append(w.before, l.temporaryOf("v"+n, elem, s.Value, w.self)...)
			value = []piece{made("v%s", n)}
		}
		head = append(append([]piece{made("case ")}, ch...), made(" <- "))
		return append(head, value...), nil
	case *ast.ExprStmt:
		return append([]piece{made("case <-")}, w.channel(received(s.X), n)...), nil
	case *ast.AssignStmt:
		ch := w.channel(received(s.Rhs[0]), n)
		left, then := w.targets(s, n)
		return append(append([]piece{made("case ")}, left...), append([]piece{made("<-")}, ch...)...), then
	}
	return nil, nil
}

// targets writes the left side of a receive, and the assignments that the clause then begins with.
func (w *selectWriter) targets(s *ast.AssignStmt, n string) (left, then []piece) {
	l := w.l
	if len(s.Lhs) == 1 && isBlankOrNil(s.Lhs[0]) {
		return nil, nil
	}
	if s.Tok == token.DEFINE && w.plain(s) {
		return append(l.list(s.Lhs, w.self), made(" := ")), nil
	}
	var targets []ast.Expr
	var names []string
	for i, x := range s.Lhs {
		name := "r" + n + itoa(i)
		if i > 0 {
			left = append(left, made(", "))
		}
		left = append(left, made("%s", name))
		if !isBlankOrNil(x) {
			targets, names = append(targets, x), append(names, name)
		}
	}
	left = append(left, made(" := "))
	if len(targets) == 0 {
		return left, nil
	}
	if s.Tok == token.ASSIGN {
		return left, append(l.assignNamed(targets, names, w.self), made("; "))
	}
	for i, x := range targets {
		then = append(append(then, l.inside(x, w.self)...), made(" := %s; ", names[i]))
	}
	return left, then
}

// plain says whether yaegi can be left to declare the variables of a receive.
func (w *selectWriter) plain(s *ast.AssignStmt) bool {
	for _, x := range s.Lhs {
		if isBlankOrNil(x) || w.l.flows().shared[w.l.v.info.Defs[x.(*ast.Ident)]] {
			return false
		}
	}
	return true
}

func (w *selectWriter) channel(x ast.Expr, n string) []piece {
	if !w.calls && w.l.simpleOperand(x) {
		return w.l.inside(x, w.self)
	}
	w.before = append(append(w.before, made("c%s := ", n)), w.l.inside(x, w.self)...)
	w.before = append(w.before, made("; "))
	return []piece{made("c%s", n)}
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
