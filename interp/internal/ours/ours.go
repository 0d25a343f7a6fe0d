// Package ours holds what a notebook knows of the packages that come with gorovod: display and hvd. It gives what
// package stdlib gives of the standard library: their types for the checker, tables of their symbols for the
// interpreter, and their doc comments. All of it is generated from the packages' source and committed; a test fails
// when it no longer is what the source says.
package ours

//go:generate go run ./gen

import (
	"embed"
	"encoding/json"
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/traefik/yaegi/interp"

	"github.com/gorovod/gorovod/interp/internal/stdlib"
)

// Module is what the import paths of the packages begin with.
const Module = "github.com/gorovod/gorovod/"

// A packageEntry is a line of the generated index.
type packageEntry struct {
	name    string // the path is Module + name
	has     string // the names of its symbols, separated by spaces
	needs   string // import paths, separated by spaces
	symbols func() map[string]reflect.Value
}

// aliases are the other paths that a cell may import the packages by. The last ones are those of gophernotes.
var aliases = map[string]string{
	"hvd":                               Module + "hvd",
	"display":                           Module + "display",
	"github.com/gopherdata/gophernotes": Module + "display",
	"github.com/gopherdata/gophernotes/display": Module + "display",
}

// Path gives the import path of a package by any path that a cell may import it by, or "" if it is none of ours.
func Path(path string) string {
	if full := aliases[path]; full != "" {
		return full
	}
	if entry(path) != nil {
		return path
	}
	return ""
}

func entry(path string) *packageEntry {
	for i := range packages {
		if path == Module+packages[i].name {
			return &packages[i]
		}
	}
	return nil
}

// Packages lists the import paths, sorted.
func Packages() []string {
	paths := make([]string, len(packages))
	for i, p := range packages {
		paths[i] = Module + p.name
	}
	return paths
}

// ByName gives the import path of the package of a name, or "".
func ByName(name string) string { return Path(Module + name) }

//go:embed data
var data embed.FS

// Import gives the types of the package with an import path. What it says of the standard library is identical to what
// std gives, and std gives the same package to the same path ever after.
func Import(std *stdlib.Importer, path string) (*types.Package, error) {
	p := entry(path)
	if p == nil {
		return nil, fmt.Errorf("%s is not a package of gorovod's that a cell can import", path)
	}
	exports, err := data.ReadFile("data/" + p.name + ".export")
	if err != nil {
		return nil, fmt.Errorf("the embedded types of %s: %w", path, err)
	}
	return std.Read(path, exports)
}

// cache holds the tables built so far, by import path. They are facts about the binary, not state of a session.
var cache sync.Map // string to interp.Exports

// Symbols gives what the interpreter's Use takes for one package, or false if it is none of ours. The tables are built
// once and shared: callers do not change them.
func Symbols(path string) (interp.Exports, bool) {
	if built, ok := cache.Load(path); ok {
		return built.(interp.Exports), true
	}
	p := entry(path)
	if p == nil {
		return nil, false
	}
	built, _ := cache.LoadOrStore(path, interp.Exports{path + "/" + p.name: p.symbols()})
	return built.(interp.Exports), true
}

// Has tells whether the interpreter has the symbol name of the package path.
func Has(path, name string) bool {
	p := entry(path)
	return p != nil && slices.Contains(strings.Fields(p.has), name)
}

// Needs lists the other packages whose symbols an interpreter must also have to run code that imports path; see
// stdlib.Needs.
func Needs(path string) []string {
	if p := entry(path); p != nil {
		return strings.Fields(p.needs)
	}
	return nil
}

var docs = sync.OnceValue(func() map[string]map[string]string {
	comments := map[string]map[string]string{}
	text, err := data.ReadFile("data/docs.json")
	if err != nil || json.Unmarshal(text, &comments) != nil {
		return nil // a hint for a reader is no reason to fail; the tests hold that it is whole
	}
	return comments
})

// Doc gives the doc comment of a declaration, or "" if there is none; see stdlib.Doc.
func Doc(path, name string) string { return docs()[path][name] }
