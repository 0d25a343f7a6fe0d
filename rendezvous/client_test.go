package rendezvous

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestIdentityIsChecked(t *testing.T) {
	s, _ := start(t, 1, nil)
	other, _ := start(t, 1, nil)
	ctx := testContext(t)
	config := func() ClientConfig {
		return ClientConfig{Addr: s.Addr(), Fingerprint: s.Fingerprint(), Token: s.Token()}
	}

	cfg := config()
	cfg.Fingerprint = other.Fingerprint()
	c := NewClient(cfg)
	defer c.Close()
	_, err := c.Program(ctx)
	var stranger *FingerprintError
	if !errors.As(err, &stranger) || stranger.Addr != s.Addr() || stranger.Got != s.Fingerprint() || stranger.Want != other.Fingerprint() {
		t.Errorf("another server's fingerprint: %v", err)
	}

	cfg = config()
	cfg.Token = other.Token()
	c = NewClient(cfg)
	defer c.Close()
	_, err = c.Program(ctx)
	if !errors.Is(err, ErrUnauthorized) {
		t.Errorf("another run's token: %v", err)
	}
	if strings.Contains(fmt.Sprint(err), other.Token()) {
		t.Errorf("the error holds the token: %v", err)
	}
	if _, err := c.Output(ctx); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("output with another run's token: %v", err)
	}
	if _, err := c.Control(ctx); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("control with another run's token: %v", err)
	}

	cfg = config()
	var colons []string
	for i := 0; i < len(cfg.Fingerprint); i += 2 {
		colons = append(colons, strings.ToUpper(cfg.Fingerprint[i:i+2]))
	}
	cfg.Fingerprint = strings.Join(colons, ":")
	c = NewClient(cfg)
	defer c.Close()
	if _, err := c.Program(ctx); err != nil {
		t.Errorf("the fingerprint in the spelling of openssl: %v", err)
	}
	if c.transport.Proxy != nil {
		t.Error("the client would ask an HTTP proxy")
	}
	if s.Token() == other.Token() || len(s.Token()) < 32 {
		t.Errorf("tokens %d and %d bytes long, equal: %t", len(s.Token()), len(other.Token()), s.Token() == other.Token())
	}
}

