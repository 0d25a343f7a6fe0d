package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
)

// docs gives a zip archive with one JSON object for each package: the doc comments of its exported declarations by
// name ("" is the package, T.M a method or field). The package builtin is there too, for the language's own names.
func (lib *library) docs() ([]byte, error) {
	entries := map[string][]byte{}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	builtin := &libraryPackage{
		ImportPath: "builtin",
		Dir:        filepath.Join(strings.TrimSpace(string(root)), "src", "builtin"),
		GoFiles:    []string{"builtin.go"},
	}
	for _, p := range append([]*libraryPackage{builtin}, lib.packages...) {
		comments, err := p.comments()
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", p.ImportPath, err)
		}
		if entries[p.ImportPath], err = json.Marshal(comments); err != nil {
			return nil, err
		}
	}
	return archive(entries)
}

func (p *libraryPackage) comments() (comments, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	mode := doc.PreserveAST
	if p.ImportPath == "builtin" {
		mode |= doc.AllDecls // its names are the language's, in lower case
	}
	pkg, err := doc.NewFromFiles(fset, files, p.ImportPath, mode)
	if err != nil {
		return nil, err
	}
	c := comments{}
	c.add("", pkg.Doc)
	c.values(pkg.Consts, pkg.Vars)
	c.functions("", pkg.Funcs)
	for _, t := range pkg.Types {
		c.add(t.Name, t.Doc)
		c.values(t.Consts, t.Vars)
		c.functions("", t.Funcs)
		c.functions(t.Name+".", t.Methods)
		for _, spec := range t.Decl.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.Name == t.Name {
				c.members(t.Name, spec.Type)
			}
		}
	}
	return c, nil
}

// comments are the doc comments of a package by name.
type comments map[string]string

func (c comments) add(name, text string) {
	if text = strings.TrimSpace(text); text != "" {
		c[name] = text
	}
}

func (c comments) functions(prefix string, functions []*doc.Func) {
	for _, f := range functions {
		c.add(prefix+f.Name, f.Doc)
	}
}

// values adds constants and variables: each has its own comment, or else that of the group it is declared in.
func (c comments) values(lists ...[]*doc.Value) {
	for _, list := range lists {
		for _, v := range list {
			for _, spec := range v.Decl.Specs {
				spec, ok := spec.(*ast.ValueSpec)
				if !ok {
					continue
				}
				text := firstText(spec.Doc, spec.Comment)
				if text == "" {
					text = v.Doc
				}
				for _, name := range spec.Names {
					c.add(name.Name, text)
				}
			}
		}
	}
}

// members adds the commented fields of a struct and the methods of an interface.
func (c comments) members(typeName string, t ast.Expr) {
	var list *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			if name.IsExported() {
				c.add(typeName+"."+name.Name, firstText(field.Doc, field.Comment))
			}
		}
	}
}

func firstText(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := g.Text(); text != "" {
			return text
		}
	}
	return ""
}
