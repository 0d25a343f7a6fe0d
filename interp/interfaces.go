package interp

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// yaegi keeps a value of a notebook's type in an interface in one of three ways, which do not agree, and the types that
// it makes by reflection have neither names nor methods. So in lowered code an interface holds what it holds in Go: a
// value of a type made by package forge, with name, fields and methods. Values of the notebook's types are the
// interpreter's own as ever; where one becomes an interface's, it is boxed, which gives it its other type and leaves
// its memory as it is, and an assertion takes it back. Interface types with methods are made by package forge too, so that
// yaegi takes them for compiled ones. The checker knows every place where that happens.
//
// The edits of this file lie around all others of the same nodes: they are noted first.

// interfaces notes the edits for all that interfaces meet below root.
func (l *lowering) interfaces(root ast.Node) {
	w := &ifaceWalk{l: l}
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			w.stack = w.stack[:len(w.stack)-1]
			return true
		}
		if b, ok := n.(*ast.BlockStmt); ok {
			if r := l.p.returns[b]; r != nil { // a return at the top level, whose values are given
				for _, x := range r.Results {
					l.interfaces(x)
				}
				return false
			}
		}
		if !w.visit(n) {
			return false
		}
		w.stack = append(w.stack, n)
		return true
	})
}

type ifaceWalk struct {
	l     *lowering
	stack []ast.Node
}

func (w *ifaceWalk) parent() ast.Node {
	for i := len(w.stack) - 1; i >= 0; i-- {
		if _, paren := w.stack[i].(*ast.ParenExpr); !paren {
			return w.stack[i]
		}
	}
	return nil
}

func (w *ifaceWalk) visit(n ast.Node) bool {
	l := w.l
	switch n := n.(type) {
	case *ast.CallExpr:
		l.boxArguments(n)
	case *ast.ReturnStmt:
		l.boxResults(n, w.signature())
	case *ast.AssignStmt:
		if l.onlyAsked(n) {
			return true
		}
		l.boxAssigned(n)
		if _, ok := w.parent().(*ast.IfStmt); ok {
			l.defineTogether(n)
		}
	case *ast.ValueSpec:
		if n.Type != nil {
			for _, v := range n.Values {
				l.box(v, l.v.info.TypeOf(n.Type))
			}
		}
	case *ast.CompositeLit:
		l.boxElements(n)
	case *ast.SendStmt:
		if c, ok := l.underlying(n.Chan).(*types.Chan); ok {
			l.box(n.Value, c.Elem())
		}
	case *ast.IndexExpr:
		if m, ok := l.underlying(n.X).(*types.Map); ok {
			l.box(n.Index, m.Key())
		}
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			l.compare(n)
		}
	case *ast.SwitchStmt:
		l.switchOver(n)
	case *ast.TypeAssertExpr:
		if n.Type != nil {
			l.typeAssert(n, w.commaOk(n))
		}
	case *ast.TypeSwitchStmt:
		l.typeSwitch(n, w.parent())
	case *ast.SelectorExpr:
		l.promoted(n)
	case *ast.Field:
		l.embeddedInterface(n)
	case *ast.InterfaceType:
		return !l.interfaceLiteral(n, w.stack)
	}
	return true
}

// switchOver makes interfaces' values of what a switch compares with one.
func (l *lowering) switchOver(s *ast.SwitchStmt) {
	for _, c := range s.Body.List {
		for _, x := range c.(*ast.CaseClause).List {
			t := l.v.info.TypeOf(x)
			switch {
			case t == nil:
			case s.Tag != nil:
				l.box(x, l.v.info.TypeOf(s.Tag))
			case types.IsInterface(t):
				l.edit(x, func(self int) []piece {
					return wrap(made("%s.Equal(", rtName), l.inside(x, self), made(", true)"))
				})
			}
		}
	}
}

