package rendezvous

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are pipes in memory, so that fuzzing
// needs no ports and no TLS: what is fuzzed is what comes out of TLS.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.conns <- far
	return near
}

// exchange sends input and returns all that came back until nothing more did.
func exchange(p *pipes, input []byte) []byte {
	conn := p.dial()
	var wg sync.WaitGroup
	wg.Go(func() { conn.Write(input) })
	conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	back, _ := io.ReadAll(conn)
	conn.Close()
	wg.Wait()
	return back
}

// FuzzHTTP sends arbitrary bytes to the server. TOKEN stands for the run's
// token. Without it nothing must reach the driver; with it no more than one
// result or failure; and whatever came, the rank beside gets what it needs.
func FuzzHTTP(f *testing.F) {
	auth := "Bearer TOKEN"
	for _, route := range everyRoute {
		path := strings.Replace(route.path, "/4", "/0", 1)
		f.Add([]byte(request(route.method, path, auth)))
		f.Add([]byte(request(route.method, path, auth, "Content-Length: 5") + "hello"))
		f.Add([]byte(request(route.method, path, auth, "Transfer-Encoding: chunked") + "5\r\nhello\r\n0\r\n\r\n"))
		f.Add([]byte(request(route.method, path, "Bearer wrong", "Content-Length: 5") + "hello"))
	}
	f.Add([]byte(request("PUT", "/v1/ranks/0/failure", auth, "Content-Length: 15") + `{"kind":"exit"}` +
		request("PUT", "/v1/ranks/0/result", auth, "Content-Length: 1") + "x"))
	f.Add([]byte(request("POST", "/v1/ranks/0/output", auth, "Content-Length: 14") + "o\x00\x00\x00\x01ae\x00\x00\x00\x02bc"))
	f.Add([]byte(request("POST", "/v1/ranks/0/output", auth, "Content-Length: 5") + "o\xff\xff\xff\xff"))
	f.Add([]byte(request("PUT", "/v1/ranks/0/result", auth, "Content-Length: 10000000000")))
	f.Add([]byte(request("PUT", "/v1/ranks/0/result", auth, "Expect: 100-continue", "Content-Length: 3") + "abc"))
	f.Add([]byte(request("PUT", "/v1/kv/%2e%2e/%00", auth, "Content-Length: 1") + "x" + request("GET", "/v1/kv/%2e%2e/%00?wait=1ns", auth)))
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	f.Add([]byte(request("GET", "/healthz", auth, "Connection: Upgrade", "Upgrade: h2c")))
	f.Add([]byte("GET http://other/v1/program HTTP/1.0\r\nAuthorization: Bearer TOKEN\r\n\r\n"))

	f.Fuzz(func(t *testing.T, input []byte) {
		// In a bubble time passes only when nothing else can happen, so a
		// body that does not go on is waited out at once.
		synctest.Test(t, func(t *testing.T) { fuzzHTTP(t, input) })
	})
}

func fuzzHTTP(t *testing.T, input []byte) {
	rec := newRecorder()
	lim := defaultLimits(2)
	lim.maxWait = 0 // waiting is not what is fuzzed
	lim.goodbye = 0
	s, err := newServer(Config{Program: []byte("the program"), Slots: slots(2), Events: rec, MaxResult: 1 << 20}, lim)
	if err != nil {
		t.Fatal(err)
	}
	ln := newPipes()
	s.serve(ln, false)
	s.Cancel("fuzz") // control connections answer and end

	named := bytes.Contains(input, []byte("TOKEN"))
	back := exchange(ln, bytes.ReplaceAll(input, []byte("TOKEN"), []byte(s.Token())))
	checkFirstAnswer(t, back)

	own := exchange(ln, []byte(request("GET", "/v1/program", bearer(s))))
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(own)), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("afterwards the program was answered with %.200q, %v", own, err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "the program" {
		t.Errorf("afterwards the program was %q, %v", body, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for rank, h := range rec.ranks {
		if !named {
			t.Errorf("rank %d: the driver heard %+v from a request without the token", rank, *h)
		}
		if len(h.results)+len(h.failures) > 1 || h.ended > 1 {
			t.Errorf("rank %d: the driver heard %+v", rank, *h)
		}
	}
}

// checkFirstAnswer checks that what came back begins with an answer, and that
// it is one that the server means to give.
func checkFirstAnswer(t *testing.T, back []byte) {
	t.Helper()
	if len(back) == 0 {
		return // hung up on, or the request was not complete
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(back)), nil)
	if err != nil {
		t.Fatalf("the answer is no HTTP: %v: %.200q", err, back)
	}
	switch code := resp.StatusCode; {
	case code == 100, code == 200, code == 204, code/100 == 4, code == 501, code == 505, code == 507:
	default:
		t.Errorf("status %d: %.300q", code, back)
	}
}

// untimed is the pace of a body that is in memory.
type untimed struct{}

func (untimed) between() error { return nil }
func (untimed) within() error  { return nil }

// FuzzRecords reads arbitrary bytes as an output body. What is read must
// survive being sent again.
func FuzzRecords(f *testing.F) {
	f.Add([]byte("o\x00\x00\x00\x01a"))
	f.Add([]byte("e\x00\x00\x00\x00s\x00\x00\x00\x02{}"))
	f.Add([]byte("\xe4\x00\x00\x00\x02abd\x00\x00\x00\x01c"))
	f.Add([]byte("\xe4\x00\x00\x00\x02abo\x00\x00\x00\x01c"))
	f.Add([]byte("\xe4\x00\x00\x00\x00"))
	f.Add([]byte("d\x00\x10\x00\x01"))
	f.Add([]byte("x\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := readAllRecords(data)
		var frame *frameError
		if err != io.EOF && err != io.ErrUnexpectedEOF && !errors.As(err, &frame) {
			t.Fatalf("reading from memory failed: %v", err)
		}
		total := 0
		var again []byte
		for _, r := range records {
			if err := r.check(); err != nil {
				t.Fatalf("a record was read that may not be sent: %v", err)
			}
			total += len(r.Data)
			for first := true; first || len(r.Data) > 0; first = false {
				again, r = r.appendFrame(again)
			}
		}
		if total > len(data) {
			t.Fatalf("%d bytes of records out of %d bytes", total, len(data))
		}
		second, err := readAllRecords(again)
		if err != io.EOF {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if len(second) != len(records) {
			t.Fatalf("%d records became %d", len(records), len(second))
		}
		for i, r := range records {
			if r.Kind != second[i].Kind || !bytes.Equal(r.Data, second[i].Data) {
				t.Fatalf("record %d: %s %q became %s %q", i, r.Kind, r.Data, second[i].Kind, second[i].Data)
			}
		}
	})
}

func readAllRecords(data []byte) (records []Record, err error) {
	br := bufio.NewReader(bytes.NewReader(data))
	for {
		r, err := readRecord(br, untimed{})
		if err != nil {
			return records, err
		}
		records = append(records, r)
	}
}
