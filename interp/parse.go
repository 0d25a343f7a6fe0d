package interp

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// parsed is a cell taken apart: its declarations, and its statements as the body of one function.
type parsed struct {
	src     *source
	decls   []*decl
	imports []importSpec
	body    *fragment     // file with the one function cellName
	fn      *ast.FuncDecl // that function
	last    *ast.ExprStmt // the expression at the end, or nil
	silent  bool          // the user silenced it by a semicolon
	program bool          // a package main file, whose main shall run
	top     []ast.Stmt    // statements at the top level, redeclared ones flattened
	returns map[*ast.BlockStmt]*ast.ReturnStmt
	globals []globalVars // of a package main file
}

// mode says what a text is checked for.
type mode int

const (
	cellMode    mode = iota // a cell of the notebook
	rankMode                // a cell that runs on ranks, and gives each rank's value
	programMode             // a file given to `gorovod run`: a cell for ranks, or a package main
)

type globalVars struct {
	frag *fragment
	node *ast.GenDecl
}

type importSpec struct {
	name string // as declared: "", ".", "_" or a name
	path string
	off  int
}

// parseCell splits and parses a text. All syntax errors are reported, those of every item.
func (n *Notebook) parseCell(src *source, mode mode) (*parsed, error) {
	p := &parsed{src: src, returns: map[*ast.BlockStmt]*ast.ReturnStmt{}}
	items := split(src)
	errs := &CheckError{}
	var body strings.Builder
	cursor := 0
	var lastStmt *item
	for i := range items {
		it := &items[i]
		if it.kind == statementItem && !(p.program && it.isVar) {
			lastStmt = it
			if p.program {
				errs.add(src, it.start, "syntax error: non-declaration statement outside function body")
			}
			continue
		}
		lastStmt = nil
		body.WriteString(src.text[cursor:it.start])
		body.WriteString(blank(src.text[it.start:it.after]))
		cursor = it.after
		if it.kind == packageItem {
			p.program = mode == programMode && strings.TrimSpace(src.text[it.start+len("package"):it.end]) == "main"
			continue
		}
		if err := n.parseItem(p, it); err != nil {
			collect(errs, err)
		}
	}
	body.WriteString(src.text[cursor:])
	if err := n.parseBody(p, body.String(), lastStmt); err != nil {
		collect(errs, err)
	}
	if len(errs.Diagnostics) > 0 {
		return nil, errs.sorted()
	}
	p.arrange(lastStmt)
	return p, nil
}

func collect(errs *CheckError, err error) {
	var c *CheckError
	if errors.As(err, &c) {
		errs.Diagnostics = append(errs.Diagnostics, c.Diagnostics...)
		return
	}
	errs.Diagnostics = append(errs.Diagnostics, Diagnostic{Message: err.Error()})
}

// blank keeps the lines of a text and nothing else, so that what comes after it stays where it was.
func blank(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
	return string(b)
}

func (n *Notebook) parseItem(p *parsed, it *item) error {
	const prefix = "package main;"
	f, err := n.parse(p.src, prefix, p.src.text[it.start:it.end], "\n", it.start)
	if err != nil {
		return err
	}
	for _, d := range f.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			p.decls = append(p.decls, n.funcDecl(f, d))
		case *ast.GenDecl:
			if err := n.genDecl(p, f, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *Notebook) funcDecl(f *fragment, d *ast.FuncDecl) *decl {
	out := &decl{kind: funcKind, name: d.Name.Name, frag: f, node: d, text: f.nodeText(d)}
	if recv := receiverName(d); recv != "" {
		out.kind, out.name = methodKind, recv+"."+d.Name.Name
	}
	out.names = []string{out.name}
	return out
}

func receiverName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}

func (n *Notebook) genDecl(p *parsed, f *fragment, d *ast.GenDecl) error {
	switch d.Tok {
	case token.IMPORT:
		for _, s := range d.Specs {
			spec := s.(*ast.ImportSpec)
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			is := importSpec{path: path, off: f.offset(spec.Path.Pos())}
			if spec.Name != nil {
				is.name = spec.Name.Name
			}
			p.imports = append(p.imports, is)
		}
	case token.TYPE:
		for _, s := range d.Specs {
			spec := s.(*ast.TypeSpec)
			one := &ast.GenDecl{Tok: token.TYPE, TokPos: d.TokPos, Specs: []ast.Spec{spec}}
			p.decls = append(p.decls, &decl{kind: typeKind, name: spec.Name.Name, names: []string{spec.Name.Name},
				frag: f, node: one, text: "type " + f.nodeText(spec)})
		}
	case token.VAR:
		p.globals = append(p.globals, globalVars{f, d})
	case token.CONST:
		g := &decl{kind: constKind, frag: f, node: d, text: f.nodeText(d)}
		for _, s := range d.Specs {
			for _, name := range s.(*ast.ValueSpec).Names {
				if name.Name != "_" {
					g.names = append(g.names, name.Name)
				}
			}
		}
		if len(g.names) > 0 {
			g.name = g.names[0]
		} else {
			g.name = "_"
		}
		p.decls = append(p.decls, g)
	}
	return nil
}

