package interp

import (
	"go/ast"
	"go/doc/comment"
	"go/token"
	"go/types"
	"strings"

	"github.com/gorovod/gorovod/interp/internal/ours"
	"github.com/gorovod/gorovod/interp/internal/stdlib"
)

// Inspection is what a reader wants to know of a name: how it is declared, what its comment says, where it is from.
type Inspection struct {
	Plain    string
	Markdown string
}

// thisCell names the text that is being written, among those of earlier cells.
const thisCell = "this cell"

// Inspect tells about the name that the cursor, a number of code points, is in or behind, or else about the function
// whose arguments it stands among. Detail 0 is what a tooltip shows; 1 adds source, fields and methods. It is false if
// there is nothing to tell. Nothing is evaluated.
func (n *Notebook) Inspect(text string, cursor, detail int) (Inspection, bool) {
	offset := byteOffset(text, cursor)
	place := placeAt(text, offset)
	start, end := wordStart(text, offset), wordEnd(text, offset)
	switch place.kind {
	case nowhere:
		return Inspection{}, false
	case inImport:
		path := strings.Trim(text[place.start:place.end], "\"`\n")
		return n.inspectPackage(path)
	case inString:
		start, end = place.start, place.end
	}
	code := withoutMagics(text)
	var about *subject
	if word := code[start:end]; place.kind == inCode && token.IsIdentifier(word) {
		n.focusOn(mended(code[:end], code[end:]), start, func(f *focus) {
			about = f.subject(f.ident(), detail)
		})
		if about == nil && (start == 0 || code[start-1] != '.') {
			if paths := pathsByName(word); paths != nil {
				return n.inspectPackage(paths[0])
			}
		}
	}
	if about == nil {
		n.focusOn(mended(code[:start]+cursorName, code[end:]), start, func(f *focus) {
			if id := f.called(); id != nil {
				about = f.subject(id, detail)
			}
		})
	}
	if about == nil {
		return Inspection{}, false
	}
	return about.inspection(detail), true
}

func (n *Notebook) inspectPackage(path string) (Inspection, bool) {
	pkg, err := n.imp.Import(path)
	if err != nil {
		return Inspection{}, false
	}
	return packageSubject(pkg).inspection(0), true
}

// called gives the name of the innermost function that the identifier is an argument of.
func (f *focus) called() *ast.Ident {
	for i := len(f.path) - 2; i >= 0; i-- {
		call, ok := f.path[i].(*ast.CallExpr)
		if !ok || f.path[i+1] == call.Fun {
			continue
		}
		fun := ast.Unparen(call.Fun)
		switch x := fun.(type) {
		case *ast.IndexExpr:
			fun = x.X
		case *ast.IndexListExpr:
			fun = x.X
		}
		switch x := fun.(type) {
		case *ast.SelectorExpr:
			return x.Sel
		case *ast.Ident:
			if x.Name != tupleName {
				return x
			}
		}
		return nil
	}
	return nil
}

// subject is what is told of a name.
type subject struct {
	declaration string   // Go
	doc         string   // its comment, without marks
	path        string   // of the package that it is from; "" for the notebook
	origin      string   // where it was declared
	members     []string // lines of Go
	source      string   // Go
}

func packageSubject(pkg *types.Package) *subject {
	return &subject{
		declaration: "package " + pkg.Name(),
		doc:         docOf(pkg.Path(), ""),
		path:        pkg.Path(),
		origin:      "import \"" + pkg.Path() + "\"",
	}
}

func docOf(path, name string) string {
	if text := ours.Doc(path, name); text != "" {
		return text
	}
	return stdlib.Doc(path, name)
}

// subject gathers what there is to tell of the object of an identifier, or nil.
func (f *focus) subject(id *ast.Ident, detail int) *subject {
	obj := f.v.info.Uses[id]
	if obj == nil {
		obj = f.v.info.Defs[id]
	}
	if obj == nil || strings.Contains(obj.Name(), sep) {
		return nil
	}
	switch obj := obj.(type) {
	case *types.PkgName:
		return packageSubject(obj.Imported())
	case *types.Builtin: // it has no type
	default:
		if obj.Type() == types.Typ[types.Invalid] {
			return nil
		}
	}
	s := &subject{declaration: f.declaration(obj)}
	switch {
	case obj.Pkg() == nil:
		s.path, s.doc = "builtin", docOf("builtin", obj.Name())
	case obj.Pkg() != f.v.pkg:
		s.path = obj.Pkg().Path()
		s.doc, s.origin = docOf(s.path, qualifiedName(obj)), "import \""+s.path+"\""
	default:
		f.fromNotebook(s, obj)
	}
	if name, ok := obj.(*types.TypeName); ok && !name.IsAlias() {
		s.members = f.methods(name.Type())
	}
	if v, ok := obj.(*types.Var); ok && detail > 0 {
		if t := namedType(v.Type()); t != nil {
			s.source, s.members = f.declaration(t.Obj()), f.methods(t)
		}
	}
	return s
}

