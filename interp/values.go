package interp

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Values on their way: yaegi lets an operation put its result straight into the place that it is meant for, also where
// that is an element, a field or an interface. What is received is lost then: `xs[i] = <-c` leaves xs as it was.

// isReceive tells `<-c`.
func isReceive(x ast.Expr) bool {
	u, ok := ast.Unparen(x).(*ast.UnaryExpr)
	return ok && u.Op == token.ARROW
}

// receivesInto says whether an assignment puts what it receives anywhere but into a variable of the channel's type.
func (l *lowering) receivesInto(s *ast.AssignStmt) bool {
	if s.Tok != token.ASSIGN || len(s.Rhs) != 1 || !isReceive(s.Rhs[0]) || isBlankOrNil(s.Lhs[0]) {
		return false
	}
	_, ident := ast.Unparen(s.Lhs[0]).(*ast.Ident)
	return !ident || !types.Identical(l.v.info.TypeOf(s.Lhs[0]), l.v.info.TypeOf(s.Rhs[0]))
}

// computedValue writes T(-x) for -x that becomes an interface's value, which yaegi would leave nil.
func (l *lowering) computedValue(x ast.Expr) {
	tv := l.v.info.Types[x]
	u, ok := ast.Unparen(x).(*ast.UnaryExpr)
	if !ok || tv.Value != nil || u.Op != token.SUB && u.Op != token.ADD && u.Op != token.XOR {
		return
	}
	l.edit(x, func(self int) []piece {
		return append(append(wrap(made("("), typePieces(tv.Type, l.v.pkg), made(")(")), l.inside(x, self)...), made(")"))
	})
}
