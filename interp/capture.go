package interp

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"maps"
	"slices"
	"sort"
	"strings"
)

// Plan is a cell that was checked for running on ranks: the Program, still without the values of the variables that it
// captures.
type Plan struct {
	Warnings []string

	n       *Notebook
	p       *prepared
	closure *closure
	program *Program
	vars    []*entity
}

// Plan checks a cell that shall run on ranks and gathers what it uses of the notebook. The notebook does not change.
func (n *Notebook) Plan(name, text string) (*Plan, error) {
	return n.plan(newSource(name, text), rankMode)
}

// PlanFile checks a file for `gorovod run`: a package main program, whose main runs on every rank, or a cell.
func (n *Notebook) PlanFile(name, text string) (*Plan, error) {
	return n.plan(newSource(name, text), programMode)
}

// PlanCall checks a file and an expression, whose value is each rank's; a main function in the file does not run.
func (n *Notebook) PlanCall(name, text, expr string) (*Plan, error) {
	src := newSource(name, text)
	if items := split(src); len(items) > 0 {
		last := items[len(items)-1]
		if x, err := parser.ParseExpr(text[last.start:last.end]); err == nil && last.kind == statementItem {
			if _, call := x.(*ast.CallExpr); !call { // the file's own value
				src = newSource(name, text[:last.start]+blank(text[last.start:last.end])+text[last.end:])
			}
		}
	}
	return n.plan(src.withTail("--call", expr), rankMode)
}

func (n *Notebook) plan(src *source, mode mode) (*Plan, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p, err := n.prepare(src, mode)
	if err != nil {
		return nil, err
	}
	c := &closure{n: n, p: p, names: map[string]string{}, used: map[string]bool{}, seen: map[string]bool{}}
	c.visit(p.code)
	if p.result != nil {
		c.visit(p.result.typ)
	}
	for _, tv := range p.vars {
		c.visit(tv.typ)
	}
	if err := c.refusals(); err != nil {
		return nil, err
	}
	plan := &Plan{n: n, p: p, Warnings: p.warnings(), closure: c, vars: c.vars}
	plan.program = c.program()
	return plan, nil
}

// Captures gives the names of the variables whose values the Program needs, in order.
func (p *Plan) Captures() []string {
	var out []string
	for _, v := range p.vars {
		out = append(out, v.name)
	}
	return out
}

// Program gives the Program with the captured values, one for each name of Captures.
func (p *Plan) Program(values [][]byte) (*Program, error) {
	if len(values) != len(p.vars) {
		return nil, fmt.Errorf("%s captures %d variables, %d values were given", p.program.Name, len(p.vars), len(values))
	}
	if err := p.addDynamicTypes(values); err != nil {
		return nil, err
	}
	prog := *p.program
	prog.Captured = append([]Captured(nil), p.program.Captured...)
	for i := range values {
		prog.Captured[i].Value = values[i]
	}
	return &prog, nil
}

// addDynamicTypes adds the types that only the values name: those of what interfaces hold.
func (p *Plan) addDynamicTypes(values [][]byte) error {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	added := false
	for _, name := range slices.Sorted(maps.Keys(p.n.names)) {
		e := p.n.names[name]
		if e.kind != typeKind || e.hidden || p.closure.seen[name] {
			continue
		}
		for i, v := range values {
			if !bytes.Contains(v, []byte(notebookPrefix+name)) {
				continue
			}
			p.closure.ref(name)
			if len(p.closure.vars) > len(p.vars) {
				return fmt.Errorf("variable %s holds a value of type %s, whose methods use variable %s: name %s in the cell, so that it travels too",
					p.vars[i].name, name, p.closure.vars[len(p.vars)].name, p.closure.vars[len(p.vars)].name)
			}
			added = true
			break
		}
	}
	if added {
		p.program = p.closure.program()
	}
	return nil
}

// Result gives the Go type of a rank's value, "" if it gives none.
func (p *Plan) Result() string { return p.program.Result }

