package kernel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/gorovod/gorovod/display"
	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/kernel/jupyter"
	"github.com/gorovod/gorovod/launch"
)

// This file answers what front ends ask while the user types. Special lines are answered here, Go code by the notebook.

// placeOf finds out what a cursor in a cell is in: a special line, or else Go code, which is given with everything
// else blank.
func placeOf(text string, cursor int) (line *span, code string) {
	lines, _ := specialLines(text)
	for _, at := range lines {
		if !at.holds(cursor) {
			continue
		}
		if expr, ok := expression(text, at); ok && cursor >= expr.start {
			return nil, only(text, expr)
		}
		return &at, ""
	}
	return nil, blank(text, lines...)
}

// expression finds the code in the line of a %run.
func expression(text string, at span) (span, bool) {
	if firstWord(at.of(text)) != "%run" {
		return span{}, false
	}
	rest, expr, err := runArguments(text, at, &run{})
	return expr, err == nil && rest != ""
}

// Complete gives the completions at a cursor.
func (k *Kernel) Complete(_ context.Context, text string, cursor int) (jupyter.Completion, error) {
	line, code := placeOf(text, cursor)
	if line != nil {
		return k.completeSpecial(text, *line, cursor), nil
	}
	found := k.notebook.Complete(code, codePoints(code, cursor))
	c := jupyter.Completion{Start: byteOffset(code, found.Start), End: byteOffset(code, found.End)}
	for i, text := range found.Matches {
		c.Matches = append(c.Matches, jupyter.Match{Text: text, Kind: found.Kinds[i], Signature: found.Signatures[i]})
	}
	return c, nil
}

// codePoints and byteOffset turn the offsets of this package, which are bytes, into those of interp and back.
func codePoints(text string, offset int) int { return utf8.RuneCountInString(text[:offset]) }

func byteOffset(text string, points int) int {
	for i := range text {
		if points == 0 {
			return i
		}
		points--
	}
	return len(text)
}

// completeSpecial completes the last word before the cursor of a special line.
func (k *Kernel) completeSpecial(text string, line span, cursor int) jupyter.Completion {
	before := text[line.start:cursor]
	start := strings.LastIndexAny(before, " \t") + 1
	typed := before[start:]
	name := firstWord(before)
	c := jupyter.Completion{Start: line.start + start, End: cursor}
	add := func(kind string, candidates ...string) {
		for _, candidate := range candidates {
			if strings.HasPrefix(candidate, typed) {
				c.Matches = append(c.Matches, jupyter.Match{Text: candidate, Kind: kind})
			}
		}
	}
	switch {
	case strings.TrimSpace(before) == typed:
		for _, s := range specials {
			if strings.HasPrefix(s.name, "%") {
				add("magic", s.name)
			}
		}
	case name == "%%run" || name == "%run":
		words := strings.Fields(before[:start])
		if words[len(words)-1] == "--output" {
			add("value", string(launch.OutputStream), string(launch.OutputGroup), string(launch.OutputRoot), string(launch.OutputRaw))
			break
		}
		add("flag", flagSpellings()...)
	case name == "%cd":
		rest := strings.TrimLeft(strings.TrimLeft(before, " \t")[len(name):], " \t")
		c.Start = cursor - len(rest)
		c.Matches = folders(rest, k.session.folder())
	case name == "%go111module":
		add("value", "on", "off")
	}
	return c
}

// flagSpellings lists the flags of %%run as they are written.
func flagSpellings() []string {
	all := []string{"-np"}
	runFlags(&run{}).VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden:
		case f.Shorthand != "" && len(f.Name) == 1:
			all = append(all, "-"+f.Shorthand)
		case f.Shorthand != "":
			all = append(all, "-"+f.Shorthand, "--"+f.Name)
		default:
			all = append(all, "--"+f.Name)
		}
	})
	return append(all, "--help")
}

// folders gives the folders whose path begins with what was typed.
func folders(typed, here string) []jupyter.Match {
	dir, prefix := filepath.Split(typed)
	in := dir
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		in = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(in) {
		in = filepath.Join(here, in)
	}
	entries, err := os.ReadDir(in)
	if err != nil {
		return nil // nothing is known of what cannot be read
	}
	var all []jupyter.Match
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, ".") && !strings.HasPrefix(prefix, ".") {
			continue
		}
		if info, err := os.Stat(filepath.Join(in, name)); err == nil && info.IsDir() {
			all = append(all, jupyter.Match{Text: dir + name + "/", Kind: "path"})
		}
	}
	return all
}

// Inspect tells what is at a cursor.
func (k *Kernel) Inspect(_ context.Context, text string, cursor, detail int) (jupyter.Inspection, error) {
	line, code := placeOf(text, cursor)
	if line == nil {
		return k.inspectCode(code, cursor, detail)
	}
	words := strings.TrimSpace(line.of(text))
	if m := question.FindStringSubmatch(words); m != nil && m[1]+m[3] != "" {
		return k.about(m[2], detail)
	}
	return aboutSpecial(firstWord(words)), nil
}

// about tells what a name is, which may be that of a special line.
func (k *Kernel) about(name string, detail int) (jupyter.Inspection, error) {
	if strings.HasPrefix(name, "%") {
		return aboutSpecial(name), nil
	}
	return k.inspectCode(name, len(name), detail)
}

func aboutSpecial(name string) jupyter.Inspection {
	switch name {
	case "%%run", "%run":
		return jupyter.Inspection{Found: true, Bundle: textBundle(runHelp(name == "%%run"))}
	}
	if strings.HasPrefix(name, "$") {
		name = "$"
	}
	for _, s := range specials {
		if s.name == name {
			return jupyter.Inspection{Found: true, Bundle: textBundle(fmt.Sprintf("%s\n\n%s", s.usage, s.about))}
		}
	}
	return jupyter.Inspection{}
}

func (k *Kernel) inspectCode(code string, cursor, detail int) (jupyter.Inspection, error) {
	found, ok := k.notebook.Inspect(code, codePoints(code, cursor), detail)
	if !ok {
		return jupyter.Inspection{}, nil
	}
	b := textBundle(found.Plain)
	if found.Markdown != "" {
		b.Data[display.MIMETypeMarkdown] = found.Markdown
	}
	return jupyter.Inspection{Found: true, Bundle: b}, nil
}

// IsComplete tells whether a console should run what was typed.
func (k *Kernel) IsComplete(_ context.Context, text string) (jupyter.Completeness, error) {
	lines, whole := specialLines(text)
	code := blank(text, lines...)
	if strings.TrimSpace(code) != "" {
		status, indent := interp.IsComplete(code)
		return jupyter.Completeness{Status: jupyter.CompleteStatus(status), Indent: indent}, nil
	}
	if s, err := parseScript(text); whole && err == nil && isRun(s) {
		return jupyter.Completeness{Status: jupyter.Incomplete}, nil // the cell's code is still to come
	}
	return jupyter.Completeness{Status: jupyter.Complete}, nil
}

// isRun says whether a cell runs code on ranks, rather than asking for help with it.
func isRun(s *script) bool {
	_, ok := s.steps[0].(*run)
	return ok
}
