package value

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// Types lets an evaluator tell the dynamic types of interface values apart: its types have no names that reflect
// could give. It is asked about every interface value, error values among them, on both sides.
//
// Builtin is an implementation for plain Go programs; others can hand on to it what they do not know better.
type Types interface {
	// Name gives the travelling name of the dynamic type of v, a value of interface type that is not nil, and the
	// concrete value inside, which is then encoded by its own type.
	Name(v reflect.Value) (name string, concrete reflect.Value, err error)
	// New gives the type that name stands for on this side; a value of it is then decoded. The interface that it
	// is for has type iface. The name comes from the bytes, so it can be anything.
	New(name string, iface reflect.Type) (reflect.Type, error)
	// Store gives the interface value, assignable to iface, that holds the decoded concrete value.
	Store(name string, concrete reflect.Value, iface reflect.Type) (reflect.Value, error)
}

// Boxer is a Types of an evaluator that keeps some interface values in boxes: types that reflect takes for something
// else than an interface. Boxes are then treated as interfaces, and Name, New and Store see the box as v and iface.
type Boxer interface {
	Types
	// IsBox reports whether values of type t are interface values.
	IsBox(t reflect.Type) bool
	// IsNil reports whether v, of such a type, is the nil interface value.
	IsNil(v reflect.Value) bool
}

// role is how values of a type travel.
type role byte

const (
	byKind   role = iota
	dynamic       // an interface, or a box that stands for one
	selfmade      // a standard library type that describes itself
	hidden        // a standard library type whose state nobody may look into
)

// info is what encoder and decoder need to know of a type.
type info struct {
	role role
	self *selfType // when role is selfmade
	// number tells how elements of this type lie in a block; its size is 0 when they are no numbers.
	number number
	// least is how many bytes an encoded value of this type takes at least.
	least uint64
	// loops and pointers are found when they are first asked for.
	loops, pointers answer
}

// answer is a bool that may not have been found yet.
type answer byte