func (l *lowering) underlying(x ast.Expr) types.Type {
	if t := l.v.info.TypeOf(x); t != nil {
		return t.Underlying()
	}
	return nil
}

// signature gives the signature of the function that is being walked.
func (w *ifaceWalk) signature() *types.Signature {
	for i := len(w.stack) - 1; i >= 0; i-- {
		switch f := w.stack[i].(type) {
		case *ast.FuncLit:
			s, _ := w.l.v.info.TypeOf(f).(*types.Signature)
			return s
		case *ast.FuncDecl:
			if obj := w.l.v.info.Defs[f.Name]; obj != nil {
				s, _ := obj.Type().(*types.Signature)
				return s
			}
			return nil
		}
	}
	return nil
}

// methodful tells an interface type with methods.
func methodful(t types.Type) bool {
	if t == nil || isTypeParam(t) {
		return false
	}
	i, ok := t.Underlying().(*types.Interface)
	return ok && i.IsMethodSet() && i.NumMethods() > 0
}

// ofForge tells an interface type that package forge makes.
func (l *lowering) ofForge(t types.Type) bool { return methodful(t) && ourInterface(t, l.v.pkg) }

func ourInterface(t types.Type, pkg *types.Package) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		return t.Obj().Pkg() == pkg || t.TypeArgs().Len() > 0
	case *types.Interface:
		return true
	}
	return false
}

// box notes that an expression becomes the value of a type, if that is an interface's.
func (l *lowering) box(x ast.Expr, target types.Type) {
	t := l.v.info.TypeOf(x)
	if target == nil || t == nil || isTypeParam(target) || !types.IsInterface(target) {
		return
	}
	switch {
	case l.isNilLiteral(x):
		if l.ofForge(target) { // yaegi looks for a wrapper
			l.edit(x, func(int) []piece {
				return wrap(made("(*new("), forEvaluator(typePieces(target, l.v.pkg)), made("))"))
			})
		}
	case l.boxable(t, target):
		l.refuseMethods(x, t)
		l.edit(x, func(self int) []piece { return l.boxed(l.inside(x, self), t, target) })
	case l.losesItself(t):
		l.edit(x, func(self int) []piece { return wrap(made("%s.Any(", rtName), l.inside(x, self), made(")")) })
	default:
		l.computedValue(x)
	}
	l.conditionValue(x) // within what boxes it
}

func (l *lowering) isNilLiteral(x ast.Expr) bool {
	id, ok := ast.Unparen(x).(*ast.Ident)
	return ok && l.v.info.Uses[id] == types.Universe.Lookup("nil")
}

// losesItself tells types of whose values yaegi puts something else into an interface: functions, as nodes of its own.
func (l *lowering) losesItself(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Signature)
	return ok
}

// refuseMethods refuses a value whose type has methods but no name: the evaluator makes methods for declared types.
func (l *lowering) refuseMethods(x ast.Expr, t types.Type) {
	elem := types.Unalias(t)
	if p, ok := elem.(*types.Pointer); ok {
		elem = types.Unalias(p.Elem())
	}
	if _, ok := elem.(*types.Struct); ok && types.NewMethodSet(t).Len() > 0 {
		l.errs.add(l.frag.src, l.frag.offset(x.Pos()), "a value of a struct type without a name and with methods in an interface is not supported by the interpreter: declare the type")
	}
}

// boxable says whether values of a type are to be boxed as those of an interface type.
func (l *lowering) boxable(t, target types.Type) bool {
	if b, ok := t.(*types.Basic); ok && b.Kind() == types.UntypedNil {
		return false
	}
	if _, tuple := t.(*types.Tuple); tuple || types.IsInterface(t) {
		return false
	}
	_, own := l.shapeOf(t)
	return own
}

// boxedAs is boxed for what may be no value to box.
func (l *lowering) boxedAs(value []piece, t, target types.Type) []piece {
	if t == nil || !l.boxable(t, target) {
		return value
	}
	return l.boxed(value, t, target)
}

