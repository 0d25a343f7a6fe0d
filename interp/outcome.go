package interp

import (
	"fmt"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// Outcome is what came of evaluating a Unit or a Program.
type Outcome struct {
	Failure *Failure
	Bundle  map[string]any // the shown value by MIME type, text/plain always among them; nil if there is none
	Meta    map[string]any // its metadata
	Result  []byte         // a rank's value, encoded by package value; nil if there is none
	Stuck   bool           // the code could not be stopped and still runs: this evaluator is of no more use
	Note    string         // what the user should know beside: a goroutine that was left behind
}

// FailureKind says what ended an evaluation.
type FailureKind string

// The kinds of Failure.
const (
	Panicked    FailureKind = "panic"
	Returned    FailureKind = "error"       // a rank's value was a non-nil error
	Exited      FailureKind = "exit"        // os.Exit, log.Fatal
	Goexited    FailureKind = "goexit"      // runtime.Goexit
	Interrupted FailureKind = "interrupted" // by the user
	Refused     FailureKind = "refused"     // the interpreter cannot run the code; nothing of it ran
	Unreturned  FailureKind = "result"      // a rank's value cannot travel
)

// Failure is why an evaluation did not come to its end.
type Failure struct {
	Kind      FailureKind
	Message   string
	Stack     []Frame // innermost first, the user's functions only
	ExitCode  int
	Goroutine bool // it happened in a goroutine that the code had started
}

// Frame is a function of the user's that was running.
type Frame struct {
	Func string // "" for the statements of a cell
	Position
}

// Error gives the message with the user's lines below it.
func (f *Failure) Error() string {
	var b strings.Builder
	b.WriteString(f.Headline())
	for _, fr := range f.Stack {
		b.WriteString("\n    " + fr.String())
	}
	return b.String()
}

// Headline is the message alone.
func (f *Failure) Headline() string {
	switch f.Kind {
	case Panicked:
		where := ""
		if f.Goroutine {
			where = " in a goroutine"
		}
		return "panic" + where + ": " + f.Message
	case Exited:
		return fmt.Sprintf("exit status %d: %s", f.ExitCode, f.Message)
	}
	return f.Message
}

func (f Frame) String() string {
	if f.Func == "" {
		return f.Position.String()
	}
	return f.Position.String() + " in " + f.Func
}

// Marshal gives the Outcome as bytes.
func (o *Outcome) Marshal() ([]byte, error) { return cbor.Marshal(o) }

// UnmarshalOutcome reads what Marshal wrote.
func UnmarshalOutcome(data []byte) (*Outcome, error) {
	o := &Outcome{}
	mode, err := cbor.DecOptions{DefaultMapType: mapType, MaxNestedLevels: 64}.DecMode()
	if err != nil {
		return nil, err
	}
	if err := mode.Unmarshal(data, o); err != nil {
		return nil, fmt.Errorf("reading an outcome: %w", err)
	}
	return o, nil
}
