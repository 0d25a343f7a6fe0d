package value

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unicode/utf8"
	"unsafe"
)

// Tags for shared values (registered with the CBOR tags of RFC 8949).
const (
	tagShareable = 28
	tagShared    = 29
)

// blockMin is from how many bytes on a block of memory is not copied into the run of small items but kept aside, to be
// copied once the whole size is known. Growing one buffer instead would copy, and for a time hold, each block twice.
const blockMin = 32 << 10

// reference names memory that a value refers to. The type is part of it since a struct and its first field share an
// address; the length tells apart slices of one array.
type reference struct {
	memory unsafe.Pointer
	length int
	typ    reflect.Type
}

// seen is a pointer that was met before.
type seen struct {
	index uint64
	done  bool // false while its pointee is being encoded
}

type encoder struct {
	o       Options
	catalog *catalog

	parts [][]byte // finished runs, and blocks that still belong to the value
	run   []byte   // the run that is being written
	size  int64    // of parts
	flat  bool     // all goes into the run

	depth    int
	pointers map[reference]*seen
	active   map[reference]bool // slices and maps whose parts are being encoded
}

func newEncoder(o Options) *encoder {
	return &encoder{o: o, catalog: newCatalog(o.Types), active: map[reference]bool{}}
}

// scratch gives an encoder whose run is only looked at. It knows the slices and maps on the way here, but numbers
// pointers for itself.
func (e *encoder) scratch() *encoder {
	return &encoder{o: e.o, catalog: e.catalog, active: e.active, depth: e.depth, flat: true}
}

// bytes gives all that was written, in memory of its own.
func (e *encoder) bytes() []byte {
	if len(e.parts) == 0 {
		return e.run
	}
	e.endRun()
	out := make([]byte, 0, e.size)
	for _, p := range e.parts {
		out = append(out, p...)
	}
	return out
}

func (e *encoder) endRun() {
	if len(e.run) > 0 {
		e.parts = append(e.parts, e.run)
		e.size += int64(len(e.run))
		e.run = nil
	}
}

func (e *encoder) head(m major, n uint64) { e.run = appendHead(e.run, m, n) }

func (e *encoder) raw(b []byte) error {
	if len(b) < blockMin || e.flat {
		e.run = append(e.run, b...)
		return nil
	}
	e.endRun()
	e.parts = append(e.parts, b)
	e.size += int64(len(b))
	return e.checkSize()
}

func (e *encoder) checkSize() error {
	if e.size+int64(len(e.run)) > e.o.MaxBytes {
		return fmt.Errorf("the encoded value is larger than %d bytes; send less or raise Options.MaxBytes", e.o.MaxBytes)
	}
	return nil
}

// value writes v, which has an address and no marks of an unexported field.
func (e *encoder) value(v reflect.Value) error {
	if err := e.checkSize(); err != nil {
		return err
	}
	i := e.catalog.info(v.Type())
	switch i.role {
	case dynamic:
		return e.nested(func() error { return e.iface(v) })
	case selfmade:
		return i.self.encode(e, v)
	case hidden:
		return hiddenError(v.Type())
	}
	switch v.Kind() {
	case reflect.Bool, reflect.String:
		return e.basic(v)
	case reflect.Slice, reflect.Array:
		return e.list(v)
	case reflect.Map:
		if v.IsNil() {
			e.run = append(e.run, byteNull)
			return nil
		}
		return e.nested(func() error { return e.mapping(v) })
	case reflect.Struct:
		return e.nested(func() error { return e.structure(v) })
	case reflect.Pointer:
		return e.nested(func() error { return e.pointer(v) })
	}
	if i.number.size > 0 {
		return e.scalar(v)
	}
	return refuse(v.Type())
}

// nested runs f one level deeper.
func (e *encoder) nested(f func() error) error {
	if e.depth >= e.o.MaxDepth {
		return tooDeep(e.o.MaxDepth)
	}
	e.depth++
	err := f()
	e.depth--
	return err
}

func tooDeep(limit int) error {
	return fmt.Errorf("the value is nested deeper than %d levels", limit)
}

