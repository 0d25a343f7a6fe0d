package interp

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// Deferred calls: yaegi gives them arguments as they are when they run, forgets the rest of them when one panics, knows
// recover only in function literals, and not the builtins. A function whose deferred calls go beyond a single plain one
// keeps them on a stack of the runtime's own:
//
//	d := rt.Defers(); defer func() { d.Run(recover()) }()
//	func(p A) { d.Push(func() { f(p) }) }(a)         // defer f(a)
//	func() any { var r any; d.Recover(&r); return r }()  // recover(), in a function literal deferred there
//
// A function with recover that is no such literal finds by rt.Deferred() what deferred it, if anything did.

// deferFlow is what flow knows of deferred calls, by function.
type deferFlow struct {
	defers   map[ast.Node][]*ast.DeferStmt
	repeated map[ast.Node]bool            // a defer stands in a loop
	literal  map[*ast.FuncLit]ast.Node    // a literal that is deferred, and by which function
	recovers map[ast.Node][]*ast.CallExpr // calls of recover
	ids      map[ast.Node]string
}

func newDeferFlow() deferFlow {
	return deferFlow{map[ast.Node][]*ast.DeferStmt{}, map[ast.Node]bool{}, map[*ast.FuncLit]ast.Node{},
		map[ast.Node][]*ast.CallExpr{}, map[ast.Node]string{}}
}

func (w *flowWalker) lookDefer(d *ast.DeferStmt) {
	f, fn := w.f, w.function()
	f.defers[fn] = append(f.defers[fn], d)
	for i := len(w.stack) - 1; i >= 0 && w.stack[i] != fn; i-- {
		switch w.stack[i].(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			f.repeated[fn] = true
		}
	}
	if lit, ok := ast.Unparen(d.Call.Fun).(*ast.FuncLit); ok {
		f.literal[lit] = fn
	}
}

func (w *flowWalker) lookRecover(c *ast.CallExpr) {
	if isBuiltin(w.l.v.info, c, "recover") {
		fn := w.function()
		w.f.recovers[fn] = append(w.f.recovers[fn], c)
	}
}

func isBuiltin(info *types.Info, c *ast.CallExpr, name string) bool {
	id, ok := ast.Unparen(c.Fun).(*ast.Ident)
	if !ok || id.Name != name {
		return false
	}
	_, ok = info.Uses[id].(*types.Builtin)
	return ok
}

// keepsDefers says whether a function keeps its deferred calls on the runtime's stack.
func (l *lowering) keepsDefers(fn ast.Node) bool {
	f := l.flows()
	ds := f.defers[fn]
	if len(ds) == 0 {
		return false
	}
	return len(ds) > 1 || f.repeated[fn] || len(f.jumped) > 0 || !l.plainDefer(ds[0])
}

// plainDefer says whether yaegi does a deferred call right, as the only one of its function: nothing is evaluated but
// a receiver that is compiled, and nothing recovers.
func (l *lowering) plainDefer(d *ast.DeferStmt) bool {
	if len(d.Call.Args) > 0 && !l.plainArguments(d.Call) {
		return false
	}
	switch f := ast.Unparen(d.Call.Fun).(type) {
	case *ast.Ident:
		fn, ok := l.v.info.Uses[f].(*types.Func)
		return ok && !fn.Signature().Variadic() && !(&goWriter{l: l, call: d.Call}).mayRecover()
	case *ast.FuncLit:
		return len(l.flows().recovers[f]) == 0
	case *ast.SelectorExpr:
		s := l.v.info.Selections[f]
		if s == nil || s.Kind() != types.MethodVal || s.Obj().Pkg() == l.v.pkg {
			return false
		}
		if types.IsInterface(l.v.info.TypeOf(f.X)) {
			return false
		}
		_, ptr := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
		return ptr && f.Sel.Name != "Wait" && l.simpleReceiver(f.X) // yaegi would hold a lock that goroutines wait for
	}
	return false
}

