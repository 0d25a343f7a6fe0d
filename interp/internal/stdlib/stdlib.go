// Package stdlib is what a notebook knows of the standard library where there is no Go toolchain: the types that the
// checker needs ([Importer]), the symbols that the interpreter runs ([Symbols], [MapTypes]), and the doc comments that
// a reader asks for ([Doc]).
//
// All of it is generated from the toolchain that builds the binary and embedded. Everything is lazy: the symbol tables
// are static data that becomes reflect values one package at a time, types and comments are decompressed one package
// at a time, so a process pays for the packages that its code imports and starts as fast as if there were none.
//
// Generic functions and types have no symbols: reflection can hold only instances of them, and those are made where
// generic code is lowered.
package stdlib

//go:generate go run ./gen

import (
	"cmp"
	"slices"
	"strings"
)

// A packageEntry is a line of the generated index.
type packageEntry struct {
	path, name  string
	symbols     []symbol // sorted by name
	needs       string   // paths, separated by spaces
	unsupported string   // why the interpreter cannot have the package, if so
}

// A nameEntry gives the paths, separated by spaces, that a package name can mean.
type nameEntry struct{ name, paths string }

// entry finds a package in the index, or nil.
func entry(path string) *packageEntry {
	i, found := slices.BinarySearchFunc(packages, path, func(p packageEntry, path string) int { return cmp.Compare(p.path, path) })
	if !found {
		return nil
	}
	return &packages[i]
}

// Packages lists the import paths that a program outside the standard library may import, sorted. The checker knows the
// types of all of them; for the few that the interpreter cannot run, see [Unsupported].
func Packages() []string {
	paths := make([]string, len(packages))
	for i := range packages {
		paths[i] = packages[i].path
	}
	return paths
}

// Name gives the name that the package of an import path declares, which is not always the path's last element
// (math/rand/v2 is rand), or "" if there is no such package.
func Name(path string) string {
	if p := entry(path); p != nil {
		return p.name
	}
	return ""
}

// ByName lists the import paths of the packages with a name, the one most likely meant first: what an import that
// nobody wrote stands for. It is nil for a name that no package has.
func ByName(name string) []string {
	i, found := slices.BinarySearchFunc(names, name, func(n nameEntry, name string) int { return cmp.Compare(n.name, name) })
	if !found {
		return nil
	}
	return strings.Fields(names[i].paths)
}

// Unsupported tells why the interpreter cannot run a package of the standard library, as the end of a sentence that
// begins with the package's name and "cannot be used here:"; it is "" for a package that it can run.
func Unsupported(path string) string {
	if path == "unsafe" {
		return "" // not from tables: see Symbols
	}
	if p := entry(path); p != nil {
		return p.unsupported
	}
	return ""
}
