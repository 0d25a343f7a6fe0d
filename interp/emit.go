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
		a = strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(path) + sep
		e.imports[path] = a
	}
	return a
}

// unit puts the package clause and the imports before what was written.
func (e *emitter) unit(name, file string) *Unit {
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
		if path != rtPath {
			u.Packages = append(u.Packages, path)
		}
	}
	return u
}

// declarations writes lowered declarations, one below the other.
func (e *emitter) declarations(ds []*decl, code func(*decl) []piece) {
	for _, d := range ds {
		if d.kind == constKind || d.generic() || d.alias() {
			continue // every use was replaced: by its value, by its instance
		}
		e.pieces(code(d))
		e.printf("\n")
	}
}

// setup writes the function that tells the evaluator where variables are and which types there are.
func (e *emitter) setup(name string, vars [][2]string, types []string) {
	e.printf("func %s() {\n", name)
	for _, v := range vars {
		e.printf("\t%s.Var(%q, &%s)\n", rtName, v[0], v[1])
	}
	for _, t := range types {
		e.printf("\t%s.Type(%q, (*%s)(nil))\n", rtName, t, e.name(t))
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
	return d.kind == typeKind && !d.generic() && !d.alias()
}
