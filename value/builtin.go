package value

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Builtin is the Types of a plain Go program: it knows the dynamic types that any Go program knows by one name. These
// are the predeclared types, the standard library types that describe themselves, time.Duration, Month and Weekday,
// struct{}, and the slices, arrays, maps and pointers of these. An error is known by its text.
type Builtin struct{}

var _ Types = Builtin{}

const (
	// errorName is the name of an error that arrives as its text.
	errorName = "error"
	// deepestName bounds how often a type name may say "slice of", "map of" and so on.
	deepestName = 32
	// longestArray and largestArray, in bytes, bound the arrays that a name can ask for.
	longestArray = 1 << 16
	largestArray = 1 << 20
)

var errorType = reflect.TypeFor[error]()

// sentinels are the errors that programs compare with, so they arrive as themselves.
var sentinels = map[string]error{
	"error io.EOF":                   io.EOF,
	"error io.ErrUnexpectedEOF":      io.ErrUnexpectedEOF,
	"error context.Canceled":         context.Canceled,
	"error context.DeadlineExceeded": context.DeadlineExceeded,
	"error fs.ErrExist":              fs.ErrExist,
	"error fs.ErrNotExist":           fs.ErrNotExist,
	"error fs.ErrPermission":         fs.ErrPermission,
}

// named are the types that have a name in type names, apart from the composite ones.
var named = func() map[string]reflect.Type {
	m := map[string]reflect.Type{
		"any": reflect.TypeFor[any](), errorName: errorType, "struct{}": reflect.TypeFor[struct{}](),
	}
	for _, t := range []reflect.Type{
		reflect.TypeFor[bool](), reflect.TypeFor[string](),
		reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](),
		reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](),
		reflect.TypeFor[uintptr](), reflect.TypeFor[float32](), reflect.TypeFor[float64](),
		reflect.TypeFor[complex64](), reflect.TypeFor[complex128](),
		reflect.TypeFor[time.Duration](), reflect.TypeFor[time.Month](), reflect.TypeFor[time.Weekday](),
	} {
		m[fullName(t)] = t
	}
	for t := range selfTypes {
		m[fullName(t)] = t
	}
	return m
}()

func fullName(t reflect.Type) string {
	if t.PkgPath() == "" {
		return t.Name()
	}
	return t.PkgPath() + "." + t.Name()
}

// Name names the dynamic type of v. An error goes by its text when v's type is an error interface, or when the error
// was made by the standard library.
func (Builtin) Name(v reflect.Value) (string, reflect.Value, error) {
	if v.Kind() != reflect.Interface || v.IsNil() {
		return "", reflect.Value{}, fmt.Errorf("naming a dynamic type: got a %s, which is no interface value or nil", v.Type())
	}
	concrete := v.Elem()
	t := concrete.Type()
	if t.Implements(errorType) && (v.Type().Implements(errorType) || isStandard(elementPackage(t))) {
		return nameError(concrete.Interface().(error), v.Type())
	}
	name, err := typeName(t)
	return name, concrete, err
}

// elementPackage gives the package of t, or of what t points to.
func elementPackage(t reflect.Type) string {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	return t.PkgPath()
}

func nameError(err error, iface reflect.Type) (string, reflect.Value, error) {
	if !reflect.TypeOf(errors.New("")).AssignableTo(iface) {
		return "", reflect.Value{}, fmt.Errorf("an error of type %T cannot travel in a %s: only its text would arrive", err, iface)
	}
	text := reflect.ValueOf(err.Error())
	for name, s := range sentinels {
		if err == s { //nolint:errorlint // an error that wraps a sentinel has more to say than it
			return name, text, nil
		}
	}
	return errorName, text, nil
}

// typeName gives the name that parseType understands.
func typeName(t reflect.Type) (string, error) {
	name := fullName(t)
	if t == reflect.TypeFor[any]() {
		name = "any"
	} else if t == reflect.TypeFor[struct{}]() {
		name = "struct{}"
	}
	if named[name] == t {
		return name, nil
	}
	if t.Name() != "" {
		return "", unknownType(t)
	}
	prefix := ""
	switch t.Kind() {
	case reflect.Slice:
		prefix = "[]"
	case reflect.Array:
		if t.Len() > longestArray || t.Size() > largestArray {
			return "", fmt.Errorf("an array of %d elements is too large to travel in an interface; use a slice", t.Len())
		}
		prefix = "[" + strconv.Itoa(t.Len()) + "]"
	case reflect.Pointer:
		prefix = "*"
	case reflect.Map:
		key, err := typeName(t.Key())
		if err != nil {
			return "", err
		}
		prefix = "map[" + key + "]"
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return "", refuse(t)
	default:
		return "", unknownType(t)
	}
	elem, err := typeName(t.Elem())
	return prefix + elem, err
}

