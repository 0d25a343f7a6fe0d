package interp

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// rtName is the name by which lowered code reaches the evaluator's runtime, rtPath its import path.
const (
	rtName     = "rt" + sep
	rtPath     = "gorovod/rt"
	resultName = "result" + sep
	errorName  = "error" + sep
	zeroName   = "zero" + sep
)

// site is a place where a cell's value is given: its last expression or a return at the top level.
type site struct {
	exprs []ast.Expr
	ret   *ast.BlockStmt
}

// sites lists where the cell gives values.
func (p *prepared) sites() []site {
	var out []site
	if p.last != nil && !p.silent {
		s := site{exprs: []ast.Expr{p.last.X}}
		if call := tupleCall(p.last.X); call != nil {
			s.exprs = call.Args
		}
		out = append(out, s)
	}
	ast.Inspect(p.fn.Body, func(n ast.Node) bool {
		if b, ok := n.(*ast.BlockStmt); ok && p.returns[b] != nil {
			out = append(out, site{exprs: p.returns[b].Results, ret: b})
		}
		_, lit := n.(*ast.FuncLit)
		return !lit
	})
	return out
}

func tupleCall(x ast.Expr) *ast.CallExpr {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return nil
	}
	if id, ok := call.Fun.(*ast.Ident); ok && id.Name == tupleName {
		return call
	}
	return nil
}

// valueTypes gives the types of what the expressions of a site give: none for a call without results.
func (p *prepared) valueTypes(exprs []ast.Expr) []types.Type {
	info := p.v.info
	var out []types.Type
	for _, x := range exprs {
		tv, ok := info.Types[x]
		if !ok || tv.IsVoid() || printsOnly(x, info) {
			continue
		}
		switch t := tv.Type.(type) {
		case *types.Tuple:
			for v := range t.Variables() {
				out = append(out, v.Type())
			}
		case nil:
		default:
			out = append(out, types.Default(t))
		}
	}
	return out
}

// printsOnly tells a call of fmt's printing functions, whose results nobody wants to see.
func printsOnly(x ast.Expr, info *types.Info) bool {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return false
	}
	var id *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.SelectorExpr:
		id = f.Sel
	case *ast.Ident:
		id = f
	default:
		return false
	}
	f, ok := info.Uses[id].(*types.Func)
	if !ok || f.Pkg() == nil || f.Pkg().Path() != "fmt" {
		return false
	}
	switch f.Name() {
	case "Print", "Printf", "Println", "Fprint", "Fprintf", "Fprintln":
		return true
	}
	return false
}

// findResult settles the type of the cell's value, for a rank, and refuses values that have none.
func (n *Notebook) findResult(p *prepared) error {
	errs := &CheckError{}
	for _, s := range p.sites() {
		for _, x := range s.exprs {
			if tv, ok := p.v.info.Types[x]; ok && (tv.IsType() || tv.IsBuiltin()) {
				errs.add(p.src, p.body.offset(x.Pos()), "%s is not an expression with a value", p.body.nodeText(x))
			}
		}
		if len(errs.Diagnostics) > 0 {
			continue
		}
		r := newResult(p.valueTypes(s.exprs), p.v.pkg)
		if r == nil {
			continue
		}
		switch {
		case p.result == nil:
			p.result = r
		case !p.result.same(r):
			p.conflict = append(p.conflict, s.exprs[0])
		}
	}
	if len(errs.Diagnostics) > 0 {
		return errs
	}
	return nil
}

func newResult(ts []types.Type, pkg *types.Package) *result {
	if len(ts) == 0 {
		return nil
	}
	r := &result{}
	if types.Identical(ts[len(ts)-1], types.Universe.Lookup("error").Type()) {
		r.err = true
		ts = ts[:len(ts)-1]
	}
	r.width = len(ts)
	switch len(ts) {
	case 0:
	case 1:
		r.t = ts[0]
	default:
		var fields []*types.Var
		for i, t := range ts {
			fields = append(fields, types.NewField(token.NoPos, nil, "V"+itoa(i), t, false))
		}
		r.t = types.NewStruct(fields, nil)
	}
	if r.t != nil {
		r.typ = typePieces(r.t, pkg)
	}
	return r
}

func (r *result) same(o *result) bool {
	return r.err == o.err && r.width == o.width && (r.t == nil || types.Identical(r.t, o.t))
}

