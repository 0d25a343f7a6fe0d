package main

import (
	"bytes"
	"fmt"
	"go/constant"
	"go/types"
	"strconv"

	"github.com/gorovod/gorovod/interp/internal/tables"
)

// skipped are the packages that the interpreter gets no symbols of, with the reason that a user is told.
var skipped = map[string]string{
	"plugin": "it needs cgo and the dynamic linker, and gorovod is a static binary",
	"unsafe": "it has no symbols: the compiler itself implements it",
}

// symbolFiles writes the symbol tables: a file per package where all targets agree, else a file per target.
func symbolFiles(libraries []*library) (map[string][]byte, error) {
	files := map[string][]byte{}
	for i, p := range libraries[0].packages {
		if skipped[p.ImportPath] != "" || p.Types == types.Unsafe {
			continue
		}
		var perTarget [][]byte
		for _, lib := range libraries {
			other := lib.packages[min(i, len(lib.packages)-1)]
			if other.ImportPath != p.ImportPath {
				return nil, fmt.Errorf("%s has package %s where %s has %s", lib.target, other.ImportPath, libraries[0].target, p.ImportPath)
			}
			source, err := symbolFile(other)
			if err != nil {
				return nil, fmt.Errorf("symbols for %s: %w", lib.target, err)
			}
			perTarget = append(perTarget, source)
		}
		base := "zsymbols_" + tables.Identifier(p.ImportPath)
		if allEqual(perTarget) {
			// The trailing _std keeps a path such as os/user or a future x/linux from being read as a build tag.
			files[base+"_std.go"] = perTarget[0]
			continue
		}
		for j, lib := range libraries {
			files[base+"_"+lib.target.String()+".go"] = perTarget[j]
		}
	}
	return files, nil
}

func allEqual(sources [][]byte) bool {
	for _, s := range sources[1:] {
		if !bytes.Equal(s, sources[0]) {
			return false
		}
	}
	return true
}

func symbolFile(p *tables.Package) ([]byte, error) {
	t, err := p.Symbols()
	if err != nil {
		return nil, err
	}
	b := header()
	b.WriteString("//lint:file-ignore SA1019 What is deprecated is still there to be used.\n\n")
	fmt.Fprintf(b, "package stdlib\n\n%s\nvar symbols_%s = []symbol{\n", t.ImportDecl(), tables.Identifier(p.ImportPath))
	for _, name := range tables.SortedKeys(t.Entries) {
		e := t.Entries[name]
		if e.Const != nil {
			e.Expr = untyped(e.Const)
		}
		fmt.Fprintf(b, "{%q, %s},\n", name, e.Expr)
	}
	b.WriteString("}\n")
	for _, w := range t.Wrappers {
		b.WriteString(w.Source())
	}
	return b.Bytes(), nil
}

// untyped writes an untyped constant by its exact value.
func untyped(c *types.Const) string {
	value := c.Val()
	switch c.Type().(*types.Basic).Kind() {
	case types.UntypedBool:
		return strconv.FormatBool(constant.BoolVal(value))
	case types.UntypedString:
		return fmt.Sprintf("untypedString(%q)", constant.StringVal(value))
	case types.UntypedInt, types.UntypedRune:
		value = constant.ToInt(value)
		if small, exact := constant.Int64Val(value); exact {
			return fmt.Sprintf("untypedInt(%d)", small)
		}
		return fmt.Sprintf("untypedBigInt(%q)", value.ExactString())
	default:
		return fmt.Sprintf("untypedFloat(%q)", constant.ToFloat(value).ExactString())
	}
}