func unknownType(t reflect.Type) error {
	if isHidden(t) {
		return hiddenError(t)
	}
	return fmt.Errorf("a %s cannot travel in an interface: the other side does not know this type by name", shortType(t))
}

// New gives the type of that name.
func (Builtin) New(name string, _ reflect.Type) (reflect.Type, error) {
	if _, ok := sentinels[name]; ok || name == errorName {
		return reflect.TypeFor[string](), nil
	}
	t, rest, err := parseType(name, 0)
	if err == nil && rest != "" {
		err = fmt.Errorf("%q is left over", rest)
	}
	if err != nil {
		return nil, fmt.Errorf("finding the type named %q: %w", name, err)
	}
	return t, nil
}

// parseType reads one type off the front of s.
func parseType(s string, depth int) (t reflect.Type, rest string, err error) {
	if depth > deepestName {
		return nil, s, fmt.Errorf("it is composed of more than %d parts", deepestName)
	}
	switch {
	case strings.HasPrefix(s, "[]"):
		if t, rest, err = parseType(s[2:], depth+1); err == nil {
			t = reflect.SliceOf(t)
		}
		return t, rest, err
	case strings.HasPrefix(s, "*"):
		if t, rest, err = parseType(s[1:], depth+1); err == nil {
			t = reflect.PointerTo(t)
		}
		return t, rest, err
	case strings.HasPrefix(s, "map["):
		return parseMap(s[4:], depth)
	case strings.HasPrefix(s, "["):
		return parseArray(s[1:], depth)
	}
	end := strings.IndexByte(s, ']')
	if end < 0 {
		end = len(s)
	}
	if t = named[s[:end]]; t == nil {
		return nil, s, fmt.Errorf("no type is known by the name %q here", s[:end])
	}
	return t, s[end:], nil
}

func parseMap(s string, depth int) (reflect.Type, string, error) {
	key, rest, err := parseType(s, depth+1)
	if err != nil {
		return nil, s, err
	}
	if !key.Comparable() {
		return nil, s, fmt.Errorf("a %s cannot be a map key", key)
	}
	after, ok := strings.CutPrefix(rest, "]")
	if !ok {
		return nil, s, errors.New("a map's key type is not closed by ]")
	}
	elem, rest, err := parseType(after, depth+1)
	if err != nil {
		return nil, s, err
	}
	return reflect.MapOf(key, elem), rest, nil
}

func parseArray(s string, depth int) (reflect.Type, string, error) {
	digits, after, ok := strings.Cut(s, "]")
	n, err := strconv.ParseUint(digits, 10, 32)
	if !ok || err != nil || n > longestArray {
		return nil, s, fmt.Errorf("an array's length must be a number up to %d", longestArray)
	}
	elem, rest, err := parseType(after, depth+1)
	if err != nil {
		return nil, s, err
	}
	if n > 0 && elem.Size() > largestArray/uintptr(n) {
		return nil, s, fmt.Errorf("an array of %d values of %d bytes each is too large", n, elem.Size())
	}
	return reflect.ArrayOf(int(n), elem), rest, nil
}

// Store puts concrete into an interface of type iface; a text that stands for an error becomes that error.
func (Builtin) Store(name string, concrete reflect.Value, iface reflect.Type) (reflect.Value, error) {
	if iface.Kind() != reflect.Interface {
		return reflect.Value{}, fmt.Errorf("storing a %s: %s is no interface type", name, iface)
	}
	if s, ok := sentinels[name]; ok {
		concrete = reflect.ValueOf(s)
	} else if name == errorName {
		concrete = reflect.ValueOf(errors.New(concrete.String()))
	}
	if !concrete.Type().AssignableTo(iface) {
		return reflect.Value{}, fmt.Errorf("a %s does not implement %s", concrete.Type(), iface)
	}
	v := reflect.New(iface).Elem()
	v.Set(concrete)
	return v, nil
}