// statements notes the edits that a cell's top level needs: variables become the notebook's, values are given.
func (l *lowering) statements(forRank bool) {
	for _, s := range l.p.top {
		l.topStatement(s)
	}
	if l.p.last != nil {
		exprs := []ast.Expr{l.p.last.X}
		if call := tupleCall(l.p.last.X); call != nil {
			exprs = call.Args
		}
		l.edit(l.p.last, func(self int) []piece {
			if l.p.silent {
				return l.discard(exprs, self)
			}
			return l.give(exprs, forRank, self)
		})
	}
	for _, s := range l.p.sites() {
		if s.ret == nil {
			continue
		}
		ret := l.p.returns[s.ret]
		l.edit(ret, func(self int) []piece {
			return append(append([]piece{made("{ ")}, l.give(ret.Results, forRank, self)...), l.topReturn(s.ret)...)
		})
	}
}

func (l *lowering) topStatement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.LabeledStmt:
		l.topStatement(s.Stmt)
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			l.editRange(s.TokPos, s.TokPos+2, func(int) []piece { return []piece{made("=")} })
		}
	case *ast.DeclStmt:
		if g, ok := s.Decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
			l.edit(g, func(self int) []piece { return l.varDecl(g, self) })
		}
	}
}

// varDecl turns `var x T = v` into an assignment; without a value, of T's zero value, since x may have been there.
func (l *lowering) varDecl(g *ast.GenDecl, self int) []piece {
	var out []piece
	for _, s := range g.Specs {
		spec := s.(*ast.ValueSpec)
		switch {
		case len(spec.Values) > 1:
			l.tmp++
			out = append(out, made("{ "))
			for i, x := range spec.Values {
				out = append(out, l.temporary("v"+sep+itoa(l.tmp)+sep+itoa(i), spec.Names[i], x, self)...)
			}
			for i, id := range spec.Names {
				if id.Name != "_" {
					out = append(append(out, l.inside(id, self)...), made(" = v%s%d%s%d; ", sep, l.tmp, sep, i))
				}
			}
			out = append(out, made("}"))
		case len(spec.Values) > 0:
			for i, id := range spec.Names {
				if i > 0 {
					out = append(out, made(", "))
				}
				out = append(out, l.inside(id, self)...)
			}
			out = append(out, made(" = "))
			for i, v := range spec.Values {
				if i > 0 {
					out = append(out, made(", "))
				}
				out = append(out, l.inside(v, self)...)
			}
		default:
			out = append(out, made("{ var %s ", zeroName))
			out = append(out, l.inside(spec.Type, self)...)
			for _, id := range spec.Names {
				out = append(out, made("; "))
				out = append(out, l.inside(id, self)...)
				out = append(out, made(" = %s", zeroName))
			}
			out = append(out, made(" }"))
		}
		out = append(out, made("; "))
	}
	return out
}

// discard evaluates expressions whose values the user does not want to see.
func (l *lowering) discard(exprs []ast.Expr, self int) []piece {
	if len(exprs) == 1 {
		if _, call := ast.Unparen(exprs[0]).(*ast.CallExpr); call && !l.isConversion(exprs[0]) {
			return l.inside(exprs[0], self)
		}
	}
	out := []piece{made("%s.Discard(", rtName)}
	out = append(out, l.list(exprs, self)...)
	return append(out, made(")"))
}

func (l *lowering) isConversion(x ast.Expr) bool {
	call := ast.Unparen(x).(*ast.CallExpr)
	tv := l.v.info.Types[call.Fun]
	return tv.IsType() || tv.IsBuiltin() && !l.v.info.Types[x].IsVoid()
}

func (l *lowering) list(exprs []ast.Expr, self int) []piece {
	var out []piece
	for i, x := range exprs {
		if i > 0 {
			out = append(out, made(", "))
		}
		out = append(out, l.inside(x, self)...)
	}
	return out
}

// give writes the statements that give a site's value.
func (l *lowering) give(exprs []ast.Expr, forRank bool, self int) []piece {
	ts := l.p.valueTypes(exprs)
	if len(ts) == 0 {
		if len(exprs) == 1 {
			return l.inside(exprs[0], self)
		}
		return l.discard(exprs, self)
	}
	if forRank {
		return l.giveRank(exprs, newResult(ts, l.v.pkg), ts, self)
	}
	empty := types.NewInterfaceType(nil, nil)
	if len(ts) == 1 {
		if rich := l.rich(ts[0], "v"+sep); rich != nil {
			out := append([]piece{made("{ v%s := ", sep)}, l.inside(exprs[0], self)...)
			out = append(append(append(out, made("; ")), rich...), made("%s.Show(", rtName))
			return append(append(out, l.boxedAs([]piece{made("v%s", sep)}, ts[0], empty)...), made(") }"))
		}
	}
	if tuple, ok := l.v.info.TypeOf(exprs[0]).(*types.Tuple); ok && len(exprs) == 1 {
		call := []piece{made("%s.Show(", rtName)}
		for i := range tuple.Len() {
			call = append(append(call, l.passed(i, tuple.At(i).Type(), empty)...), made(", "))
		}
		return l.through(tuple, nil, append(call, made(")")), l.inside(exprs[0], self))
	}
	out := []piece{made("%s.Show(", rtName)}
	for _, x := range exprs {
		t := l.v.info.TypeOf(x)
		out = append(append(out, l.boxedAs(l.inside(x, self), t, empty)...), made(", "))
	}
	return append(out, made(")"))
}

