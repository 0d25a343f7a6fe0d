package interp

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// The evaluator gets no generic code: for every instance that non-generic code uses, it gets a copy of the generic
// declaration, whose type parameters are replaced by the type arguments in the user's text. The checker goes on to see
// generic code and its instances, so messages, types and the rules of the language are Go's; only the lowered code
// names the copies. A copy is checked like what a user wrote, in a file that joins the package after the rest, and
// lowered as such; what instances it uses in turn is made in the next round.
//
// A method's copy is a function to the checker, with the receiver as its first parameter, since an instance's methods
// are declared already; lowering makes it the method of the type's copy.

// genericUse is an identifier in a generic declaration that may not stay as it is in a copy. Offsets are those of the
// fragment's text.
type genericUse struct {
	start, end int
	param      int    // index of the type parameter that it names, or -1
	local      string // the local thing that it names, or ""
	convEnd    int    // it is the type of a conversion of a constant, which ends there
	insert     string // nothing that is named: text to put here in a copy that must be exact
}

// generic notes what a generic declaration depends on, and what a copy replaces. It has no code.
func (l *lowering) generic(d *decl) []piece {
	out := []piece{{}}
	d.uses = nil
	dep := func(name string) { out = append(out, piece{dep: name}) }
	conversions := map[*ast.Ident]token.Pos{}
	params := l.typeParams(d.node)
	ast.Inspect(d.node, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.TypeAssertExpr: // of an interface that may not have the methods that the type argument has
			if node.Type != nil {
				for i, pos := range []token.Pos{node.X.Pos(), node.X.End()} {
					d.uses = append(d.uses, genericUse{start: l.offset(pos), end: l.offset(pos), param: -1, insert: []string{"any(", ")"}[i]})
				}
			}
		case *ast.CallExpr:
			if id, ok := ast.Unparen(node.Fun).(*ast.Ident); ok && len(node.Args) == 1 && l.v.info.Types[node.Args[0]].Value != nil {
				conversions[id] = node.End()
			}
		case *ast.Ident:
			use := genericUse{start: l.offset(node.Pos()), end: l.offset(node.End()), param: -1}
			obj := l.v.info.Uses[node]
			if obj == nil {
				def, known := l.v.info.Defs[node]
				if known && def == nil && node.Name != "_" { // the variable of a type switch
					use.local = node.Name
				}
				obj = def
			}
			if obj == nil {
				if use.local != "" {
					d.uses = append(d.uses, use)
				}
				return true
			}
			if f, ok := obj.(*types.Func); ok {
				if key := methodKey(f, l.v.pkg); key != "" {
					dep(key)
					return true
				}
			}
			if v, ok := obj.(*types.Var); ok && v.IsField() {
				return true
			}
			switch tp, isParam := obj.Type().(*types.TypeParam); {
			case isParam && l.v.info.Uses[node] != nil && isTypeName(obj) && params[tp]:
				use.param = tp.Index()
				if end, ok := conversions[node]; ok {
					use.convEnd = l.offset(end)
				}
				d.uses = append(d.uses, use)
			case obj.Pkg() == l.v.pkg && obj.Parent() == l.v.pkg.Scope():
				dep(obj.Name())
			case obj.Pkg() == l.v.pkg && obj.Parent() != nil && !isPkgName(obj) && node.Name != "_":
				use.local = node.Name
				d.uses = append(d.uses, use)
			}
		}
		return true
	})
	return out
}

// typeParams gives the type parameters of a declaration itself.
func (l *lowering) typeParams(node ast.Decl) map[*types.TypeParam]bool {
	out := map[*types.TypeParam]bool{}
	add := func(list *types.TypeParamList) {
		for tp := range list.TypeParams() {
			out[tp] = true
		}
	}
	switch node := node.(type) {
	case *ast.GenDecl:
		switch t := l.v.info.Defs[node.Specs[0].(*ast.TypeSpec).Name].Type().(type) {
		case *types.Named:
			add(t.TypeParams())
		case *types.Alias:
			add(t.TypeParams())
		}
	case *ast.FuncDecl:
		sig := l.v.info.Defs[node.Name].(*types.Func).Signature()
		add(sig.TypeParams())
		add(sig.RecvTypeParams())
	}
	return out
}