const (
	unasked answer = iota
	no
	yes
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// catalog knows the types that one call met. An evaluator makes types without end, so nothing is kept between calls.
type catalog struct {
	types Types
	boxer Boxer // nil when types is none
	infos map[reflect.Type]*info
	fine  map[reflect.Type]bool // types that were found to travel
}

func newCatalog(t Types) *catalog {
	c := &catalog{types: t, infos: map[reflect.Type]*info{}, fine: map[reflect.Type]bool{}}
	c.boxer, _ = t.(Boxer)
	return c
}

func (c *catalog) info(t reflect.Type) *info {
	if i := c.infos[t]; i != nil {
		return i
	}
	i := &info{number: numberOf(t)}
	i.self = selfTypes[t]
	switch {
	case t.Kind() == reflect.Interface, c.boxer != nil && c.boxer.IsBox(t):
		i.role = dynamic
	case i.self != nil:
		i.role = selfmade
	case isHidden(t):
		i.role = hidden
	}
	i.least = c.least(t, i)
	c.infos[t] = i
	return i
}

// least computes info.least. It ends because a type can only hold itself behind a pointer, slice, map or interface,
// which take one byte when they are nil.
func (c *catalog) least(t reflect.Type, i *info) uint64 {
	if i.role != byKind {
		return 1
	}
	switch t.Kind() {
	case reflect.Array:
		elem := c.info(t.Elem())
		switch {
		case t.Elem().Size() == 0:
			return 1
		case elem.number.size > 0:
			return uint64(t.Len())
		}
		return multiply(uint64(t.Len()), elem.least)
	case reflect.Struct:
		sum := uint64(1)
		for f := range t.NumField() {
			sum = saturate(sum, c.info(t.Field(f).Type).least)
		}
		return sum
	}
	return 1
}

func saturate(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

func multiply(a, b uint64) uint64 {
	if b != 0 && a > math.MaxUint64/b {
		return math.MaxUint64
	}
	return a * b
}

// parts gives the types that values of type t are made of, when they travel by kind.
func parts(t reflect.Type) []reflect.Type {
	switch t.Kind() {
	case reflect.Array, reflect.Slice, reflect.Pointer:
		return []reflect.Type{t.Elem()}
	case reflect.Map:
		return []reflect.Type{t.Key(), t.Elem()}
	case reflect.Struct:
		fields := make([]reflect.Type, t.NumField())
		for i := range fields {
			fields[i] = t.Field(i).Type
		}
		return fields
	}
	return nil
}

// reaches reports whether a value of type t can hold a part of a type for which found says yes.
func (c *catalog) reaches(t reflect.Type, found func(reflect.Type, *info) bool) bool {
	seen := map[reflect.Type]bool{}
	var below func(reflect.Type) bool
	below = func(t reflect.Type) bool {
		if c.info(t).role != byKind {
			return false
		}
		for _, p := range parts(t) {
			if found(p, c.info(p)) {
				return true
			}
			if !seen[p] {
				seen[p] = true
				if below(p) {
					return true
				}
			}
		}
		return false
	}
	return below(t)
}

// loops reports whether a value of type t, a slice or map, can contain itself.
func (c *catalog) loops(t reflect.Type) bool {
	i := c.info(t)
	if i.loops == unasked {
		i.loops = answerOf(c.reaches(t, func(p reflect.Type, pi *info) bool { return p == t || pi.role == dynamic }))
	}
	return i.loops == yes
}

// pointers reports whether a value of type t can hold a pointer.
func (c *catalog) pointers(t reflect.Type) bool {
	i := c.info(t)
	if i.pointers == unasked {
		holds := func(p reflect.Type, pi *info) bool {
			return pi.role == dynamic || pi.role == byKind && p.Kind() == reflect.Pointer
		}
		i.pointers = answerOf(holds(t, i) || c.reaches(t, holds))
	}
	return i.pointers == yes
}

// travels is Travels, with a located error.
func (c *catalog) travels(t reflect.Type) error {
	if c.fine[t] {
		return nil
	}
	c.fine[t] = true // a type inside itself is as good as the rest of it
	if err := c.partsTravel(t); err != nil {
		delete(c.fine, t)
		return err
	}
	return nil
}

func (c *catalog) partsTravel(t reflect.Type) error {
	switch c.info(t).role {
	case dynamic, selfmade:
		return nil
	case hidden:
		return hiddenError(t)
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return refuse(t)
	case reflect.Array:
		if t.Len() == 0 {
			return nil // nothing of the element type is there
		}
		return step(c.travels(t.Elem()), "[]")
	case reflect.Slice:
		return step(c.travels(t.Elem()), "[]")
	case reflect.Pointer:
		return c.travels(t.Elem())
	case reflect.Map:
		if err := c.travels(t.Key()); err != nil {
			return at(err, "[key]")
		}
		return step(c.travels(t.Elem()), "[]")
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if err := c.travels(f.Type); err != nil {
				return at(err, "."+f.Name)
			}
		}
	}
	return nil
}

func step(err error, s string) error {
	if err == nil {
		return nil
	}
	return at(err, s)
}

// refuse is the error for a kind that cannot travel.
func refuse(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Chan:
		return errors.New("a channel cannot travel")
	case reflect.Func:
		return errors.New("a function value cannot travel; name a declared function instead, its source comes along")
	case reflect.UnsafePointer:
		return errors.New("an unsafe.Pointer cannot travel")
	}
	return fmt.Errorf("a value of type %s cannot travel", shortType(t))
}

func hiddenError(t reflect.Type) error {
	if t.PkgPath() == "sync" || t.PkgPath() == "sync/atomic" {
		return fmt.Errorf("%s cannot travel: it guards memory of this process; keep it outside of what travels", article(t.String()))
	}
	return fmt.Errorf("%s cannot travel: its state is hidden and it has no form to be sent in", article(t.String()))
}

// isHidden reports whether t is a struct of the standard library with unexported fields. Those of other packages are
// data: the notebook's own types, or a Go program's, whose bytes come from the same declaration.
func isHidden(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || !isStandard(t.PkgPath()) {
		return false
	}
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			return true
		}
	}
	return false
}

// standardRoots are the first elements of the standard library's import paths. The usual test, that such an element
// has no dot, also fits a user's module named without one.
var standardRoots = func() map[string]bool {
	roots := map[string]bool{}
	for _, r := range strings.Fields(`archive bufio bytes cmp compress container context crypto database debug
		embed encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path
		plugin reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique
		unsafe vendor weak`) {
		roots[r] = true
	}
	return roots
}()

func isStandard(path string) bool {
	root, _, _ := strings.Cut(path, "/")
	return standardRoots[root]
}
