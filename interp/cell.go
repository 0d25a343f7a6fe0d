package interp

import (
	"go/ast"
	"strings"
)

// Cell is a cell that was checked: the code to evaluate, and what the notebook will hold once it was.
type Cell struct {
	Unit     *Unit
	Warnings []string // older declarations that no longer compile because of this cell

	n      *Notebook
	p      *prepared
	ynames map[string]string
}

// Check checks a cell, called name in messages, against the notebook. The error is a *CheckError if the code is at
// fault. The notebook is as before until Commit.
func (n *Notebook) Check(name, text string) (*Cell, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p, err := n.prepare(newSource(name, text), cellMode)
	if err != nil {
		return nil, err
	}
	c := &Cell{n: n, p: p, Warnings: p.warnings(), ynames: map[string]string{}}
	c.Unit = c.emit()
	return c, nil
}

// emit writes the cell for the session's evaluator, which has seen the earlier cells.
func (c *Cell) emit() *Unit {
	n, p := c.n, c.p
	for _, d := range p.fresh {
		if d.kind == typeKind || d.kind == funcKind {
			y := n.newName(d.name)
			c.ynames[d.name] = d.evaluatorName(y)
			n.used[y] = true // also if the cell is never committed: the evaluator may have seen it
		}
	}
	for _, tv := range p.vars {
		if _, done := c.ynames[tv.key]; done {
			continue
		}
		if tv.keeps != nil && tv.key == tv.name {
			c.ynames[tv.key] = tv.keeps.yname
		} else {
			c.ynames[tv.key] = n.newName(tv.name)
			n.used[c.ynames[tv.key]] = true
		}
	}
	e := newEmitter(c.resolve)
	e.declarations(p.fresh, func(d *decl) []piece { return p.lowered[d] })
	var vars [][2]string
	written := map[string]bool{}
	for _, tv := range p.vars {
		y := c.ynames[tv.key]
		if tv.keeps != nil && tv.key == tv.name || written[y] {
			continue
		}
		written[y] = true
		e.printf("var %s ", y)
		e.pieces(tv.typ)
		e.printf("\n")
		if tv.key == tv.name {
			vars = append(vars, [2]string{tv.name, y})
		}
	}
	var types []string
	for _, d := range p.fresh {
		if d.isPlainType() {
			types = append(types, d.name)
		}
	}
	n.counter++
	id := itoa(n.counter)
	setup := len(vars)+len(types) > 0 || needsSetup(p.fresh)
	if setup {
		e.setup("setup"+sep+id, vars, types, p.fresh)
	}
	e.body(cellName+id, p.code)
	u := e.unit(p.src.name, "unit"+id+".go")
	u.Body = cellName + id
	if setup {
		u.Setup = "setup" + sep + id
	}
	u.Methods = c.replacedMethods()
	return u
}

// replacedMethods lists the methods that the unit declares again on a type that stays.
func (c *Cell) replacedMethods() []Method {
	var out []Method
	for _, d := range c.p.fresh {
		typ, m, ok := strings.Cut(d.name, ".")
		if d.kind != methodKind || !ok || c.ynames[typ] != "" {
			continue
		}
		if e := c.n.names[typ]; e != nil && c.n.names[d.name] != nil {
			out = append(out, Method{e.yname, m})
		}
	}
	return out
}

// resolve gives the evaluator's name for what the cell's code refers to.
func (c *Cell) resolve(ref string) string {
	if name, ok := strings.CutPrefix(ref, oldRef); ok {
		return c.n.names[name].yname
	}
	if y, ok := c.ynames[ref]; ok {
		return y
	}
	if e := c.n.names[ref]; e != nil {
		return e.yname
	}
	for _, h := range c.p.hidden {
		if h.entity.name == ref {
			return h.entity.yname
		}
	}
	return ref
}

