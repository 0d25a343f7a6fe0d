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
	// Bind gives a variable, a slice, the values that ranks returned, one element for each part.
	Bind(ctx context.Context, name string, parts [][]byte) error
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
