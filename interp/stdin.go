package interp

import (
	"go/ast"
	"go/types"
)

// Standard input of a notebook is a question to its user, asked when code reads. No file can do that, so where os.Stdin
// is read through an interface, as bufio.NewReader(os.Stdin) does, or by its own Read, the runtime's reader takes its
// place.
func (l *lowering) stdin(c *ast.CallExpr) {
	if sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok && sel.Sel.Name == "Read" && l.isStdin(sel.X) {
		l.edit(sel.X, func(int) []piece { return []piece{made("%s.Stdin", rtName)} })
	}
	sig, ok := l.v.info.TypeOf(c.Fun).(*types.Signature)
	if !ok {
		return
	}
	for i, a := range c.Args {
		if l.isStdin(a) && i < sig.Params().Len() && types.IsInterface(sig.Params().At(i).Type()) {
			l.edit(a, func(int) []piece { return []piece{made("%s.Stdin", rtName)} })
		}
	}
}

func (l *lowering) isStdin(x ast.Expr) bool {
	sel, ok := ast.Unparen(x).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	v, ok := l.v.info.Uses[sel.Sel].(*types.Var)
	return ok && v.Pkg() != nil && v.Pkg().Path() == "os" && v.Name() == "Stdin" && !v.IsField()
}
