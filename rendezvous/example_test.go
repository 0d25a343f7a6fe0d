package rendezvous_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/gorovod/gorovod/rendezvous"
)

// printer is the Events of a driver that only prints. ended is closed when its
// one rank has finished.
type printer struct{ ended chan struct{} }

func (p printer) Record(rank int, r rendezvous.Record) {
	fmt.Printf("[%d] %s: %s", rank, r.Kind, r.Data)
}
func (p printer) OutputEnded(rank int, err error) {
	fmt.Printf("[%d] output ended: %v\n", rank, err)
	close(p.ended)
}
func (p printer) Result(rank int, value []byte) { fmt.Printf("[%d] result: %s\n", rank, value) }
func (p printer) Failed(rank int, f rendezvous.Failure) {
	fmt.Printf("[%d] failed: %s: %s\n", rank, f.Kind, f.Message)
}
func (p printer) ControlLost(rank int) { fmt.Printf("[%d] gone\n", rank) }

// oneRank starts a server for a run of one rank, and a client for that rank.
func oneRank(p printer) (*rendezvous.Server, *rendezvous.Client) {
	server, err := rendezvous.Start(rendezvous.Config{
		Program: []byte("1 + 1"),
		Slots:   []rendezvous.Slot{{Rank: 0, Size: 1, LocalSize: 1, CrossSize: 1, Host: "localhost"}},
		Events:  p,
	})
	if err != nil {
		log.Fatal(err)
	}
	return server, rendezvous.NewClient(rendezvous.ClientConfig{
		Addr:        server.Addr(),
		Fingerprint: server.Fingerprint(),
		Token:       server.Token(),
		Rank:        0,
	})
}

// A whole run of one rank. The client is used in this process here; in a real
// run it is in the worker's and the agent's.
func ExampleStart() {
	driver := printer{ended: make(chan struct{})}
	server, client := oneRank(driver)
	defer server.Close()
	defer client.Close()
	ctx := context.Background()

	slot, err := client.Slot(ctx)
	if err != nil {
		log.Fatal(err)
	}
	program, err := client.Program(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("rank %d of %d runs %q\n", slot.Rank, slot.Size, program)

	output, err := client.Output(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := output.Write(rendezvous.Record{Kind: rendezvous.Stdout, Data: []byte("adding\n")}); err != nil {
		log.Fatal(err)
	}
	if err := output.Close(); err != nil { // all of it has arrived
		log.Fatal(err)
	}
	<-driver.ended
	if err := client.PutResult(ctx, []byte("2")); err != nil {
		log.Fatal(err)
	}
	// A result is given once.
	fmt.Println(errors.Is(client.PutResult(ctx, []byte("3")), rendezvous.ErrConflict))
	// Output:
	// rank 0 of 1 runs "1 + 1"
	// [0] stdout: adding
	// [0] output ended: <nil>
	// [0] result: 2
	// true
}

// A worker that holds its control connection hears of a cancellation at once.
func ExampleClient_Control() {
	server, client := oneRank(printer{})
	defer server.Close()
	defer client.Close()

	control, err := client.Control(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	server.Cancel("rank 3 failed")

	switch word := <-control; {
	case word.Lost != nil:
		fmt.Println("the driver is gone:", word.Lost)
	default:
		fmt.Println("stop:", word.Cancel)
	}
	// Output: stop: rank 3 failed
}

// A rank that has no result says why.
func ExampleClient_PutFailure() {
	server, client := oneRank(printer{})
	defer server.Close()
	defer client.Close()

	err := client.PutFailure(context.Background(), rendezvous.Failure{
		Kind:    rendezvous.FailurePanic,
		Message: "integer divide by zero",
		Stack:   []rendezvous.Frame{{Func: "main.main", File: "cell[3]", Line: 2, Column: 7}},
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [0] failed: panic: integer divide by zero
}

// Ranks find each other through the key-value store: one puts its address,
// the others wait for it.
func ExampleClient_KVGet() {
	server, client := oneRank(printer{})
	defer server.Close()
	defer client.Close()
	ctx := context.Background()

	if _, err := client.KVGet(ctx, "addresses", "0", 0); errors.Is(err, rendezvous.ErrNotFound) {
		fmt.Println("not there yet")
	}
	if err := client.KVPut(ctx, "addresses", "0", []byte("127.0.0.1:7000")); err != nil {
		log.Fatal(err)
	}
	addr, err := client.KVGet(ctx, "addresses", "0", time.Minute)
	fmt.Printf("%s %v\n", addr, err)
	// Output:
	// not there yet
	// 127.0.0.1:7000 <nil>
}

// What a rank is doing travels as a record among its output.
func ExampleRankStatus() {
	record := rendezvous.RankStatus{State: rendezvous.StateReady, PID: 4711, Host: "a"}.Record()
	fmt.Printf("%s %s\n", record.Kind, record.Data)
	status, err := record.Status()
	fmt.Println(status.State, status.PID, err)
	// Output:
	// status {"state":"ready","pid":4711,"host":"a"}
	// ready 4711 <nil>
}
