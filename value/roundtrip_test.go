package value_test

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"io/fs"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorovod/gorovod/value"
)

// same compares values as programs see them: unexported fields too, NaN equal to NaN, errors by text.
var same = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmpopts.EquateNaNs(),
	cmp.Comparer(func(a, b time.Time) bool {
		return a.Equal(b) && a.Location().String() == b.Location().String()
	}),
	cmp.Comparer(func(a, b *regexp.Regexp) bool { return a == b || a != nil && b != nil && a.String() == b.String() }),
	cmp.Comparer(func(a, b *big.Int) bool { return a == b || a != nil && b != nil && a.Cmp(b) == 0 }),
	cmp.Comparer(func(a, b *big.Float) bool {
		return a == b || a != nil && b != nil && a.Cmp(b) == 0 && a.Prec() == b.Prec() && a.Mode() == b.Mode()
	}),
	cmp.Comparer(func(a, b complex128) bool { return a == b || fmt.Sprint(a) == fmt.Sprint(b) }),
	cmp.Comparer(func(a, b error) bool { return a == b || a != nil && b != nil && a.Error() == b.Error() }),
}

func mustMarshal(t testing.TB, v reflect.Value, o value.Options) []byte {
	t.Helper()
	b, err := value.Marshal(v, o)
	if err != nil {
		t.Fatalf("encoding a %s: %v", v.Type(), err)
	}
	return b
}

// roundTrip encodes v and decodes it into a new variable of the same type.
func roundTrip[T any](t testing.TB, v T) T {
	t.Helper()
	b := mustMarshal(t, reflect.ValueOf(&v).Elem(), value.Options{})
	if err := cbor.Wellformed(b); err != nil && len(b) < 1<<16 && !errors.As(err, new(*cbor.MaxNestedLevelError)) {
		t.Errorf("the encoding is not well-formed CBOR: %v", err)
	}
	var out T
	if err := value.Unmarshal(b, reflect.ValueOf(&out), value.Options{}); err != nil {
		t.Fatalf("decoding a %T: %v", v, err)
	}
	return out
}

type (
	celsius float64
	word    string
	list    struct {
		value int
		next  *list
	}
	tree struct {
		Left, Right *tree
		weights     []float64
	}
	point  struct{ X, y int }
	nested []nested
	empty  struct{}
	holder struct {
		Any   any
		err   error
		shown fmt.Stringer
	}
	embedding struct {
		point
		*list
		_    int
		name word
	}
	numbers struct {
		I   int
		I8  int8
		I16 int16
		I32 int32
		I64 int64
		U   uint
		U8  uint8
		U16 uint16
		U32 uint32
		U64 uint64
		P   uintptr
		F32 float32
		F64 float64
		C64 complex64
		C   complex128
	}
)

