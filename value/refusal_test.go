package value_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/gorovod/gorovod/value"
)

type (
	stage struct {
		Next *stage
		done chan int
	}
	pipeline struct {
		Stages []stage
		byName map[string]stage
	}
	guarded struct {
		mu sync.Mutex
		n  int
	}
	loop struct {
		Name  string
		next  *loop
		kids  []any
		table map[string]any
	}
	strange struct{ error }
	angry   struct{}
)

func (angry) Error() string { panic("no text today") }

func TestWhatCannotTravelIsNamed(t *testing.T) {
	t.Parallel()
	selfPointer := &loop{Name: "a"}
	selfPointer.next = &loop{next: selfPointer}
	selfSlice := []any{1, nil}
	selfSlice[1] = selfSlice
	selfMap := map[string]any{}
	selfMap["me"] = map[string]any{"again": selfMap}
	kids := &loop{}
	kids.kids = []any{[]any{nil}}
	kids.kids[0].([]any)[0] = kids.kids
	for _, c := range []struct {
		in   any
		want string
	}{
		{make(chan int), "a channel cannot travel"},
		{func() {}, "a function value cannot travel"},
		{unsafe.Pointer(nil), "an unsafe.Pointer cannot travel"},
		{pipeline{Stages: []stage{{done: nil}, {}}}, ".Stages[0].done: a channel cannot travel"},
		{pipeline{byName: map[string]stage{"x": {Next: &stage{}}}}, `.byName["x"].Next.done: a channel cannot travel`},
		{pipeline{}, ".Stages[].done: a channel cannot travel"},
		{(*pipeline)(nil), ".Stages[].done: a channel cannot travel"},
		{[]func(){}, "[]: a function value cannot travel"},
		{map[chan int]int{}, "[key]: a channel cannot travel"},
		{map[int]chan int{}, "[]: a channel cannot travel"},
		{&guarded{mu: sync.Mutex{}, n: 1}, ".mu: a sync.Mutex cannot travel: it guards memory of this process"},
		{&sync.WaitGroup{}, "a sync.WaitGroup cannot travel"},
		{&atomic.Int64{}, "an atomic.Int64 cannot travel"},
		{&bytes.Buffer{}, "a bytes.Buffer cannot travel: its state is hidden"},
		{os.Stdout, "an os.File cannot travel"},
		{[]any{1, make(chan int)}, "[1]: a channel cannot travel"},
		{[]any{[]chan int{}}, "[0]: a channel cannot travel"},
		{[]any{point{}}, "[0]: a value_test.point cannot travel in an interface: the other side does not know this type"},
		{[]any{&bytes.Buffer{}}, "[0]: a bytes.Buffer cannot travel"},
		{[]io.Reader{strings.NewReader("")}, "[0]: a strings.Reader cannot travel"},
		{[]context.Context{context.Background()}, "[0]: "},
		{[]any{strange{io.EOF}}, "[0]: a value_test.strange cannot travel"},
		{[]net.Error{&net.DNSError{}}, "[0]: an error of type *net.DNSError cannot travel in a net.Error: only its text"},
		{[]error{angry{}}, "[0]: finding the dynamic type panicked: no text today"},
		{[]any{[1 << 17]int{}}, "[0]: an array of 131072 elements is too large to travel in an interface"},
		{selfPointer, ".next.next: the value contains itself"},
		{selfSlice, "[1].([]any): the value contains itself"},
		{selfMap, `["me"].(map[string]any)["again"].(map[string]any): the value contains itself`},
		{loop{table: selfMap}, `.table["me"].(map[string]any)["again"].(map[string]any): the value contains itself`},
		{kids, ".kids[0].([]any)[0].([]any): the value contains itself"},
	} {
		b, err := value.Marshal(reflect.ValueOf(c.in), value.Options{})
		var located *value.Error
		if !errors.As(err, &located) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%T: got %d bytes and the error %v, want %q", c.in, len(b), err, c.want)
		}
	}
	if _, err := value.Marshal(reflect.Value{}, value.Options{}); err == nil {
		t.Error("no value at all was encoded")
	}
}

func TestTravels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		t    reflect.Type
		want string // empty: it travels
	}{
		{reflect.TypeFor[model](), ""},
		{reflect.TypeFor[holder](), ""},
		{reflect.TypeFor[loop](), ""},
		{reflect.TypeFor[nested](), ""},
		{reflect.TypeFor[struct{ _ [0]func() }](), ""},
		{reflect.TypeFor[pipeline](), ".Stages[].done: a channel cannot travel"},
		{reflect.TypeFor[map[string]guarded](), "[].mu: a sync.Mutex cannot travel"},
		{reflect.TypeFor[[3]func()](), "[]: a function value cannot travel"},
		{reflect.TypeFor[atomic.Pointer[int]](), "an atomic.Pointer[int] cannot travel"},
		{nil, "nil has no type"},
	} {
		err := value.Travels(c.t)
		if got := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.HasPrefix(got, strings.TrimSpace(c.want)) && err != nil {
			t.Errorf("%v: got %v, want %q", c.t, err, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	deep := &list{0, &list{1, &list{2, nil}}}
	if _, err := value.Marshal(reflect.ValueOf(deep), value.Options{MaxDepth: 4}); err == nil || !strings.Contains(err.Error(), "deeper than 4") {
		t.Errorf("a value of depth 6 was encoded with limit 4: %v", err)
	}
	b := mustMarshal(t, reflect.ValueOf(deep), value.Options{})
	var out *list
	if err := value.Unmarshal(b, reflect.ValueOf(&out).Elem(), value.Options{MaxDepth: 4}); err == nil {
		t.Error("a value of depth 6 was decoded with limit 4")
	}
	for _, in := range []any{make([]float64, 100_000), make([]string, 100_000), [2_000_000]bool{}} {
		if _, err := value.Marshal(reflect.ValueOf(in), value.Options{MaxBytes: 1000}); err == nil || !strings.Contains(err.Error(), "larger than 1000 bytes") {
			t.Errorf("%T: a large value was encoded with limit 1000: %v", in, err)
		}
	}
	if err := value.Unmarshal(b, reflect.ValueOf(&out), value.Options{MaxBytes: 2}); err == nil || !strings.Contains(err.Error(), "the limit is 2") {
		t.Errorf("a long input was decoded with limit 2: %v", err)
	}
	if _, err := value.Diagnose(make([]byte, 2<<20)); err == nil {
		t.Error("2 MiB were diagnosed")
	}
}

func TestLongPathsAreCut(t *testing.T) {
	t.Parallel()
	var head any
	for range 1000 {
		head = []any{head}
	}
	head = []any{head, make(chan int)}
	for range 1000 {
		head = []any{head}
	}
	_, err := value.Marshal(reflect.ValueOf(head), value.Options{})
	if err == nil || len(err.Error()) > 500 || !strings.Contains(err.Error(), "more)…") {
		t.Errorf("want a short error, got %v", err)
	}
}