// boxed writes the conversion of a value to an interface type.
func (l *lowering) boxed(value []piece, t, target types.Type) []piece {
	shape, own := l.shapeOf(t)
	if !own {
		return value
	}
	out := append([]piece{made("%s.Box(\"", rtName)}, shape...)
	out = append(append(append(out, made("\", ")), value...), made(")"))
	if methodful(target) {
		out = append(append(append(out, made(".(")), forEvaluator(typePieces(target, l.v.pkg))...), made(")"))
	}
	return out
}

// boxArguments notes what a call's arguments become, and the operand of a conversion.
func (l *lowering) boxArguments(c *ast.CallExpr) {
	tv, ok := l.v.info.Types[c.Fun]
	switch {
	case !ok || tupleCall(c) != nil:
		return
	case tv.IsType():
		l.convertToInterface(c, tv.Type)
		return
	case tv.IsBuiltin():
		l.boxBuiltin(c)
		return
	}
	sig, ok := tv.Type.Underlying().(*types.Signature)
	if !ok {
		return
	}
	if len(c.Args) == 1 {
		if tuple, ok := l.v.info.TypeOf(c.Args[0]).(*types.Tuple); ok {
			l.boxTuple(c, sig, tuple)
			return
		}
	}
	for i, a := range c.Args {
		if !c.Ellipsis.IsValid() || i < len(c.Args)-1 {
			l.box(a, parameter(sig, i))
		}
	}
}

// convertToInterface writes the conversion I(x). yaegi loses the value of some.
func (l *lowering) convertToInterface(c *ast.CallExpr, target types.Type) {
	if len(c.Args) != 1 || !types.IsInterface(target) || isTypeParam(target) {
		return
	}
	x := c.Args[0]
	t := l.v.info.TypeOf(x)
	switch {
	case l.isNilLiteral(x):
		l.edit(c, func(int) []piece {
			return wrap(made("(*new("), forEvaluator(typePieces(target, l.v.pkg)), made("))"))
		})
	case types.IsInterface(t):
	case l.boxable(t, target):
		l.refuseMethods(x, t)
		l.edit(c, func(self int) []piece { return wrap(made("("), l.boxed(l.inside(x, self), t, target), made(")")) })
	default:
		l.edit(c, func(self int) []piece {
			out := wrap(made("(%s.Any(", rtName), l.inside(x, self), made(")"))
			if methodful(target) {
				out = append(append(append(out, made(".(")), forEvaluator(typePieces(target, l.v.pkg))...), made(")"))
			}
			return append(out, made(")"))
		})
	}
}

func parameter(sig *types.Signature, i int) types.Type {
	last := sig.Params().Len() - 1
	if sig.Variadic() && i >= last {
		if s, ok := sig.Params().At(last).Type().Underlying().(*types.Slice); ok {
			return s.Elem()
		}
		return nil
	}
	if i > last {
		return nil
	}
	return sig.Params().At(i).Type()
}

// boxTuple lets the results of a call that are another's arguments pass through a function that boxes them.
func (l *lowering) boxTuple(c *ast.CallExpr, sig *types.Signature, tuple *types.Tuple) {
	needed := false
	for i := range tuple.Len() {
		p := parameter(sig, i)
		needed = needed || p != nil && types.IsInterface(p) && l.boxable(tuple.At(i).Type(), p)
	}
	if !needed {
		return
	}
	l.edit(c, func(self int) []piece {
		var call []piece
		call = append(call, l.inside(c.Fun, self)...)
		call = append(call, made("("))
		for i := range tuple.Len() {
			call = append(call, l.passed(i, tuple.At(i).Type(), parameter(sig, i))...)
			call = append(call, made(", "))
		}
		return l.through(tuple, sig.Results(), append(call, made(")")), l.inside(c.Args[0], self))
	})
}

