package ours

import (
	"reflect"

	"github.com/gorovod/gorovod/display"
)

// MapTypes says, for the interpreter's Use, which interfaces the functions of display look for in a value of any type,
// and which wrappers also carry a String method. yaegi gives an interpreted value the methods of the first interface
// that it has: of a value that shows itself in several forms, compiled code sees the best one only.
func MapTypes() map[reflect.Value][]reflect.Type {
	shows := []reflect.Type{
		reflect.TypeFor[display.Renderer](), reflect.TypeFor[display.SimpleRenderer](),
		reflect.TypeFor[display.HTMLer](), reflect.TypeFor[display.SVGer](), reflect.TypeFor[display.PNGer](),
		reflect.TypeFor[display.JPEGer](), reflect.TypeFor[display.PDFer](), reflect.TypeFor[display.Markdowner](),
		reflect.TypeFor[display.Latexer](), reflect.TypeFor[display.JSONer](), reflect.TypeFor[display.JavaScripter](),
	}
	types := map[reflect.Value][]reflect.Type{}
	for _, function := range []any{display.Any, display.Auto, display.Render} {
		types[reflect.ValueOf(function)] = shows
	}
	for _, w := range printedWrappers {
		types[reflect.ValueOf(w.plain)] = []reflect.Type{reflect.TypeOf(w.printed)}
	}
	return types
}

// printedWrapper is a wrapper and its sibling for a value that also has a String method.
type printedWrapper struct{ plain, printed any }
