package interp

import (
	"sync"
	"sync/atomic"
)

// defers is the stack of a function's deferred calls, run by Go's own rules.
type defers struct {
	e         *Evaluator
	calls     []deferredCall
	panicking bool
	value     any
	places    []place // what the panic has passed
}

type deferredCall struct {
	f       func()
	unknown bool // it may ask who deferred it
}

// handlers holds, by goroutine, the stack whose call has just begun and may ask for it.
type handlers struct {
	n  atomic.Int32
	mu sync.Mutex
	by map[string]*defers
}

func (h *handlers) put(id string, d *defers) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by = map[string]*defers{}
	}
	if _, ok := h.by[id]; !ok {
		h.n.Add(1)
	}
	h.by[id] = d
}

func (h *handlers) take(id string) *defers {
	h.mu.Lock()
	defer h.mu.Unlock()
	d, ok := h.by[id]
	if ok {
		h.n.Add(-1)
		delete(h.by, id)
	}
	return d
}

func (e *Evaluator) newDefers() *defers { return &defers{e: e} }

// deferred gives the stack that has called the function that asks, if one has.
func (e *Evaluator) deferred() *defers {
	if e.handlers.n.Load() == 0 {
		return nil
	}
	return e.handlers.take(goroutineID())
}

// Push defers a call.
func (d *defers) Push(f func()) { d.calls = append(d.calls, deferredCall{f: f}) }

// PushUnknown defers a call of what may call recover itself.
func (d *defers) PushUnknown(f func()) { d.calls = append(d.calls, deferredCall{f, true}) }

// Run makes the deferred calls at the function's end; p is what the function panics with, or nil.
func (d *defers) Run(p any) {
	id := ""
	if p != nil {
		id = goroutineID()
		d.panicking, d.value, d.places = true, p, d.e.trace.take(id)
	}
	defer func() { // only runtime.Goexit leaves calls behind
		if len(d.calls) > 0 {
			d.Run(nil)
		}
	}()
	for len(d.calls) > 0 {
		c := d.calls[len(d.calls)-1]
		d.calls = d.calls[:len(d.calls)-1]
		d.call(c)
	}
	if d.panicking {
		d.e.trace.restore(goroutineID(), d.places)
		panic(d.value)
	}
}

func (d *defers) call(c deferredCall) {
	ended := false
	if c.unknown {
		d.e.handlers.put(goroutineID(), d)
	}
	defer func() {
		if c.unknown {
			d.e.handlers.take(goroutineID())
		}
		if ended {
			return
		}
		if p := recover(); p != nil {
			d.panicking, d.value, d.places = true, p, d.e.trace.take(goroutineID())
		}
	}()
	c.f()
	ended = true
}

// Recover is recover, called by a function that d has called. It may be called on nil, by one that nothing deferred.
func (d *defers) Recover(to *any) {
	if d == nil || !d.panicking {
		return
	}
	*to = d.e.recoveredValue(d.value, d.places)
	d.panicking, d.value, d.places = false, nil, nil
}

// recoveredValue gives what recover gives for the value of a panic.
func (e *Evaluator) recoveredValue(v any, places []place) any {
	return inRuntimeWords(v, places)
}

// panicWith is panic.
func panicWith(v *any) { panic(*v) }
