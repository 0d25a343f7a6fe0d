package interp

import (
	"go/types"
	"strconv"
	"strings"

	"github.com/gorovod/gorovod/interp/internal/generic"
)

// This file writes types as pieces. The evaluator knows no generic type: an instance of one (List[int]) is there a type
// of its own, made for it, while the checker goes on to see the instance. So a type is written for both worlds: pieces
// that only the checker's text has (List[int]), and pieces that only the evaluator's has, the open name of the copy.

// world says who a piece is for.
type world int8

const (
	bothWorlds world = iota
	checkerOnly
	evaluatorOnly
)

// instance is a declaration that must be made for the evaluator: the copy of a generic function or type for its type
// arguments, or of a type that a function declares.
type instance struct {
	name    string           // by which references have it
	generic string           // the generic declaration's name
	args    [][]piece        // the type arguments
	local   types.Type       // the type that a function declares
	anon    *types.Interface // an interface type that is written out
	pkg     *types.Package
	src     *source // where it is asked for
	off     int
	depth   int
}

// typePieces writes a type as source, with the names of the notebook and of packages left open.
func typePieces(t types.Type, pkg *types.Package) []piece {
	w := &typeWriter{pkg: pkg}
	w.typ(t)
	return w.pieces()
}

// canonical writes a type so that identical types, and no others, have the same text.
func canonical(t types.Type, pkg *types.Package) string {
	w := &typeWriter{pkg: pkg, canon: true}
	w.typ(t)
	return w.buf.String()
}

type typeWriter struct {
	pkg   *types.Package
	canon bool // for comparison: one text, aliases resolved
	check bool // as the checker has it: instances stay instances
	buf   strings.Builder
	out   []piece
}

func (w *typeWriter) text(s string) { w.buf.WriteString(s) }

func (w *typeWriter) flush() {
	if w.buf.Len() > 0 {
		w.out = append(w.out, piece{text: w.buf.String()})
		w.buf.Reset()
	}
}

func (w *typeWriter) pieces() []piece {
	w.flush()
	return w.out
}

// object writes the name of a declared type.
func (w *typeWriter) object(obj types.Object) {
	switch {
	case obj.Pkg() == nil:
		w.text(obj.Name())
	case w.canon && obj.Pkg() == w.pkg:
		w.text(typeKey(obj))
	case w.canon:
		w.text(obj.Pkg().Path() + "." + obj.Name())
	case obj.Pkg() != w.pkg:
		w.flush()
		w.out = append(w.out, piece{ref: importRef + obj.Pkg().Path()})
		w.text("." + obj.Name())
	default:
		w.flush()
		p := piece{ref: typeKey(obj)}
		if isLocal(obj) {
			p.inst = &instance{name: p.ref, local: obj.Type(), pkg: w.pkg}
		}
		w.out = append(w.out, p)
	}
}

// isLocal tells a type that is declared inside a function.
func isLocal(obj types.Object) bool {
	_, typ := obj.(*types.TypeName)
	return typ && obj.Pkg() != nil && obj.Parent() != nil && obj.Parent() != obj.Pkg().Scope() && !isTypeParam(obj.Type())
}

func isTypeParam(t types.Type) bool {
	_, ok := t.(*types.TypeParam)
	return ok
}

// typeKey names a type of the notebook; one that a function declares by its place too.
func typeKey(obj types.Object) string {
	if isLocal(obj) {
		return obj.Name() + sep + "l" + itoa(int(obj.Pos()))
	}
	return obj.Name()
}

func (w *typeWriter) list(ts *types.TypeList) {
	w.text("[")
	for i := range ts.Len() {
		if i > 0 {
			w.text(",")
		}
		w.typ(ts.At(i))
	}
	w.text("]")
}

