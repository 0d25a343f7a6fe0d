package interp

import (
	"go/ast"
	"go/types"
)

type preludeCode struct{ decls map[string]*decl }

var thePrelude = &preludeCode{decls: map[string]*decl{}}

func prelude() *preludeCode { return thePrelude }

func (p *preludeCode) group(name string) []*decl { return nil }

func (l *lowering) foreignFunc(x ast.Expr, obj types.Object, inst types.Instance) bool {
	l.errs.add(l.frag.src, l.frag.offset(x.Pos()), "%s.%s is not supported by the interpreter", obj.Pkg().Name(), obj.Name())
	return true
}

func (l *lowering) unsupportedInstance(t types.Type) string { return "" }
