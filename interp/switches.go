package interp

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// Switches: yaegi looks only at the first expression of a case when it has no tag, and evaluates only the first when it
// has one; it exchanges a default in the middle with the last case; it converts an interface's value to the type of what
// it is compared with, and finds nil in nothing but interfaces. A switch that meets any of that is written with
// conditions:
//
//	{ init; t := tag; switch { case (t == a) || (t == b): …; default: … } }
//
// and one that falls through to or from a default in the middle first finds its clause and then runs it:
//
//	{ …; n := 0; switch { case …: n = 0; default: n = 1 }; switch n { case 0: …; fallthrough; case 1: … } }

// switchPlan says how a switch is written.
type switchPlan struct {
	chain   bool // with conditions instead of a tag
	isTrue  bool // the tag is the constant true: the cases are the conditions
	join    bool // cases of several expressions are joined
	reorder bool // the default goes to the end
	find    bool // the clause is found first
	body    bool // a clause without statements gets one
	prefix  bool // something stands before the switch
}

func (l *lowering) switchPlan(s *ast.SwitchStmt) switchPlan {
	var p switchPlan
	info := l.v.info
	if s.Tag != nil {
		tv := info.Types[s.Tag]
		p.isTrue = tv.Value != nil && tv.Value.Kind() == constant.Bool && constant.BoolVal(tv.Value)
		_, ident := ast.Unparen(s.Tag).(*ast.Ident)
		p.chain = p.isTrue || !comparedByValue(tv.Type) || s.Init != nil && !ident // whose tag it forgets
	}
	middle, falls := false, false
	simple := s.Tag != nil
	for i, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		middle = middle || c.List == nil && i < len(s.Body.List)-1
		falls = falls || fallsThrough(c)
		p.join = p.join || len(c.List) > 1
		p.body = p.body || noStatements(c)
		for _, x := range c.List {
			tv := info.Types[x]
			simple = simple && tv.Value != nil
			if s.Tag != nil && (!comparedByValue(tv.Type) || len(c.List) > 1 && tv.Value == nil) {
				p.chain = true
			}
		}
	}
	p.find = middle && falls
	p.reorder = middle && (!simple || p.chain) && !p.find
	if p.find && s.Tag != nil {
		p.chain = true
	}
	p.join = p.join && (s.Tag == nil || p.chain)
	p.prefix = p.find || p.chain && (s.Init != nil || !p.isTrue)
	return p
}

// comparedByValue tells the types of which yaegi compares a tag with a case as Go does.
func comparedByValue(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Basic:
		return !types.Identical(t, types.Typ[types.UntypedNil])
	case *types.Array, *types.Struct:
		return true
	}
	return false
}

func noStatements(c *ast.CaseClause) bool {
	for _, s := range c.Body {
		if _, ok := s.(*ast.EmptyStmt); !ok {
			return false
		}
	}
	return true
}

func fallsThrough(c *ast.CaseClause) bool {
	if len(c.Body) == 0 {
		return false
	}
	b, ok := c.Body[len(c.Body)-1].(*ast.BranchStmt)
	return ok && b.Tok == token.FALLTHROUGH
}

// switchStmt notes the edit of a switch that yaegi would get wrong.
func (l *lowering) switchStmt(s *ast.SwitchStmt) {
	p := l.switchPlan(s)
	if !p.chain && !p.join && !p.reorder && !p.find && !p.body {
		return
	}
	l.tmp++
	w := &switchWriter{l: l, s: s, p: p, id: sep + itoa(l.tmp)}
	l.edit(s, func(self int) []piece {
		w.self = self
		return w.write()
	})
}

type switchWriter struct {
	l    *lowering
	s    *ast.SwitchStmt
	p    switchPlan
	id   string
	self int
}

func (w *switchWriter) write() []piece {
	l, s := w.l, w.s
	var out []piece
	if w.p.prefix {
		out = append(out, made("{ "))
		if s.Init != nil {
			out = append(append(out, l.inside(s.Init, w.self)...), made("; "))
		}
		if w.p.chain && !w.p.isTrue {
			out = append(out, w.tag()...)
		}
	}
	switch {
	case w.p.find:
		out = append(out, w.find()...)
		out = append(append(out, l.labelOf(s)...), made("switch n%s {", w.id))
		return append(append(out, w.clauses()...), made("} }"))
	case w.p.prefix:
		out = append(append(out, l.labelOf(s)...), made("switch {"))
	case w.p.chain:
		out = append(out, made("switch {"))
	default:
		out = append(out, l.render(l.offset(s.Switch), l.offset(s.Body.Lbrace)+1, w.self+1)...)
	}
	out = append(append(out, w.clauses()...), made("}"))
	if w.p.prefix {
		out = append(out, made(" }"))
	}
	return out
}

