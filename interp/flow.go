package interp

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// flow is what the rewrites of statements must know of a fragment beforehand: which variables outlive an iteration,
// where branches lead, and which loops over functions they leave.
type flow struct {
	shared  map[types.Object]bool // captured by a function literal, or its address is taken
	written map[types.Object]bool // assigned after its declaration
	renamed map[types.Object]string
	loops   map[*ast.ForStmt]string // for statements whose variables are copied for each iteration: the copies' suffix
	yields  map[*ast.RangeStmt]*yield
	target  map[*ast.BranchStmt]ast.Stmt  // what break and continue refer to; for goto, the labelled statement
	within  map[ast.Node]*yield           // the innermost loop over a function round a branch, return, defer or loop
	fn      map[ast.Node]ast.Node         // the function round a return, defer, recover or loop over a function
	label   map[ast.Stmt]*ast.LabeledStmt // the label of a statement
	jumped  map[*ast.LabeledStmt]bool     // there is a goto to it
	ended   map[*ast.LabeledStmt]bool     // there is a break of it that becomes a goto to its end
	left    map[*ast.BranchStmt]bool      // such a break
	elseIf  map[*ast.IfStmt]bool
	block   map[ast.Stmt]bool // stands in a list of statements
	inLoop  map[*ast.CallExpr]bool
	alone   map[ast.Expr]bool // is a statement
	called  map[ast.Expr]bool // is what a call calls
	n       int
	deferFlow
}

// yield is a loop over a function, whose body becomes a function.
type yield struct {
	stmt  *ast.RangeStmt
	id    string
	outer *yield // within the same function
	exits []*exit
	rets  bool // values are returned through it
	tells bool // it or a loop in it has exits
	fn    ast.Node
}

// exit is a way out of a loop over a function that its function must be told of.
type exit struct {
	code int
	br   *ast.BranchStmt // nil: a return
	bare bool            // a return without values
}

func (y *yield) outermost() *yield {
	for y.outer != nil {
		y = y.outer
	}
	return y
}

// flows analyses the fragment once.
func (l *lowering) flows() *flow {
	if l.flow != nil {
		return l.flow
	}
	f := &flow{
		shared: map[types.Object]bool{}, written: map[types.Object]bool{}, renamed: map[types.Object]string{},
		loops: map[*ast.ForStmt]string{}, yields: map[*ast.RangeStmt]*yield{}, target: map[*ast.BranchStmt]ast.Stmt{},
		within: map[ast.Node]*yield{}, fn: map[ast.Node]ast.Node{}, label: map[ast.Stmt]*ast.LabeledStmt{},
		jumped: map[*ast.LabeledStmt]bool{}, ended: map[*ast.LabeledStmt]bool{}, left: map[*ast.BranchStmt]bool{}, elseIf: map[*ast.IfStmt]bool{}, block: map[ast.Stmt]bool{},
		inLoop: map[*ast.CallExpr]bool{}, alone: map[ast.Expr]bool{}, called: map[ast.Expr]bool{}, deferFlow: newDeferFlow(),
	}
	l.flow = f
	w := &flowWalker{l: l, f: f}
	ast.Inspect(l.frag.file, w.visit)
	for _, g := range w.gotos {
		for _, ls := range w.labels {
			if l.v.info.Defs[ls.Label] != nil && l.v.info.Defs[ls.Label] == l.v.info.Uses[g.Label] {
				f.target[g] = ls
				f.jumped[ls] = true
			}
		}
	}
	w.settle()
	return f
}

type flowWalker struct {
	l      *lowering
	f      *flow
	stack  []ast.Node
	gotos  []*ast.BranchStmt
	labels []*ast.LabeledStmt
	fors   []*ast.ForStmt
	exits  []ast.Node // branches and returns within loops over functions
}

func (w *flowWalker) visit(node ast.Node) bool {
	if node == nil {
		w.stack = w.stack[:len(w.stack)-1]
		return true
	}
	w.look(node)
	w.stack = append(w.stack, node)
	return true
}

