package main

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/gorovod/gorovod/interp/internal/tables"
)

// preferred settles which package a bare name most likely means where the general order below would not.
var preferred = map[string]string{
	"rand":     "math/rand",
	"template": "text/template",
	"scanner":  "text/scanner",
	"pprof":    "runtime/pprof",
	"trace":    "runtime/trace",
}

// indexFile writes the list of packages: path, name, symbols, and the packages that its API needs; the skipped ones
// with the reason; and which paths a package name can mean.
func indexFile(lib *library) []byte {
	b := header()
	fmt.Fprintf(b, "package stdlib\n\n// GoVersion is the Go release whose standard library this is.\nconst GoVersion = %q\n\n", minorVersion())
	b.WriteString("// packages are the importable packages, sorted by path.\nvar packages = []packageEntry{\n")
	importable := map[*types.Package]bool{}
	for _, p := range lib.packages {
		importable[p.Types] = skipped[p.ImportPath] == ""
	}
	names := map[string][]string{}
	for _, p := range lib.packages {
		if reason := skipped[p.ImportPath]; reason != "" {
			fmt.Fprintf(b, "{path: %q, name: %q, unsupported: %q},\n", p.ImportPath, p.Types.Name(), reason)
		} else if p.Types == types.Unsafe {
			fmt.Fprintf(b, "{path: %q, name: %q}, // its symbols are yaegi's own\n", p.ImportPath, p.Types.Name())
		} else {
			fmt.Fprintf(b, "{path: %q, name: %q, symbols: symbols_%s, needs: %q},\n",
				p.ImportPath, p.Types.Name(), tables.Identifier(p.ImportPath), strings.Join(p.Needs(func(q *types.Package) bool { return importable[q] }), " "))
		}
		names[p.Types.Name()] = append(names[p.Types.Name()], p.ImportPath)
	}
	b.WriteString("}\n\n// names are the package names, sorted, with the paths each can mean, the likeliest first.\nvar names = []nameEntry{\n")
	for _, name := range tables.SortedKeys(names) {
		fmt.Fprintf(b, "{%q, %q},\n", name, strings.Join(inOrder(name, names[name]), " "))
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// inOrder sorts the paths of one package name: the preferred one, then those with that last element before versions
// of it (math/rand/v2), fewer elements first.
func inOrder(name string, paths []string) []string {
	rank := func(path string) int {
		switch {
		case path == preferred[name]:
			return 0
		case strings.HasPrefix(path, preferred[name]+"/"):
			return 1
		default:
			return 2 + strings.Count(path, "/")
		}
	}
	paths = slices.Clone(paths)
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	return paths
}
