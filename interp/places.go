package interp

import (
	"fmt"
	"go/token"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	yaegi "github.com/traefik/yaegi/interp"
)

// yaegi does not know where a panic happened: of each function that was running it names the first operation. So every
// operation that can panic gets a guard round it, which notes its place when a panic passes. A guard costs a few
// nanoseconds where an operation takes some tens, and what cannot panic (arithmetic, comparison, plain assignment) has
// none. As a panic unwinds, the guards of the calls on the way note theirs, innermost first: that is the stack.
//
// The generators of operations are functions in the nodes of yaegi's syntax tree, which it does not export. They are
// reached by the fields' names; a test holds them to what is expected here.

// closure has the shape of yaegi's bltn: it takes a frame and gives the next closure, both of types that are not
// exported and are pointers here.
type closure0 func(frame unsafe.Pointer) unsafe.Pointer

// nodeShape is where yaegi's node keeps what is needed here.
type nodeShape struct {
	child, pos, exec, gen, ident uintptr
	kind                         uintptr
	kindType                     reflect.Type
	ok                           bool
}

var shape = findShape()

func findShape() (s nodeShape) {
	f, ok := reflect.TypeOf(yaegi.Program{}).FieldByName("root")
	if !ok || f.Type.Kind() != reflect.Pointer {
		return s
	}
	node := f.Type.Elem()
	s.ok = true
	for name, at := range map[string]*uintptr{"child": &s.child, "pos": &s.pos, "exec": &s.exec, "gen": &s.gen, "ident": &s.ident} {
		f, ok := node.FieldByName(name)
		if !ok {
			s.ok = false
			return s
		}
		*at = f.Offset
	}
	if f, ok := node.FieldByName("kind"); ok {
		s.kind, s.kindType = f.Offset, f.Type
	}
	return s
}

// kindName gives what a node is, in yaegi's words.
func (s nodeShape) kindName(n unsafe.Pointer) string {
	if s.kindType == nil {
		return ""
	}
	if k, ok := reflect.NewAt(s.kindType, unsafe.Add(n, s.kind)).Elem().Interface().(fmt.Stringer); ok {
		return k.String()
	}
	return ""
}

func (s nodeShape) children(n unsafe.Pointer) []unsafe.Pointer {
	return *(*[]unsafe.Pointer)(unsafe.Add(n, s.child))
}

func (s nodeShape) position(n unsafe.Pointer) token.Pos { return *(*token.Pos)(unsafe.Add(n, s.pos)) }

func (s nodeShape) name(n unsafe.Pointer) string { return *(*string)(unsafe.Add(n, s.ident)) }

func (s nodeShape) generator(n unsafe.Pointer) *func(unsafe.Pointer) {
	return (*func(unsafe.Pointer))(unsafe.Add(n, s.gen))
}

func (s nodeShape) operation(n unsafe.Pointer) *closure0 { return (*closure0)(unsafe.Add(n, s.exec)) }

// guard puts guards into a compiled program, before it is executed for the first time.
func (e *Evaluator) guard(p *yaegi.Program, u *Unit) {
	root := reflect.ValueOf(p).Elem().FieldByName("root")
	if !shape.ok || !root.IsValid() || root.IsNil() {
		return
	}
	for _, decl := range shape.children(root.UnsafePointer()) {
		e.guardNode(decl, u, functionName(decl), false)
	}
}

// functionName gives the name of a function declaration's node, whose second child names it.
func functionName(decl unsafe.Pointer) string {
	if decl == nil {
		return ""
	}
	if c := shape.children(decl); len(c) == 4 && c[1] != nil {
		return shape.name(c[1])
	}
	return ""
}

func (e *Evaluator) guardNode(n unsafe.Pointer, u *Unit, fn string, inVar bool) {
	if n == nil {
		return
	}
	switch kind := shape.kindName(n); {
	case kind == "varDecl":
		inVar = true
	case kind == "funcLit" && inVar:
		return // its operations were made while it was compiled, and yaegi does not make them again
	}
	if gen := shape.generator(n); *gen != nil {
		if isRun(n) {
			unlockWhile(gen)
		}
		if shape.mayPanic(n) {
			e.guardOperation(gen, place{unit: u, pos: shape.position(n), fn: fn})
		}
		// A function literal's operations were made while it was compiled. They are made again, with the guards, when
		// the program is executed.
		*shape.operation(n) = nil
	}
	for _, c := range shape.children(n) {
		e.guardNode(c, u, fn, inVar)
	}
}

// guardOperation makes a node's generator put a guard round the operation that it makes.
func (e *Evaluator) guardOperation(gen *func(unsafe.Pointer), at place) {
	old := *gen
	name := generatorName(old)
	*gen = func(n unsafe.Pointer) {
		old(n)
		op := shape.operation(n)
		inner := *op
		if inner == nil {
			return
		}
		if strings.HasPrefix(name, "shl") || strings.HasPrefix(name, "shr") {
			inner = checkShift(n, inner)
		}
		*op = func(frame unsafe.Pointer) unsafe.Pointer {
			done := false
			defer func() {
				if !done {
					at := at
					at.fault = fault(name, n, frame)
					e.trace.note(at)
				}
			}()
			next := inner(frame)
			done = true
			return next
		}
	}
}

// frameShape is where yaegi's frame keeps what is needed here.
var frameShape = findFrame()

