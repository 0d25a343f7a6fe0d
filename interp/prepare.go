package interp

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"sort"
	"strings"
)

// prepared is a cell that was checked and lowered, and all that it changes in the notebook.
type prepared struct {
	*parsed
	imports  map[string]string // of the notebook and the cell
	dots     map[string]bool
	fresh    []*decl // declarations to hand to the evaluator: the cell's own and the affected ones
	gone     map[*decl]bool
	broken   []*decl
	dead     map[string]bool // names taken out of groups of constants
	vars     []*topVar       // the cell's variables in order
	hidden   []*hiddenType
	code     []piece // the statements
	result   *result
	methods  []replacedMethod
	v        *verdict          // of the statements
	dv       *verdict          // of the declarations
	renamed  map[string]string // types that live variables keep under another name
	why      map[*decl]string
	lowered  map[*decl][]piece
	inits    []string           // init functions of a package main file
	conflict []ast.Expr         // values of another type than the first
	retry    map[*decl]bool     // broken ones that what they use may have mended
	stale    map[string]bool    // instances whose generic, or what it uses, means something else now
	made     map[string]bool    // instances that the cell adds
	never    map[token.Pos]bool // cases that a copy of generic code has twice
}

// topVar is a variable that a cell declares at its top level.
type topVar struct {
	name  string
	typ   []piece
	obj   *types.Var
	key   string  // ref that names it in the cell's code
	keeps *entity // the notebook's variable of the same name and type, which it is
	final bool    // the one that the notebook has after the cell
}

type hiddenType struct {
	entity *entity
	decl   *decl
}

type replacedMethod struct{ typ, method string }

// result says what the value of a cell is.
type result struct {
	typ   []piece // nil: no value
	t     types.Type
	err   bool // the last of several values, or the only one, is the rank's error
	width int  // number of values, without the error
}

// prepare checks and lowers a cell against the notebook, which it does not change.
func (n *Notebook) prepare(src *source, mode mode) (*prepared, error) {
	parsed, err := n.parseCell(src, mode)
	if err != nil {
		return nil, err
	}
	p := &prepared{parsed: parsed, gone: map[*decl]bool{}, dead: map[string]bool{}, dots: map[string]bool{}}
	if err := n.resolveImports(p); err != nil {
		return nil, err
	}
	changed := n.replace(p)
	affected := n.affected(changed, p.gone)
	p.retry = map[*decl]bool{}
	for _, d := range affected {
		p.retry[d] = true
	}
	n.hide(p, affected)
	if parsed.program {
		return p, n.checkProgram(p)
	}
	// Names that the statements declare may mend what an earlier cell broke.
	for _, d := range n.affected(topNames(p.parsed), p.gone) {
		p.retry[d] = p.retry[d] || d.broken != ""
	}
	for {
		broken := len(p.broken)
		if err := n.checkStatements(p, mode); err != nil {
			return nil, err
		}
		again := maps.Clone(changed)
		for _, tv := range p.vars {
			if tv.final && tv.keeps == nil {
				again[tv.name] = true
			}
		}
		if err := n.checkDecls(p, n.affected(again, n.replacedBy(p))); err != nil {
			return nil, err
		}
		if len(p.broken) == broken {
			break
		}
		// The statements were checked with declarations that have gone since.
	}
	return p, n.lower(p, mode != cellMode)
}

// replacedBy gives the declarations that the cell takes the place of, also by its variables.
func (n *Notebook) replacedBy(p *prepared) map[*decl]bool {
	out := maps.Clone(p.gone)
	for _, tv := range p.vars {
		if e := n.names[tv.name]; e != nil && e.decl != nil && e.decl.kind != constKind {
			out[e.decl] = true
		}
	}
	return out
}

func topNames(p *parsed) map[string]bool {
	out := map[string]bool{}
	for _, s := range p.top {
		for _, id := range definedBy(s) {
			out[id.Name] = true
		}
	}
	return out
}

// checkStatements checks the cell's statements and settles its variables and its value.
func (n *Notebook) checkStatements(p *prepared, mode mode) error {
	p.result, p.conflict = nil, nil
	if err := n.checkBody(p); err != nil {
		return err
	}
	n.findVars(p)
	if err := n.checkVars(p); err != nil {
		return err
	}
	if mode != cellMode {
		return n.checkResult(p)
	}
	return nil
}

