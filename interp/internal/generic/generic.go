// Package generic has the generic part of the standard library: as source, of which copies are made for any type
// arguments ([Source]), and compiled for the common ones ([Native], [Symbols]).
package generic

//go:generate go run ./gen

import (
	_ "embed"
	"reflect"
	"strings"
	"sync"
)

//go:embed zsource.txt
var text string

var index = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, record := range strings.Split(text, "\n== ")[1:] {
		name, body, _ := strings.Cut(record, "\n")
		out[name] = strings.TrimSuffix(body, "\n") + "\n"
	}
	return out
})

// Source gives the declarations by the names that they have in a notebook's package; a method's is Type.Method.
func Source() map[string]string { return index() }

// Native tells whether the instance of a function, Sort[[]int,int], or of a type is compiled in.
func Native(path, name string) bool {
	return native(path, name) != nil || nativeTypes[path+"."+name] != nil
}

// Prefix is what the import path of a table of compiled instances begins with.
const Prefix = "gorovod/native/"

// Symbols gives the compiled instances of a package, by names that the interpreter can read.
func Symbols(path string, name func(string) string) map[string]reflect.Value {
	path, ok := strings.CutPrefix(path, Prefix)
	names, there := nativeNames[path]
	if !ok || !there {
		return nil
	}
	out := map[string]reflect.Value{}
	for _, n := range strings.Split(names, " ") {
		out[name(n)] = reflect.ValueOf(native(path, n))
	}
	for n, p := range nativeTypes {
		if rest, ok := strings.CutPrefix(n, path+"."); ok {
			out[name(rest)] = reflect.ValueOf(p)
		}
	}
	return out
}
