package value

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
	"unicode/utf8"
)

// longestName bounds the name of a dynamic type.
const longestName = 16 << 10

// shareable is a pointer that a later tagShared can name.
type shareable struct {
	pointer reflect.Value
	done    bool // false while its pointee is being decoded
}

// decoder reads one value out of data, which is known to be well-formed.
type decoder struct {
	data    []byte
	off     int
	o       Options
	catalog *catalog
	depth   int
	shared  []shareable
	places  map[string]*time.Location // found for times so far; nil where this machine does not know the name
	zones   map[zone]*time.Location   // made for times so far
	regexps int                       // size of all the regular expressions so far
}

func newDecoder(data []byte, o Options) *decoder {
	return &decoder{
		data: data, o: o, catalog: newCatalog(o.Types),
		places: map[string]*time.Location{}, zones: map[zone]*time.Location{},
	}
}

// value sets dst, which is settable, to the value at the decoder's place. Nothing of what dst held stays.
func (d *decoder) value(dst reflect.Value) error {
	i := d.catalog.info(dst.Type())
	switch i.role {
	case dynamic:
		return d.nested(func() error { return d.iface(dst) })
	case selfmade:
		return i.self.decode(d, dst)
	case hidden:
		return hiddenError(dst.Type())
	}
	switch dst.Kind() {
	case reflect.Bool:
		return d.boolean(dst)
	case reflect.String:
		s, err := d.text()
		if err == nil {
			dst.SetString(s)
		}
		return err
	case reflect.Slice:
		return d.slice(dst)
	case reflect.Array:
		return d.array(dst)
	case reflect.Map:
		return d.nested(func() error { return d.mapping(dst) })
	case reflect.Struct:
		return d.nested(func() error { return d.structure(dst) })
	case reflect.Pointer:
		return d.nested(func() error { return d.pointer(dst) })
	}
	if i.number.size > 0 {
		return d.scalar(dst)
	}
	return refuse(dst.Type())
}

func (d *decoder) nested(f func() error) error {
	if d.depth >= d.o.MaxDepth {
		return tooDeep(d.o.MaxDepth)
	}
	d.depth++
	err := f()
	d.depth--
	return err
}

func (d *decoder) boolean(dst reflect.Value) error {
	h, err := d.next()
	if err != nil {
		return err
	}
	switch h.info | byte(h.major)<<5 {
	case byteFalse:
		dst.SetBool(false)
	case byteTrue:
		dst.SetBool(true)
	default:
		return mismatch("a bool", h)
	}
	return nil
}

// text reads a string in either form.
func (d *decoder) text() (string, error) {
	h, err := d.next()
	if err != nil {
		return "", err
	}
	if h.major != majorText && h.major != majorBytes {
		return "", mismatch("a string", h)
	}
	b, err := d.take(h.arg)
	if err != nil {
		return "", err
	}
	if h.major == majorText && !utf8.Valid(b) {
		return "", errors.New("a text string is not UTF-8")
	}
	return string(b), nil
}

func (d *decoder) scalar(dst reflect.Value) error {
	switch {
	case dst.CanFloat():
		f, err := d.float(dst.Type().Size())
		if err == nil {
			dst.SetFloat(f)
		}
		return err
	case dst.CanComplex():
		return d.complex(dst)
	}
	h, err := d.next()
	if err != nil {
		return err
	}
	if h.major != majorUnsigned && h.major != majorNegative {
		return mismatch(article(dst.Kind().String()), h)
	}
	return setInteger(dst, h.major == majorNegative, h.arg)
}

func (d *decoder) float(size uintptr) (float64, error) {
	h, err := d.next()
	switch {
	case err != nil:
		return 0, err
	case h.major == majorSimple && h.info == arg32:
		return float64(math.Float32frombits(uint32(h.arg))), nil
	case h.major == majorSimple && h.info == arg64 && size == 8:
		return math.Float64frombits(h.arg), nil
	}
	return 0, mismatch(fmt.Sprintf("a float%d", size*8), h)
}

