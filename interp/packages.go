package interp

import (
	"fmt"
	"go/types"

	"github.com/gorovod/gorovod/interp/internal/stdlib"
)

// The packages of ours that a cell can use, by the paths that it can use for them.
var ourPaths = map[string]string{
	"display": "github.com/gorovod/gorovod/display",
	"hvd":     "github.com/gorovod/gorovod/hvd",
	"github.com/gopherdata/gophernotes/display": "github.com/gorovod/gorovod/display",
	"github.com/gorovod/gorovod/display":        "github.com/gorovod/gorovod/display",
	"github.com/gorovod/gorovod/hvd":            "github.com/gorovod/gorovod/hvd",
}

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
	pkg, err := p.std.Import(path)
	if err != nil {
		return nil, fmt.Errorf("package %s is not known: a cell can import the standard library, display and hvd", path)
	}
	return pkg, nil
}

// stdByName gives the paths of the packages that a cell may name without importing them, the likeliest first.
func stdByName(name string) []string {
	if name == "display" || name == "hvd" {
		return []string{name}
	}
	return stdlib.ByName(name)
}

// StandardPackages is the number of packages of the standard library that a cell can import.
func StandardPackages() int { return len(stdlib.Packages()) }