func findFrame() (s struct {
	anc, mutex, data uintptr
	ok               bool
}) {
	f, ok := reflect.TypeOf(yaegi.Interpreter{}).FieldByName("frame")
	if !ok || f.Type.Kind() != reflect.Pointer {
		return s
	}
	frame := f.Type.Elem()
	anc, ok1 := frame.FieldByName("anc")
	mutex, ok2 := frame.FieldByName("mutex")
	data, ok3 := frame.FieldByName("data")
	s.anc, s.mutex, s.data = anc.Offset, mutex.Offset, data.Offset
	s.ok = ok1 && ok2 && ok3 && mutex.Type == reflect.TypeOf(sync.RWMutex{}) && data.Type == reflect.TypeOf([]reflect.Value(nil))
	return s
}

// isRun tells the call by which a function runs its deferred calls; see defers.go.
func isRun(n unsafe.Pointer) bool {
	c := shape.children(n)
	if len(c) != 2 || c[0] == nil {
		return false
	}
	fun := shape.children(c[0])
	return len(fun) == 2 && fun[0] != nil && fun[1] != nil && shape.name(fun[1]) == "Run" && strings.HasPrefix(shape.name(fun[0]), "d"+sep)
}

// unlockWhile makes an operation, a call in a function literal that yaegi has deferred, unlock the deferring function's
// frame while it lasts. yaegi holds the lock then, and a literal of that function could not end.
func unlockWhile(gen *func(unsafe.Pointer)) {
	old := *gen
	*gen = func(n unsafe.Pointer) {
		old(n)
		op := shape.operation(n)
		inner := *op
		if inner == nil || !frameShape.ok {
			return
		}
		*op = func(frame unsafe.Pointer) unsafe.Pointer {
			anc := *(*unsafe.Pointer)(unsafe.Add(frame, frameShape.anc))
			mutex := (*sync.RWMutex)(unsafe.Add(anc, frameShape.mutex))
			mutex.Unlock()
			next := inner(frame) // when it panics, yaegi does not unlock
			mutex.Lock()
			return next
		}
	}
}

// harmless are yaegi's operations that cannot panic, by the names of their generators.
var harmless = map[string]bool{
	"nop": true, "branch": true, "define": true, "add": true, "addConst": true, "sub": true, "mul": true, "lower": true,
	"lowerEqual": true, "greater": true, "greaterEqual": true, "not": true, "and": true, "or": true, "xor": true, "inc": true,
	"dec": true, "neg": true, "_return": true, "land": true, "lor": true, "setFrame": true, "empty": true, "isNil": true,
	"isNotNil": true, "addAssign": true, "subAssign": true, "mulAssign": true, "loopVarKey": true, "loopVarVal": true,
	"loopVarFor": true, "getFunc": true, "reset": true, "_case": true, "arrayLit": true, "addr": true, "_len": true,
	"_append": true, "_cap": true, "branchNot": true, "andNot": true, "bitNot": true, "positive": true, "convert": true,
	"_range": true, "rangeInt": true,
}

// mayPanic says whether a node's operation can. Assigning panics only where the left side is an element, and comparing
// where it is of values that are not plain.
func (s nodeShape) mayPanic(n unsafe.Pointer) bool {
	name := s.operationName(n)
	if name == "assign" || name == "equal" || name == "notEqual" {
		for _, c := range s.children(n) {
			if c != nil && s.operationName(c) != "nop" && s.operationName(c) != "" {
				return true
			}
		}
		return false
	}
	return !harmless[name]
}

// operationName gives the name of the generator of a node's operation.
func (s nodeShape) operationName(n unsafe.Pointer) string { return generatorName(*s.generator(n)) }

func generatorName(gen func(unsafe.Pointer)) string {
	if gen == nil {
		return ""
	}
	f := runtime.FuncForPC(reflect.ValueOf(gen).Pointer())
	if f == nil {
		return ""
	}
	name := f.Name()
	return name[strings.LastIndexByte(name, '.')+1:]
}

// place is where an operation of evaluated code stands.
type place struct {
	unit *Unit
	pos  token.Pos
	fn   string

	fault string // what is wrong with the operands there; see rterrors.go
}

// trace holds the places that panics have passed, by goroutine.
type trace struct {
	mu     sync.Mutex
	places map[string][]place
	skip   map[string]bool
}

// maxTrace bounds what a panic in deep recursion leaves.
const maxTrace = 1 << 12

func (t *trace) note(p place) {
	id := goroutineID()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.places == nil {
		t.places = map[string][]place{}
	}
	if t.skip[id] {
		delete(t.skip, id)
		return
	}
	if len(t.places[id]) < maxTrace {
		t.places[id] = append(t.places[id], p)
	}
}

// take gives the places that a goroutine's panic has passed, and forgets them.
func (t *trace) take(id string) []place {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.places[id]
	delete(t.places, id)
	return out
}

// peek gives the places that a goroutine's panic has passed.
func (t *trace) peek(id string) []place {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.places[id]
}

// restore gives back what take gave, for a panic that goes on. The next place, where it went on, is not noted.
func (t *trace) restore(id string, ps []place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.places == nil {
		t.places = map[string][]place{}
	}
	if t.skip == nil {
		t.skip = map[string]bool{}
	}
	t.places[id], t.skip[id] = ps, true
}

func (t *trace) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.places = nil
}
