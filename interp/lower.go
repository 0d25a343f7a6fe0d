package interp

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"sort"
	"strings"
)

// lowering rewrites checked code into what the evaluator runs. It works on the text of a fragment by edits: each edit
// replaces the text of a syntax node by pieces, between which the node's own parts are rendered in turn. What no edit
// touches stays as it was written, at its own offset, so every position survives.
type lowering struct {
	n         *Notebook
	p         *prepared
	v         *verdict
	frag      *fragment
	edits     []edit
	errs      *CheckError
	tops      map[types.Object]*topVar
	addressed map[types.Object]bool // variables whose address is taken; see assign.go
	tmp       int
	flow      *flow
	tmpSwitch int
}

type edit struct {
	start, end int // offsets in the fragment's text
	order      int
	f          func(self int) []piece // renders the replacement; self is the edit's index, for rendering inside it
}

func (l *lowering) offset(pos token.Pos) int { return l.frag.tfile.Offset(pos) }

func (l *lowering) edit(node ast.Node, f func(self int) []piece) {
	l.editRange(node.Pos(), node.End(), f)
}

func (l *lowering) editRange(from, to token.Pos, f func(self int) []piece) {
	l.edits = append(l.edits, edit{l.offset(from), l.offset(to), len(l.edits), f})
}

func (l *lowering) sortEdits() {
	sort.SliceStable(l.edits, func(i, j int) bool {
		a, b := l.edits[i], l.edits[j]
		if a.start != b.start {
			return a.start < b.start
		}
		if (a.start == a.end) != (b.start == b.end) { // what is only put in stands before what begins there
			return a.start == a.end
		}
		if a.end != b.end {
			return a.end > b.end
		}
		return a.order < b.order
	})
}

// render gives the text from start to end with the edits from index on applied.
func (l *lowering) render(start, end, index int) []piece {
	var out []piece
	cursor := start
	for i := index; i < len(l.edits); i++ {
		e := l.edits[i]
		if e.start >= end {
			break
		}
		if e.start < cursor || e.end > end {
			continue
		}
		out = append(out, l.taken(cursor, e.start)...)
		out = append(out, l.placed(e.f(i), e.start)...)
		cursor = e.end
	}
	return append(out, l.taken(cursor, end)...)
}

// placed gives what we made the place of what it stands for.
func (l *lowering) placed(ps []piece, start int) []piece {
	for i := range ps {
		if ps[i].src == nil {
			ps[i].src, ps[i].off, ps[i].fixed = l.frag.src, l.frag.sourceOffset(start), true
		}
	}
	return ps
}

func (l *lowering) taken(start, end int) []piece {
	if start >= end {
		return nil
	}
	if l.frag.parts == nil {
		return []piece{{text: l.frag.text[start:end], src: l.frag.src, off: l.frag.sourceOffset(start)}}
	}
	var out []piece
	for i := l.frag.partAt(start); start < end; i++ {
		stop := end
		if i+1 < len(l.frag.parts) {
			stop = min(end, l.frag.parts[i+1].at)
		}
		out = append(out, piece{text: l.frag.text[start:stop], src: l.frag.src, off: l.frag.sourceOffset(start),
			fixed: i < 0 || l.frag.parts[i].fixed})
		start = stop
	}
	return out
}

// inside renders a node that lies within the edit self.
func (l *lowering) inside(node ast.Node, self int) []piece {
	return l.render(l.offset(node.Pos()), l.offset(node.End()), self+1)
}

func (n *Notebook) newLowering(p *prepared, v *verdict, frag *fragment) *lowering {
	l := &lowering{n: n, p: p, v: v, frag: frag, errs: &CheckError{}, tops: map[types.Object]*topVar{}}
	for _, tv := range p.vars {
		l.tops[tv.obj] = tv
	}
	return l
}

