package tables

import "go/types"

// Needs finds the packages whose interfaces a program can meet through the API of this one, itself left out. yaegi
// wraps an interpreted value in the wrapper of the interface it is passed as, and finds the wrapper by the interface's
// package. The function importable tells which packages have a table.
func (p *Package) Needs(importable func(*types.Package) bool) []string {
	v := &needsVisitor{seen: map[types.Type]bool{}, found: map[string]bool{}, importable: importable}
	scope := p.Types.Scope()
	for _, name := range scope.Names() {
		if object := scope.Lookup(name); object.Exported() && !Generic(object.Type()) {
			v.visit(object.Type())
		}
	}
	delete(v.found, p.ImportPath)
	return SortedKeys(v.found)
}

type needsVisitor struct {
	seen       map[types.Type]bool
	found      map[string]bool
	importable func(*types.Package) bool
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
	if object.Pkg() != nil && v.importable(object.Pkg()) && object.Exported() && types.IsInterface(t) {
		v.found[object.Pkg().Path()] = true
	}
	for m := range t.Methods() {
		if m.Exported() {
			v.visit(m.Type())
		}
	}
	v.visit(t.Underlying())
}
