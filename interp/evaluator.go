package interp

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"io"
	"os"
	"reflect"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	yaegi "github.com/traefik/yaegi/interp"

	"github.com/gorovod/gorovod/value"
)

// Evaluator runs Units, one after the other, and holds the values that they make. It is the yaegi interpreter with what
// a notebook needs around it: a way to stop, panics of goroutines caught, exits turned into failures, positions
// translated. Its methods are called by one goroutine at a time.
type Evaluator struct {
	yaegi    *yaegi.Interpreter
	config   EvaluatorConfig
	vars     map[string]reflect.Value // pointers to the notebook's variables
	types    map[string]reflect.Type  // the notebook's types as yaegi has them
	units    map[string]*Unit         // by file
	loaded   map[string]bool          // packages
	trace    trace
	handlers handlers
	show     reflect.Value // the runtime's Show, one value so that yaegi knows it again
	args     []string
	stdin    Reader
	current  atomic.Pointer[run]
	boxes    *boxes
	sigs     map[string]map[string]reflect.Type // of the methods of interface types
	rings    int                                // placeholders in types that refer to each other
}

// EvaluatorConfig is what the code that is evaluated meets.
type EvaluatorConfig struct {
	Args []string // os.Args after the program's name
	// Exit is called when the code calls os.Exit or log.Fatal. In a notebook that fails the cell; nil means so.
	// A rank's process ends by it: the function does not return.
	Exit func(code int)
	// Late takes the failure of a goroutine that no running cell can be blamed for.
	Late func(*Failure)
	// Stdin is what os.Stdin gives where it is read through an io.Reader. Nil means the process's own.
	Stdin Reader
}

// Reader is io.Reader, by its own name so that the runtime's symbols can name it.
type Reader interface{ Read(p []byte) (int, error) }

// NewEvaluator gives an Evaluator that has seen no code.
func NewEvaluator(c EvaluatorConfig) (*Evaluator, error) {
	e := &Evaluator{
		config: c,
		vars:   map[string]reflect.Value{},
		types:  map[string]reflect.Type{},
		units:  map[string]*Unit{},
		loaded: map[string]bool{},
		boxes:  newBoxes(),
		sigs:   map[string]map[string]reflect.Type{},
	}
	e.stdin = c.Stdin
	if e.stdin == nil {
		e.stdin = os.Stdin
	}
	e.args = append([]string{"gorovod"}, c.Args...)
	e.yaegi = yaegi.New(yaegi.Options{Stderr: io.Discard, Args: e.args, Unrestricted: true})
	if err := e.yaegi.Use(e.runtime()); err != nil {
		return nil, fmt.Errorf("preparing the interpreter: %w", err)
	}
	// A runaway recursion shall end in seconds, not after it has filled the machine.
	debug.SetMaxStack(256 << 20)
	return e, nil
}

// run is one evaluation.
type run struct {
	ctx     context.Context
	cancel  context.CancelFunc
	left    chan struct{} // closed when the cell's own goroutine has ended
	leave   sync.Once
	started bool
	stopped <-chan struct{} // closed when the run is to end

	mu      sync.Mutex
	failure *Failure // the first thing that ended it
	bundle  map[string]any
	meta    map[string]any
	rich    map[string]any
	err     error
	id      string // the goroutine that evaluates
}

// fail notes why the run ends, if nothing ended it before, and ends it.
func (r *run) fail(f *Failure) {
	r.mu.Lock()
	if r.failure == nil {
		r.failure = f
	}
	r.mu.Unlock()
	r.cancel()
}

// Eval evaluates a cell's Unit. The Outcome has all that went wrong.
func (e *Evaluator) Eval(ctx context.Context, u *Unit) *Outcome {
	restore := e.removeMethods(u.Methods)
	if f := e.declare(ctx, u); f != nil {
		restore()
		return &Outcome{Failure: f}
	}
	if u.Body == "" {
		return &Outcome{}
	}
	return e.call(ctx, u.Body)
}

// Run evaluates a Program: its code is declared, captured values take their places, ready is called, its body runs.
func (e *Evaluator) Run(ctx context.Context, p *Program, ready func()) *Outcome {
	if f := e.declare(ctx, &p.Unit); f != nil {
		return &Outcome{Failure: f}
	}
	for i := range p.Captured {
		c := &p.Captured[i]
		if err := value.Unmarshal(c.Value, e.vars[c.Name], e.options()); err != nil {
			return &Outcome{Failure: &Failure{Kind: Refused, Message: fmt.Sprintf("taking the captured variable %s (%s): %v", c.Name, c.Type, err)}}
		}
		c.Value = nil // its memory is not needed twice
	}
	if ready != nil {
		ready()
	}
	o := e.call(ctx, p.Unit.Body)
	if o.Failure != nil || p.Result == "" {
		return o
	}
	e.encodeResult(o, p)
	return o
}

