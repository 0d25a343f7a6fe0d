package interp

import (
	"fmt"
	"reflect"
	"strings"
)

// A value is shown as fmt prints it, but one of a million elements would fill the notebook and take long: beyond
// maxShown elements only the ends of long lists are written, and how many elements there are.
const (
	maxShown  = 10_000
	shownHead = 100
	shownTail = 10
	maxText   = 1 << 20
)

// plainText writes the values as the notebook shows them: one as fmt does, several as a tuple.
func plainText(vs []any) string {
	if len(vs) == 1 {
		return oneText(vs[0])
	}
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = oneText(v)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func oneText(v any) string {
	if s, ok := v.(string); ok {
		return cutText(s)
	}
	rv := reflect.ValueOf(v)
	budget := maxShown
	if !rv.IsValid() || speaksForItself(v) || !exceeds(rv, &budget, 0) {
		return cutText(fmt.Sprint(v))
	}
	var b strings.Builder
	shorten(&b, rv)
	return cutText(b.String())
}

// speaksForItself says whether fmt would ask the value for its text.
func speaksForItself(v any) bool {
	switch v.(type) {
	case error, fmt.Stringer, fmt.Formatter:
		return true
	}
	return false
}

func cutText(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + fmt.Sprintf("… (%s in all)", Size(len(s)))
}

// exceeds counts elements until the budget is used up.
func exceeds(v reflect.Value, budget *int, depth int) bool {
	if *budget--; *budget < 0 || depth > 8 {
		return *budget < 0
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k <= reflect.Complex128 || k == reflect.String {
			*budget -= v.Len()
			return *budget < 0
		}
		for i := range v.Len() {
			if exceeds(v.Index(i), budget, depth+1) {
				return true
			}
		}
	case reflect.Map:
		*budget -= v.Len()
		return *budget < 0
	case reflect.Struct:
		for i := range v.NumField() {
			if exceeds(v.Field(i), budget, depth+1) {
				return true
			}
		}
	case reflect.Interface, reflect.Pointer:
		if depth == 0 || v.Kind() == reflect.Interface {
			return exceeds(v.Elem(), budget, depth+1)
		}
	}
	return *budget < 0
}

// shorten writes a large value with its long lists cut.
func shorten(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		b.WriteByte('[')
		n := v.Len()
		for i := 0; i < n; i++ {
			if i > 0 {
				b.WriteByte(' ')
			}
			if i == shownHead && n > shownHead+shownTail {
				b.WriteString("… ")
				i = n - shownTail
			}
			shorten(b, v.Index(i))
		}
		b.WriteByte(']')
		if n > shownHead+shownTail {
			fmt.Fprintf(b, " (%d elements)", n)
		}
	case reflect.Map:
		if v.Len() <= shownHead {
			fmt.Fprint(b, v)
			return
		}
		fmt.Fprintf(b, "%s of %d entries", v.Type(), v.Len())
	case reflect.Struct:
		b.WriteByte('{')
		for i := range v.NumField() {
			if i > 0 {
				b.WriteByte(' ')
			}
			shorten(b, v.Field(i))
		}
		b.WriteByte('}')
	case reflect.Interface:
		if v.IsNil() {
			b.WriteString("<nil>")
			return
		}
		shorten(b, v.Elem())
	case reflect.String:
		b.WriteString(cutText(v.String()))
	default:
		fmt.Fprint(b, v)
	}
}
