package value_test

import (
	"bytes"
	"errors"
	"math/big"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorovod/gorovod/value"
)

// hugeRegexp is a small input that asks for two million instructions.
var hugeRegexp = "\x79\x07\xd8(" + strings.Repeat("a", 2000) + "){1000}"

type endless []endless

// refused are inputs, what they claim to be, and what the error says.
var refused = []struct {
	in   string
	into any
	want string
}{
	{"", new(int), "the input is empty"},
	{"\x01\x01", new(int), "extraneous"},
	{"\x18", new(int), "not well-formed"},
	{"\x9f\xff", new([]string), "indefinite"},
	{"\xfb\x3f\xf0\x00\x00\x00\x00\x00\x00", new(int), "expected an int, found a float64"},
	{"\x01", new(float64), "expected a float64, found an unsigned integer"},
	{"\xfb\x3f\xf0\x00\x00\x00\x00\x00\x00", new(float32), "expected a float32, found a float64"},
	{"\xf9\x3c\x00", new(float64), "expected a float64"},
	{"\x61a", new(int), "expected an int, found a text string"},
	{"\xf6", new(int), "found null"},
	{"\xf5", new(string), "expected a string, found a bool"},
	{"\x19\x01\x00", new(uint8), "256 does not fit into a uint8"},
	{"\x20", new(uint8), "-1 does not fit into a uint8"},
	{"\x18\x80", new(int8), "128 does not fit into an int8"},
	{"\x38\x80", new(int8), "-129 does not fit into an int8"},
	{"\x1b\xff\xff\xff\xff\xff\xff\xff\xff", new(int64), "18446744073709551615 does not fit"},
	{"\x3b\xff\xff\xff\xff\xff\xff\xff\xff", new(int64), "does not fit"},
	{"\x61\xff", new(string), "not UTF-8"},
	{"\x82\x01\x02", new([3]string), "expected 3 elements, found 2"},
	{"\xd8\x56\x48\x00\x00\x00\x00\x00\x00\xf0\x3f", new([2]float64), "expected 2 elements, found 1"},
	{"\xd8\x56\x47\x00\x00\x00\x00\x00\x00\xf0", new([]float64), "not a whole number"},
	{"\xd8\x56\x48\x00\x00\x00\x00\x00\x00\xf0\x3f", new([]float32), "expected 32-bit floats, found 64-bit floats"},
	{"\xd8\x56\x48\x00\x00\x00\x00\x00\x00\xf0\x3f", new([]int), "expected 64-bit signed integers, found 64-bit floats"},
	{"\xd8\x54\x42\x00\x00", new([]float32), "16-bit floats"},
	{"\xd8\x63\x42\x00\x00", new([]float32), "tag 99"},
	{"\x42\x01\x02", new([]float64), "found bare bytes"},
	{"\xd9\xa7\xf9\xd8\x45\x44\x00\x00\x00\x00", new([]complex64), "pairs of 16-bit unsigned"},
	{"\xd8\x41\x44\x00\x01\xff\xff", new([]int8), "[1]: 65535 does not fit into an int8"},
	{"\x81\x01", new(point), "the struct has 2 fields here, the input has 1"},
	{"\x82\x01\x61x", new(point), "at .y: expected an int, found a text string"},
	{"\xa2\x01\x01\x01\x02", new(map[int]int), "the key 1 comes twice"},
	{"\xa1\x82\x65[]int\xd8\x4f\x40\x01", new(map[any]int), "cannot be a map key"},
	{"\x81\x01", new(map[int]int), "expected a map, found an array"},
	{"\x01", new(*int), "expected a pointer"},
	{"\xd8\x1d\x00", new(*int), "only 0 came before"},
	{"\x82\xd8\x1c\x01\xd8\x1d\x01", new([]*int), "only 1 came before"},
	{"\xd8\x1c\x82\x01\xd8\x1d\x00", new(*list), "contains itself"},
	{"\x82\xd8\x1c\x01\xd8\x1d\x00", new(struct {
		A *int
		B *string
	}), "expected a pointer of type *string, found one of type *int"},
	{"\x01", new(any), "expected an interface's type name"},
	{"\x81\x01", new(any), "found an array of 1"},
	{"\x82\x01\x01", new(any), "expected a string"},
	{"\x82\x64nope\x01", new(any), `no type is known by the name "nope"`},
	{"\x82\x64*int\x01", new(any), "expected a pointer"},
	{"\x82\x63int\x01", new(error), "int does not implement error"},
	{"\x82\x65error\x61x", new(interface{ Timeout() bool }), "does not implement"},
	{"\x82\x76[1000000000000]float64\x40", new(any), "an array's length"},
	{"\x82\x6c[60000]int64\x40", new(any), "it takes at least 60000 bytes"},
	{"\x82\x6emap[[]int]bool\xa0", new(any), "cannot be a map key"},
	{"\x82\x67map[int\xa0", new(any), "not closed"},
	{"\x82\x64int]\x01", new(any), "left over"},
	{"\x82\x78\x64" + strings.Repeat("*", 97) + "int\x01", new(any), "more than 32 parts"},
	{"\x82\x40\x61x", new(time.Time), "decoding a time"},
	{"\x41\xff", new(big.Int), "not supported"},
	{"\x61(", new(regexp.Regexp), "missing closing )"},
	{hugeRegexp, new(regexp.Regexp), "may compile to"},
	{"\x9a\x7f\xff\xff\xff", new([]string), "not well-formed"},
	{"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", new([]struct{}), "not well-formed"},
	{"\x1b\xff\xff\xff\xff\xff\xff\xff\xff", new([]struct{}), "longer than Go allows"},
	{"\xd8\x56\x5b\x7f\xff\xff\xff\xff\xff\xff\xff", new([]float64), "not well-formed"},
	{strings.Repeat("\x81", 70_000) + "\x80", new(endless), "not well-formed"},
	{strings.Repeat("\x81", 50_001) + "\x80", new(endless), "nested deeper than 50000"},
	{"\x01", new(chan int), "a channel cannot travel"},
	{"\xf6", new([]bytes.Buffer), "bytes.Buffer cannot travel"},
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range refused {
		err := value.Unmarshal([]byte(c.in), reflect.ValueOf(c.into), value.Options{})
		var located *value.Error
		if !errors.As(err, &located) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40x into %T: got %v, want an error with %q", c.in, c.into, err, c.want)
		}
	}
	for _, into := range []reflect.Value{{}, reflect.ValueOf(1), reflect.ValueOf((*int)(nil))} {
		if err := value.Unmarshal([]byte{1}, into, value.Options{}); err == nil {
			t.Errorf("decoded into %v", into)
		}
	}
}

