package rendezvous

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// patience is how long tests wait for what must come. It is never waited out
// by a test that passes.
const patience = 60 * time.Second

// recorder is the Events of a test: it keeps what it is told and lets the test
// wait for it.
type recorder struct {
	mu      sync.Mutex
	changed sync.Cond
	ranks   map[int]*heard
}

type heard struct {
	records  []Record
	ended    int
	endErr   error
	results  [][]byte
	failures []Failure
	lost     int
}

func newRecorder() *recorder {
	r := &recorder{ranks: make(map[int]*heard)}
	r.changed.L = &r.mu
	return r
}

func (r *recorder) note(rank int, f func(h *heard)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.ranks[rank]
	if h == nil {
		h = new(heard)
		r.ranks[rank] = h
	}
	f(h)
	r.changed.Broadcast()
}

func (r *recorder) Record(rank int, rec Record) {
	r.note(rank, func(h *heard) { h.records = append(h.records, rec) })
}
func (r *recorder) OutputEnded(rank int, err error) {
	r.note(rank, func(h *heard) { h.ended++; h.endErr = err })
}
func (r *recorder) Result(rank int, value []byte) {
	r.note(rank, func(h *heard) { h.results = append(h.results, value) })
}
func (r *recorder) Failed(rank int, f Failure) {
	r.note(rank, func(h *heard) { h.failures = append(h.failures, f) })
}
func (r *recorder) ControlLost(rank int) {
	r.note(rank, func(h *heard) { h.lost++ })
}

// await waits until cond holds of what was heard of the rank.
func (r *recorder) await(t testing.TB, rank int, what string, cond func(h *heard) bool) heard {
	t.Helper()
	timer := time.AfterFunc(patience, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changed.Broadcast()
	})
	defer timer.Stop()
	deadline := time.Now().Add(patience)
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if h := r.ranks[rank]; h != nil && cond(h) {
			return *h
		}
		if time.Now().After(deadline) {
			t.Fatalf("rank %d: waited %s for %s; heard %+v", rank, patience, what, r.ranks[rank])
		}
		r.changed.Wait()
	}
}

// of gives what was heard of the rank so far.
func (r *recorder) of(rank int) heard {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.ranks[rank]; h != nil {
		return *h
	}
	return heard{}
}

func (r *recorder) awaitFinished(t testing.TB, rank int) heard {
	t.Helper()
	return r.await(t, rank, "its end", func(h *heard) bool {
		return h.ended > 0 && len(h.results)+len(h.failures) > 0
	})
}

func slots(n int) []Slot {
	out := make([]Slot, n)
	for i := range out {
		out[i] = Slot{Rank: i, Size: n, LocalRank: i, LocalSize: n, CrossRank: 0, CrossSize: 1, Host: "localhost"}
	}
	return out
}

