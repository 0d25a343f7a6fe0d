// Package tables is what the generators of this folder's tables share. It takes packages from the go command, compiled
// for a target, and gives what an embedding package commits: export data for the checker, a symbol table for the
// interpreter, doc comments for the reader. The same toolchain and the same packages give the same bytes.
package tables
