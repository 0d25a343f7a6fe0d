package interp

import (
	"fmt"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// Unit is code that was checked and lowered: what an Evaluator takes. It travels to other processes as bytes.
type Unit struct {
	Name     string   // what the user calls it: cell[3]
	File     string   // what the evaluator calls it; each Unit of an evaluator has another
	Source   string   // Go, as the evaluator takes it
	Spans    []Span   // where the parts of Source come from
	Sources  []string // the names that Spans refer to
	Packages []string // import paths that Source uses
	Setup    string   // function that tells the evaluator the variables and types; "" if there are none
	Body     string   // function to run; "" if the Unit only declares
	Methods  []Method // methods that Source declares again
	// Types is evaluated first: the types that Source uses, if interface types are among them.
	Types      *Unit
	Interfaces []Interface
}

// Method names a method of a type of the evaluator.
type Method struct{ Type, Name string }

// Span says that a part of a Unit's Source was taken from a place in a user's text.
type Span struct {
	Offset int  // in Unit.Source
	Length int  //
	Source int  // index in Unit.Sources
	Line   int  // of the first byte
	Column int  //
	Fixed  bool // made by us: all of it stands for that one place
}

// Position finds where the user wrote what stands at a line and column of Source.
func (u *Unit) Position(line, column int) Position {
	offset := 0
	for rest := u.Source; line > 1; line-- {
		i := strings.IndexByte(rest, '\n')
		if i < 0 {
			return Position{Source: u.Name}
		}
		rest = rest[i+1:]
		offset += i + 1
	}
	offset += column - 1
	lo, hi := 0, len(u.Spans)
	for lo < hi {
		m := (lo + hi) / 2
		if u.Spans[m].Offset <= offset {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == 0 {
		return Position{Source: u.Name}
	}
	s := u.Spans[lo-1]
	pos := Position{Source: u.Sources[s.Source], Line: s.Line, Column: s.Column}
	if s.Fixed {
		return pos
	}
	for _, c := range []byte(u.Source[s.Offset:min(offset, s.Offset+s.Length)]) {
		if c == '\n' {
			pos.Line++
			pos.Column = 1
		} else {
			pos.Column++
		}
	}
	return pos
}

// Marshal gives the Unit as bytes.
func (u *Unit) Marshal() ([]byte, error) { return cbor.Marshal(u) }

// UnmarshalUnit reads what Marshal wrote.
func UnmarshalUnit(data []byte) (*Unit, error) {
	u := &Unit{}
	if err := decode(data, u); err != nil {
		return nil, fmt.Errorf("reading a unit of code: %w", err)
	}
	return u, nil
}

func decode(data []byte, into any) error {
	mode, err := cbor.DecOptions{MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 20, MaxNestedLevels: 32}.DecMode()
	if err != nil {
		return err
	}
	return mode.Unmarshal(data, into)
}

// Program is what runs on every rank: the code of a cell with all that it uses of earlier cells, and the values of the
// variables that it uses.
type Program struct {
	Name     string // what the user calls it
	Unit     Unit
	Captured []Captured
	Result   string   // Go type of the value that a rank gives; "" if it gives none
	Main     bool     // a package main program: exit status 0 is success
	Args     []string // os.Args of the ranks, without the program's name
	Decls    []Shipped
}

// Captured is a variable that travels with a Program.
type Captured struct {
	Name  string
	Type  string
	Value []byte // encoded by package value
}

// Shipped names a declaration that travels with a Program.
type Shipped struct{ Kind, Name, Cell string }

// Marshal gives the Program as bytes.
func (p *Program) Marshal() ([]byte, error) { return cbor.Marshal(p) }

// UnmarshalProgram reads what Marshal wrote.
func UnmarshalProgram(data []byte) (*Program, error) {
	p := &Program{}
	if err := decode(data, p); err != nil {
		return nil, fmt.Errorf("reading a program: %w", err)
	}
	return p, nil
}

// Summary says what the Program ships, for --dry-run.
func (p *Program) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "program %s\n", p.Name)
	for _, d := range p.Decls {
		fmt.Fprintf(&b, "  code   %-9s %s (%s)\n", d.Kind, d.Name, d.Cell)
	}
	for _, c := range p.Captured {
		fmt.Fprintf(&b, "  value  %s %s (%s)\n", c.Name, c.Type, Size(len(c.Value)))
	}
	if p.Result == "" {
		b.WriteString("  gives  nothing\n")
	} else {
		fmt.Fprintf(&b, "  gives  %s from each rank\n", p.Result)
	}
	return b.String()
}

// Size writes a number of bytes for people.
func Size(n int) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