// replace finds what the cell's declarations take the place of, and gives the names that now mean something else.
func (n *Notebook) replace(p *prepared) map[string]bool {
	changed := map[string]bool{}
	var keep []*decl
	for _, d := range p.decls {
		old := n.names[d.name]
		if old != nil && old.decl != nil && old.decl.kind == d.kind && old.decl.text == d.text && old.decl.broken == "" &&
			(d.kind == typeKind || d.kind == methodKind) && old.decl.code != nil {
			continue // declared again just as it was: it keeps its identity, and variables keep their type
		}
		keep = append(keep, d)
		for _, name := range d.names {
			changed[name] = true
			n.retire(p, name)
		}
	}
	p.decls = keep
	for name, path := range p.imports {
		if old, ok := n.imports[name]; ok && old != path {
			changed[name] = true
		}
		if n.names[name] != nil {
			changed[name] = true
			n.retire(p, name)
		}
	}
	return changed
}

// retire takes a name's old declaration out of what the cell is checked against.
func (n *Notebook) retire(p *prepared, name string) {
	e := n.names[name]
	if e == nil {
		return
	}
	if e.kind == methodKind {
		typ, m, _ := strings.Cut(name, ".")
		if t := n.names[typ]; t != nil {
			p.methods = append(p.methods, replacedMethod{t.yname, m})
		}
	}
	if e.decl == nil {
		return
	}
	if e.decl.kind != constKind {
		p.gone[e.decl] = true
		return
	}
	p.dead[e.decl.name+"/"+name] = true
}

// live gives what the notebook still has beside the cell's declarations.
func (n *Notebook) live(p *prepared) ([]*decl, []*entity) {
	var decls []*decl
	for _, d := range n.decls {
		if !p.gone[d] && d.inst == nil && (d.broken == "" || p.retry[d]) {
			decls = append(decls, d)
		}
	}
	for _, h := range p.hidden {
		decls = append(decls, h.decl)
	}
	replaced := map[string]bool{}
	for _, d := range p.decls {
		for _, name := range d.names {
			replaced[name] = true
		}
	}
	var vars []*entity
	for _, e := range n.names {
		if e.kind != varKind || replaced[e.name] || p.imports[e.name] != "" {
			continue
		}
		v := *e
		v.typ = renameRefs(e.typ, p.renamed)
		vars = append(vars, &v)
	}
	sort.Slice(vars, func(i, j int) bool { return vars[i].name < vars[j].name })
	return decls, vars
}

// checkBody is the first step: the statements, over the signatures of all functions.
func (n *Notebook) checkBody(p *prepared) error {
	results := p.resultPositions()
	for {
		decls, vars := n.live(p)
		p.v = n.pass(scopeOf{imports: p.imports, dots: p.dots, decls: append(decls, p.decls...), dead: p.dead, vars: vars,
			extra: []ast.Decl{p.fn}})
		errs, old := n.sortErrors(p, p.v.errors, results)
		if n.putAside(p, old) {
			continue
		}
		if len(errs.Diagnostics) == 0 {
			return nil
		}
		// The functions' errors belong to the same answer.
		n.findVars(p)
		more := n.functionErrors(p)
		errs.Diagnostics = append(errs.Diagnostics, more...)
		return errs.sorted()
	}
}

// resultPositions gives where go/types reports an expression whose value is the cell's as unused.
func (p *parsed) resultPositions() map[token.Pos]bool {
	out := map[token.Pos]bool{}
	note := func(x ast.Expr) {
		out[x.Pos()] = true
		ast.Inspect(x, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				out[n.OpPos] = true
			case *ast.FuncLit:
				return false
			case ast.Expr:
				out[n.Pos()] = true
			}
			return true
		})
	}
	if p.last != nil {
		note(p.last.X)
	}
	for _, r := range p.returns {
		for _, x := range r.Results {
			note(x)
		}
	}
	return out
}

