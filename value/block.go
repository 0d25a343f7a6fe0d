package value

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unsafe"
)

// Blocks: slices and arrays of numbers as RFC 8746 typed arrays, which lie in the bytes as they lie in memory.

// class is the kind of number in a block.
type class byte

const (
	unsigned class = iota
	signed
	float
	complexPair
)

func (c class) String() string {
	return [...]string{"unsigned integers", "signed integers", "floats", "complex numbers"}[c&3]
}

// number is how one number lies in a block. Size 0 stands for no number at all.
type number struct {
	class  class
	size   int // bytes
	little bool
}

func (n number) String() string { return fmt.Sprintf("%d-bit %s", n.size*8, n.class) }

// hostLittle is the byte order of this machine.
var hostLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

func numberOf(t reflect.Type) number {
	size := int(t.Size())
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return number{signed, size, hostLittle}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return number{unsigned, size, hostLittle}
	case reflect.Float32, reflect.Float64:
		return number{float, size, hostLittle}
	case reflect.Complex64, reflect.Complex128:
		return number{complexPair, size, hostLittle}
	}
	return number{}
}

// Tags of RFC 8746 and, for complex numbers, of the registry entry that builds on it.
const (
	tagComplex       = 43000
	tagComplexArray  = 43001
	tagUint8Clamped  = 68
	tagFirstTyped    = 64
	tagLastTyped     = 87
	bitFloat         = 16
	bitSigned        = 8
	bitLittle        = 4
	maskLength       = 3
	smallestFloatLog = 1 // float16
)

// tag gives n's tag: the bits 010 f s e ll, for float, signed, little endian and the length's logarithm.
func (n number) tag() uint64 {
	log := uint64(0)
	for s := n.size; s > 1; s >>= 1 {
		log++
	}
	t := uint64(tagFirstTyped)
	switch n.class {
	case signed:
		t |= bitSigned
	case float:
		t |= bitFloat
		log -= smallestFloatLog
	}
	if n.little && n.size > 1 {
		t |= bitLittle
	}
	return t | log
}

// numberFromTag is the inverse of tag, for every typed array that some machine may have written.
func numberFromTag(t uint64) (number, error) {
	if t < tagFirstTyped || t > tagLastTyped {
		return number{}, fmt.Errorf("expected a typed array of numbers, found a value with tag %d", t)
	}
	if t == tagUint8Clamped {
		return number{unsigned, 1, true}, nil
	}
	n := number{class: unsigned, size: 1 << (t & maskLength), little: t&bitLittle != 0}
	switch {
	case t&bitFloat != 0:
		n.class, n.size = float, n.size<<smallestFloatLog
		if n.size != 4 && n.size != 8 {
			return number{}, fmt.Errorf("found a typed array of %d-bit floats, which Go does not have", n.size*8)
		}
	case t&bitSigned != 0:
		n.class = signed
	}
	return n, nil
}

// half is the number that a complex number is made of two of.
func (n number) half() number { return number{float, n.size / 2, n.little} }

// numbers writes the count numbers at p.
func (e *encoder) numbers(p unsafe.Pointer, count int, n number) error {
	memory := unsafe.Slice((*byte)(p), count*n.size)
	switch {
	case n.class == complexPair:
		e.head(majorTag, tagComplexArray)
		e.head(majorTag, n.half().tag())
	case n.class != unsigned || n.size > 1:
		e.head(majorTag, n.tag())
	}
	e.head(majorBytes, uint64(len(memory)))
	return e.raw(memory)
}

// block is a typed array found in the input.
type block struct {
	number
	data []byte
}

func (b block) count() int { return len(b.data) / b.size }