func isTypeName(obj types.Object) bool {
	_, ok := obj.(*types.TypeName)
	return ok
}

func isPkgName(obj types.Object) bool {
	_, ok := obj.(*types.PkgName)
	return ok
}

// instantiated replaces the name of an instance of a generic function or type.
func (l *lowering) instantiated(node ast.Node) bool {
	if d, ok := node.(*ast.DeclStmt); ok {
		l.funcVars(d)
		return l.localTypes(d)
	}
	x, ok := node.(ast.Expr)
	if !ok {
		return false
	}
	if l.p.never[x.Pos()] {
		delete(l.p.never, x.Pos())
		l.replace(x, made("%s.Never", rtName))
		return true
	}
	id := l.genericName(x)
	if id == nil {
		return false
	}
	inst, ok := l.v.info.Instances[id]
	if !ok {
		return false
	}
	obj := l.v.info.Uses[id]
	if _, typ := obj.(*types.TypeName); typ {
		ps := typePieces(inst.Type, l.v.pkg)
		if why := l.unsupportedInstance(inst.Type); why != "" {
			l.errs.add(l.frag.src, l.frag.offset(x.Pos()), "%s is not supported by the interpreter", why)
		}
		if needsParens(ps) {
			ps = wrap(made("("), ps, made(")"))
		}
		l.replace(x, ps...)
		return true
	}
	if obj.Pkg() != l.v.pkg {
		return l.foreignFunc(x, obj, inst)
	}
	if path, name := preludePath(obj.Name()); path != "" && l.native(x, path, name, inst.TypeArgs) {
		return true
	}
	w := &typeWriter{pkg: l.v.pkg}
	l.replace(x, w.instance(obj, inst.TypeArgs), piece{dep: obj.Name()})
	return true
}

// genericName gives the identifier of a generic function or type that an expression may be an instance of.
func (l *lowering) genericName(x ast.Expr) *ast.Ident {
	switch x := x.(type) {
	case *ast.Ident:
		return x
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok && l.v.info.Uses[id] != nil && isPkgName(l.v.info.Uses[id]) {
			return x.Sel
		}
	case *ast.IndexExpr:
		return l.genericName(ast.Unparen(x.X))
	case *ast.IndexListExpr:
		return l.genericName(ast.Unparen(x.X))
	}
	return nil
}

// typeName replaces the name of a type that functions declare, or of an alias.
func (l *lowering) typeName(id *ast.Ident, name *types.TypeName) {
	if l.v.info.Defs[id] == types.Object(name) {
		return // where it is declared
	}
	ps := typePieces(name.Type(), l.v.pkg)
	if needsParens(ps) {
		ps = wrap(made("("), ps, made(")"))
	}
	if name.IsAlias() && !isLocal(name) {
		ps = append(ps, piece{dep: name.Name()})
	}
	l.replace(id, ps...)
}

// needsParens says whether a type must stand in parentheses to be called as a conversion.
func needsParens(ps []piece) bool {
	for _, p := range ps {
		if p.world == checkerOnly || p.text == "" {
			continue
		}
		for _, s := range []string{"*", "func", "<-", "chan"} {
			if strings.HasPrefix(p.text, s) {
				return true
			}
		}
		return false
	}
	return false
}

func forEvaluator(ps []piece) []piece {
	return slices.DeleteFunc(ps, func(p piece) bool { return p.world == checkerOnly })
}

// localTypes takes type declarations out of functions: each type that is declared there is declared at the package's
// level under a name of its own, and an alias is what it stands for.
func (l *lowering) localTypes(d *ast.DeclStmt) bool {
	g, ok := d.Decl.(*ast.GenDecl)
	if !ok || g.Tok != token.TYPE {
		return false
	}
	l.edit(d, func(int) []piece { return nil })
	return true
}