// closure gathers what a cell uses, directly and through what it uses.
type closure struct {
	n     *Notebook
	p     *prepared
	seen  map[string]bool
	decls []*decl
	vars  []*entity
	names map[string]string // ref -> name in the ranks' evaluator
	used  map[string]bool
}

func (c *closure) visit(ps []piece) {
	for _, q := range ps {
		if q.ref != "" && q.world != checkerOnly && !strings.HasPrefix(q.ref, importRef) {
			c.ref(q.ref)
		}
	}
}

func (c *closure) ref(ref string) {
	if c.seen[ref] || ref == resultName || strings.HasPrefix(ref, innerRef) {
		return
	}
	c.seen[ref] = true
	if d := c.declOf(ref); d != nil {
		c.decls = append(c.decls, d)
		c.visit(c.code(d))
		if d.kind == typeKind {
			c.methods(d.name)
		}
		return
	}
	name, old := strings.CutPrefix(ref, oldRef)
	if !old && c.ownsFresh(ref) {
		return
	}
	e := c.n.names[name]
	if e == nil {
		return
	}
	if e.decl != nil { // an older function or type that a variable of the cell replaces
		c.decls = append(c.decls, e.decl)
		c.visit(e.decl.code)
		return
	}
	c.vars = append(c.vars, e)
	c.visit(e.typ)
}

// ownsFresh says whether the cell itself gives the variable its only value: it declares it, and neither it nor what it
// calls reads an older one.
func (c *closure) ownsFresh(name string) bool {
	for _, tv := range c.p.vars {
		if tv.final && tv.name == name {
			return tv.keeps == nil || !c.readsOld(name)
		}
	}
	return false
}

// readsOld says whether the cell's statements use the notebook's variable that they also declare.
func (c *closure) readsOld(name string) bool {
	for _, obj := range c.p.v.info.Uses {
		if v, ok := obj.(*types.Var); ok && v.Name() == name && v.Parent() == c.p.v.pkg.Scope() {
			return true
		}
	}
	return false
}

func (c *closure) declOf(ref string) *decl {
	for _, d := range c.p.fresh {
		for _, name := range d.names {
			if name == ref {
				return d
			}
		}
	}
	for _, h := range c.p.hidden {
		if h.decl.name == ref {
			return h.decl
		}
	}
	if e := c.n.names[ref]; e != nil {
		return e.decl
	}
	return nil
}

func (c *closure) code(d *decl) []piece {
	if code, ok := c.p.lowered[d]; ok {
		return code
	}
	return d.code
}

