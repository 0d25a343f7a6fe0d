package interp

import (
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
)

// The answers of IsComplete, as Jupyter names them.
const (
	statusComplete   = "complete"   // ready to run
	statusIncomplete = "incomplete" // more lines are expected
	statusInvalid    = "invalid"    // no further line can make it right
)

// IsComplete tells whether a text that is being typed line by line is ready to run, and for an incomplete one what the
// next line begins with. It asks the scanner and the parser only: whether names are known shows when the cell is run.
func IsComplete(text string) (status, indent string) {
	_, cellMagic := magicLines(text)
	body := withoutMagics(text)
	if strings.TrimSpace(body) == "" {
		if cellMagic {
			return statusIncomplete, ""
		}
		return statusComplete, ""
	}
	t := scanEnding(body)
	err := syntaxError(body)
	switch {
	case err == nil && !t.open:
		return statusComplete, ""
	case !t.open && t.ended, t.broken:
		return statusInvalid, ""
	case t.open: // inside a comment or a raw string, where white space counts
		return statusIncomplete, ""
	case err != nil && err.offset < t.end:
		return statusInvalid, ""
	}
	return statusIncomplete, strings.Repeat("\t", max(1, t.depth))
}

// magicLines gives the offset after the lines of magics and shell commands that a cell starts with, and says whether one
// of them takes the rest of the cell as its body.
func magicLines(text string) (end int, cellMagic bool) {
	for end < len(text) {
		line := text[end:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		trimmed := strings.TrimSpace(line)
		if trimmed != "" && trimmed[0] != '%' && trimmed[0] != '$' {
			break
		}
		cellMagic = cellMagic || strings.HasPrefix(trimmed, "%%")
		end += len(line)
	}
	return end, cellMagic
}

// ending is what the tokens of a text say about how it ends.
type ending struct {
	end    int  // offset after the last token
	depth  int  // brackets that are still open
	open   bool // the text ends inside a comment or a raw string
	ended  bool // the end of the last line ends a statement
	broken bool // brackets that do not match, or a string without end
}

func scanEnding(text string) ending {
	var (
		t     ending
		stack []token.Token
		s     scanner.Scanner
		file  = token.NewFileSet().AddFile("", -1, len(text))
	)
	s.Init(file, []byte(text), func(_ token.Position, msg string) {
		switch {
		case strings.HasPrefix(msg, "comment not terminated"), strings.HasPrefix(msg, "raw string literal not terminated"):
			t.open = true
		default:
			t.broken = true
		}
	}, 0)
	closes := map[token.Token]token.Token{token.RPAREN: token.LPAREN, token.RBRACK: token.LBRACK, token.RBRACE: token.LBRACE}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			t.depth = len(stack)
			return t
		}
		// An automatic semicolon at the end is one that a next line would not take away.
		t.ended = tok == token.SEMICOLON && len(stack) == 0
		if tok == token.SEMICOLON && lit != ";" {
			continue
		}
		t.end = file.Offset(pos) + len(lit)
		if tok.IsOperator() {
			t.end = file.Offset(pos) + len(tok.String())
		}
		switch tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			stack = append(stack, tok)
		case token.RPAREN, token.RBRACK, token.RBRACE:
			if len(stack) == 0 || stack[len(stack)-1] != closes[tok] {
				t.broken = true
				return t
			}
			stack = stack[:len(stack)-1]
		}
	}
}

// firstError is where the parser first met what it cannot take.
type firstError struct{ offset int }

// syntaxError parses the items of a cell as running it would.
func syntaxError(text string) *firstError {
	src := newSource("", text)
	var first *firstError
	note := func(err error, shift int) {
		var list scanner.ErrorList
		if !errors.As(err, &list) || len(list) == 0 {
			return
		}
		if at := list[0].Pos.Offset + shift; first == nil || at < first.offset {
			first = &firstError{at}
		}
	}
	fset := token.NewFileSet()
	for _, it := range split(src) {
		prefix, suffix := "package main;", "\n"
		part := text[it.start:it.end]
		switch {
		case it.kind == packageItem:
			continue
		case it.tuple && parsesAsList(strings.TrimSuffix(part, ",")+",0"):
			if strings.HasSuffix(part, ",") && (first == nil || it.end < first.offset) {
				first = &firstError{it.end}
			}
			continue
		case it.kind == statementItem:
			prefix, suffix = "package main;func "+cellName+"() {", "\n}\n"
		}
		_, err := parser.ParseFile(fset, "", prefix+part+suffix, parser.AllErrors)
		note(err, it.start-len(prefix))
	}
	return first
}