// passed writes a parameter of a function made by through, as a value of another type.
func (l *lowering) passed(i int, t, target types.Type) []piece {
	name := []piece{made("a%s%d", sep, i)}
	if target != nil && types.IsInterface(target) && l.boxable(t, target) {
		return l.boxed(name, t, target)
	}
	return name
}

// through writes the call of a function that takes what values gives and returns what inner gives.
func (l *lowering) through(in, results *types.Tuple, inner, values []piece) []piece {
	out := []piece{made("func(")}
	for i := range in.Len() {
		out = append(out, made("a%s%d ", sep, i))
		out = append(out, forEvaluator(typePieces(in.At(i).Type(), l.v.pkg))...)
		out = append(out, made(", "))
	}
	out = append(out, made(") ("))
	for i := range results.Len() {
		out = append(out, forEvaluator(typePieces(results.At(i).Type(), l.v.pkg))...)
		out = append(out, made(", "))
	}
	out = append(out, made(") { "))
	if results.Len() > 0 {
		out = append(out, made("return "))
	}
	out = append(append(out, inner...), made(" }("))
	return append(append(out, values...), made(")"))
}

func (l *lowering) boxBuiltin(c *ast.CallExpr) {
	id := builtinName(c.Fun)
	switch id {
	case "append":
		if s, ok := l.underlying(c.Args[0]).(*types.Slice); ok && !c.Ellipsis.IsValid() {
			for _, a := range c.Args[1:] {
				l.box(a, s.Elem())
			}
		}
	case "delete":
		if m, ok := l.underlying(c.Args[0]).(*types.Map); ok && len(c.Args) == 2 {
			l.box(c.Args[1], m.Key())
		}
	case "panic":
		l.box(c.Args[0], types.NewInterfaceType(nil, nil))
	}
}

func builtinName(fun ast.Expr) string {
	switch f := ast.Unparen(fun).(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func (l *lowering) boxResults(r *ast.ReturnStmt, sig *types.Signature) {
	if sig == nil {
		return
	}
	if len(r.Results) == 1 && sig.Results().Len() > 1 {
		l.boxMany(r.Results[0], sig.Results())
		return
	}
	for i, x := range r.Results {
		if i < sig.Results().Len() {
			l.box(x, sig.Results().At(i).Type())
		}
	}
}

// boxMany notes what the several results of a call become.
func (l *lowering) boxMany(x ast.Expr, targets *types.Tuple) {
	tuple, ok := l.v.info.TypeOf(x).(*types.Tuple)
	if !ok || tuple.Len() != targets.Len() {
		return
	}
	if _, call := ast.Unparen(x).(*ast.CallExpr); !call {
		return
	}
	needed := false
	for i := range tuple.Len() {
		t := targets.At(i).Type()
		needed = needed || t != nil && types.IsInterface(t) && l.boxable(tuple.At(i).Type(), t)
	}
	if !needed {
		return
	}
	l.edit(x, func(self int) []piece {
		var inner []piece
		for i := range tuple.Len() {
			if i > 0 {
				inner = append(inner, made(", "))
			}
			inner = append(inner, l.passed(i, tuple.At(i).Type(), targets.At(i).Type())...)
		}
		return l.through(tuple, targets, inner, l.inside(x, self))
	})
}

func (l *lowering) boxAssigned(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		return
	}
	if len(s.Lhs) == len(s.Rhs) {
		for i, r := range s.Rhs {
			l.box(r, l.assignedType(s.Lhs[i]))
		}
		return
	}
	if tuple, ok := l.v.info.TypeOf(s.Rhs[0]).(*types.Tuple); ok && tuple.Len() == len(s.Lhs) {
		var targets []*types.Var
		for i, x := range s.Lhs {
			t := l.assignedType(x)
			if t == nil {
				t = tuple.At(i).Type()
			}
			targets = append(targets, types.NewVar(token.NoPos, nil, "", t))
		}
		l.boxMany(s.Rhs[0], types.NewTuple(targets...))
	}
}

func (l *lowering) assignedType(x ast.Expr) types.Type {
	if id, ok := x.(*ast.Ident); ok {
		if v, ok := l.varOf(id); ok {
			return v.Type()
		}
		return nil
	}
	return l.v.info.TypeOf(x)
}

func (l *lowering) boxElements(c *ast.CompositeLit) {
	t := l.v.info.TypeOf(c)
	if t == nil {
		return
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	var key, elem types.Type
	switch t := t.Underlying().(type) {
	case *types.Struct:
		for i, e := range c.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if id, ok := kv.Key.(*ast.Ident); ok && l.v.info.Uses[id] != nil {
					l.box(kv.Value, l.v.info.Uses[id].Type())
				}
			} else if i < t.NumFields() {
				l.box(e, t.Field(i).Type())
			}
		}
		return
	case *types.Slice:
		elem = t.Elem()
	case *types.Array:
		elem = t.Elem()
	case *types.Map:
		key, elem = t.Key(), t.Elem()
	}
	for _, e := range c.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key != nil {
				l.box(kv.Key, key)
			}
			e = kv.Value
		}
		l.box(e, elem)
	}
}

