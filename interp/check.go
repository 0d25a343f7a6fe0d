package interp

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"runtime"
	"strings"

	"github.com/gorovod/gorovod/interp/internal/stdlib"
)

// This file applies go/types to a cell. It is done in two steps, because of what a notebook adds to Go: `x := f()` at
// the top level declares a variable that the cell's functions may use, yet its type is known only from the statement.
//
//  1. The cell's statements are checked as the body of a function, in which `x := f()` is what it is in Go: a local
//     variable, visible from there on, while names of earlier cells (also an older x) are those of the package around
//     it. Functions are there by their signatures only. This gives the types of the new variables.
//  2. The new variables join the package, and the bodies of functions are checked: the cell's own, and the older ones
//     that use a name which now means something else.
//
// An older declaration that no longer compiles does not refuse the cell: it is put aside, the user is warned, and who
// uses it is told why it is gone.

// verdict is what a pass of go/types says.
type verdict struct {
	pkg     *types.Package
	info    *types.Info
	errors  []types.Error
	conf    *types.Config
	prelude map[string]bool // what of the standard library's generic code it has
}

// scopeOf is what a pass sees at the package level.
type scopeOf struct {
	imports map[string]string
	dots    map[string]bool
	decls   []*decl
	bodies  map[*decl]bool // functions checked with their bodies
	dead    map[string]bool
	vars    []*entity
	extra   []ast.Decl
}

func (n *Notebook) pass(s scopeOf) *verdict {
	file := &ast.File{Name: ast.NewIdent("main")}
	add := func(d ast.Decl) { file.Decls = append(file.Decls, d) }
	for name, path := range s.imports {
		add(n.importDecl(name, path))
	}
	for path := range s.dots {
		add(n.importDecl(".", path))
	}
	varPaths := map[string]bool{}
	for _, v := range s.vars {
		for _, p := range v.typ {
			if p.world == evaluatorOnly {
				continue
			}
			if path, ok := strings.CutPrefix(p.ref, importRef); ok {
				varPaths[path] = true
			}
		}
	}
	for path := range varPaths {
		add(n.importDecl(n.checkAlias(path), path))
	}
	for _, h := range n.helpers {
		add(h)
	}
	for _, d := range s.decls {
		add(d.checkNode(s.bodies[d], s.dead))
	}
	var passing []*fragment // of no use after the pass
	for _, v := range s.vars {
		f := n.varDecl(v)
		passing = append(passing, f)
		add(f.file.Decls[0])
	}
	defer func() {
		for _, f := range passing {
			delete(n.frags, f.tfile)
			n.fset.RemoveFile(f.tfile)
		}
	}()
	for _, d := range s.extra {
		add(d)
	}
	v := &verdict{
		pkg: types.NewPackage("main", "main"),
		info: &types.Info{
			Types:      map[ast.Expr]types.TypeAndValue{},
			Instances:  map[*ast.Ident]types.Instance{},
			Defs:       map[*ast.Ident]types.Object{},
			Uses:       map[*ast.Ident]types.Object{},
			Implicits:  map[ast.Node]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
			Scopes:     map[ast.Node]*types.Scope{},
		},
	}
	n.insertGlobals(v.pkg, file)
	v.conf = &types.Config{
		Context:                  types.NewContext(),
		GoVersion:                GoVersion,
		Importer:                 n.imp,
		Sizes:                    types.SizesFor("gc", runtime.GOARCH),
		DisableUnusedImportCheck: true,
		Error: func(err error) {
			if te, ok := err.(types.Error); ok {
				v.errors = append(v.errors, te)
			}
		},
	}
	_ = types.NewChecker(v.conf, n.fset, v.pkg, v.info).Files([]*ast.File{file})
	return v
}

// GoVersion is the language of a cell.
const GoVersion = stdlib.GoVersion

// useGlobal makes the checker know a global, if there is one of that name. It is read when a cell first names it.
func (n *Notebook) useGlobal(name string) {
	path, ok := globals[name]
	if !ok || n.globals[name] != nil {
		return
	}
	if pkg, err := n.imp.Import(path); err == nil {
		n.globals[name] = pkg.Scope().Lookup(name)
	}
}

// insertGlobals puts the globals into the scope of a package to be checked, but for those whose names it declares.
// They are there as by a dot import, and lowered as such.
func (n *Notebook) insertGlobals(pkg *types.Package, file *ast.File) {
	if len(n.globals) == 0 {
		return
	}
	declared := map[string]bool{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			declared[d.Name.Name] = declared[d.Name.Name] || d.Recv == nil
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ImportSpec:
					if spec.Name != nil {
						declared[spec.Name.Name] = true
					}
				case *ast.TypeSpec:
					declared[spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						declared[id.Name] = true
					}
				}
			}
		}
	}
	for name, object := range n.globals {
		if !declared[name] {
			pkg.Scope().Insert(object)
		}
	}
}

func (n *Notebook) importDecl(name, path string) ast.Decl {
	spec := &ast.ImportSpec{Path: &ast.BasicLit{Kind: token.STRING, Value: fmt.Sprintf("%q", path)}}
	if name != "" {
		spec.Name = ast.NewIdent(name)
	}
	return &ast.GenDecl{Tok: token.IMPORT, Specs: []ast.Spec{spec}}
}

// checkAlias is the name by which the types of variables reach a package, whatever the user's names are.
func (n *Notebook) checkAlias(path string) string {
	alias := aliasOf(path)
	n.aliases[alias] = path
	return alias
}

func (n *Notebook) varDecl(v *entity) *fragment {
	return n.synthetic("var " + v.name + " " + n.checkText(v.typ))
}

// checkNode gives the syntax tree of a declaration as a pass shall see it.
func (d *decl) checkNode(body bool, dead map[string]bool) ast.Decl {
	switch node := d.node.(type) {
	case *ast.FuncDecl:
		if body || node.Body == nil {
			return node
		}
		c := *node
		c.Body = nil
		if node.Type.TypeParams != nil || receiverGeneric(node) {
			c.Body = &ast.BlockStmt{List: []ast.Stmt{&ast.ForStmt{Body: &ast.BlockStmt{}}}}
		}
		return &c
	case *ast.GenDecl:
		if d.kind != constKind || !d.anyDead(dead) {
			return node
		}
		g := *node
		g.Specs = nil
		for _, s := range node.Specs {
			spec := *s.(*ast.ValueSpec)
			spec.Names = append([]*ast.Ident(nil), spec.Names...)
			for i, id := range spec.Names {
				if dead[d.name+"/"+id.Name] {
					spec.Names[i] = &ast.Ident{NamePos: id.NamePos, Name: "_"}
				}
			}
			g.Specs = append(g.Specs, &spec)
		}
		return &g
	}
	return d.node
}

func receiverGeneric(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return false
	}
	t := d.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	switch t.(type) {
	case *ast.IndexExpr, *ast.IndexListExpr:
		return true
	}
	return false
}

func (d *decl) anyDead(dead map[string]bool) bool {
	for _, name := range d.names {
		if dead[d.name+"/"+name] {
			return true
		}
	}
	return false
}

// tolerated says whether an error of go/types is no error in a notebook: unused variables, and the cell's last
// expression, whose value is shown.
func tolerated(e types.Error, results map[token.Pos]bool) bool {
	switch {
	case strings.HasPrefix(e.Msg, "declared and not used"):
		return true
	case strings.HasSuffix(e.Msg, "is not used") && results[e.Pos]:
		return true
	case strings.HasPrefix(e.Msg, "initialization cycle"):
		return false
	}
	return false
}
