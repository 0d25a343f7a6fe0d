package value

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// Limits that hold when Options leaves them zero.
const (
	// DefaultMaxDepth bounds how deeply arrays, maps, structs and pointers may nest; one node of a linked list
	// takes two levels.
	DefaultMaxDepth = 50_000
	// DefaultMaxBytes bounds the encoded size of one value.
	DefaultMaxBytes = 16 << 30
)

const (
	// libraryMaxDepth is the deepest nesting that the CBOR library agrees to check.
	libraryMaxDepth = 65_535
	// tagSlack is by how many levels the library's count may exceed ours: it counts tags that stand directly
	// inside tags, which happens round typed arrays only.
	tagSlack = 16
	// maxItems is the largest number of elements of one array, or pairs of one map, that the library accepts.
	maxItems = math.MaxInt32
	// maxDiagnosed is the longest input that Diagnose prints: hexadecimal doubles it and nobody reads more.
	maxDiagnosed = 1 << 20
)

// Options bounds what is encoded and decoded. The zero value is safe to use on bytes from anyone.
type Options struct {
	// Types tells the dynamic types of interface values apart; nil means Builtin.
	Types Types
	// MaxDepth is the deepest nesting; 0 means DefaultMaxDepth. Values beyond 65,000 are cut to that.
	MaxDepth int
	// MaxBytes is the largest encoded size; 0 means DefaultMaxBytes.
	MaxBytes int64
}

func (o Options) withDefaults() Options {
	if o.Types == nil {
		o.Types = Builtin{}
	}
	if o.MaxDepth <= 0 {
		o.MaxDepth = DefaultMaxDepth
	}
	o.MaxDepth = min(o.MaxDepth, libraryMaxDepth-tagSlack)
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	return o
}

// Marshal encodes v by its static type, v.Type(). The error names the place inside the value and the reason:
// ".Layers[3].Done: a channel cannot travel".
//
// The value must not change while Marshal runs. Equal values give equal bytes, whatever order their maps are in.
func Marshal(v reflect.Value, o Options) ([]byte, error) {
	if !v.IsValid() {
		return nil, &Error{Err: errors.New("there is no value to encode")}
	}
	o = o.withDefaults()
	v, err := addressable(v)
	if err != nil {
		return nil, &Error{Err: err}
	}
	e := newEncoder(o)
	if err := e.value(v); err != nil {
		return nil, finish(err, nil)
	}
	// The walk sees only what is there; a nil pointer hides its type. Refusing by type as well makes the answer
	// depend on the program and not on its data.
	if err := e.catalog.travels(v.Type()); err != nil {
		return nil, finish(err, nil)
	}
	return e.bytes(), nil
}

// Unmarshal decodes data, the whole of which must be one value, into into: a settable value, or else a non-nil
// pointer whose pointee is set. What was there before is replaced, never merged; on an error nothing is changed.
func Unmarshal(data []byte, into reflect.Value, o Options) error {
	dst, err := destination(into)
	if err != nil {
		return err
	}
	o = o.withDefaults()
	fail := func(err error) error { return finish(err, dst.Type()) }
	if int64(len(data)) > o.MaxBytes {
		return fail(fmt.Errorf("the input has %d bytes, the limit is %d; raise Options.MaxBytes", len(data), o.MaxBytes))
	}
	if err := wellformed(data, o.MaxDepth); err != nil {
		return fail(err)
	}
	d := newDecoder(data, o)
	if err := d.catalog.travels(dst.Type()); err != nil {
		return fail(err)
	}
	fresh := reflect.New(dst.Type()).Elem()
	if err := d.value(fresh); err != nil {
		return fail(err)
	}
	if d.off != len(d.data) {
		return fail(fmt.Errorf("%d bytes are left after the value", len(d.data)-d.off))
	}
	dst.Set(fresh)
	return nil
}

// Travels reports whether values of type t can travel, as far as the type alone tells: what an interface will hold is
// only known from the value. The error names the place inside the type: ".Layers[].Done: a channel cannot travel".
func Travels(t reflect.Type) error {
	return Options{}.Travels(t)
}

// Travels is the function Travels for a caller whose Types is a Boxer.
func (o Options) Travels(t reflect.Type) error {
	if t == nil {
		return &Error{Err: errors.New("nil has no type, so it cannot travel")}
	}
	return finish(newCatalog(o.withDefaults().Types).travels(t), nil)
}

// Diagnose gives data in CBOR's diagnostic notation (RFC 8949, section 8), for logs and tests.
func Diagnose(data []byte) (string, error) {
	if len(data) > maxDiagnosed {
		return "", fmt.Errorf("diagnosing a value: it has %d bytes, the limit is %d", len(data), maxDiagnosed)
	}
	mode, err := cbor.DiagOptions{
		MaxNestedLevels:  libraryMaxDepth,
		MaxArrayElements: maxItems,
		MaxMapPairs:      maxItems,
	}.DiagMode()
	if err != nil {
		return "", fmt.Errorf("diagnosing a value: %w", err)
	}
	text, err := mode.Diagnose(data)
	if err != nil {
		return "", fmt.Errorf("diagnosing a value: %w", err)
	}
	return text, nil
}

// wellformed checks the framing of the whole input, so that a count in it stands for as many items that are there.
func wellformed(data []byte, depth int) error {
	if len(data) == 0 {
		return errors.New("the input is empty")
	}
	mode, err := cbor.DecOptions{
		MaxNestedLevels:  depth + tagSlack,
		MaxArrayElements: maxItems,
		MaxMapPairs:      maxItems,
		IndefLength:      cbor.IndefLengthForbidden,
	}.DecMode()
	if err != nil {
		return fmt.Errorf("setting the limits of the CBOR check: %w", err)
	}
	if err := mode.Wellformed(data); err != nil {
		return fmt.Errorf("the input of %d bytes is not well-formed: %w", len(data), err)
	}
	return nil
}

// destination finds the settable value that into stands for.
func destination(into reflect.Value) (reflect.Value, error) {
	switch {
	case !into.IsValid():
		return into, errors.New("decoding a value: there is no destination")
	case into.CanSet():
		return into, nil
	case into.Kind() == reflect.Pointer && !into.IsNil() && into.CanInterface():
		return into.Elem(), nil
	}
	return into, fmt.Errorf("decoding a value: a destination of type %s cannot be set; pass a pointer to it", into.Type())
}

// addressable gives v at an address and free of the marks that reflect puts on unexported fields: reading unexported
// fields below it takes both.
func addressable(v reflect.Value) (reflect.Value, error) {
	switch {
	case v.CanAddr() && v.CanInterface():
		return v, nil
	case v.CanAddr():
		return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem(), nil
	case !v.CanInterface():
		return v, fmt.Errorf("the %s was read from an unexported field and has no address; pass the field of an addressable struct", v.Type())
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c, nil
}

// field gives field i of the addressable struct v, readable and settable though it may be unexported.
func field(v reflect.Value, i int) reflect.Value {
	f := v.Field(i)
	if f.CanSet() {
		return f
	}
	return reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
}
