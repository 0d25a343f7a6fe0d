package forge

import (
	"encoding/binary"
	"reflect"
	"unsafe"
)

// The structures below are those of internal/abi, which the toolchain keeps to itself. A test holds them to what
// package reflect makes of them.

type rtype struct {
	size, ptrBytes    uintptr
	hash              uint32
	tflag             uint8
	align, fieldAlign uint8
	kind              uint8
	equal             func(unsafe.Pointer, unsafe.Pointer) bool
	gcData            *byte
	str, ptrToThis    int32
}

const (
	flagUncommon  = 1 << 0
	flagExtraStar = 1 << 1
	flagNamed     = 1 << 2
	flagDirect    = 1 << 5
)

type uncommon struct {
	pkgPath        int32
	mcount, xcount uint16
	moff           uint32
	_              uint32
}

type method struct{ name, mtyp, ifn, tfn int32 }

type imethod struct{ name, typ int32 }

type structField struct {
	name   *byte
	typ    *rtype
	offset uintptr
}

type structType struct {
	rtype
	pkgPath *byte
	fields  []structField
}

type ptrType struct {
	rtype
	elem *rtype
}

type arrayType struct {
	rtype
	elem, slice *rtype
	len         uintptr
}

type chanType struct {
	rtype
	elem *rtype
	dir  int
}

type mapType struct {
	rtype
	key, elem, group             *rtype
	hasher                       func(unsafe.Pointer, uintptr) uintptr
	groupSize, slotSize, elemOff uintptr
	flags                        uint32
}

type funcType struct {
	rtype
	in, out uint16
}

type interfaceType struct {
	rtype
	pkgPath *byte
	methods []imethod
}

const maxMethods = 256

type methods [maxMethods]method

// The blocks are types with all that belongs to them: method tables have room for methods that are declared later.
type (
	basicBlock struct {
		rtype
		u uncommon
		m methods
	}
	structBlock struct {
		structType
		u uncommon
		m methods
	}
	ptrBlock struct {
		ptrType
		u uncommon
		m methods
	}
	arrayBlock struct {
		arrayType
		u uncommon
		m methods
	}
	chanBlock struct {
		chanType
		u uncommon
		m methods
	}
	mapBlock struct {
		mapType
		u uncommon
		m methods
	}
	funcBlock struct {
		funcType
		u      uncommon
		params [128]*rtype
		m      methods
	}
	interfaceBlock struct {
		interfaceType
		u uncommon
	}
)

//go:linkname addReflectOff reflect.addReflectOff
func addReflectOff(ptr unsafe.Pointer) int32

// The first offset that the runtime gives out may be one that means something else to it.
var _ = addReflectOff(unsafe.Pointer(new([8]byte)))

func ptrOf(t reflect.Type) *rtype {
	return (*rtype)((*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1])
}

// typeOf gives the reflect.Type of a structure.
func typeOf(t *rtype) reflect.Type {
	var v any
	(*[2]unsafe.Pointer)(unsafe.Pointer(&v))[0] = unsafe.Pointer(t)
	return reflect.TypeOf(v)
}

// encodeName writes a name as the runtime reads it.
func encodeName(name, tag string, exported, embedded bool) *byte {
	var flags byte
	if exported {
		flags |= 1 << 0
	}
	if tag != "" {
		flags |= 1 << 1
	}
	if embedded {
		flags |= 1 << 3
	}
	b := binary.AppendUvarint([]byte{flags}, uint64(len(name)))
	b = append(b, name...)
	if tag != "" {
		b = append(binary.AppendUvarint(b, uint64(len(tag))), tag...)
	}
	return unsafe.SliceData(b)
}

func nameOff(name string, exported bool) int32 {
	return addReflectOff(unsafe.Pointer(encodeName(name, "", exported, false)))
}

func typeOff(t *rtype) int32 { return addReflectOff(unsafe.Pointer(t)) }