func (d *decoder) complex(dst reflect.Value) error {
	const what = "a complex number"
	tag, err := d.expect(majorTag, what)
	if err != nil {
		return err
	}
	n, err := d.expect(majorArray, what)
	if err != nil {
		return err
	}
	if tag != tagComplex || n != 2 {
		return fmt.Errorf("expected %s, found an array of %d with tag %d", what, n, tag)
	}
	re, err := d.float(dst.Type().Size() / 2)
	if err != nil {
		return err
	}
	im, err := d.float(dst.Type().Size() / 2)
	if err != nil {
		return err
	}
	dst.SetComplex(complex(re, im))
	return nil
}

func (d *decoder) slice(dst reflect.Value) error {
	if null, err := d.null(); null || err != nil {
		dst.SetZero()
		return err
	}
	t := dst.Type()
	i := d.catalog.info(t.Elem())
	if t.Elem().Size() == 0 {
		n, err := d.expect(majorUnsigned, "a count of elements without size")
		if err != nil {
			return err
		}
		if n > math.MaxInt {
			return fmt.Errorf("a slice of %d elements is longer than Go allows", n)
		}
		dst.Set(reflect.MakeSlice(t, int(n), int(n)))
		return nil
	}
	if i.number.size > 0 {
		b, found, err := d.block(i.number)
		if err != nil {
			return err
		}
		if found {
			fresh := reflect.MakeSlice(t, b.count(), b.count())
			if err := b.copyTo(fresh, fresh.UnsafePointer(), i.number); err != nil {
				return err
			}
			dst.Set(fresh)
			return nil
		}
	}
	return d.nested(func() error {
		n, err := d.items(majorArray, "an array", i.least)
		if err != nil {
			return err
		}
		dst.Set(reflect.MakeSlice(t, n, n))
		return d.elements(dst)
	})
}

func (d *decoder) array(dst reflect.Value) error {
	elem := dst.Type().Elem()
	if elem.Size() == 0 {
		n, err := d.expect(majorUnsigned, "a count of elements without size")
		if err != nil {
			return err
		}
		return sameLength(dst, n)
	}
	i := d.catalog.info(elem)
	if i.number.size > 0 {
		b, found, err := d.block(i.number)
		if err != nil {
			return err
		}
		if found {
			if err := sameLength(dst, uint64(b.count())); err != nil {
				return err
			}
			return b.copyTo(dst, dst.Addr().UnsafePointer(), i.number)
		}
	}
	return d.nested(func() error {
		n, err := d.items(majorArray, "an array", i.least)
		if err != nil {
			return err
		}
		if err := sameLength(dst, uint64(n)); err != nil {
			return err
		}
		return d.elements(dst)
	})
}

func sameLength(dst reflect.Value, n uint64) error {
	if n != uint64(dst.Len()) {
		return fmt.Errorf("expected %d elements, found %d", dst.Len(), n)
	}
	return nil
}

func (d *decoder) elements(dst reflect.Value) error {
	for i := range dst.Len() {
		if err := d.value(dst.Index(i)); err != nil {
			return atIndex(err, i)
		}
	}
	return nil
}

// items reads the head of an array or map, and checks that as many items as it announces, of at least least bytes
// each, can be in the rest of the input: they are given memory before they are read.
func (d *decoder) items(m major, what string, least uint64) (int, error) {
	n, err := d.expect(m, what)
	if err != nil {
		return 0, err
	}
	if multiply(n, least) > uint64(d.left()) {
		return 0, fmt.Errorf("%d items of at least %d bytes are announced where %d bytes are left", n, least, d.left())
	}
	return int(n), nil
}

func (d *decoder) structure(dst reflect.Value) error {
	t := dst.Type()
	n, err := d.expect(majorArray, "the fields of a struct")
	if err != nil {
		return err
	}
	if n != uint64(t.NumField()) {
		return fmt.Errorf("the struct has %d fields here, the input has %d; both sides must have the same declaration", t.NumField(), n)
	}
	for i := range t.NumField() {
		if err := d.value(field(dst, i)); err != nil {
			return at(err, "."+t.Field(i).Name)
		}
	}
	return nil
}

