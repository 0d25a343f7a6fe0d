package stdlib

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"

	"github.com/traefik/yaegi/interp"
)

// A composed wrapper carries methods beside those of the interface that it is made for, because compiled code asks a
// value for them. yaegi takes the first wrapper of a list whose methods the interpreted type has, all by name.

// addComposed adds the composed wrappers, the largest of each list first.
func addComposed(types map[reflect.Value][]reflect.Type) {
	add := func(wrapper any, composed ...reflect.Type) { types[reflect.ValueOf(wrapper)] = composed }
	add((*printedError)(nil), append([]reflect.Type{reflect.TypeFor[printedErrorGo]()}, composedErrors...)...)
	add((*printedString)(nil), reflect.TypeFor[printedStringGo]())
	add((*wrap_fmt_Stringer)(nil), reflect.TypeFor[printedStringGo](), reflect.TypeFor[printedString]())
	add((*wrap_net_http_ResponseWriter)(nil),
		reflect.TypeFor[responseFlushHijacker](), reflect.TypeFor[responseHijacker](), reflect.TypeFor[responseFlusher]())
	add((*wrap_io_Reader)(nil), reflect.TypeFor[readerWriterTo](), reflect.TypeFor[readCloser]())
	add((*wrap_io_Writer)(nil), reflect.TypeFor[writerReaderFrom]())
	add((*wrap_flag_Value)(nil), reflect.TypeFor[boolFlag]())
	// The wrapper of error is yaegi's own and not exported, but every interpreter tells it.
	if wrapper := interp.New(interp.Options{}).Symbols("")[""]["_error"]; wrapper.IsValid() {
		types[wrapper] = append(composedErrors[:len(composedErrors):len(composedErrors)], reflect.TypeFor[printedError]())
	}
}

var composedErrors = []reflect.Type{
	reflect.TypeFor[errorIsAsUnwrap](), reflect.TypeFor[errorIsUnwrap](), reflect.TypeFor[errorAsUnwrap](),
	reflect.TypeFor[errorIsAs](), reflect.TypeFor[errorUnwrap](), reflect.TypeFor[errorIs](), reflect.TypeFor[errorAs](),
}

// An error's optional methods are held as values of any type, for a method of that name may have another signature,
// and then errors.Is and errors.As do not count it.
type (
	errorUnwrap struct {
		IValue  any
		WError  func() string
		WUnwrap any
	}
	errorIs struct {
		IValue any
		WError func() string
		WIs    any
	}
	errorAs struct {
		IValue any
		WError func() string
		WAs    any
	}
	errorIsUnwrap struct {
		IValue  any
		WError  func() string
		WIs     any
		WUnwrap any
	}
	errorAsUnwrap struct {
		IValue  any
		WError  func() string
		WAs     any
		WUnwrap any
	}
	errorIsAs struct {
		IValue any
		WError func() string
		WIs    any
		WAs    any
	}
	errorIsAsUnwrap struct {
		IValue  any
		WError  func() string
		WIs     any
		WAs     any
		WUnwrap any
	}
)

func (w errorUnwrap) Error() string     { return w.WError() }
func (w errorIs) Error() string         { return w.WError() }
func (w errorAs) Error() string         { return w.WError() }
func (w errorIsUnwrap) Error() string   { return w.WError() }
func (w errorAsUnwrap) Error() string   { return w.WError() }
func (w errorIsAs) Error() string       { return w.WError() }
func (w errorIsAsUnwrap) Error() string { return w.WError() }

func (w errorUnwrap) Format(f fmt.State, verb rune) { printedError{w.IValue, w.WError}.Format(f, verb) }
func (w errorIs) Format(f fmt.State, verb rune)     { printedError{w.IValue, w.WError}.Format(f, verb) }
func (w errorAs) Format(f fmt.State, verb rune)     { printedError{w.IValue, w.WError}.Format(f, verb) }
func (w errorIsUnwrap) Format(f fmt.State, verb rune) {
	printedError{w.IValue, w.WError}.Format(f, verb)
}
func (w errorAsUnwrap) Format(f fmt.State, verb rune) {
	printedError{w.IValue, w.WError}.Format(f, verb)
}
func (w errorIsAs) Format(f fmt.State, verb rune) { printedError{w.IValue, w.WError}.Format(f, verb) }
func (w errorIsAsUnwrap) Format(f fmt.State, verb rune) {
	printedError{w.IValue, w.WError}.Format(f, verb)
}

func (w errorUnwrap) Unwrap() error     { return unwrapWith(w.WUnwrap) }
func (w errorIsUnwrap) Unwrap() error   { return unwrapWith(w.WUnwrap) }
func (w errorAsUnwrap) Unwrap() error   { return unwrapWith(w.WUnwrap) }
func (w errorIsAsUnwrap) Unwrap() error { return unwrapWith(w.WUnwrap) }

