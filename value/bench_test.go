package value_test

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/gorovod/gorovod/value"
)

// record is exported all through, so that the peers can encode it.
type record struct {
	ID     int
	Name   string
	Scores []float64
	Tags   map[string]int
	Next   *record
}

func benchmarkInputs() map[string]any {
	floats := make([]float64, 12_500_000)
	for i := range floats {
		floats[i] = float64(i)
	}
	counts := make(map[string]int, 100_000)
	for i := range 100_000 {
		counts[fmt.Sprintf("identifier%d", i)] = i
	}
	records := make([]record, 20_000)
	for i := range records {
		records[i] = record{i, "name", []float64{1, 2, 3}, map[string]int{"a": 1, "b": 2}, &record{ID: i}}
	}
	return map[string]any{"100MB-float64": floats, "100k-counts": counts, "20k-records": records}
}

// peer is an encoding to compare with.
type peer struct {
	name      string
	marshal   func(in any) ([]byte, error)
	unmarshal func(b []byte, into any) error
}

var peers = []peer{
	{
		"value",
		func(in any) ([]byte, error) { return value.Marshal(reflect.ValueOf(in), value.Options{}) },
		func(b []byte, into any) error { return value.Unmarshal(b, reflect.ValueOf(into), value.Options{}) },
	},
	{
		"gob",
		func(in any) ([]byte, error) {
			var buf bytes.Buffer
			err := gob.NewEncoder(&buf).Encode(in)
			return buf.Bytes(), err
		},
		func(b []byte, into any) error { return gob.NewDecoder(bytes.NewReader(b)).Decode(into) },
	},
	{
		"cbor",
		cbor.Marshal,
		func(b []byte, into any) error {
			mode, err := cbor.DecOptions{MaxArrayElements: 1 << 30, MaxMapPairs: 1 << 30}.DecMode()
			if err != nil {
				return err
			}
			return mode.Unmarshal(b, into)
		},
	},
}

func BenchmarkMarshal(b *testing.B) {
	for name, in := range benchmarkInputs() {
		for _, p := range peers {
			b.Run(name+"/"+p.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					out, err := p.marshal(in)
					if err != nil {
						b.Fatal(err)
					}
					b.SetBytes(int64(len(out)))
				}
			})
		}
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	for name, in := range benchmarkInputs() {
		for _, p := range peers {
			b.Run(name+"/"+p.name, func(b *testing.B) {
				data, err := p.marshal(in)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := p.unmarshal(data, reflect.New(reflect.TypeOf(in)).Interface()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
