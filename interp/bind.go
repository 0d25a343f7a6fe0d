package interp

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// Bind prepares the notebook's variable name to take the ranks' values, a slice with one of the Plan's result type for
// each rank. The Unit of the Cell declares the variable, and the types of the Plan's cell that its type needs; the
// values are put in by the evaluator's Bind.
func (p *Plan) Bind(name string) (*Cell, error) {
	if !token.IsIdentifier(name) || name == "_" {
		return nil, fmt.Errorf("-o %s: %q is not a name that a variable can have", name, name)
	}
	if p.program.Result == "" {
		return nil, fmt.Errorf("-o %s: the cell gives no value; end it with the expression to return", name)
	}
	n := p.n
	n.mu.Lock()
	defer n.mu.Unlock()
	q := &prepared{parsed: &parsed{src: p.p.src}, imports: map[string]string{}, gone: map[*decl]bool{}, dead: map[string]bool{},
		dots: map[string]bool{}, lowered: p.p.lowered, renamed: p.p.renamed, hidden: p.p.hidden}
	own := map[string]*decl{}
	for _, d := range p.p.fresh {
		if d.frag.src == p.p.src || d.inst != nil {
			for _, dn := range d.names {
				own[dn] = d
			}
		}
	}
	q.fresh = p.ownDecls(own)
	typ := append([]piece{made("[]")}, p.p.result.typ...)
	tv := &topVar{name: name, typ: typ, key: name, final: true}
	if e := n.names[name]; e != nil && e.kind == varKind && sameCode(e.typ, typ) {
		tv.keeps = e
	}
	for _, d := range q.fresh {
		if e := n.names[d.name]; e != nil && e.kind == typeKind {
			tv.keeps = nil
		}
	}
	q.vars = []*topVar{tv}
	c := &Cell{n: n, p: q, ynames: map[string]string{}}
	c.Unit = c.emit()
	c.Unit.Body = ""
	return c, nil
}

// ownDecls gives the declarations of the run's cell that its result type needs: types with their methods and what those
// use. A method that needs a variable of the cell, which only the ranks had, is left out.
func (p *Plan) ownDecls(own map[string]*decl) []*decl {
	variables := map[string]bool{}
	for _, tv := range p.p.vars {
		variables[tv.name] = true
	}
	var out []*decl
	in := map[*decl]bool{}
	var visit func(ps []piece) bool
	add := func(d *decl) bool {
		if in[d] {
			return true
		}
		in[d] = true
		if !visit(p.p.lowered[d]) {
			in[d] = false
			return false
		}
		out = append(out, d)
		return true
	}
	visit = func(ps []piece) bool {
		for _, q := range ps {
			if variables[q.ref] {
				return false
			}
			if d := own[q.ref]; d != nil && !add(d) {
				return false
			}
		}
		return true
	}
	visit(p.p.result.typ)
	for again := true; again; {
		again = false
		for _, d := range p.p.fresh {
			typ, _, _ := strings.Cut(d.name, ".")
			if d.kind == methodKind && !in[d] && own[typ] != nil && in[own[typ]] && add(d) {
				again = true
			}
		}
	}
	return out
}

// Replay gives the code that brings the notebook's declarations into a new evaluator, after the one that had them died.
// The variables are lost with it: their names are given, the notebook forgets them, and functions that use them are put
// aside until they are declared again.
func (n *Notebook) Replay() (u *Unit, lost []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	gone := map[string]bool{}
	for _, e := range n.names {
		if e.kind == varKind {
			gone[e.name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		lost = append(lost, name)
		delete(n.names, name)
	}
	for _, d := range n.affected(gone, nil) {
		if d.broken == "" {
			d.broken = "it uses a variable that was lost with the session"
			n.forget(d)
		}
	}
	n.dropHidden()
	n.used = map[string]bool{}
	var live []*decl
	for _, d := range n.decls {
		if d.broken != "" {
			continue
		}
		live = append(live, d)
		if d.kind == typeKind || d.kind == funcKind {
			e := n.names[d.name]
			y := n.newName(d.name)
			e.yname = d.evaluatorName(y)
			n.used[y] = true
		}
	}
	e := newEmitter(func(ref string) string {
		if x := n.names[ref]; x != nil {
			return x.yname
		}
		return ref
	})
	e.declarations(live, func(d *decl) []piece { return d.code })
	var types []string
	for _, d := range live {
		if d.isPlainType() {
			types = append(types, d.name)
		}
	}
	n.counter++
	id := itoa(n.counter)
	setup := len(types) > 0 || needsSetup(live)
	if setup {
		e.setup("setup"+sep+id, nil, types, live)
	}
	u = e.unit("replay", "unit"+id+".go")
	if setup {
		u.Setup = "setup" + sep + id
	}
	return u, lost
}

// dropHidden forgets the older types, which only variables had.
func (n *Notebook) dropHidden() {
	for name, e := range n.names {
		if e.hidden {
			delete(n.names, name)
			if i := n.index(e.decl); i >= 0 {
				n.decls = append(n.decls[:i:i], n.decls[i+1:]...)
			}
		}
	}
}