func (l *lowering) giveRank(exprs []ast.Expr, r *result, ts []types.Type, self int) []piece {
	// Temporaries first: yaegi mistakes an assignment to several fields at once.
	var names []string
	for i := range r.width {
		names = append(names, "v"+sep+itoa(i))
	}
	left := names
	if r.err {
		left = append(left, errorName+"0")
	}
	out := append([]piece{made("{ %s := ", strings.Join(left, ", "))}, l.list(exprs, self)...)
	if len(exprs) == len(left) { // one by one: yaegi loses some of several
		out = []piece{made("{ ")}
		for i, x := range exprs {
			if i > 0 {
				out = append(out, made("; "))
			}
			out = append(append(out, made("%s := ", left[i])), l.inside(x, self)...)
		}
	}
	for i, name := range names {
		out = append(out, made("; "), piece{ref: resultName})
		if r.width > 1 {
			out = append(out, made(".V%d", i))
		}
		out = append(out, made(" = %s", name))
	}
	if r.err {
		out = append(out, made("; %s.Fail(%s0)", rtName, errorName))
	}
	if r.width == 0 {
		return append(out, made(" }"))
	}
	out = append(out, made("; "))
	if r.width == 1 {
		out = append(out, l.rich(r.t, names[0])...)
	}
	out = append(out, made("%s.Show(", rtName))
	for i, name := range names {
		out = append(append(out, l.boxedAs([]piece{made("%s", name)}, ts[i], types.NewInterfaceType(nil, nil))...), made(", "))
	}
	return append(out, made(") }"))
}

// renderers are the methods by which a value shows itself in a notebook.
var renderers = []struct{ method, mime string }{
	{"HTML", "text/html"}, {"JavaScript", "application/javascript"}, {"JPEG", "image/jpeg"}, {"JSON", "application/json"},
	{"Latex", "text/latex"}, {"Markdown", "text/markdown"}, {"PNG", "image/png"}, {"PDF", "application/pdf"},
	{"SVG", "image/svg+xml"}, {"SimpleRender", ""}, {"Render", ""},
}

// rich writes the calls of the methods by which a value of a notebook's type shows itself: compiled code cannot find
// the methods of interpreted types, the checker can.
func (l *lowering) rich(t types.Type, name string) []piece {
	if !ofNotebook(t, l.v.pkg) {
		return nil
	}
	set := types.NewMethodSet(t)
	var out []piece
	for _, r := range renderers {
		m := set.Lookup(nil, r.method)
		if m == nil || !rendersAs(r.method, m.Type().(*types.Signature)) {
			continue
		}
		switch r.method {
		case "Render":
			out = append(out, made("%s.RichData(%s.Render()); ", rtName, name))
		case "SimpleRender":
			out = append(out, made("%s.RichMap(%s.SimpleRender()); ", rtName, name))
		default:
			out = append(out, made("%s.Rich(%q, %s.%s()); ", rtName, r.mime, name, r.method))
		}
	}
	return out
}

func ofNotebook(t types.Type, pkg *types.Package) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() == pkg
}

func rendersAs(method string, sig *types.Signature) bool {
	if sig.Params().Len() != 0 || sig.Results().Len() != 1 {
		return false
	}
	t := sig.Results().At(0).Type()
	anyMap := types.NewMap(types.Typ[types.String], types.NewInterfaceType(nil, nil))
	switch method {
	case "JSON", "SimpleRender":
		return types.Identical(t.Underlying(), anyMap)
	case "JPEG", "PNG", "PDF":
		return types.Identical(t, types.NewSlice(types.Typ[types.Byte]))
	case "Render":
		s, ok := t.Underlying().(*types.Struct)
		return ok && s.NumFields() == 3 && s.Field(0).Name() == "Data" && types.Identical(s.Field(0).Type().Underlying(), anyMap)
	}
	return types.Identical(t, types.Typ[types.String])
}
