package rendezvous

import (
	"context"
	"fmt"
	"sync"
)

// store is the key-value store. Values are small (addresses, tokens of
// agreement), so they live in memory for the time of the run.
type store struct {
	maxBytes int64

	mu      sync.Mutex
	values  map[storeKey][]byte
	bytes   int64
	waiting map[storeKey]*arrival
}

type storeKey struct{ scope, key string }

func (k storeKey) String() string { return fmt.Sprintf("%q in scope %q", k.key, k.scope) }

// cost is what the entry counts for against the store's limit, its place in
// the map included, so that many empty values are bounded too.
func (k storeKey) cost(value []byte) int64 {
	return int64(len(k.scope)+len(k.key)+len(value)) + 128
}

// arrival is what everyone who waits for one key waits on.
type arrival struct {
	ready   chan struct{} // closed once value is set
	value   []byte
	waiters int
}

func newStore(maxBytes int64) *store {
	return &store{
		maxBytes: maxBytes,
		values:   make(map[storeKey][]byte),
		waiting:  make(map[storeKey]*arrival),
	}
}

// put stores the value and hands it to all who wait for it. It reports false
// when the store is full. The value is the store's from then on.
func (s *store) put(k storeKey, value []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := s.bytes + k.cost(value)
	if old, ok := s.values[k]; ok {
		size -= k.cost(old)
	}
	if size > s.maxBytes {
		return false
	}
	s.bytes = size
	s.values[k] = value
	if a, ok := s.waiting[k]; ok {
		delete(s.waiting, k)
		a.value = value
		close(a.ready)
	}
	return true
}

// get returns the value of the key, waiting for it until ctx ends. Nobody may
// write to what it returns.
func (s *store) get(ctx context.Context, k storeKey) ([]byte, bool) {
	s.mu.Lock()
	if value, ok := s.values[k]; ok {
		s.mu.Unlock()
		return value, true
	}
	if ctx.Err() != nil {
		s.mu.Unlock()
		return nil, false
	}
	a, ok := s.waiting[k]
	if !ok {
		a = &arrival{ready: make(chan struct{})}
		s.waiting[k] = a
	}
	a.waiters++
	s.mu.Unlock()

	select {
	case <-a.ready:
		return a.value, true
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-a.ready: // it came at the last moment
		return a.value, true
	default:
	}
	if a.waiters--; a.waiters == 0 {
		delete(s.waiting, k)
	}
	return nil, false
}

// remove takes the key out; it need not be there, so that the request may be
// repeated.
func (s *store) remove(k storeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.values[k]; ok {
		s.bytes -= k.cost(old)
		delete(s.values, k)
	}
}

// size tells how many keys are there and how many are waited for.
func (s *store) size() (keys, waited int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values), len(s.waiting)
}
