package interp

import (
	"go/ast"
	"go/types"
)

// A package main file given to `gorovod run` is no cell: its variables are initialised in Go's own order, its init
// functions run, then main.

// checkProgram checks and lowers a package main file.
func (n *Notebook) checkProgram(p *prepared) error {
	bodies := map[*decl]bool{}
	for _, d := range p.decls {
		bodies[d] = true
	}
	s := scopeOf{imports: p.imports, dots: p.dots, decls: p.decls, bodies: bodies}
	for _, g := range p.globals {
		s.extra = append(s.extra, g.node)
	}
	v := n.pass(s)
	p.v = v
	errs, _ := n.sortErrors(p, v.errors, nil)
	if v.pkg.Scope().Lookup("main") == nil {
		errs.add(p.src, 0, "function main is undeclared in the main package")
	}
	if len(errs.Diagnostics) > 0 {
		return errs.sorted()
	}
	p.fresh = p.decls
	p.lowered = map[*decl][]piece{}
	for i, d := range p.decls {
		if d.name == "init" && d.kind == funcKind { // there may be several, and none can be named
			d.name = "init" + sep + itoa(i)
			d.names = []string{d.name}
			p.inits = append(p.inits, d.name)
		}
		l := n.newLowering(p, v, d.frag)
		p.lowered[d] = l.declaration(d)
		errs.Diagnostics = append(errs.Diagnostics, l.errs.Diagnostics...)
	}
	n.globalVars(p, v)
	n.programBody(p, v, errs)
	if len(errs.Diagnostics) > 0 {
		return errs.sorted()
	}
	return n.makeInstances(p)
}

// globalVars lists the file's variables.
func (n *Notebook) globalVars(p *prepared, v *verdict) {
	for _, g := range p.globals {
		for _, s := range g.node.Specs {
			for _, id := range s.(*ast.ValueSpec).Names {
				obj, _ := v.info.Defs[id].(*types.Var)
				if obj == nil || id.Name == "_" {
					continue
				}
				p.vars = append(p.vars, &topVar{name: id.Name, obj: obj, typ: typePieces(obj.Type(), v.pkg), key: id.Name, final: true})
			}
		}
	}
}

// programBody writes what runs: initialisers in the checker's order, init functions, main.
func (n *Notebook) programBody(p *prepared, v *verdict, errs *CheckError) {
	lowerings := map[*fragment]*lowering{}
	for _, g := range p.globals {
		if lowerings[g.frag] == nil {
			l := n.newLowering(p, v, g.frag)
			lowerings[g.frag] = l
			for _, d := range g.frag.file.Decls {
				l.interfaces(d)
				l.walk(d)
			}
			l.sortEdits()
			errs.Diagnostics = append(errs.Diagnostics, l.errs.Diagnostics...)
		}
	}
	for _, init := range v.info.InitOrder {
		l := lowerings[n.at(init.Rhs.Pos())]
		for i, lhs := range init.Lhs {
			if i > 0 {
				p.code = append(p.code, made(", "))
			}
			if lhs.Name() == "_" {
				p.code = append(p.code, made("_"))
				continue
			}
			p.code = append(p.code, piece{ref: lhs.Name()})
		}
		p.code = append(p.code, made(" = "))
		p.code = append(p.code, l.render(l.offset(init.Rhs.Pos()), l.offset(init.Rhs.End()), 0)...)
		p.code = append(p.code, made("\n"))
	}
	for _, name := range append(p.inits, "main") {
		p.code = append(p.code, piece{ref: name}, made("()\n"))
	}
}