func ptr[T any](v T) *T { return &v }

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skipf("the machine has no time zones: %v", err)
	}
	when := time.Date(2024, 7, 1, 12, 0, 0, 123456789, time.UTC)
	nan, inf := math.NaN(), math.Inf(1)
	big1, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	site, _ := url.Parse("https://me:secret@example.org:8080/a%20b?q=1#f")
	for _, c := range []any{
		ptr(true), ptr(false), ptr(""), ptr("Zürich"), ptr("not \xff\xfe UTF-8"), ptr(word("w")), ptr(celsius(-273.15)),
		ptr(strings.Repeat("long \x00", 20_000)),
		&numbers{},
		&numbers{math.MinInt, math.MinInt8, math.MinInt16, math.MinInt32, math.MinInt64, math.MaxUint, math.MaxUint8,
			math.MaxUint16, math.MaxUint32, math.MaxUint64, 1 << 20, math.MaxFloat32, math.MaxFloat64, complex(1, -2), complex(inf, nan)},
		&numbers{-1, 1, 23, 24, 255, 256, 1, 65535, 65536, 1 << 32, 0, float32(nan), math.SmallestNonzeroFloat64, 0, 0},
		ptr(math.Copysign(0, -1)), ptr(nan), ptr(inf), ptr(-inf), ptr(time.Duration(-5)), ptr(time.March),
		ptr([]float64(nil)), &[]float64{}, &[]float64{1, nan, inf, -inf, 0}, &[]float32{1, float32(nan)},
		&[]int{1, -1, math.MaxInt}, &[]int8{-128, 127}, &[]int16{-1, 1}, &[]int32{-1, 1}, &[]int64{-1, 1},
		&[]uint{1, math.MaxUint}, &[]byte{1, 2}, ptr([]byte(nil)), &[]byte{}, &[]uint16{1}, &[]uint32{1}, &[]uint64{1}, &[]uintptr{1},
		&[]complex64{1, 2i}, &[]complex128{complex(nan, inf)}, &[]celsius{1, 2}, &[]time.Duration{1, 2},
		&[3]float64{1, 2, 3}, &[0]float64{}, &[2][3]int{{1, 2, 3}, {4, 5, 6}}, &[4]byte{1}, &[2]string{"a", "b"},
		&[][]float64{{1}, nil, {}}, &[]string{"a", "\xff", ""}, &[]bool{true, false}, ptr(make([]float64, 10_000)),
		ptr([]struct{}(nil)), ptr(make([]struct{}, 1_000)), &[5]empty{}, &[]empty{},
		ptr(map[string][]float64(nil)), &map[string][]float64{}, &map[string][]float64{"a": {1, nan}, "b": nil, "c": {}},
		&map[int]string{-1: "x", 1: "y", 300: "z"}, &map[point]celsius{{1, 2}: 3}, &map[[2]int]bool{{1, 2}: true},
		&map[any]any{1: "a", "b": 2.5, true: nil}, &map[bool]map[string]int{true: {"x": 1}}, &map[string]struct{}{"a": {}},
		&map[netip.Addr]int{netip.MustParseAddr("::1"): 6},
		&point{1, 2}, &[]point{{1, 2}, {3, 4}}, ptr((*point)(nil)), ptr(&point{1, 2}), ptr(ptr(ptr(7))), ptr(ptr((*int)(nil))),
		ptr(ptr([]int(nil))), &list{1, &list{2, nil}}, &tree{&tree{nil, nil, []float64{1}}, &tree{}, nil}, &nested{{}, nil, {{}}},
		&empty{}, &embedding{point{1, 2}, &list{value: 3}, 0, "n"},
		&holder{}, &holder{Any: 1, err: errors.New("lost"), shown: time.Second},
		&holder{Any: []any{int8(1), uint64(2), float32(3), "s", nil, []string{"x"}, map[string]any{"k": []int{1}}, [2]bool{true}, ptr(5), struct{}{}}},
		&holder{Any: when, err: fmt.Errorf("reading: %w", io.EOF)}, &holder{Any: big1}, &holder{Any: *big1}, &holder{Any: complex64(1i)},
		&holder{Any: errors.New("an error in an any")}, &holder{Any: [0]int{}}, &holder{Any: 'x'}, &holder{Any: 3 * time.Second},
		&[]error{nil, errors.New("x"), &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrNotExist}},
		&time.Time{}, &when, ptr(when.In(berlin)), ptr(when.In(time.FixedZone("odd", 3723))), ptr(when.In(time.FixedZone("", 60))),
		ptr(when.Local()), &[]time.Time{when.In(berlin), when.AddDate(0, 6, 0).In(berlin)}, ptr(ptr(when)),
		ptr(big1), big1, big.NewRat(1, 3), ptr((*big.Int)(nil)), &[]*big.Int{big1, nil, big.NewInt(0)},
		ptr(new(big.Float).SetPrec(200).SetMode(big.ToZero).SetInt(big1)), ptr(new(big.Float).SetInf(true)),
		site, ptr(netip.MustParseAddrPort("10.0.0.1:80")), ptr(netip.MustParsePrefix("fe80::/10")), &netip.Addr{},
		regexp.MustCompile(`(?i)a+[b-d]{2,5}`), ptr(ptr(*regexp.MustCompile("x"))), ptr((*regexp.Regexp)(nil)),
		image.NewRGBA(image.Rect(0, 0, 2, 2)), rand.NewPCG(1, 2),
	} {
		in := reflect.ValueOf(c).Elem()
		b := mustMarshal(t, in, value.Options{})
		out := reflect.New(in.Type())
		if err := value.Unmarshal(b, out, value.Options{}); err != nil {
			t.Errorf("decoding %#v: %v", c, err)
			continue
		}
		if diff := cmp.Diff(in.Interface(), out.Elem().Interface(), same); diff != "" {
			t.Errorf("%T changed on its way (-sent +arrived):\n%s", c, diff)
		}
		if again := mustMarshal(t, out.Elem(), value.Options{}); string(again) != string(b) {
			t.Errorf("%T: the value that arrived is encoded in other bytes", c)
		}
	}
}