// tag writes the variable that has the tag's value.
func (w *switchWriter) tag() []piece {
	t := types.Default(w.l.v.info.TypeOf(w.s.Tag))
	return w.l.temporaryOf("t"+w.id, t, w.s.Tag, w.self)
}

// find writes the switch that finds the clause to run.
func (w *switchWriter) find() []piece {
	out := []piece{made("n%s := -1; switch {", w.id)}
	last := -1
	for i, c := range w.s.Body.List {
		if c.(*ast.CaseClause).List == nil {
			last = i
			continue
		}
		out = append(append(out, made("case ")), w.conditions(c.(*ast.CaseClause))...)
		out = append(out, made(": n%s = %d; ", w.id, i))
	}
	return append(out, made("default: n%s = %d }; ", w.id, last))
}

// clauses writes the clauses, a default at the end where there are conditions.
func (w *switchWriter) clauses() []piece {
	var out, last []piece
	for i, c := range w.s.Body.List {
		c := c.(*ast.CaseClause)
		end := w.s.Body.Rbrace
		if i+1 < len(w.s.Body.List) {
			end = w.s.Body.List[i+1].Pos()
		}
		var head []piece
		switch {
		case w.p.find:
			head = []piece{made(" case %d:", i)}
		case c.List == nil:
			head = []piece{made(" default:")}
		default:
			head = append(append([]piece{made(" case ")}, w.conditions(c)...), made(":"))
		}
		if noStatements(c) {
			head = append(head, made(" {}; "))
		}
		body := w.l.render(w.l.offset(c.Colon)+1, w.l.offset(end), w.self+1)
		if c.List == nil && w.p.reorder {
			last = append(append(head, body...), made("; "))
			continue
		}
		out = append(append(out, head...), body...)
		if w.p.reorder { // what was the last clause ends where a brace was
			out = append(out, made("; "))
		}
	}
	return append(out, last...)
}

func (w *switchWriter) conditions(c *ast.CaseClause) []piece {
	if w.s.Tag != nil && !w.p.chain {
		return w.l.list(c.List, w.self)
	}
	var out []piece
	for i, x := range c.List {
		if i > 0 {
			out = append(out, made(" || "))
		}
		out = append(append(append(out, made("(")), w.condition(x)...), made(")"))
	}
	return out
}

// condition writes whether a case's expression is the tag's value.
func (w *switchWriter) condition(x ast.Expr) []piece {
	l := w.l
	value := l.inside(x, w.self)
	if w.s.Tag == nil || w.p.isTrue {
		return value
	}
	return l.comparison([]piece{made("t%s", w.id)}, types.Default(l.v.info.TypeOf(w.s.Tag)), value, x)
}

// comparison writes whether a value of type t is that of an expression, which has been rendered.
func (l *lowering) comparison(left []piece, t types.Type, right []piece, x ast.Expr) []piece {
	tv := l.v.info.Types[x]
	if tv.IsNil() {
		return append(left, made(" == nil"))
	}
	if types.IsInterface(t) || types.IsInterface(tv.Type) {
		empty := types.NewInterfaceType(nil, nil)
		if !types.IsInterface(t) {
			left = l.boxedAs(left, t, empty)
		}
		out := append(append([]piece{made("%s.Equal(", rtName)}, left...), made(", "))
		return append(append(out, right...), made(")"))
	}
	if c, ok := t.Underlying().(*types.Chan); ok && c.Dir() != tv.Type.Underlying().(*types.Chan).Dir() {
		if c.Dir() == types.SendRecv { // yaegi compares no channels of different directions
			left = l.converted(tv.Type, left)
		} else {
			right = l.converted(t, right)
		}
	}
	if _, plain := ast.Unparen(x).(*ast.Ident); plain || tv.Value != nil {
		return append(append(left, made(" == ")), right...)
	}
	return append(append(append(left, made(" == (")), right...), made(")"))
}
