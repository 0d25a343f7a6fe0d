package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/gorovod/gorovod/rendezvous"
	"github.com/gorovod/gorovod/worker/internal/link"
)

// slotProcess is a worker: one rank of a run.
type slotProcess struct {
	peer   *link.Peer
	engine Engine
	end    context.CancelCauseFunc
	jobs   chan slotJob
}

// Slot is the work of a worker process: it takes its slot from the agent at the other end of r and w, evaluates the
// run's Program with the engine and puts what comes of it. It returns when that is done, or when the agent or the
// driver is gone or has called the run off; then the process must end, whatever the user's code is still doing.
func Slot(ctx context.Context, r io.Reader, w io.Writer, engine Engine) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := &slotProcess{engine: engine, end: end, jobs: make(chan slotJob, 1)}
	s.peer = link.NewPeer(r, w, link.Config{Notify: s.notified})
	go func() {
		err := s.peer.Serve(ctx)
		end(errors.Join(errParentGone, err))
	}()
	var job slotJob
	select {
	case job = <-s.jobs:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return s.run(ctx, job)
}

func (s *slotProcess) notified(m *link.Message) {
	var job slotJob
	if m.Method == "job" && m.Decode(&job) == nil {
		select {
		case s.jobs <- job:
		default: // there is one job
		}
	}
}

func (s *slotProcess) run(ctx context.Context, job slotJob) error {
	client := rendezvous.NewClient(rendezvous.ClientConfig{
		Addr: job.Driver.Addr, Fingerprint: job.Driver.Fingerprint, Token: job.Driver.Token, Rank: job.Slot.Rank,
	})
	defer client.Close()
	program, err := s.connect(ctx, client)
	if err != nil {
		return s.outcome(ctx, client, nil, &rendezvous.Failure{Kind: rendezvous.FailureStart, Message: err.Error()})
	}
	s.status(rendezvous.StateConnected)
	type result struct {
		value   []byte
		failure *rendezvous.Failure
	}
	done := make(chan result, 1)
	// The user's code may never return, so nobody waits for this goroutine but for what it gives: the process
	// ends when Slot does.
	go func() {
		var once sync.Once
		value, failure := s.engine.Program(ctx, program, Surroundings{
			Slot:    job.Slot,
			Display: func(bundle []byte) error { return s.display(ctx, bundle) },
			Ready:   func() { once.Do(func() { s.status(rendezvous.StateReady) }) },
		})
		done <- result{value, failure}
	}()
	select {
	case r := <-done:
		return s.outcome(ctx, client, r.value, r.failure)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// connect fetches the Program while the control connection is being made, which takes as long.
func (s *slotProcess) connect(ctx context.Context, client *rendezvous.Client) ([]byte, error) {
	var control <-chan rendezvous.Control
	var refused error
	var dialing sync.WaitGroup
	dialing.Go(func() { control, refused = client.Control(ctx) })
	program, err := client.Program(ctx)
	dialing.Wait()
	if err = errors.Join(err, refused); err != nil {
		return nil, err
	}
	go func() {
		if word, ok := <-control; ok {
			cause := fmt.Errorf("%w: the run was called off: %s", errParentGone, word.Cancel)
			if word.Lost != nil {
				cause = fmt.Errorf("%w: %w", errParentGone, word.Lost)
			}
			s.end(cause)
		}
	}()
	return program, nil
}

// outcome puts the rank's value or failure, and tells the agent that the driver has it.
func (s *slotProcess) outcome(ctx context.Context, client *rendezvous.Client, value []byte, f *rendezvous.Failure) error {
	var err error
	if f == nil {
		err = client.PutResult(ctx, value)
		if errors.Is(err, rendezvous.ErrTooLarge) {
			f = &rendezvous.Failure{Kind: rendezvous.FailureResult, Message: fmt.Sprintf("its result of %d bytes is larger than the driver takes: %v", len(value), err)}
		}
	}
	if f != nil {
		err = client.PutFailure(ctx, *f)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("rank's outcome: %w", err)
	}
	// The agent may already be gone, having heard from the driver; then it needs no word.
	_ = s.peer.Notify(&link.Message{Method: msgDelivered})
	if f != nil {
		return errRankFailed
	}
	return nil
}

func (s *slotProcess) status(state string) {
	if m, err := link.New(msgStatus, rendezvous.RankStatus{State: state}); err == nil {
		_ = s.peer.Notify(m) // a lost agent is noticed by the one who reads
	}
}

// display shows a bundle. It returns when the agent has put it behind all output that was written before.
func (s *slotProcess) display(ctx context.Context, bundle []byte) error {
	_, err := s.peer.Call(ctx, &link.Message{Method: msgDisplay, Blobs: [][]byte{bundle}})
	if err != nil {
		return fmt.Errorf("cannot display: %w", err)
	}
	return nil
}
