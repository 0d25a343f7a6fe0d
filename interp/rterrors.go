package interp

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	yaegi "github.com/traefik/yaegi/interp"
)

// Runtime errors: what yaegi does by reflection panics in package reflect's words, which tell neither index nor length.
// The guard of an operation (places.go) reads the operation's operands from the frame when a panic passes, so that what
// recover gives, and what a failure says, is the runtime.Error that Go's runtime would have made.

// runtimeError is one of those of Go's runtime that cannot be had from it.
type runtimeError string

var _ runtime.Error = runtimeError("")

func (e runtimeError) Error() string { return "runtime error: " + string(e) }
func (e runtimeError) RuntimeError() {}

// inRuntimeWords gives the error of Go's runtime for a panic of package reflect; places are those that the panic passed.
func inRuntimeWords(v any, places []place) any {
	v = asPanic(unwrapped(v))
	s, ok := v.(string)
	if err, isErr := v.(error); isErr && !ok {
		if rest, cut := strings.CutPrefix(err.Error(), "hash of unhashable type: "); cut {
			return runtimeError("hash of unhashable type " + rest)
		}
		if m := placeInUnit.FindString(err.Error()); m != "" && strings.HasPrefix(err.Error()[len(m):], "interface conversion: ") {
			return &assertionError{clean(err.Error()[len(m):])}
		}
	}
	if m := placeInUnit.FindString(s); ok && m != "" && strings.HasPrefix(s[len(m):], "interface conversion: ") {
		return &assertionError{clean(s[len(m):])}
	}
	if !ok {
		if e, isErr := v.(*reflect.ValueError); isErr && (e.Kind == reflect.Invalid || e.Method == "reflect.Value.Elem") {
			return nilPointer()
		}
		return v
	}
	if !strings.HasPrefix(s, "reflect") {
		return v
	}
	if len(places) > 0 && places[0].fault != "" && (strings.Contains(s, "out of range") || strings.Contains(s, "out of bounds")) {
		return runtimeError(places[0].fault)
	}
	if text := runtimeText(s); text == nilDeref {
		return nilPointer()
	} else if rest, ok := strings.CutPrefix(text, "runtime error: "); ok {
		return runtimeError(rest)
	}
	switch {
	case strings.HasPrefix(s, "reflect.MakeSlice: negative len"), strings.HasPrefix(s, "reflect.MakeSlice: len > cap"):
		return runtimeError("makeslice: len out of range")
	case strings.HasPrefix(s, "reflect.MakeSlice: negative cap"):
		return runtimeError("makeslice: cap out of range")
	case strings.HasPrefix(s, "reflect.MakeChan: negative buffer size"):
		return plainError("makechan: size out of range")
	}
	if rest, ok := strings.CutPrefix(s, "reflect: cannot convert slice with length "); ok {
		n, to, _ := strings.Cut(rest, " to ")
		if i := strings.LastIndex(to, "length "); i >= 0 {
			return runtimeError(fmt.Sprintf("cannot convert slice with length %s to array or pointer to array with %s", n, to[i:]))
		}
	}
	return v
}

// plainError is a runtime.Error whose text has no prefix.
type plainError string

func (e plainError) Error() string { return string(e) }
func (e plainError) RuntimeError() {}

// operandShape is where yaegi's nodes and frames keep the values of operands.
var operandShape = findOperands()

func findOperands() (s struct {
	findex, level, sym, rval, val uintptr
	symIndex, symNode, symGlobal  uintptr
	anc, root, data               uintptr
	ok                            bool
}) {
	f, ok := reflect.TypeOf(yaegi.Program{}).FieldByName("root")
	if !ok || f.Type.Kind() != reflect.Pointer {
		return s
	}
	g, ok := reflect.TypeOf(yaegi.Interpreter{}).FieldByName("frame")
	if !ok || g.Type.Kind() != reflect.Pointer {
		return s
	}
	s.ok = true
	field := func(t reflect.Type, name string, want reflect.Type, at *uintptr) reflect.Type {
		f, ok := t.FieldByName(name)
		if !ok || want != nil && f.Type != want {
			s.ok = false
			return nil
		}
		*at = f.Offset
		return f.Type
	}
	node, frame, values := f.Type.Elem(), g.Type.Elem(), reflect.TypeOf([]reflect.Value(nil))
	field(node, "findex", reflect.TypeOf(0), &s.findex)
	field(node, "level", reflect.TypeOf(0), &s.level)
	field(node, "rval", values.Elem(), &s.rval)
	field(node, "val", reflect.TypeOf((*any)(nil)).Elem(), &s.val)
	if sym := field(node, "sym", nil, &s.sym); sym != nil && sym.Kind() == reflect.Pointer {
		field(sym.Elem(), "index", reflect.TypeOf(0), &s.symIndex)
		field(sym.Elem(), "node", f.Type, &s.symNode)
		field(sym.Elem(), "global", reflect.TypeOf(true), &s.symGlobal)
	} else {
		s.ok = false
	}
	field(frame, "anc", g.Type, &s.anc)
	field(frame, "root", g.Type, &s.root)
	field(frame, "data", values, &s.data)
	return s
}

