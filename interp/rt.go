package interp

import (
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"

	yaegi "github.com/traefik/yaegi/interp"

	"github.com/gorovod/gorovod/interp/internal/ours"
	"github.com/gorovod/gorovod/interp/internal/stdlib"
)

// runtime gives the symbols by which lowered code reaches its evaluator.
func (e *Evaluator) runtime() yaegi.Exports {
	symbols := e.statementSymbols(map[string]reflect.Value{
		"Enter":     reflect.ValueOf(e.enter),
		"Leave":     reflect.ValueOf(e.leave),
		"Var":       reflect.ValueOf(func(name string, p any) { e.vars[name] = reflect.ValueOf(p) }),
		"Type":      reflect.ValueOf(func(name string, p any) { e.types[name] = reflect.TypeOf(p).Elem() }),
		"Show":      e.showFunc(),
		"Discard":   reflect.ValueOf(func(...any) {}),
		"Rich":      reflect.ValueOf(e.rich),
		"RichData":  reflect.ValueOf(e.richData),
		"RichMap":   reflect.ValueOf(e.richMap),
		"Fail":      reflect.ValueOf(e.returned),
		"Panicked":  reflect.ValueOf(e.goroutinePanicked),
		"Never":     reflect.ValueOf((*never)(nil)),
		"Stdin":     reflect.ValueOf(&e.stdin).Elem(),
		"Recovered": reflect.ValueOf(e.recovered),
		"Print":     reflect.ValueOf(func(v ...any) { printTo(v, "", "") }),
		"Println":   reflect.ValueOf(func(v ...any) { printTo(v, " ", "\n") }),
		"Sig":       reflect.ValueOf(e.signature),
	})
	maps.Copy(symbols, e.boxes.symbols())
	return yaegi.Exports{rtPath + "/rt": symbols}
}

// never is a type that no value has: what is left of a case that generic code has twice for its type arguments.
type never struct{ _ func() }

// enter and leave mark the cell's own goroutine.
func (e *Evaluator) enter() {
	if r := e.current.Load(); r != nil {
		r.mu.Lock()
		r.started, r.id = true, goroutineID()
		r.mu.Unlock()
	}
}

func (e *Evaluator) leave() {
	if r := e.current.Load(); r != nil && r.entered() {
		r.leave.Do(func() { close(r.left) })
	}
}

func (e *Evaluator) showFunc() reflect.Value {
	if !e.show.IsValid() {
		e.show = reflect.ValueOf(func(vs ...any) { e.shown(vs) })
	}
	return e.show
}

// shown takes the value of a cell.
func (e *Evaluator) shown(vs []any) {
	r := e.current.Load()
	if r == nil {
		return
	}
	bundle, meta := render(vs)
	r.mu.Lock()
	defer r.mu.Unlock()
	for mime, v := range r.rich {
		bundle[mime] = v
	}
	if r.meta == nil {
		r.meta = meta
	}
	r.bundle, r.meta = portable(bundle, r.meta)
	r.rich = nil
}

func (e *Evaluator) rich(mime string, v any) {
	e.addRich(map[string]any{mime: v}, nil)
}

func (e *Evaluator) richMap(m map[string]any) { e.addRich(m, nil) }

func (e *Evaluator) richData(d struct{ Data, Metadata, Transient map[string]any }) {
	e.addRich(d.Data, d.Metadata)
}

func (e *Evaluator) addRich(m, meta map[string]any) {
	r := e.current.Load()
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rich == nil {
		r.rich = map[string]any{}
	}
	for k, v := range m {
		r.rich[k] = v
	}
	if meta != nil {
		r.meta = meta
	}
}

// returned takes the error among a rank's values.
func (e *Evaluator) returned(err error) {
	if r := e.current.Load(); r != nil {
		r.err = err
	}
}

// goroutinePanicked takes the panic of a goroutine that the evaluated code has started. The cell that runs fails by it.
func (e *Evaluator) goroutinePanicked(v any) {
	f := &Failure{Kind: Panicked, Message: panicText(inRuntimeWords(v, e.trace.peek(goroutineID()))), Stack: e.stack(goroutineID()), Goroutine: true}
	if r := e.current.Load(); r != nil {
		r.fail(f)
		return
	}
	if e.config.Late != nil {
		e.config.Late(f)
	}
}

func (e *Evaluator) recovered(v any) any {
	v = asPanic(unwrapped(v))
	if v != nil {
		e.trace.take(goroutineID())
	}
	return v
}

// printTo writes as the builtins print and println of compiled programs do.
func printTo(v []any, between, end string) {
	var b strings.Builder
	for i, x := range v {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(printed(reflect.ValueOf(x)))
	}
	b.WriteString(end)
	_, _ = os.Stderr.WriteString(b.String())
}

func printed(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Invalid: // a nil interface
		return "(0x0,0x0)"
	case reflect.Float32:
		return strconv.FormatFloat(v.Float(), 'g', -1, 32)
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.Complex64, reflect.Complex128:
		return strconv.FormatComplex(v.Complex(), 'g', -1, v.Type().Bits())
	case reflect.Slice:
		return fmt.Sprintf("[%d/%d]%#x", v.Len(), v.Cap(), v.Pointer())
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return fmt.Sprintf("%#x", v.Pointer())
	case reflect.String:
		return v.String()
	}
	return fmt.Sprint(v)
}

