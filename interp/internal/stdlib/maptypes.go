package stdlib

import (
	"encoding"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log"
	"log/slog"
	"reflect"
	"sync"

	"github.com/traefik/yaegi/interp"
)

// MapTypes gives what the interpreter's Use takes so that compiled functions honour the methods of interpreted values
// that they get as an empty interface: fmt.Println calls String, json.Marshal calls MarshalJSON. It also holds the
// wrappers of values with more methods than the interface they are passed as, which compiled code looks for: Flush of
// an http.ResponseWriter, Unwrap of an error.
//
// What fmt prints of such a value is what it prints of a compiled one, for all verbs but %T and %p. A value deeper
// inside the argument (an element, a field) is out of reach: yaegi wraps the argument alone.
var MapTypes = sync.OnceValue(func() interp.Exports {
	types := map[reflect.Value][]reflect.Type{}
	for _, group := range methodGroups() {
		for _, function := range group.functions {
			types[reflect.ValueOf(function)] = group.interfaces
		}
	}
	addComposed(types)
	return interp.Exports{
		".":                      {"MapTypes": reflect.ValueOf(types)},
		printingPath + "/stdlib": printingWrappers(),
	}
})

// A methodGroup says which interfaces some functions look for in their arguments, the one they try first first.
type methodGroup struct {
	functions  []any
	interfaces []reflect.Type
}

func methodGroups() []methodGroup {
	printed := []reflect.Type{
		reflect.TypeFor[fmt.Formatter](),
		reflect.TypeFor[errorText](),
		reflect.TypeFor[stringText](),
		reflect.TypeFor[goStringText](),
	}
	return []methodGroup{
		{[]any{
			fmt.Append, fmt.Appendf, fmt.Appendln, fmt.Errorf, fmt.Fprint, fmt.Fprintf, fmt.Fprintln,
			fmt.Print, fmt.Printf, fmt.Println, fmt.Sprint, fmt.Sprintf, fmt.Sprintln,
			log.Fatal, log.Fatalf, log.Fatalln, log.Panic, log.Panicf, log.Panicln, log.Print, log.Printf, log.Println,
		}, printed},
		{[]any{
			fmt.Fscan, fmt.Fscanf, fmt.Fscanln, fmt.Scan, fmt.Scanf, fmt.Scanln, fmt.Sscan, fmt.Sscanf, fmt.Sscanln,
		}, []reflect.Type{reflect.TypeFor[fmt.Scanner]()}},
		{[]any{
			slog.Any, slog.AnyValue, slog.Debug, slog.DebugContext, slog.Error, slog.ErrorContext, slog.Group,
			slog.Info, slog.InfoContext, slog.Log, slog.Warn, slog.WarnContext, slog.With,
		}, append([]reflect.Type{reflect.TypeFor[slog.LogValuer]()}, printed...)},
		{[]any{json.Marshal, json.MarshalIndent}, []reflect.Type{
			reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler](),
		}},
		{[]any{unmarshalJSON}, []reflect.Type{
			reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
		}},
		{[]any{xml.Marshal, xml.MarshalIndent}, []reflect.Type{
			reflect.TypeFor[xml.Marshaler](), reflect.TypeFor[encoding.TextMarshaler](),
		}},
		{[]any{unmarshalXML}, []reflect.Type{
			reflect.TypeFor[xml.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
		}},
	}
}
