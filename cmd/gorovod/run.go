package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/launch"
)

const (
	runUsage = "gorovod run [flags] FILE.go [ARGS...]"
	runAbout = `Runs Go on several processes and prints what each returns.

FILE.go is a package main program, whose main runs on every rank, or Go as in a notebook cell: declarations
and statements in any order, whose last expression is each rank's value. "-" reads it from standard input.

  gorovod run -np 4 sim.go                 the value of each rank, as [rank] value
  gorovod run -np 4 --json - sim.go        as one JSON array; the ranks' output goes to standard error
  gorovod run -np 2 --call 'f(3)' lib.go   the value of an expression, with the file's functions

Exit status: 0; 1 if a rank failed; 2 if the code or the flags were refused and nothing was started;
130 when interrupted.`
)

// runFlags is what `gorovod run` takes beside the options of a run.
type runFlags struct {
	options launch.Options
	call    string
	json    string
}

func runCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "run [flags] FILE.go [ARGS...]",
		Short:              "run a Go file on several processes",
		DisableFlagParsing: true, // launch parses: it knows -np
		RunE: func(c *cobra.Command, args []string) error {
			return runFile(c.Context(), args, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
}

func runFile(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var f runFlags
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.options.AddFlags(fs)
	fs.StringVar(&f.call, "call", "", "evaluate `EXPR` after the file was loaded; its value is each rank's")
	fs.StringVar(&f.json, "json", "", "write the values as a JSON array to `FILE`, - for standard output")
	rest, err := launch.Parse(fs, args)
	if errors.Is(err, pflag.ErrHelp) {
		_, err := io.WriteString(stdout, launch.Help(fs, runUsage, runAbout))
		return err
	}
	if err != nil {
		return &exitError{2, err}
	}
	if len(rest) == 0 {
		return &exitError{2, errors.New("gorovod run: no file was given; usage: " + runUsage + " (--help tells more)")}
	}
	plan, err := f.plan(rest[0])
	if err != nil {
		return &exitError{2, err}
	}
	for _, w := range plan.Warnings {
		fmt.Fprintln(stderr, "warning: "+w)
	}
	program, err := plan.Program(nil)
	if err != nil {
		return &exitError{2, err}
	}
	program.Args = rest[1:]
	return f.launch(plan, program, stdout, stderr)
}

// plan reads and checks the file.
func (f *runFlags) plan(path string) (*interp.Plan, error) {
	name, text := filepath.Base(path), []byte(nil)
	var err error
	if path == "-" {
		name = "stdin"
		text, err = io.ReadAll(os.Stdin)
	} else {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("gorovod run: reading the program: %w", err)
	}
	n := interp.NewNotebook()
	if f.call != "" {
		return n.PlanCall(name, string(text), f.call)
	}
	return n.PlanFile(name, string(text))
}

func (f *runFlags) launch(plan *interp.Plan, program *interp.Program, stdout, stderr io.Writer) error {
	// Ctrl-C and a polite kill end the run as a whole; launch itself touches no signals.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	f.options.Stdout, f.options.Stderr = stdout, stderr
	if f.json == "-" {
		f.options.Stdout = stderr
	}
	shown := map[int]string{}
	f.options.Observer = func(e launch.Event) { // called from one goroutine at a time
		if text, ok := plainValue(e.Display); ok {
			shown[e.Rank] = text
		}
	}
	results, err := launch.Run(ctx, program, f.options)
	if err != nil {
		return &exitError{launch.ExitStatus(err), err}
	}
	if f.options.DryRun || plan.Result() == "" && f.json == "" {
		return nil
	}
	if f.json != "" {
		return f.writeJSON(plan, results, stdout)
	}
	for _, r := range results {
		if _, err := fmt.Fprintf(stdout, "[%d] %s\n", r.Rank, shown[r.Rank]); err != nil {
			return err
		}
	}
	return nil
}

// plainValue gives the text form of the bundle by which a rank shows its value.
func plainValue(bundle []byte) (string, bool) {
	if len(bundle) == 0 {
		return "", false
	}
	var b struct {
		Data      map[string]any    `json:"data"`
		Transient map[string]string `json:"transient"`
	}
	if json.Unmarshal(bundle, &b) != nil || b.Transient["gorovod_action"] != "value" {
		return "", false
	}
	text, ok := b.Data["text/plain"].(string)
	return text, ok
}

// jsonResult is an element of what --json writes.
type jsonResult struct {
	Rank  int             `json:"rank"`
	Host  string          `json:"host"`
	Value json.RawMessage `json:"value"`
}

func (f *runFlags) writeJSON(plan *interp.Plan, results []launch.Result, stdout io.Writer) error {
	out := make([]jsonResult, len(results))
	for i, r := range results {
		v, err := plan.JSON(r.Value)
		if err != nil {
			return &exitError{1, fmt.Errorf("gorovod run: the value of rank %d as JSON: %w", r.Rank, err)}
		}
		out[i] = jsonResult{r.Rank, r.Host, v}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return &exitError{1, err}
	}
	if f.json == "-" {
		_, err := io.WriteString(stdout, b.String())
		return err
	}
	if err := os.WriteFile(f.json, []byte(b.String()), 0o644); err != nil {
		return &exitError{1, fmt.Errorf("gorovod run: writing the values: %w", err)}
	}
	return nil
}