// makeInstances adds to the cell's declarations the copies that its code, and they, need.
func (n *Notebook) makeInstances(p *prepared) error {
	m := &maker{n: n, p: p, asked: map[string]bool{}}
	p.made, p.never = map[string]bool{}, map[token.Pos]bool{}
	m.scan(p.code, 0)
	for _, tv := range p.vars {
		m.scan(tv.typ, 0)
	}
	if p.result != nil {
		m.scan(p.result.typ, 0)
	}
	for _, d := range p.fresh {
		m.scan(p.lowered[d], 0)
	}
	m.staleMethods()
	for len(m.wanted) > 0 {
		if err := m.round(); err != nil {
			return err
		}
	}
	return nil
}

// maker makes instances.
type maker struct {
	n      *Notebook
	p      *prepared
	asked  map[string]bool
	wanted []*instance
	world  *verdict // that copies are checked in
	scope  scopeOf
	exact  map[*instance]bool // conversions of constants are kept from being constant
	serial int
}

// maxDepth bounds how far instances may lead to instances of ever larger types.
const maxDepth = 60

// scan asks for the instances that pieces refer to.
func (m *maker) scan(ps []piece, depth int) {
	for i := range ps {
		inst := ps[i].inst
		if inst == nil {
			continue
		}
		ps[i].inst = nil
		if inst.src == nil {
			inst.src, inst.off = ps[i].src, ps[i].off
		}
		m.ask(inst, depth)
	}
}

func (m *maker) ask(inst *instance, depth int) {
	for _, a := range inst.args {
		m.scan(a, depth)
	}
	if m.asked[inst.name] || m.n.names[inst.name] != nil && !m.p.stale[inst.name] {
		return
	}
	m.asked[inst.name] = true
	inst.depth = depth
	m.wanted = append(m.wanted, inst)
}

// staleMethods asks for methods of instances of earlier cells that the cell declares or changes.
func (m *maker) staleMethods() {
	for _, d := range m.n.decls {
		if d.inst == nil || d.kind != typeKind || m.p.stale[d.name] || m.p.gone[d] {
			continue
		}
		for _, g := range m.methods(d.inst.generic) {
			name := d.name + "." + g.node.(*ast.FuncDecl).Name.Name
			if e := m.n.names[name]; e == nil || m.p.stale[name] {
				m.wanted = append(m.wanted, &instance{name: name, generic: g.name, args: d.inst.args, src: g.frag.src, off: g.frag.offset(g.node.Pos())})
			}
		}
	}
}

// find gives a declaration of the notebook as it is after the cell.
func (m *maker) find(name string) *decl {
	for _, d := range m.p.decls {
		if d.name == name {
			return d
		}
	}
	if e := m.n.names[name]; e != nil && e.decl != nil && !m.p.gone[e.decl] {
		return e.decl
	}
	return m.n.preludeDecl(name)
}

// methods lists the methods of a generic type as they are after the cell.
func (m *maker) methods(typ string) []*decl {
	found := map[string]*decl{}
	for _, d := range m.n.decls {
		if d.kind == methodKind && d.inst == nil && strings.HasPrefix(d.name, typ+".") && d.broken == "" && !m.p.gone[d] {
			found[d.name] = d
		}
	}
	for _, d := range m.p.decls {
		if d.kind == methodKind && strings.HasPrefix(d.name, typ+".") {
			found[d.name] = d
		}
	}
	for _, name := range m.n.preludeMethods(typ) {
		found[name] = m.n.preludeDecl(name)
	}
	var out []*decl
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[name])
	}
	return out
}

// copied is one copy on its way.
type copied struct {
	inst    *instance
	generic *decl // nil for a type that a function declares
	decl    *decl
}

