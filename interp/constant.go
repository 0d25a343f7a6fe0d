package interp

import (
	"go/ast"
	"go/constant"
	"go/types"
	"math"
	"strconv"
	"strings"
)

// constant replaces a constant expression by its value in its type. The checker has computed it exactly; what is left
// for the evaluator is a literal.
func (l *lowering) constant(x ast.Expr) bool {
	if id, ok := x.(*ast.Ident); ok && l.v.info.Defs[id] != nil {
		return false
	}
	tv, ok := l.v.info.Types[x]
	if !ok {
		return false
	}
	if tv.Value == nil || !tv.IsValue() {
		return false
	}
	if p, ok := x.(*ast.ParenExpr); ok {
		if _, lit := p.X.(*ast.BasicLit); lit {
			return false
		}
	}
	if id, ok := x.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") && l.v.info.Uses[id] == types.Universe.Lookup(id.Name) {
		return false
	}
	text, ok := l.constantPieces(tv.Type, tv.Value)
	if !ok {
		return false
	}
	deps := l.constantDeps(x)
	l.replace(x, append(text, deps...)...)
	return true
}

// constantDeps notes the notebook's constants that a folded expression used.
func (l *lowering) constantDeps(x ast.Expr) []piece {
	var out []piece
	ast.Inspect(x, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if obj := l.v.info.Uses[id]; obj != nil && obj.Parent() == l.v.pkg.Scope() {
			out = append(out, piece{dep: obj.Name()})
		}
		return true
	})
	return out
}

func (l *lowering) constantPieces(t types.Type, v constant.Value) ([]piece, bool) {
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		t = types.Default(t)
	}
	basic, ok := t.Underlying().(*types.Basic)
	if !ok { // an untyped constant that became an interface's value
		return nil, false
	}
	lit, plain, ok := literal(basic, v)
	if !ok {
		return nil, false
	}
	if _, named := types.Unalias(t).(*types.Basic); named && plain {
		return []piece{made("%s", lit)}, true
	}
	var out []piece
	if _, named := types.Unalias(t).(*types.Basic); named {
		out = []piece{made("%s(", t.String())}
	} else {
		out = append(typePieces(t, l.v.pkg), made("("))
	}
	return append(out, made("%s)", lit)), true
}

// literal writes a constant so that it has the wanted kind; plain says that the literal alone has the basic type.
func literal(b *types.Basic, v constant.Value) (text string, plain, ok bool) {
	switch {
	case b.Info()&types.IsBoolean != 0:
		return v.String(), true, v.Kind() == constant.Bool
	case b.Info()&types.IsString != 0:
		return strconv.Quote(constant.StringVal(v)), true, v.Kind() == constant.String
	case b.Info()&types.IsInteger != 0:
		i := constant.ToInt(v)
		if i.Kind() != constant.Int {
			return "", false, false
		}
		s := i.ExactString()
		if strings.HasPrefix(s, "-") {
			s = "(" + s + ")"
		}
		return s, b.Kind() == types.Int, true
	case b.Info()&types.IsFloat != 0:
		s, ok := floatText(v, b.Kind() == types.Float32)
		return s, b.Kind() == types.Float64, ok
	case b.Info()&types.IsComplex != 0:
		c := constant.ToComplex(v)
		re, ok1 := floatText(constant.Real(c), false)
		im, ok2 := floatText(constant.Imag(c), false)
		return "complex(" + re + ", " + im + ")", b.Kind() == types.Complex128, ok1 && ok2
	}
	return "", false, false
}

func floatText(v constant.Value, single bool) (string, bool) {
	v = constant.ToFloat(v)
	if v.Kind() != constant.Float && v.Kind() != constant.Int {
		return "", false
	}
	bits := 64
	f, _ := constant.Float64Val(v)
	if single {
		f32, _ := constant.Float32Val(v)
		f, bits = float64(f32), 32
	}
	if math.IsInf(f, 0) {
		return "", false
	}
	s := strconv.FormatFloat(f, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	if strings.HasPrefix(s, "-") {
		s = "(" + s + ")"
	}
	return s, true
}
