package interp

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/gorovod/gorovod/interp/internal/ours"
	"github.com/gorovod/gorovod/interp/internal/stdlib"
)

// Completion is what can be written at a place of a cell: each of the Matches in the place of the text from Start to
// End, which are counted in Unicode code points. Kinds and Signatures have an element for each match: a word of those
// that Jupyter's front ends have pictures for (function, class, instance, module, property, keyword, constant, path,
// param), and a type, or parameters and results.
type Completion struct {
	Matches    []string
	Kinds      []string
	Signatures []string
	Start, End int
}

// candidate is a possible match.
type candidate struct {
	name, kind, signature string
	rank                  int // the nearer, the smaller
}

// The ranks of candidates.
const (
	rankField = iota // of the struct that is being written
	rankLocal
	rankNotebook
	rankImported
	rankLanguage
	rankPackage // not imported yet
)

// Complete tells what a word of a cell can become that ends at the cursor, a number of code points. It answers from what
// the notebook knows, and from the cell's own text as far as it is written; nothing is evaluated.
func (n *Notebook) Complete(text string, cursor int) Completion {
	offset := byteOffset(text, cursor)
	at := codePoints(text[:offset])
	switch place := placeAt(text, offset); place.kind {
	case inImport:
		return completion(text, place.start+1, offset, importPaths(text[place.start+1:offset]))
	case inString, nowhere:
		return Completion{Start: at, End: at}
	}
	start := wordStart(text, offset)
	prefix := text[start:offset]
	if prefix != "" && !token.IsIdentifier(prefix) && !token.IsKeyword(prefix) {
		return Completion{Start: at, End: at}
	}
	before := withoutMagics(text)[:start] + cursorName
	var list []candidate
	n.focusOn(mended(before, text[wordEnd(text, offset):]), start, func(f *focus) { list = f.candidates(prefix) })
	return completion(text, start, offset, matching(list, prefix))
}

func completion(text string, start, end int, list []candidate) Completion {
	c := Completion{Start: codePoints(text[:start]), End: codePoints(text[:end])}
	for _, x := range list {
		c.Matches = append(c.Matches, x.name)
		c.Kinds = append(c.Kinds, x.kind)
		c.Signatures = append(c.Signatures, x.signature)
	}
	return c
}

// matching gives the candidates that start by the prefix, or if none does, those that do in another case. Of two with a
// name the nearer one stays.
func matching(list []candidate, prefix string) []candidate {
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.rank != b.rank {
			return a.rank < b.rank
		}
		return a.name < b.name
	})
	with := func(match func(name string) bool) []candidate {
		var out []candidate
		seen := map[string]bool{}
		for _, c := range list {
			if !seen[c.name] && match(c.name) {
				seen[c.name] = true
				out = append(out, c)
			}
		}
		return out
	}
	if out := with(func(name string) bool { return strings.HasPrefix(name, prefix) }); out != nil {
		return out
	}
	prefix = strings.ToLower(prefix)
	return with(func(name string) bool { return strings.HasPrefix(strings.ToLower(name), prefix) })
}

// importPaths gives the import paths that start by a prefix, or if none does, those that have it behind a slash.
func importPaths(prefix string) []candidate {
	paths := slices.Concat([]string{"display", "hvd"}, ours.Packages(), stdlib.Packages())
	var out, inside []candidate
	for _, path := range paths {
		c := candidate{name: path, kind: "module"}
		switch {
		case stdlib.Unsupported(path) != "":
		case strings.HasPrefix(path, prefix):
			out = append(out, c)
		case strings.Contains(path, "/"+prefix):
			inside = append(inside, c)
		}
	}
	if out == nil {
		return inside
	}
	return out
}

// candidates lists what the identifier can be, given how it starts.
func (f *focus) candidates(prefix string) []candidate {
	id := f.ident()
	switch parent := f.parent(1).(type) {
	case *ast.SelectorExpr:
		if parent.Sel == id {
			return f.members(parent.X)
		}
	case *ast.BranchStmt:
		return f.labels()
	case *ast.Field:
		if slices.Contains(parent.Names, id) {
			return nil // a new name
		}
	case *ast.FuncDecl, *ast.LabeledStmt, *ast.ImportSpec:
		return nil
	case *ast.TypeSpec:
		if parent.Name == id {
			return nil
		}
	case *ast.ValueSpec:
		if slices.Contains(parent.Names, id) {
			return nil
		}
	case *ast.CompositeLit:
		return append(f.fieldsToSet(parent), f.names(prefix)...)
	case *ast.KeyValueExpr:
		if lit, ok := f.parent(2).(*ast.CompositeLit); ok && parent.Key == id {
			if fields := f.fieldsToSet(lit); fields != nil {
				return fields
			}
		}
	}
	return f.names(prefix)
}