func (c *closure) methods(typ string) {
	var names []string
	for _, d := range c.p.fresh {
		if d.kind == methodKind && strings.HasPrefix(d.name, typ+".") {
			names = append(names, d.name)
		}
	}
	for _, d := range c.n.decls {
		if d.kind == methodKind && strings.HasPrefix(d.name, typ+".") && d.broken == "" && !c.p.gone[d] {
			names = append(names, d.name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		c.ref(name)
	}
}

// refusals checks that what must travel can: the captured variables and the value.
func (c *closure) refusals() error {
	errs := &CheckError{}
	for _, v := range c.vars {
		obj := c.p.v.pkg.Scope().Lookup(v.name)
		if obj == nil {
			continue
		}
		if why := travels(obj.Type(), c.p.v.pkg); why != "" {
			errs.add(c.p.src, c.firstUse(v.name), "variable %s (%s, from %s) cannot travel to the ranks: %s", v.name, plain(v.typ),
				v.src.name, why)
		}
	}
	if r := c.p.result; r != nil && r.t != nil {
		if why := travels(r.t, c.p.v.pkg); why != "" {
			at := 0
			if s := c.p.sites(); len(s) > 0 {
				at = c.p.body.offset(s[0].exprs[0].Pos())
			}
			errs.add(c.p.src, at, "the cell's value (%s) cannot travel back to the notebook: %s", plain(r.typ), why)
		}
	}
	if len(errs.Diagnostics) > 0 {
		return errs.sorted()
	}
	return nil
}

func (c *closure) firstUse(name string) int {
	for _, q := range c.p.code {
		if q.ref == name || q.ref == oldRef+name {
			return q.off
		}
	}
	return 0
}

// name gives what the ranks' evaluator calls a thing: what the user calls it, unless that is taken.
func (c *closure) name(ref string) string {
	if y, ok := c.names[ref]; ok {
		return y
	}
	base := ref[strings.LastIndexByte(ref, ':')+1:]
	y := base
	for i := 2; c.used[y] || reserved(y); i++ {
		y = base + sep + itoa(i)
	}
	c.used[y] = true
	if d := c.declOf(ref); d != nil {
		y = d.evaluatorName(y)
	}
	c.names[ref] = y
	return y
}

// program writes the Program, all but the captured values.
func (c *closure) program() *Program {
	p := c.p
	prog := &Program{Name: p.src.name, Main: p.program}
	e := newEmitter(c.name)
	c.names[resultName] = resultName
	e.declarations(c.decls, c.code)
	var vars [][2]string
	for _, v := range c.vars {
		y := c.name(c.varRef(v.name))
		e.printf("var %s ", y)
		e.pieces(v.typ)
		e.printf("\n")
		vars = append(vars, [2]string{v.name, y})
		prog.Captured = append(prog.Captured, Captured{Name: v.name, Type: plain(v.typ)})
	}
	written := map[string]bool{}
	for _, v := range vars {
		written[v[1]] = true
	}
	for _, tv := range p.vars {
		y := c.name(tv.key)
		if written[y] {
			continue
		}
		written[y] = true
		e.printf("var %s ", y)
		e.pieces(tv.typ)
		e.printf("\n")
	}
	if r := p.result; r != nil && r.typ != nil {
		prog.Result = plain(r.typ)
		e.printf("var %s ", resultName)
		e.pieces(r.typ)
		e.printf("\n")
		vars = append(vars, [2]string{resultName, resultName})
	}
	var types []string
	for _, d := range c.decls {
		if d.isPlainType() {
			types = append(types, d.name)
		}
		prog.Decls = append(prog.Decls, Shipped{d.kind.String(), clean(strings.Join(d.names, ", ")), d.frag.src.name})
	}
	setup := len(vars)+len(types) > 0 || needsSetup(c.decls)
	if setup {
		e.setup("setup"+sep, vars, types, c.decls)
	}
	e.body(cellName, p.code)
	u := e.unit(p.src.name, "program.go")
	u.Body = cellName
	if setup {
		u.Setup = "setup" + sep
	}
	prog.Unit = *u
	return prog
}

// varRef is how the cell's code refers to a captured variable.
func (c *closure) varRef(name string) string {
	if c.seen[oldRef+name] && !c.seen[name] || c.seen[oldRef+name] && c.n.names[name] != nil && c.replaces(name) {
		return oldRef + name
	}
	return name
}

func (c *closure) replaces(name string) bool {
	for _, tv := range c.p.vars {
		if tv.final && tv.name == name && tv.keeps == nil {
			return true
		}
	}
	return false
}

// checkResult refuses a cell for ranks whose values do not have one type.
func (n *Notebook) checkResult(p *prepared) error {
	errs := &CheckError{}
	for _, x := range p.conflict {
		errs.add(p.src, p.body.offset(x.Pos()), "the ranks' values need one type: this is another than %s, which the cell gives elsewhere",
			plain(p.result.typ))
	}
	if r := p.result; r != nil && r.t != nil {
		if why := expressible(r.t, p.v.pkg); why != "" {
			errs.add(p.src, 0, "the cell's value cannot be given to the notebook: %s", why)
		}
	}
	if len(errs.Diagnostics) > 0 {
		return errs.sorted()
	}
	return nil
}