func (d *decoder) mapping(dst reflect.Value) error {
	if null, err := d.null(); null || err != nil {
		dst.SetZero()
		return err
	}
	t := dst.Type()
	n, err := d.items(majorMap, "a map", saturate(d.catalog.info(t.Key()).least, d.catalog.info(t.Elem()).least))
	if err != nil {
		return err
	}
	m := reflect.MakeMapWithSize(t, n)
	key, elem := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	dubious := d.catalog.pointers(t.Key()) // only what an interface holds can turn out to be no key
	for i := range n {
		if err := d.value(key); err != nil {
			return at(err, fmt.Sprintf("[key %d]", i))
		}
		if dubious && !key.Comparable() {
			return at(errors.New("a slice, map or function inside an interface cannot be a map key"), fmt.Sprintf("[key %d]", i))
		}
		if err := d.value(elem); err != nil {
			return at(err, "["+keyText(key)+"]")
		}
		m.SetMapIndex(key, elem)
		if m.Len() != i+1 {
			return fmt.Errorf("the key %s comes twice", keyText(key))
		}
	}
	dst.Set(m)
	return nil
}

func (d *decoder) pointer(dst reflect.Value) error {
	if null, err := d.null(); null || err != nil {
		dst.SetZero()
		return err
	}
	h, err := d.next()
	if err != nil {
		return err
	}
	switch {
	case h.major == majorTag && h.arg == tagShareable:
		p := reflect.New(dst.Type().Elem())
		index := len(d.shared)
		d.shared = append(d.shared, shareable{pointer: p})
		if err := d.value(p.Elem()); err != nil {
			return err
		}
		d.shared[index].done = true
		dst.Set(p.Convert(dst.Type()))
		return nil
	case h.major == majorTag && h.arg == tagShared:
		return d.again(dst)
	}
	return mismatch("a pointer", h)
}

// again sets dst to a pointer that was met before.
func (d *decoder) again(dst reflect.Value) error {
	index, err := d.expect(majorUnsigned, "the index of a pointer")
	if err != nil {
		return err
	}
	if index >= uint64(len(d.shared)) {
		return fmt.Errorf("pointer %d is referred to, but only %d came before", index, len(d.shared))
	}
	s := d.shared[index]
	if !s.done {
		return errLoop
	}
	if !s.pointer.CanConvert(dst.Type()) {
		return fmt.Errorf("expected a pointer of type %s, found one of type %s that came before",
			shortType(dst.Type()), shortType(s.pointer.Type()))
	}
	dst.Set(s.pointer.Convert(dst.Type()))
	return nil
}

func (d *decoder) iface(dst reflect.Value) error {
	if null, err := d.null(); null || err != nil {
		dst.SetZero()
		return err
	}
	n, err := d.expect(majorArray, "an interface's type name and value")
	if err != nil {
		return err
	}
	if n != 2 {
		return fmt.Errorf("expected an interface's type name and value, found an array of %d", n)
	}
	name, err := d.text()
	if err != nil {
		return err
	}
	if len(name) > longestName {
		return fmt.Errorf("the name of a dynamic type has %d bytes, the limit is %d", len(name), longestName)
	}
	concrete, err := d.concrete(name, dst.Type())
	if err != nil {
		return err
	}
	return guard("storing a decoded value in an interface", func() error {
		stored, err := d.catalog.types.Store(name, concrete, dst.Type())
		if err != nil {
			return err
		}
		if !stored.IsValid() || !stored.Type().AssignableTo(dst.Type()) {
			return fmt.Errorf("a value of type %q cannot be held by %s", name, shortType(dst.Type()))
		}
		dst.Set(stored)
		return nil
	})
}

// concrete decodes the value in an interface.
func (d *decoder) concrete(name string, iface reflect.Type) (reflect.Value, error) {
	var t reflect.Type
	err := guard("finding the type of a decoded value", func() (err error) {
		t, err = d.catalog.types.New(name, iface)
		return err
	})
	if err == nil && t == nil {
		err = fmt.Errorf("no type is known here by the name %q", name)
	}
	if err != nil {
		return reflect.Value{}, err
	}
	step := ".(" + name + ")"
	if err := d.catalog.travels(t); err != nil {
		return reflect.Value{}, at(err, step)
	}
	if least := d.catalog.info(t).least; least > uint64(d.left()) {
		return reflect.Value{}, at(fmt.Errorf("it takes at least %d bytes, and %d are left", least, d.left()), step)
	}
	c := reflect.New(t).Elem()
	if err := d.value(c); err != nil {
		return reflect.Value{}, at(err, step)
	}
	return c, nil
}