// fieldsToSet gives the fields of a struct literal that have no value yet; nil for other literals.
func (f *focus) fieldsToSet(lit *ast.CompositeLit) []candidate {
	t := f.v.info.TypeOf(lit)
	if t == nil {
		return nil
	}
	if p, ok := t.Underlying().(*types.Pointer); ok { // an element of []*T{{…}}
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	set := map[string]bool{}
	for _, x := range lit.Elts {
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				set[key.Name] = true
			}
		}
	}
	var out []candidate
	for field := range s.Fields() {
		if !set[field.Name()] && f.visible(field) {
			out = append(out, f.candidate(field, rankField))
		}
	}
	return out
}

// visible tells whether the notebook's code may name a member.
func (f *focus) visible(obj types.Object) bool { return obj.Exported() || obj.Pkg() == f.v.pkg }

// members gives what can follow x and a dot.
func (f *focus) members(x ast.Expr) []candidate {
	if id, ok := x.(*ast.Ident); ok {
		if name, ok := f.v.info.Uses[id].(*types.PkgName); ok {
			return f.packageMembers(name.Imported())
		}
	}
	tv, ok := f.v.info.Types[x]
	if !ok || tv.Type == nil || tv.Type == types.Typ[types.Invalid] {
		return nil
	}
	t := tv.Type
	var out []candidate
	// A method of *T can be called on a variable.
	recv := t
	if _, pointer := t.Underlying().(*types.Pointer); tv.Addressable() && !pointer && !types.IsInterface(t) {
		recv = types.NewPointer(t)
	}
	for sel := range types.NewMethodSet(recv).Methods() {
		if f.visible(sel.Obj()) {
			out = append(out, f.candidate(sel.Obj(), rankLocal))
		}
	}
	if tv.IsType() {
		return out
	}
	for name := range fieldNames(t) {
		obj, _, _ := types.LookupFieldOrMethod(t, true, f.v.pkg, name)
		if field, ok := obj.(*types.Var); ok {
			out = append(out, f.candidate(field, rankLocal))
		}
	}
	return out
}

// fieldNames gives the names of a type's fields, those of embedded ones too, whether they are ambiguous or not.
func fieldNames(t types.Type) map[string]bool {
	names := map[string]bool{}
	seen := map[types.Type]bool{}
	var visit func(types.Type)
	visit = func(t types.Type) {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		s, ok := t.Underlying().(*types.Struct)
		if !ok || seen[t] {
			return
		}
		seen[t] = true
		for field := range s.Fields() {
			names[field.Name()] = true
			if field.Embedded() {
				visit(field.Type())
			}
		}
	}
	visit(t)
	return names
}

func (f *focus) packageMembers(pkg *types.Package) []candidate {
	onlyTypes := f.wantsType(1)
	var out []candidate
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if _, isType := obj.(*types.TypeName); obj.Exported() && (isType || !onlyTypes) {
			out = append(out, f.candidate(obj, rankLocal))
		}
	}
	return out
}

// wantsType tells whether only a type can stand where the node that many levels above the identifier does.
func (f *focus) wantsType(levels int) bool {
	node, parent := f.parent(levels), f.parent(levels+1)
	switch p := parent.(type) {
	case *ast.Field:
		return p.Type == node
	case *ast.ValueSpec:
		return p.Type == node
	case *ast.TypeSpec:
		return p.Type == node
	case *ast.ArrayType:
		return p.Elt == node
	case *ast.MapType, *ast.ChanType:
		return true
	case *ast.TypeAssertExpr:
		return p.Type == node
	case *ast.CompositeLit:
		return p.Type == node
	case *ast.StarExpr, *ast.Ellipsis:
		return f.wantsType(levels + 1)
	}
	return false
}

// labels gives the labels of the function around.
func (f *focus) labels() []candidate {
	var out []candidate
	for i := len(f.path) - 1; i >= 0; i-- {
		switch f.path[i].(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			ast.Inspect(f.path[i], func(node ast.Node) bool {
				if l, ok := node.(*ast.LabeledStmt); ok {
					out = append(out, candidate{name: l.Label.Name, kind: "keyword"})
				}
				return true
			})
			return out
		}
	}
	return out
}

