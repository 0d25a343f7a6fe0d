package interp

import (
	"go/types"
)

// travels says why values of a type cannot go to another process, or nothing. What only the value itself shows (a
// channel in an interface, a cycle) is found when it is encoded.
func travels(t types.Type, pkg *types.Package) string {
	return stuck(t, pkg, map[types.Type]bool{})
}

func stuck(t types.Type, pkg *types.Package, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	switch u := types.Unalias(t).(type) {
	case *types.Named:
		return stuckNamed(u, pkg, seen)
	case *types.Basic:
		if u.Kind() == types.UnsafePointer {
			return "an unsafe.Pointer has no meaning in another process"
		}
	case *types.Chan:
		return "a channel cannot leave its process"
	case *types.Signature:
		return "a function value cannot leave its process (declare a function, code travels by its source)"
	case *types.Pointer:
		return stuck(u.Elem(), pkg, seen)
	case *types.Slice:
		return stuck(u.Elem(), pkg, seen)
	case *types.Array:
		return stuck(u.Elem(), pkg, seen)
	case *types.Map:
		if why := stuck(u.Key(), pkg, seen); why != "" {
			return "in its keys, " + why
		}
		return stuck(u.Elem(), pkg, seen)
	case *types.Struct:
		for f := range u.Fields() {
			if why := stuck(f.Type(), pkg, seen); why != "" {
				return "in its field " + f.Name() + ", " + why
			}
		}
	}
	return ""
}

func stuckNamed(t *types.Named, pkg *types.Package, seen map[types.Type]bool) string {
	obj := t.Obj()
	if obj.Pkg() == nil || obj.Pkg() == pkg {
		return stuck(t.Underlying(), pkg, seen)
	}
	full := obj.Pkg().Path() + "." + obj.Name()
	if obj.Pkg().Path() == "sync" || obj.Pkg().Path() == "sync/atomic" {
		return "a " + full + " guards memory of its own process"
	}
	if marshals(t, "MarshalBinary", "UnmarshalBinary") || marshals(t, "GobEncode", "GobDecode") || marshals(t, "MarshalText", "UnmarshalText") {
		return ""
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return stuck(t.Underlying(), pkg, seen)
	}
	for f := range s.Fields() {
		if !f.Exported() {
			return "a " + full + " keeps its data to itself and has no binary form (MarshalBinary)"
		}
	}
	return stuck(s, pkg, seen)
}

func marshals(t types.Type, marshal, unmarshal string) bool {
	set := types.NewMethodSet(types.NewPointer(t))
	return set.Lookup(nil, marshal) != nil && set.Lookup(nil, unmarshal) != nil
}
