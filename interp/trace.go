package interp

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// mapType is how JSON-like objects are decoded.
var mapType = reflect.TypeOf(map[string]any(nil))

// traceWriter takes what yaegi writes while a panic unwinds: one line for each function of the evaluated code, innermost
// first. It is the only record of where the user's code was.
type traceWriter struct {
	mu    sync.Mutex
	lines [][]byte
}

// maxTrace bounds what a panic in deep recursion leaves.
const maxTrace = 1 << 14

func (t *traceWriter) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) < maxTrace {
		t.lines = append(t.lines, bytes.Clone(bytes.TrimRight(p, "\n")))
	}
	return len(p), nil
}

// reset forgets the lines: a new evaluation starts, or code has recovered from the panic that they belong to.
func (t *traceWriter) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = nil
}

func (t *traceWriter) take() [][]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines
	t.lines = nil
	return l
}

var traceLine = regexp.MustCompile(`^([^\s:]+):(\d+):(\d+): panic: (.*)\(\.\.\.\)$`)

// stack translates the lines of the last panic into the user's functions and places.
func (e *Evaluator) stack() []Frame {
	var out []Frame
	for _, line := range e.trace.take() {
		m := traceLine.FindSubmatch(line)
		if m == nil {
			continue
		}
		u := e.units[string(m[1])]
		if u == nil {
			continue
		}
		ln, _ := strconv.Atoi(string(m[2]))
		col, _ := strconv.Atoi(string(m[3]))
		fn := strings.TrimPrefix(string(m[4]), "main.")
		if strings.HasPrefix(fn, cellName) {
			_, rest, found := strings.Cut(fn, ".")
			fn = ""
			if found {
				fn = rest
			}
		}
		f := Frame{Func: clean(fn), Position: u.Position(ln, col)}
		if n := len(out); n > 0 && out[n-1] == f && n >= 2 && out[n-2] == f {
			continue // recursion: twice is enough
		}
		out = append(out, f)
	}
	return out
}

// panicText writes a panic's value as Go's runtime does.
func panicText(v any) string {
	switch v := v.(type) {
	case runtime.Error:
		return runtimeText(v.Error())
	case error:
		return runtimeText(v.Error())
	case string:
		return runtimeText(v)
	case reflect.Value:
		if v.IsValid() && v.CanInterface() {
			return panicText(v.Interface())
		}
	case *reflect.ValueError:
		return runtimeText(v.Error())
	}
	return runtimeText(fmt.Sprint(v))
}

// reflectWords are what package reflect says where compiled code would get one of Go's runtime errors.
var reflectWords = []struct{ from, to string }{
	{"reflect: slice index out of range", "runtime error: index out of range"},
	{"reflect: array index out of range", "runtime error: index out of range"},
	{"reflect: string index out of range", "runtime error: index out of range"},
	{"reflect.Value.Slice: slice index out of bounds", "runtime error: slice bounds out of range"},
	{"reflect.Value.Slice: string slice index out of bounds", "runtime error: slice bounds out of range"},
	{"reflect.Value.Slice3: slice index out of bounds", "runtime error: slice bounds out of range"},
	{"reflect: call of reflect.Value.Elem on zero Value", nilDeref},
	{"reflect: call of reflect.Value.Field on zero Value", nilDeref},
	{"reflect: call of reflect.Value.Type on zero Value", nilDeref},
	{"reflect: call of reflect.Value.Set on zero Value", nilDeref},
	{"reflect: call of reflect.Value.Call on zero Value", nilDeref},
	{"reflect: Field of zero Value", nilDeref},
	{"reflect: call of Call on zero Value", nilDeref},
}

const nilDeref = "runtime error: invalid memory address or nil pointer dereference"

func runtimeText(msg string) string {
	for _, w := range reflectWords {
		if msg == w.from {
			return w.to
		}
	}
	if strings.HasPrefix(msg, "reflect: call of reflect.Value.") && strings.HasSuffix(msg, "on zero Value") {
		return nilDeref
	}
	if m := placeInUnit.FindString(msg); m != "" {
		msg = msg[len(m):]
	}
	return clean(msg)
}

// goroutineID names the calling goroutine as stack dumps do.
func goroutineID() string {
	buf := make([]byte, 64)
	buf = buf[:runtime.Stack(buf, false)]
	buf = bytes.TrimPrefix(buf, []byte("goroutine "))
	if i := bytes.IndexByte(buf, ' '); i > 0 {
		return string(buf[:i])
	}
	return ""
}

// goroutineState gives what a goroutine does, in the words of a stack dump, "" if it has ended.
func goroutineState(id string) string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	head := []byte("goroutine " + id + " [")
	i := bytes.Index(buf, append([]byte("\n"), head...))
	switch {
	case bytes.HasPrefix(buf, head):
		i = 0
	case i < 0:
		return ""
	default:
		i++
	}
	rest := buf[i+len(head):]
	if j := bytes.IndexByte(rest, ']'); j >= 0 {
		rest = rest[:j]
	}
	state, _, _ := strings.Cut(string(rest), ",")
	return state
}

// waiting tells a goroutine that takes no processor time.
func waiting(state string) bool {
	switch state {
	case "running", "runnable", "copystack", "preempted", "syscall":
		return false
	}
	return true
}
