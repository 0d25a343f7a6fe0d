// Command gen writes what package generic embeds: the source of the standard library's generic functions and types, from
// the toolchain that builds the binary, with our own in the place of what cannot be interpreted; and the table of
// instances that are compiled in.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// taken are the packages whose source is taken from the toolchain, the others have only our own.
var taken = []string{"slices", "maps", "cmp"}

var own = map[string]string{
	"slices": "slices", "maps": "maps", "iter": "iter", "sync": "sync", "sync/atomic": "sync_atomic",
	"math/rand/v2": "math_rand_v2", "errors": "errors", "reflect": "reflect",
}

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# The generic code of Go's standard library, %s, in the form that copies are made of.\n", runtime.Version())
	out.WriteString("# Copyright 2009 The Go Authors. All rights reserved. Use of this source code is governed by the BSD-style\n" +
		"# license of Go, https://go.dev/LICENSE. Changed: names, and what package generic has its own for.\n")
	paths := slices.Sorted(maps.Keys(own))
	paths = append(paths, "cmp")
	for _, path := range paths {
		if err := source(&out, path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := os.WriteFile("zsource.txt", out.Bytes(), 0o644); err != nil {
		return err
	}
	return natives()
}

type function struct {
	name string
	decl ast.Decl
	file *ast.File
	fset *token.FileSet
}

func source(out *bytes.Buffer, path string) error {
	found := map[string]function{}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	if slices.Contains(taken, path) {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", path, "*.go"))
		if err != nil {
			return err
		}
		for _, f := range files {
			base := filepath.Base(f)
			if strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "zsort") {
				continue
			}
			if err := collect(found, f); err != nil {
				return err
			}
		}
	}
	if name, ok := own[path]; ok {
		if err := collect(found, filepath.Join("own", name+".go.txt")); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		f := found[name]
		if uses(f, "unsafe") { // for what our own does otherwise
			continue
		}
		rename(f, path, found)
		var b bytes.Buffer
		if err := printer.Fprint(&b, f.fset, f.decl); err != nil {
			return err
		}
		fmt.Fprintf(out, "== %s\n%s\n", encode(path+".")+name, b.String())
	}
	return nil
}

func uses(f function, pkg string) bool {
	found := false
	ast.Inspect(f.decl, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && id.Name == pkg {
				found = true
			}
		}
		return true
	})
	return found
}

func collect(found map[string]function, file string) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		return err
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			switch {
			case d.Recv != nil:
				name = receiver(d) + "." + name
			case d.Type.TypeParams == nil:
				continue
			}
			if d.Body != nil && (d.Recv == nil || found[receiver(d)].decl != nil) {
				found[name] = function{name, d, f, fset}
			}
		case *ast.GenDecl:
			if d.Tok != token.TYPE {
				continue
			}
			for _, s := range d.Specs {
				if spec := s.(*ast.TypeSpec); spec.TypeParams != nil || spec.Name.Name == "Ordered" {
					found[spec.Name.Name] = function{spec.Name.Name, &ast.GenDecl{Tok: token.TYPE, Specs: []ast.Spec{spec}}, f, fset}
				}
			}
		}
	}
	return nil
}

func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	if x, ok := t.(*ast.IndexExpr); ok {
		t = x.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return "?"
}

// rename gives what a declaration names the names that it has in a notebook's package.
func rename(f function, path string, found map[string]function) {
	imports := map[string]string{}
	for _, s := range f.file.Imports {
		p, _ := strconv.Unquote(s.Path.Value)
		name := p[strings.LastIndexByte(p, '/')+1:]
		if p == "math/rand/v2" {
			name = "rand"
		}
		imports[name] = p
	}
	outside := map[*ast.Ident]bool{}
	for _, id := range f.file.Unresolved {
		outside[id] = true
	}
	fields := map[*ast.Ident]bool{}
	ast.Inspect(f.decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			fields[n.Sel] = true
			if id, ok := n.X.(*ast.Ident); ok && outside[id] && imports[id.Name] != "" {
				id.Name = strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(imports[id.Name]) + "ᐧ"
			}
		case *ast.FuncDecl:
			if n.Recv != nil {
				fields[n.Name] = true
			}
		case *ast.Ident:
			if _, there := found[n.Name]; !there || fields[n] {
				return true
			}
			if outside[n] || n.Obj != nil && f.file.Scope.Lookup(n.Name) == n.Obj {
				n.Name = encode(path+".") + n.Name
			}
		}
		return true
	})
}

func encode(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			b.WriteRune(r)
		} else {
			b.WriteRune(r + 0x1500)
		}
	}
	return b.String()
}

