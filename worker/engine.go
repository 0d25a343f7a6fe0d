package worker

import (
	"context"
	"io"

	"github.com/gorovod/gorovod/rendezvous"
)

// Engine evaluates Go code. It is the seam between the processes and what runs in them.
type Engine interface {
	// Program evaluates an encoded Program as one rank and returns the rank's encoded value, or its failure.
	Program(ctx context.Context, program []byte, s Surroundings) ([]byte, *rendezvous.Failure)
	// Session makes the evaluator of a notebook's session.
	Session(s Surroundings) (Evaluator, error)
}

// Evaluator holds a notebook's values. Its methods are called one at a time. What they take and give is encoded by
// package interp; the processes only carry it.
type Evaluator interface {
	// Eval evaluates a unit and returns its encoded outcome: errors of the user's code are part of that. It must
	// return soon after ctx ends if it can.
	Eval(ctx context.Context, unit []byte) ([]byte, error)
	// Encode encodes the values of variables.
	Encode(ctx context.Context, names []string) ([][]byte, error)
	// Bind makes a variable of values that ranks returned.
	Bind(ctx context.Context, b Binding, parts [][]byte) error
}

// Binding says what Evaluator.Bind is to declare.
type Binding struct {
	Name string // the variable
	Type []byte // what interp needs to know of the elements' type
}

// Surroundings is what a process offers to the code that it evaluates.
type Surroundings struct {
	Slot    rendezvous.Slot              // the rank's place; Size is 0 in a session
	Stdin   io.Reader                    // in a session: asks the notebook's user
	Display func(bundle []byte) error    // shows a MIME bundle (JSON), after all output written before
	Ready   func()                       // to be called once, when the evaluator stands and nothing ran yet
	Ask     func(AskFor) (string, error) // in a session: asks the notebook's user for a line
}

// AskFor is a question to the notebook's user.
type AskFor struct {
	Prompt   string
	Password bool
}