// round makes what is wanted.
func (m *maker) round() error {
	if err := m.open(); err != nil {
		return err
	}
	var copies []*copied
	for len(m.wanted) > 0 {
		inst := m.wanted[0]
		m.wanted = m.wanted[1:]
		if inst.depth > maxDepth {
			return m.refuse(inst, "it leads to instances without end")
		}
		cs, err := m.copy(inst)
		if err != nil {
			return err
		}
		copies = append(copies, cs...)
	}
	if err := m.check(copies); err != nil {
		return err
	}
	errs := &CheckError{}
	depth := 0
	for _, c := range copies {
		m.p.made[c.decl.name] = true
		l := m.n.newLowering(m.p, m.world, c.decl.frag)
		code := l.declaration(c.decl)
		if c.generic != nil {
			code = append(code, piece{dep: c.generic.name})
		}
		m.p.lowered[c.decl] = code
		m.p.fresh = append(m.p.fresh, c.decl)
		errs.Diagnostics = append(errs.Diagnostics, l.errs.Diagnostics...)
		depth = max(depth, c.inst.depth)
		m.scan(code, c.inst.depth+1)
	}
	if len(errs.Diagnostics) > 0 {
		return errs.sorted()
	}
	return nil
}

func (m *maker) refuse(inst *instance, why string) error {
	errs := &CheckError{}
	src := inst.src
	if src == nil {
		src = m.p.src
	}
	errs.add(src, inst.off, "%s is not supported by the interpreter: %s", clean(inst.name), clean(why))
	return errs
}

// open settles what copies are checked with.
func (m *maker) open() error {
	if m.world != nil {
		return nil
	}
	m.exact = map[*instance]bool{}
	switch {
	case m.p.program:
		m.world, m.scope = m.p.v, scopeOf{imports: m.p.imports, dots: m.p.dots}
	default:
		m.scope = m.n.scopeAfter(m.p, nil)
		m.world = m.p.dv
		if m.world == nil {
			m.world = m.n.pass(m.scope)
		}
	}
	return nil
}

// copy makes the declarations of an instance: a type's methods come with it.
func (m *maker) copy(inst *instance) ([]*copied, error) {
	if inst.local != nil || inst.anon != nil {
		return m.hoist(inst), nil
	}
	g := m.find(inst.generic)
	if g == nil {
		return nil, m.refuse(inst, "it has no source here")
	}
	c, err := m.write(inst, g)
	if err != nil {
		return nil, m.refuse(inst, err.Error())
	}
	out := []*copied{c}
	if g.kind != typeKind {
		return out, nil
	}
	for _, method := range m.methods(inst.generic) {
		name := inst.name + "." + method.node.(*ast.FuncDecl).Name.Name
		of := &instance{name: name, generic: method.name, args: inst.args, src: inst.src, off: inst.off, depth: inst.depth}
		c, err := m.write(of, method)
		if err != nil {
			return nil, m.refuse(inst, err.Error())
		}
		out = append(out, c)
	}
	return out, nil
}

// hoist declares a type of a function at the package's level.
func (m *maker) hoist(inst *instance) []*copied {
	var under types.Type = inst.anon
	if inst.anon == nil {
		under = inst.local.Underlying()
	}
	code := append([]piece{made("type "), {ref: inst.name}, made(" ")}, typePieces(under, inst.pkg)...)
	m.scan(code, inst.depth)
	text := m.n.checkText(code)
	f := m.n.synthetic(text)
	if inst.src != nil {
		f.src, f.parts = inst.src, []part{{at: 0, off: inst.off, fixed: true}}
	}
	d := &decl{kind: typeKind, name: inst.name, names: []string{inst.name}, frag: f, node: f.file.Decls[0], text: text}
	return []*copied{{inst: inst, decl: d}}
}

// check checks copies, in a file of their own that joins the package. Copies that cannot be as they are get another
// form, once.
func (m *maker) check(copies []*copied) error {
	todo := copies
	for range 3 {
		if len(todo) == 0 {
			return nil
		}
		again, err := m.checkOnce(todo)
		if err != nil {
			return err
		}
		todo = again
	}
	return nil
}

