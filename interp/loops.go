package interp

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Loops: yaegi has one variable for all iterations, counts runes where Go counts bytes, and knows no range over integers
// and functions. A loop is rewritten only as far as its variables are captured or its kind needs it; plain loops stay.

// loopStmt notes the edits of a for statement whose variables outlive an iteration:
//
//	{ iᐧ := init; first := true; for { i := iᐧ; if first { first = false } else { post }; if !(cond) { break }; …; iᐧ = i } }
//
// where continue first copies the variables back.
func (l *lowering) loopStmt(s *ast.ForStmt) {
	suffix, ok := l.flows().loops[s]
	if !ok {
		return
	}
	init := s.Init.(*ast.AssignStmt)
	first := "first" + suffix
	l.edit(s, func(self int) []piece {
		out := []piece{made("{ ")}
		for i, x := range init.Lhs {
			if i > 0 {
				out = append(out, made(", "))
			}
			out = append(out, made("%s", l.carrier(x)))
		}
		out = append(append(out, made(" := ")), l.list(init.Rhs, self)...)
		out = append(out, made("; %s := true; ", first))
		out = append(out, l.labelOf(s)...)
		out = append(out, made("for { "))
		var back []piece
		for _, x := range init.Lhs {
			obj := l.v.info.Defs[x.(*ast.Ident)]
			if obj == nil {
				continue
			}
			name := l.flow.renamed[obj]
			out = append(out, made("%s := %s; ", name, l.carrier(x)))
			back = append(back, made("; %s = %s", l.carrier(x), name))
		}
		switch {
		case s.Post != nil:
			out = append(out, made("if %s { %s = false } else { ", first, first))
			out = append(append(out, l.inside(s.Post, self)...), made(" }; "))
		default:
			out = append(out, made("%s = false; ", first))
		}
		if s.Cond != nil {
			out = append(append(out, made("if !(")), l.inside(s.Cond, self)...)
			out = append(out, made(") { break }; "))
		}
		out = append(out, l.render(l.offset(s.Body.Lbrace)+1, l.offset(s.Body.Rbrace), self+1)...)
		return append(append(out, back...), made(" } }"))
	})
}

// carrier names the variable that carries a loop's variable from one iteration to the next.
func (l *lowering) carrier(x ast.Expr) string {
	id := x.(*ast.Ident)
	obj := l.v.info.Defs[id]
	if obj == nil {
		return "_"
	}
	return l.flow.renamed[obj] + "c"
}

// copyBack writes what a continue of a loop with copied variables does first.
func (l *lowering) copyBack(s *ast.ForStmt) []piece {
	var out []piece
	for _, x := range s.Init.(*ast.AssignStmt).Lhs {
		if obj := l.v.info.Defs[x.(*ast.Ident)]; obj != nil {
			out = append(out, made("%s = %s; ", l.carrier(x), l.flow.renamed[obj]))
		}
	}
	return out
}

// labelOf writes the label of a loop whose rewriting puts something before it.
func (l *lowering) labelOf(s ast.Stmt) []piece {
	if ls := l.flows().label[s]; ls != nil {
		return []piece{made("%s: ", ls.Label.Name)}
	}
	return nil
}

// prefixed says whether the rewriting of a statement puts something before it, so that its label must move.
func (l *lowering) prefixed(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ForStmt:
		return l.flows().loops[s] != ""
	case *ast.RangeStmt:
		return l.flows().yields[s] != nil
	case *ast.SwitchStmt:
		return l.switchPlan(s).prefix
	case *ast.SelectStmt:
		return true
	}
	return false
}

const jumpPrefix = "goto" + sep

// labelled moves the label of a rewritten loop to where the loop is. A goto to it leads before all.
func (l *lowering) labelled(s *ast.LabeledStmt) {
	if l.flows().ended[s] {
		l.edit(s, func(self int) []piece {
			return append(l.render(l.offset(s.Pos()), l.offset(s.End()), self+1), made("; %s%s: {}", endPrefix, s.Label.Name))
		})
	}
	if inner, ok := s.Stmt.(*ast.LabeledStmt); ok {
		l.editRange(s.Colon, inner.Pos(), func(int) []piece { return []piece{made(": {}; ")} })
	}
	if !l.prefixed(s.Stmt) {
		return
	}
	l.editRange(s.Label.Pos(), s.Stmt.Pos(), func(int) []piece {
		if l.flow.jumped[s] {
			return []piece{made("%s%s: ", jumpPrefix, s.Label.Name)}
		}
		return nil
	})
}