// start starts a server for n ranks with the default limits, changed by tweak.
func start(t testing.TB, n int, tweak func(*Config, *limits)) (*Server, *recorder) {
	t.Helper()
	rec := newRecorder()
	cfg := Config{Program: []byte("the program"), Slots: slots(n), Events: rec}
	lim := defaultLimits(n)
	if tweak != nil {
		tweak(&cfg, &lim)
	}
	s, err := newServer(cfg, lim)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := parseListen(cfg.Listen)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := spec.listen(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.serve(ln, true)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, rec
}

func clientOf(t testing.TB, s *Server, rank int) *Client {
	t.Helper()
	c := NewClient(ClientConfig{Addr: s.Addr(), Fingerprint: s.Fingerprint(), Token: s.Token(), Rank: rank})
	t.Cleanup(c.Close)
	return c
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// rankLines is how many lines of output a liveRank writes.
const rankLines = 50

// liveRank lives the life of a rank: the agent's part and the worker's.
type liveRank struct {
	rank    int
	client  *Client
	out     *OutputWriter
	control <-chan Control
}

// runRank lives the whole of it.
func runRank(ctx context.Context, c *Client, rank int, program, result []byte) error {
	l := &liveRank{rank: rank, client: c}
	if err := l.begin(ctx, program); err != nil {
		return err
	}
	return l.finish(ctx, result)
}

// begin connects, fetches what there is to fetch and writes half of the lines.
func (l *liveRank) begin(ctx context.Context, program []byte) (err error) {
	if l.out, err = l.client.Output(ctx); err != nil {
		return err
	}
	if l.control, err = l.client.Control(ctx); err != nil {
		return err
	}
	slot, err := l.client.Slot(ctx)
	if err != nil {
		return err
	}
	if slot.Rank != l.rank {
		return fmt.Errorf("rank %d got the slot of rank %d", l.rank, slot.Rank)
	}
	got, err := l.client.Program(ctx)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, program) {
		return fmt.Errorf("rank %d: the program arrived changed", l.rank)
	}
	if err := l.out.Write(RankStatus{State: StateRunning, PID: os.Getpid()}.Record()); err != nil {
		return err
	}
	return l.lines(0, rankLines/2)
}

// finish writes the other half and gives the result.
func (l *liveRank) finish(ctx context.Context, result []byte) error {
	if err := l.lines(rankLines/2, rankLines); err != nil {
		return err
	}
	if err := l.client.PutResult(ctx, result); err != nil {
		return err
	}
	return l.out.Close()
}

func (l *liveRank) lines(from, to int) error {
	for i := from; i < to; i++ {
		if err := l.out.Write(Record{Kind: Stdout, Data: fmt.Appendf(nil, "rank %d line %d\n", l.rank, i)}); err != nil {
			return err
		}
	}
	return nil
}

// checkRank checks that all that runRank sent was heard, once and in order.
func checkRank(t testing.TB, rec *recorder, rank int, result []byte) {
	t.Helper()
	h := rec.awaitFinished(t, rank)
	if h.ended != 1 || h.endErr != nil || h.lost != 0 || len(h.failures) != 0 {
		t.Errorf("rank %d: output ended %d times (%v), control lost %d times, failures %v", rank, h.ended, h.endErr, h.lost, h.failures)
	}
	if len(h.results) != 1 || !bytes.Equal(h.results[0], result) {
		t.Errorf("rank %d: %d results; the first one right: %t", rank, len(h.results), len(h.results) > 0 && bytes.Equal(h.results[0], result))
	}
	if len(h.records) != rankLines+1 {
		t.Fatalf("rank %d: %d records, want %d", rank, len(h.records), rankLines+1)
	}
	if s, err := h.records[0].Status(); err != nil || s.State != StateRunning {
		t.Errorf("rank %d: first record: status %+v, %v", rank, s, err)
	}
	for i, r := range h.records[1:] {
		if want := fmt.Sprintf("rank %d line %d\n", rank, i); r.Kind != Stdout || string(r.Data) != want {
			t.Fatalf("rank %d: record %d is %s %q, want %q", rank, i, r.Kind, r.Data, want)
		}
	}
}

func randomBytes(n int) []byte {
	src := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	src.Read(b)
	return b
}

func TestRun(t *testing.T) {
	for _, size := range []int{0, 1, 100, askFirst + 1, trustedBody, trustedBody + 1, 20 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			payload := randomBytes(size)
			const n = 4
			s, rec := start(t, n, func(cfg *Config, _ *limits) { cfg.Program = payload })
			ctx := testContext(t)
			errs := make(chan error, n)
			for rank := range n {
				c := clientOf(t, s, rank)
				go func() { errs <- runRank(ctx, c, rank, payload, payload) }()
			}
			var all error
			for range n {
				all = errors.Join(all, <-errs)
			}
			if all != nil {
				t.Fatal(all)
			}
			for rank := range n {
				checkRank(t, rec, rank, payload)
			}
		})
	}
}
