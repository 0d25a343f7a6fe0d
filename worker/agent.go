package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/gorovod/gorovod/rendezvous"
	"github.com/gorovod/gorovod/worker/internal/child"
	"github.com/gorovod/gorovod/worker/internal/link"
)

// lastPosts is how long an agent goes on posting what its workers had written after it was told to end. The driver
// that told it is waiting for that; a driver that is gone refuses at once.
const lastPosts = time.Second

// closingGrace is how long a worker may take from closing its pipe to its agent until it has ended.
const closingGrace = 500 * time.Millisecond

// agent holds the workers of one host.
type agent struct {
	job  Job
	exe  string
	host string

	// posts bounds what is sent to the driver. It outlives the workers' context by lastPosts.
	posts context.Context

	mu      sync.Mutex
	reports *json.Encoder
}

// Agent does the Job that stdin begins with. It ends when all workers have ended and stdin has, or, killing the
// workers, as soon as stdin or ctx ends. What the driver must know and cannot hear from the rendezvous server is
// written to stdout as Reports.
func Agent(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	a := &agent{reports: json.NewEncoder(stdout)}
	in := bufio.NewReader(stdin)
	var err error
	if a.job, err = readJob(in); err == nil {
		err = a.prepare()
	}
	if err != nil {
		a.report(Report{Rank: AllRanks, Error: err.Error()})
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	driverGone := make(chan struct{})
	go func() {
		// Nothing more comes; what counts is the end.
		_, _ = io.Copy(io.Discard, in)
		cancel()
		close(driverGone)
	}()
	posts, stopPosts := context.WithCancel(context.WithoutCancel(ctx))
	defer stopPosts()
	a.posts = posts
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(lastPosts):
			stopPosts()
		case <-posts.Done():
		}
	})
	defer stop()
	var ranks sync.WaitGroup
	for _, slot := range a.job.Slots {
		ranks.Go(func() { a.run(ctx, slot) })
	}
	ranks.Wait()
	a.report(Report{Done: true})
	select {
	case <-driverGone:
	case <-ctx.Done():
	}
	return nil
}

func (a *agent) prepare() error {
	a.exe = a.job.Executable
	if a.exe == "" {
		exe, err := self()
		if err != nil {
			return err
		}
		a.exe = exe
	}
	var err error
	if a.host, err = os.Hostname(); err != nil {
		a.host = a.job.Slots[0].Host
	}
	return nil
}

func (a *agent) report(r Report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.reports.Encode(r) // a driver that does not read any more has closed standard input too
}

// run runs the worker of one slot, from its start to its last output.
func (a *agent) run(ctx context.Context, slot rendezvous.Slot) {
	driver := a.job.Driver
	client := rendezvous.NewClient(rendezvous.ClientConfig{
		Addr: driver.Addr, Fingerprint: driver.Fingerprint, Token: driver.Token, Rank: slot.Rank,
	})
	defer client.Close()
	r := &held{agent: a, slot: slot, client: client}
	process, err := child.Start(child.Spec{
		Path: a.exe, Args: []string{roleWorker}, Env: a.job.environ(slot), Dir: a.job.Dir, Talk: true, Terse: terse(),
	})
	if err != nil {
		r.failedToStart(fmt.Errorf("start a worker on %s: %w", a.host, err))
		return
	}
	defer process.Events.Close()
	stop := context.AfterFunc(ctx, process.KillGroup)
	defer stop()
	r.process = process
	r.peer = link.NewPeer(process.Events, process.Control, link.Config{
		Before: process.Drain, Notify: r.notified, Handle: r.asked,
	})
	// The job goes into the pipe while the worker is still starting, and the output is opened meanwhile.
	job, err := link.New("job", slotJob{Driver: driver, Slot: slot})
	if err == nil {
		err = r.peer.Notify(job)
	}
	if err == nil {
		r.out, err = client.Output(a.posts)
	}
	if err != nil {
		process.KillGroup()
		process.Wait()
		if ctx.Err() == nil {
			a.report(Report{Rank: slot.Rank, Error: err.Error()})
		}
		return
	}
	r.attend(ctx)
}

// held is a worker in the agent's hands.
type held struct {
	agent   *agent
	slot    rendezvous.Slot
	client  *rendezvous.Client
	process *child.Child
	peer    *link.Peer
	out     *rendezvous.OutputWriter
	lines   *lineOutput

	mu        sync.Mutex
	delivered bool  // the worker has put its result or failure
	lost      error // why the agent has stopped it
}