// lower fills in the code of the cell's statements and of its fresh declarations.
func (n *Notebook) lower(p *prepared, forRank bool) error {
	errs := &CheckError{}
	body := n.newLowering(p, p.v, p.body)
	body.statements(forRank) // first: their edits lie around the others
	body.interfaces(p.fn.Body)
	body.walk(p.fn.Body)
	body.sortEdits()
	b := p.fn.Body
	p.code = append(body.entry(p.fn), body.render(body.offset(b.Lbrace)+1, body.offset(b.Rbrace), 0)...)
	errs.Diagnostics = append(errs.Diagnostics, body.errs.Diagnostics...)
	p.lowered = map[*decl][]piece{}
	for _, d := range p.fresh {
		l := n.newLowering(p, p.dv, d.frag)
		p.lowered[d] = l.declaration(d)
		errs.Diagnostics = append(errs.Diagnostics, l.errs.Diagnostics...)
	}
	if len(errs.Diagnostics) > 0 {
		return errs.sorted()
	}
	return n.makeInstances(p)
}

// declaration lowers one declaration. Constants have no code: each use is replaced by its value.
func (l *lowering) declaration(d *decl) []piece {
	if d.generic() {
		return l.generic(d)
	}
	switch d.kind {
	case constKind:
		return l.constants(d)
	case typeKind:
		l.describe(d)
		spec := d.node.(*ast.GenDecl).Specs[0]
		l.interfaces(spec)
		l.walk(spec)
		l.sortEdits()
		out := append([]piece{made("type ")}, l.render(l.offset(spec.Pos()), l.offset(spec.End()), 0)...)
		return out
	}
	fn := d.node.(*ast.FuncDecl)
	if d.kind == methodKind && d.inst != nil {
		l.methodCopy(d, fn)
	} else if fn.Recv == nil { // before walk: an init function has a name of its own here
		l.edit(fn.Name, func(int) []piece { return []piece{{ref: d.name, src: d.frag.src, off: l.frag.offset(fn.Name.Pos())}} })
	}
	if fn.Body == nil {
		l.nameResults(fn)
	}
	l.describe(d)
	l.interfaces(fn)
	l.walk(fn)
	l.sortEdits()
	out := l.render(l.offset(fn.Pos()), l.offset(fn.End()), 0)
	if fn.Body == nil { // as notebooks of older kernels have it: it returns zero values
		out = append(out, made(" { return }"))
	}
	return out
}

// constants notes what a group of constants depends on, and its values, so that a change of one is seen.
func (l *lowering) constants(d *decl) []piece {
	var out []piece
	ast.Inspect(d.node, func(node ast.Node) bool {
		if id, ok := node.(*ast.Ident); ok {
			if obj := l.v.info.Uses[id]; obj != nil && obj.Parent() == l.v.pkg.Scope() {
				out = append(out, piece{dep: obj.Name()})
			}
		}
		return true
	})
	if out == nil {
		out = []piece{{}}
	}
	return out
}

// nameResults gives the results of a function without a body names, so that a bare return can give them.
func (l *lowering) nameResults(fn *ast.FuncDecl) {
	res := fn.Type.Results
	if res == nil || len(res.List) == 0 || len(res.List[0].Names) > 0 {
		return
	}
	l.edit(res, func(self int) []piece {
		out := []piece{made("(")}
		for i, f := range res.List {
			out = append(out, made("r%s%d ", sep, i))
			out = append(out, l.inside(f.Type, self)...)
			out = append(out, made(", "))
		}
		return append(out, made(")"))
	})
}

