package value

import (
	"encoding"
	"encoding/gob"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"regexp/syntax"
	"time"
)

// selfType is a standard library type with hidden state that travels in the form its own methods give.
type selfType struct {
	encode func(e *encoder, v reflect.Value) error
	decode func(d *decoder, dst reflect.Value) error
}

// selfTypes is the whole list of types whose methods decoding may call. A type joins it only when its unmarshalling
// method is sound against hostile input and does nothing else than fill the value in.
var selfTypes = map[reflect.Type]*selfType{
	reflect.TypeFor[time.Time]():      {encodeTime, decodeTime},
	reflect.TypeFor[url.URL]():        binaryForm[*url.URL](),
	reflect.TypeFor[netip.Addr]():     binaryForm[*netip.Addr](),
	reflect.TypeFor[netip.AddrPort](): binaryForm[*netip.AddrPort](),
	reflect.TypeFor[netip.Prefix]():   binaryForm[*netip.Prefix](),
	reflect.TypeFor[rand.PCG]():       binaryForm[*rand.PCG](),
	reflect.TypeFor[rand.ChaCha8]():   binaryForm[*rand.ChaCha8](),
	reflect.TypeFor[big.Int]():        gobForm[*big.Int](),
	reflect.TypeFor[big.Rat]():        gobForm[*big.Rat](),
	reflect.TypeFor[big.Float]():      gobForm[*big.Float](),
	reflect.TypeFor[regexp.Regexp]():  {encodeRegexp, decodeRegexp},
}

// form makes a selfType of the two methods of P, the pointer to the type.
func form[P any](marshal func(P) ([]byte, error), unmarshal func(P, []byte) error) *selfType {
	name := reflect.TypeFor[P]().Elem().String()
	return &selfType{
		encode: func(e *encoder, v reflect.Value) error {
			var b []byte
			err := guard("encoding a "+name, func() (err error) {
				b, err = marshal(v.Addr().Interface().(P))
				return err
			})
			if err != nil {
				return err
			}
			e.head(majorBytes, uint64(len(b)))
			return e.raw(b)
		},
		decode: func(d *decoder, dst reflect.Value) error {
			n, err := d.expect(majorBytes, "the encoded form of a "+name)
			if err != nil {
				return err
			}
			b, err := d.take(n)
			if err != nil {
				return err
			}
			dst.SetZero()
			return guard("decoding a "+name, func() error { return unmarshal(dst.Addr().Interface().(P), b) })
		},
	}
}

func binaryForm[P interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}]() *selfType {
	return form(P.MarshalBinary, P.UnmarshalBinary)
}

func gobForm[P interface {
	gob.GobEncoder
	gob.GobDecoder
}]() *selfType {
	return form(P.GobEncode, P.GobDecode)
}

// encodeTime writes the binary form, which has only the offset from UTC, and the location's name.
func encodeTime(e *encoder, v reflect.Value) error {
	t := *v.Addr().Interface().(*time.Time)
	b, err := t.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encoding a time: %w", err)
	}
	e.head(majorArray, 2)
	e.head(majorBytes, uint64(len(b)))
	e.run = append(e.run, b...)
	return e.basic(reflect.ValueOf(t.Location().String()))
}

func decodeTime(d *decoder, dst reflect.Value) error {
	n, err := d.expect(majorArray, "a time")
	if err != nil {
		return err
	}
	if n != 2 {
		return fmt.Errorf("expected a time's bytes and location, found an array of %d", n)
	}
	length, err := d.expect(majorBytes, "the bytes of a time")
	if err != nil {
		return err
	}
	b, err := d.take(length)
	if err != nil {
		return err
	}
	name, err := d.text()
	if err != nil {
		return err
	}
	if len(name) > longestName {
		return errors.New("the name of a time's location is too long")
	}
	var t time.Time
	if err := t.UnmarshalBinary(b); err != nil {
		return fmt.Errorf("decoding a time: %w", err)
	}
	dst.Set(reflect.ValueOf(d.inLocation(t, name)))
	return nil
}

// zone is a location that this machine does not know as the bytes tell of it.
type zone struct {
	name   string
	offset int
}

// inLocation gives t in the location of that name. Where this machine does not know it, or knows it with another
// offset from UTC, the offset is right and the name only a label. Local means another location on another machine,
// so there the offset alone counts; package time finds out by itself whether it is this machine's own.
func (d *decoder) inLocation(t time.Time, name string) time.Time {
	if name == "Local" || name == "UTC" {
		return t
	}
	_, offset := t.Zone()
	z := zone{name, offset}
	if loc := d.zones[z]; loc != nil {
		return t.In(loc)
	}
	known, asked := d.places[name]
	if !asked && name != "" {
		known, _ = time.LoadLocation(name) // nil when it is unknown
		d.places[name] = known
	}
	loc := time.FixedZone(name, offset)
	if known != nil {
		if _, there := t.In(known).Zone(); there == offset {
			return t.In(known)
		}
	}
	d.zones[z] = loc
	return t.In(loc)
}

// maxRegexps bounds the size of all regular expressions of one value, counted in instructions of their programs: a
// few bytes such as (a{900}){900} ask for a large one.
const maxRegexps = 1 << 20

func encodeRegexp(e *encoder, v reflect.Value) error {
	return e.basic(reflect.ValueOf(v.Addr().Interface().(*regexp.Regexp).String()))
}

func decodeRegexp(d *decoder, dst reflect.Value) error {
	text, err := d.text()
	if err != nil {
		return err
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return fmt.Errorf("decoding a regular expression: %w", err)
	}
	if d.regexps += instructions(tree); d.regexps > maxRegexps {
		return fmt.Errorf("decoding a regular expression: those of one value may compile to %d instructions in all", maxRegexps)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return fmt.Errorf("decoding a regular expression: %w", err)
	}
	// A copy is what the program's own assignment *a = *b would make; a compiled expression is never written to.
	dst.Set(reflect.ValueOf(re).Elem())
	return nil
}

// instructions estimates from above the size of the program for tree; more than maxRegexps is not told apart.
func instructions(tree *syntax.Regexp) int {
	n := 2 + len(tree.Rune)
	for _, sub := range tree.Sub {
		n += instructions(sub)
	}
	if tree.Op == syntax.OpRepeat {
		n *= max(tree.Min, tree.Max) + 1
	}
	return min(n, maxRegexps+1)
}