// overrides gives what a package's functions must be instead, so that evaluated code cannot end the process, and can be
// stopped where it waits.
func (e *Evaluator) overrides(path string) yaegi.Exports {
	var m map[string]reflect.Value
	switch path {
	case "os":
		m = map[string]reflect.Value{"Exit": reflect.ValueOf(e.exit), "Args": reflect.ValueOf(&e.args).Elem()}
	case "log":
		m = map[string]reflect.Value{
			"Fatal":   reflect.ValueOf(func(v ...any) { e.fatal(fmt.Sprint(v...)) }),
			"Fatalf":  reflect.ValueOf(func(f string, v ...any) { e.fatal(fmt.Sprintf(f, v...)) }),
			"Fatalln": reflect.ValueOf(func(v ...any) { e.fatal(fmt.Sprintln(v...)) }),
		}
	case "runtime":
		m = map[string]reflect.Value{"Goexit": reflect.ValueOf(e.goexit), "GOROOT": reflect.ValueOf(goroot)}
	case "time":
		m = map[string]reflect.Value{"Sleep": reflect.ValueOf(e.sleep)}
	case "fmt":
		if in := e.config.Stdin; in != nil {
			m = map[string]reflect.Value{
				"Scan":   reflect.ValueOf(func(a ...any) (int, error) { return fmt.Fscan(in, a...) }),
				"Scanf":  reflect.ValueOf(func(f string, a ...any) (int, error) { return fmt.Fscanf(in, f, a...) }),
				"Scanln": reflect.ValueOf(func(a ...any) (int, error) { return fmt.Fscanln(in, a...) }),
			}
		}
	}
	if m == nil {
		return nil
	}
	return yaegi.Exports{path + "/" + stdlib.Name(path): m}
}

// exit is os.Exit: in a notebook it ends the cell, and the goroutine that called it.
func (e *Evaluator) exit(code int) {
	if e.config.Exit != nil {
		e.config.Exit(code)
	}
	e.stopHere(&Failure{Kind: Exited, ExitCode: code, Message: "the cell called os.Exit; the session and its variables stay"})
}

func (e *Evaluator) fatal(msg string) {
	_ = log.Output(3, msg)
	if e.config.Exit != nil {
		e.config.Exit(1)
	}
	e.stopHere(&Failure{Kind: Exited, ExitCode: 1, Message: strings.TrimSuffix(msg, "\n")})
}

func (e *Evaluator) goexit() {
	r := e.current.Load()
	if r != nil {
		r.mu.Lock()
		own := r.id == goroutineID()
		r.mu.Unlock()
		if own {
			e.stopHere(&Failure{Kind: Goexited, Message: "runtime.Goexit ended the cell before its end"})
		}
	}
	runtime.Goexit()
}

// stopHere fails the running cell and ends the calling goroutine, once the evaluated code has been told to stop: its
// deferred functions do not run.
func (e *Evaluator) stopHere(f *Failure) {
	id := e.runID()
	if r := e.current.Load(); r != nil {
		r.fail(f)
		for i := 0; e.runID() == id && i < 1000; i++ {
			time.Sleep(100 * time.Microsecond)
		}
	} else if e.config.Late != nil {
		e.config.Late(f)
	}
	runtime.Goexit()
}

// sleep is time.Sleep that the end of the run wakes.
func (e *Evaluator) sleep(d time.Duration) {
	r := e.current.Load()
	if r == nil || d <= 0 {
		time.Sleep(d)
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.stopped:
	}
}

// wrappers gives yaegi the wrappers by which compiled code finds the methods of interpreted values, for what shows a
// cell's value too.
func (e *Evaluator) wrappers() yaegi.Exports {
	x := stdlib.MapTypes()
	all, ok := x["."]["MapTypes"].Interface().(map[reflect.Value][]reflect.Type)
	if !ok {
		return x
	}
	own := map[reflect.Value][]reflect.Type{}
	for k, v := range all {
		own[k] = v
	}
	for k, v := range ours.MapTypes() {
		own[k] = v
	}
	own[e.showFunc()] = all[reflect.ValueOf(fmt.Println)]
	out := yaegi.Exports{}
	for k, v := range x {
		out[k] = v
	}
	out["."] = map[string]reflect.Value{"MapTypes": reflect.ValueOf(own)}
	return out
}

// goroot is runtime.GOROOT, which in a binary that was built elsewhere knows nothing: it is the installation that the go
// command of this machine belongs to, "" if there is none.
func goroot() string {
	if dir := os.Getenv("GOROOT"); dir != "" {
		return dir
	}
	path, err := exec.LookPath("go")
	if err != nil {
		return ""
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return ""
	}
	dir := filepath.Dir(filepath.Dir(path))
	if _, err := os.Stat(filepath.Join(dir, "src", "runtime")); err != nil {
		return ""
	}
	return dir
}
