package main

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/gorovod/gorovod/interp/internal/tables"
)

// preferred settles which package a bare name most likely means where the general order below would not.
var preferred = map[string]string{
	"rand":     "math/rand",
	"template": "text/template",
	"scanner":  "text/scanner",
	"pprof":    "runtime/pprof",
	"trace":    "runtime/trace",
}

// indexFile writes the list of packages: path, name, symbols, and the packages that its API needs; the skipped ones
// with the reason; and which paths a package name can mean.
func indexFile(lib *library) []byte {
	b := header()
	fmt.Fprintf(b, "package stdlib\n\n// GoVersion is the Go release whose standard library this is.\nconst GoVersion = %q\n\n", minorVersion())
	b.WriteString("// packages are the importable packages, sorted by path.\nvar packages = []packageEntry{\n")
	needs := newNeeds(lib)
	names := map[string][]string{}
	for _, p := range lib.packages {
		if reason := skipped[p.ImportPath]; reason != "" {
			fmt.Fprintf(b, "{path: %q, name: %q, unsupported: %q},\n", p.ImportPath, p.Types.Name(), reason)
		} else if p.Types == types.Unsafe {
			fmt.Fprintf(b, "{path: %q, name: %q}, // its symbols are yaegi's own\n", p.ImportPath, p.Types.Name())
		} else {
			fmt.Fprintf(b, "{path: %q, name: %q, symbols: symbols_%s, needs: %q},\n",
				p.ImportPath, p.Types.Name(), tables.Identifier(p.ImportPath), strings.Join(needs.of(p.Types), " "))
		}
		names[p.Types.Name()] = append(names[p.Types.Name()], p.ImportPath)
	}
	b.WriteString("}\n\n// names are the package names, sorted, with the paths each can mean, the likeliest first.\nvar names = []nameEntry{\n")
	for _, name := range tables.SortedKeys(names) {
		fmt.Fprintf(b, "{%q, %q},\n", name, strings.Join(inOrder(name, names[name]), " "))
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// inOrder sorts the paths of one package name: the preferred one, then those with that last element before versions
// of it (math/rand/v2), fewer elements first.
func inOrder(name string, paths []string) []string {
	rank := func(path string) int {
		switch {
		case path == preferred[name]:
			return 0
		case strings.HasPrefix(path, preferred[name]+"/"):
			return 1
		default:
			return 2 + strings.Count(path, "/")
		}
	}
	paths = slices.Clone(paths)
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	return paths
}

// needs finds the packages whose interfaces a program can meet through the API of another package. yaegi wraps an
// interpreted value in the wrapper of the interface it is passed as, and finds the wrapper by the interface's package.
type needs struct {
	importable map[*types.Package]bool
}

func newNeeds(lib *library) *needs {
	n := &needs{importable: map[*types.Package]bool{}}
	for _, p := range lib.packages {
		n.importable[p.Types] = skipped[p.ImportPath] == ""
	}
	return n
}

func (n *needs) of(pkg *types.Package) []string {
	v := &needsVisitor{seen: map[types.Type]bool{}, found: map[string]bool{}, needs: n}
	for _, name := range pkg.Scope().Names() {
		if object := pkg.Scope().Lookup(name); object.Exported() && !tables.Generic(object.Type()) {
			v.visit(object.Type())
		}
	}
	delete(v.found, pkg.Path())
	return tables.SortedKeys(v.found)
}

type needsVisitor struct {
	*needs
	seen  map[types.Type]bool
	found map[string]bool
}

// visit walks what a program can reach from a value of type t: through fields, methods, elements, calls.
func (v *needsVisitor) visit(t types.Type) {
	if t == nil || v.seen[t] {
		return
	}
	v.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		v.visit(types.Unalias(t))
	case *types.Named:
		v.named(t)
	case *types.Pointer:
		v.visit(t.Elem())
	case *types.Slice:
		v.visit(t.Elem())
	case *types.Array:
		v.visit(t.Elem())
	case *types.Chan:
		v.visit(t.Elem())
	case *types.Map:
		v.visit(t.Key())
		v.visit(t.Elem())
	case *types.Tuple:
		for x := range t.Variables() {
			v.visit(x.Type())
		}
	case *types.Signature:
		v.visit(t.Params())
		v.visit(t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				v.visit(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			v.visit(m.Type())
		}
	}
}

func (v *needsVisitor) named(t *types.Named) {
	object := t.Obj()
	if object.Pkg() != nil && v.importable[object.Pkg()] && object.Exported() && types.IsInterface(t) {
		v.found[object.Pkg().Path()] = true
	}
	for m := range t.Methods() {
		if m.Exported() {
			v.visit(m.Type())
		}
	}
	v.visit(t.Underlying())
}