func (e *Evaluator) encodeResult(o *Outcome, p *Program) {
	if o.Bundle == nil {
		o.Failure = &Failure{Kind: Unreturned, Message: fmt.Sprintf("the cell ended without giving its value (%s): it left before its last expression", p.Result)}
		return
	}
	data, err := value.Marshal(e.vars[resultName].Elem(), e.options())
	if err != nil {
		o.Failure = &Failure{Kind: Unreturned, Message: fmt.Sprintf("the rank's value (%s) cannot travel to the notebook: %v", p.Result, err)}
		return
	}
	o.Result = data
}

// declare compiles a Unit and runs its setup.
func (e *Evaluator) declare(ctx context.Context, u *Unit) (f *Failure) {
	if err := e.load(u.Packages); err != nil {
		return &Failure{Kind: Refused, Message: err.Error()}
	}
	if u.Types != nil {
		if f := e.declare(ctx, u.Types); f != nil {
			return f
		}
	}
	if err := e.interfaces(u); err != nil {
		return &Failure{Kind: Refused, Message: err.Error()}
	}
	e.units[u.File] = u
	defer func() {
		if r := recover(); r != nil { // yaegi panics on some code that it cannot compile
			f = &Failure{Kind: Refused, Message: fmt.Sprintf("%s: not supported by the interpreter: it failed on this code (%v)", u.Name, r)}
		}
	}()
	file, err := parser.ParseFile(e.yaegi.FileSet(), u.File, u.Source, 0)
	if err != nil {
		return e.refusal(u, err)
	}
	if err := e.compileTypes(file); err != nil {
		return e.refusal(u, err)
	}
	prog, err := e.yaegi.CompileAST(file)
	if err != nil {
		return e.refusal(u, err)
	}
	e.guard(prog, u)
	if _, err := e.yaegi.ExecuteWithContext(ctx, prog); err != nil {
		return e.refusal(u, err)
	}
	if u.Setup == "" {
		return nil
	}
	if _, err := e.yaegi.Eval(u.Setup + "()"); err != nil {
		return e.refusal(u, err)
	}
	e.completeInterfaces(u)
	return nil
}

var placeInUnit = regexp.MustCompile(`^(?:([^\s:]+):)?(\d+):(\d+): `)

// refusal translates what yaegi says of code that the checker has accepted.
func (e *Evaluator) refusal(u *Unit, err error) *Failure {
	msg := err.Error()
	pos := Position{Source: u.Name}
	if m := placeInUnit.FindStringSubmatch(msg); m != nil {
		line, _ := strconv.Atoi(m[2])
		col, _ := strconv.Atoi(m[3])
		if v := e.units[m[1]]; v != nil {
			pos = v.Position(line, col)
		}
		msg = msg[len(m[0]):]
	}
	return &Failure{Kind: Refused, Message: fmt.Sprintf("%s: not supported by the interpreter: %s", pos, clean(strings.TrimSpace(msg)))}
}

// load gives yaegi the packages that a Unit imports.
func (e *Evaluator) load(paths []string) error {
	for _, path := range paths {
		_, needs, ok := symbols(path)
		if !ok {
			return fmt.Errorf("package %s is not supported by the interpreter", path)
		}
		for _, p := range append([]string{path}, needs...) {
			if err := e.loadPackage(p); err != nil {
				return err
			}
		}
	}
	return e.loadWrappers()
}

func (e *Evaluator) loadPackage(path string) error {
	table, _, ok := symbols(path)
	if !ok || e.loaded[path] {
		return nil
	}
	e.loaded[path] = true
	if err := e.use(table); err != nil {
		return err
	}
	if over := e.overrides(path); over != nil {
		return e.use(over)
	}
	return nil
}

// use gives symbols to yaegi under a spelling of their path by which it does not recognise the standard library, whose
// streams it would replace by its own: here they are the process's.
func (e *Evaluator) use(x yaegi.Exports) error {
	spelled := yaegi.Exports{}
	for k, v := range x {
		if i := strings.LastIndexByte(k, '/'); i >= 0 {
			k = k[:i] + "/./" + k[i+1:]
		}
		spelled[k] = v
	}
	return e.yaegi.Use(spelled)
}

func (e *Evaluator) loadWrappers() error {
	if e.loaded["."] {
		return nil
	}
	e.loaded["."] = true
	return e.yaegi.Use(e.wrappers())
}