func (e *encoder) basic(v reflect.Value) error {
	if v.Kind() == reflect.Bool {
		b := byte(byteFalse)
		if v.Bool() {
			b = byteTrue
		}
		e.run = append(e.run, b)
		return nil
	}
	s := v.String()
	m := majorText
	if !utf8.ValidString(s) {
		m = majorBytes
	}
	e.head(m, uint64(len(s)))
	return e.raw(unsafe.Slice(unsafe.StringData(s), len(s)))
}

func (e *encoder) scalar(v reflect.Value) error {
	switch {
	case v.CanInt():
		e.run = appendInt(e.run, v.Int())
	case v.CanUint():
		e.head(majorUnsigned, v.Uint())
	case v.CanFloat():
		e.float(v.Float(), v.Type().Size())
	default:
		e.head(majorTag, tagComplex)
		e.head(majorArray, 2)
		e.float(real(v.Complex()), v.Type().Size()/2)
		e.float(imag(v.Complex()), v.Type().Size()/2)
	}
	return nil
}

func (e *encoder) float(f float64, size uintptr) {
	if size == 4 {
		e.run = binary.BigEndian.AppendUint32(append(e.run, byteFloat32), math.Float32bits(float32(f)))
		return
	}
	e.run = binary.BigEndian.AppendUint64(append(e.run, byteFloat64), math.Float64bits(f))
}

// list writes a slice or an array.
func (e *encoder) list(v reflect.Value) error {
	slice := v.Kind() == reflect.Slice
	if slice && v.IsNil() {
		e.run = append(e.run, byteNull)
		return nil
	}
	elem := v.Type().Elem()
	switch n := e.catalog.info(elem).number; {
	case elem.Size() == 0:
		e.head(majorUnsigned, uint64(v.Len()))
		return nil
	case n.size > 0 && slice:
		return e.numbers(v.UnsafePointer(), v.Len(), n)
	case n.size > 0:
		return e.numbers(v.Addr().UnsafePointer(), v.Len(), n)
	}
	elements := func() error {
		e.head(majorArray, uint64(v.Len()))
		for i := range v.Len() {
			if err := e.value(v.Index(i)); err != nil {
				return atIndex(err, i)
			}
		}
		return nil
	}
	if v.Len() > maxItems {
		return fmt.Errorf("%d elements are more than the %d that can travel in one %s; part them", v.Len(), maxItems, v.Kind())
	}
	return e.nested(func() error {
		if slice && v.Len() > 0 {
			return e.once(v, reference{v.UnsafePointer(), v.Len(), v.Type()}, elements)
		}
		return elements()
	})
}

// once runs f for the parts of v, a slice or map, unless v is a part of itself.
func (e *encoder) once(v reflect.Value, r reference, f func() error) error {
	if !e.catalog.loops(v.Type()) {
		return f()
	}
	if e.active[r] {
		return errLoop
	}
	e.active[r] = true
	err := f()
	delete(e.active, r)
	return err
}

var errLoop = errors.New("the value contains itself here; a cycle cannot travel")

func (e *encoder) structure(v reflect.Value) error {
	t := v.Type()
	e.head(majorArray, uint64(t.NumField()))
	for i := range t.NumField() {
		if err := e.value(field(v, i)); err != nil {
			return at(err, "."+t.Field(i).Name)
		}
	}
	return nil
}

func (e *encoder) pointer(v reflect.Value) error {
	if v.IsNil() {
		e.run = append(e.run, byteNull)
		return nil
	}
	r := reference{memory: v.UnsafePointer(), typ: v.Type().Elem()}
	if s := e.pointers[r]; s != nil {
		if !s.done {
			return errLoop
		}
		e.head(majorTag, tagShared)
		e.head(majorUnsigned, s.index)
		return nil
	}
	s := &seen{index: uint64(len(e.pointers))}
	if e.pointers == nil {
		e.pointers = map[reference]*seen{}
	}
	e.pointers[r] = s
	e.head(majorTag, tagShareable)
	if err := e.value(v.Elem()); err != nil {
		return err
	}
	s.done = true
	return nil
}

func (e *encoder) iface(v reflect.Value) error {
	if e.isNil(v) {
		e.run = append(e.run, byteNull)
		return nil
	}
	var name string
	var concrete reflect.Value
	err := guard("finding the dynamic type", func() (err error) {
		name, concrete, err = e.catalog.types.Name(v)
		return err
	})
	if err != nil {
		return err
	}
	if !concrete.IsValid() {
		return fmt.Errorf("the dynamic type %q came without a value", name)
	}
	if concrete, err = addressable(concrete); err != nil {
		return err
	}
	e.head(majorArray, 2)
	if err := e.basic(reflect.ValueOf(name)); err != nil {
		return err
	}
	step := ".(" + name + ")"
	if err := e.value(concrete); err != nil {
		return at(err, step)
	}
	if err := e.catalog.travels(concrete.Type()); err != nil {
		return at(err, step)
	}
	return nil
}