// compare writes the comparison of an interface's value with another kind of value.
func (l *lowering) compare(b *ast.BinaryExpr) {
	x, y := l.v.info.TypeOf(b.X), l.v.info.TypeOf(b.Y)
	if x == nil || y == nil || types.IsInterface(x) == types.IsInterface(y) || isNil(x) || isNil(y) {
		return
	}
	empty := types.NewInterfaceType(nil, nil)
	l.edit(b, func(self int) []piece {
		out := []piece{made("%s.Equal(", rtName)}
		if b.Op == token.NEQ {
			out = []piece{made("!%s.Equal(", rtName)}
		}
		one := func(x ast.Expr, t types.Type) []piece {
			if l.boxable(t, empty) {
				return l.boxed(l.inside(x, self), t, empty)
			}
			return l.inside(x, self)
		}
		out = append(append(out, one(b.X, x)...), made(", "))
		return append(append(out, one(b.Y, y)...), made(")"))
	})
}

func isNil(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Kind() == types.UntypedNil
}

// commaOk says whether an expression's second value, whether it went well, is asked for.
func (w *ifaceWalk) commaOk(x ast.Expr) bool {
	switch p := w.parent().(type) {
	case *ast.AssignStmt:
		return len(p.Lhs) == 2 && len(p.Rhs) == 1
	case *ast.ValueSpec:
		return len(p.Names) == 2 && len(p.Values) == 1
	}
	_, tuple := w.l.v.info.TypeOf(x).(*types.Tuple)
	return tuple
}

// typeAssert writes x.(T).
func (l *lowering) typeAssert(x *ast.TypeAssertExpr, commaOk bool) {
	t := l.v.info.TypeOf(x.Type)
	from := l.v.info.TypeOf(x.X)
	if t == nil || from == nil {
		return
	}
	if _, basic := t.(*types.Basic); basic && !commaOk {
		return // yaegi does it as Go does
	}
	if !commaOk {
		l.edit(x, func(self int) []piece { return l.asserted(l.inside(x.X, self), t, from) })
		return
	}
	if b, basic := types.Unalias(t).(*types.Basic); basic && basicAsserts[basicName(b)].IsValid() {
		l.edit(x, func(self int) []piece {
			return wrap(made("%s.Is%s(", rtName, basicName(b)), l.inside(x.X, self), made(")"))
		})
		return
	}
	typ := func() []piece { return forEvaluator(typePieces(t, l.v.pkg)) }
	l.edit(x, func(self int) []piece {
		out := append([]piece{made("func(x%s interface{}) (", sep)}, typ()...)
		out = append(append(out, made(", bool) { p%s, k%s := %s.Try(", sep, sep, rtName)), l.target(t)...)
		out = append(append(out, made(", x%s).(*", sep)), typ()...)
		out = append(append(out, made("); if !k%s { p%s = new(", sep, sep)), typ()...)
		out = append(out, made(") }; return *p%s, k%s }(", sep, sep))
		return append(append(out, l.inside(x.X, self)...), made(")"))
	})
}