// call runs a function of the evaluated code without arguments or results.
func (e *Evaluator) call(ctx context.Context, name string) *Outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{ctx: ctx, cancel: cancel, left: make(chan struct{}), stopped: ctx.Done()}
	e.trace.reset()
	e.current.Store(r)
	defer e.current.Store(nil)
	id := e.runID()
	_, err := e.yaegi.EvalWithContext(ctx, name+"()")
	o := &Outcome{}
	if ctx.Err() != nil && !r.ended() {
		e.abandon(r, o)
	}
	e.setRunID(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Bundle, o.Meta = r.bundle, r.meta
	switch {
	case r.failure != nil:
		o.Failure = r.failure
	case ctx.Err() != nil:
		o.Failure = &Failure{Kind: Interrupted, Message: "interrupted"}
	case err != nil:
		o.Failure = e.panicked(err, r.id)
	case r.err != nil:
		o.Failure = &Failure{Kind: Returned, Message: r.err.Error()}
	}
	return o
}

// runID and setRunID reach the counter by which yaegi tells its running code to stop. Stopping adds one to it for good,
// and code that was compiled before, a closure in a variable say, would from then on return at once without having
// done anything. Once the stopped code has ended, the counter is put back.
func (e *Evaluator) runID() uint64 { return atomic.LoadUint64((*uint64)(unsafe.Pointer(e.yaegi))) }

func (e *Evaluator) setRunID(id uint64) { atomic.StoreUint64((*uint64)(unsafe.Pointer(e.yaegi)), id) }

// grace is how long stopped code may take to end before it is looked at.
const grace = 250 * time.Millisecond

func (r *run) ended() bool {
	select {
	case <-r.left:
		return true
	default:
		return !r.entered()
	}
}

func (r *run) entered() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.started
}

// abandon waits for stopped code to end. If it does not, it either waits for something in compiled code, and may be
// left there, or it computes in compiled code, and then nothing but the process's end can stop it.
func (e *Evaluator) abandon(r *run, o *Outcome) {
	select {
	case <-r.left:
		return
	case <-time.After(grace):
	}
	r.mu.Lock()
	id := r.id
	r.mu.Unlock()
	state := goroutineState(id)
	switch {
	case state == "":
	case waiting(state):
		o.Note = fmt.Sprintf("the cell's code is left behind where it waits (%s)", state)
	default:
		o.Stuck = true
	}
}

// panicked makes a Failure of the error that yaegi gives for a panic.
func (e *Evaluator) panicked(err error, goroutine string) *Failure {
	var p yaegi.Panic
	if !errors.As(err, &p) {
		return &Failure{Kind: Panicked, Message: panicText(err), Stack: e.stack(goroutine)}
	}
	return &Failure{Kind: Panicked, Message: panicText(inRuntimeWords(p.Value, e.trace.peek(goroutine))), Stack: e.stack(goroutine)}
}

// Encode encodes variables by package value, in the order of the names.
func (e *Evaluator) Encode(names []string) ([][]byte, error) {
	var out [][]byte
	for _, name := range names {
		p, ok := e.vars[name]
		if !ok {
			return nil, fmt.Errorf("there is no variable %s in this session", name)
		}
		data, err := value.Marshal(p.Elem(), e.options())
		if err != nil {
			return nil, fmt.Errorf("variable %s cannot travel to the ranks: %s", name, userFields(err.Error()))
		}
		out = append(out, data)
	}
	return out, nil
}

// Bind gives a variable, a slice, one element for each part.
func (e *Evaluator) Bind(name string, parts [][]byte) error {
	p, ok := e.vars[name]
	if !ok || p.Elem().Kind() != reflect.Slice {
		return fmt.Errorf("there is no variable %s in this session that could take the ranks' values", name)
	}
	s := reflect.MakeSlice(p.Elem().Type(), len(parts), len(parts))
	for i := range parts {
		if err := value.Unmarshal(parts[i], s.Index(i), e.options()); err != nil {
			return fmt.Errorf("taking the value of rank %d into %s: %w", i, name, err)
		}
		parts[i] = nil
	}
	p.Elem().Set(s)
	return nil
}

func (e *Evaluator) options() value.Options { return value.Options{Types: &dynamicTypes{e: e}} }

// hiddenField matches the name that yaegi gives to a field that is not exported.
var hiddenField = regexp.MustCompile(`\.X([a-z_])`)

// userFields writes the fields on a path as the user does.
func userFields(path string) string { return hiddenField.ReplaceAllString(path, ".$1") }