// namedType gives the type of a variable if it has a name, without a pointer.
func namedType(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

// qualifiedName gives the name by which a package's comments are kept: T.M for a method or a field of T.
func qualifiedName(obj types.Object) string {
	switch obj := obj.(type) {
	case *types.Func:
		if recv := obj.Signature().Recv(); recv != nil {
			if t := namedType(recv.Type()); t != nil {
				return t.Obj().Name() + "." + obj.Name()
			}
		}
	case *types.Var:
		if obj.IsField() {
			return fieldOwner(obj) + "." + obj.Name()
		}
	}
	return obj.Name()
}

// fieldOwner finds the type of a package that has a field, or "".
func fieldOwner(field *types.Var) string {
	scope := field.Pkg().Scope()
	for _, name := range scope.Names() {
		t, ok := scope.Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		if s, ok := t.Type().Underlying().(*types.Struct); ok {
			for x := range s.Fields() {
				if x == field || x.Pos().IsValid() && x.Pos() == field.Pos() { // of an instance
					return name
				}
			}
		}
	}
	return ""
}

// fromNotebook adds what the user has written of an object.
func (f *focus) fromNotebook(s *subject, obj types.Object) {
	if e := f.n.names[obj.Name()]; e != nil && e.kind == varKind && obj.Parent() == f.v.pkg.Scope() {
		s.origin = e.src.name
		return
	}
	frag := f.n.at(obj.Pos()) // of the text that is being written
	for _, d := range append(f.p.decls[:len(f.p.decls):len(f.p.decls)], f.n.decls...) {
		if d.node.Pos() <= obj.Pos() && obj.Pos() < d.node.End() {
			frag, s.source = d.frag, d.text
			break
		}
	}
	if frag == nil {
		return
	}
	s.origin = frag.src.name
	s.doc = frag.src.commentAt(frag.offset(obj.Pos()))
	if _, function := obj.(*types.Func); !function {
		s.source = "" // the declaration says it all
	}
}

// commentAt gives the comment of what is declared at an offset: the lines above it, or else what follows it in its line.
func (s *source) commentAt(offset int) string {
	line := s.position(offset).Line
	var above []*ast.Comment
	for i := line - 1; i > 0; i-- {
		text := strings.TrimSpace(s.line(i))
		if strings.HasSuffix(text, "*/") && above == nil {
			for ; i > 0; i-- {
				if open := strings.Index(s.line(i), "/*"); open >= 0 {
					end := s.lines[line-1]
					text := strings.TrimSpace(s.text[s.lines[i-1]+open : end])
					return groupText([]*ast.Comment{{Text: text}})
				}
			}
			return ""
		}
		if !strings.HasPrefix(text, "//") {
			break
		}
		above = append([]*ast.Comment{{Text: text}}, above...)
	}
	if above != nil {
		return groupText(above)
	}
	_, after, found := strings.Cut(s.line(line), " // ")
	if !found {
		return ""
	}
	return strings.TrimSpace(after)
}

func groupText(list []*ast.Comment) string {
	return strings.TrimSpace((&ast.CommentGroup{List: list}).Text())
}

// inspection writes a subject for a reader of plain text and for one of Markdown.
func (s *subject) inspection(detail int) Inspection {
	parser := comment.Parser{}
	doc := parser.Parse(s.doc)
	printer := comment.Printer{HeadingLevel: 4, DocLinkURL: func(link *comment.DocLink) string {
		if link.ImportPath == "" {
			link.ImportPath = s.path
		}
		return link.DefaultURL("https://pkg.go.dev")
	}}
	code := s.declaration
	if len(s.members) > 0 {
		code += "\n\n" + strings.Join(s.members, "\n")
	}
	source := ""
	if detail > 0 && s.source != "" && s.source != s.declaration {
		source = s.source
	}
	var plain, markdown []string
	add := func(p, m string) {
		if p = strings.TrimRight(p, "\n"); p != "" {
			plain, markdown = append(plain, p), append(markdown, strings.TrimRight(m, "\n"))
		}
	}
	add(code, "```go\n"+code+"\n```")
	add(string(printer.Text(doc)), string(printer.Markdown(doc)))
	add(source, "```go\n"+source+"\n```")
	switch {
	case strings.HasPrefix(s.origin, "import "):
		add(s.origin, "`"+s.origin+"`")
	case s.origin != "":
		add("declared in "+s.origin, "*declared in "+s.origin+"*")
	}
	return Inspection{Plain: strings.Join(plain, "\n\n") + "\n", Markdown: strings.Join(markdown, "\n\n") + "\n"}
}
