package value_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorovod/gorovod/value"
)

// targets are the types that FuzzUnmarshal decodes into.
var targets = []reflect.Type{
	reflect.TypeFor[any](), reflect.TypeFor[[]any](), reflect.TypeFor[map[any]any](), reflect.TypeFor[error](),
	reflect.TypeFor[numbers](), reflect.TypeFor[model](), reflect.TypeFor[tree](), reflect.TypeFor[nested](),
	reflect.TypeFor[[]float64](), reflect.TypeFor[[]int16](), reflect.TypeFor[[3]complex64](), reflect.TypeFor[[]string](),
	reflect.TypeFor[map[string][]float64](), reflect.TypeFor[map[*point]*point](), reflect.TypeFor[[]*list](),
	reflect.TypeFor[time.Time](), reflect.TypeFor[big.Int](), reflect.TypeFor[big.Rat](), reflect.TypeFor[big.Float](),
	reflect.TypeFor[url.URL](), reflect.TypeFor[netip.Prefix](), reflect.TypeFor[*regexp.Regexp](), reflect.TypeFor[[]struct{}](),
	reflect.TypeFor[holder](),
}

// FuzzUnmarshal decodes arbitrary bytes into many types. None may panic, and what is decoded must be a fixed point:
// encoded and decoded again it gives the same bytes.
func FuzzUnmarshal(f *testing.F) {
	for i, in := range []any{
		any(1), []any{1, "x", nil, []int{1}, map[string]any{"k": 2.5}}, map[any]any{1: true}, errors.New("x"),
		numbers{C: 1i}, newModel(), tree{Left: &tree{}}, nested{{}, nil},
		[]float64{1, math.NaN()}, []int16{1}, [3]complex64{1}, []string{"a"},
		map[string][]float64{"a": {1}}, map[*point]*point{{}: {}}, []*list{{1, nil}, nil},
		time.Now(), *big.NewInt(-5), *big.NewRat(1, 3), *big.NewFloat(2.5),
		url.URL{Host: "h"}, netip.MustParsePrefix("10.0.0.0/8"), regexp.MustCompile("a+"), make([]struct{}, 9), holder{Any: 1},
	} {
		v := reflect.New(targets[i]).Elem()
		v.Set(reflect.ValueOf(in))
		b, err := value.Marshal(v, value.Options{})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, pick uint8) {
		typ := targets[int(pick)%len(targets)]
		first := reflect.New(typ).Elem()
		if err := value.Unmarshal(data, first, value.Options{}); err != nil {
			var located *value.Error
			if !errors.As(err, &located) {
				t.Fatalf("the error %v has no place", err)
			}
			return
		}
		b := mustMarshal(t, first, value.Options{})
		second := reflect.New(typ).Elem()
		if err := value.Unmarshal(b, second, value.Options{}); err != nil {
			t.Fatalf("what was decoded cannot be decoded again: %v", err)
		}
		if again := mustMarshal(t, second, value.Options{}); string(again) != string(b) {
			t.Fatalf("encoded again, %x became %x", b, again)
		}
	})
}

// FuzzRoundTrip makes values out of the fuzzer's bytes and looks whether they arrive.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("seed"), "text", int64(-1), 1.5)
	f.Add([]byte{}, "\xff", int64(math.MinInt64), math.Inf(-1))
	f.Fuzz(func(t *testing.T, raw []byte, s string, i int64, x float64) {
		type inner struct {
			key  string
			next *inner
			vals []float64
		}
		type outer struct {
			B     []byte
			S     []string
			m     map[string]*inner
			n     map[int64]complex128
			a     any
			words []uint16
			t     time.Time
			big   *big.Int
			f32   float32
			arr   [2]inner
		}
		in := outer{
			B: raw, S: []string{s, string(raw)}, a: []any{i, x, s, raw, nil, map[string]any{s: i}}, f32: float32(x),
			big: new(big.Int).SetBytes(raw), t: time.Unix(i%1e11, int64(len(raw))).UTC(), m: map[string]*inner{}, n: map[int64]complex128{i: complex(x, -x)},
		}
		var last *inner
		for len(raw) >= 3 {
			n := &inner{key: string(raw[:3]), next: last}
			in.words = append(in.words, binary.LittleEndian.Uint16(raw))
			n.vals = append(n.vals, x, float64(raw[0]))
			if raw[2]%2 == 0 {
				last = n
			}
			in.m[n.key], in.arr[raw[2]%2] = n, *n
			raw = raw[3:]
		}
		if diff := cmp.Diff(in, roundTrip(t, in), same); diff != "" {
			t.Error(diff)
		}
	})
}
