package kernel

import (
	"fmt"
	"regexp"
	"strings"
)

// This file knows the special lines of a cell, which are not Go: what there is, and where in a cell they stand.

// special describes one kind of special line.
type special struct {
	name  string
	usage string
	about string
}

var specials = []special{
	{"%%run", "%%run [flags]", "run the whole cell on several processes; see %%run --help"},
	{"%run", "%run [flags] EXPR", "run one expression on several processes"},
	{"%cd", "%cd [PATH]", "change the notebook's folder; without PATH, to your home folder"},
	{"$", "$ COMMAND [ARG…]", "run a command (not in a shell: for pipes, $ sh -c '…')"},
	{"?", "NAME?", "tell what NAME is; NAME?? tells more"},
	{"%help", "%help", "print this"},
	{"%go111module", "%go111module on|off", "does nothing; other Go kernels have it"},
}

// helpText is what %help prints.
func helpText() string {
	var b strings.Builder
	b.WriteString("Special lines stand at the top of a cell, before any Go code:\n\n")
	for _, s := range specials {
		fmt.Fprintf(&b, "  %-20s  %s\n", s.usage, s.about)
	}
	b.WriteString("\nEverything else is Go. The value of a cell's last expression is shown, unless it ends in a semicolon.\n")
	return b.String()
}

// span is a line of a cell, without its newline.
type span struct{ start, end int }

func (s span) of(text string) string { return text[s.start:s.end] }

// holds says whether a cursor is on the line.
func (s span) holds(cursor int) bool { return s.start <= cursor && cursor <= s.end }

// number gives the line's number, from 1.
func (s span) number(text string) int { return 1 + strings.Count(text[:s.start], "\n") }

// question matches NAME?, ?NAME and the forms that ask for more.
var question = regexp.MustCompile(`^(\?{0,2})\s*([\p{L}_%][\p{L}\p{N}_.%]*)\s*(\?{0,2})$`)

func isQuestion(line string) bool {
	m := question.FindStringSubmatch(line)
	return m != nil && m[1]+m[3] != ""
}

// specialLines finds the special lines at the top of a cell. whole says that the only one is %%run, to which all the
// rest of the cell belongs.
func specialLines(text string) (lines []span, whole bool) {
	for start := 0; start < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
		}
		s := span{start, end}
		line := strings.TrimSpace(s.of(text))
		switch {
		case line == "":
		case line[0] == '%' || line[0] == '$' || isQuestion(line):
			lines = append(lines, s)
			if len(lines) == 1 && firstWord(line) == "%%run" {
				return lines, true
			}
		default:
			return lines, false
		}
		start = end + 1
	}
	return lines, false
}

func firstWord(line string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	word, _, _ = strings.Cut(word, "\t")
	return word
}

// blank gives the text with spaces in the place of the lines, so that everything else keeps its line and column.
func blank(text string, lines ...span) string {
	b := []byte(text)
	for _, s := range lines {
		for i := s.start; i < s.end; i++ {
			b[i] = ' '
		}
	}
	return string(b)
}

// only gives a text in which nothing but s is left where it was.
func only(text string, s span) string {
	b := []byte(text)
	for i := range b {
		if (i < s.start || i >= s.end) && b[i] != '\n' {
			b[i] = ' '
		}
	}
	return string(b)
}

// word is a word of a command line, and where it begins.
type word struct {
	text  string
	start int
}

// words splits a line as a shell does: blanks part the words, quotes and backslashes keep one together. There are no
// variables or patterns. When the last word does not end, it is given as far as it goes, with an error.
func words(line string) (all []word, err error) {
	var b strings.Builder
	start, quote := -1, byte(0)
	begin := func(i int) {
		if start < 0 {
			start = i
		}
	}
	end := func() {
		if start >= 0 {
			all = append(all, word{b.String(), start})
		}
		b.Reset()
		start = -1
	}
	i := 0
	for ; i < len(line); i++ {
		switch c := line[i]; {
		case quote == '\'' && c != '\'':
			b.WriteByte(c)
		case quote == '"' && c == '\\' && i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\\'):
			i++
			b.WriteByte(line[i])
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '\'' || c == '"':
			begin(i)
			quote = c
		case c == '\\' && i+1 < len(line):
			begin(i)
			i++
			b.WriteByte(line[i])
		case c == ' ' || c == '\t' || c == '\r':
			end()
		default:
			begin(i)
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		err = fmt.Errorf("the quote %c that begins in %q does not end", quote, line[start:])
	}
	end()
	return all, err
}

func texts(ws []word) []string {
	var all []string
	for _, w := range ws {
		all = append(all, w.text)
	}
	return all
}
