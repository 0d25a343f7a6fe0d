package value_test

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/gorovod/gorovod/value"
)

func Example() {
	type result struct {
		Losses []float64
		steps  int
	}
	sent := result{Losses: []float64{0.9, 0.5}, steps: 2}
	b, err := value.Marshal(reflect.ValueOf(sent), value.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var arrived result
	if err := value.Unmarshal(b, reflect.ValueOf(&arrived), value.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", arrived)
	// Output: {Losses:[0.9 0.5] steps:2}
}

func ExampleMarshal_refused() {
	type layer struct {
		Weights []float64
		Done    chan bool
	}
	type model struct{ Layers []*layer }
	_, err := value.Marshal(reflect.ValueOf(model{[]*layer{{}, {}}}), value.Options{})
	fmt.Println(err)
	// Output: .Layers[0].Done: a channel cannot travel
}

func ExampleUnmarshal_mismatch() {
	b, _ := value.Marshal(reflect.ValueOf([]int{1, 2, 300}), value.Options{})
	var small []uint8
	fmt.Println(value.Unmarshal(b, reflect.ValueOf(&small), value.Options{}))
	// Output: decoding a value of type []uint8, at [2]: 300 does not fit into a uint8
}

func ExampleTravels() {
	fmt.Println(value.Travels(reflect.TypeFor[map[string][]float64]()))
	fmt.Println(value.Travels(reflect.TypeFor[struct {
		mu sync.Mutex
		n  int
	}]()))
	// Output:
	// <nil>
	// .mu: a sync.Mutex cannot travel: it guards memory of this process; keep it outside of what travels
}

func ExampleDiagnose() {
	shared := new(int)
	b, _ := value.Marshal(reflect.ValueOf([]any{1.5, "text", []byte{1, 2}, shared, shared}), value.Options{})
	text, _ := value.Diagnose(b)
	fmt.Println(text)
	// Output: [["float64", 1.5], ["string", "text"], ["[]uint8", h'0102'], ["*int", 28(0)], ["*int", 29(0)]]
}

// An evaluator's Types names what only it knows and leaves the rest to Builtin.
func ExampleTypes() {
	o := value.Options{Types: shapes{}}
	b, err := value.Marshal(reflect.ValueOf([]any{square{3}, 7}), o)
	if err != nil {
		fmt.Println(err)
		return
	}
	var out []any
	if err := value.Unmarshal(b, reflect.ValueOf(&out), o); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%#v\n", out)
	// Output: []interface {}{value_test.square{side:3}, 7}
}

type square struct{ side float64 }

type shapes struct{ value.Builtin }

func (s shapes) Name(v reflect.Value) (string, reflect.Value, error) {
	if v.Elem().Type() == reflect.TypeFor[square]() {
		return "main.square", v.Elem(), nil
	}
	return s.Builtin.Name(v)
}

func (s shapes) New(name string, iface reflect.Type) (reflect.Type, error) {
	if name == "main.square" {
		return reflect.TypeFor[square](), nil
	}
	return s.Builtin.New(name, iface)
}
