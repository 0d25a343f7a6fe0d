package kernel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/kernel/jupyter"
	"github.com/gorovod/gorovod/launch"
)

// This file turns errors into what a notebook shows: a name, a line, and below it the user's own lines.

// Colours, for what catches the eye first and for what leads on from there.
const (
	red   = "\x1b[31m"
	blue  = "\x1b[34m"
	plain = "\x1b[0m"
)

func coloured(colour, text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = colour + l + plain
		}
	}
	return strings.Join(lines, "\n")
}

// explain makes a cell's error of err.
func (k *Kernel) explain(name string, err error) *jupyter.ExecuteError {
	var (
		script  *scriptError
		check   *interp.CheckError
		failure *interp.Failure
		lost    *lostError
		runErr  *launch.RunError
		timeout *launch.TimeoutError
		usage   *launch.UsageError
	)
	switch {
	case errors.As(err, &script):
		return simple("UsageError", fmt.Sprintf("%s:%d: %s", name, script.line, script.text))
	case errors.As(err, &check):
		return explainCheck(err, check)
	case errors.As(err, &failure):
		return k.explainFailure(failure)
	case errors.As(err, &lost):
		return explainLost(lost)
	case errors.As(err, &runErr):
		return k.explainRun(err, runErr)
	case errors.As(err, &timeout):
		return simple("TimeoutError", err.Error())
	case errors.As(err, &usage):
		return simple("UsageError", err.Error())
	case errors.Is(err, jupyter.ErrInterrupted), errors.Is(err, context.Canceled), errors.Is(err, jupyter.ErrShutdown):
		return simple("Interrupted", err.Error())
	}
	return simple("Error", err.Error())
}

// simple is an error that is all text.
func simple(name, text string) *jupyter.ExecuteError {
	head, rest, more := strings.Cut(text, "\n")
	e := &jupyter.ExecuteError{Name: name, Value: head, Traceback: []string{coloured(red, head)}}
	if more {
		e.Traceback = append(e.Traceback, strings.Split(rest, "\n")...)
	}
	return e
}

// explainCheck shows all that is wrong in a cell, each with its line and a caret.
func explainCheck(err error, check *interp.CheckError) *jupyter.ExecuteError {
	e := &jupyter.ExecuteError{Name: "CheckError", Value: err.Error()}
	for i, d := range check.Diagnostics {
		if i == 0 {
			e.Value, _, _ = strings.Cut(d.String(), "\n")
			if more := len(check.Diagnostics) - 1; more == 1 {
				e.Value += " (and 1 more error)"
			} else if more > 1 {
				e.Value += fmt.Sprintf(" (and %d more errors)", more)
			}
		}
		e.Traceback = append(e.Traceback, coloured(blue, d.Position.String())+": "+coloured(red, d.Message))
		if d.Context != "" {
			e.Traceback = append(e.Traceback, strings.Split(strings.TrimRight(d.Context, "\n"), "\n")...)
		}
	}
	var m *misplacedError
	if errors.As(err, &m) {
		e.Traceback = append(e.Traceback, "", m.hint())
	}
	return e
}

// failureNames are the names of errors that code meets when it runs.
var failureNames = map[interp.FailureKind]string{
	interp.Panicked:    "Panic",
	interp.Returned:    "Error",
	interp.Exited:      "Exit",
	interp.Goexited:    "Goexit",
	interp.Interrupted: "Interrupted",
	interp.Refused:     "NotSupported",
	interp.Unreturned:  "ResultError",
}

func (k *Kernel) explainFailure(f *interp.Failure) *jupyter.ExecuteError {
	e := simple(failureNames[f.Kind], f.Headline())
	for _, fr := range f.Stack {
		e.Traceback = append(e.Traceback, k.frame(fr.String(), fr.Source, fr.Line)...)
	}
	return e
}

// frame shows a place in the user's code, with the line that stands there.
func (k *Kernel) frame(text, source string, line int) []string {
	lines := []string{"    " + coloured(blue, text)}
	if code, ok := k.sourceLine(source, line); ok {
		lines = append(lines, "        "+strings.TrimSpace(code))
	}
	return lines
}

func explainLost(l *lostError) *jupyter.ExecuteError {
	name, text := "SessionLost", "the session "+l.death.Reason
	if l.death.Killed {
		name, text = "Interrupted", "interrupted: "+text
	}
	e := simple(name, text)
	// What the Go runtime said, up to the stacks and without the addresses.
	fatal, _, _ := strings.Cut(l.death.Fatal, "\n\n")
	for line := range strings.Lines(fatal) {
		if line = strings.TrimRight(line, "\n"); !strings.Contains(text, line) && !strings.HasPrefix(line, "runtime: sp=") {
			e.Traceback = append(e.Traceback, "    "+line)
		}
	}
	e.Traceback = append(e.Traceback, "", l.consequence())
	return e
}

// explainRun shows the failure of a run with the lines of the rank that is its cause.
func (k *Kernel) explainRun(err error, r *launch.RunError) *jupyter.ExecuteError {
	root := r.Failures[0]
	e := simple("RunError", root.String())
	for _, f := range root.Stack {
		fr := interp.Frame{Func: f.Func, Position: interp.Position{Source: f.File, Line: f.Line, Column: f.Column}}
		e.Traceback = append(e.Traceback, k.frame(fr.String(), f.File, f.Line)...)
	}
	// The rest of the story as launch tells it: what comes behind the stack's lines, one for each frame.
	lines := strings.Split(err.Error(), "\n")
	told := strings.Count(root.String(), "\n") + 1 + len(root.Stack)
	if told < len(lines) {
		e.Traceback = append(e.Traceback, lines[told:]...)
	}
	return e
}