func (e *encoder) isNil(v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		return v.IsNil()
	}
	return e.catalog.boxer.IsNil(v)
}

// pairs are the pairs of a map, copied to where they have addresses.
type pairs struct {
	keys, elems reflect.Value // slices
	order       []entry
	encoded     []byte // the keys
}

// entry is one pair: its place in the slices, and its encoded key to sort by.
type entry struct{ place, start, end int }

func (p *pairs) key(n entry) []byte { return p.encoded[n.start:n.end] }

func (e *encoder) mapping(v reflect.Value) error {
	if v.Len() > maxItems {
		return fmt.Errorf("%d pairs are more than the %d that can travel in one map; part them", v.Len(), maxItems)
	}
	return e.once(v, reference{memory: v.UnsafePointer(), typ: v.Type()}, func() error {
		p, err := e.sorted(v)
		if err != nil {
			return err
		}
		e.head(majorMap, uint64(len(p.order)))
		resend := e.catalog.pointers(v.Type().Key())
		for _, n := range p.order {
			if resend {
				// Pointers are numbered in the order of the output, so such keys are encoded again, in place.
				err = e.value(p.keys.Index(n.place))
			} else {
				err = e.raw(slices.Clip(p.key(n)))
			}
			if err != nil {
				return at(err, "[key]")
			}
			if err := e.value(p.elems.Index(n.place)); err != nil {
				return at(err, "["+keyText(p.keys.Index(n.place))+"]")
			}
		}
		return nil
	})
}

// sorted gives the pairs of the map v in the order of their encoded keys.
func (e *encoder) sorted(v reflect.Value) (*pairs, error) {
	t, size := v.Type(), v.Len()
	p := &pairs{
		keys:  reflect.MakeSlice(reflect.SliceOf(t.Key()), size, size),
		elems: reflect.MakeSlice(reflect.SliceOf(t.Elem()), size, size),
		order: make([]entry, 0, size),
	}
	k := e.scratch()
	for iter := v.MapRange(); iter.Next(); {
		n := entry{place: len(p.order), start: len(k.run)}
		if n.place == size {
			return nil, errors.New("the map grew while it was encoded; it must not change meanwhile")
		}
		p.keys.Index(n.place).SetIterKey(iter)
		p.elems.Index(n.place).SetIterValue(iter)
		clear(k.pointers) // each key by itself, or its bytes would depend on the keys before it
		if err := k.value(p.keys.Index(n.place)); err != nil {
			return nil, at(err, "[key]")
		}
		n.end = len(k.run)
		p.order = append(p.order, n)
	}
	p.encoded = k.run
	var failed error
	slices.SortFunc(p.order, func(a, b entry) int {
		if c := bytes.Compare(p.key(a), p.key(b)); c != 0 || a.place == b.place {
			return c
		}
		// Keys can be encoded alike and yet differ: NaNs, or pointers. Their elements then decide, so that the order
		// still does not depend on the map's.
		c, err := e.compare(p.elems.Index(a.place), p.elems.Index(b.place))
		failed = errors.Join(failed, err)
		return c
	})
	return p, failed
}

// compare gives the order of two values by their encoding.
func (e *encoder) compare(a, b reflect.Value) (int, error) {
	sa, sb := e.scratch(), e.scratch()
	if err := errors.Join(sa.value(a), sb.value(b)); err != nil {
		return 0, err
	}
	return bytes.Compare(sa.run, sb.run), nil
}

// keyText names a map key in a path.
func keyText(k reflect.Value) string {
	switch {
	case k.Kind() == reflect.String:
		const longest = 40
		s := k.String()
		if len(s) > longest {
			s = s[:longest] + "…"
		}
		return fmt.Sprintf("%q", s)
	case k.CanInt(), k.CanUint(), k.CanFloat(), k.Kind() == reflect.Bool:
		return fmt.Sprint(k)
	}
	return shortType(k.Type())
}