// names gives the names that are known at the identifier, and the words of the language.
func (f *focus) names(prefix string) []candidate {
	onlyTypes := f.wantsType(0)
	var out []candidate
	add := func(obj types.Object, rank int) {
		switch obj.(type) {
		case *types.TypeName, *types.PkgName:
		default:
			if onlyTypes {
				return
			}
		}
		if obj.Name() != "_" && !strings.Contains(obj.Name(), sep) {
			out = append(out, f.candidate(obj, rank))
		}
	}
	scope := f.innermost()
	pos := f.ident().Pos()
	for s := scope; s != nil; s = s.Parent() {
		for _, name := range s.Names() {
			if _, obj := scope.LookupParent(name, pos); obj != nil && s.Lookup(name) == obj {
				add(obj, f.rank(s, obj))
			}
		}
	}
	if prefix == "" {
		return out
	}
	for _, word := range f.keywords(onlyTypes) {
		out = append(out, candidate{name: word, kind: "keyword", rank: rankLanguage})
	}
	for _, name := range packageNames() {
		out = append(out, candidate{name: name, kind: "module", signature: pathsByName(name)[0], rank: rankPackage})
	}
	return out
}

func (f *focus) rank(s *types.Scope, obj types.Object) int {
	switch {
	case s == types.Universe:
		return rankLanguage
	case s == f.v.pkg.Scope():
		return rankNotebook
	case isPackage(obj):
		return rankImported
	case obj.Parent() != s: // by a dot import
		return rankImported
	}
	return rankLocal
}

func isPackage(obj types.Object) bool {
	_, ok := obj.(*types.PkgName)
	return ok
}

// innermost gives the scope that the identifier is in.
func (f *focus) innermost() *types.Scope {
	for i := len(f.path) - 1; i >= 0; i-- {
		node := f.path[i]
		switch fn := node.(type) {
		case *ast.FuncDecl:
			node = fn.Type
		case *ast.FuncLit:
			node = fn.Type
		}
		if s := f.v.info.Scopes[node]; s != nil {
			return s
		}
	}
	return f.v.pkg.Scope()
}

// keywords gives the words that can stand where the identifier does.
func (f *focus) keywords(onlyTypes bool) []string {
	words := []string{"chan", "func", "interface", "map", "struct"}
	if onlyTypes {
		return words
	}
	switch f.parent(1).(type) {
	case *ast.ExprStmt:
		words = append(words, "break", "const", "continue", "defer", "fallthrough", "for", "go", "goto", "if", "import",
			"return", "select", "switch", "type", "var")
		if f.inside(func(n ast.Node) bool { _, ok := n.(*ast.CaseClause); return ok }) ||
			f.inside(func(n ast.Node) bool { _, ok := n.(*ast.CommClause); return ok }) {
			words = append(words, "case", "default")
		}
	case *ast.AssignStmt:
		words = append(words, "range")
	}
	return words
}

func (f *focus) inside(is func(ast.Node) bool) bool { return slices.ContainsFunc(f.path, is) }

// packageNames are the names by which a cell can use a package without importing it.
var packageNames = sync.OnceValue(func() []string {
	names := map[string]bool{}
	for _, path := range ours.Packages() {
		names[lastElement(path)] = true
	}
	for _, path := range stdlib.Packages() {
		if name := stdlib.Name(path); stdlib.Unsupported(path) == "" && stdlib.Unsupported(stdlib.ByName(name)[0]) == "" {
			names[name] = true
		}
	}
	var out []string
	for name := range names {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
})

func (f *focus) candidate(obj types.Object, rank int) candidate {
	c := candidate{name: obj.Name(), rank: rank}
	switch obj := obj.(type) {
	case *types.Func:
		c.kind, c.signature = "function", strings.TrimPrefix(f.typeText(obj.Type()), "func")
	case *types.Builtin:
		c.kind = "function"
	case *types.TypeName:
		c.kind = "class"
	case *types.PkgName:
		c.kind, c.signature = "module", obj.Imported().Path()
	case *types.Const:
		c.kind, c.signature = "constant", f.typeText(obj.Type())
	case *types.Var:
		c.kind, c.signature = "instance", f.typeText(obj.Type())
		if obj.IsField() {
			c.kind = "property"
		}
	case *types.Nil:
		c.kind = "keyword"
	}
	return c
}

// typeText writes a type as the notebook's code would.
func (f *focus) typeText(t types.Type) string { return clean(types.TypeString(t, f.qualify)) }

func (f *focus) qualify(pkg *types.Package) string {
	if pkg == f.v.pkg {
		return ""
	}
	return pkg.Name()
}