// walk notes the edits that apply anywhere: names, constants, go statements, recover.
func (l *lowering) walk(root ast.Node) {
	ast.Inspect(root, func(node ast.Node) bool {
		if l.instantiated(node) {
			return false
		}
		l.results(node)
		switch node := node.(type) {
		case *ast.Ident:
			l.ident(node)
		case *ast.SelectorExpr:
			if l.constant(node) {
				return false
			}
			if id, ok := l.selector(node); ok {
				l.ident(id)
				return false
			}
			l.methodValue(node)
		case *ast.GoStmt:
			l.goStmt(node)
		case *ast.DeclStmt:
			l.localVars(node)
		case *ast.FuncDecl:
			l.function(node, node.Body)
		case *ast.FuncLit:
			l.function(node, node.Body)
		case *ast.DeferStmt:
			l.deferStmt(node)
		case *ast.CompositeLit:
			l.compositeLit(node)
			l.elided(node)
		case *ast.ForStmt:
			l.loopStmt(node)
		case *ast.RangeStmt:
			l.rangeStmt(node)
		case *ast.SwitchStmt:
			l.switchStmt(node)
		case *ast.SelectStmt:
			l.selectStmt(node)
		case *ast.LabeledStmt:
			l.labelled(node)
		case *ast.BranchStmt:
			l.branch(node)
		case *ast.ReturnStmt:
			l.returnStmt(node)
			l.returnedFunctions(node)
		case *ast.AssignStmt:
			l.assignStmt(node)
			l.assign(node)
			l.opAssign(node)
			l.blankCondition(node)
		case *ast.CallExpr:
			if l.constant(node) {
				return false
			}
			l.call(node)
		case ast.Expr:
			if _, lit := node.(*ast.BasicLit); !lit && l.constant(node) {
				return false
			}
			switch node := node.(type) {
			case *ast.ParenExpr:
				l.paren(node)
			case *ast.BinaryExpr:
				l.binary(node)
			case *ast.StructType:
				l.structType(node)
			}
		case *ast.BlockStmt:
			if r := l.p.returns[node]; r != nil {
				for _, x := range r.Results {
					l.walk(x)
				}
				return false
			}
		}
		return true
	})
}

func (l *lowering) replace(node ast.Node, ps ...piece) {
	for i := range ps {
		ps[i].src, ps[i].off, ps[i].fixed = l.frag.src, l.frag.offset(node.Pos()), true
	}
	l.edit(node, func(int) []piece { return ps })
}

// ident renames what the notebook declares and refuses what the evaluator lacks.
func (l *lowering) ident(id *ast.Ident) {
	if l.constant(id) {
		return
	}
	obj := l.v.info.Uses[id]
	if obj == nil {
		obj = l.v.info.Defs[id]
	}
	if obj == nil {
		return
	}
	if tv := l.tops[obj]; tv != nil {
		l.replace(id, piece{ref: tv.key})
		return
	}
	if name, ok := l.flows().renamed[obj]; ok {
		l.replace(id, made("%s", name))
		return
	}
	switch obj := obj.(type) {
	case *types.PkgName:
		l.replace(id, piece{ref: importRef + obj.Imported().Path()})
		return
	case *types.Var:
		if obj.IsField() {
			l.field(id, obj)
			return
		}
	case *types.Func:
		if r := methodKey(obj, l.v.pkg); r != "" {
			l.edits = append(l.edits, edit{l.offset(id.Pos()), l.offset(id.End()), len(l.edits), func(int) []piece {
				return []piece{{text: id.Name, src: l.frag.src, off: l.frag.offset(id.Pos()), dep: r}}
			}})
			return
		}
	}
	if name, ok := obj.(*types.TypeName); ok && obj.Pkg() == l.v.pkg && (isLocal(obj) || name.IsAlias()) {
		l.typeName(id, name)
		return
	}
	if obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
		return
	}
	if obj.Pkg() != l.v.pkg { // by a dot import, or a global
		l.supported(id, obj)
		l.edit(id, func(int) []piece {
			return []piece{{ref: importRef + obj.Pkg().Path()},
				{text: "." + id.Name, src: l.frag.src, off: l.frag.offset(id.Pos()), dep: id.Name}}
		})
		return
	}
	l.replace(id, piece{ref: l.key(obj)})
}

// key names a package-level object of the notebook. In the cell's statements an object that the cell replaces by a
// variable of another type is the older one.
func (l *lowering) key(obj types.Object) string {
	if l.frag != l.p.body {
		return obj.Name()
	}
	for _, tv := range l.p.vars {
		if tv.final && tv.name == obj.Name() && tv.keeps == nil {
			return oldRef + obj.Name()
		}
	}
	return obj.Name()
}

