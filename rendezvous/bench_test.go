package rendezvous

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// discard is the Events of a benchmark.
type discard struct{}

func (discard) Record(int, Record)     {}
func (discard) OutputEnded(int, error) {}
func (discard) Result(int, []byte)     {}
func (discard) Failed(int, Failure)    {}
func (discard) ControlLost(int)        {}

func benchServer(b *testing.B, ranks int, program []byte) *Server {
	b.Helper()
	s, err := Start(Config{Program: program, Slots: slots(ranks), Events: discard{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// together runs f for each rank at the same time.
func together(b *testing.B, ranks int, f func(rank int) error) {
	b.Helper()
	var wg sync.WaitGroup
	for rank := range ranks {
		wg.Go(func() {
			if err := f(rank); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

func benchClients(b *testing.B, s *Server, ranks int) []*Client {
	b.Helper()
	clients := make([]*Client, ranks)
	for rank := range clients {
		clients[rank] = clientOf(b, s, rank)
		if _, err := clients[rank].Slot(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	return clients
}

const largePayload = 100 << 20

// BenchmarkProgram fetches a Program of 100 MB.
func BenchmarkProgram(b *testing.B) {
	program := randomBytes(largePayload)
	for _, ranks := range []int{1, 4} {
		b.Run(fmt.Sprintf("ranks=%d", ranks), func(b *testing.B) {
			s := benchServer(b, ranks, program)
			clients := benchClients(b, s, ranks)
			b.SetBytes(int64(ranks) * largePayload)
			for b.Loop() {
				together(b, ranks, func(rank int) error {
					_, err := clients[rank].Program(context.Background())
					return err
				})
			}
		})
	}
}

// BenchmarkResult sends results of 100 MB. A rank has one result, so each turn
// is a run of its own; only the sending is timed.
func BenchmarkResult(b *testing.B) {
	value := randomBytes(largePayload)
	for _, ranks := range []int{1, 4} {
		b.Run(fmt.Sprintf("ranks=%d", ranks), func(b *testing.B) {
			b.SetBytes(int64(ranks) * largePayload)
			for b.Loop() {
				b.StopTimer()
				s := benchServer(b, ranks, nil)
				clients := benchClients(b, s, ranks)
				b.StartTimer()
				together(b, ranks, func(rank int) error {
					return clients[rank].PutResult(context.Background(), value)
				})
				b.StopTimer()
				for _, c := range clients {
					c.Close()
				}
				s.Close()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkOutput sends 10 MB of output, in lines.
func BenchmarkOutput(b *testing.B) {
	line := Record{Kind: Stdout, Data: append(make([]byte, 79), '\n')}
	const lines = 10 << 20 / 80
	b.SetBytes(lines * 80)
	for b.Loop() {
		b.StopTimer()
		s := benchServer(b, 1, nil)
		c := benchClients(b, s, 1)[0]
		b.StartTimer()
		out, err := c.Output(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		for range lines {
			if err := out.Write(line); err != nil {
				b.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		c.Close()
		s.Close()
		b.StartTimer()
	}
}

// BenchmarkRanks is a whole run but for the processes: every rank connects,
// fetches its slot and the Program, writes some lines and gives its result.
// What it costs per rank should not depend on how many there are.
func BenchmarkRanks(b *testing.B) {
	program, result := randomBytes(64<<10), randomBytes(1<<10)
	for _, ranks := range []int{4, 16, 64, 256} {
		b.Run(fmt.Sprintf("ranks=%d", ranks), func(b *testing.B) {
			for b.Loop() {
				s, err := Start(Config{Program: program, Slots: slots(ranks), Events: discard{}})
				if err != nil {
					b.Fatal(err)
				}
				together(b, ranks, func(rank int) error {
					c := NewClient(ClientConfig{Addr: s.Addr(), Fingerprint: s.Fingerprint(), Token: s.Token(), Rank: rank})
					defer c.Close()
					return runRank(context.Background(), c, rank, program, result)
				})
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*ranks), "µs/rank")
		})
	}
}
