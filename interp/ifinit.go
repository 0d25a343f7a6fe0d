package interp

import (
	"go/ast"
	"go/token"
	"go/types"
)

// ifStmt takes an assignment of several values out of an if statement's head, where it could not be parted.
func (l *lowering) ifStmt(s *ast.IfStmt) {
	a, ok := s.Init.(*ast.AssignStmt)
	if !ok || len(a.Lhs) < 2 || len(a.Rhs) < 2 {
		return
	}
	if !(a.Tok == token.DEFINE && l.hasLiteral(a.Rhs) || a.Tok == token.ASSIGN && !l.assignsInOrder(a)) {
		return
	}
	l.flows().block[a] = true // when walk comes to it, it is a statement of its own
	l.edit(s, func(self int) []piece {
		out := append([]piece{made("{ ")}, l.inside(a, self)...)
		out = append(out, made("; if "))
		return append(append(out, l.render(l.offset(s.Cond.Pos()), l.offset(s.End()), self+1)...), made(" }"))
	})
}

// makeChan makes a channel of one direction from one of both: yaegi makes only those.
func (l *lowering) makeChan(c *ast.CallExpr) {
	t := l.v.info.TypeOf(c)
	if t == nil {
		return
	}
	ch, ok := t.Underlying().(*types.Chan)
	if !ok || ch.Dir() == types.SendRecv {
		return
	}
	l.edit(c, func(self int) []piece {
		out := append([]piece{made("(")}, typePieces(t, l.v.pkg)...)
		out = append(append(out, made(")(make(")), typePieces(types.NewChan(types.SendRecv, ch.Elem()), l.v.pkg)...)
		for _, x := range c.Args[1:] {
			out = append(append(out, made(", ")), l.inside(x, self)...)
		}
		return append(out, made("))"))
	})
}
