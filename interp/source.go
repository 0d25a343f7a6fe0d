package interp

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"sort"
	"strings"
	"unicode/utf8"
)

// source is a text that a user wrote: a cell, or a file given to `gorovod run`.
type source struct {
	name  string // how messages call it: cell[3], sim.go
	text  string
	lines []int // offset of each line's first byte
	tail  *tail
}

// tail is a part at the end of a source that the user gave apart from it, as --call gives an expression.
type tail struct {
	source
	from int // offset of its first byte
}

// withTail adds a text, which has places of its own.
func (s *source) withTail(name, text string) *source {
	out := newSource(s.name, s.text+"\n"+text)
	out.tail = &tail{*newSource(name, text), len(s.text) + 1}
	return out
}

func newSource(name, text string) *source {
	s := &source{name: name, text: text, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// position gives the place of an offset, lines and columns counted from 1, columns in bytes as Go's tools count them.
func (s *source) position(offset int) Position {
	if s.tail != nil && offset >= s.tail.from {
		return s.tail.position(offset - s.tail.from)
	}
	offset = max(0, min(offset, len(s.text)))
	line := sort.SearchInts(s.lines, offset+1) - 1
	return Position{Source: s.name, Line: line + 1, Column: offset - s.lines[line] + 1}
}

// line gives the text of a line, without its end.
func (s *source) line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	rest := s.text[s.lines[n-1]:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return strings.TrimSuffix(rest, "\r")
}

// Position is a place in a text that the user wrote.
type Position struct {
	Source string // cell[3], or a file's name
	Line   int    // from 1; 0 if unknown
	Column int    // from 1, in bytes
}

func (p Position) String() string {
	if p.Line == 0 {
		return p.Source
	}
	return fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Column)
}

// fragment is a part of a source that was parsed by itself, wrapped so that go/parser takes it.
// Every position of its syntax tree leads back to an offset of the source.
type fragment struct {
	src    *source
	file   *ast.File
	tfile  *token.File
	text   string // what was parsed: the wrapping and the part
	shift  int    // source offset = offset in text + shift
	insert int    // offset in text at which insertLen bytes stand that the source has not; 0 for none
	length int    // number of inserted bytes
	parts  []part // of a text put together from parts of the source and others; nil for none
}

// part is a run of bytes in a fragment's text.
type part struct {
	at, off int  // offsets of its first byte in the text and in the source
	fixed   bool // not from the source: all of it stands for one place
}

func (f *fragment) partAt(off int) int {
	return sort.Search(len(f.parts), func(i int) bool { return f.parts[i].at > off }) - 1
}

// offset gives the source offset of a position in the fragment.
func (f *fragment) offset(pos token.Pos) int {
	if !pos.IsValid() {
		return max(0, f.shift)
	}
	return f.sourceOffset(f.tfile.Offset(pos))
}

func (f *fragment) sourceOffset(off int) int {
	if f.parts != nil {
		switch i := f.partAt(off); {
		case i < 0:
			return f.parts[0].off
		case f.parts[i].fixed:
			return f.parts[i].off
		default:
			return f.parts[i].off + off - f.parts[i].at
		}
	}
	if f.length > 0 && off >= f.insert {
		off = max(f.insert, off-f.length)
	}
	return off + f.shift
}

// parse parses text, which is prefix + a part of src that starts at start + anything.
func parseFragment(fset *token.FileSet, src *source, prefix, part, suffix string, start int) (*fragment, error) {
	f := &fragment{src: src, text: prefix + part + suffix, shift: start - len(prefix)}
	return f, f.parse(fset)
}

func (f *fragment) parse(fset *token.FileSet) error {
	file, err := parser.ParseFile(fset, f.src.name, f.text, parser.AllErrors|parser.ParseComments)
	if file != nil {
		f.file, f.tfile = file, fset.File(file.FileStart)
	}
	var list scanner.ErrorList
	if err == nil {
		return nil
	}
	if l, ok := err.(scanner.ErrorList); ok {
		list = l
	} else {
		return err
	}
	errs := &CheckError{}
	for i, e := range list {
		off := f.sourceOffset(e.Pos.Offset)
		if off >= len(strings.TrimRight(f.src.text, " \t\n")) { // what ends the text is ours
			e.Msg = strings.NewReplacer("found '}'", "found the end", "found newline", "found the end", "found 'EOF'", "found the end").Replace(e.Msg)
			if i > 0 {
				continue // what is wrong before it says enough
			}
		}
		errs.add(f.src, off, "%s", e.Msg)
	}
	return errs
}

// Diagnostic is one thing wrong in a cell, at a place.
type Diagnostic struct {
	Position
	Message string
	Context string // the line of the place and a caret under it
}

func (d Diagnostic) String() string { return d.Position.String() + ": " + d.Message }

// CheckError holds all that is wrong in a cell, in the order of the text. None of the cell has run.
type CheckError struct {
	Diagnostics []Diagnostic
}

func (e *CheckError) Error() string {
	var b strings.Builder
	for i, d := range e.Diagnostics {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(d.String())
		if d.Context != "" {
			b.WriteString("\n" + d.Context)
		}
	}
	return b.String()
}

func (e *CheckError) add(src *source, offset int, format string, args ...any) {
	pos := src.position(offset)
	e.Diagnostics = append(e.Diagnostics, Diagnostic{Position: pos, Message: fmt.Sprintf(format, args...), Context: caret(src, pos)})
}

// sorted orders the diagnostics by place and drops what is said twice of one place.
func (e *CheckError) sorted() *CheckError {
	sort.SliceStable(e.Diagnostics, func(i, j int) bool {
		a, b := e.Diagnostics[i], e.Diagnostics[j]
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
	var out []Diagnostic
	for _, d := range e.Diagnostics {
		if len(out) > 0 && out[len(out)-1].Position == d.Position {
			continue
		}
		out = append(out, d)
	}
	e.Diagnostics = out
	return e
}

// caret draws the line of a place with a caret under the column, tabs kept so that both lines agree.
func caret(src *source, pos Position) string {
	if src.tail != nil && pos.Source == src.tail.name {
		src = &src.tail.source
	}
	line := src.line(pos.Line)
	if strings.TrimSpace(line) == "" {
		return ""
	}
	var pad strings.Builder
	for i, r := range line {
		if i >= pos.Column-1 {
			break
		}
		switch {
		case r == '\t':
			pad.WriteByte('\t')
		case r != utf8.RuneError:
			pad.WriteByte(' ')
		}
	}
	return "    " + line + "\n    " + pad.String() + "^"
}
