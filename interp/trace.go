package interp

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// mapType is how JSON-like objects are decoded.
var mapType = reflect.TypeOf(map[string]any(nil))

// stack gives the user's functions and places that the panic of a goroutine has passed.
func (e *Evaluator) stack(goroutine string) []Frame {
	var out []Frame
	for _, p := range e.trace.take(goroutine) {
		at := e.yaegi.FileSet().Position(p.pos)
		fn := p.fn
		if strings.HasPrefix(fn, cellName) || strings.HasPrefix(fn, "setup"+sep) {
			fn = ""
		}
		f := Frame{Func: clean(fn), Position: p.unit.Position(at.Line, at.Column)}
		if n := len(out); n >= 2 && out[n-1] == f && out[n-2] == f {
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
	{"reflect.Value.Call: call of nil function", nilDeref},
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
