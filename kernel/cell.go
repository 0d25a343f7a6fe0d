package kernel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/kernel/jupyter"
)

// cell is one execution of a cell.
type cell struct {
	k       *Kernel
	ctx     context.Context // ends at an interrupt
	out     *jupyter.Output
	name    string // what messages call it
	payload []map[string]any
}

// execute does what the cell says. What it shows goes to its output, the error says why it ended before its end.
func (c *cell) execute(text string) error {
	s, err := parseScript(text)
	if err != nil {
		return err
	}
	hasCode := strings.TrimSpace(s.code) != ""
	for i, st := range s.steps {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		if err := c.do(st, !hasCode && i == len(s.steps)-1); err != nil {
			return err
		}
	}
	if !hasCode {
		return nil
	}
	b, ok, err := c.evaluate(c.name, s.code)
	if err != nil || !ok {
		return misplaced(err, s.code)
	}
	return c.out.Result(b)
}

// do does one step; last says that nothing follows in the cell.
func (c *cell) do(st step, last bool) error {
	switch st := st.(type) {
	case changeDir:
		return c.k.session.changeDir(c.ctx, st.path)
	case command:
		return runCommand(c.ctx, st.args, c.k.session.folder(), c.out)
	case page:
		return c.showPage(st)
	case printed:
		c.out.Stream(st.stream, st.text)
		return nil
	case *run:
		return c.run(st, last)
	}
	return fmt.Errorf("do a %T: nobody knows how", st)
}

// evaluate evaluates code in the session, and makes what it declares part of the notebook.
func (c *cell) evaluate(name, code string) (b jupyter.Bundle, ok bool, err error) {
	p, err := c.k.session.acquire(c.ctx)
	if err != nil {
		return b, false, err
	}
	checked, err := c.k.notebook.Check(name, code)
	if err != nil {
		return b, false, err
	}
	c.warn(checked.Warnings)
	o, err := c.k.session.eval(c.ctx, p, checked.Unit)
	if err != nil {
		return b, false, err
	}
	if o.Failure == nil || o.Failure.Kind != interp.Refused {
		checked.Commit() // what was done until it failed stays
	}
	if o.Note != "" {
		c.out.Stream(jupyter.Stderr, o.Note+"\n")
	}
	if o.Failure != nil {
		return b, false, o.Failure
	}
	return bundleOf(o)
}

func (c *cell) warn(warnings []string) {
	for _, w := range warnings {
		c.out.Stream(jupyter.Stderr, "warning: "+w+"\n")
	}
}

// expressions evaluates the expressions that a front end wants to know beside the cell.
func (c *cell) expressions(asked map[string]string) map[string]jupyter.Expression {
	values := map[string]jupyter.Expression{}
	for key, code := range asked {
		name := "expression " + key
		c.k.remember(name, code)
		b, ok, err := c.evaluate(name, code)
		switch {
		case err != nil:
			values[key] = jupyter.Expression{Err: c.k.explain(name, err)}
		case !ok:
			values[key] = jupyter.Expression{Err: &jupyter.ExecuteError{Name: "Error", Value: fmt.Sprintf("%q has no value", code)}}
		default:
			values[key] = jupyter.Expression{Bundle: b}
		}
	}
	return values
}

// showPage answers NAME? for front ends, which show it in a place of its own.
func (c *cell) showPage(p page) error {
	about, err := c.k.about(p.name, p.detail)
	if err != nil {
		return err
	}
	if !about.Found {
		return fmt.Errorf("%s? : there is no %s in this notebook, and nothing of that name can be imported", p.name, p.name)
	}
	c.payload = append(c.payload, map[string]any{"source": "page", "data": about.Data, "start": 0})
	return nil
}

// misplaced adds to the errors of a cell what it means when a special line stands below Go code.
func misplaced(err error, code string) error {
	var check *interp.CheckError
	if !errors.As(err, &check) {
		return err
	}
	lines := strings.Split(code, "\n")
	for _, d := range check.Diagnostics {
		if d.Line < 1 || d.Line > len(lines) {
			continue
		}
		if line := strings.TrimSpace(lines[d.Line-1]); strings.HasPrefix(line, "%") || strings.HasPrefix(line, "$") {
			return &misplacedError{check, line}
		}
	}
	return err
}

// misplacedError is an error of Go code because of what was meant as a special line.
type misplacedError struct {
	*interp.CheckError
	line string
}

func (e *misplacedError) Unwrap() error { return e.CheckError }

// hint says what to do about it.
func (e *misplacedError) hint() string {
	return fmt.Sprintf("If %q is meant as a special line: these stand at the top of a cell, above any Go code or comment.", e.line)
}
