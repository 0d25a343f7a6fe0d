package tables

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// Comments gives the doc comments of the package's exported declarations by name: "" is the package, T.M a method or
// field. The package builtin has the language's own names.
func (p *Package) Comments() (map[string]string, error) {
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