// sortErrors parts the errors in the cell from those in older declarations.
func (n *Notebook) sortErrors(p *prepared, list []types.Error, results map[token.Pos]bool) (*CheckError, map[*decl]string) {
	errs := &CheckError{}
	old := map[*decl]string{}
	byFrag := map[*fragment]*decl{}
	for _, d := range n.decls {
		byFrag[d.frag] = d
	}
	for _, e := range list {
		f := n.at(e.Pos)
		if f == nil || tolerated(e, results) {
			continue
		}
		if f.src != p.src {
			if d := n.declAt(e.Pos); d != nil && old[d] == "" {
				old[d] = clean(e.Msg)
			}
			continue
		}
		if strings.HasPrefix(e.Msg, "\t") && len(errs.Diagnostics) > 0 { // go/types continues an error like this
			last := &errs.Diagnostics[len(errs.Diagnostics)-1]
			last.Message += "\n    " + n.fset.Position(e.Pos).String() + ": " + strings.TrimSpace(e.Msg)
			continue
		}
		errs.add(p.src, f.offset(e.Pos), "%s", clean(e.Msg)+n.explain(p, e.Msg))
	}
	return errs, old
}

// explain adds to a message what a notebook's user may not know.
func (n *Notebook) explain(p *prepared, msg string) string {
	name, ok := strings.CutPrefix(msg, "undefined: ")
	if !ok {
		return ""
	}
	for _, d := range append(append([]*decl(nil), n.decls...), p.broken...) {
		for _, dn := range d.names {
			if dn == name && d.broken != "" {
				return fmt.Sprintf(" (%s of %s no longer compiles: %s)", name, d.frag.src.name, d.broken)
			}
		}
	}
	return ""
}

// declAt finds the older declaration that a position stands in.
func (n *Notebook) declAt(pos token.Pos) *decl {
	for _, d := range n.decls {
		if d.node.Pos() <= pos && pos <= d.node.End() {
			return d
		}
	}
	return nil
}

// putAside takes older declarations that no longer compile out of the pass, and says whether there were any.
func (n *Notebook) putAside(p *prepared, old map[*decl]string) bool {
	for d, why := range old {
		if p.why == nil {
			p.why = map[*decl]string{}
		}
		p.gone[d] = true
		p.why[d] = why
		p.broken = append(p.broken, d)
	}
	return len(old) > 0
}

// findVars lists the variables that the cell declares at its top level, by the first step's verdict.
func (n *Notebook) findVars(p *prepared) {
	p.vars = nil
	finals := map[string]*topVar{}
	for _, s := range p.top {
		for _, id := range definedBy(s) {
			obj, _ := p.v.info.Defs[id].(*types.Var)
			if obj == nil || id.Name == "_" || obj.Type() == types.Typ[types.Invalid] {
				continue
			}
			tv := &topVar{name: id.Name, obj: obj, typ: typePieces(obj.Type(), p.v.pkg)}
			p.vars = append(p.vars, tv)
			finals[id.Name] = tv
		}
	}
	for i, tv := range p.vars {
		final := finals[tv.name]
		tv.final = tv == final
		switch {
		case sameCode(tv.typ, final.typ):
			tv.key = tv.name
		default:
			tv.key = innerRef + itoa(i) + ":" + tv.name
		}
		if e := n.names[tv.name]; e != nil && e.kind == varKind && sameCode(renameRefs(e.typ, p.renamed), tv.typ) {
			tv.keeps = e
		}
	}
}

func sameCode(a, b []piece) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].text != b[i].text || a[i].ref != b[i].ref {
			return false
		}
	}
	return true
}

// checkVars refuses variables whose type cannot be written, and finds the cell's value.
func (n *Notebook) checkVars(p *prepared) error {
	errs := &CheckError{}
	for _, tv := range p.vars {
		if why := expressible(tv.obj.Type(), p.v.pkg); why != "" {
			errs.add(p.src, p.body.offset(tv.obj.Pos()), "%s cannot be a variable of the notebook: %s", tv.name, why)
		}
	}
	if err := n.findResult(p); err != nil {
		collect(errs, err)
	}
	if len(errs.Diagnostics) > 0 {
		return errs.sorted()
	}
	return nil
}

