package rendezvous

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

func TestParseListen(t *testing.T) {
	for _, test := range []struct {
		in   string
		want listenSpec
		bad  string
	}{
		{in: "", want: listenSpec{"127.0.0.1", 0, 0}},
		{in: "8080", want: listenSpec{"127.0.0.1", 8080, 8080}},
		{in: "10000-10100", want: listenSpec{"127.0.0.1", 10000, 10100}},
		{in: " 10000 - 10100 ", want: listenSpec{"127.0.0.1", 10000, 10100}},
		{in: "10.0.0.1:0", want: listenSpec{"10.0.0.1", 0, 0}},
		{in: ":8080", want: listenSpec{"", 8080, 8080}},
		{in: "[::1]:10-20", want: listenSpec{"::1", 10, 20}},
		{in: "driver.local:1-1", want: listenSpec{"driver.local", 1, 1}},
		{in: "driver.local", bad: "no usable port"},
		{in: "host:", bad: "no usable port"},
		{in: "host:http", bad: "no usable port"},
		{in: "host:65536", bad: "no usable port"},
		{in: "host:-1", bad: "no usable port"},
		{in: "host:20-10", bad: "empty"},
		{in: "host:0-10", bad: "empty"},
		{in: "::1:80", bad: "no address"},
	} {
		got, err := parseListen(test.in)
		switch {
		case test.bad == "" && (err != nil || got != test.want):
			t.Errorf("%q: %+v, %v; want %+v", test.in, got, err, test.want)
		case test.bad != "" && (err == nil || !strings.Contains(err.Error(), test.bad) || !strings.Contains(err.Error(), strconv.Quote(test.in))):
			t.Errorf("%q: error %v; want one with %q", test.in, err, test.bad)
		}
	}
}

func TestListen(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	port := busy.Addr().(*net.TCPAddr).Port

	_, err = Start(Config{Listen: fmt.Sprint(port), Slots: slots(1), Events: newRecorder()})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("127.0.0.1:%d", port)) {
		t.Errorf("a busy port: %v", err)
	}

	// The next free port of a range is taken.
	last := min(port+50, 65535)
	s, err := Start(Config{Listen: fmt.Sprintf("%d-%d", port, last), Slots: slots(1), Events: newRecorder()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, text, err := net.SplitHostPort(s.Addr())
	got, _ := strconv.Atoi(text)
	if err != nil || got <= port || got > last {
		t.Errorf("of the range %d-%d with the first one busy, %s was taken (%v)", port, last, s.Addr(), err)
	}

	for _, listen := range []string{"0.0.0.0:0", "[::1]:0", "localhost:0"} {
		s, err := Start(Config{Listen: listen, Slots: slots(1), Events: newRecorder()})
		if err != nil {
			if strings.HasPrefix(listen, "[") {
				t.Logf("no IPv6 here: %v", err)
				continue
			}
			t.Fatal(err)
		}
		addr := strings.Replace(s.Addr(), "0.0.0.0", "127.0.0.1", 1)
		addr = strings.Replace(addr, "[::]", "127.0.0.1", 1)
		c := NewClient(ClientConfig{Addr: addr, Fingerprint: s.Fingerprint(), Token: s.Token()})
		if slot, err := c.Slot(testContext(t)); err != nil || slot != slots(1)[0] {
			t.Errorf("%s: slot %+v, %v", listen, slot, err)
		}
		c.Close()
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", listen, err)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	ok := func() Config { return Config{Slots: slots(2), Events: newRecorder()} }
	for _, test := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no events", func(c *Config) { c.Events = nil }, "Events"},
		{"no slots", func(c *Config) { c.Slots = nil }, "Slots is empty"},
		{"a rank twice", func(c *Config) { c.Slots[1].Rank = 0 }, "rank 0 twice"},
		{"a rank beyond", func(c *Config) { c.Slots[1].Rank = 2 }, "rank 2"},
		{"a negative rank", func(c *Config) { c.Slots[1].Rank = -1 }, "rank -1"},
		{"a negative limit", func(c *Config) { c.MaxResult = -1 }, "MaxResult"},
		{"a bad address", func(c *Config) { c.Listen = "nowhere" }, "nowhere"},
	} {
		cfg := ok()
		test.change(&cfg)
		s, err := Start(cfg)
		if err == nil {
			s.Close()
			t.Errorf("%s: started", test.name)
			continue
		}
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want it to name %q", test.name, err, test.want)
		}
	}
}

// serialEvents checks that the calls for one rank never overlap.
type serialEvents struct {
	*recorder
	t    *testing.T
	busy [4]atomic.Bool
}

func (e *serialEvents) enter(rank int) func() {
	if !e.busy[rank].CompareAndSwap(false, true) {
		e.t.Errorf("rank %d: two events at once", rank)
	}
	return func() { e.busy[rank].Store(false) }
}

func (e *serialEvents) Record(rank int, r Record) {
	defer e.enter(rank)()
	e.recorder.Record(rank, r)
}

func (e *serialEvents) OutputEnded(rank int, err error) {
	defer e.enter(rank)()
	e.recorder.OutputEnded(rank, err)
}

func (e *serialEvents) Result(rank int, value []byte) {
	defer e.enter(rank)()
	e.recorder.Result(rank, value)
}

func TestEventsOfARankAreSerial(t *testing.T) {
	var rec *serialEvents
	s, inner := start(t, 4, func(cfg *Config, _ *limits) {
		rec = &serialEvents{recorder: cfg.Events.(*recorder), t: t}
		cfg.Events = rec
	})
	ctx := testContext(t)
	errs := make(chan error)
	for rank := range 4 {
		c := clientOf(t, s, rank)
		l := &liveRank{rank: rank, client: c}
		go func() {
			err := l.begin(ctx, []byte("the program"))
			sent := make(chan error)
			// The worker's result and the agent's output race.
			go func() { sent <- c.PutResult(ctx, []byte("r")) }()
			if err == nil {
				err = l.lines(rankLines/2, rankLines)
			}
			if e := <-sent; err == nil {
				err = e
			}
			if err == nil {
				err = l.out.Close()
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for rank := range 4 {
		checkRank(t, inner, rank, []byte("r"))
	}
}
