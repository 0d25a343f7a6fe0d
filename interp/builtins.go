package interp

import (
	"go/ast"
	"go/types"
)

// min, max and clear, which yaegi does not know, become calls of the runtime.
//
//	min(x, y)  ->  T(rt.MinInt(int(x), int(y)))
//	clear(m)   ->  rt.Clear(m)

// orderedBuiltin notes the edit of min or max.
func (l *lowering) orderedBuiltin(c *ast.CallExpr, name string) {
	t := l.v.info.TypeOf(c)
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		l.errs.add(l.frag.src, l.frag.offset(c.Pos()), "the builtin %s of a type parameter is not supported by the interpreter", name)
		return
	}
	kind, suffix := "int", "Int"
	switch info := b.Info(); {
	case info&types.IsString != 0:
		kind, suffix = "string", "String"
	case info&types.IsFloat != 0:
		kind, suffix = "float64", "Float"
	case info&types.IsUnsigned != 0:
		kind, suffix = "uint64", "Uint"
	}
	fn := map[string]string{"min": "Min", "max": "Max"}[name] + suffix
	l.edit(c, func(self int) []piece {
		arg := func(x ast.Expr) []piece {
			if l.v.info.Types[x].Type == types.Typ[b.Kind()] && b.Name() == kind {
				return l.inside(x, self)
			}
			return wrap(made("%s(", kind), l.inside(x, self), made(")"))
		}
		out := arg(c.Args[0])
		for _, x := range c.Args[1:] {
			out = append(wrap(made("%s.%s(", rtName, fn), out, made(", ")), arg(x)...)
			out = append(out, made(")"))
		}
		if types.Identical(t, types.Typ[b.Kind()]) && b.Name() == kind {
			return out
		}
		return append(append(append(wrap(made("("), typePieces(t, l.v.pkg), made(")")), made("(")), out...), made(")"))
	})
}

// clearBuiltin notes the edit of clear.
func (l *lowering) clearBuiltin(c *ast.CallExpr) {
	l.edit(c, func(self int) []piece { return l.cleared(l.v.info.TypeOf(c.Args[0]), l.inside(c.Args[0], self)) })
}

func (l *lowering) cleared(t types.Type, value []piece) []piece {
	out := append([]piece{made("%s.Clear((", rtName)}, typePieces(t.Underlying(), l.v.pkg)...)
	return append(append(append(out, made(")(")), value...), made("))"))
}
