package stdlib

import (
	"archive/zip"
	"bytes"
	"fmt"
	"go/token"
	"go/types"
	"strings"
	"sync"

	"golang.org/x/tools/go/gcexportdata"
)

// An Importer gives go/types the packages of the standard library from the embedded export data. It reads a package
// when it is first asked for it and gives the same *types.Package ever after, so the types of one check are identical
// to those of the next. It is safe for use by several goroutines.
//
// The objects of these packages have no positions: there is no source text where a notebook runs.
type Importer struct {
	open func() (*zip.Reader, error)

	mu sync.Mutex
	// known holds every package met so far. Reading one also makes parts of those that it refers to, which are
	// completed when they are asked for themselves.
	known map[string]*types.Package
	fset  *token.FileSet
}

var _ types.ImporterFrom = (*Importer)(nil)

// NewImporter gives an importer that has read nothing yet.
func NewImporter() *Importer {
	return &Importer{
		open:  sync.OnceValues(func() (*zip.Reader, error) { return openArchive(typesArchive) }),
		known: map[string]*types.Package{},
		fset:  token.NewFileSet(),
	}
}

func openArchive(data string) (*zip.Reader, error) {
	return zip.NewReader(strings.NewReader(data), int64(len(data)))
}

// Import gives the types of the package with an import path.
func (im *Importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if entry(path) == nil {
		return nil, fmt.Errorf("package %s is not in the standard library (%s)", path, GoVersion)
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	if pkg := im.known[path]; pkg != nil && pkg.Complete() {
		return pkg, nil
	}
	archive, err := im.open()
	if err != nil {
		return nil, fmt.Errorf("opening the embedded types: %w", err)
	}
	f, err := archive.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the embedded types of %s: %w", path, err)
	}
	defer f.Close()
	pkg, err := gcexportdata.Read(f, im.fset, im.known, path)
	if err != nil {
		return nil, fmt.Errorf("the embedded types of %s: %w", path, err)
	}
	return pkg, nil
}

// Read gives the types of a package outside the standard library from its export data, as gcexportdata.Write wrote it.
// What the package says of the standard library is identical to what Import gives.
func (im *Importer) Read(path string, exportData []byte) (*types.Package, error) {
	if entry(path) != nil {
		return nil, fmt.Errorf("reading the types of %s: the standard library has that package", path)
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	if pkg := im.known[path]; pkg != nil && pkg.Complete() {
		return pkg, nil
	}
	pkg, err := gcexportdata.Read(bytes.NewReader(exportData), im.fset, im.known, path)
	if err != nil {
		return nil, fmt.Errorf("reading the types of %s: %w", path, err)
	}
	return pkg, nil
}

// ImportFrom is Import: the standard library looks the same from every folder.
func (im *Importer) ImportFrom(path, _ string, _ types.ImportMode) (*types.Package, error) {
	return im.Import(path)
}
