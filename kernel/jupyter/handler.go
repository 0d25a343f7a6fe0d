package jupyter

import (
	"context"
	"encoding/json"
)

// Handler is a kernel apart from its protocol. Execute is called for one cell at a time, in order; all other methods
// may be called at any time, also while a cell runs and several at once. A panic in any of them is logged and becomes
// an error reply.
type Handler interface {
	// Info says what the kernel is.
	Info() KernelInfo
	// Execute runs a cell. ctx is done when the user interrupts the cell (context.Cause is then ErrInterrupted) or
	// when the kernel shuts down (ErrShutdown). out takes what the cell shows.
	Execute(ctx context.Context, req *ExecuteRequest, out *Output) ExecuteResult
	// Complete gives the completions at a cursor, which is a byte offset into code.
	Complete(ctx context.Context, code string, cursor int) (Completion, error)
	// Inspect tells what is at a cursor, which is a byte offset into code. detail is 0 or 1 (with source).
	Inspect(ctx context.Context, code string, cursor, detail int) (Inspection, error)
	// IsComplete tells whether a console should run what was typed or ask for another line.
	IsComplete(ctx context.Context, code string) (Completeness, error)
	// Interrupt is called at an interrupt request, after the context of the running cell, if there is one, was
	// cancelled. It must not wait for the cell's end.
	Interrupt()
	// Shutdown is called once, before Serve ends. The context of a running cell is done by then; Shutdown ends what
	// the cell may still hold on to. restart tells that the front end will start the kernel again.
	Shutdown(ctx context.Context, restart bool)
}

// KernelInfo is what a kernel says of itself.
type KernelInfo struct {
	Implementation        string
	ImplementationVersion string
	Banner                string
	Language              LanguageInfo
	HelpLinks             []HelpLink
}

// LanguageInfo is what a front end needs to know of the language.
type LanguageInfo struct {
	Name              string `json:"name"`
	Version           string `json:"version"`
	MIMEType          string `json:"mimetype"`
	FileExtension     string `json:"file_extension"`
	PygmentsLexer     string `json:"pygments_lexer,omitempty"`
	CodemirrorMode    any    `json:"codemirror_mode,omitempty"`
	NbconvertExporter string `json:"nbconvert_exporter,omitempty"`
}

// HelpLink is an entry of the front end's help menu.
type HelpLink struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// ExecuteRequest is a cell to run.
type ExecuteRequest struct {
	Code         string
	Silent       bool // nothing is shown; what is written to the Output goes nowhere
	StoreHistory bool // the cell has a number of its own
	AllowStdin   bool
	StopOnError  bool
	// UserExpressions are to be evaluated after the cell, if it did not fail.
	UserExpressions map[string]string
	// Count is the cell's number, In[Count]. A cell that does not store history has the number of the one before it.
	Count    int
	Header   Header
	Metadata json.RawMessage
}

// ExecuteResult is how a cell ended.
type ExecuteResult struct {
	// Err is nil for a cell that did not fail.
	Err *ExecuteError
	// UserExpressions has the values of the request's expressions. One that is missing is reported as not evaluated.
	UserExpressions map[string]Expression
	// Payload is for the old front ends that open a pager or fill the next cell, in Jupyter's own form.
	Payload []map[string]any
}

// ExecuteError is a cell's error as the front end shows it.
type ExecuteError struct {
	Name      string
	Value     string
	Traceback []string // the lines to show; ANSI colours are understood
}

// Error gives the error without its traceback.
func (e *ExecuteError) Error() string {
	if e.Name == "" {
		return e.Value
	}
	return e.Name + ": " + e.Value
}

// Expression is the value of a user expression, or its error.
type Expression struct {
	Bundle Bundle
	Err    *ExecuteError
}

// Bundle is one thing to show, in one or several MIME types. A []byte goes as base64, and "application/json" as JSON.
type Bundle struct {
	Data     map[string]any
	Metadata map[string]any
}

// Completion is the answer to a request for completions: each of the matches can stand for code[Start:End].
type Completion struct {
	Matches    []Match
	Start, End int // byte offsets
}

// Match is one completion. Kind ("function", "module", "keyword", …) and Signature may be empty; JupyterLab shows them.
type Match struct {
	Text, Kind, Signature string
}

// Inspection is what is known of the thing at a cursor.
type Inspection struct {
	Found bool
	Bundle
}

// Completeness is the answer to whether code is complete.
type Completeness struct {
	Status CompleteStatus
	Indent string // of the next line, when the code is incomplete
}

// CompleteStatus is one of the four answers that the protocol has.
type CompleteStatus string

// The answers to whether code is complete.
const (
	Complete   CompleteStatus = "complete"
	Incomplete CompleteStatus = "incomplete"
	Invalid    CompleteStatus = "invalid"
	Unknown    CompleteStatus = "unknown"
)
