package value

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// The head of a CBOR item: its major type and its argument. The library encodes whole values into memory of its own,
// which would cost a second copy of every block of numbers, so the heads are written and read here; whether an input
// is well-formed is left to the library.

type major byte

const (
	majorUnsigned major = iota
	majorNegative
	majorBytes
	majorText
	majorArray
	majorMap
	majorTag
	majorSimple
)

// Initial bytes of the simple values and floats in use.
const (
	byteFalse   = 0xf4
	byteTrue    = 0xf5
	byteNull    = 0xf6
	byteFloat32 = 0xfa
	byteFloat64 = 0xfb
)

// Additional information: which argument follows the initial byte.
const (
	arg8  = 24
	arg16 = 25
	arg32 = 26
	arg64 = 27
)

func (m major) String() string {
	names := [...]string{
		"an unsigned integer", "a negative integer", "a byte string", "a text string",
		"an array", "a map", "a tagged value", "a simple value",
	}
	return names[m&7]
}

// appendHead appends the shortest head of type m with argument n.
func appendHead(b []byte, m major, n uint64) []byte {
	top := byte(m) << 5
	switch {
	case n < arg8:
		return append(b, top|byte(n))
	case n <= math.MaxUint8:
		return append(b, top|arg8, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, top|arg16), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, top|arg32), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, top|arg64), n)
}

// appendInt appends a signed integer.
func appendInt(b []byte, i int64) []byte {
	if i < 0 {
		return appendHead(b, majorNegative, uint64(^i))
	}
	return appendHead(b, majorUnsigned, uint64(i))
}

// head is one head that was read: for majorSimple, info tells null and bools from the floats, whose bits are in arg.
type head struct {
	major major
	info  byte
	arg   uint64
}

func (h head) isNull() bool { return h.major == majorSimple && h.info == byteNull&31 }

// String says what the item is, for an error.
func (h head) String() string {
	if h.major != majorSimple {
		if h.major == majorTag {
			return fmt.Sprintf("a value with tag %d", h.arg)
		}
		return h.major.String()
	}
	switch h.info | byte(majorSimple)<<5 {
	case byteFalse, byteTrue:
		return "a bool"
	case byteNull:
		return "null"
	case byteFloat32:
		return "a float32"
	case byteFloat64:
		return "a float64"
	}
	return h.major.String()
}

// peek reads the head at the decoder's place without moving, and gives its length.
func (d *decoder) peek() (head, int, error) {
	rest := d.data[d.off:]
	if len(rest) == 0 {
		return head{}, 0, io.ErrUnexpectedEOF
	}
	h := head{major: major(rest[0] >> 5), info: rest[0] & 31}
	size := 1
	if h.info >= arg8 && h.info <= arg64 {
		size += 1 << (h.info - arg8)
	}
	if len(rest) < size {
		return head{}, 0, io.ErrUnexpectedEOF
	}
	switch {
	case h.info < arg8:
		h.arg = uint64(h.info)
	case h.info == arg8:
		h.arg = uint64(rest[1])
	case h.info == arg16:
		h.arg = uint64(binary.BigEndian.Uint16(rest[1:]))
	case h.info == arg32:
		h.arg = uint64(binary.BigEndian.Uint32(rest[1:]))
	case h.info == arg64:
		h.arg = binary.BigEndian.Uint64(rest[1:])
	default:
		return head{}, 0, fmt.Errorf("an item starts with the byte %#x, which has no fixed length", rest[0])
	}
	return h, size, nil
}

// next reads a head and moves behind it.
func (d *decoder) next() (head, error) {
	h, size, err := d.peek()
	d.off += size
	return h, err
}

// expect reads a head, which must be of type m, and gives its argument.
func (d *decoder) expect(m major, what string) (uint64, error) {
	h, err := d.next()
	if err != nil {
		return 0, err
	}
	if h.major != m {
		return 0, mismatch(what, h)
	}
	return h.arg, nil
}

// null reports whether a null is next, and moves behind it if so.
func (d *decoder) null() (bool, error) {
	h, size, err := d.peek()
	if err != nil || !h.isNull() {
		return false, err
	}
	d.off += size
	return true, nil
}

// take gives the next n bytes of the input, which still belong to it.
func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(d.left()) {
		return nil, fmt.Errorf("%d bytes are announced where %d are left: %w", n, d.left(), io.ErrUnexpectedEOF)
	}
	b := d.data[d.off : d.off+int(n)]
	d.off += int(n)
	return b, nil
}

func (d *decoder) left() int { return len(d.data) - d.off }

func mismatch(want string, got head) error {
	return fmt.Errorf("expected %s, found %s", want, got)
}