func (w *flowWalker) look(node ast.Node) {
	f, info := w.f, w.l.v.info
	if r := w.l.p.returns[blockOf(node)]; r != nil { // a return at the top level of a cell
		f.within[node] = w.yield()
		f.fn[node] = w.function()
		w.exits = append(w.exits, node)
	}
	switch n := node.(type) {
	case *ast.BlockStmt:
		w.list(n.List)
	case *ast.CaseClause:
		w.list(n.Body)
	case *ast.CommClause:
		w.list(n.Body)
	case *ast.LabeledStmt:
		f.label[n.Stmt] = n
		w.labels = append(w.labels, n)
	case *ast.IfStmt:
		if e, ok := n.Else.(*ast.IfStmt); ok {
			f.elseIf[e] = true
		}
	case *ast.ForStmt:
		f.within[n] = w.yield()
		w.fors = append(w.fors, n)
	case *ast.RangeStmt:
		f.within[n] = w.yield()
		if _, ok := info.TypeOf(n.X).Underlying().(*types.Signature); ok {
			f.n++
			f.yields[n] = &yield{stmt: n, id: fmt.Sprintf("%s%d", sep, f.n), outer: w.yield(), fn: w.function()}
		}
		if n.Tok == token.ASSIGN {
			w.write(n.Key)
			w.write(n.Value)
		}
	case *ast.BranchStmt:
		f.within[n] = w.yield()
		w.exits = append(w.exits, n)
		if n.Tok == token.GOTO {
			w.gotos = append(w.gotos, n)
			return
		}
		f.target[n] = w.branchTarget(n)
		if ls := f.label[f.target[n]]; ls != nil && w.leavesSelect(n, f.target[n]) {
			f.left[n], f.ended[ls] = true, true
		}
	case *ast.ReturnStmt:
		f.within[n] = w.yield()
		f.fn[n] = w.function()
		w.exits = append(w.exits, n)
	case *ast.DeferStmt:
		f.within[n] = w.yield()
		f.fn[n] = w.function()
		w.lookDefer(n)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, x := range n.Lhs {
				w.write(x)
			}
			return
		}
		for _, x := range n.Lhs {
			if id, ok := x.(*ast.Ident); ok && info.Defs[id] == nil {
				w.write(x)
			}
		}
	case *ast.ExprStmt:
		f.alone[n.X] = true
	case *ast.IncDecStmt:
		w.write(n.X)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			w.share(n.X)
		}
	case *ast.SliceExpr:
		if _, ok := info.TypeOf(n.X).Underlying().(*types.Array); ok {
			w.share(n.X)
		}
	case *ast.SelectorExpr:
		if s := info.Selections[n]; s != nil && s.Kind() == types.MethodVal {
			if r := s.Obj().(*types.Func).Signature().Recv(); r != nil {
				_, ptr := r.Type().(*types.Pointer)
				if _, isPtr := info.TypeOf(n.X).Underlying().(*types.Pointer); ptr && !isPtr {
					w.share(n.X)
				}
			}
		}
	case *ast.Ident:
		w.ident(n)
	case *ast.CallExpr:
		f.fn[n] = w.function()
		f.called[ast.Unparen(n.Fun)] = true
		w.lookRecover(n)
		f.inLoop[n] = w.inLoop()
	}
}

// inLoop says whether what is looked at may run several times in one call of its function.
func (w *flowWalker) inLoop() bool {
	for i := len(w.stack) - 1; i >= 0; i-- {
		switch w.stack[i].(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return false
		case *ast.ForStmt, *ast.RangeStmt, *ast.LabeledStmt:
			return true
		}
	}
	return false
}

func blockOf(n ast.Node) *ast.BlockStmt {
	b, _ := n.(*ast.BlockStmt)
	return b
}

func (w *flowWalker) list(ss []ast.Stmt) {
	for _, s := range ss {
		w.f.block[s] = true
	}
}

// ident notes a variable that a function literal uses from outside.
func (w *flowWalker) ident(id *ast.Ident) {
	obj, ok := w.l.v.info.Uses[id].(*types.Var)
	if !ok || obj.IsField() {
		return
	}
	for i := len(w.stack) - 1; i >= 0; i-- {
		if lit, ok := w.stack[i].(*ast.FuncLit); ok {
			if obj.Pos() < lit.Pos() || obj.Pos() >= lit.End() {
				w.f.shared[obj] = true
			}
			return
		}
	}
}

