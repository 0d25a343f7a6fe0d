package kernel

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/kernel/jupyter"
	"github.com/gorovod/gorovod/launch"
)

// largeCapture is the size from which a captured variable is named: each rank gets a copy of it.
const largeCapture = 64 << 20

// run runs code on ranks, shows what they show, and binds and shows what they return.
func (c *cell) run(r *run, last bool) error {
	plan, err := c.k.notebook.Plan(c.name, r.code)
	if err != nil {
		return err
	}
	c.warn(plan.Warnings)
	if r.bind != "" {
		if _, err := plan.Bind(r.bind); err != nil {
			return err
		}
	}
	program, err := c.capture(plan)
	if err != nil {
		return err
	}
	o := c.runOptions(r)
	if o.DryRun {
		_, err := launch.Run(c.ctx, program, o)
		return err
	}
	ranks := newRankDisplay(c.out, o)
	o.Observer = ranks.observe
	results, err := launch.Run(c.ctx, program, o)
	ranks.end(err)
	var output *launch.OutputError
	if err != nil && !errors.As(err, &output) {
		return err
	}
	program = nil // with what it captured
	if r.bind != "" {
		if err := c.bind(plan, r.bind, results); err != nil {
			return err
		}
	}
	if plan.Result() != "" {
		b := resultBundle(ranks.values, len(results), r.bind != "")
		if last {
			err = errors.Join(err, c.out.Result(b))
		} else {
			err = errors.Join(err, c.out.Display(b, ""))
		}
	}
	return err
}

// runOptions completes what the run's flags say.
func (c *cell) runOptions(r *run) launch.Options {
	o := r.options
	o.Dir = c.k.session.folder()
	o.Stdout, o.Stderr = c.out.Writer(jupyter.Stdout), c.out.Writer(jupyter.Stderr)
	o.Logger = c.k.config.Logger
	if o.Executable == "" {
		o.Executable = c.k.config.Executable
	} else if strings.ContainsRune(o.Executable, filepath.Separator) && !filepath.IsAbs(o.Executable) {
		o.Executable = filepath.Join(o.Dir, o.Executable)
	}
	if o.OutputDir != "" && !filepath.IsAbs(o.OutputDir) {
		o.OutputDir = filepath.Join(o.Dir, o.OutputDir)
	}
	return o
}

// capture takes the values of the variables that a run uses.
func (c *cell) capture(plan *interp.Plan) (*interp.Program, error) {
	names := plan.Captures()
	if len(names) == 0 {
		return plan.Program(nil)
	}
	values, err := c.k.session.encode(c.ctx, names)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		if len(v) > largeCapture {
			c.out.Stream(jupyter.Stderr, fmt.Sprintf("the variable %s is large: %s go to each rank\n", names[i], interp.Size(len(v))))
		}
	}
	return plan.Program(values)
}

// bind gives the ranks' values to a variable of the notebook.
func (c *cell) bind(plan *interp.Plan, name string, results []launch.Result) error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	bound, err := plan.Bind(name)
	if err != nil {
		return err
	}
	o, err := c.k.session.eval(c.ctx, bound.Unit)
	if err != nil {
		return err
	}
	if o.Failure != nil {
		return o.Failure
	}
	parts := make([][]byte, len(results))
	for i := range results {
		parts[i], results[i].Value = results[i].Value, nil
	}
	if err := c.k.session.bind(c.ctx, name, parts); err != nil {
		return fmt.Errorf("bind the results to %s: %w", name, err)
	}
	bound.Commit()
	return nil
}