func TestControl(t *testing.T) {
	s, rec := start(t, 5, nil)
	ctx := testContext(t)
	open := func(rank int) (<-chan Control, *Client) {
		t.Helper()
		c := clientOf(t, s, rank)
		heard, err := c.Control(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return heard, c
	}
	first, c0 := open(0)
	if _, err := c0.Control(ctx); !errors.Is(err, ErrConflict) {
		t.Errorf("a second control connection: %v, want ErrConflict", err)
	}

	// A worker that goes away without a word.
	gone, c1 := open(1)
	c1.Close()
	if got, ok := <-gone; ok {
		t.Errorf("a closed client heard %+v", got)
	}
	rec.await(t, 1, "the loss of control", func(h *heard) bool { return h.lost == 1 })

	// One that has given its result may go.
	_, c2 := open(2)
	if err := c2.PutResult(ctx, nil); err != nil {
		t.Fatal(err)
	}
	c2.Close()

	// A context that ends is not a loss for the worker, but for the driver.
	short, end := context.WithCancel(ctx)
	c3 := clientOf(t, s, 3)
	c3heard, err := c3.Control(short)
	if err != nil {
		t.Fatal(err)
	}
	end()
	if got, ok := <-c3heard; ok {
		t.Errorf("after its context ended: %+v", got)
	}
	rec.await(t, 3, "the loss of control", func(h *heard) bool { return h.lost == 1 })

	reason := "rank 2 failed: " + strings.Repeat("very ", 10000) + "badly"
	s.Cancel(reason)
	s.Cancel("another reason")
	late, _ := open(4)
	for name, heard := range map[string]<-chan Control{"early": first, "late": late} {
		got := <-heard
		if got.Lost != nil || !strings.HasPrefix(got.Cancel, "rank 2 failed: very very ") {
			t.Errorf("%s: %.60q, %v", name, got.Cancel, got.Lost)
		}
		if _, ok := <-heard; ok {
			t.Errorf("%s: more than one word came", name)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, rank := range []int{0, 2, 4} {
		if h := rec.of(rank); h.lost != 0 {
			t.Errorf("rank %d: control lost %d times", rank, h.lost)
		}
	}
}

func TestDriverGone(t *testing.T) {
	s, _ := start(t, 1, nil)
	heard, err := clientOf(t, s, 0).Control(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := <-heard; got.Lost == nil {
		t.Errorf("after the server closed: %+v, want Lost", got)
	}
}

func TestCloseWhileBusy(t *testing.T) {
	s, rec := start(t, 2, nil)
	ctx := testContext(t)
	c := clientOf(t, s, 0)
	out, err := c.Output(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Write(Record{Kind: Stdout, Data: []byte("begun")}); err != nil {
		t.Fatal(err)
	}
	rec.await(t, 0, "a record", func(h *heard) bool { return len(h.records) == 1 })
	half, send := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := clientOf(t, s, 1).PutResultFrom(ctx, half, 1<<20); err == nil {
			t.Error("a result that broke off was taken")
		}
	})
	wg.Go(func() {
		if _, err := c.KVGet(ctx, "scope", "never", time.Hour); err == nil {
			t.Error("a key came from nowhere")
		}
	})
	if _, err := send.Write(make([]byte, 100<<10)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	send.CloseWithError(errors.New("enough"))
	c.Close()
	wg.Wait()
	if err := out.Close(); err == nil {
		t.Error("output that was cut off is said to have arrived")
	}
	if err := out.Write(Record{Kind: Stdout, Data: []byte("more")}); err == nil {
		t.Error("output was taken after it was cut off")
	}
	if h := rec.of(1); len(h.results) != 0 {
		t.Errorf("half a result was heard")
	}
	if _, err := c.Slot(ctx); !errors.Is(err, errClientClosed) {
		t.Errorf("a closed client: %v", err)
	}
}

func TestOutput(t *testing.T) {
	s, rec := start(t, 1, nil)
	ctx := testContext(t)
	c := clientOf(t, s, 0)
	out, err := c.Output(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Output(ctx); !errors.Is(err, ErrConflict) {
		t.Errorf("a second output: %v, want ErrConflict", err)
	}
	large := randomBytes(5<<20 + 7)
	status := RankStatus{State: StateReady, PID: 7, Host: "h", Detail: "d"}
	for _, r := range []Record{
		status.Record(),
		{Kind: Stdout, Data: nil}, // nothing to say
		{Kind: Stdout, Data: []byte("not UTF-8: \xff\xfe")},
		{Kind: Display, Data: large},
		{Kind: Display, Data: []byte{}},
		{Kind: Stderr, Data: large},
	} {
		if err := out.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []Record{{Kind: 'x'}, {Kind: Display, Data: make([]byte, maxRecord+1)}} {
		if err := out.Write(r); err == nil {
			t.Errorf("a record of kind %s with %d bytes was taken", r.Kind, len(r.Data))
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if err := out.Write(status.Record()); !errors.Is(err, errOutputClosed) {
		t.Errorf("written after the end: %v", err)
	}
	if _, err := c.Output(ctx); !errors.Is(err, ErrConflict) {
		t.Errorf("output after its end: %v, want ErrConflict", err)
	}
	h := rec.await(t, 0, "the end", func(h *heard) bool { return h.ended == 1 })
	if h.endErr != nil {
		t.Error(h.endErr)
	}
	if got, err := h.records[0].Status(); err != nil || got != status {
		t.Errorf("status %+v, %v", got, err)
	}
	if _, err := h.records[1].Status(); err == nil {
		t.Error("a status was read out of stdout")
	}
	if got := h.records[1]; got.Kind != Stdout || string(got.Data) != "not UTF-8: \xff\xfe" {
		t.Errorf("stdout: %s %q", got.Kind, got.Data)
	}
	if got := h.records[2]; got.Kind != Display || !bytes.Equal(got.Data, large) {
		t.Errorf("the large display came as %s with %d bytes", got.Kind, len(got.Data))
	}
	if got := h.records[3]; got.Kind != Display || len(got.Data) != 0 {
		t.Errorf("the empty display came as %s with %d bytes", got.Kind, len(got.Data))
	}
	var stderr []byte
	for _, r := range h.records[4:] {
		if r.Kind != Stderr {
			t.Errorf("a record of kind %s in between", r.Kind)
		}
		stderr = append(stderr, r.Data...)
	}
	if !bytes.Equal(stderr, large) {
		t.Errorf("the large stderr came with %d bytes", len(stderr))
	}
}

// TestOutputBroken is an agent that dies in the middle.
func TestOutputBroken(t *testing.T) {
	s, rec := start(t, 1, nil)
	cut := clientOf(t, s, 0)
	out, err := cut.Output(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Write(Record{Kind: Stdout, Data: []byte("last words")}); err != nil {
		t.Fatal(err)
	}
	rec.await(t, 0, "the last words", func(h *heard) bool { return len(h.records) == 1 })
	cut.Close()
	if h := rec.await(t, 0, "the end", func(h *heard) bool { return h.ended == 1 }); h.endErr == nil {
		t.Error("output that broke off ended without an error")
	}
}

// TestManyWriters writes from many goroutines, more than is let through
// without waiting: each writer's own order is kept and nothing is lost.
func TestManyWriters(t *testing.T) {
	s, rec := start(t, 1, nil)
	out, err := clientOf(t, s, 0).Output(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 8, 200
	pad := strings.Repeat("x", 3000)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := out.Write(Record{Kind: Stdout, Data: fmt.Appendf(nil, "%d %d %s", w, i, pad)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	h := rec.await(t, 0, "the end", func(h *heard) bool { return h.ended == 1 })
	var next [writers]int
	for _, r := range h.records {
		var w, i int
		if _, err := fmt.Sscan(string(r.Data), &w, &i); err != nil {
			t.Fatal(err)
		}
		if i != next[w] {
			t.Fatalf("writer %d: record %d came where %d should", w, i, next[w])
		}
		next[w]++
	}
	for w, n := range next {
		if n != each {
			t.Errorf("writer %d: %d records, want %d", w, n, each)
		}
	}
}

func TestFailure(t *testing.T) {
	s, rec := start(t, 2, nil)
	ctx := testContext(t)
	f := Failure{
		Kind: FailurePanic, Message: "index out of range", ExitCode: 2, Signal: "SIGKILL", LastOutput: "bye", Goroutine: "goroutine 1",
		Stack: []Frame{{Func: "main.f", File: "cell[3]", Line: 4, Column: 5}},
	}
	if err := clientOf(t, s, 0).PutFailure(ctx, f); err != nil {
		t.Fatal(err)
	}
	if h := rec.of(0); len(h.failures) != 1 || fmt.Sprint(h.failures[0]) != fmt.Sprint(f) {
		t.Errorf("heard %+v", h.failures)
	}
	if err := clientOf(t, s, 0).PutResult(ctx, nil); !errors.Is(err, ErrConflict) {
		t.Errorf("a result after a failure: %v", err)
	}

	// A stack overflow, at its worst: all that it says has to fit.
	huge := strings.Repeat("ü", 10<<20)
	f = Failure{Kind: FailurePanic, Message: "begin" + huge, LastOutput: huge + "end", Goroutine: huge, Signal: huge}
	for i := range 100000 {
		f.Stack = append(f.Stack, Frame{Func: fmt.Sprint("f", i), File: huge[:1<<16], Line: i})
	}
	if err := clientOf(t, s, 1).PutFailure(ctx, f); err != nil {
		t.Fatal(err)
	}
	got := rec.of(1).failures[0]
	if !strings.HasPrefix(got.Message, "beginü") || !strings.HasSuffix(got.Message, "ü"+ellipsis) {
		t.Errorf("message %.20q … %q", got.Message, got.Message[len(got.Message)-10:])
	}
	if !strings.HasSuffix(got.LastOutput, "üend") || !strings.HasPrefix(got.LastOutput, ellipsis+"ü") {
		t.Errorf("last output %.20q", got.LastOutput)
	}
	if n := len(got.Stack); n != maxStack || got.Stack[0].Func != "f0" || got.Stack[n-1].Func != "f99999" {
		t.Errorf("a stack of %d frames", n)
	}
	if f.Stack[0].File != huge[:1<<16] {
		t.Error("the caller's failure was changed")
	}
}

func TestPutResultFrom(t *testing.T) {
	value := randomBytes(3 << 20)
	for i, test := range []struct {
		name string
		body io.Reader
		size int64
	}{
		{"size unknown", io.MultiReader(bytes.NewReader(value)), -1},
		{"size known", io.MultiReader(bytes.NewReader(value)), int64(len(value))},
		{"seekable", bytes.NewReader(value), int64(len(value))},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, rec := start(t, 3, nil)
			if err := clientOf(t, s, i).PutResultFrom(testContext(t), test.body, test.size); err != nil {
				t.Fatal(err)
			}
			if h := rec.of(i); len(h.results) != 1 || !bytes.Equal(h.results[0], value) {
				t.Error("the result arrived changed")
			}
		})
	}
	t.Run("shorter than said", func(t *testing.T) {
		s, rec := start(t, 1, nil)
		if err := clientOf(t, s, 0).PutResultFrom(testContext(t), io.MultiReader(bytes.NewReader(value)), int64(len(value))+1); err == nil {
			t.Error("no error")
		}
		if h := rec.of(0); len(h.results) != 0 {
			t.Error("a short result was heard")
		}
	})
}

// fault is what a faulty network does with one connection.
type fault int

const (
	passOn        fault = iota
	refuse              // closes at once
	swallow             // takes the request and closes without handing it on
	swallowAnswer       // hands the request on and closes when the answer comes
)

// network stands between a client and the server and does to the first
// connections what it was told, in this order.
func network(t *testing.T, s *Server, faults ...fault) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			next := passOn
			if len(faults) > 0 {
				next, faults = faults[0], faults[1:]
			}
			wg.Go(func() { carry(t, s, conn, next) })
		}
	})
	return ln.Addr().String()
}

// carry carries one connection. It ends TLS on both sides, with the server's
// own key, so that it sees where a request and an answer begin.
func carry(t *testing.T, s *Server, raw net.Conn, f fault) {
	defer raw.Close()
	if f == refuse {
		return
	}
	down := tls.Server(raw, s.id.serverTLS())
	up, err := tls.Dial("tcp", s.Addr(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Error(err)
		return
	}
	var wg sync.WaitGroup
	pass := func(to, from *tls.Conn, stop bool) {
		defer up.NetConn().Close()
		defer raw.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if err != nil || stop {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	wg.Go(func() { pass(up, down, f == swallow) })
	wg.Go(func() { pass(down, up, f == swallowAnswer) })
	wg.Wait()
}

func TestFaultyNetwork(t *testing.T) {
	for _, faults := range [][]fault{{refuse}, {refuse, refuse, swallow}, {swallow, swallowAnswer}, {swallowAnswer, swallowAnswer}} {
		t.Run(fmt.Sprint(faults), func(t *testing.T) {
			s, rec := start(t, 1, nil)
			ctx := testContext(t)
			client := func() *Client {
				addr := network(t, s, faults...)
				c := NewClient(ClientConfig{Addr: addr, Fingerprint: s.Fingerprint(), Token: s.Token()})
				t.Cleanup(c.Close)
				return c
			}
			if _, err := client().Program(ctx); err != nil {
				t.Errorf("program: %v", err)
			}
			if err := client().KVPut(ctx, "s", "k", []byte("v")); err != nil {
				t.Errorf("put: %v", err)
			}
			if got, err := client().KVGet(ctx, "s", "k", 0); err != nil || string(got) != "v" {
				t.Errorf("get: %q, %v", got, err)
			}
			// The result counts once, also when the answer to the first
			// attempt was lost on its way.
			if err := client().PutResult(ctx, []byte("once")); err != nil {
				t.Errorf("result: %v", err)
			}
			if h := rec.of(0); len(h.results) != 1 {
				t.Errorf("%d results were heard", len(h.results))
			}
			if err := client().PutResult(ctx, []byte("twice")); !errors.Is(err, ErrConflict) {
				t.Errorf("another result: %v, want ErrConflict", err)
			}
			for _, f := range faults {
				if f == swallowAnswer {
					return // the driver has heard of this output
				}
			}
			out, err := client().Output(ctx)
			if err != nil {
				t.Fatalf("output: %v", err)
			}
			if err := out.Close(); err != nil {
				t.Errorf("output: %v", err)
			}
		})
	}
}
