package interp

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file finds out what stands at a place of a text that is being written. The text is seldom right: it is cut or
// closed until the parser can take it, checked against the notebook with all its errors, and the place is found again
// in what came of that. The notebook itself is left alone: a copy of it does the work.

// cursorName stands for the identifier that is being written.
const cursorName = "cursor" + sep

// focus is an identifier of a text, with what the checker knows of it.
type focus struct {
	n    *Notebook // a copy to work with
	p    *prepared
	v    *verdict
	frag *fragment
	path []ast.Node // from the declaration down to the identifier
}

// ident is the identifier itself.
func (f *focus) ident() *ast.Ident { return f.path[len(f.path)-1].(*ast.Ident) }

// parent gives the node that many levels above the identifier, or nil.
func (f *focus) parent(levels int) ast.Node {
	if i := len(f.path) - 1 - levels; i >= 0 {
		return f.path[i]
	}
	return nil
}

// focusOn checks a text and looks at the identifier at an offset. The function use gets it, unless it is not found. Text
// that makes the checker panic, which happens for syntax trees with holes, is text without an answer.
func (n *Notebook) focusOn(text string, offset int, use func(*focus)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.scratch()
	defer func() {
		for file := range c.frags {
			n.fset.RemoveFile(file)
		}
		_ = recover()
	}()
	if f := c.look(newSource(thisCell, text), offset); f != nil {
		use(f)
	}
}

// scratch gives a notebook that can be worked with for as long as n does not change. What is parsed for it is in its
// frags alone.
func (n *Notebook) scratch() *Notebook {
	return &Notebook{
		fset: n.fset, frags: map[*token.File]*fragment{}, imp: n.imp, names: n.names, decls: n.decls, imports: n.imports,
		dots: n.dots, helpers: n.helpers, globals: maps.Clone(n.globals), aliases: maps.Clone(n.aliases),
	}
}

// look checks the text of a source and finds the identifier at an offset.
func (n *Notebook) look(src *source, offset int) *focus {
	parsed := n.parseBroken(src)
	if parsed == nil {
		return nil
	}
	p := &prepared{parsed: parsed, gone: map[*decl]bool{}, dead: map[string]bool{}, dots: map[string]bool{}}
	own := append([]*decl(nil), p.decls...)
	n.supersede(p)
	f := &focus{n: n, p: p}
	if f.path = pathTo(p.fn, p.body, offset); f.path != nil {
		f.frag = p.body
		n.checkTop(p)
		f.v = p.v
		return f
	}
	for _, d := range own {
		if f.path = pathTo(d.node, d.frag, offset); f.path == nil {
			continue
		}
		f.frag = d.frag
		n.checkTop(p)
		n.findVars(p)
		f.v = n.pass(n.scopeAfter(p, map[*decl]bool{d: true}))
		return f
	}
	return nil
}

// supersede makes the cell's declarations and imports take the place of the notebook's.
func (n *Notebook) supersede(p *prepared) {
	known := p.parsed.imports[:0]
	for _, is := range p.parsed.imports {
		if _, err := n.imp.Import(is.path); err == nil {
			known = append(known, is)
		}
	}
	p.parsed.imports = known
	_ = n.resolveImports(p) // it fails for unknown paths only
	for _, d := range p.decls {
		for _, name := range d.names {
			n.retire(p, name)
		}
	}
	for name := range p.imports {
		n.retire(p, name)
	}
}

func (n *Notebook) checkTop(p *prepared) {
	decls, vars := n.live(p)
	p.v = n.pass(scopeOf{imports: p.imports, dots: p.dots, decls: append(decls, p.decls...), dead: p.dead, vars: vars,
		extra: []ast.Decl{p.fn}})
}

// parseBroken is parseCell for a text with errors: it takes what the parser makes of it. It is nil if that is nothing.
func (n *Notebook) parseBroken(src *source) *parsed {
	p := &parsed{src: src, returns: map[*ast.BlockStmt]*ast.ReturnStmt{}}
	var body strings.Builder
	cursor := 0
	var last *item
	items := split(src)
	for i := range items {
		it := &items[i]
		if it.kind == statementItem {
			last = it
			continue
		}
		last = nil
		body.WriteString(src.text[cursor:it.start])
		body.WriteString(blank(src.text[it.start:it.after]))
		cursor = it.after
		if it.kind == packageItem {
			continue
		}
		f, _ := n.parse(src, "package main;", src.text[it.start:it.end], "\n", it.start)
		if f.file == nil {
			continue
		}
		for _, d := range f.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				p.decls = append(p.decls, n.funcDecl(f, d))
			case *ast.GenDecl:
				_ = n.genDecl(p, f, d)
			}
		}
	}
	body.WriteString(src.text[cursor:])
	if n.parseBody(p, body.String(), last) != nil {
		if p.body = n.brokenBody(src); p.body == nil {
			return nil
		}
		p.fn = functionIn(p.body)
	}
	p.arrange(last)
	return p
}

// brokenBody gives the fragment that parseBody has made last, also when it had errors.
func (n *Notebook) brokenBody(src *source) *fragment {
	for _, f := range n.frags {
		if f.src == src && f.file != nil && functionIn(f) != nil {
			return f
		}
	}
	return nil
}

func functionIn(f *fragment) *ast.FuncDecl {
	for _, d := range f.file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == cellName {
			return fn
		}
	}
	return nil
}

