package interp

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/gorovod/gorovod/interp/internal/generic"
)

// The generic functions and types of the standard library have no symbols. An instance for common types is compiled in;
// for others a copy is made of the library's source, as of a user's generic code, whose declarations the notebook has
// under names like slices.Sort, written in letters.

// preludeDecl gives a generic declaration of the standard library, or nil.
func (n *Notebook) preludeDecl(name string) *decl {
	if d, ok := n.prelude[name]; ok {
		return d
	}
	if !strings.ContainsFunc(name, encoded) {
		return nil
	}
	text, ok := generic.Source()[name]
	if !ok {
		return nil
	}
	base, _, _ := strings.Cut(name, ".")
	full := decodeName(base)
	src := newSource(full, text)
	f, err := n.parse(src, "package main;", text, "\n", 0)
	if err != nil {
		panic("interp: " + err.Error() + " in " + text)
	}
	d := &decl{name: name, names: []string{name}, frag: f, node: f.file.Decls[0], text: text, kind: typeKind}
	if fn, ok := d.node.(*ast.FuncDecl); ok {
		d.kind = funcKind
		if fn.Recv != nil {
			d.kind = methodKind
		}
	}
	d.uses = syntacticUses(f, d.node)
	for _, id := range f.file.Unresolved {
		if strings.HasSuffix(id.Name, sep) {
			path := strings.ReplaceAll(strings.TrimSuffix(id.Name, sep), "_", "/")
			n.aliases[id.Name] = path
		}
	}
	n.prelude[name] = d
	return d
}

// preludeMethods lists the methods of a generic type of the standard library.
func (n *Notebook) preludeMethods(typ string) []string {
	if !strings.ContainsFunc(typ, encoded) {
		return nil
	}
	var out []string
	for name := range generic.Source() {
		if strings.HasPrefix(name, typ+".") {
			out = append(out, name)
		}
	}
	return out
}

// syntacticUses finds the type parameters and local names in a declaration by the parser's own resolution.
func syntacticUses(f *fragment, node ast.Decl) []genericUse {
	var params []string
	fields := func(l *ast.FieldList) {
		if l == nil {
			return
		}
		for _, field := range l.List {
			for _, id := range field.Names {
				params = append(params, id.Name)
			}
		}
	}
	header := node.Pos()
	switch node := node.(type) {
	case *ast.GenDecl:
		spec := node.Specs[0].(*ast.TypeSpec)
		if spec.TypeParams == nil {
			return nil
		}
		fields(spec.TypeParams)
		header = spec.TypeParams.End()
	case *ast.FuncDecl:
		fields(node.Type.TypeParams)
		header = node.Type.Params.Pos()
		if node.Recv != nil {
			t := node.Recv.List[0].Type
			if s, ok := t.(*ast.StarExpr); ok {
				t = s.X
			}
			if x, ok := t.(*ast.IndexExpr); ok {
				params = append(params, x.Index.(*ast.Ident).Name)
			}
		}
	}
	var out []genericUse
	ast.Inspect(node, func(node ast.Node) bool {
		id, ok := node.(*ast.Ident)
		if !ok || id.Obj == nil || id.Pos() < header {
			return true
		}
		use := genericUse{start: f.tfile.Offset(id.Pos()), end: f.tfile.Offset(id.End()), param: -1}
		switch {
		case id.Obj.Kind == ast.Typ:
			for i, p := range params {
				if p == id.Name {
					use.param = i
				}
			}
			if use.param < 0 {
				return true
			}
		case id.Obj.Kind == ast.Var && f.file.Scope.Lookup(id.Name) != id.Obj:
			use.local = id.Name
		default:
			return true
		}
		out = append(out, use)
		return true
	})
	return out
}

// foreignFunc replaces the name of an instance of a generic function of the standard library.
func (l *lowering) foreignFunc(x ast.Expr, obj types.Object, inst types.Instance) bool {
	if l.native(x, obj.Pkg().Path(), obj.Name(), inst.TypeArgs) {
		return true
	}
	if l.n.preludeDecl(preludeName(obj)) == nil {
		l.errs.add(l.frag.src, l.frag.offset(x.Pos()), "%s.%s is not supported by the interpreter", obj.Pkg().Name(), obj.Name())
		return true
	}
	w := &typeWriter{pkg: l.v.pkg}
	l.replace(x, w.instance(obj, inst.TypeArgs))
	return true
}

// native replaces the name of an instance by that of the compiled one, if there is one.
func (l *lowering) native(x ast.Expr, path, name string, args *types.TypeList) bool {
	w := &typeWriter{pkg: l.v.pkg, canon: true}
	w.list(args)
	full := name + w.buf.String()
	if !generic.Native(path, full) {
		return false
	}
	l.replace(x, piece{ref: importRef + generic.Prefix + path}, made(".%s", encodeName(full)))
	return true
}

// unsupportedInstance names the generic type of the standard library, among those that a type is made of, that the
// evaluator cannot have.
func (l *lowering) unsupportedInstance(t types.Type) string {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg() == l.v.pkg || named.TypeArgs().Len() == 0 || underlies(named) {
		return ""
	}
	if nativeType(named, l.v.pkg) != "" || l.n.preludeDecl(preludeName(named.Obj())) != nil {
		return ""
	}
	return types.TypeString(named, types.RelativeTo(l.v.pkg))
}

// nativeType gives the name of the compiled instance of a generic type, or "".
func nativeType(t *types.Named, pkg *types.Package) string {
	if t.Obj().Pkg() == nil || t.Obj().Pkg() == pkg {
		return ""
	}
	w := &typeWriter{pkg: pkg, canon: true}
	w.list(t.TypeArgs())
	name := t.Obj().Name() + w.buf.String()
	if generic.Native(t.Obj().Pkg().Path(), name) {
		return name
	}
	return ""
}
