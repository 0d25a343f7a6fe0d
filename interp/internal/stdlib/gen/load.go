package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/tools/go/gcexportdata"
)

// A library is the importable part of the standard library as one target sees it.
type library struct {
	target   target
	packages []*libraryPackage // sorted by path
}

// A libraryPackage is what the go command tells of a package, with the package's types.
type libraryPackage struct {
	ImportPath, Name, Dir, Export string
	GoFiles                       []string
	types                         *types.Package
}

// importable tells whether a program outside the standard library may import path.
func importable(path string) bool {
	for elem := range strings.SplitSeq(path, "/") {
		if elem == "internal" || elem == "vendor" {
			return false
		}
	}
	return !strings.HasPrefix(path, "cmd/")
}

// load compiles the standard library for a target and reads the export data of its importable packages.
func load(t target) (*library, error) {
	list := exec.Command("go", "list", "-export", "-trimpath", "-json=ImportPath,Name,Dir,Export,GoFiles", "std")
	list.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	lib := &library{target: t}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(libraryPackage)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of %s: %w", list, err)
		}
		if importable(p.ImportPath) {
			lib.packages = append(lib.packages, p)
		}
	}
	slices.SortFunc(lib.packages, func(a, b *libraryPackage) int { return cmp.Compare(a.ImportPath, b.ImportPath) })
	return lib, lib.readTypes()
}

func (lib *library) readTypes() error {
	known := map[string]*types.Package{"unsafe": types.Unsafe}
	fset := token.NewFileSet()
	for _, p := range lib.packages {
		if p.ImportPath == "unsafe" {
			p.types = types.Unsafe
			continue
		}
		f, err := os.Open(p.Export)
		if err != nil {
			return fmt.Errorf("export data of %s: %w", p.ImportPath, err)
		}
		p.types, err = readExport(f, fset, known, p.ImportPath)
		f.Close()
		if err != nil {
			return fmt.Errorf("export data of %s: %w", p.ImportPath, err)
		}
	}
	return nil
}

func readExport(in io.Reader, fset *token.FileSet, known map[string]*types.Package, path string) (*types.Package, error) {
	//lint:ignore SA1019 go list -export of this toolchain still gives compiler archives, which only NewReader opens.
	section, err := gcexportdata.NewReader(in)
	if err != nil {
		return nil, err
	}
	return gcexportdata.Read(section, fset, known, path)
}

// exportData gives a zip archive with one file of export data for each package, named by its path. Positions are left
// out: they would name files that are not there where a notebook runs.
func (lib *library) exportData() ([]byte, error) {
	entries := map[string][]byte{}
	for _, p := range lib.packages {
		if p.types == types.Unsafe {
			continue
		}
		var b bytes.Buffer
		if err := gcexportdata.Write(&b, token.NewFileSet(), p.types); err != nil {
			return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		entries[p.ImportPath] = b.Bytes()
	}
	return archive(entries)
}

// archive packs entries into a zip archive, in the order of their names and without times.
func archive(entries map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(entries[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