// plainArguments says whether a deferred call's arguments are kept by yaegi as they are: not variables, whose later
// values it would see.
func (l *lowering) plainArguments(c *ast.CallExpr) bool {
	if _, ok := ast.Unparen(c.Fun).(*ast.Ident); !ok {
		return false
	}
	for _, a := range c.Args {
		if l.v.info.Types[a].Value != nil {
			continue
		}
		if u, ok := ast.Unparen(a).(*ast.UnaryExpr); !ok || u.Op != token.AND {
			return false
		}
	}
	return true
}

func (l *lowering) simpleReceiver(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return l.simpleReceiver(x.X)
	}
	return false
}

func (f *flow) id(fn ast.Node) string {
	id, ok := f.ids[fn]
	if !ok {
		f.n++
		id = sep + itoa(f.n)
		f.ids[fn] = id
	}
	return id
}

// entry gives what a function's body starts with.
func (l *lowering) entry(fn ast.Node) []piece {
	f := l.flows()
	var out []piece
	if l.keepsDefers(fn) {
		d := "d" + f.id(fn)
		out = append(out, made(" %s := %s.Defers(); defer func() { %s.Run(recover()) }(); ", d, rtName, d))
	}
	if len(f.recovers[fn]) > 0 {
		if lit, ok := fn.(*ast.FuncLit); !ok || f.literal[lit] == nil {
			out = append(out, made(" r%s := %s.Deferred(); ", f.id(fn), rtName))
		}
	}
	return out
}

// function notes the edit of a function's body for its deferred calls.
func (l *lowering) function(fn ast.Node, body *ast.BlockStmt) {
	if body == nil || fn == l.p.fn {
		return
	}
	if in := l.entry(fn); in != nil {
		l.editRange(body.Lbrace, body.Lbrace+1, func(int) []piece {
			return append([]piece{made("{")}, append([]piece(nil), in...)...)
		})
	}
}

// recoverCall notes the edit of a call of recover.
func (l *lowering) recoverCall(c *ast.CallExpr) {
	f := l.flows()
	fn := f.fn[c]
	from := "r" + f.id(fn)
	if lit, ok := fn.(*ast.FuncLit); ok {
		if by := f.literal[lit]; by != nil {
			from = "d" + f.id(by)
		}
	}
	l.edit(c, func(int) []piece {
		return []piece{made("func() any { var v%s any; %s.Recover(&v%s); return v%s }()", sep, from, sep, sep)}
	})
}

// panicCall notes the edit of a call of panic: yaegi hands over a value that compiled code does not know.
func (l *lowering) panicCall(c *ast.CallExpr) {
	l.edit(c, func(self int) []piece {
		before, after := "{", "}"
		if !l.flows().alone[c] {
			before, after = "func() {", "}()"
		}
		out := append([]piece{made("%s var v%s any = ", before, sep)}, l.inside(c.Args[0], self)...)
		return append(out, made("; %s.Panic(&v%s) %s", rtName, sep, after))
	})
}

// deferStmt notes the edit of a deferred call.
func (l *lowering) deferStmt(s *ast.DeferStmt) {
	f := l.flows()
	fn := f.fn[s]
	if !l.keepsDefers(fn) {
		return
	}
	d := "d" + f.id(fn)
	l.edit(s, func(self int) []piece {
		c := s.Call
		if lit, ok := ast.Unparen(c.Fun).(*ast.FuncLit); ok && len(c.Args) == 0 {
			return wrap(made("%s.Push((", d), l.inside(lit, self), made("))"))
		}
		if id, ok := ast.Unparen(c.Fun).(*ast.Ident); ok {
			if b, ok := l.v.info.Uses[id].(*types.Builtin); ok {
				return l.deferBuiltin(d, b.Name(), c, self)
			}
		}
		sig, ok := l.v.info.TypeOf(c.Fun).Underlying().(*types.Signature)
		if !ok {
			return l.inside(s, self)
		}
		w := &goWriter{l: l, self: self, call: c, sig: sig, deferred: d}
		return w.write("")
	})
}

