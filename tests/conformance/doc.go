// Package conformance judges gorovod by an outside suite: the programs in the Go distribution's own test folder,
// GOROOT/test, that are to be compiled, run, and exit with status 0 (those that start with `// run`).
//
// Each program goes through `gorovod run`, and is then right (its exit status and, where a .out file says it, its
// output are those of the compiled program), refused (gorovod said that it does not support it, so nobody is
// misled), or wrong (everything else). What goes in is testdata/programs.tsv, the list of programs, with what the
// bare yaegi interpreter makes of each; testdata/shortfalls.tsv, the programs known not to be right; and the
// distribution's test folder. What comes out is the three figures, and a failed test when a program does worse
// than the known shortfalls say.
package conformance