// methodKey gives T.M for a method of a type of the notebook.
func methodKey(f *types.Func, pkg *types.Package) string {
	recv := f.Signature().Recv()
	if recv == nil || f.Pkg() != pkg {
		return ""
	}
	t := recv.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name() + "." + f.Name()
	}
	return ""
}

// field renames an embedded field with its type, whose name it has.
func (l *lowering) field(id *ast.Ident, f *types.Var) {
	if !f.Embedded() || l.ofForge(f.Type()) {
		return
	}
	t := f.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if ps := forEvaluator(typePieces(t, l.v.pkg)); len(ps) == 1 && ps[0].ref != "" {
		l.replace(id, ps...)
	}
}

// selector tells a member of a package, and refuses it if the evaluator does not have it.
func (l *lowering) selector(s *ast.SelectorExpr) (pkg *ast.Ident, ok bool) {
	id, ok := s.X.(*ast.Ident)
	if !ok {
		return nil, false
	}
	if _, ok := l.v.info.Uses[id].(*types.PkgName); !ok {
		return nil, false
	}
	if obj := l.v.info.Uses[s.Sel]; obj != nil {
		l.supported(s, obj)
	}
	return id, true
}

func (l *lowering) supported(at ast.Node, obj types.Object) {
	if hasSymbol(obj.Pkg().Path(), obj.Name()) {
		return
	}
	l.errs.add(l.frag.src, l.frag.offset(at.Pos()), "%s.%s is not supported by the interpreter", obj.Pkg().Name(), obj.Name())
}

// call keeps recover's value known to the runtime, and sends println where a program's would go.
func (l *lowering) call(c *ast.CallExpr) {
	l.stdin(c)
	l.literals(c)
	l.nilSpread(c)
	l.nilArguments(c)
	id, ok := ast.Unparen(c.Fun).(*ast.Ident)
	if !ok {
		return
	}
	b, ok := l.v.info.Uses[id].(*types.Builtin)
	if !ok {
		return
	}
	switch b.Name() {
	case "recover":
		l.recoverCall(c)
	case "panic":
		l.panicCall(c)
	case "print", "println":
		name := map[string]string{"print": "Print", "println": "Println"}[b.Name()]
		l.edit(id, func(int) []piece { return []piece{made("%s.%s", rtName, name)} })
	case "min", "max":
		l.orderedBuiltin(c, b.Name())
	case "clear":
		l.clearBuiltin(c)
	case "append":
		l.appendCall(c)
	case "new":
		l.newCall(c)
	}
}

func wrap(before piece, ps []piece, after piece) []piece {
	return append(append([]piece{before}, ps...), after)
}

// goStmt starts a goroutine whose panic ends the cell instead of the process. What the statement evaluates at once
// (the function, a receiver, the arguments) is handed over as arguments of the function that recovers.
func (l *lowering) goStmt(g *ast.GoStmt) {
	guard := fmt.Sprintf("defer func() { if r%s := recover(); r%s != nil { %s.Panicked(r%s) } }();", sep, sep, rtName, sep)
	sig, ok := l.v.info.TypeOf(g.Call.Fun).Underlying().(*types.Signature)
	if !ok { // a conversion or a builtin
		return
	}
	l.edit(g, func(self int) []piece {
		w := &goWriter{l: l, self: self, call: g.Call, sig: sig}
		return w.write(guard)
	})
}

// goWriter writes `go func(f F, a A) { guard; f(a) }(f, a)`.
type goWriter struct {
	l      *lowering
	self   int
	call   *ast.CallExpr
	sig    *types.Signature
	params []piece
	args   []piece
	n      int

	checks   []piece
	deferred string // the name of the stack of deferred calls, instead of a goroutine
}