func (w errorIs) Is(target error) bool         { return isWith(w.WIs, target) }
func (w errorIsUnwrap) Is(target error) bool   { return isWith(w.WIs, target) }
func (w errorIsAs) Is(target error) bool       { return isWith(w.WIs, target) }
func (w errorIsAsUnwrap) Is(target error) bool { return isWith(w.WIs, target) }

func (w errorAs) As(target any) bool         { return asWith(w.WAs, target) }
func (w errorAsUnwrap) As(target any) bool   { return asWith(w.WAs, target) }
func (w errorIsAs) As(target any) bool       { return asWith(w.WAs, target) }
func (w errorIsAsUnwrap) As(target any) bool { return asWith(w.WAs, target) }

// severalErrors puts the errors of an Unwrap with many results behind an Unwrap with one.
type severalErrors struct{ errs []error }

func (s *severalErrors) Error() string   { return fmt.Sprint(s.errs) }
func (s *severalErrors) Unwrap() []error { return s.errs }

func unwrapWith(method any) error {
	switch unwrap := method.(type) {
	case func() error:
		return unwrap()
	case func() []error:
		return &severalErrors{unwrap()}
	}
	return nil
}

func isWith(method any, target error) bool {
	is, ok := method.(func(error) bool)
	return ok && is(target)
}

func asWith(method, target any) bool {
	as, ok := method.(func(any) bool)
	return ok && as(target)
}

type (
	responseHijacker struct {
		IValue       any
		WHeader      func() http.Header
		WWrite       func([]byte) (int, error)
		WWriteHeader func(int)
		WHijack      func() (net.Conn, *bufio.ReadWriter, error)
	}
	responseFlusher struct {
		IValue       any
		WHeader      func() http.Header
		WWrite       func([]byte) (int, error)
		WWriteHeader func(int)
		WFlush       func()
	}
	responseFlushHijacker struct {
		IValue       any
		WHeader      func() http.Header
		WWrite       func([]byte) (int, error)
		WWriteHeader func(int)
		WFlush       func()
		WHijack      func() (net.Conn, *bufio.ReadWriter, error)
	}
)

func (w responseHijacker) Header() http.Header              { return w.WHeader() }
func (w responseHijacker) Write(data []byte) (int, error)   { return w.WWrite(data) }
func (w responseHijacker) WriteHeader(status int)           { w.WWriteHeader(status) }
func (w responseFlusher) Header() http.Header               { return w.WHeader() }
func (w responseFlusher) Write(data []byte) (int, error)    { return w.WWrite(data) }
func (w responseFlusher) WriteHeader(status int)            { w.WWriteHeader(status) }
func (w responseFlusher) Flush()                            { w.WFlush() }
func (w responseFlushHijacker) Header() http.Header         { return w.WHeader() }
func (w responseFlushHijacker) Write(d []byte) (int, error) { return w.WWrite(d) }
func (w responseFlushHijacker) WriteHeader(status int)      { w.WWriteHeader(status) }
func (w responseFlushHijacker) Flush()                      { w.WFlush() }

func (w responseHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error)      { return w.WHijack() }
func (w responseFlushHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.WHijack() }

type (
	readerWriterTo struct {
		IValue   any
		WRead    func([]byte) (int, error)
		WWriteTo func(io.Writer) (int64, error)
	}
	readCloser struct {
		IValue any
		WRead  func([]byte) (int, error)
		WClose any
	}
	writerReaderFrom struct {
		IValue    any
		WWrite    func([]byte) (int, error)
		WReadFrom func(io.Reader) (int64, error)
	}
	boolFlag struct {
		IValue      any
		WString     func() string
		WSet        func(string) error
		WIsBoolFlag func() bool
	}
)

func (w readerWriterTo) Read(data []byte) (int, error)            { return w.WRead(data) }
func (w readerWriterTo) WriteTo(to io.Writer) (int64, error)      { return w.WWriteTo(to) }
func (w readCloser) Read(data []byte) (int, error)                { return w.WRead(data) }
func (w writerReaderFrom) Write(data []byte) (int, error)         { return w.WWrite(data) }
func (w writerReaderFrom) ReadFrom(from io.Reader) (int64, error) { return w.WReadFrom(from) }
func (w boolFlag) Set(text string) error                          { return w.WSet(text) }
func (w boolFlag) IsBoolFlag() bool                               { return w.WIsBoolFlag() }

// Close does nothing for a Close method with another signature, which compiled code would not call.
func (w readCloser) Close() error {
	if closeIt, ok := w.WClose.(func() error); ok {
		return closeIt()
	}
	return nil
}

// String also answers for the zero value, which package flag asks for the text of an unset default.
func (w boolFlag) String() string {
	if w.WString == nil {
		return ""
	}
	return w.WString()
}

var _ flag.Value = boolFlag{}