// attend hears the worker until it has ended and passes on what it hears.
func (r *held) attend(ctx context.Context) {
	r.post(rendezvous.RankStatus{State: rendezvous.StateStarting, PID: r.process.PID(), Host: r.agent.host}.Record())
	r.lines = newLineOutput(r.post)
	r.process.Listen(r.lines.write)
	var events sync.WaitGroup
	events.Go(func() {
		err := r.peer.Serve(ctx)
		if err == nil {
			// It has closed its end, by ending or otherwise. Ending takes it a moment.
			select {
			case <-r.process.Done():
				return
			case <-time.After(closingGrace):
			}
			err = errors.New("it closed the pipe on which it talks with its agent")
		}
		r.giveUp(fmt.Errorf("was stopped because it could not be talked with any more: %w", err))
	})
	exit := r.process.Wait()
	// The worker's end of the pipe is closed; a process that it passed it to must not hold us up.
	_ = r.process.Events.SetReadDeadline(time.Now().Add(time.Second))
	events.Wait()
	r.lines.close()
	if ctx.Err() == nil {
		r.obituary(exit)
	}
	if err := r.out.Close(); err != nil && ctx.Err() == nil {
		r.agent.report(Report{Rank: r.slot.Rank, Error: fmt.Sprintf("not all of its output could be sent: %v", err)})
	}
}

// post sends a record. When that fails the run cannot be whole any more, so the worker is stopped.
func (r *held) post(record rendezvous.Record) {
	if err := r.out.Write(record); err != nil {
		r.giveUp(fmt.Errorf("was stopped because its output could not be sent to the driver: %w", err))
	}
}

// giveUp stops a worker that cannot go on. Once it has ended this changes nothing.
func (r *held) giveUp(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.process.Done():
		return
	default:
	}
	if r.lost == nil {
		r.lost = why
	}
	r.process.KillGroup()
}

// The messages that a worker sends its agent.
const (
	msgStatus    = "status"    // RankStatus
	msgDelivered = "delivered" // the result or failure is with the driver
	msgDisplay   = "display"   // a request; the bundle is its blob
)

func (r *held) notified(m *link.Message) {
	switch m.Method {
	case msgDelivered:
		r.mu.Lock()
		r.delivered = true
		r.mu.Unlock()
	case msgStatus:
		var status rendezvous.RankStatus
		if err := m.Decode(&status); err == nil {
			status.PID, status.Host = r.process.PID(), r.agent.host
			r.post(status.Record())
		}
	}
}

func (r *held) asked(_ context.Context, m *link.Message) (*link.Message, error) {
	if m.Method != msgDisplay || len(m.Blobs) != 1 {
		return nil, fmt.Errorf("a worker's agent does not answer %q", m.Method)
	}
	// The pipes were drained before; what was read of a line comes before the picture too.
	r.lines.flush()
	if err := r.out.Write(rendezvous.Record{Kind: rendezvous.Display, Data: m.Blobs[0]}); err != nil {
		return nil, err
	}
	return nil, nil
}

// obituary tells the driver of a worker that ended without having told it anything.
func (r *held) obituary(exit child.Exit) {
	r.mu.Lock()
	delivered, lost := r.delivered, r.lost
	r.mu.Unlock()
	if delivered && lost == nil {
		return
	}
	f := rendezvous.Failure{
		Kind: rendezvous.FailureExit, Message: exit.String(), ExitCode: exit.Code, Signal: exit.Signal, LastOutput: exit.Tail,
	}
	switch {
	case lost != nil:
		f.Message = lost.Error()
	case exit.Signal != "":
		f.Kind = rendezvous.FailureSignal
	case exit.Code == 0:
		f.Message = "exited with code 0 without giving a result: something ended the process before the code was through"
	}
	r.putFailure(f)
}

func (r *held) putFailure(f rendezvous.Failure) {
	err := r.client.PutFailure(r.agent.posts, f)
	// A worker may die between putting its result and telling us so.
	if err != nil && !errors.Is(err, rendezvous.ErrConflict) && r.agent.posts.Err() == nil {
		r.agent.report(Report{Rank: r.slot.Rank, Error: fmt.Sprintf("it %s; and the driver could not be told: %v", f.Message, err)})
	}
}

// failedToStart reports a worker that never was, and gives it the empty output that makes it a finished one.
func (r *held) failedToStart(cause error) {
	r.putFailure(rendezvous.Failure{Kind: rendezvous.FailureStart, Message: cause.Error()})
	out, err := r.client.Output(r.agent.posts)
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		r.agent.report(Report{Rank: r.slot.Rank, Error: fmt.Sprintf("%v; and: %v", cause, err)})
	}
}