func TestBitsOfFloatsAreKept(t *testing.T) {
	t.Parallel()
	for _, bits := range []uint64{0x7ff8000000000001, 0x7ff0000000000001, 0xfff8dead0000beef, 1 << 63} {
		f := math.Float64frombits(bits)
		if got := math.Float64bits(roundTrip(t, f)); got != bits {
			t.Errorf("the float64 %#x arrived as %#x", bits, got)
		}
		if got := math.Float64bits(roundTrip(t, []float64{f})[0]); got != bits {
			t.Errorf("the float64 %#x arrived in a slice as %#x", bits, got)
		}
	}
}

func TestSentinelErrorsAreThemselves(t *testing.T) {
	t.Parallel()
	in := []error{io.EOF, io.ErrUnexpectedEOF, context.Canceled, context.DeadlineExceeded, fs.ErrExist, fs.ErrNotExist, fs.ErrPermission}
	for i, got := range roundTrip(t, in) {
		if got != in[i] { //nolint:errorlint // identity is what is tested
			t.Errorf("%v arrived as another error", in[i])
		}
	}
	wrapped := roundTrip(t, []error{fmt.Errorf("reading: %w", io.EOF)})[0]
	if wrapped.Error() != "reading: EOF" || errors.Is(wrapped, io.EOF) {
		t.Errorf("a wrapping error arrived as %#v, want its text alone", wrapped)
	}
}

func TestPointersKeepTheirIdentity(t *testing.T) {
	t.Parallel()
	type graph struct {
		Nodes []*point
		first *point
		byKey map[*point]string
	}
	a, b := &point{1, 1}, &point{1, 1}
	g := roundTrip(t, graph{Nodes: []*point{a, b, a}, first: a, byKey: map[*point]string{b: "b", a: "a"}})
	if g.Nodes[0] != g.Nodes[2] || g.first != g.Nodes[0] {
		t.Error("equal pointers arrived as different ones")
	}
	if g.Nodes[0] == g.Nodes[1] {
		t.Error("different pointers to equal values arrived as one")
	}
	if g.byKey[g.Nodes[0]] != "a" || g.byKey[g.Nodes[1]] != "b" {
		t.Errorf("pointers in map keys are not those outside: %v", g.byKey)
	}
	type node *point
	aliased := roundTrip(t, struct {
		A *point
		B node
	}{a, a})
	if aliased.A != (*point)(aliased.B) {
		t.Error("pointers of differently named types arrived as different ones")
	}
}

func TestNaNKeysAllArrive(t *testing.T) {
	t.Parallel()
	m := map[float64]int{math.NaN(): 1, math.NaN(): 2, 1: 3}
	out := roundTrip(t, m)
	sum := 0
	for _, v := range out {
		sum += v
	}
	if len(out) != 3 || sum != 6 {
		t.Errorf("%v arrived as %v", m, out)
	}
}

func TestEncodingIsDeterministic(t *testing.T) {
	t.Parallel()
	build := func() any {
		m := map[any]any{}
		nans := map[float64]int{}
		keys := map[*string]int{}
		for i := range 200 {
			m[i], m[fmt.Sprint(i)] = fmt.Sprint(i), i
			nans[math.NaN()] = i
			keys[ptr(fmt.Sprint(i))] = i
		}
		return struct {
			M map[any]any
			N map[float64]int
			K map[*string]int
		}{m, nans, keys}
	}
	first := mustMarshal(t, reflect.ValueOf(build()), value.Options{})
	for range 5 {
		if b := mustMarshal(t, reflect.ValueOf(build()), value.Options{}); string(b) != string(first) {
			t.Fatal("equal values were encoded in different bytes")
		}
	}
}

func TestLongListTravels(t *testing.T) {
	t.Parallel()
	var head *list
	for i := range value.DefaultMaxDepth/2 - 1 {
		head = &list{i, head}
	}
	n := 0
	for l := roundTrip(t, head); l != nil; l = l.next {
		n++
	}
	if want := value.DefaultMaxDepth/2 - 1; n != want {
		t.Errorf("a list of %d nodes arrived with %d", want, n)
	}
}

func TestUnmarshalReplaces(t *testing.T) {
	t.Parallel()
	b := mustMarshal(t, reflect.ValueOf(map[string]int{"new": 1}), value.Options{})
	m := map[string]int{"old": 1}
	old := m
	if err := value.Unmarshal(b, reflect.ValueOf(&m).Elem(), value.Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"new": 1}, m); diff != "" || old["old"] != 1 {
		t.Errorf("decoding merged into what was there: %s", diff)
	}
	bad := append([]byte{0x82}, 0x01)
	pt := point{7, 7}
	if err := value.Unmarshal(bad, reflect.ValueOf(&pt), value.Options{}); err == nil || pt != (point{7, 7}) {
		t.Errorf("a failed decoding left %v, error %v", pt, err)
	}
}

func TestEveryByteOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want any
	}{
		{"\xd8\x40\x42\x01\x02", []byte{1, 2}}, {"\x42\x01\x02", []byte{1, 2}}, {"\xd8\x44\x41\xff", []byte{255}},
		{"\xd8\x41\x44\x01\x02\x03\x04", []uint16{0x0102, 0x0304}}, {"\xd8\x45\x42\x01\x02", []uint16{0x0201}},
		{"\xd8\x42\x44\x01\x02\x03\x04", []uint32{0x01020304}}, {"\xd8\x46\x44\x01\x02\x03\x04", []uint32{0x04030201}},
		{"\xd8\x43\x48\x01\x02\x03\x04\x05\x06\x07\x08", []uint64{0x0102030405060708}},
		{"\xd8\x47\x48\x01\x02\x03\x04\x05\x06\x07\x08", []uint64{0x0807060504030201}},
		{"\xd8\x48\x42\xff\x01", []int8{-1, 1}}, {"\xd8\x49\x42\xff\xfe", []int16{-2}}, {"\xd8\x4d\x42\xfe\xff", []int16{-2}},
		{"\xd8\x4a\x44\xff\xff\xff\xfe", []int32{-2}}, {"\xd8\x4e\x44\xfe\xff\xff\xff", []int32{-2}},
		{"\xd8\x4b\x48\xff\xff\xff\xff\xff\xff\xff\xfe", [1]int64{-2}}, {"\xd8\x4f\x48\xfe\xff\xff\xff\xff\xff\xff\xff", [1]int{-2}},
		{"\xd8\x51\x44\x3f\x80\x00\x00", []float32{1}}, {"\xd8\x55\x44\x00\x00\x80\x3f", []float32{1}},
		{"\xd8\x52\x48\x3f\xf0\x00\x00\x00\x00\x00\x00", []float64{1}}, {"\xd8\x56\x48\x00\x00\x00\x00\x00\x00\xf0\x3f", []float64{1}},
		{"\xd9\xa7\xf9\xd8\x51\x48\x3f\x80\x00\x00\xbf\x80\x00\x00", []complex64{complex(1, -1)}},
		// Another width or sign, and plain arrays, as long as the numbers fit.
		{"\xd8\x49\x42\xff\xfe", []int64{-2}}, {"\xd8\x4f\x48\xfe\xff\xff\xff\xff\xff\xff\xff", []int8{-2}},
		{"\xd8\x41\x42\x01\x02", []int{0x0102}}, {"\xd8\x48\x41\x07", []uint32{7}}, {"\xd8\x51\x44\x3f\x80\x00\x00", []float64{1}},
		{"\x83\x01\x20\x18\x64", []int{1, -1, 100}}, {"\x81\xfb\x3f\xf0\x00\x00\x00\x00\x00\x00", [1]float64{1}},
	} {
		got := reflect.New(reflect.TypeOf(c.want))
		if err := value.Unmarshal([]byte(c.in), got, value.Options{}); err != nil {
			t.Errorf("%x into %T: %v", c.in, c.want, err)
		} else if diff := cmp.Diff(c.want, got.Elem().Interface()); diff != "" {
			t.Errorf("%x into %T:\n%s", c.in, c.want, diff)
		}
	}
}

// The library decodes what this package writes without knowing of it.
func TestOtherDecodersUnderstand(t *testing.T) {
	t.Parallel()
	in := struct {
		A int
		B string
		C map[string]bool
		D []byte
		E []string
	}{-5, "x", map[string]bool{"k": true}, []byte{1}, []string{"y"}}
	var got []any
	if err := cbor.Unmarshal(mustMarshal(t, reflect.ValueOf(in), value.Options{}), &got); err != nil {
		t.Fatal(err)
	}
	want := []any{int64(-5), "x", map[any]any{"k": true}, []byte{1}, []any{"y"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	text, err := value.Diagnose(mustMarshal(t, reflect.ValueOf(in), value.Options{}))
	if want := `[-5, "x", {"k": true}, h'01', ["y"]]`; text != want || err != nil {
		t.Errorf("the diagnostic notation is %s, %v; want %s", text, err, want)
	}
}
