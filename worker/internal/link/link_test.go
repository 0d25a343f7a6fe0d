package link_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gorovod/gorovod/worker/internal/link"
)

// pair connects two peers by two real pipes, serves both, and gives a function that ends them.
func pair(t *testing.T, a, b link.Config) (*link.Peer, *link.Peer) {
	t.Helper()
	ra, wb, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	rb, wa, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	pa, pb := link.NewPeer(ra, wa, a), link.NewPeer(rb, wb, b)
	var wg sync.WaitGroup
	for _, p := range []struct {
		peer *link.Peer
		w    *os.File
	}{{pa, wa}, {pb, wb}} {
		wg.Go(func() {
			if err := p.peer.Serve(context.Background()); err != nil {
				t.Error(err)
			}
			p.w.Close()
		})
	}
	t.Cleanup(func() {
		wa.Close()
		wg.Wait()
		ra.Close()
		rb.Close()
		goleak.VerifyNone(t)
	})
	return pa, pb
}

func message(t *testing.T, method string, v any, blobs ...[]byte) *link.Message {
	t.Helper()
	m, err := link.New(method, v, blobs...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCallsGoBothWaysAndCarryBlobs(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 10<<20+1) // more than two steps of reading
	echo := func(_ context.Context, m *link.Message) (*link.Message, error) {
		var n int
		if err := m.Decode(&n); err != nil {
			return nil, err
		}
		return link.New("echoed", n+1, m.Blobs...)
	}
	a, b := pair(t, link.Config{Handle: echo}, link.Config{Handle: echo})
	for name, p := range map[string]*link.Peer{"a": a, "b": b} {
		reply, err := p.Call(t.Context(), message(t, "echo", 41, big, nil, []byte("x")))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var n int
		if err := reply.Decode(&n); err != nil || n != 42 {
			t.Errorf("%s: got %d, %v; want 42", name, n, err)
		}
		if len(reply.Blobs) != 3 || !bytes.Equal(reply.Blobs[0], big) || len(reply.Blobs[1]) != 0 || string(reply.Blobs[2]) != "x" {
			t.Errorf("%s: the blobs did not come back as they went", name)
		}
	}
}

func TestACallCanCallBack(t *testing.T) {
	var a, b *link.Peer
	a, b = pair(t,
		link.Config{Handle: func(_ context.Context, m *link.Message) (*link.Message, error) { return link.New("name", "Ada") }},
		link.Config{Handle: func(ctx context.Context, m *link.Message) (*link.Message, error) {
			reply, err := b.Call(ctx, &link.Message{Method: "ask"})
			if err != nil {
				return nil, err
			}
			var name string
			if err := reply.Decode(&name); err != nil {
				return nil, err
			}
			return link.New("greeting", "hello "+name)
		}})
	reply, err := a.Call(t.Context(), &link.Message{Method: "greet"})
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if err := reply.Decode(&got); err != nil || got != "hello Ada" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAnErrorKeepsItsText(t *testing.T) {
	a, _ := pair(t, link.Config{}, link.Config{Handle: func(context.Context, *link.Message) (*link.Message, error) {
		return nil, errors.New("no such name: x")
	}})
	_, err := a.Call(t.Context(), &link.Message{Method: "encode"})
	var remote *link.RemoteError
	if !errors.As(err, &remote) || remote.Text != "no such name: x" || remote.Method != "encode" {
		t.Errorf("got %#v", err)
	}
}

func TestCancelReachesTheHandlerAndItsReplyStillComes(t *testing.T) {
	begun := make(chan struct{})
	a, _ := pair(t, link.Config{}, link.Config{Handle: func(ctx context.Context, m *link.Message) (*link.Message, error) {
		close(begun)
		<-ctx.Done()
		return link.New("reply", "stopped")
	}})
	pending, err := a.Send(&link.Message{Method: "eval"})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	pending.Cancel()
	reply, err := pending.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if err := reply.Decode(&got); err != nil || got != "stopped" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTheEndOfTheOtherSideFailsWaitingCalls(t *testing.T) {
	defer goleak.VerifyNone(t)
	ra, wb, _ := os.Pipe()
	rb, wa, _ := os.Pipe()
	a := link.NewPeer(ra, wa, link.Config{})
	served := make(chan error)
	go func() { served <- a.Serve(context.Background()) }()
	pending, err := a.Send(&link.Message{Method: "eval"})
	if err != nil {
		t.Fatal(err)
	}
	wb.Close()
	if _, err := pending.Wait(t.Context()); !errors.Is(err, link.ErrClosed) {
		t.Errorf("a waiting call got %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := a.Call(t.Context(), &link.Message{Method: "eval"}); !errors.Is(err, link.ErrClosed) {
		t.Errorf("a later call got %v", err)
	}
	for _, f := range []*os.File{ra, rb, wa} {
		f.Close()
	}
}

func TestNotificationsKeepTheirOrder(t *testing.T) {
	var got []int
	done := make(chan struct{})
	before := 0
	_, b := pair(t, link.Config{
		Before: func() { before++ },
		Notify: func(m *link.Message) {
			var n int
			_ = m.Decode(&n)
			got = append(got, n)
			if n == 99 {
				close(done)
			}
		}}, link.Config{})
	var want []int
	for i := range 100 {
		want = append(want, i)
		if err := b.Notify(message(t, "n", i)); err != nil {
			t.Fatal(err)
		}
	}
	<-done
	if diff := cmp.Diff(want, got); diff != "" || before != 100 {
		t.Errorf("before ran %d times; %s", before, diff)
	}
}

func TestBadInput(t *testing.T) {
	frame := func(head string) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(head)))) + head
	}
	for _, tc := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"half a length", "\x00\x00", "length"},
		{"a huge head", "\xff\xff\xff\xff", "over the limit"},
		{"a short head", "\x00\x00\x00\x05abc", "3 of 5 bytes"},
		{"not CBOR", frame("\xff\xff"), "head"},
		{"unknown kind", frame("\x85\x18\x63\x01\x61a\xf6\x80"), "kind is 99"},
		{"a huge blob", frame("\x85\x04\x01\x61a\xf6\x81\x1b\x7f\xff\xff\xff\xff\xff\xff\xff"), "over the limit"},
		{"a missing blob", frame("\x85\x04\x01\x61a\xf6\x81\x1b\x00\x00\x00\xff\xff\xff\xff\xff") + "abc", "3 of 1099511627775 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := link.NewPeer(strings.NewReader(tc.in), io.Discard, link.Config{}).Serve(t.Context())
			if got := fmt.Sprint(err); tc.want == "" && err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("got %v; want %q", err, tc.want)
			}
		})
	}
}

func FuzzServe(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x06\x85\x04\x01\x61a\xf6\x80"))
	f.Add([]byte("\x00\x00\x00\x07\x85\x01\x01\x61a\xf6\x81\x01z"))
	f.Fuzz(func(t *testing.T, in []byte) {
		handle := func(_ context.Context, m *link.Message) (*link.Message, error) { return m, nil }
		_ = link.NewPeer(bytes.NewReader(in), io.Discard, link.Config{Handle: handle}).Serve(context.Background())
	})
}