func (f *fragment) nodeText(node ast.Node) string {
	return f.text[f.tfile.Offset(node.Pos()):f.tfile.Offset(node.End())]
}

// parseBody parses the statements. The last one, if it is a list of expressions, becomes the call of a helper.
func (n *Notebook) parseBody(p *parsed, text string, last *item) error {
	prefix := "package main;func " + cellName + "() {"
	f := &fragment{src: p.src, shift: -len(prefix)}
	if last != nil && last.tuple && parsesAsList(p.src.text[last.start:last.end]) {
		open := tupleName + "("
		f.insert, f.length = len(prefix)+last.start, len(open)
		text = text[:last.start] + open + text[last.start:last.end] + ")" + text[last.end:]
	}
	f.text = prefix + text + "\n}\n"
	err := f.parse(n.fset)
	if f.tfile != nil {
		n.frags[f.tfile] = f
	}
	if err != nil {
		return err
	}
	if len(f.file.Decls) != 1 {
		e := &CheckError{}
		e.add(p.src, f.offset(f.file.Decls[1].Pos()), "syntax error: unexpected }")
		return e
	}
	p.body, p.fn = f, f.file.Decls[0].(*ast.FuncDecl)
	return nil
}

func parsesAsList(s string) bool {
	e, err := parser.ParseExpr("f(" + s + ")")
	if err != nil {
		return false
	}
	call, ok := e.(*ast.CallExpr)
	return ok && len(call.Args) > 1 && !call.Ellipsis.IsValid()
}

// arrange makes of the cell's statements what Go's rules can be applied to: a name that is declared again opens a block
// of its own, and a return at the top level, which may give values, becomes its values and a bare return.
func (p *parsed) arrange(last *item) {
	p.top = append([]ast.Stmt(nil), p.fn.Body.List...)
	if last != nil && len(p.top) > 0 {
		p.last, _ = p.top[len(p.top)-1].(*ast.ExprStmt)
		p.silent = last.silent
	}
	p.replaceReturns(p.fn.Body)
	p.top = append([]ast.Stmt(nil), p.fn.Body.List...)
	declared := map[string]bool{}
	p.fn.Body.List = nest(p.fn.Body.List, declared, p.fn.Body)
}

func nest(list []ast.Stmt, declared map[string]bool, around *ast.BlockStmt) []ast.Stmt {
	for i, s := range list {
		names := definedBy(s)
		again := false
		for _, id := range names {
			again = again || declared[id.Name]
		}
		if again {
			clear(declared)
			block := &ast.BlockStmt{Lbrace: s.Pos(), Rbrace: around.Rbrace}
			block.List = nest(list[i:], declared, block)
			return append(list[:i:i], block)
		}
		for _, id := range names {
			if id.Name != "_" {
				declared[id.Name] = true
			}
		}
	}
	return list
}

// definedBy gives the identifiers that a statement declares in its block.
func definedBy(s ast.Stmt) []*ast.Ident {
	var out []*ast.Ident
	switch s := s.(type) {
	case *ast.LabeledStmt:
		return definedBy(s.Stmt)
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			for _, l := range s.Lhs {
				if id, ok := l.(*ast.Ident); ok {
					out = append(out, id)
				}
			}
		}
	case *ast.DeclStmt:
		if g, ok := s.Decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, spec := range g.Specs {
				out = append(out, spec.(*ast.ValueSpec).Names...)
			}
		}
	}
	return out
}

// replaceReturns rewrites the returns of the cell's own level, not those of function literals.
func (p *parsed) replaceReturns(body *ast.BlockStmt) {
	var list func([]ast.Stmt)
	var stmt func(ast.Stmt) ast.Stmt
	list = func(ss []ast.Stmt) {
		for i := range ss {
			ss[i] = stmt(ss[i])
		}
	}
	stmt = func(s ast.Stmt) ast.Stmt {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			if len(s.Results) == 0 {
				return s
			}
			b := &ast.BlockStmt{Lbrace: s.Return, Rbrace: s.End()}
			for _, x := range s.Results {
				b.List = append(b.List, &ast.ExprStmt{X: x})
			}
			b.List = append(b.List, &ast.ReturnStmt{Return: s.End()})
			p.returns[b] = s
			return b
		case *ast.BlockStmt:
			list(s.List)
		case *ast.IfStmt:
			list(s.Body.List)
			if s.Else != nil {
				s.Else = stmt(s.Else)
			}
		case *ast.ForStmt:
			list(s.Body.List)
		case *ast.RangeStmt:
			list(s.Body.List)
		case *ast.LabeledStmt:
			s.Stmt = stmt(s.Stmt)
		case *ast.SwitchStmt:
			list(s.Body.List)
		case *ast.TypeSwitchStmt:
			list(s.Body.List)
		case *ast.SelectStmt:
			list(s.Body.List)
		case *ast.CaseClause:
			list(s.Body)
		case *ast.CommClause:
			list(s.Body)
		}
		return s
	}
	list(body.List)
}