// onlyAsked writes _, ok := x.(T), which asks no more than whether it is one.
func (l *lowering) onlyAsked(s *ast.AssignStmt) bool {
	if len(s.Lhs) != 2 || len(s.Rhs) != 1 {
		return false
	}
	id, blank := s.Lhs[0].(*ast.Ident)
	x, ok := ast.Unparen(s.Rhs[0]).(*ast.TypeAssertExpr)
	to, named := s.Lhs[1].(*ast.Ident)
	if !blank || id.Name != "_" || !ok || !named || to.Name == "_" {
		return false
	}
	obj, ok := l.varOf(to)
	if !ok || !types.Identical(obj.Type(), types.Typ[types.Bool]) {
		return false
	}
	if s.Tok == token.DEFINE && l.v.info.Defs[to] == nil && l.tops[obj] == nil {
		return false
	}
	t := l.v.info.TypeOf(x.Type)
	l.edit(s, func(self int) []piece {
		out := l.inside(to, self)
		op := " := "
		if s.Tok == token.ASSIGN || l.tops[obj] != nil {
			op = " = "
		}
		out = append(append(out, made("%s%s.Is(", op, rtName)), l.target(t)...)
		return append(append(append(out, made(", ")), l.inside(x.X, self)...), made(")"))
	})
	return true
}

// target writes the arguments by which the runtime knows a type.
func (l *lowering) target(t types.Type) []piece {
	shape, _ := l.shapeOf(t)
	out := append([]piece{made("\"")}, shape...)
	out = append(out, made("\", (*"))
	return append(append(out, forEvaluator(typePieces(t, l.v.pkg))...), made(")(nil)"))
}

func (l *lowering) asserted(x []piece, t, from types.Type) []piece {
	out := append([]piece{made("(*(%s.As(", rtName)}, l.target(t)...)
	out = append(append(append(out, made(", ")), x...), made(", %s).(*", strconv.Quote(l.interfaceName(from))))
	return append(append(out, forEvaluator(typePieces(t, l.v.pkg))...), made(")))"))
}

// interfaceName names an interface type as the runtime's messages do.
func (l *lowering) interfaceName(t types.Type) string {
	if i, ok := types.Unalias(t).(*types.Interface); ok && i.Empty() {
		return "interface {}"
	}
	if _, ok := types.Unalias(t).(*types.Interface); ok {
		return "interface"
	}
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}

// typeSwitch makes a switch over types one over the numbers of its cases' types.
func (l *lowering) typeSwitch(s *ast.TypeSwitchStmt, parent ast.Node) {
	var x ast.Expr
	var id *ast.Ident
	switch a := s.Assign.(type) {
	case *ast.AssignStmt:
		id, _ = a.Lhs[0].(*ast.Ident)
		x = ast.Unparen(a.Rhs[0]).(*ast.TypeAssertExpr).X
	case *ast.ExprStmt:
		x = ast.Unparen(a.X).(*ast.TypeAssertExpr).X
	}
	from := l.v.info.TypeOf(x)
	l.tmpSwitch++
	tmp := "t" + sep + itoa(l.tmpSwitch)
	var args []piece
	number := 0
	for _, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		var numbers []string
		for _, e := range c.List {
			args = append(args, made(", "))
			switch t := l.v.info.TypeOf(e); {
			case isNil(t):
				args = append(args, made("\"nil\", nil"))
			case l.p.never[e.Pos()]:
				delete(l.p.never, e.Pos())
				args = append(args, made("\"never\", nil"))
			default:
				args = append(args, l.target(t)...)
			}
			numbers = append(numbers, itoa(number))
			number++
		}
		head := "default:"
		if c.List != nil {
			head = "case " + strings.Join(numbers, ", ") + ":"
		}
		bind := l.caseVariable(c, id, tmp, from)
		l.editRange(c.Case, c.Colon+1, func(int) []piece { return append([]piece{made("%s", head)}, bind...) })
	}
	start, label := s.Switch, ""
	if p, ok := parent.(*ast.LabeledStmt); ok {
		start, label = p.Pos(), p.Label.Name+": "
	}
	l.editRange(start, s.Body.Lbrace+1, func(self int) []piece {
		out := []piece{made("{ ")}
		if s.Init != nil {
			out = append(append(out, l.inside(s.Init, self)...), made("; "))
		}
		out = append(append(out, made("%s := ", tmp)), l.inside(x, self)...)
		out = append(out, made("; %sswitch %s.Which(%s", label, rtName, tmp))
		return append(append(out, args...), made(") {"))
	})
	l.editRange(s.Body.Rbrace, s.End(), func(int) []piece { return []piece{made("}}")} })
}

