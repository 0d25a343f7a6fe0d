package interp

import (
	"sort"
	"strings"
)

// hide keeps the older version of a type that is declared anew, or that uses one which is, while variables have it.
func (n *Notebook) hide(p *prepared, affected []*decl) {
	retyped := map[string]bool{}
	for _, d := range p.decls {
		for _, name := range d.names {
			if e := n.names[name]; e != nil && e.kind == typeKind {
				retyped[name] = true
			}
		}
	}
	for name := range p.imports {
		if e := n.names[name]; e != nil && e.kind == typeKind {
			retyped[name] = true
		}
	}
	for _, d := range affected {
		if d.kind == typeKind {
			retyped[d.name] = true
		}
	}
	needed := map[string]bool{}
	var need func(ps []piece)
	need = func(ps []piece) {
		for _, q := range ps {
			if q.world != checkerOnly && retyped[q.ref] && !needed[q.ref] {
				needed[q.ref] = true
				if e := n.names[q.ref]; e.decl != nil {
					need(e.decl.code)
				}
			}
		}
	}
	for _, e := range n.names {
		if e.kind == varKind {
			need(e.typ)
		}
	}
	names := make([]string, 0, len(needed))
	for name := range needed {
		names = append(names, name)
	}
	sort.Strings(names)
	renamed := map[string]string{}
	for _, name := range names {
		n.counter++
		renamed[name] = name + sep + "old" + itoa(n.counter)
	}
	for _, name := range names {
		if h := n.hiddenType(n.names[name], renamed); h != nil {
			p.hidden = append(p.hidden, h)
		}
	}
	if len(renamed) == 0 {
		return
	}
	p.renamed = renamed
}

// hiddenType makes a declaration of an old type under a name that no user writes.
func (n *Notebook) hiddenType(e *entity, renamed map[string]string) *hiddenType {
	if e.decl == nil || e.decl.code == nil {
		return nil
	}
	code := renameRefs(e.decl.code, renamed)
	f := n.synthetic(n.checkText(code))
	d := &decl{kind: typeKind, name: renamed[e.name], names: []string{renamed[e.name]}, frag: f, node: f.file.Decls[0], text: f.text, code: code}
	return &hiddenType{
		entity: &entity{name: d.name, kind: typeKind, yname: e.yname, decl: d, src: e.src, hidden: true},
		decl:   d,
	}
}

func (n *Notebook) checkText(code []piece) string {
	var b strings.Builder
	for _, q := range code {
		switch {
		case q.world == evaluatorOnly:
		case strings.HasPrefix(q.ref, importRef):
			b.WriteString(n.checkAlias(q.ref[len(importRef):]))
		case q.ref != "":
			b.WriteString(q.ref)
		default:
			b.WriteString(q.text)
		}
	}
	return b.String()
}

// renameRefs gives pieces in which references go to other names. An instance under a new name is a plain type, also to
// the checker.
func renameRefs(ps []piece, renamed map[string]string) []piece {
	var out []piece
	for _, q := range ps {
		if r, ok := renamed[q.ref]; ok {
			q.ref = r
			if q.world == evaluatorOnly {
				for len(out) > 0 && out[len(out)-1].world == checkerOnly {
					out = out[:len(out)-1]
				}
				q.world = bothWorlds
			}
		}
		out = append(out, q)
	}
	return out
}
