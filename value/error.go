package value

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Error says where inside a value or type encoding, decoding or checking stopped, and why.
type Error struct {
	// Path is the place, as Go would write it behind the value: ".Layers[3].Done"; empty for the value itself.
	Path string
	// Into is the type that was being decoded; nil when a value was encoded or a type checked.
	Into reflect.Type
	// Err is the reason.
	Err error
}

// Error gives the place and the reason, and the expected type when a value was being decoded.
func (e *Error) Error() string {
	where := e.Path
	if e.Into != nil {
		where = "decoding a value of type " + shortType(e.Into)
		if e.Path != "" {
			where += ", at " + e.Path
		}
	}
	if where == "" {
		return e.Err.Error()
	}
	return where + ": " + e.Err.Error()
}

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

// located is an error on its way up: each level of the walk appends its step, innermost first. Joining strings at
// each level would cost the square of the depth.
type located struct {
	steps []string
	err   error
}

func (l *located) Error() string { return l.path() + ": " + l.err.Error() }
func (l *located) Unwrap() error { return l.err }

// at notes that err happened below step.
func at(err error, step string) error {
	if l, ok := err.(*located); ok { //nolint:errorlint // only one that this walk itself made, never one wrapped deeper
		l.steps = append(l.steps, step)
		return l
	}
	return &located{steps: []string{step}, err: err}
}

func atIndex(err error, i int) error { return at(err, "["+strconv.Itoa(i)+"]") }

// pathEnds is how many steps of a long path are shown at either end.
const pathEnds = 12

func (l *located) path() string {
	var b strings.Builder
	for i := len(l.steps) - 1; i >= 0; i-- {
		if hidden := len(l.steps) - 2*pathEnds; hidden > 1 && i == len(l.steps)-1-pathEnds {
			fmt.Fprintf(&b, "…(%d more)…", hidden)
			i -= hidden - 1
			continue
		}
		b.WriteString(l.steps[i])
	}
	return b.String()
}

// finish turns what a walk returned into the error that the caller gets.
func finish(err error, into reflect.Type) error {
	if err == nil {
		return nil
	}
	out := &Error{Into: into, Err: err}
	var l *located
	if errors.As(err, &l) {
		out.Path, out.Err = l.path(), l.err
	}
	return out
}

// shortType names t for a message; an anonymous struct, as an interpreter makes it for every struct, can be pages long.
func shortType(t reflect.Type) string {
	const longest = 80
	s := t.String()
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}

// guard runs foreign code, a Types or a marshalling method, and turns its panic into an error.
func guard(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v", what, p)
		}
	}()
	return f()
}

// article puts "a" or "an" before a noun; the names of Go's unsigned types start like "you".
func article(noun string) string {
	if strings.HasPrefix(noun, "uint") || noun == "" || !strings.ContainsRune("aeiou", rune(noun[0])) {
		return "a " + noun
	}
	return "an " + noun
}
