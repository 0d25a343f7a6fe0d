package interp

import "go/ast"

// resolveImports gathers the imports of notebook and cell and adds those that the cell uses without importing them.
func (n *Notebook) resolveImports(p *prepared) error {
	errs := &CheckError{}
	p.imports = map[string]string{}
	for name, path := range n.imports {
		p.imports[name] = path
	}
	for path := range n.dots {
		p.dots[path] = true
	}
	for _, is := range p.parsed.imports {
		pkg, err := n.imp.Import(is.path)
		if err != nil {
			errs.add(p.src, is.off, "could not import %s (%v)", is.path, err)
			continue
		}
		switch is.name {
		case "":
			p.imports[pkg.Name()] = pkg.Path()
		case ".":
			p.dots[pkg.Path()] = true
		case "_": // linked in, its init has run
		default:
			p.imports[is.name] = pkg.Path()
		}
	}
	if len(errs.Diagnostics) > 0 {
		return errs.sorted()
	}
	for _, d := range p.decls {
		for _, name := range d.names {
			delete(p.imports, name)
		}
	}
	n.autoImport(p)
	return nil
}

// autoImport adds the packages that the cell names and nothing declares, and makes the globals known that it uses.
func (n *Notebook) autoImport(p *prepared) {
	declared := map[string]bool{}
	for _, d := range p.decls {
		for _, name := range d.names {
			declared[name] = true
		}
	}
	for _, s := range p.top {
		for _, id := range definedBy(s) {
			declared[id.Name] = true
		}
	}
	wanted := map[string]map[string]bool{} // package name -> members used
	look := func(f *ast.File) {
		unresolved := map[*ast.Ident]bool{}
		for _, id := range f.Unresolved {
			unresolved[id] = true
			if !p.program {
				n.useGlobal(id.Name)
			}
		}
		ast.Inspect(f, func(node ast.Node) bool {
			sel, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok || !unresolved[id] || declared[id.Name] || n.names[id.Name] != nil || p.imports[id.Name] != "" {
				return true
			}
			if wanted[id.Name] == nil {
				wanted[id.Name] = map[string]bool{}
			}
			wanted[id.Name][sel.Sel.Name] = true
			return true
		})
	}
	look(p.body.file)
	for _, d := range p.decls {
		look(d.frag.file)
	}
	for name, members := range wanted {
		if path := n.choose(name, members); path != "" {
			p.imports[name] = path
		}
	}
}

// choose picks the package of a name that has all the members used, the likeliest one if none has.
func (n *Notebook) choose(name string, members map[string]bool) string {
	paths := pathsByName(name)
	for _, path := range paths {
		pkg, err := n.imp.Import(path)
		if err != nil {
			continue
		}
		all := true
		for m := range members {
			all = all && pkg.Scope().Lookup(m) != nil
		}
		if all {
			return path
		}
	}
	if len(paths) > 0 {
		return paths[0]
	}
	return ""
}
