package stdlib

import (
	"cmp"
	"go/constant"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/traefik/yaegi/interp"
	"github.com/traefik/yaegi/stdlib/unsafe"
)

// A symbol is a line of a generated table. The value is a function, a constant, the address of a variable, or a nil
// pointer to a type. All of these are static data to the compiler, so that a table costs nothing until it is used.
type symbol struct {
	name  string
	value any
}

// An untyped constant keeps its exact value, which may fit no Go type.
type (
	untypedInt    int64
	untypedString string
	untypedBigInt string // as go/constant's ExactString writes it
	untypedFloat  string // the same; may be a quotient
)

// cache holds the tables built so far, by import path. They are facts about the binary, not state of a session.
var cache sync.Map // string to interp.Exports

// Symbols gives what the interpreter's Use takes for one package of the standard library, or false if the interpreter
// cannot have it. The tables are built once and shared: callers do not change them. Functions are the real ones, so
// os.Exit ends the process; an evaluator that wants otherwise gives the interpreter its own after these.
//
// yaegi takes the key "fmt/fmt" as the sign to compile its own source of slices, maps and cmp, which takes half of a
// worker's time to start, and to redirect standard output. An evaluator that wants neither gives it the same table
// under "fmt//fmt", which names the same package.
func Symbols(path string) (interp.Exports, bool) {
	if built, ok := cache.Load(path); ok {
		return built.(interp.Exports), true
	}
	if path == "unsafe" {
		return unsafe.Symbols, true
	}
	p := entry(path)
	if p == nil || p.unsupported != "" {
		return nil, false
	}
	useDefaultServeMux(path)
	values := make(map[string]reflect.Value, len(p.symbols))
	for _, s := range p.symbols {
		values[s.name] = s.reflect()
	}
	for name, function := range replaced(path) {
		values[name] = reflect.ValueOf(function)
	}
	built, _ := cache.LoadOrStore(path, interp.Exports{path + "/" + p.name: values})
	return built.(interp.Exports), true
}

// Has tells whether the interpreter has the symbol name of the package path. It builds nothing.
func Has(path, name string) bool {
	p := entry(path)
	if p == nil || strings.HasPrefix(name, "_") {
		return false
	}
	if path == "unsafe" {
		return unsafe.Symbols["unsafe/unsafe"][name].IsValid()
	}
	_, found := slices.BinarySearchFunc(p.symbols, name, func(s symbol, name string) int { return cmp.Compare(s.name, name) })
	return found
}

// Needs lists the other packages whose Symbols an interpreter must also have to run code that imports path: those of
// the interfaces that the code can meet through the package's API. The interpreter passes a value of an interpreted
// type to compiled code in a wrapper that it finds in the interface's own package, and fails without it.
func Needs(path string) []string {
	if p := entry(path); p != nil {
		return strings.Fields(p.needs)
	}
	return nil
}

// reflect gives the symbol in the form that yaegi expects.
func (s symbol) reflect() reflect.Value {
	switch v := s.value.(type) {
	case untypedInt:
		return reflect.ValueOf(constant.MakeInt64(int64(v)))
	case untypedString:
		return reflect.ValueOf(constant.MakeString(string(v)))
	case untypedBigInt:
		return reflect.ValueOf(constant.MakeFromLiteral(string(v), token.INT, 0))
	case untypedFloat:
		return reflect.ValueOf(v.constant())
	}
	v := reflect.ValueOf(s.value)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		return v.Elem() // a variable; a type is a nil pointer
	}
	return v
}

func (n untypedFloat) constant() constant.Value {
	numerator, denominator, isQuotient := strings.Cut(string(n), "/")
	value := constant.MakeFromLiteral(numerator, token.FLOAT, 0)
	if isQuotient {
		return constant.BinaryOp(value, token.QUO, constant.MakeFromLiteral(denominator, token.FLOAT, 0))
	}
	return value
}