// caseVariable declares the variable of a switch over types in a case.
func (l *lowering) caseVariable(c *ast.CaseClause, id *ast.Ident, tmp string, from types.Type) []piece {
	if id == nil || id.Name == "_" {
		return nil
	}
	v := l.v.info.Implicits[c]
	used := false
	for _, s := range c.Body {
		ast.Inspect(s, func(n ast.Node) bool {
			if x, ok := n.(*ast.Ident); ok && v != nil && l.v.info.Uses[x] == v {
				used = true
			}
			return !used
		})
	}
	if !used {
		return nil
	}
	out := []piece{made(" %s := ", id.Name)}
	if len(c.List) == 1 && !isNil(l.v.info.TypeOf(c.List[0])) {
		out = append(out, l.asserted([]piece{made("%s", tmp)}, l.v.info.TypeOf(c.List[0]), from)...)
	} else {
		out = append(out, made("%s", tmp))
	}
	return append(out, made(";"))
}

// promoted writes the way to a method that an embedded field has.
func (l *lowering) promoted(s *ast.SelectorExpr) {
	sel := l.v.info.Selections[s]
	if sel == nil || sel.Kind() != types.MethodVal || len(sel.Index()) < 2 || !l.flows().called[s] {
		return
	}
	path := l.embeddedPath(sel.Recv(), sel.Index())
	l.edit(s, func(self int) []piece {
		out := append(l.inside(s.X, self), made("."))
		return append(append(out, path...), l.inside(s.Sel, self)...)
	})
}

func (l *lowering) embeddedPath(t types.Type, index []int) []piece {
	var out []piece
	for _, i := range index[:len(index)-1] {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		st, ok := t.Underlying().(*types.Struct)
		if !ok {
			return nil
		}
		f := st.Field(i)
		out = append(out, l.fieldName(f)...)
		out = append(out, made("."))
		t = f.Type()
	}
	return out
}

// fieldName gives the evaluator's name of a field: an embedded one has that of its type.
func (l *lowering) fieldName(f *types.Var) []piece {
	if !f.Embedded() || l.ofForge(f.Type()) {
		return []piece{made("%s", f.Name())}
	}
	t := f.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if ps := forEvaluator(typePieces(t, l.v.pkg)); len(ps) == 1 && ps[0].ref != "" {
		return ps
	}
	return []piece{made("%s", f.Name())}
}

