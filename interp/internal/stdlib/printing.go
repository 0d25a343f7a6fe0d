package stdlib

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// The interfaces that stand for error, fmt.Stringer and fmt.GoStringer where a value is printed. yaegi finds a wrapper
// by the package and name of the interface, and the plain wrappers of these interfaces would print as themselves under
// a verb that the method does not serve: %d of a number with a String method.
type (
	errorText    interface{ Error() string }
	stringText   interface{ String() string }
	goStringText interface{ GoString() string }
)

// printingPath is the path of the package that the interfaces above belong to.
var printingPath = reflect.TypeFor[errorText]().PkgPath()

type (
	printedError struct {
		IValue any
		WError func() string
	}
	printedErrorGo struct {
		IValue    any
		WError    func() string
		WGoString func() string
	}
	printedString struct {
		IValue  any
		WString func() string
	}
	printedStringGo struct {
		IValue    any
		WString   func() string
		WGoString func() string
	}
	printedGo struct {
		IValue    any
		WGoString func() string
	}
)

func (w printedError) Error() string     { return w.WError() }
func (w printedErrorGo) Error() string   { return w.WError() }
func (w printedString) String() string   { return w.WString() }
func (w printedStringGo) String() string { return w.WString() }

func (w printedError) Format(f fmt.State, verb rune) {
	printed{w.IValue, "Error", w.WError, nil}.format(f, verb)
}

func (w printedErrorGo) Format(f fmt.State, verb rune) {
	printed{w.IValue, "Error", w.WError, w.WGoString}.format(f, verb)
}

func (w printedString) Format(f fmt.State, verb rune) {
	printed{w.IValue, "String", w.WString, nil}.format(f, verb)
}

func (w printedStringGo) Format(f fmt.State, verb rune) {
	printed{w.IValue, "String", w.WString, w.WGoString}.format(f, verb)
}

func (w printedGo) Format(f fmt.State, verb rune) {
	printed{w.IValue, "", nil, w.WGoString}.format(f, verb)
}

// log/slog hands its values to encoding/json too, which knows no String method.
func (w printedString) MarshalJSON() ([]byte, error)   { return json.Marshal(w.IValue) }
func (w printedStringGo) MarshalJSON() ([]byte, error) { return json.Marshal(w.IValue) }
func (w printedGo) MarshalJSON() ([]byte, error)       { return json.Marshal(w.IValue) }

// printed is an interpreted value with the methods that fmt looks for; a method that is not there is nil.
type printed struct {
	value    any
	method   string // the name of text
	text     func() string
	goString func() string
}

// format prints the value as fmt prints a compiled value with the same methods.
func (p printed) format(f fmt.State, verb rune) {
	method, text := "", (func() string)(nil)
	switch {
	case verb == 'v' && f.Flag('#'):
		method, text = "GoString", p.goString
	case verb == 'v' || verb == 's' || verb == 'x' || verb == 'X' || verb == 'q':
		method, text = p.method, p.text
	}
	if text == nil {
		fmt.Fprintf(f, fmt.FormatString(f, verb), p.value)
		return
	}
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(f, "%%!%c(PANIC=%s method: %v)", verb, method, r)
		}
	}()
	if method == "GoString" {
		fmt.Fprint(f, text())
		return
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), text())
}

// printingWrappers are the symbols of this package that yaegi looks for.
func printingWrappers() map[string]reflect.Value {
	return map[string]reflect.Value{
		"_errorText":    reflect.ValueOf((*printedError)(nil)),
		"_stringText":   reflect.ValueOf((*printedString)(nil)),
		"_goStringText": reflect.ValueOf((*printedGo)(nil)),
	}
}
