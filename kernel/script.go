package kernel

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gorovod/gorovod/launch"
)

// script is a cell taken apart. Its steps are done in order, and then its code is evaluated.
type script struct {
	steps []step
	code  string // the Go code in its place, everything else blank
}

// step is what one special line asks for: a changeDir, command, page, printed or run.
type step any

type (
	// changeDir is %cd; an empty path means the home folder.
	changeDir struct{ path string }
	// command is a program with its arguments.
	command struct{ args []string }
	// page asks what something is.
	page struct {
		name   string
		detail int
	}
	// printed is a text for one of the cell's streams.
	printed struct{ stream, text string }
	// run is code that runs on ranks.
	run struct {
		options launch.Options
		bind    string // the variable that takes the results
		code    string // in its place, everything else blank
	}
)

// scriptError is a special line that makes no sense.
type scriptError struct {
	line int
	text string
}

func (e *scriptError) Error() string { return e.text }

// parseScript takes a cell apart. Nothing is done yet, so that a mistake in a later line costs nothing.
func parseScript(text string) (*script, error) {
	lines, whole := specialLines(text)
	s := &script{code: blank(text, lines...)}
	for _, at := range lines {
		var st step
		var err error
		switch line := strings.TrimSpace(at.of(text)); firstWord(line) {
		case "%%run":
			if !whole {
				err = errors.New("%%run must be the first line of its cell: the whole cell runs on the ranks; for one expression there is %run")
				break
			}
			st, err = parseRun(text, at, true)
		case "%run":
			st, err = parseRun(text, at, false)
		default:
			st, err = parseSpecial(line)
		}
		if err != nil {
			return nil, &scriptError{at.number(text), err.Error()}
		}
		s.steps = append(s.steps, st)
	}
	if whole {
		s.code = ""
	}
	return s, nil
}

func parseSpecial(line string) (step, error) {
	if m := question.FindStringSubmatch(line); m != nil && m[1]+m[3] != "" {
		detail := 0
		if len(m[1])+len(m[3]) > 1 {
			detail = 1
		}
		return page{m[2], detail}, nil
	}
	if rest, ok := strings.CutPrefix(line, "$"); ok {
		ws, err := words(rest)
		if err == nil && len(ws) == 0 {
			err = errors.New("behind $ belongs a command")
		}
		return command{texts(ws)}, err
	}
	name := firstWord(line)
	rest := strings.TrimSpace(line[len(name):])
	switch name {
	case "%cd":
		return changeDir{rest}, nil
	case "%help":
		return printed{"stdout", helpText()}, nil
	case "%go111module":
		if rest != "on" && rest != "off" {
			return nil, fmt.Errorf("%%go111module: expecting a single argument 'on' or 'off', found: %q", rest)
		}
		return printed{"stderr", "%go111module does nothing here: the whole standard library can be imported, other modules cannot\n"}, nil
	}
	var known []string
	for _, s := range specials {
		known = append(known, s.usage)
	}
	return nil, fmt.Errorf("unknown special line %q; there are %s", line, strings.Join(known, ", "))
}

const (
	cellAbout = `Runs the cell on N processes, the ranks 0 to N-1, and shows what each returns: the value of the
cell's last expression, or what it returns at its top level.

The cell may use everything of the notebook: functions and types come along as source, variables
as values. hvd.Rank() and hvd.Size() tell a process its place.`
	lineAbout = `Runs one expression on N processes, as %%run does for a whole cell.`
)

// runFlags defines the flags of a run.
func runFlags(r *run) *pflag.FlagSet {
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	r.options.AddFlags(fs)
	fs.StringVarP(&r.bind, "o", "o", "", "bind the results to the variable `NAME`: a slice with one element for each rank")
	return fs
}

func runHelp(whole bool) string {
	usage, about := "%run [flags] EXPR", lineAbout
	if whole {
		usage, about = "%%run [flags]", cellAbout
	}
	return launch.Help(runFlags(&run{}), usage, about)
}

// parseRun reads the line of a run.
func parseRun(text string, at span, whole bool) (step, error) {
	r := &run{}
	rest, expr, err := runArguments(text, at, r)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return printed{"stdout", runHelp(whole)}, nil
	case err != nil:
		return nil, err
	case whole && rest != "":
		return nil, fmt.Errorf("%%%%run takes flags only, and %q is none; the code begins on the next line", rest)
	case whole:
		r.code = blank(text, at)
	case rest == "":
		return nil, errors.New("%run needs an expression behind its flags; for a whole cell there is %%run")
	default:
		r.code = only(text, expr)
	}
	return r, nil
}

// runArguments reads the flags of a run's line into r. It gives what stands behind them, and where that is.
func runArguments(text string, at span, r *run) (rest string, expr span, err error) {
	line := at.of(text)
	skip := strings.Index(line, "run") + len("run")
	ws, unended := words(line[skip:])
	args, err := launch.Parse(runFlags(r), texts(ws))
	if err != nil {
		if unended != nil && !errors.Is(err, pflag.ErrHelp) {
			err = unended
		}
		return "", span{}, err
	}
	if len(args) == 0 {
		return "", span{at.end, at.end}, unended
	}
	start := at.start + skip + ws[len(ws)-len(args)].start
	return strings.TrimSpace(text[start:at.end]), span{start, at.end}, nil
}