// block reads the typed array at the decoder's place. found is false when a plain array is there instead.
func (d *decoder) block(want number) (b block, found bool, err error) {
	h, size, err := d.peek()
	if err != nil || h.major == majorArray {
		return block{}, false, err
	}
	d.off += size
	b.number = number{unsigned, 1, true}
	switch {
	case h.major == majorBytes:
		if want.class != unsigned || want.size != 1 {
			return block{}, false, fmt.Errorf("expected a typed array of %s, found bare bytes", want)
		}
		b.data, err = d.take(h.arg)
		return b, true, err
	case h.major != majorTag:
		return block{}, false, mismatch("a typed array of numbers", h)
	}
	pairs := h.arg == tagComplexArray
	if pairs {
		if h.arg, err = d.expect(majorTag, "a typed array of numbers"); err != nil {
			return block{}, false, err
		}
	}
	if b.number, err = numberFromTag(h.arg); err != nil {
		return block{}, false, err
	}
	if pairs {
		if b.class != float {
			return block{}, false, fmt.Errorf("expected complex numbers of floats, found pairs of %s", b.number)
		}
		b.class, b.size = complexPair, 2*b.size
	}
	n, err := d.expect(majorBytes, "the bytes of a typed array")
	if err != nil {
		return block{}, false, err
	}
	if n%uint64(b.size) != 0 {
		return block{}, false, fmt.Errorf("a typed array of %s has %d bytes, which is not a whole number of them", b.number, n)
	}
	b.data, err = d.take(n)
	return b, true, err
}

// copyTo writes the block's numbers into dst, a slice or array of as many numbers of the form want.
func (b block) copyTo(dst reflect.Value, p unsafe.Pointer, want number) error {
	if b.class == want.class && b.size == want.size {
		memory := unsafe.Slice((*byte)(p), len(b.data))
		copy(memory, b.data)
		if b.little != want.little && b.size > 1 {
			unit := b.size
			if b.class == complexPair {
				unit /= 2
			}
			for c := range slices.Chunk(memory, unit) {
				slices.Reverse(c)
			}
		}
		return nil
	}
	for i := range b.count() {
		if err := b.convert(dst.Index(i), b.data[i*b.size:(i+1)*b.size], want); err != nil {
			return atIndex(err, i)
		}
	}
	return nil
}

// convert sets dst, a number of the form want, from one of another form, if that loses nothing.
func (b block) convert(dst reflect.Value, raw []byte, want number) error {
	if b.class == float && want.class == float && b.size < want.size {
		dst.SetFloat(float64(math.Float32frombits(uint32(b.bits(raw)))))
		return nil
	}
	if b.class >= float || want.class >= float {
		return fmt.Errorf("expected %s, found %s", want, b.number)
	}
	u := b.bits(raw)
	if b.class == signed {
		// Bring the sign bit of the narrow number to the top.
		if i := int64(u<<(64-8*b.size)) >> (64 - 8*b.size); i < 0 {
			return setInteger(dst, true, uint64(^i))
		}
	}
	return setInteger(dst, false, u)
}

// bits gives the number in raw as an unsigned one.
func (b block) bits(raw []byte) uint64 {
	var buf [8]byte
	if b.little {
		copy(buf[:], raw)
		return binary.LittleEndian.Uint64(buf[:])
	}
	copy(buf[8-len(raw):], raw)
	return binary.BigEndian.Uint64(buf[:])
}

// setInteger sets dst, of an integer kind, to n, or to -1-n if negative, if its type holds that.
func setInteger(dst reflect.Value, negative bool, n uint64) error {
	if dst.CanInt() {
		i := int64(n)
		if negative {
			i = ^i
		}
		if n <= math.MaxInt64 && !dst.OverflowInt(i) {
			dst.SetInt(i)
			return nil
		}
	} else if !negative && !dst.OverflowUint(n) {
		dst.SetUint(n)
		return nil
	}
	if negative {
		return fmt.Errorf("-%d does not fit into %s", saturate(n, 1), article(dst.Kind().String()))
	}
	return fmt.Errorf("%d does not fit into %s", n, article(dst.Kind().String()))
}
