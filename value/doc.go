// Package value turns Go values into bytes and bytes back into Go values.
//
// It takes a reflect.Value and gives one CBOR data item (RFC 8949); it takes such an item and the Go type that is
// expected and gives the value. What travels is decided by types: numbers, strings, bools, slices, arrays, maps,
// structs with their unexported fields, pointers, interfaces whose dynamic type both sides know, errors, and those
// types of the standard library that can describe themselves (time.Time, big.Int, url.URL and their like). Channels,
// functions, unsafe pointers and hidden state such as a sync.Mutex do not travel, and the error says where they are.
//
// # Why the static type leads
//
// The bytes hold no type names except inside interfaces. Both sides evaluate the same source, so both know the type,
// and the decoder checks every item against it. Struct fields therefore go by position. That also makes one encoding
// serve two layouts of one type: a compiled struct with a field a, and the anonymous struct with a field Xa which an
// interpreter builds for the same declaration.
//
// # Format
//
//	bool, string                  simple value; text string, or byte string when it is not UTF-8
//	integers                      unsigned or negative integer, range checked against the type on the way in
//	float32, float64              float of that width, all bits kept
//	complex64, complex128         tag 43000 round [real, imaginary]
//	[]byte, [N]byte               byte string
//	slices, arrays of numbers     RFC 8746 typed array in the machine's byte order; complex: tag 43001 round one
//	other slices, arrays          array; of elements without size (struct{}): only their count
//	maps                          map, sorted by encoded key
//	structs                       array of the fields in order
//	pointers                      tag 28 round the pointee; seen before: tag 29 round its index
//	interfaces, errors            array of the dynamic type's name and the value
//	nil                           null, apart from empty slices and maps
//	time.Time                     array of its binary form and the name of its location
//	other standard library types  byte string or text string, from their own marshalling method
//
// A block of numbers is copied once: on the way out from the value to the result, on the way in from the input to the
// value. Its length is never believed beyond the input that is there.
//
// # What is kept and what is not
//
// Pointers that were equal within one value are equal afterwards. Slices that shared an array and fields that shared
// a map become copies, as does a pointer into the middle of a slice or struct, and a slice's spare capacity is
// dropped. A value that contains itself is an error. A time loses its monotonic clock reading. An error comes back as
// an error with the same text; the well-known ones of package io, io/fs and context come back as themselves. A regular
// expression travels as its text, so one made by regexp.CompilePOSIX comes back as one made by regexp.Compile.
//
// # Trust
//
// Unmarshal may be given bytes from anyone. The whole input is checked for well-formedness first; memory is bounded by
// the input's length; depth, lengths, types, ranges and duplicate keys are checked; nothing that the bytes name
// can start code other than the unmarshalling methods of a fixed list of standard library types, and the caller's
// own Types.
package value
