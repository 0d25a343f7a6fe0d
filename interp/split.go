package interp

import (
	"go/scanner"
	"go/token"
)

// itemKind says where a top-level item of a cell belongs.
type itemKind int

const (
	statementItem itemKind = iota // runs when the cell does; var and := among them
	importItem
	constItem
	typeItem
	funcItem    // function or method declaration
	packageItem // package clause, which says nothing here
)

// item is one top-level declaration, statement or expression of a cell.
type item struct {
	kind       itemKind
	start, end int  // offsets in the source, without the ending semicolon
	after      int  // offset after the ending semicolon
	silent     bool // ended by a semicolon that the user wrote
	tuple      bool // expressions parted by commas, which is no statement of Go
	isVar      bool // a var declaration
}

// split finds the top-level items of a cell by its tokens alone, so strings, comments and automatic semicolons are
// right. It never fails: what is wrong in an item shows when the item is parsed.
func split(src *source) []item {
	var (
		s     scanner.Scanner
		fset  = token.NewFileSet()
		file  = fset.AddFile("", -1, len(src.text))
		items []item
		cur   tokens
	)
	s.Init(file, []byte(src.text), func(token.Position, string) {}, 0)
	depth := 0
	for {
		pos, tok, lit := s.Scan()
		off := file.Offset(pos)
		if tok == token.EOF {
			items = cur.finish(items, len(src.text), len(src.text), false)
			return items
		}
		switch tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		case token.SEMICOLON:
			if depth <= 0 {
				depth = 0
				after := off
				if lit == ";" {
					after++
				}
				items = cur.finish(items, off, after, lit == ";")
				cur = tokens{}
				continue
			}
		}
		end := off + len(lit)
		if tok.IsOperator() {
			end = off + len(tok.String())
		}
		cur.add(tok, off, min(end, len(src.text)), depth) // an automatic semicolon may stand past the end
	}
}

// tokens gathers what decides an item's kind.
type tokens struct {
	first  []token.Token // the tokens that matter for telling methods from function literals
	depths []int
	start  int
	end    int
	n      int
	comma  bool // a comma outside of brackets
	assign bool // a token outside of brackets that makes it a statement
	key    bool // starts by a keyword
}

func (t *tokens) add(tok token.Token, off, end, depth int) {
	if t.n == 0 {
		t.start = off
		t.key = tok.IsKeyword() && tok != token.FUNC && tok != token.STRUCT && tok != token.MAP && tok != token.CHAN && tok != token.INTERFACE
	}
	t.n++
	t.end = end
	if t.n == 1 || t.first[0] == token.FUNC {
		t.first = append(t.first, tok)
		t.depths = append(t.depths, depth)
	}
	if depth > 0 {
		return
	}
	switch tok {
	case token.COMMA:
		t.comma = true
	case token.ASSIGN, token.DEFINE, token.COLON, token.INC, token.DEC,
		token.ADD_ASSIGN, token.SUB_ASSIGN, token.MUL_ASSIGN, token.QUO_ASSIGN, token.REM_ASSIGN, token.AND_ASSIGN,
		token.OR_ASSIGN, token.XOR_ASSIGN, token.SHL_ASSIGN, token.SHR_ASSIGN, token.AND_NOT_ASSIGN:
		t.assign = true
	}
}

func (t *tokens) finish(items []item, end, after int, explicit bool) []item {
	if t.n == 0 {
		// A lone semicolon after an expression silences it, also on a line of its own.
		if explicit && len(items) > 0 {
			items[len(items)-1].silent = true
		}
		return items
	}
	it := item{start: t.start, end: t.end, after: after, silent: explicit}
	switch t.first[0] {
	case token.IMPORT:
		it.kind = importItem
	case token.CONST:
		it.kind = constItem
	case token.TYPE:
		it.kind = typeItem
	case token.PACKAGE:
		it.kind = packageItem
	case token.VAR:
		it.isVar = true
	case token.FUNC:
		if t.declaresFunc() {
			it.kind = funcItem
		}
	}
	it.tuple = it.kind == statementItem && t.comma && !t.assign && !t.key
	return append(items, it)
}

// declaresFunc tells `func f(` and `func (t T) m(` from a function literal that starts a statement.
func (t *tokens) declaresFunc() bool {
	if len(t.first) < 2 {
		return false
	}
	if t.first[1] == token.IDENT {
		return true
	}
	if t.first[1] != token.LPAREN {
		return false
	}
	for i := 2; i < len(t.first); i++ {
		if t.depths[i] == 0 { // the receiver's closing parenthesis
			return i+2 < len(t.first) && t.first[i+1] == token.IDENT && t.first[i+2] == token.LPAREN
		}
	}
	return false
}
