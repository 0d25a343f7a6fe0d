package tables

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

// A Target is an operating system and architecture that gorovod is built for.
type Target struct{ OS, Arch string }

func (t Target) String() string { return t.OS + "_" + t.Arch }

// A Package is what the go command tells of a package, with the package's types.
type Package struct {
	ImportPath, Name, Dir, Export string
	GoFiles                       []string
	Types                         *types.Package
}

// Importable tells whether a program outside the standard library may import path.
func Importable(path string) bool {
	for elem := range strings.SplitSeq(path, "/") {
		if elem == "internal" || elem == "vendor" {
			return false
		}
	}
	return !strings.HasPrefix(path, "cmd/")
}

// Load compiles packages for a target, without cgo, and gives the importable ones with their types, sorted by path.
func Load(t Target, patterns ...string) ([]*Package, error) {
	list := exec.Command("go", append([]string{"list", "-export", "-trimpath", "-json=ImportPath,Name,Dir,Export,GoFiles"}, patterns...)...)
	list.Env = append(os.Environ(), "GOOS="+t.OS, "GOARCH="+t.Arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	var packages []*Package
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(Package)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of %s: %w", list, err)
		}
		if Importable(p.ImportPath) {
			packages = append(packages, p)
		}
	}
	slices.SortFunc(packages, func(a, b *Package) int { return cmp.Compare(a.ImportPath, b.ImportPath) })
	return packages, readTypes(packages)
}

func readTypes(packages []*Package) error {
	known := map[string]*types.Package{"unsafe": types.Unsafe}
	fset := token.NewFileSet()
	for _, p := range packages {
		if p.ImportPath == "unsafe" {
			p.Types = types.Unsafe
			continue
		}
		f, err := os.Open(p.Export)
		if err != nil {
			return fmt.Errorf("export data of %s: %w", p.ImportPath, err)
		}
		p.Types, err = readExport(f, fset, known, p.ImportPath)
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

// ExportData gives the export data of a package. Positions are left out: they would name files that are not there where
// a notebook runs.
func (p *Package) ExportData() ([]byte, error) {
	var b bytes.Buffer
	if err := gcexportdata.Write(&b, token.NewFileSet(), p.Types); err != nil {
		return nil, fmt.Errorf("export data of %s: %w", p.ImportPath, err)
	}
	return b.Bytes(), nil
}

// Archive packs entries into a zip archive, in the order of their names and without times.
func Archive(entries map[string][]byte) ([]byte, error) {
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