func (w *typeWriter) typ(t types.Type) {
	switch t := t.(type) {
	case *types.Basic:
		w.basic(t)
	case *types.Alias:
		if w.canon || t.TypeArgs().Len() > 0 || t.Obj().Pkg() == w.pkg { // the evaluator has none of the notebook's
			w.typ(types.Unalias(t))
			return
		}
		w.object(t.Obj())
	case *types.Named:
		w.named(t)
	case *types.TypeParam:
		w.text(t.Obj().Name())
	case *types.Pointer:
		w.text("*")
		w.typ(t.Elem())
	case *types.Slice:
		w.text("[]")
		w.typ(t.Elem())
	case *types.Array:
		w.text("[" + strconv.FormatInt(t.Len(), 10) + "]")
		w.typ(t.Elem())
	case *types.Map:
		w.text("map[")
		w.typ(t.Key())
		w.text("]")
		w.typ(t.Elem())
	case *types.Chan:
		w.channel(t)
	case *types.Signature:
		w.text("func")
		w.signature(t)
	case *types.Struct:
		w.structType(t)
	case *types.Interface:
		w.interfaceType(t)
	case *types.Union:
		for i := range t.Len() {
			if i > 0 {
				w.text(" | ")
			}
			if t.Term(i).Tilde() {
				w.text("~")
			}
			w.typ(t.Term(i).Type())
		}
	case *types.Tuple:
		w.tuple(t, false)
	}
}

func (w *typeWriter) basic(t *types.Basic) {
	switch {
	case t.Kind() == types.UnsafePointer:
		if obj := types.Unsafe.Scope().Lookup("Pointer"); obj != nil {
			w.object(obj)
		}
	case w.canon && t.Kind() == types.Uint8:
		w.text("uint8")
	case w.canon && t.Kind() == types.Int32:
		w.text("int32")
	default:
		w.text(t.Name())
	}
}

func (w *typeWriter) channel(t *types.Chan) {
	paren := false
	switch t.Dir() {
	case types.SendOnly:
		w.text("chan<- ")
	case types.RecvOnly:
		w.text("<-chan ")
	default:
		w.text("chan ")
		c, ok := t.Elem().(*types.Chan)
		paren = ok && c.Dir() == types.RecvOnly
	}
	if paren {
		w.text("(")
	}
	w.typ(t.Elem())
	if paren {
		w.text(")")
	}
}

// named writes a declared type. An instance of a generic one has a text for the checker and another for the evaluator.
func (w *typeWriter) named(t *types.Named) {
	if t.TypeArgs().Len() == 0 {
		w.object(t.Obj())
		return
	}
	if isLocal(t.Obj()) { // a generic type that a function declares
		c := &typeWriter{pkg: w.pkg, canon: true}
		c.list(t.TypeArgs())
		name := typeKey(t.Obj()) + sep + "i" + encodeName(c.buf.String())
		if w.canon {
			w.text(name)
			return
		}
		w.flush()
		w.out = append(w.out, piece{ref: name, inst: &instance{name: name, local: t, pkg: w.pkg}})
		return
	}
	if w.canon || w.check {
		w.object(t.Obj())
		w.list(t.TypeArgs())
		return
	}
	w.flush()
	c := &typeWriter{pkg: w.pkg, check: true}
	c.object(t.Obj())
	c.list(t.TypeArgs())
	for _, p := range c.pieces() {
		p.world, p.inst = checkerOnly, nil
		w.out = append(w.out, p)
	}
	if underlies(t) { // a function type of the standard library: the evaluator has no other name for it
		e := &typeWriter{pkg: w.pkg}
		e.typ(t.Underlying())
		for _, p := range e.pieces() {
			if p.world == checkerOnly {
				continue
			}
			p.world = evaluatorOnly
			w.out = append(w.out, p)
		}
		return
	}
	if name := nativeType(t, w.pkg); name != "" {
		w.out = append(w.out, piece{ref: importRef + generic.Prefix + t.Obj().Pkg().Path(), world: evaluatorOnly},
			piece{text: "." + encodeName(name), world: evaluatorOnly})
		return
	}
	w.out = append(w.out, w.instance(t.Obj(), t.TypeArgs()))
}

// underlies says whether an instance is written as the type under it.
func underlies(t *types.Named) bool {
	_, isFunc := t.Underlying().(*types.Signature)
	return isFunc && t.Obj().Pkg() != nil && t.Obj().Pkg().Path() == "iter"
}

// instance gives the open name of an instance of a generic function or type.
func (w *typeWriter) instance(obj types.Object, args *types.TypeList) piece {
	generic := obj.Name()
	if obj.Pkg() != w.pkg {
		generic = preludeName(obj)
	}
	c := &typeWriter{pkg: w.pkg, canon: true}
	c.list(args)
	inst := &instance{name: generic + sep + "i" + encodeName(c.buf.String()), generic: generic, pkg: w.pkg}
	for i := range args.Len() {
		inst.args = append(inst.args, typePieces(args.At(i), w.pkg))
	}
	return piece{ref: inst.name, inst: inst, world: evaluatorOnly}
}

