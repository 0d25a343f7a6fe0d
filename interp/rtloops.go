package interp

import (
	"reflect"
	"runtime"
	"unicode/utf8"
)

// What lowered statements call.

// statementSymbols adds it to the runtime's symbols.
func (e *Evaluator) statementSymbols(m map[string]reflect.Value) map[string]reflect.Value {
	m["Runes"] = reflect.ValueOf(runes)
	m["RuneValues"] = reflect.ValueOf(runeValues)
	m["RuneStarts"] = reflect.ValueOf(runeStarts)
	m["Defers"] = reflect.ValueOf(e.newDefers)
	m["Deferred"] = reflect.ValueOf(e.deferred)
	m["Panic"] = reflect.ValueOf(panicWith)
	m["NilDereference"] = reflect.ValueOf(nilDereference)
	m["MinInt"] = reflect.ValueOf(func(a, b int) int { return min(a, b) })
	m["MaxInt"] = reflect.ValueOf(func(a, b int) int { return max(a, b) })
	m["MinUint"] = reflect.ValueOf(func(a, b uint64) uint64 { return min(a, b) })
	m["MaxUint"] = reflect.ValueOf(func(a, b uint64) uint64 { return max(a, b) })
	m["MinFloat"] = reflect.ValueOf(func(a, b float64) float64 { return min(a, b) })
	m["MaxFloat"] = reflect.ValueOf(func(a, b float64) float64 { return max(a, b) })
	m["MinString"] = reflect.ValueOf(func(a, b string) string { return min(a, b) })
	m["MaxString"] = reflect.ValueOf(func(a, b string) string { return max(a, b) })
	m["Clear"] = reflect.ValueOf(func(v any) { reflect.ValueOf(v).Clear() })
	m["Yielded"] = reflect.ValueOf(yielded)
	return m
}

// runes gives the runes of a string with the offsets at which they start, in the upper halves.
func runes(s string) []int {
	out := make([]int, 0, len(s))
	for i, r := range s {
		out = append(out, i<<32|int(r))
	}
	return out
}

func runeValues(s string) []rune {
	return []rune(s)
}

func runeStarts(s string) []int {
	out := make([]int, 0, utf8.RuneCountInString(s))
	for i := range s {
		out = append(out, i)
	}
	return out
}

// rangeError is what Go's runtime panics with when a function that is ranged over does not keep the rules.
type rangeError string

var _ runtime.Error = rangeError("")

func (e rangeError) Error() string { return "runtime error: range function " + string(e) }
func (e rangeError) RuntimeError() {}

// yielded panics as Go does in the given state of a loop over a function.
func yielded(state int) {
	switch state {
	case 1:
		panic(rangeError("continued iteration after function for loop body returned false"))
	case 2:
		panic(rangeError("continued iteration after whole loop exit"))
	case 3:
		panic(rangeError("continued iteration after loop body panic"))
	default:
		panic(rangeError("recovered a loop body panic and did not resume panicking"))
	}
}

// nilDereference panics as the use of a nil pointer does.
func nilDereference() {
	var p *[1]int
	p[0]++
}