// root gives the variable that an operand is part of.
func (w *flowWalker) root(x ast.Expr) types.Object {
	for {
		switch e := ast.Unparen(x).(type) {
		case *ast.Ident:
			if obj := w.l.v.info.Uses[e]; obj != nil {
				return obj
			}
			return w.l.v.info.Defs[e]
		case *ast.SelectorExpr:
			if t := w.l.v.info.TypeOf(e.X); t != nil {
				if _, ptr := t.Underlying().(*types.Pointer); ptr {
					return nil
				}
			}
			x = e.X
		case *ast.IndexExpr:
			if t := w.l.v.info.TypeOf(e.X); t != nil {
				if _, arr := t.Underlying().(*types.Array); !arr {
					return nil
				}
			}
			x = e.X
		default:
			return nil
		}
	}
}

func (w *flowWalker) share(x ast.Expr) {
	if obj := w.root(x); obj != nil {
		w.f.shared[obj] = true
	}
}

func (w *flowWalker) write(x ast.Expr) {
	if x == nil {
		return
	}
	if obj := w.root(x); obj != nil {
		w.f.written[obj] = true
	}
}

func (w *flowWalker) function() ast.Node {
	for i := len(w.stack) - 1; i >= 0; i-- {
		switch w.stack[i].(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return w.stack[i]
		}
	}
	return nil
}

// yield gives the innermost loop over a function round what is looked at, in whose body it stands.
func (w *flowWalker) yield() *yield {
	for i := len(w.stack) - 1; i >= 0; i-- {
		switch n := w.stack[i].(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return nil
		case *ast.RangeStmt:
			if y := w.f.yields[n]; y != nil && i+1 < len(w.stack) && w.stack[i+1] == n.Body {
				return y
			}
		}
	}
	return nil
}

func (w *flowWalker) branchTarget(b *ast.BranchStmt) ast.Stmt {
	for i := len(w.stack) - 1; i >= 0; i-- {
		s, ok := w.stack[i].(ast.Stmt)
		if !ok {
			continue
		}
		if b.Label != nil {
			if ls := w.f.label[s]; ls != nil && ls.Label.Name == b.Label.Name {
				return s
			}
			continue
		}
		switch s.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return s
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			if b.Tok == token.BREAK {
				return s
			}
		}
	}
	return nil
}

// settle decides what is rewritten once all is seen.
func (w *flowWalker) settle() {
	f := w.f
	for _, s := range w.fors {
		if a, ok := s.Init.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			for _, x := range a.Lhs {
				if obj := w.l.v.info.Defs[x.(*ast.Ident)]; obj != nil && f.shared[obj] {
					f.n++
					f.loops[s] = fmt.Sprintf("%s%d", sep, f.n)
					break
				}
			}
			if suffix := f.loops[s]; suffix != "" {
				for _, x := range a.Lhs {
					if obj := w.l.v.info.Defs[x.(*ast.Ident)]; obj != nil {
						f.renamed[obj] = obj.Name() + suffix
					}
				}
			}
		}
	}
	for _, n := range w.exits {
		w.noteExit(n)
	}
}

// noteExit tells the loops over functions that a branch or return leaves.
func (w *flowWalker) noteExit(n ast.Node) {
	f := w.f
	y := f.within[n]
	if y == nil {
		return
	}
	e := &exit{}
	var until *yield // the loop over a function round the target
	if br, ok := n.(*ast.BranchStmt); ok {
		target := f.target[br]
		if target == nil {
			return
		}
		e.br = br
		until = w.yieldOf(target, y)
		if until == y { // stays inside
			return
		}
		if r, ok := target.(*ast.RangeStmt); ok && f.yields[r] == y { // its own loop's break or continue
			return
		}
	} else if r, ok := n.(*ast.ReturnStmt); ok {
		e.bare = len(r.Results) == 0
		y.outermost().rets = y.outermost().rets || !e.bare
	} else {
		e.bare = true
	}
	f.n++
	e.code = f.n
	y.outermost().tells = true
	for ; y != nil && y != until; y = y.outer {
		if e.br != nil {
			if r, ok := f.target[e.br].(*ast.RangeStmt); ok && f.yields[r] == y {
				break
			}
		}
		y.exits = append(y.exits, e)
	}
}

// yieldOf gives the loop over a function in whose body a statement stands.
func (w *flowWalker) yieldOf(s ast.Stmt, from *yield) *yield {
	for y := from; y != nil; y = y.outer {
		if b := y.stmt.Body; b.Pos() <= s.Pos() && s.End() <= b.End() {
			return y
		}
	}
	return nil
}
