package interp

import (
	"fmt"
	"sort"
	"strings"
)

// emitter writes lowered code as a Unit: it fills in the names that an evaluator knows things by, and notes where every
// part came from.
type emitter struct {
	buf     strings.Builder
	spans   []Span
	sources map[*source]int
	names   []string
	imports map[string]string // path -> alias
	name    func(ref string) string
	types   *emitter // of the types, if interface types are among them
	ifaces  []*decl
}

func newEmitter(name func(ref string) string) *emitter {
	return &emitter{sources: map[*source]int{}, imports: map[string]string{rtPath: rtName}, name: name}
}

func (e *emitter) printf(format string, args ...any) { fmt.Fprintf(&e.buf, format, args...) }

func (e *emitter) pieces(ps []piece) {
	for _, p := range ps {
		if p.world == checkerOnly {
			continue
		}
		text := p.text
		switch path, ok := strings.CutPrefix(p.ref, importRef); {
		case ok:
			text = e.alias(path)
		case p.ref != "":
			text = e.name(p.ref)
		}
		if text == "" {
			continue
		}
		if p.src != nil {
			i, ok := e.sources[p.src]
			if !ok {
				i = len(e.names)
				e.sources[p.src] = i
				e.names = append(e.names, p.src.name)
			}
			pos := p.src.position(p.off)
			e.spans = append(e.spans, Span{Offset: e.buf.Len(), Length: len(text), Source: i, Line: pos.Line, Column: pos.Column,
				Fixed: p.fixed})
		}
		e.buf.WriteString(text)
	}
}

// alias names an imported package so that no name of a user can be in its way.
func (e *emitter) alias(path string) string {
	a, ok := e.imports[path]
	if !ok {
		a = aliasOf(path)
		e.imports[path] = a
	}
	return a
}

// aliasOf makes an identifier of an import path that no user writes.
func aliasOf(path string) string {
	return strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(path) + sep
}

// unit puts the package clause and the imports before what was written.
func (e *emitter) unit(name, file string) *Unit {
	if strings.Contains(e.buf.String(), typesName+".") {
		e.imports[typesPath] = typesName
	}
	paths := make([]string, 0, len(e.imports))
	for path := range e.imports {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	var head strings.Builder
	head.WriteString("package main\nimport (\n")
	for _, path := range paths {
		fmt.Fprintf(&head, "\t%s %q\n", e.imports[path], path)
	}
	head.WriteString(")\n")
	for i := range e.spans {
		e.spans[i].Offset += head.Len()
	}
	u := &Unit{Name: name, File: file, Source: head.String() + e.buf.String(), Spans: e.spans, Sources: e.names}
	for _, path := range paths {
		if path != rtPath && path != typesPath {
			u.Packages = append(u.Packages, path)
		}
	}
	if e.types != nil {
		u.Types = e.types.typesUnit(name, "types_"+file)
	}
	return u
}

// typesUnit gives the unit of the types: yaegi must have them before it sees a method of an interface type called.
func (e *emitter) typesUnit(name, file string) *Unit {
	setup := "types" + sep + strings.TrimSuffix(file, ".go")
	e.printf("func %s() {\n", setup)
	var ifaces []Interface
	for _, d := range e.ifaces {
		i := Interface{Symbol: strings.TrimPrefix(e.name(d.name), typesName+"."), Display: d.display}
		for _, m := range d.methods {
			i.Methods = append(i.Methods, m.name)
			e.printf("\t%s.Sig(%q, %q, (*", rtName, i.Symbol, m.name)
			e.pieces(m.typ)
			e.printf(")(nil))\n")
		}
		ifaces = append(ifaces, i)
	}
	e.printf("}\n")
	u := e.unit(name, file)
	u.Setup, u.Interfaces = setup, ifaces
	return u
}

// declarations writes lowered declarations, one below the other.
func (e *emitter) declarations(ds []*decl, code func(*decl) []piece) {
	for _, d := range ds {
		if d.kind == typeKind && d.methods != nil && !d.generic() {
			e.types = newEmitter(e.name)
		}
	}
	for _, d := range ds {
		if d.kind == constKind || d.generic() || d.alias() {
			continue // every use was replaced: by its value, by its instance
		}
		if e.types != nil && d.kind == typeKind {
			if d.methods != nil {
				e.types.ifaces = append(e.types.ifaces, d)
				continue
			}
			e.types.pieces(code(d))
			e.types.printf("\n")
			continue
		}
		e.pieces(code(d))
		e.printf("\n")
	}
}

// setup writes the function that tells the evaluator where variables are and which types there are.
func (e *emitter) setup(name string, vars [][2]string, types []string, ds []*decl) {
	e.printf("func %s() {\n", name)
	for _, v := range vars {
		e.printf("\t%s.Var(%q, &%s)\n", rtName, v[0], v[1])
	}
	for _, t := range types {
		e.printf("\t%s.Type(%q, (*%s)(nil))\n", rtName, t, e.name(t))
	}
	for _, d := range ds {
		if d.kind == typeKind && d.shape != nil && d.isPlainType() {
			e.printf("\t%s.Named(%q, %q, %q, \"", rtName, e.name(d.name), d.name, d.display)
			e.pieces(d.shape)
			e.printf("\", (*%s)(nil))\n", e.name(d.name))
		}
	}
	for _, d := range ds {
		if d.register != nil && !d.generic() {
			e.printf("\t")
			e.pieces(d.register)
			e.printf("\n")
		}
	}
	e.printf("}\n")
}

// body writes the cell's statements as a function.
func (e *emitter) body(name string, code []piece) {
	e.printf("func %s() { %s.Enter(); defer %s.Leave()\n", name, rtName, rtName)
	e.pieces(code)
	e.printf("\n}\n")
}

// isPlainType says whether a declaration is of a type that has values, not a generic one.
func (d *decl) isPlainType() bool {
	return d.kind == typeKind && !d.generic() && !d.alias() && d.methods == nil
}

// needsSetup says whether the evaluator is told something of declarations.
func needsSetup(ds []*decl) bool {
	for _, d := range ds {
		if d.register != nil || d.isPlainType() && d.shape != nil {
			return true
		}
	}
	return false
}

// evaluatorName makes a name for an entity the evaluator's: interface types are members of a package.
func (d *decl) evaluatorName(name string) string {
	if d.kind == typeKind && d.methods != nil && !d.generic() {
		return typesName + ".I" + sep + name
	}
	return name
}
