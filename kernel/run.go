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
	"github.com/gorovod/gorovod/worker"
)

// largeCapture is the size from which a captured variable is named: each rank gets a copy of it.
const largeCapture = 64 << 20

// run runs code on ranks, shows what they show, and binds and shows what they return.
func (c *cell) run(r *run, last bool) error {
	session, gone := c.k.session.acquire(c.ctx)
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
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
	if gone != nil && len(plan.Captures()) > 0 {
		return gone
	}
	program, err := c.capture(session, plan)
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
	if results == nil {
		return err // else it only says that some output was lost
	}
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
func (c *cell) capture(session *worker.SessionProcess, plan *interp.Plan) (*interp.Program, error) {
	names := plan.Captures()
	if len(names) == 0 {
		return plan.Program(nil)
	}
	values, err := session.Encode(c.ctx, names)
	if err != nil {
		return nil, c.k.session.ended(err)
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
	session, err := c.k.session.acquire(c.ctx)
	if err != nil {
		return err
	}
	bound, err := plan.Bind(name)
	if err != nil {
		return err
	}
	o, err := c.k.session.eval(c.ctx, session, bound.Unit)
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
	if err := session.Bind(c.ctx, name, parts); err != nil {
		return fmt.Errorf("bind the results to %s: %w", name, c.k.session.ended(err))
	}
	bound.Commit()
	return nil
}