// varsAfter gives the variables that functions see: the notebook's and the cell's.
func (n *Notebook) varsAfter(p *prepared) []*entity {
	_, vars := n.live(p)
	byName := map[string]*topVar{}
	for _, tv := range p.vars {
		if tv.final {
			byName[tv.name] = tv
		}
	}
	var out []*entity
	for _, e := range vars {
		if byName[e.name] == nil {
			out = append(out, e)
		}
	}
	for _, tv := range p.vars {
		if tv.final {
			out = append(out, &entity{name: tv.name, kind: varKind, typ: tv.typ, src: p.src})
		}
	}
	return out
}

// scopeAfter is what the second step sees.
func (n *Notebook) scopeAfter(p *prepared, bodies map[*decl]bool) scopeOf {
	decls, _ := n.live(p)
	byName := map[string]bool{}
	for _, tv := range p.vars {
		byName[tv.name] = true
	}
	var keep []*decl
	dead := map[string]bool{}
	for k := range p.dead {
		dead[k] = true
	}
	for _, d := range decls {
		switch {
		case d.kind == constKind:
			for _, name := range d.names {
				if byName[name] {
					dead[d.name+"/"+name] = true
				}
			}
			keep = append(keep, d)
		case !byName[d.name]:
			keep = append(keep, d)
		}
	}
	imports := map[string]string{}
	for name, path := range p.imports {
		if !byName[name] {
			imports[name] = path
		}
	}
	return scopeOf{imports: imports, dots: p.dots, decls: append(keep, p.decls...), bodies: bodies, dead: dead, vars: n.varsAfter(p)}
}

// functionErrors checks the cell's own functions when its statements already have errors.
func (n *Notebook) functionErrors(p *prepared) []Diagnostic {
	bodies := map[*decl]bool{}
	for _, d := range p.decls {
		bodies[d] = true
	}
	v := n.pass(n.scopeAfter(p, bodies))
	errs, _ := n.sortErrors(p, v.errors, nil)
	known := map[string]bool{}
	for _, s := range p.top {
		for _, id := range definedBy(s) {
			known["undefined: "+id.Name] = true // its own statement has the error
		}
	}
	var out []Diagnostic
	for _, d := range errs.Diagnostics {
		if !known[d.Message] {
			out = append(out, d)
		}
	}
	return out
}

// checkDecls is the second step: bodies of the cell's functions and of those that its names change the meaning of.
func (n *Notebook) checkDecls(p *prepared, affected []*decl) error {
	p.dv = nil
	for {
		bodies := map[*decl]bool{}
		for _, d := range p.decls {
			bodies[d] = true
		}
		var fresh []*decl
		p.stale = map[string]bool{}
		for _, d := range affected {
			if d.inst != nil {
				p.stale[d.name] = true
				continue
			}
			if !p.gone[d] {
				bodies[d] = true
				fresh = append(fresh, d)
			}
		}
		p.fresh = append(fresh, p.decls...)
		if len(p.fresh) == 0 {
			break
		}
		p.dv = n.pass(n.scopeAfter(p, bodies))
		errs, old := n.sortErrors(p, p.dv.errors, nil)
		if n.putAside(p, old) {
			// What used them is affected in turn.
			lost := map[string]bool{}
			for d := range old {
				for _, name := range d.names {
					lost[name] = true
				}
			}
			affected = merge(affected, n.affected(lost, p.gone))
			continue
		}
		if len(errs.Diagnostics) > 0 {
			return errs.sorted()
		}
		break
	}
	return nil
}

func merge(a, b []*decl) []*decl {
	in := map[*decl]bool{}
	for _, d := range a {
		in[d] = true
	}
	for _, d := range b {
		if !in[d] {
			a = append(a, d)
		}
	}
	return a
}

// Warnings says which older declarations no longer compile because of the cell.
func (p *prepared) warnings() []string {
	var out []string
	for _, d := range p.broken {
		if d.broken != "" {
			continue // said before
		}
		out = append(out, fmt.Sprintf("%s %s of %s no longer compiles: %s; declare it again to use it",
			d.kind, d.name, d.frag.src.name, p.why[d]))
	}
	return out
}
