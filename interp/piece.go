package interp

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
)

// piece is a part of lowered code: text that was taken from a source or made by us, or a name that is filled in when
// the code is written for one evaluator. Keeping names open lets the same code go to the session, where a name may have
// had several versions, and to a rank, where it has one. Keeping the offset of every taken text makes positions
// survive whatever is put around it.
type piece struct {
	text  string
	src   *source   // where text was taken from, or what it stands for; nil if neither
	off   int       // the offset there
	fixed bool      // made: all of it stands at off
	ref   string    // name to fill in, in one of the forms below; text is then empty
	dep   string    // name that the code depends on though its text does not change with it (a method, a folded constant)
	world world     // who it is for, if not for both
	inst  *instance // what ref needs to be made for it, until it is
}

// The forms of ref: the name of an entity ("f"), a package ("import:path"), the entity that a cell replaced
// ("old:f"), a variable that the same cell declared again later ("inner:k:f").
const (
	importRef = "import:"
	oldRef    = "old:"
	innerRef  = "inner:"
)

func made(format string, args ...any) piece { return piece{text: fmt.Sprintf(format, args...)} }

// plain renders pieces the way a reader knows them.
func plain(ps []piece) string {
	var b strings.Builder
	for _, p := range ps {
		switch {
		case p.world == evaluatorOnly:
		case strings.HasPrefix(p.ref, importRef):
			b.WriteString(lastElement(p.ref[len(importRef):]))
		case p.ref != "":
			b.WriteString(p.ref[strings.LastIndexByte(p.ref, ':')+1:])
		default:
			b.WriteString(p.text)
		}
	}
	return clean(b.String())
}

// expressible says why a type cannot be written at the top level of a notebook, or nothing.
func expressible(t types.Type, pkg *types.Package) string {
	return unwritable(t, pkg, map[types.Type]bool{})
}

func unwritable(t types.Type, pkg *types.Package, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	first := func(ts ...types.Type) string {
		for _, x := range ts {
			if why := unwritable(x, pkg, seen); why != "" {
				return why
			}
		}
		return ""
	}
	switch t := t.(type) {
	case *types.Basic:
		if t.Kind() == types.UntypedNil {
			return "use of untyped nil"
		}
	case *types.Alias:
		return first(types.Unalias(t))
	case *types.Named:
		obj := t.Obj()
		if obj.Pkg() == nil {
			return ""
		}
		if obj.Pkg() != pkg && !obj.Exported() {
			return fmt.Sprintf("its type %s is not exported by its package", types.TypeString(t, nil))
		}
		if obj.Parent() != obj.Pkg().Scope() {
			return fmt.Sprintf("its type %s is declared inside a function", obj.Name())
		}
		for i := range t.TypeArgs().Len() {
			if why := first(t.TypeArgs().At(i)); why != "" {
				return why
			}
		}
	case *types.Pointer:
		return first(t.Elem())
	case *types.Slice:
		return first(t.Elem())
	case *types.Array:
		return first(t.Elem())
	case *types.Chan:
		return first(t.Elem())
	case *types.Map:
		return first(t.Key(), t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if why := first(f.Type()); why != "" {
				return why
			}
		}
	case *types.Signature:
		return first(t.Params(), t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			if why := first(v.Type()); why != "" {
				return why
			}
		}
	}
	return ""
}

func isIdent(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
}

func itoa(i int) string { return strconv.Itoa(i) }

func lastElement(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}