// deferBuiltin defers a call of a builtin function, whose arguments are evaluated at once.
func (l *lowering) deferBuiltin(d, name string, c *ast.CallExpr, self int) []piece {
	w := &goWriter{l: l, self: self, call: c, deferred: d}
	var inner []string
	for _, a := range c.Args {
		t := l.v.info.TypeOf(a)
		if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
			t = types.Default(t)
		}
		if tv := l.v.info.Types[a]; tv.IsNil() || name == "panic" {
			t = types.NewInterfaceType(nil, nil)
		}
		inner = append(inner, w.pass(t, l.inside(a, self)))
	}
	list := strings.Join(inner, ", ")
	if c.Ellipsis.IsValid() {
		list += "..."
	}
	var fun []piece
	switch name {
	case "panic":
		fun, list = []piece{made("%s.Panic", rtName)}, "&"+list
	case "recover": // it is not called by a deferred function, and so gives nothing
		fun, list = []piece{made("func() {}")}, ""
	case "print", "println":
		fun = []piece{made("%s.%s", rtName, map[string]string{"print": "Print", "println": "Println"}[name])}
	case "clear":
		fun = l.cleared(l.v.info.TypeOf(c.Args[0]), []piece{made("%s", list)})
		return w.finishDefer([]piece{made("func() { ")}, "", append(fun, made(" }"))...)
	default:
		fun = []piece{made("%s", name)}
	}
	return w.finishDefer(fun, list)
}

// finishDefer writes `func(p A) { d.Push(func() { f(p) }) }(a)`.
func (w *goWriter) finishDefer(fun []piece, list string, more ...piece) []piece {
	fun = append(fun, more...)
	push := "Push"
	if w.mayRecover() {
		push = "PushUnknown"
	}
	out := append([]piece{made("func(")}, w.params...)
	out = append(append(out, made(") { ")), w.checks...)
	out = append(out, made("%s.%s((func() { ", w.deferred, push))
	out = append(out, fun...)
	out = append(out, made("(%s) })) }(", list))
	out = append(out, w.args...)
	return append(out, made(")"))
}

// mayRecover says whether what is deferred may call recover itself: functions of the notebook that do, and values.
func (w *goWriter) mayRecover() bool {
	l := w.l
	var obj types.Object
	switch f := ast.Unparen(w.call.Fun).(type) {
	case *ast.FuncLit:
		return false // it knows who defers it
	case *ast.Ident:
		obj = l.v.info.Uses[f]
	case *ast.SelectorExpr:
		obj = l.v.info.Uses[f.Sel]
	case *ast.IndexExpr:
		if id, ok := f.X.(*ast.Ident); ok {
			obj = l.v.info.Uses[id]
		}
	}
	switch obj := obj.(type) {
	case *types.Builtin:
		return false
	case *types.Func:
		if obj.Pkg() != l.v.pkg {
			return false
		}
		name := obj.Name()
		if obj.Signature().Recv() != nil {
			if name = methodKey(obj, l.v.pkg); name == "" {
				return true
			}
		}
		for _, ds := range [][]*decl{l.p.decls, l.n.decls} {
			for _, d := range ds {
				if d.name == name && (d.kind == funcKind || d.kind == methodKind) {
					return callsRecover(d.node)
				}
			}
		}
	}
	return true
}

// callsRecover says whether a function calls recover outside of the literals in it.
func callsRecover(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && id.Name == "recover" {
				found = true
			}
		}
		return true
	})
	return found
}

