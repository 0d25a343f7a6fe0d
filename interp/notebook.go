package interp

import (
	"go/ast"
	"go/token"
	"go/types"
	"sort"
	"strings"
	"sync"
)

// sep parts the names that the evaluator sees from what is added to them to tell versions apart. It is a letter to Go
// and no letter that people write.
const sep = "ᐧ"

type kind int

const (
	constKind kind = iota
	typeKind
	funcKind
	methodKind
	varKind
)

func (k kind) String() string {
	return [...]string{"constant", "type", "function", "method", "variable"}[k]
}

// decl is one declaration of the notebook as it was written. It is kept as a syntax tree, so that it can be checked
// again when a thing that it names was declared again.
type decl struct {
	kind   kind
	name   string   // T.M for a method
	names  []string // what it declares; several for a group of constants
	frag   *fragment
	node   ast.Decl
	text   string  // as the user wrote it
	code   []piece // lowered; nil until its body was checked without error
	broken string  // why it no longer compiles
	described
	inst *instance    // what it is a copy of, if it is one
	uses []genericUse // in a generic declaration: the identifiers that a copy may have to change
}

// entity is what a name of the notebook stands for.
type entity struct {
	name   string
	kind   kind
	yname  string  // its name in the evaluator
	decl   *decl   // nil for variables
	typ    []piece // a variable's type
	src    *source // where it was declared
	hidden bool    // an older type that live variables still have
}

// Notebook is what the cells so far have declared: what the next cell is checked against. It holds no values and runs
// no code; the evaluator in the session process does that. A Notebook may be used from several goroutines.
type Notebook struct {
	mu      sync.Mutex
	fset    *token.FileSet
	frags   map[*token.File]*fragment
	imp     *packages
	names   map[string]*entity // also methods, by T.M
	decls   []*decl            // live ones in the order of declaration
	imports map[string]string  // name -> path
	dots    map[string]bool    // paths of dot imports
	used    map[string]bool    // names that the evaluator has seen
	counter int
	helpers []ast.Decl
	globals map[string]types.Object // those of the globals that some cell has named
	prelude map[string]*decl        // generic code of the standard library that was asked for
	aliases map[string]string       // import paths by the names that checkAlias gave
}

// NewNotebook gives an empty notebook.
func NewNotebook() *Notebook {
	n := &Notebook{
		fset:    token.NewFileSet(),
		frags:   map[*token.File]*fragment{},
		names:   map[string]*entity{},
		imports: map[string]string{},
		dots:    map[string]bool{},
		used:    map[string]bool{},
		globals: map[string]types.Object{},
		aliases: map[string]string{},
		prelude: map[string]*decl{},
	}
	n.imp = newPackages()
	// tuple stands in the checked code for a list of expressions, which Go has no statement for.
	f := n.synthetic("func " + tupleName + "(...any) {}")
	n.helpers = f.file.Decls
	return n
}

const (
	tupleName = "tuple" + sep
	cellName  = "cell" + sep
)

// synthetic parses source text of our own making, in which an error is a fault of ours.
func (n *Notebook) synthetic(text string) *fragment {
	f, err := n.parse(newSource("gorovod", ""), "package main;", text, "\n", 0)
	if err != nil {
		panic("interp: " + err.Error() + " in " + text)
	}
	return f
}

func (n *Notebook) parse(src *source, prefix, part, suffix string, start int) (*fragment, error) {
	f, err := parseFragment(n.fset, src, prefix, part, suffix, start)
	if f.tfile != nil {
		n.frags[f.tfile] = f
	}
	return f, err
}

// at gives the fragment that a position belongs to.
func (n *Notebook) at(pos token.Pos) *fragment {
	if !pos.IsValid() {
		return nil
	}
	return n.frags[n.fset.File(pos)]
}

// newName gives a name for the evaluator that it has never seen, the user's own where it can be.
func (n *Notebook) newName(name string) string {
	y := name
	for n.used[y] || reserved(y) {
		n.counter++
		y = name + sep + itoa(n.counter)
	}
	return y
}

// reserved names mean something of their own to the evaluator.
func reserved(name string) bool {
	return name == "main" || name == "init" || name == "_" || types.Universe.Lookup(name) != nil || len(pathsByName(name)) > 0
}

// refs gives the names that a declaration's lowered code uses.
func (d *decl) refs() map[string]bool {
	out := map[string]bool{}
	for _, p := range d.code {
		if p.ref != "" {
			out[p.ref] = true
		}
		if p.dep != "" {
			out[p.dep] = true
		}
	}
	return out
}

// affected gives the live declarations that use one of the changed names, directly or through others that will change
// with them, in order.
func (n *Notebook) affected(changed map[string]bool, gone map[*decl]bool) []*decl {
	var out []*decl
	in := map[*decl]bool{}
	for again := true; again; {
		again = false
		for _, d := range n.decls {
			if in[d] || gone[d] || !d.usesAny(changed) {
				continue
			}
			in[d], again = true, true
			out = append(out, d)
			for _, name := range d.names {
				changed[name] = true
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return n.index(out[i]) < n.index(out[j]) })
	return out
}

func (n *Notebook) index(d *decl) int {
	for i, x := range n.decls {
		if x == d {
			return i
		}
	}
	return -1
}

func (d *decl) usesAny(names map[string]bool) bool {
	for r := range d.refs() {
		if names[r] {
			return true
		}
	}
	return false
}

// Names gives the notebook's names with what they are, for messages and completion, sorted.
func (n *Notebook) Names() []Name {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []Name
	for _, e := range n.names {
		if e.hidden || e.kind == methodKind || strings.Contains(e.name, sep) {
			continue
		}
		out = append(out, Name{Name: e.name, Kind: e.kind.String(), Cell: e.src.name, Type: plain(e.typ)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Name is one name of a notebook.
type Name struct {
	Name string
	Kind string // constant, type, function, variable
	Cell string // where it was declared
	Type string // a variable's type
}

// clean takes what we added out of a message that quotes the evaluator's or the checker's names.
func clean(msg string) string {
	if !strings.Contains(msg, sep) {
		return decodeName(msg)
	}
	var b strings.Builder
	for {
		i := strings.Index(msg, sep)
		if i < 0 {
			b.WriteString(msg)
			return decodeName(b.String())
		}
		b.WriteString(msg[:i])
		msg = msg[i+len(sep):]
		switch {
		case strings.HasPrefix(msg, "old"):
			msg = msg[len("old"):]
			b.WriteString(" (as it was declared before)")
		case strings.HasPrefix(msg, "i"), strings.HasPrefix(msg, "l"), strings.HasPrefix(msg, "v"): // instance, local type, variable
			msg = msg[1:]
		}
		msg = strings.TrimLeft(msg, "0123456789")
	}
}