func (w *goWriter) pass(t types.Type, value []piece) string {
	name := "p" + sep + itoa(w.n)
	w.n++
	if len(w.params) > 0 {
		w.params = append(w.params, made(", "))
		w.args = append(w.args, made(", "))
	}
	w.params = append(append(w.params, made("%s ", name)), typePieces(t, w.l.v.pkg)...)
	w.args = append(w.args, value...)
	return name
}

func (w *goWriter) write(guard string) []piece {
	l := w.l
	fun := w.callee()
	var inner []string
	args := w.call.Args
	if len(args) == 1 && w.sig.Params().Len() > 1 { // f(g()) with several values
		if tuple, ok := l.v.info.TypeOf(args[0]).(*types.Tuple); ok {
			for i := range tuple.Len() {
				inner = append(inner, w.pass(tuple.At(i).Type(), nil))
			}
			w.args = append(w.args[:0], l.inside(args[0], w.self)...)
			return w.finish(guard, fun, inner)
		}
	}
	for i, a := range args {
		name := w.pass(w.paramType(i), l.inside(a, w.self))
		if w.call.Ellipsis.IsValid() && i == len(args)-1 {
			name += "..."
		}
		inner = append(inner, name)
	}
	return w.finish(guard, fun, inner)
}

func (w *goWriter) paramType(i int) types.Type {
	last := w.sig.Params().Len() - 1
	if w.sig.Variadic() && i >= last {
		t := w.sig.Params().At(last).Type()
		if w.call.Ellipsis.IsValid() {
			return t
		}
		return t.Underlying().(*types.Slice).Elem()
	}
	return w.sig.Params().At(i).Type()
}

// callee gives the pieces of what is called inside the goroutine.
func (w *goWriter) callee() []piece {
	l := w.l
	switch f := ast.Unparen(w.call.Fun).(type) {
	case *ast.Ident:
		if _, ok := l.v.info.Uses[f].(*types.Func); ok {
			return l.inside(f, w.self)
		}
	case *ast.SelectorExpr:
		if id, ok := f.X.(*ast.Ident); ok {
			if _, pkg := l.v.info.Uses[id].(*types.PkgName); pkg {
				return l.inside(f, w.self)
			}
		}
		if s := l.v.info.Selections[f]; s != nil && s.Kind() == types.MethodVal {
			return w.method(f, s)
		}
	case *ast.IndexExpr, *ast.IndexListExpr: // an instance of a generic function
		return l.inside(f, w.self)
	}
	return []piece{made("%s", w.pass(l.v.info.TypeOf(w.call.Fun), l.inside(w.call.Fun, w.self)))}
}

// method passes the receiver, by address where the method takes it so.
func (w *goWriter) method(f *ast.SelectorExpr, s *types.Selection) []piece {
	l := w.l
	recv := l.v.info.TypeOf(f.X)
	value := l.inside(f.X, w.self)
	_, isPtr := recv.Underlying().(*types.Pointer)
	if r := s.Obj().(*types.Func).Signature().Recv(); r != nil && !isPtr && !types.IsInterface(recv) {
		if _, ptr := r.Type().(*types.Pointer); ptr {
			recv = types.NewPointer(recv)
			value = wrap(made("&("), value, made(")"))
		}
	}
	name := w.pass(recv, value)
	if types.IsInterface(recv) {
		w.checks = append(w.checks, made("if %s == nil { %s.NilDereference() }; ", name, rtName))
	}
	out := append([]piece{made("%s.", name)}, l.embeddedPath(s.Recv(), s.Index())...)
	return append(out, l.inside(f.Sel, w.self)...)
}

func (w *goWriter) finish(guard string, fun []piece, inner []string) []piece {
	if w.deferred != "" {
		return w.finishDefer(fun, strings.Join(inner, ", "))
	}
	out := append([]piece{made("go func(")}, w.params...)
	out = append(out, made(") { %s ", guard))
	out = append(out, fun...)
	out = append(out, made("(%s) }(", strings.Join(inner, ", ")))
	out = append(out, w.args...)
	return append(out, made(")"))
}