// lostResults says whether a return of several values reads named results, which yaegi overwrites one by one.
func (l *lowering) lostResults(r *ast.ReturnStmt) bool {
	if len(r.Results) == 1 && isReceive(r.Results[0]) {
		return true
	}
	if len(r.Results) < 2 {
		return false
	}
	for _, x := range r.Results {
		if l.lostInReturn(x) {
			return true
		}
	}
	named := map[types.Object]bool{}
	var results *ast.FieldList
	switch fn := l.flows().fn[r].(type) {
	case *ast.FuncDecl:
		results = fn.Type.Results
	case *ast.FuncLit:
		results = fn.Type.Results
	}
	if results == nil {
		return false
	}
	for _, fl := range results.List {
		for _, id := range fl.Names {
			if obj := l.v.info.Defs[id]; obj != nil {
				named[obj] = true
			}
		}
	}
	lost := false
	for i, x := range r.Results {
		ast.Inspect(x, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				lost = lost || i > 0 && named[l.v.info.Uses[n]]
			case *ast.CallExpr:
				lost = lost || i > 0 && len(named) > 0 && l.v.info.Types[n].Value == nil
			}
			return !lost
		})
	}
	return lost
}

// lostInReturn says whether yaegi puts a value in the place of another when it is returned with more: what a builtin
// function gives or a channel.
func (l *lowering) lostInReturn(x ast.Expr) bool {
	if l.v.info.Types[x].Value != nil {
		return false
	}
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		return l.v.info.Types[x.Fun].IsBuiltin()
	case *ast.UnaryExpr:
		return x.Op == token.ARROW
	}
	return false
}

// returnByParts writes a return whose values are all evaluated before any result is set.
func (l *lowering) returnByParts(r *ast.ReturnStmt) {
	l.tmp++
	id := sep + itoa(l.tmp)
	ts := l.resultsOf(l.flow.fn[r])
	if len(ts) != len(r.Results) {
		return
	}
	l.edit(r, func(self int) []piece {
		out := []piece{made("{ ")}
		ret := []piece{made("return ")}
		for i, x := range r.Results {
			out = append(out, l.temporaryOf("v"+id+itoa(i), ts[i], x, self)...)
			if i > 0 {
				ret = append(ret, made(", "))
			}
			ret = append(ret, made("v%s%d", id, i))
		}
		return append(append(out, ret...), made(" }"))
	})
}

// nilArguments gives the nil of f(nil...) its type, without which yaegi fails.
func (l *lowering) nilArguments(c *ast.CallExpr) {
	if n := len(c.Args); c.Ellipsis.IsValid() && n > 0 && l.v.info.Types[c.Args[n-1]].IsNil() {
		if sig, ok := l.v.info.TypeOf(c.Fun).Underlying().(*types.Signature); ok && sig.Variadic() {
			t := sig.Params().At(sig.Params().Len() - 1).Type()
			l.edit(c.Args[n-1], func(int) []piece { return wrap(made("("), typePieces(t, l.v.pkg), made(")(nil)")) })
		}
	}
}

// elided writes out the type of `{…}` that stands for a pointer to an array, which yaegi takes for an element.
func (l *lowering) elided(c *ast.CompositeLit) {
	if c.Type != nil {
		return
	}
	p, ok := l.v.info.TypeOf(c).Underlying().(*types.Pointer)
	if !ok {
		return
	}
	if _, array := p.Elem().Underlying().(*types.Array); array {
		l.editRange(c.Lbrace, c.Lbrace+1, func(int) []piece {
			return wrap(made("&"), typePieces(p.Elem(), l.v.pkg), made("{"))
		})
	}
}

// literals puts function literals that stand in a loop as arguments into parentheses: yaegi gives compiled functions the
// bare ones without a copy of the frame, so that they see the variables of later iterations.
func (l *lowering) literals(c *ast.CallExpr) {
	if !l.flows().inLoop[c] {
		return
	}
	for _, a := range c.Args {
		if lit, ok := a.(*ast.FuncLit); ok {
			l.edit(lit, func(self int) []piece {
				return wrap(made("("), l.render(l.offset(lit.Pos()), l.offset(lit.End()), self+1), made(")"))
			})
		}
	}
}
