package rendezvous

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// beside runs four ranks beside an abuse: two of them are in the middle of
// their run when it begins, two connect while it goes on. The abuse may return
// a function that ends it. Nothing of the run may be lost.
func beside(t *testing.T, tweak func(*limits), abuse func(t *testing.T, s *Server, rec *recorder) (end func())) {
	t.Helper()
	const n = 5 // rank 4 is the abuse's own
	program, result := []byte("program"), randomBytes(300<<10)
	s, rec := start(t, n, func(cfg *Config, lim *limits) {
		cfg.Program = program
		if tweak != nil {
			tweak(lim)
		}
	})
	ctx := testContext(t)
	var early []*liveRank
	for rank := range 2 {
		l := &liveRank{rank: rank, client: clientOf(t, s, rank)}
		if err := l.begin(ctx, program); err != nil {
			t.Fatal(err)
		}
		early = append(early, l)
	}
	end := abuse(t, s, rec)
	var wg sync.WaitGroup
	for rank := 2; rank < 4; rank++ {
		wg.Go(func() {
			if err := runRank(ctx, clientOf(t, s, rank), rank, program, result); err != nil {
				t.Error(err)
			}
		})
	}
	for _, l := range early {
		wg.Go(func() {
			if err := l.finish(ctx, result); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for rank := range 4 {
		checkRank(t, rec, rank, result)
	}
	if end != nil {
		end()
	}
}

// dialTLS opens a TLS connection to the server, as anybody could.
func dialTLS(t testing.TB, s *Server) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", s.Addr(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// answer is what came back for a raw request.
type answer struct {
	status  int
	header  http.Header
	problem problem
}

// ask sends text as it is and reads the answer.
func ask(t testing.TB, s *Server, text string) answer {
	t.Helper()
	conn := dialTLS(t, s)
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return readAnswer(t, conn)
}

func readAnswer(t testing.TB, conn io.Reader) answer {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if resp.Header.Get("Content-Type") == "application/problem+json" {
		if err := json.NewDecoder(resp.Body).Decode(&a.problem); err != nil {
			t.Fatalf("read the problem document: %v", err)
		}
		if a.problem.Status != a.status || a.problem.Title == "" || a.problem.Detail == "" {
			t.Errorf("problem document %+v under status %d", a.problem, a.status)
		}
	}
	return a
}

// request writes the header of a request with the given token.
func request(method, path, authorization string, more ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: driver\r\n", method, path)
	if authorization != "" {
		fmt.Fprintf(&b, "Authorization: %s\r\n", authorization)
	}
	for _, line := range more {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}

func bearer(s *Server) string { return "Bearer " + s.Token() }

var everyRoute = []struct{ method, path string }{
	{"GET", "/healthz"},
	{"GET", "/v1/program"},
	{"GET", "/v1/ranks/4"},
	{"GET", "/v1/ranks/4/control"},
	{"POST", "/v1/ranks/4/output"},
	{"PUT", "/v1/ranks/4/result"},
	{"PUT", "/v1/ranks/4/failure"},
	{"GET", "/v1/kv/scope/key?wait=1m"},
	{"PUT", "/v1/kv/scope/key"},
	{"DELETE", "/v1/kv/scope/key"},
	{"GET", "/v1/no/such/route"},
	{"BREW", "/"},
}

func TestWrongToken(t *testing.T) {
	beside(t, nil, func(t *testing.T, s *Server, rec *recorder) func() {
		for _, authorization := range []string{
			"", "Bearer", "Bearer ", "Bearer wrong", "Bearer " + s.Token() + "x", "Bearer " + s.Token()[1:],
			"Basic " + s.Token(), s.Token(), "Bearer " + strings.ToLower(s.Token()),
		} {
			for _, route := range everyRoute {
				// The body that is announced never comes: the answer
				// has to come before it.
				a := ask(t, s, request(route.method, route.path, authorization, "Content-Length: 1000000000"))
				if a.status != http.StatusUnauthorized || a.problem.Status != a.status {
					t.Errorf("%s %s with %q: status %d, problem %+v; want 401", route.method, route.path, authorization, a.status, a.problem)
				}
				if got := a.header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer ") {
					t.Errorf("%s %s: WWW-Authenticate is %q", route.method, route.path, got)
				}
				if strings.Contains(fmt.Sprint(a), s.Token()) {
					t.Errorf("%s %s: the answer holds the token", route.method, route.path)
				}
			}
		}
		if h := rec.of(4); len(h.results)+len(h.failures)+h.ended+h.lost+len(h.records) != 0 {
			t.Errorf("the driver heard of a request without the token: %+v", h)
		}
		return nil
	})
}

func TestMalformedRequests(t *testing.T) {
	beside(t, nil, func(t *testing.T, s *Server, _ *recorder) func() {
		auth := bearer(s)
		withBody := func(head, body string) string {
			return strings.TrimSuffix(head, "\r\n") + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
		}
		for _, test := range []struct {
			name, text string
			want       int
		}{
			{"unknown route", request("GET", "/v2/program", auth), 404},
			{"root", request("GET", "/", auth), 404},
			{"route with more", request("GET", "/v1/program/", auth), 404},
			{"doubled slash", request("GET", "//v1/program", auth), 404},
			{"dots", request("GET", "/v1/kv/../program", auth), 404},
			{"wrong method", request("DELETE", "/v1/program", auth), 405},
			{"rank is a word", request("GET", "/v1/ranks/first", auth), 400},
			{"rank in another spelling", request("GET", "/v1/ranks/01", auth), 400},
			{"rank too large for a number", request("GET", "/v1/ranks/99999999999999999999", auth), 400},
			{"negative rank", request("GET", "/v1/ranks/-1", auth), 404},
			{"rank beyond the last", request("GET", "/v1/ranks/5", auth), 404},
			{"failure is no JSON", withBody(request("PUT", "/v1/ranks/4/failure", auth), "{"), 400},
			{"failure with a tail", withBody(request("PUT", "/v1/ranks/4/failure", auth), `{"kind":"exit"}{}`), 400},
			{"failure without kind", withBody(request("PUT", "/v1/ranks/4/failure", auth), `{"message":"m"}`), 400},
			{"failure too large", request("PUT", "/v1/ranks/4/failure", auth, "Content-Length: 5000000"), 413},
			{"wait is no time", request("GET", "/v1/kv/s/k?wait=soon", auth), 400},
			{"wait is negative", request("GET", "/v1/kv/s/k?wait=-1s", auth), 400},
			{"key too long", request("GET", "/v1/kv/s/"+strings.Repeat("k", maxKeyLength+1), auth), 400},
			{"value too large", request("PUT", "/v1/kv/s/k", auth, "Content-Length: 20000000"), 413},
			{"missing key", request("GET", "/v1/kv/s/none", auth), 404},
			{"no HTTP", "EHLO driver\r\n\r\n", 400},
			{"no host", "GET /healthz HTTP/1.1\r\n\r\n", 400},
			{"two lengths", request("PUT", "/v1/ranks/4/result", auth, "Content-Length: 1", "Content-Length: 2"), 400},
			{"negative length", request("PUT", "/v1/ranks/4/result", auth, "Content-Length: -1"), 400},
			{"bad chunk", request("PUT", "/v1/ranks/4/result", auth, "Transfer-Encoding: chunked") + "zz\r\n", 400},
			{"unknown expectation", request("PUT", "/v1/ranks/4/result", auth, "Expect: money", "Content-Length: 1"), 417},
			{"header too large", request("GET", "/healthz", auth, "X: "+strings.Repeat("x", 40<<10)), 431},
		} {
			a := ask(t, s, test.text)
			if a.status != test.want {
				t.Errorf("%s: status %d (%s), want %d", test.name, a.status, a.problem.Detail, test.want)
			}
			if a.status == http.StatusMethodNotAllowed && a.header.Get("Allow") != "GET" {
				t.Errorf("%s: Allow is %q", test.name, a.header.Get("Allow"))
			}
		}
		return nil
	})
}

func TestNoTLS(t *testing.T) {
	beside(t, nil, func(t *testing.T, s *Server, _ *recorder) func() {
		for _, text := range []string{request("GET", "/v1/program", bearer(s)), "\x00\x01\x02 garbage\r\n\r\n", "SSH-2.0-x\r\n"} {
			conn, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			conn.SetDeadline(time.Now().Add(patience))
			io.WriteString(conn, text)
			got, err := io.ReadAll(conn)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%.10q: the connection was kept", text)
			}
			if strings.Contains(string(got), "the program") {
				t.Errorf("%.10q: got the program", text)
			}
			conn.Close()
		}
		old, err := tls.Dial("tcp", s.Addr(), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
		if err == nil {
			old.Close()
			t.Error("a connection with TLS 1.2 was taken")
		}
		return nil
	})
}

func TestHugeBody(t *testing.T) {
	beside(t, nil, func(t *testing.T, s *Server, _ *recorder) func() {
		const large = "Content-Length: 10000000000"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, route := range []struct{ method, path string }{
			{"PUT", "/v1/ranks/4/result"}, {"PUT", "/v1/ranks/4/failure"}, {"PUT", "/v1/kv/scope/key"},
		} {
			a := ask(t, s, request(route.method, route.path, bearer(s), large))
			if a.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s %s: status %d, want 413", route.method, route.path, a.status)
			}
			a = ask(t, s, request(route.method, route.path, "Bearer wrong", large))
			if a.status != http.StatusUnauthorized {
				t.Errorf("%s %s with a wrong token: status %d, want 401", route.method, route.path, a.status)
			}
		}
		// A length within the limit that is only claimed.
		for range 20 {
			conn := dialTLS(t, s)
			io.WriteString(conn, request("PUT", "/v1/ranks/4/result", bearer(s), "Content-Length: 4000000000")+"x")
			conn.CloseWrite()
			if a := readAnswer(t, conn); a.status != http.StatusBadRequest {
				t.Errorf("a result that breaks off: status %d, want 400", a.status)
			}
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 200<<20 {
			t.Errorf("refusing large bodies allocated %d bytes", grown)
		}
		return nil
	})
}

func TestBodyOverLimitWithoutLength(t *testing.T) {
	s, rec := start(t, 1, func(cfg *Config, _ *limits) { cfg.MaxResult = 1 << 20 })
	ctx := testContext(t)
	c := clientOf(t, s, 0)
	err := c.PutResultFrom(ctx, io.LimitReader(zeros{}, 10<<20), -1)
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("a result of 10 MiB over a limit of 1 MiB, length unsaid: %v", err)
	}
	if err := c.PutResult(ctx, make([]byte, 2<<20)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a result of 2 MiB over a limit of 1 MiB: %v", err)
	}
	if err := c.PutResult(ctx, make([]byte, 1<<20)); err != nil {
		t.Errorf("a result of just the limit: %v", err)
	}
	if h := rec.of(0); len(h.results) != 1 {
		t.Errorf("%d results heard", len(h.results))
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// dribble sends text byte by byte, slowly and in the end over and over its
// last byte, until the server hangs up.
func dribble(t *testing.T, conn net.Conn, text string) (wait func()) {
	t.Helper()
	var wg sync.WaitGroup
	hungUp := make(chan struct{})
	wg.Go(func() {
		defer close(hungUp)
		io.Copy(io.Discard, conn)
	})
	wg.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			if _, err := conn.Write([]byte{text[min(i, len(text)-1)]}); err != nil {
				return
			}
			select {
			case <-tick.C:
			case <-hungUp:
				return
			}
		}
	})
	return func() {
		t.Helper()
		select {
		case <-hungUp:
		case <-time.After(patience):
			t.Error("the server keeps a client that sends byte by byte")
		}
		conn.Close()
		wg.Wait()
	}
}

func TestByteByByte(t *testing.T) {
	tweak := func(lim *limits) { lim.header, lim.stall = time.Second, time.Second }
	beside(t, tweak, func(t *testing.T, s *Server, rec *recorder) func() {
		var waits []func()
		plain, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		// A handshake record, announced as long as can be.
		waits = append(waits, dribble(t, plain, "\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb\x03\x03"))
		waits = append(waits, dribble(t, dialTLS(t, s), "GET /healthz HTTP/1.1\r\nX: xxxxxxxxxxx"))
		waits = append(waits, dribble(t, dialTLS(t, s), request("PUT", "/v1/ranks/4/result", "Bearer wrong", "Content-Length: 100000000")))
		// Whoever has the token may not hold a body open for ever either.
		slow := dialTLS(t, s)
		io.WriteString(slow, request("PUT", "/v1/ranks/4/result", bearer(s), "Content-Length: 100000000"))
		waits = append(waits, dribble(t, slow, "x"))
		return func() {
			for _, wait := range waits {
				wait()
			}
			if h := rec.of(4); len(h.results)+len(h.failures) != 0 {
				t.Errorf("the driver heard of a slow body: %+v", h)
			}
			// The rank can still give its result.
			if err := clientOf(t, s, 4).PutResult(testContext(t), []byte("late")); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestSilence tells a rank that has nothing to say from one that stopped in
// the middle of a frame: only the second is given up.
func TestSilence(t *testing.T) {
	s, rec := start(t, 2, func(_ *Config, lim *limits) { lim.stall = 200 * time.Millisecond })
	ctx := testContext(t)
	silent, err := clientOf(t, s, 0).Output(ctx)
	if err != nil {
		t.Fatal(err)
	}
	control, err := clientOf(t, s, 0).Control(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stuck := dialTLS(t, s)
	io.WriteString(stuck, request("POST", "/v1/ranks/1/output", bearer(s), "Transfer-Encoding: chunked"))
	io.WriteString(stuck, "6\r\no\x00\x00\x00\x09a\r\n")
	if a := readAnswer(t, stuck); a.status != http.StatusRequestTimeout {
		t.Errorf("a frame that does not end: status %d, want 408", a.status)
	}
	if h := rec.await(t, 1, "the end of output", func(h *heard) bool { return h.ended > 0 }); h.endErr == nil {
		t.Error("the output that stopped within a frame ended without an error")
	}
	// By now the time in which a frame must end has passed for rank 0 too.
	if err := silent.Write(Record{Kind: Stderr, Data: []byte("still here")}); err != nil {
		t.Error(err)
	}
	if err := silent.Close(); err != nil {
		t.Error(err)
	}
	if h := rec.of(0); len(h.records) != 1 || h.lost != 0 {
		t.Errorf("rank 0: %+v", h)
	}
	s.Cancel("enough")
	if got := <-control; got.Cancel != "enough" || got.Lost != nil {
		t.Errorf("control: %+v", got)
	}
}

func TestSecondResult(t *testing.T) {
	beside(t, nil, func(t *testing.T, s *Server, rec *recorder) func() {
		ctx := testContext(t)
		const writers = 16
		errs := make(chan error, writers)
		for i := range writers {
			c := clientOf(t, s, 4)
			go func() {
				if i%2 == 0 {
					errs <- c.PutResult(ctx, fmt.Append(nil, i))
				} else {
					errs <- c.PutFailure(ctx, Failure{Kind: FailureExit, Message: fmt.Sprint(i)})
				}
			}()
		}
		won := 0
		for range writers {
			switch err := <-errs; {
			case err == nil:
				won++
			case !errors.Is(err, ErrConflict):
				t.Errorf("a second report: %v, want ErrConflict", err)
			}
		}
		if h := rec.of(4); won != 1 || len(h.results)+len(h.failures) != 1 {
			t.Errorf("%d writers were told that they were first; the driver heard %d results and %d failures", won, len(h.results), len(h.failures))
		}
		return func() {
			// A large second result is refused before it is sent.
			err := clientOf(t, s, 4).PutResultFrom(ctx, unread{t}, 1<<30)
			if !errors.Is(err, ErrConflict) {
				t.Errorf("a second result: %v, want ErrConflict", err)
			}
			a := ask(t, s, request("PUT", "/v1/ranks/0/result", bearer(s), "Content-Length: 3")+"abc")
			if a.status != http.StatusConflict {
				t.Errorf("a second result for rank 0: status %d, want 409", a.status)
			}
		}
	})
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.ErrUnexpectedEOF
}

func TestIdleConnections(t *testing.T) {
	const idle = 1000
	beside(t, nil, func(t *testing.T, s *Server, _ *recorder) func() {
		conns := make([]net.Conn, idle)
		for i := range conns {
			conn, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			conns[i] = conn
			if i%10 == 0 {
				// Some go as far as a stranger can.
				secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
				if err := secure.HandshakeContext(testContext(t)); err != nil {
					t.Fatalf("connection %d: %v", i, err)
				}
				conns[i] = secure
			}
		}
		return func() {
			// All but the newest have been closed by now.
			for i, conn := range conns[:idle-s.limits.maxPending] {
				conn.SetReadDeadline(time.Now().Add(patience))
				if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("idle connection %d of %d was kept: %v", i, idle, err)
				}
			}
			accepted, evicted := s.gate.counts()
			if evicted < idle-s.limits.maxPending {
				t.Errorf("of %d connections %d were closed to make room", accepted, evicted)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			for i, conn := range conns {
				conn.SetReadDeadline(time.Now().Add(patience))
				if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("idle connection %d outlived the server", i)
				}
			}
		}
	})
}