// A native function is compiled in for the common element types.
type native struct {
	path, name, args, expr string
}

func natives() error {
	var list []native
	add := func(path, name, args, given string) {
		pkg := path[strings.LastIndexByte(path, '/')+1:]
		if path == "math/rand/v2" {
			pkg = "rand"
		}
		list = append(list, native{path, name, args, pkg + "." + name + "[" + given + "]"})
	}
	for _, e := range []string{"int", "int64", "float64", "string", "uint8", "int32"} {
		s := "[]" + e
		for _, f := range strings.Fields("Sort SortFunc SortStableFunc IsSorted IsSortedFunc Min Max MinFunc MaxFunc BinarySearch " +
			"Equal Compare Index IndexFunc Contains ContainsFunc Insert Delete DeleteFunc Replace Clone Compact CompactFunc Grow " +
			"Clip Reverse Concat Repeat All Backward Values AppendSeq Chunk") {
			add("slices", f, s+","+e, s)
		}
		add("slices", "EqualFunc", s+","+s+","+e+","+e, s+","+s)
		add("slices", "BinarySearchFunc", s+","+e+","+e, s+","+e+","+e)
		for _, f := range strings.Fields("Collect Sorted SortedFunc SortedStableFunc") {
			add("slices", f, e, e)
		}
		for _, f := range strings.Fields("Compare Less Or") {
			add("cmp", f, e, e)
		}
	}
	for _, k := range []string{"string", "int"} {
		for _, v := range []string{"int", "float64", "string", "bool", "[]int", "[]string", "[]float64"} {
			m := "map[" + k + "]" + v
			for _, f := range strings.Fields("Keys Values All Insert Clone DeleteFunc") {
				add("maps", f, m+","+k+","+v, m)
			}
			add("maps", "Copy", m+","+m+","+k+","+v, m+","+m)
			add("maps", "Collect", k+","+v, k+","+v)
			if !strings.HasPrefix(v, "[") {
				add("maps", "Equal", m+","+m+","+k+","+v, m+","+m)
			}
		}
	}
	for _, e := range []string{"int", "int32", "int64", "uint32", "uint64", "time.Duration"} {
		add("math/rand/v2", "N", e, e)
	}
	add("iter", "Pull", "int", "int")
	for _, h := range []string{"crypto/hkdf.Extract", "crypto/hkdf.Expand", "crypto/hkdf.Key", "crypto/pbkdf2.Key"} {
		path, name, _ := strings.Cut(h, ".")
		add(path, name, "hash.Hash", "hash.Hash")
	}
	for _, e := range []string{"string", "int"} {
		add("unique", "Make", e, e)
	}
	byPath := map[string][]native{}
	for _, n := range list {
		byPath[n.path] = append(byPath[n.path], n)
	}
	var b bytes.Buffer
	b.WriteString("// Code generated by gen. DO NOT EDIT.\n\npackage generic\n\nimport (\n")
	paths := slices.Sorted(maps.Keys(byPath))
	for _, p := range append([]string{"hash", "time"}, paths...) {
		fmt.Fprintf(&b, "%q\n", p)
	}
	b.WriteString(")\n\n")
	for _, p := range paths {
		fmt.Fprintf(&b, "func native_%s(name string) any {\nswitch name {\n", strings.ReplaceAll(p, "/", "_"))
		for _, n := range byPath[p] {
			fmt.Fprintf(&b, "case %q: return %s\n", n.name+"["+n.args+"]", n.expr)
		}
		b.WriteString("}\nreturn nil\n}\n\n")
	}
	b.WriteString("func native(path, name string) any {\nswitch path {\n")
	for _, p := range paths {
		fmt.Fprintf(&b, "case %q: return native_%s(name)\n", p, strings.ReplaceAll(p, "/", "_"))
	}
	b.WriteString("}\nreturn nil\n}\n\nvar nativeNames = map[string]string{\n")
	for _, p := range paths {
		var names []string
		for _, n := range byPath[p] {
			names = append(names, n.name+"["+n.args+"]")
		}
		fmt.Fprintf(&b, "%q: %q,\n", p, strings.Join(names, " "))
	}
	b.WriteString("}\n\nvar nativeTypes = map[string]any{\n\"unique.Handle[string]\": (*unique.Handle[string])(nil),\n\"unique.Handle[int]\": (*unique.Handle[int])(nil),\n}\n")
	text, err := format.Source(b.Bytes())
	if err != nil {
		return fmt.Errorf("%w\n%s", err, b.String())
	}
	return os.WriteFile("znative.go", text, 0o644)
}