func (m *maker) checkOnce(copies []*copied) (again []*copied, err error) {
	n := m.n
	file := &ast.File{Name: ast.NewIdent("main")}
	imported := map[string]bool{}
	add := func(name, path string) {
		if !imported[name] {
			imported[name] = true
			file.Decls = append(file.Decls, n.importDecl(name, path))
		}
	}
	for name, path := range m.scope.imports {
		add(name, path)
	}
	for path := range m.scope.dots {
		file.Decls = append(file.Decls, n.importDecl(".", path))
	}
	byFrag := map[*fragment]*copied{}
	var names func(f *fragment)
	names = func(f *fragment) {
		for _, id := range f.file.Unresolved {
			if path, ok := n.aliases[id.Name]; ok {
				add(id.Name, path)
			}
			for _, d := range m.library(id.Name) {
				file.Decls = append(file.Decls, d.checkNode(false, nil))
				names(d.frag)
			}
		}
	}
	for _, c := range copies {
		byFrag[c.decl.frag] = c
		file.Decls = append(file.Decls, c.decl.node)
		names(c.decl.frag)
	}
	info := *m.world.info
	var errs []types.Error
	conf := *m.world.conf
	conf.Error = func(err error) {
		if e, ok := err.(types.Error); ok {
			errs = append(errs, e)
		}
	}
	_ = types.NewChecker(&conf, n.fset, m.world.pkg, &info).Files([]*ast.File{file})
	redo := map[*copied]bool{}
	for _, e := range errs {
		c := byFrag[n.at(e.Pos)]
		switch {
		case tolerated(e, nil) || strings.HasPrefix(e.Msg, "\t"):
		case strings.HasPrefix(e.Msg, "duplicate case") && strings.Contains(e.Msg, "in type switch"),
			strings.HasPrefix(e.Msg, "impossible type switch case"):
			m.p.never[e.Pos] = true
		case c == nil:
			return nil, m.refuse(copies[0].inst, e.Msg)
		case !m.exact[c.inst] && c.generic != nil && c.generic.kind != typeKind:
			m.exact[c.inst], redo[c] = true, true
		case !redo[c]:
			return nil, m.refuse(c.inst, e.Msg)
		}
	}
	for _, c := range copies {
		if !redo[c] {
			continue
		}
		w, err := m.write(c.inst, c.generic)
		if err != nil {
			return nil, m.refuse(c.inst, err.Error())
		}
		*c = *w
		again = append(again, c)
	}
	return again, nil
}

// library gives the declarations of the standard library's generic code that a name stands for, and that the package
// that copies are checked in does not have yet.
func (m *maker) library(name string) []*decl {
	d := m.n.preludeDecl(name)
	if d == nil || m.world.prelude[name] {
		return nil
	}
	if m.world.prelude == nil {
		m.world.prelude = map[string]bool{}
	}
	m.world.prelude[name] = true
	out := []*decl{d}
	for _, method := range m.n.preludeMethods(name) {
		out = append(out, m.n.preludeDecl(method))
	}
	return out
}

// splice replaces a part of a text.
type splice struct {
	start, end int
	text       string
}

