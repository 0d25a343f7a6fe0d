package main

import (
	"encoding/json"
	"fmt"
	"go/types"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gorovod/gorovod/interp/internal/tables"
)

// A library is the importable part of the standard library as one target sees it.
type library struct {
	target   tables.Target
	packages []*tables.Package // sorted by path
}

// load compiles the standard library for a target and reads the export data of its importable packages.
func load(t tables.Target) (*library, error) {
	packages, err := tables.Load(t, "std")
	return &library{t, packages}, err
}

// exportData gives a zip archive with one file of export data for each package, named by its path.
func (lib *library) exportData() ([]byte, error) {
	entries := map[string][]byte{}
	for _, p := range lib.packages {
		if p.Types == types.Unsafe {
			continue
		}
		var err error
		if entries[p.ImportPath], err = p.ExportData(); err != nil {
			return nil, err
		}
	}
	return tables.Archive(entries)
}

// docs gives a zip archive with one JSON object for each package: the doc comments of its exported declarations by
// name. The package builtin is there too, for the language's own names.
func (lib *library) docs() ([]byte, error) {
	entries := map[string][]byte{}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	builtin := &tables.Package{
		ImportPath: "builtin",
		Dir:        filepath.Join(strings.TrimSpace(string(root)), "src", "builtin"),
		GoFiles:    []string{"builtin.go"},
	}
	for _, p := range append([]*tables.Package{builtin}, lib.packages...) {
		comments, err := p.Comments()
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", p.ImportPath, err)
		}
		if entries[p.ImportPath], err = json.Marshal(comments); err != nil {
			return nil, err
		}
	}
	return tables.Archive(entries)
}
