package rendezvous

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestKeyValue(t *testing.T) {
	s, _ := start(t, 1, nil)
	c := clientOf(t, s, 0)
	ctx := testContext(t)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for i, k := range []struct{ scope, key string }{
		{"scope", "key"},
		{"scope", "key2"},
		{"a/b", "c/d"},
		{"a", "b/c/d"},
		{"..", "."},
		{"%2F", "%"},
		{"ключ", "🔑 ?wait=10s#x"},
		{string(all), string(all)},
		{strings.Repeat("s", maxKeyLength), strings.Repeat("k", maxKeyLength)},
	} {
		if _, err := c.KVGet(ctx, k.scope, k.key, 0); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q %q before it is there: %v", k.scope, k.key, err)
		}
		for _, want := range [][]byte{fmt.Append(nil, i), {}, all, bytes.Repeat(all, 1000)} {
			if err := c.KVPut(ctx, k.scope, k.key, want); err != nil {
				t.Fatal(err)
			}
			got, err := c.KVGet(ctx, k.scope, k.key, time.Hour)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%q %q: got %d bytes, %v; want %d", k.scope, k.key, len(got), err, len(want))
			}
		}
		for range 2 {
			if err := c.KVDelete(ctx, k.scope, k.key); err != nil {
				t.Errorf("delete %q %q: %v", k.scope, k.key, err)
			}
		}
		if _, err := c.KVGet(ctx, k.scope, k.key, time.Microsecond); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q %q after it was deleted: %v", k.scope, k.key, err)
		}
	}
	for _, k := range []struct{ scope, key string }{{"", "k"}, {"s", ""}, {"s", strings.Repeat("k", maxKeyLength+1)}} {
		if err := c.KVPut(ctx, k.scope, k.key, nil); err == nil {
			t.Errorf("key %.10q in scope %.10q was taken", k.key, k.scope)
		}
	}
	if err := c.KVPut(ctx, "s", "k", make([]byte, s.limits.maxValue+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a value over the limit: %v", err)
	}
	if keys, waited := s.kv.size(); keys != 0 || waited != 0 {
		t.Errorf("%d keys and %d waits are left", keys, waited)
	}
}

func TestKeyValueWait(t *testing.T) {
	// Each long poll ends at once, so the clients have to go on asking.
	s, _ := start(t, 1, func(_ *Config, lim *limits) { lim.maxWait = time.Millisecond })
	ctx := testContext(t)
	const readers = 20
	var wg sync.WaitGroup
	asked := make(chan struct{}, readers)
	for i := range readers {
		c := clientOf(t, s, 0)
		wg.Go(func() {
			if _, err := c.Slot(ctx); err != nil { // connected
				t.Error(err)
			}
			asked <- struct{}{}
			got, err := c.KVGet(ctx, "scope", fmt.Sprint(i%2), time.Hour)
			if err != nil || string(got) != fmt.Sprint("value ", i%2) {
				t.Errorf("reader %d: %q, %v", i, got, err)
			}
		})
	}
	for range readers {
		<-asked
	}
	for i := range 2 {
		if err := clientOf(t, s, 0).KVPut(ctx, "scope", fmt.Sprint(i), fmt.Append(nil, "value ", i)); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if _, waited := s.kv.size(); waited != 0 {
		t.Errorf("%d keys are waited for by nobody", waited)
	}
}

func TestStoreIsBounded(t *testing.T) {
	s, _ := start(t, 1, func(_ *Config, lim *limits) { lim.maxStoreBytes = 10000 })
	c := clientOf(t, s, 0)
	ctx := testContext(t)
	var err error
	stored := 0
	for ; err == nil; stored++ {
		err = c.KVPut(ctx, "scope", fmt.Sprint(stored), nil)
	}
	if !errors.Is(err, ErrStoreFull) || stored > 100 {
		t.Errorf("%d empty values were stored, then %v", stored, err)
	}
	if err := c.KVPut(ctx, "scope", "0", nil); err != nil {
		t.Errorf("a value in place of an equal one: %v", err)
	}
	if err := c.KVDelete(ctx, "scope", "0"); err != nil {
		t.Error(err)
	}
	if err := c.KVPut(ctx, "scope", "new", nil); err != nil {
		t.Errorf("a value in the room of a deleted one: %v", err)
	}
}
