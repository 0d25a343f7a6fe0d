package interp

import (
	"fmt"
	"go/types"
	"strings"

	yaegi "github.com/traefik/yaegi/interp"

	"github.com/gorovod/gorovod/interp/internal/generic"
	"github.com/gorovod/gorovod/interp/internal/ours"
	"github.com/gorovod/gorovod/interp/internal/stdlib"
)

// packages knows the types of what a cell can import: the standard library, display and hvd.
type packages struct {
	std *stdlib.Importer
}

func newPackages() *packages { return &packages{std: stdlib.NewImporter()} }

func (p *packages) Import(path string) (*types.Package, error) {
	if path == "C" {
		return nil, fmt.Errorf("cgo is not supported by the interpreter")
	}
	if why := stdlib.Unsupported(path); why != "" {
		return nil, fmt.Errorf("%s is not supported by the interpreter: %s", path, why)
	}
	if full := ours.Path(path); full != "" {
		return ours.Import(p.std, full)
	}
	pkg, err := p.std.Import(path)
	if err != nil {
		return nil, fmt.Errorf("package %s is not known: a cell can import the standard library, display and hvd", path)
	}
	return pkg, nil
}

// pathsByName gives the paths of the packages that a cell may name without importing them, the likeliest first.
func pathsByName(name string) []string {
	if path := ours.ByName(name); path != "" {
		return []string{path}
	}
	return stdlib.ByName(name)
}

// hasSymbol tells whether the evaluator has a member of a package.
func hasSymbol(path, name string) bool { return ours.Has(path, name) || stdlib.Has(path, name) }

// symbols gives what the evaluator takes for a package, and the other packages that it then needs.
func symbols(path string) (table yaegi.Exports, needs []string, ok bool) {
	if native := generic.Symbols(path, encodeName); native != nil {
		return yaegi.Exports{path + "/" + lastElement(path): native}, strings.Fields(strings.TrimPrefix(path, generic.Prefix)), true
	}
	if table, ok = ours.Symbols(path); ok {
		return table, ours.Needs(path), true
	}
	table, ok = stdlib.Symbols(path)
	return table, stdlib.Needs(path), ok
}

// globals are the functions that a cell can use as if it had declared them, with the packages that they are from.
var globals = map[string]string{"Display": ours.Module + "display"}

// StandardPackages is the number of packages of the standard library that a cell can import.
func StandardPackages() int { return len(stdlib.Packages()) }
