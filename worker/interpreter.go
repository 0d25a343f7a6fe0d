package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/gorovod/gorovod/display"
	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/rendezvous"
)

// Interpreter gives the Engine that evaluates Go with package interp.
func Interpreter() Engine { return interpreter{} }

type interpreter struct{}

// ValueAction marks a bundle that a rank shows as its value, not as something that its code displayed: it stands in the
// bundle's transient data under display's action key.
const (
	ValueAction = "value"
	actionKey   = "gorovod_action"
)

// Program evaluates a Program as one rank.
func (interpreter) Program(ctx context.Context, data []byte, s Surroundings) ([]byte, *rendezvous.Failure) {
	p, err := interp.UnmarshalProgram(data)
	if err != nil {
		return nil, &rendezvous.Failure{Kind: rendezvous.FailureStart, Message: err.Error()}
	}
	restore := display.SetSink(sink(s))
	defer restore()
	late := make(chan *interp.Failure, 1)
	e, err := interp.NewEvaluator(interp.EvaluatorConfig{
		Args: p.Args,
		Exit: func(code int) {
			if code == 0 && p.Main {
				return // the program's regular end: the evaluation stops here, and Program returns
			}
			os.Exit(code)
		},
		Late: func(f *interp.Failure) {
			select {
			case late <- f:
			default:
			}
		},
	})
	if err != nil {
		return nil, &rendezvous.Failure{Kind: rendezvous.FailureStart, Message: err.Error()}
	}
	o := e.Run(ctx, p, s.Ready)
	select {
	case f := <-late:
		o.Failure = f
	default:
	}
	if f := o.Failure; f != nil {
		if f.Kind == interp.Exited && f.ExitCode == 0 && p.Main {
			return nil, nil
		}
		return nil, failure(f)
	}
	if o.Bundle != nil {
		// The value's shown form goes the way of displays, so it is there before the value is.
		if err := show(s, display.Data{Data: o.Bundle, Metadata: o.Meta, Transient: display.MIMEMap{actionKey: ValueAction}}); err != nil {
			return nil, &rendezvous.Failure{Kind: rendezvous.FailureResult, Message: err.Error()}
		}
	}
	return o.Result, nil
}

func sink(s Surroundings) func(display.Data) error {
	return func(d display.Data) error { return show(s, d) }
}

// show hands a bundle on, with a text form for the front ends that have no better one.
func show(s Surroundings, d display.Data) error {
	if _, ok := d.Data[display.MIMETypeText]; !ok && len(d.Data) > 0 {
		if whole, ok := display.Render(d); ok {
			whole.Transient = d.Transient
			d = whole
		}
	}
	bundle, err := display.Encode(d)
	if err != nil {
		return err
	}
	return s.Display(bundle)
}

var failureKinds = map[interp.FailureKind]string{
	interp.Panicked:    rendezvous.FailurePanic,
	interp.Returned:    rendezvous.FailureError,
	interp.Exited:      rendezvous.FailureExit,
	interp.Goexited:    rendezvous.FailureExit,
	interp.Interrupted: rendezvous.FailureCanceled,
	interp.Refused:     rendezvous.FailureStart,
	interp.Unreturned:  rendezvous.FailureResult,
}

func failure(f *interp.Failure) *rendezvous.Failure {
	out := &rendezvous.Failure{Kind: failureKinds[f.Kind], Message: f.Message, ExitCode: f.ExitCode}
	if f.Goroutine {
		out.Goroutine = "one that the code had started"
	}
	for _, fr := range f.Stack {
		out.Stack = append(out.Stack, rendezvous.Frame{Func: fr.Func, File: fr.Source, Line: fr.Line, Column: fr.Column})
	}
	return out
}

// Session makes the evaluator of a notebook.
func (interpreter) Session(s Surroundings) (Evaluator, error) {
	display.SetSink(sink(s))
	e, err := interp.NewEvaluator(interp.EvaluatorConfig{
		Stdin: s.Stdin,
		Late: func(f *interp.Failure) {
			fmt.Fprintln(os.Stderr, strings.TrimSpace(f.Error()))
		},
	})
	if err != nil {
		return nil, err
	}
	return &notebook{e: e}, nil
}

// notebook is the Evaluator of a session.
type notebook struct{ e *interp.Evaluator }

func (n *notebook) Eval(ctx context.Context, unit []byte) ([]byte, error) {
	u, err := interp.UnmarshalUnit(unit)
	if err != nil {
		return nil, err
	}
	o := n.e.Eval(ctx, u)
	if o.Stuck {
		select {} // this process is of no more use; not answering says so, and the kernel replaces it
	}
	if o.Bundle != nil {
		if o.Bundle, err = plainForms(o.Bundle); err != nil {
			return nil, err
		}
	}
	return o.Marshal()
}

// plainForms brings the forms of a value into what JSON holds, as display does for what code displays.
func plainForms(bundle map[string]any) (map[string]any, error) {
	data, err := display.Encode(display.Data{Data: bundle})
	if err != nil {
		return nil, fmt.Errorf("showing the cell's value: %w", err)
	}
	var d struct {
		Data map[string]any `json:"data"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("showing the cell's value: %w", err)
	}
	return d.Data, nil
}

func (n *notebook) Encode(_ context.Context, names []string) ([][]byte, error) {
	return n.e.Encode(names)
}

func (n *notebook) Bind(_ context.Context, name string, parts [][]byte) error {
	return n.e.Bind(name, parts)
}