// rangeStmt notes the edits of a range loop by the kind of what it ranges over.
func (l *lowering) rangeStmt(s *ast.RangeStmt) {
	t := l.v.info.TypeOf(s.X)
	if t == nil {
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&types.IsString != 0 {
			l.rangeString(s)
		} else {
			l.rangeInt(s)
		}
	case *types.Signature:
		l.rangeFunc(s, u)
	case *types.Array:
		l.rangeArray(s, u, false)
	case *types.Pointer:
		if a, ok := u.Elem().Underlying().(*types.Array); ok {
			l.rangeArray(s, a, true)
		}
	default:
		l.rangeHead(s, nil)
	}
}

func isBlankOrNil(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return x == nil || ok && id.Name == "_"
}

// fresh says whether an iteration variable needs one of its own for each iteration, or must not be the loop's counter.
func (l *lowering) fresh(x ast.Expr, counter bool) bool {
	if isBlankOrNil(x) {
		return false
	}
	id, ok := x.(*ast.Ident)
	if !ok {
		return true
	}
	obj := l.v.info.Defs[id]
	if obj == nil {
		return true
	}
	f := l.flows()
	return f.shared[obj] || counter && f.written[obj]
}

// rangeHead rewrites `for k, v := range x {` into `for kᐧ, vᐧ := range x { k, v := kᐧ, vᐧ;` where that is needed; over
// replaces x if it is given.
func (l *lowering) rangeHead(s *ast.RangeStmt, over func(self int) []piece) {
	key, value := l.fresh(s.Key, true), l.fresh(s.Value, false)
	if s.Tok == token.ASSIGN {
		key, value = !isBlankOrNil(s.Key), !isBlankOrNil(s.Value)
	}
	if !key && !value {
		if over != nil {
			l.edit(s.X, over)
		}
		return
	}
	l.tmp++
	k, v := "k"+sep+itoa(l.tmp), "v"+sep+itoa(l.tmp)
	l.editRange(s.For, s.Body.Lbrace+1, func(self int) []piece {
		out := []piece{made("for ")}
		var names []string
		var targets []ast.Expr
		if key {
			out = append(out, made("%s", k))
			names, targets = append(names, k), append(targets, s.Key)
		} else {
			out = append(out, l.keepOrBlank(s.Key, self)...)
		}
		switch {
		case value:
			out = append(out, made(", %s", v))
			names, targets = append(names, v), append(targets, s.Value)
		case s.Value != nil:
			out = append(append(out, made(", ")), l.keepOrBlank(s.Value, self)...)
		}
		out = append(out, made(" := range "))
		if over != nil {
			out = append(out, over(self)...)
		} else {
			out = append(out, l.inside(s.X, self)...)
		}
		out = append(out, made(" { "))
		return append(out, l.bind(s, targets, names, self)...)
	})
}

func (l *lowering) keepOrBlank(x ast.Expr, self int) []piece {
	if isBlankOrNil(x) {
		return []piece{made("_")}
	}
	return l.inside(x, self)
}

// bind gives the iteration variables of a loop their values.
func (l *lowering) bind(s *ast.RangeStmt, targets []ast.Expr, values []string, self int) []piece {
	if len(targets) == 0 {
		return nil
	}
	if s.Tok == token.ASSIGN {
		return append(l.assignNamed(targets, values, self), made("; "))
	}
	var out []piece
	for i, x := range targets {
		out = append(append(out, l.inside(x, self)...), made(" := %s; ", values[i]))
	}
	return out
}

// rangeInt writes `for i, n := T(0), T(x); i < n; i++ {`.
func (l *lowering) rangeInt(s *ast.RangeStmt) {
	t := l.v.info.TypeOf(s.X)
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		t = types.Typ[types.Int]
		if !isBlankOrNil(s.Key) {
			t = l.v.info.TypeOf(s.Key)
		}
	}
	fresh := l.fresh(s.Key, true)
	l.tmp++
	i, n := "i"+sep+itoa(l.tmp), "n"+sep+itoa(l.tmp)
	tv := l.v.info.Types[s.X]
	l.editRange(s.For, s.Body.Lbrace+1, func(self int) []piece {
		counter := []piece{made("%s", i)}
		if !isBlankOrNil(s.Key) && !fresh {
			counter = l.inside(s.Key, self)
		}
		conv := func(inner []piece) []piece { return l.converted(t, inner) }
		out := append([]piece{made("for ")}, counter...)
		limit := []piece{made("%s", n)}
		if tv.Value != nil {
			limit = conv(l.inside(s.X, self))
			out = append(append(out, made(" := ")), conv([]piece{made("0")})...)
		} else {
			out = append(out, made(", %s := ", n))
			out = append(append(out, conv([]piece{made("0")})...), made(", "))
			out = append(out, conv(l.inside(s.X, self))...)
		}
		out = append(append(append(out, made("; ")), counter...), made(" < "))
		out = append(append(append(out, limit...), made("; ")), counter...)
		out = append(out, made("++ { "))
		if fresh {
			out = append(out, l.bind(s, []ast.Expr{s.Key}, []string{i}, self)...)
		}
		return out
	})
}