// Commit makes what the cell declared part of the notebook. It is called once the evaluator has taken the code, also
// when it then panicked: what was done until then stays.
func (c *Cell) Commit() {
	n, p := c.n, c.p
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range p.broken {
		d.broken = p.why[d]
		n.forget(d)
	}
	for _, h := range p.hidden {
		n.decls = append(n.decls, h.decl)
		n.names[h.entity.name] = h.entity
	}
	for _, e := range n.names {
		if e.kind == varKind {
			e.typ = renameRefs(e.typ, p.renamed)
		}
	}
	for name, path := range p.imports {
		n.imports[name] = path
		n.drop(name)
	}
	for path := range p.dots {
		n.dots[path] = true
	}
	for name := range p.stale { // those that are still used follow
		n.drop(name)
	}
	for _, d := range p.fresh {
		c.declare(d)
	}
	for _, tv := range p.vars {
		if !tv.final || tv.keeps != nil {
			if tv.final {
				tv.keeps.src = p.src
			}
			continue
		}
		delete(n.imports, tv.name)
		n.drop(tv.name)
		n.names[tv.name] = &entity{name: tv.name, kind: varKind, yname: c.ynames[tv.key], typ: tv.typ, src: p.src}
	}
}

// declare puts a lowered declaration into the notebook, in the place of what had its names.
func (c *Cell) declare(d *decl) {
	n := c.n
	known := n.index(d) >= 0
	for _, name := range d.names {
		old := n.names[name]
		if old != nil && old.decl != d {
			n.drop(name)
		}
		delete(n.imports, name)
		y := c.ynames[name]
		if y == "" {
			y = name
		}
		n.names[name] = &entity{name: name, kind: d.kind, yname: y, decl: d, src: d.frag.src}
	}
	d.code, d.broken = c.p.lowered[d], ""
	if !known {
		n.decls = append(n.decls, d)
	}
}

// drop takes a name out of the notebook, and its declaration if that declares nothing else that lives.
func (n *Notebook) drop(name string) {
	e := n.names[name]
	if e == nil {
		// A broken declaration of that name is replaced too.
		for i, d := range n.decls {
			if d.broken != "" && len(d.names) == 1 && d.name == name {
				n.decls = append(n.decls[:i:i], n.decls[i+1:]...)
				return
			}
		}
		return
	}
	delete(n.names, name)
	if e.decl == nil {
		return
	}
	for _, other := range e.decl.names {
		if o := n.names[other]; o != nil && o.decl == e.decl {
			n.blankConst(e.decl, name)
			return
		}
	}
	if i := n.index(e.decl); i >= 0 {
		n.decls = append(n.decls[:i:i], n.decls[i+1:]...)
	}
}

// blankConst takes one name out of a group of constants for good.
func (n *Notebook) blankConst(d *decl, name string) {
	d.node = d.checkNode(true, map[string]bool{d.name + "/" + name: true})
	for i, x := range d.names {
		if x == name {
			d.names = append(d.names[:i:i], d.names[i+1:]...)
			return
		}
	}
}

// forget takes a broken declaration's names out of the notebook; the declaration stays to be mended.
func (n *Notebook) forget(d *decl) {
	for _, name := range d.names {
		if e := n.names[name]; e != nil && e.decl == d {
			delete(n.names, name)
		}
	}
}

// alias tells an alias, which lowered code has no use for: what it stands for is written in its place.
func (d *decl) alias() bool {
	if g, ok := d.node.(*ast.GenDecl); ok && d.kind == typeKind {
		return g.Specs[0].(*ast.TypeSpec).Assign.IsValid()
	}
	return false
}

func (d *decl) generic() bool {
	switch node := d.node.(type) {
	case *ast.GenDecl:
		if s, ok := node.Specs[0].(*ast.TypeSpec); ok {
			return s.TypeParams != nil
		}
	case *ast.FuncDecl:
		return node.Type.TypeParams != nil || receiverGeneric(node)
	}
	return false
}