// write makes the copy of a generic declaration for type arguments.
func (m *maker) write(inst *instance, g *decl) (*copied, error) {
	f := g.frag
	off := func(pos token.Pos) int { return f.tfile.Offset(pos) }
	var args []string
	words := map[string]bool{}
	for _, a := range inst.args {
		text := m.n.checkText(a)
		for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !isIdent(r) }) {
			words[w] = true
		}
		if needsParens([]piece{made("%s", text)}) {
			text = "(" + text + ")"
		}
		args = append(args, text)
	}
	for _, a := range inst.args { // also the evaluator's words
		for _, q := range a {
			if q.ref != "" {
				words[q.ref] = true
			}
		}
	}
	m.serial++
	name := inst.name
	if m.exact[inst] {
		name += sep + "v" + itoa(m.serial)
	}
	var cuts []splice
	var from, to int
	head := "package main;"
	from, to = off(g.node.Pos()), off(g.node.End())
	switch node := g.node.(type) {
	case *ast.GenDecl:
		spec := node.Specs[0].(*ast.TypeSpec)
		head += "type "
		from = off(spec.Pos())
		to = off(spec.End())
		cuts = append(cuts, splice{off(spec.Name.Pos()), off(spec.TypeParams.End()), name})
	case *ast.FuncDecl:
		if node.Recv == nil {
			cuts = append(cuts, splice{off(node.Name.Pos()), off(node.Type.TypeParams.End()), name})
			break
		}
		cuts = append(cuts, m.receiver(node, name, args, off)...)
	}
	for _, u := range g.uses {
		switch {
		case u.insert != "":
			if m.exact[inst] {
				cuts = append(cuts, splice{u.start, u.end, u.insert})
			}
		case u.param >= len(args):
			continue
		case u.param >= 0 && u.convEnd > 0 && m.exact[inst]:
			cuts = append(cuts, splice{u.start, u.end, "func() " + args[u.param] + " { return " + args[u.param]},
				splice{u.convEnd, u.convEnd, " }()"})
		case u.param >= 0:
			cuts = append(cuts, splice{u.start, u.end, args[u.param]})
		case words[u.local]:
			cuts = append(cuts, splice{u.end, u.end, sep + "v"})
		}
	}
	slices.SortStableFunc(cuts, func(a, b splice) int { return a.start - b.start })
	out := &fragment{src: f.src}
	var b strings.Builder
	b.WriteString(head)
	out.parts = append(out.parts, part{0, f.sourceOffset(from), true})
	cursor := from
	keep := func(end int) {
		if end > cursor {
			out.parts = append(out.parts, part{b.Len(), f.sourceOffset(cursor), false})
			b.WriteString(f.text[cursor:end])
		}
	}
	for _, c := range cuts {
		if c.start < cursor || c.end > to {
			continue
		}
		keep(c.start)
		out.parts = append(out.parts, part{b.Len(), f.sourceOffset(c.start), true})
		b.WriteString(c.text)
		cursor = c.end
	}
	keep(to)
	out.parts = append(out.parts, part{b.Len(), f.sourceOffset(to), true})
	b.WriteString("\n")
	out.text = b.String()
	err := out.parse(m.n.fset)
	if out.tfile != nil {
		m.n.frags[out.tfile] = out
	}
	if err != nil {
		return nil, err
	}
	d := &decl{kind: g.kind, name: inst.name, names: []string{inst.name}, frag: out, node: out.file.Decls[0], text: g.text, inst: inst}
	return &copied{inst: inst, generic: g, decl: d}, nil
}

// receiver makes of a method's head one of a function, whose first parameter is the receiver.
func (m *maker) receiver(fn *ast.FuncDecl, name string, args []string, off func(token.Pos) int) []splice {
	recv := fn.Recv.List[0]
	star := ""
	t := recv.Type
	for done := false; !done; {
		switch x := t.(type) {
		case *ast.StarExpr:
			star, t = "*", x.X
		case *ast.ParenExpr:
			t = x.X
		default:
			done = true
		}
	}
	generic := receiverName(fn)
	self := "_"
	if len(recv.Names) > 0 {
		self = recv.Names[0].Name
	}
	params := fn.Type.Params
	comma := ""
	if len(params.List) > 0 {
		comma = ", "
	}
	cuts := []splice{{off(fn.Pos()) + len("func"), off(params.Opening) + 1,
		" " + strings.ReplaceAll(name, ".", sep) + "(" + self + " " + star + generic + "[" + strings.Join(args, ",") + "]" + comma}}
	for _, p := range params.List {
		if len(p.Names) == 0 {
			cuts = append(cuts, splice{off(p.Pos()), off(p.Pos()), "_ "})
		}
	}
	return cuts
}

// methodCopy makes a method of the function that its copy was checked as.
func (l *lowering) methodCopy(d *decl, fn *ast.FuncDecl) {
	typ, name, _ := strings.Cut(d.name, ".")
	recv := fn.Type.Params.List[0]
	end := recv.End()
	if len(fn.Type.Params.List) > 1 {
		end = fn.Type.Params.List[1].Pos()
	}
	l.editRange(fn.Name.Pos(), end, func(int) []piece {
		out := []piece{made("(%s ", recv.Names[0].Name)}
		if _, ptr := recv.Type.(*ast.StarExpr); ptr {
			out = append(out, made("*"))
		}
		return append(out, piece{ref: typ}, made(") %s(", name))
	})
}