func (w *typeWriter) signature(s *types.Signature) {
	w.tuple(s.Params(), s.Variadic())
	switch n := s.Results().Len(); {
	case n == 0:
	case n == 1 && s.Results().At(0).Name() == "":
		w.text(" ")
		w.typ(s.Results().At(0).Type())
	default:
		w.text(" ")
		w.tuple(s.Results(), false)
	}
}

func (w *typeWriter) tuple(t *types.Tuple, variadic bool) {
	w.text("(")
	for i := range t.Len() {
		v := t.At(i)
		if i > 0 {
			w.text(", ")
		}
		if v.Name() != "" && !w.canon {
			w.text(v.Name() + " ")
		}
		if s, ok := v.Type().(*types.Slice); ok && variadic && i == t.Len()-1 {
			w.text("...")
			w.typ(s.Elem())
			continue
		}
		w.typ(v.Type())
	}
	w.text(")")
}

func (w *typeWriter) structType(t *types.Struct) {
	w.text("struct{")
	for i := range t.NumFields() {
		f := t.Field(i)
		if i > 0 {
			w.text("; ")
		}
		switch {
		case !f.Embedded():
			w.text(f.Name() + " ")
		case !w.canon && !w.check && methodful(f.Type()) && ourInterface(f.Type(), w.pkg):
			w.flush()
			w.out = append(w.out, piece{text: f.Name() + " ", world: evaluatorOnly})
		}
		w.typ(f.Type())
		if tag := t.Tag(i); tag != "" {
			w.text(" " + strconv.Quote(tag))
		}
	}
	w.text("}")
}

// writtenInterface writes an interface type that has no name: the evaluator knows it by one.
func (w *typeWriter) writtenInterface(t *types.Interface) {
	w.flush()
	c := &typeWriter{pkg: w.pkg, check: true}
	c.interfaceType(t)
	for _, p := range c.pieces() {
		p.world, p.inst = checkerOnly, nil
		w.out = append(w.out, p)
	}
	name := writtenPrefix + encodeName(canonical(t, w.pkg))
	w.out = append(w.out, piece{ref: name, world: evaluatorOnly, inst: &instance{name: name, anon: t, pkg: w.pkg}})
}

const writtenPrefix = "Iface" + sep + "n"

func (w *typeWriter) interfaceType(t *types.Interface) {
	if w.canon && t.Empty() {
		w.text("any")
		return
	}
	if !w.canon && !w.check && methodful(t) {
		w.writtenInterface(t)
		return
	}
	w.text("interface{")
	n := 0
	next := func() {
		if n++; n > 1 {
			w.text("; ")
		}
	}
	if w.canon {
		for m := range t.Methods() {
			next()
			w.text(m.Name())
			w.signature(m.Signature())
		}
	} else {
		for m := range t.ExplicitMethods() {
			next()
			w.text(m.Name())
			w.signature(m.Signature())
		}
	}
	for i := range t.NumEmbeddeds() {
		if _, iface := t.EmbeddedType(i).Underlying().(*types.Interface); iface && w.canon {
			continue
		}
		next()
		w.typ(t.EmbeddedType(i))
	}
	w.text("}")
}

// The type arguments in the name of an instance are written in letters, from which a reader's text can be had back.
const nameShift = 0x1500 // where the letters that stand for ASCII begin: Canadian syllabics

func encodeName(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 && !isIdent(r) {
			r += nameShift
		}
		b.WriteRune(r)
	}
	return b.String()
}

func decodeName(s string) string {
	if !strings.ContainsFunc(s, encoded) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if encoded(r) {
			return r - nameShift
		}
		return r
	}, s)
}

func encoded(r rune) bool { return r > nameShift && r < nameShift+0x80 }

// preludeName names a generic of the standard library among the notebook's declarations.
func preludeName(obj types.Object) string {
	return encodeName(obj.Pkg().Path() + "." + obj.Name())
}

// preludePath takes such a name apart; the path is empty for another.
func preludePath(name string) (path, member string) {
	if !strings.ContainsFunc(name, encoded) {
		return "", ""
	}
	name = decodeName(name)
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", ""
	}
	return name[:i], name[i+1:]
}