// converted writes a conversion to a type; none for what is an int already.
func (l *lowering) converted(t types.Type, inner []piece) []piece {
	if t == types.Typ[types.Int] && len(inner) == 1 && inner[0].text == "0" {
		return inner
	}
	out := wrap(made("(("), typePieces(t, l.v.pkg), made(")("))
	return append(append(out, inner...), made("))"))
}

// rangeString ranges over what the runtime has found in the string: yaegi's own loop gives wrong offsets and takes time
// that grows by the square.
func (l *lowering) rangeString(s *ast.RangeStmt) {
	over := func(fn string) func(self int) []piece {
		return func(self int) []piece {
			return wrap(made("%s.%s(string(", rtName, fn), l.inside(s.X, self), made("))"))
		}
	}
	hasKey, hasValue := !isBlankOrNil(s.Key), !isBlankOrNil(s.Value)
	l.tmp++
	e := "e" + sep + itoa(l.tmp)
	head := func(fn string, bind func(self int) []piece) {
		l.editRange(s.For, s.Body.Lbrace+1, func(self int) []piece {
			out := append([]piece{made("for _, %s := range ", e)}, over(fn)(self)...)
			return append(append(out, made(" { ")), bind(self)...)
		})
	}
	switch {
	case hasKey && hasValue:
		head("Runes", func(self int) []piece {
			if s.Tok == token.ASSIGN {
				out := []piece{made("k%s, v%s := %s >> 32, rune(%s & 0xffffffff); ", e, e, e, e)}
				return append(out, l.bind(s, []ast.Expr{s.Key, s.Value}, []string{"k" + e, "v" + e}, self)...)
			}
			out := append(l.inside(s.Key, self), made(" := %s >> 32; ", e))
			return append(append(out, l.inside(s.Value, self)...), made(" := rune(%s & 0xffffffff); ", e))
		})
	case hasKey:
		head("RuneStarts", func(self int) []piece { return l.bind(s, []ast.Expr{s.Key}, []string{e}, self) })
	case hasValue:
		if s.Tok == token.DEFINE && !l.fresh(s.Value, false) {
			l.editRange(s.For, s.Body.Lbrace+1, func(self int) []piece {
				out := append([]piece{made("for _, ")}, l.inside(s.Value, self)...)
				return append(append(append(out, made(" := range ")), over("RuneValues")(self)...), made(" { "))
			})
			return
		}
		head("RuneValues", func(self int) []piece { return l.bind(s, []ast.Expr{s.Value}, []string{e}, self) })
	default:
		head("RuneStarts", func(int) []piece { return nil })
	}
}

// rangeArray ranges over an array, of which Go makes a copy if its elements are asked for, or over the array that a
// pointer leads to. Without elements only the length counts, and the operand is not even evaluated.
func (l *lowering) rangeArray(s *ast.RangeStmt, a *types.Array, pointer bool) {
	if isBlankOrNil(s.Value) {
		if !hasCallOrReceive(l.v.info, s.X) {
			l.countedHead(s, a.Len())
			return
		}
		l.rangeHead(s, nil)
		return
	}
	if pointer {
		l.rangeHead(s, func(self int) []piece { return wrap(made("("), l.inside(s.X, self), made(")[:]")) })
		return
	}
	if star, ok := ast.Unparen(s.X).(*ast.StarExpr); ok {
		l.rangeHead(s, func(self int) []piece {
			out := append([]piece{made("func() ")}, typePieces(l.v.info.TypeOf(s.X), l.v.pkg)...)
			return append(append(append(out, made(" { return *(")), l.inside(star.X, self)...), made(") }()"))
		})
		return
	}
	l.rangeHead(s, nil)
}

func (l *lowering) countedHead(s *ast.RangeStmt, n int64) {
	fresh := l.fresh(s.Key, true)
	l.tmp++
	i := "i" + sep + itoa(l.tmp)
	l.editRange(s.For, s.Body.Lbrace+1, func(self int) []piece {
		counter := []piece{made("%s", i)}
		if !isBlankOrNil(s.Key) && !fresh {
			counter = l.inside(s.Key, self)
		}
		out := append([]piece{made("for ")}, counter...)
		out = append(append(out, made(" := 0; ")), counter...)
		out = append(append(out, made(" < %d; ", n)), counter...)
		out = append(out, made("++ { "))
		if fresh {
			out = append(out, l.bind(s, []ast.Expr{s.Key}, []string{i}, self)...)
		}
		return out
	})
}

// hasCallOrReceive says whether evaluating an operand can be seen, so that len of it is no constant.
func hasCallOrReceive(info *types.Info, x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if tv := info.Types[n.Fun]; !tv.IsType() && info.Types[n].Value == nil {
				found = true
			}
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.FuncLit:
			return false
		}
		return !found
	})
	return found
}