// pathTo gives the nodes from root down to the identifier at an offset of the source, or nil.
func pathTo(root ast.Node, frag *fragment, offset int) []ast.Node {
	var path, found []ast.Node
	ast.Inspect(root, func(node ast.Node) bool {
		if node == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, node)
		id, ok := node.(*ast.Ident)
		if ok && found == nil && id.Pos().IsValid() && id.Name != cellName && id.Name != tupleName && frag.offset(id.Pos()) == offset {
			found = append([]ast.Node(nil), path...)
		}
		return true
	})
	return found
}

// maxEndings bounds how often a text is parsed to find what it lacks.
const maxEndings = 12

// mended gives a text that the parser can take, if there is one: before, which ends in the identifier that is looked at,
// followed by what comes after it, or else by what closes it.
func mended(before, after string) string {
	if whole := before + after; syntaxError(whole) == nil {
		return whole
	}
	end := closers(before)
	later := laterDeclarations(after)
	endings := []string{end}
	for _, missing := range []string{" {}", ":", "; {}", " int"} {
		endings = append(endings, missing+end)
	}
	for i := range end { // a function literal of a go or defer statement is called
		endings = append(endings, end[:i+1]+"()"+end[i+1:])
	}
	for _, e := range endings[:min(len(endings), maxEndings)] {
		if text := before + e + "\n" + later; syntaxError(text) == nil {
			return text
		}
	}
	return before + end + "\n" + later
}

// closers gives the brackets that close those which a text leaves open.
func closers(text string) string {
	var (
		stack []byte
		s     scanner.Scanner
	)
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), []byte(text), func(token.Position, string) {}, 0)
	for {
		_, tok, _ := s.Scan()
		switch tok {
		case token.EOF:
			for i, j := 0, len(stack)-1; i < j; i, j = i+1, j-1 {
				stack[i], stack[j] = stack[j], stack[i]
			}
			return string(stack)
		case token.LPAREN:
			stack = append(stack, ')')
		case token.LBRACK:
			stack = append(stack, ']')
		case token.LBRACE:
			stack = append(stack, '}')
		case token.RPAREN, token.RBRACK, token.RBRACE:
			stack = stack[:max(0, len(stack)-1)]
		}
	}
}

// laterDeclarations gives the declarations that start at the beginning of a later line and can be parsed.
func laterDeclarations(text string) string {
	for {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			return ""
		}
		text = text[i+1:]
		word, _, _ := strings.Cut(text, " ")
		switch word {
		case "func", "type", "const", "var", "import":
			var b strings.Builder
			for _, it := range split(newSource("", text)) {
				part := text[it.start:it.end]
				if (it.kind != statementItem || it.isVar) && syntaxError(part) == nil {
					b.WriteString(part + "\n")
				}
			}
			return b.String()
		}
	}
}

// withoutMagics gives a text in which the lines of magics are blank.
func withoutMagics(text string) string {
	magics, _ := magicLines(text)
	return blank(text[:magics]) + text[magics:]
}

// byteOffset gives the offset of a cursor that is counted in code points.
func byteOffset(text string, cursor int) int {
	for offset := range text {
		if cursor <= 0 {
			return offset
		}
		cursor--
	}
	return len(text)
}

func codePoints(text string) int { return utf8.RuneCountInString(text) }

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// wordStart gives the offset at which the word that ends at offset starts.
func wordStart(text string, offset int) int {
	return len(strings.TrimRightFunc(text[:offset], isWord))
}

// wordEnd gives the offset at which the word that goes on at offset ends.
func wordEnd(text string, offset int) int {
	return len(text) - len(strings.TrimLeftFunc(text[offset:], isWord))
}

// placeKind says what kind of text an offset is in.
type placeKind int

const (
	inCode   placeKind = iota
	inImport           // in the string of an import path
	inString           // in another string or character
	nowhere            // in a comment, a number, a magic's line
)

// placement is what an offset is in; for a string, with where that starts and ends, quotes included.
type placement struct {
	kind       placeKind
	start, end int
}

func placeAt(text string, offset int) placement {
	magics, _ := magicLines(text)
	if offset < magics || offset == magics && magics > 0 && text[magics-1] != '\n' {
		return placement{kind: nowhere}
	}
	text = withoutMagics(text)
	var s scanner.Scanner
	failed := false
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), func(token.Position, string) { failed = true }, scanner.ScanComments)
	importing, parens := false, false
	for {
		failed = false
		pos, tok, lit := s.Scan()
		start := file.Offset(pos)
		if tok == token.EOF || start >= offset {
			return placement{}
		}
		end := start + len(lit)
		within := offset < end || offset == end && failed // without its end, it goes on to the cursor
		switch tok {
		case token.IMPORT:
			importing, parens = true, false
		case token.LPAREN:
			parens = importing
		case token.RPAREN:
			importing, parens = false, false
		case token.SEMICOLON:
			importing = importing && parens
		case token.COMMENT:
			if within || offset == end && strings.HasPrefix(lit, "//") {
				return placement{kind: nowhere}
			}
		case token.STRING, token.CHAR:
			switch {
			case within && importing && tok == token.STRING:
				return placement{inImport, start, end}
			case within:
				return placement{inString, start, end}
			}
		case token.INT, token.FLOAT, token.IMAG:
			if offset <= end {
				return placement{kind: nowhere}
			}
		}
	}
}
