package interp

import (
	"go/ast"
	"go/token"
	"go/types"
)

// funcVars writes `var f F = func…` inside a function as a definition: yaegi's f would give zero values.
func (l *lowering) funcVars(d *ast.DeclStmt) {
	g, ok := d.Decl.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR {
		return
	}
	if l.frag == l.p.body {
		for _, s := range l.p.top {
			if s == ast.Stmt(d) {
				return // a variable of the notebook
			}
		}
	}
	any := false
	for _, s := range g.Specs {
		any = any || l.holdsFunc(s.(*ast.ValueSpec))
	}
	if !any {
		return
	}
	l.edit(g, func(self int) []piece {
		var out []piece
		for i, s := range g.Specs {
			if i > 0 {
				out = append(out, made("; "))
			}
			if spec := s.(*ast.ValueSpec); l.holdsFunc(spec) {
				out = append(out, l.funcVar(spec, self)...)
			} else {
				out = append(append(out, made("var ")), l.inside(spec, self)...)
			}
		}
		return out
	})
}

func (l *lowering) holdsFunc(spec *ast.ValueSpec) bool {
	found := false
	for _, x := range spec.Values {
		t := l.v.info.TypeOf(x)
		if t == nil {
			return false
		}
		_, isFunc := t.Underlying().(*types.Signature)
		found = found || isFunc
	}
	return found && len(spec.Names) == len(spec.Values)
}

func (l *lowering) funcVar(spec *ast.ValueSpec, self int) []piece {
	var out []piece
	named := false
	for i, id := range spec.Names {
		if i > 0 {
			out = append(out, made(", "))
		}
		out = append(out, l.inside(id, self)...)
		named = named || id.Name != "_"
	}
	if named {
		out = append(out, made(" := "))
	} else {
		out = append(out, made(" = "))
	}
	for i, x := range spec.Values {
		if i > 0 {
			out = append(out, made(", "))
		}
		if spec.Type == nil {
			out = append(out, l.inside(x, self)...)
			continue
		}
		out = append(append(append(out, made("(")), l.inside(spec.Type, self)...), made(")("))
		out = append(append(out, l.inside(x, self)...), made(")"))
	}
	return out
}