// forwarding writes the parameters and results of a function with a signature, from the opening parenthesis to the
// opening brace, and the call that passes the parameters on.
func (l *lowering) forwarding(sig *types.Signature, callee string) (head, call []piece) {
	head = []piece{made("(")}
	call = []piece{made("%s(", callee)}
	if sig.Results().Len() > 0 {
		call = []piece{made("return %s(", callee)}
	}
	for i := range sig.Params().Len() {
		if i > 0 {
			head, call = append(head, made(", ")), append(call, made(", "))
		}
		t := sig.Params().At(i).Type()
		head = append(head, made("a%s%d ", sep, i))
		call = append(call, made("a%s%d", sep, i))
		if s, ok := t.(*types.Slice); ok && sig.Variadic() && i == sig.Params().Len()-1 {
			head, call = append(head, made("...")), append(call, made("..."))
			t = s.Elem()
		}
		head = append(head, forEvaluator(typePieces(t, l.v.pkg))...)
	}
	head = append(head, made(") ("))
	for i := range sig.Results().Len() {
		head = append(head, forEvaluator(typePieces(sig.Results().At(i).Type(), l.v.pkg))...)
		head = append(head, made(", "))
	}
	return append(head, made(") { ")), append(call, made(") "))
}

// embeddedInterface makes an embedded interface a field of its name: what it promotes is written out.
func (l *lowering) embeddedInterface(f *ast.Field) {
	if len(f.Names) > 0 || !l.ofForge(l.v.info.TypeOf(f.Type)) {
		return
	}
	name := ""
	switch t := ast.Unparen(f.Type).(type) {
	case *ast.Ident:
		name = t.Name
		if v, ok := l.v.info.Defs[t].(*types.Var); !ok || !v.IsField() {
			return
		}
	default:
		return
	}
	l.edit(f.Type, func(self int) []piece { return append([]piece{made("%s ", name)}, l.inside(f.Type, self)...) })
}

// interfaceLiteral replaces an interface type that is written out, unless it is what a declaration declares.
func (l *lowering) interfaceLiteral(n *ast.InterfaceType, stack []ast.Node) bool {
	t := l.v.info.TypeOf(n)
	if !methodful(t) {
		return false
	}
	if len(stack) > 0 {
		if spec, ok := stack[len(stack)-1].(*ast.TypeSpec); ok && spec.Type == n && !spec.Assign.IsValid() {
			return false
		}
	}
	l.replace(n, forEvaluator(typePieces(t, l.v.pkg))...)
	return true
}

// convertNames makes interfaces' values of what the variables hold that take the two values of v, ok = x.
func (l *lowering) convertNames(s *ast.AssignStmt, names []string) []piece {
	tuple, ok := l.v.info.TypeOf(s.Rhs[0]).(*types.Tuple)
	if _, call := ast.Unparen(s.Rhs[0]).(*ast.CallExpr); call || !ok || tuple.Len() != len(names) {
		return nil
	}
	var out []piece
	for i, x := range s.Lhs {
		target := l.assignedType(x)
		if isBlankOrNil(x) || target == nil || !types.IsInterface(target) || !l.boxable(tuple.At(i).Type(), target) {
			continue
		}
		name := names[i] + "i"
		out = append(out, made("%s := ", name))
		out = append(append(out, l.boxed([]piece{made("%s", names[i])}, tuple.At(i).Type(), target)...), made("; "))
		names[i] = name
	}
	return out
}

// defineTogether writes the definition of several variables before an if's condition as that of a call's results: yaegi
// loses the values of interfaces there.
func (l *lowering) defineTogether(s *ast.AssignStmt) {
	if s.Tok != token.DEFINE || len(s.Lhs) < 2 || len(s.Lhs) != len(s.Rhs) {
		return
	}
	found := false
	var vars []*types.Var
	for _, x := range s.Lhs {
		t := l.assignedType(x)
		if t == nil {
			return
		}
		found = found || types.IsInterface(t)
		vars = append(vars, types.NewVar(token.NoPos, nil, "", t))
	}
	if !found {
		return
	}
	l.editRange(s.Rhs[0].Pos(), s.End(), func(self int) []piece {
		inner := l.list(s.Rhs, self)
		return l.through(types.NewTuple(), types.NewTuple(vars...), inner, nil)
	})
}
