package interp

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Operators: yaegi mistakes a variable in parentheses among conditions, compares no channels of different directions,
// gives a shifted constant the type int, and panics when a comparison becomes an interface's value without going through a
// variable.

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
	}
}

func (l *lowering) compareChannels(b *ast.BinaryExpr) {
	x, ok1 := l.v.info.TypeOf(b.X).Underlying().(*types.Chan)
	y, ok2 := l.v.info.TypeOf(b.Y).Underlying().(*types.Chan)
	if !ok1 || !ok2 || x.Dir() == y.Dir() {
		return
	}
	convert := func(x ast.Expr, t types.Type) {
		l.edit(x, func(self int) []piece { return l.converted(t, l.inside(x, self)) })
	}
	if x.Dir() == types.SendRecv {
		convert(b.X, l.v.info.TypeOf(b.Y))
	} else {
		convert(b.Y, l.v.info.TypeOf(b.X))
	}
}