// allocated gives how many bytes f allocates, which other goroutines of the test must not disturb.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Not parallel: it measures memory.
func TestClaimsAreNotGivenMemory(t *testing.T) {
	type row [1 << 16]string
	type rows []row
	for name, c := range map[string]struct {
		in   []byte
		into any
	}{
		"rows":       {append([]byte{0x99, 0x10, 0x00}, bytes.Repeat([]byte{0x80}, 4096)...), new(rows)},
		"maps":       {append([]byte{0xb9, 0x08, 0x00}, bytes.Repeat([]byte{0x80}, 4096)...), new(map[int]row)},
		"any arrays": {append(append([]byte{0x82}, "\x6c[60000][]any"...), 0x80), new(any)},
		"regexps":    {[]byte("\x82\x6e*regexp.Regexp\xd8\x1c" + hugeRegexp), new(any)},
	} {
		got := allocated(func() {
			if err := value.Unmarshal(c.in, reflect.ValueOf(c.into), value.Options{}); err == nil {
				t.Errorf("%s: decoded", name)
			}
		})
		if limit := uint64(1 << 20); got > limit {
			t.Errorf("%s: %d bytes of input made decoding allocate %d", name, len(c.in), got)
		}
	}
}

// Not parallel: it measures memory.
func TestBlocksAreCopiedOnce(t *testing.T) {
	const size = 64 << 20
	in := make([]float64, size/8)
	in[len(in)-1] = 42
	var b []byte
	if got := allocated(func() { b = mustMarshal(t, reflect.ValueOf(in), value.Options{}) }); got > size*11/10 {
		t.Errorf("encoding %d bytes allocated %d", size, got)
	}
	var out []float64
	got := allocated(func() {
		if err := value.Unmarshal(b, reflect.ValueOf(&out), value.Options{}); err != nil {
			t.Error(err)
		}
	})
	if got > size*11/10 || out[len(out)-1] != 42 {
		t.Errorf("decoding %d bytes allocated %d; the last number is %v", size, got, out[len(out)-1])
	}
}