// operand gives the value of an operand as yaegi's genValue finds it.
func operand(n, frame unsafe.Pointer) reflect.Value {
	s := &operandShape
	if v := *(*reflect.Value)(unsafe.Add(n, s.rval)); v.IsValid() {
		return v
	}
	index := *(*int)(unsafe.Add(n, s.findex))
	if sym := *(*unsafe.Pointer)(unsafe.Add(n, s.sym)); sym != nil {
		index = *(*int)(unsafe.Add(sym, s.symIndex))
		if at := *(*unsafe.Pointer)(unsafe.Add(sym, s.symNode)); index < 0 && at != nil && at != n {
			return operand(at, frame)
		}
		if *(*bool)(unsafe.Add(sym, s.symGlobal)) {
			return inFrame(*(*unsafe.Pointer)(unsafe.Add(frame, s.root)), index)
		}
	} else if index < 0 {
		v := *(*any)(unsafe.Add(n, s.val))
		if r, ok := v.(reflect.Value); ok {
			return r
		}
		return reflect.ValueOf(v)
	}
	for level := *(*int)(unsafe.Add(n, s.level)); level > 0 && frame != nil; level-- {
		frame = *(*unsafe.Pointer)(unsafe.Add(frame, s.anc))
	}
	return inFrame(frame, index)
}

func inFrame(frame unsafe.Pointer, index int) reflect.Value {
	if frame == nil {
		return reflect.Value{}
	}
	data := *(*[]reflect.Value)(unsafe.Add(frame, operandShape.data))
	if index < 0 || index >= len(data) {
		return reflect.Value{}
	}
	return data[index]
}

// fault says in the runtime's words what is wrong with an operation's index or bounds, or nothing.
func fault(name string, n, frame unsafe.Pointer) (text string) {
	if !operandShape.ok || frame == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	var c []reflect.Value
	for _, child := range shape.children(n) {
		c = append(c, operand(child, frame))
	}
	if len(c) == 0 {
		return ""
	}
	x := c[0]
	for x.Kind() == reflect.Pointer || x.Kind() == reflect.Interface {
		x = x.Elem()
	}
	switch name {
	case "getIndexArray":
		return indexFault(number(c[1]), x.Len())
	case "slice":
		return sliceFault(x, number(c[1]), c[2:])
	case "slice0":
		return sliceFault(x, 0, c[1:])
	}
	return ""
}

// checkShift puts a check before a shift whose count may be negative, which yaegi shifts by as if it were huge.
func checkShift(n unsafe.Pointer, inner closure0) closure0 {
	c := shape.children(n)
	if len(c) < 2 || !operandShape.ok {
		return inner
	}
	count := c[1]
	if (*(*reflect.Value)(unsafe.Add(count, operandShape.rval))).IsValid() {
		return inner
	}
	return func(frame unsafe.Pointer) unsafe.Pointer {
		if v := operand(count, frame); v.CanInt() && v.Int() < 0 {
			panic(runtimeError("negative shift amount"))
		}
		return inner(frame)
	}
}

func number(v reflect.Value) int {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.CanUint() {
		return int(v.Uint())
	}
	return int(v.Int())
}

func indexFault(i, n int) string {
	if i < 0 {
		return fmt.Sprintf("index out of range [%d]", i)
	}
	return fmt.Sprintf("index out of range [%d] with length %d", i, n)
}

func sliceFault(x reflect.Value, low int, more []reflect.Value) string {
	limit, what := x.Len(), "length"
	if x.Kind() == reflect.Slice {
		limit, what = x.Cap(), "capacity"
	}
	dash := func(i int, with string) string {
		if i < 0 {
			return ""
		}
		return with
	}
	switch len(more) {
	case 0: // x[low:]
		return fmt.Sprintf("slice bounds out of range [%d:%s]", low, dash(low, itoa(x.Len())))
	case 1:
		high := number(more[0])
		if high < 0 || high > limit {
			return fmt.Sprintf("slice bounds out of range [:%d]", high) + dash(high, fmt.Sprintf(" with %s %d", what, limit))
		}
		return fmt.Sprintf("slice bounds out of range [%d:%s]", low, dash(low, itoa(high)))
	default:
		high, most := number(more[0]), number(more[1])
		if most < 0 || most > limit {
			return fmt.Sprintf("slice bounds out of range [::%d]", most) + dash(most, fmt.Sprintf(" with %s %d", what, limit))
		}
		if high < 0 || high > most {
			return fmt.Sprintf("slice bounds out of range [:%d:%s]", high, dash(high, itoa(most)))
		}
		return fmt.Sprintf("slice bounds out of range [%d:%s:]", low, dash(low, itoa(high)))
	}
}
