package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/rendezvous"
	"github.com/gorovod/gorovod/value"
	"github.com/gorovod/gorovod/worker"
)

const (
	// After the first failure the run stays open this long for others that belong to it: when a rank dies, the
	// ranks that were talking with it fail too, and their word may be here first.
	settle = 50 * time.Millisecond
	// And this long for the last output of a rank that has failed.
	settleOutput = 150 * time.Millisecond
	// How long agents may take to end before they are killed.
	agentGrace = 2 * time.Second
)

// Run runs a Program on the ranks that the options ask for and returns what each of them returns, by rank. It returns
// when every process that it has started is gone.
//
// The error is a *UsageError when the options were refused and nothing was started, a *RunError when a rank failed,
// a *TimeoutError, or wraps the cause of the context's end. With an *OutputError the results are there and whole.
func Run(ctx context.Context, p *interp.Program, o Options) ([]Result, error) {
	if p == nil {
		return nil, errNoProgram
	}
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	if o.DryRun {
		text, err := Plan(p, o)
		if err == nil {
			_, err = io.WriteString(o.Stdout, text)
		}
		return nil, err
	}
	program, err := p.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode the program %s: %w", p.Name, err)
	}
	return execute(ctx, program, o)
}

// Result is what one rank returned.
type Result struct {
	Rank     int
	Host     string
	PID      int
	Value    []byte        // as package value encodes it; empty when the Program returns nothing
	Duration time.Duration // from when it began to evaluate until its result was here
}

// Decode reads the value into a variable of its type, given by a pointer. It is for values whose types this program
// knows too, such as []float64; a notebook reads the others.
func (r Result) Decode(into any) error {
	if len(r.Value) == 0 {
		return fmt.Errorf("decode the result of rank %d: the program returned nothing", r.Rank)
	}
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("decode the result of rank %d: into must be a pointer to a variable, not %T", r.Rank, into)
	}
	if err := value.Unmarshal(r.Value, v, value.Options{}); err != nil {
		return fmt.Errorf("decode the result of rank %d as %v: %w", r.Rank, v.Type().Elem(), err)
	}
	return nil
}

// run is one call of Run: the driver's side of everything.
type run struct {
	opts   Options
	slots  []rendezvous.Slot
	began  time.Time
	out    *outputs
	server *rendezvous.Server
	agents []*worker.AgentProcess

	changed chan struct{} // holds a value when something that await looks at has changed

	mu       sync.Mutex
	ranks    []rankState
	failures []RankFailure // as they came
	failedAt time.Time     // the first
	ending   bool          // what comes now changes nothing any more
}

// rankState is what is known of a rank.
type rankState struct {
	state  State
	since  time.Time // when it was seen to be in this state
	began  time.Time // when it began to evaluate
	host   string
	pid    int
	result *Result
	ended  bool // all its output is here
}

// execute runs an encoded program under checked options.
func execute(ctx context.Context, program []byte, o Options) (results []Result, err error) {
	if err := ctx.Err(); err != nil {
		return nil, stopped(ctx, "before any rank was started")
	}
	slots, err := place([]host{localHost(o.NumProc)}, o.NumProc)
	if err != nil {
		return nil, err
	}
	r := &run{opts: o, slots: slots, began: time.Now(), changed: make(chan struct{}, 1), ranks: make([]rankState, len(slots))}
	for i, slot := range slots {
		r.ranks[i] = rankState{state: StateWaiting, since: r.began, host: slot.Host}
	}
	if r.out, err = newOutputs(o); err != nil {
		return nil, err
	}
	defer func() {
		if werr := r.out.finish(); werr != nil {
			err = errors.Join(err, werr)
		}
	}()
	if err := r.start(program); err != nil {
		r.end(err.Error())
		return nil, err
	}
	err = r.await(ctx)
	if err == nil {
		r.end("")
		return r.results(), nil
	}
	r.end(err.Error())
	return nil, err
}

// start starts the agent, and the rendezvous server while the agent gets going.
func (r *run) start(program []byte) error {
	agent, err := worker.StartAgent(r.opts.Executable, r.reported)
	if err != nil {
		return fmt.Errorf("run on %s: %w", r.slots[0].Host, err)
	}
	r.agents = append(r.agents, agent)
	r.phase("agent started, pid %d, from %s", agent.PID(), r.opts.Executable)
	r.server, err = rendezvous.Start(rendezvous.Config{
		Program: program, Slots: r.slots, Events: r, Logger: r.opts.Logger,
	})
	if err != nil {
		return fmt.Errorf("start the run's server: %w", err)
	}
	r.phase("rendezvous server at %s, program of %d bytes", r.server.Addr(), len(program))
	err = agent.Give(worker.Job{
		Driver: worker.Driver{Addr: r.server.Addr(), Fingerprint: r.server.Fingerprint(), Token: r.server.Token()},
		Slots:  r.slots, Env: r.opts.Env, Dir: r.opts.Dir,
	})
	if err != nil {
		// It does not read, so it is ending or will not be of use; await tells of its end.
		r.opts.Logger.Debug("give the agent its job", "err", err)
		agent.Kill()
	}
	return nil
}

func (r *run) phase(format string, args ...any) {
	if r.opts.Verbose {
		r.out.verbose(time.Since(r.began), format, args...)
	}
}

// await waits for the end of the run: nil when every rank has returned.
func (r *run) await(ctx context.Context) error {
	starting := time.NewTimer(r.opts.StartTimeout - time.Since(r.began))
	defer starting.Stop()
	var late <-chan time.Time
	if r.opts.Timeout > 0 {
		timer := time.NewTimer(r.opts.Timeout - time.Since(r.began))
		defer timer.Stop()
		late = timer.C
	}
	ready := false
	for {
		s := r.look()
		if s.ready && !ready {
			ready = true
			starting.Stop()
			r.phase("all ranks ready")
		}
		switch {
		case s.over:
			return s.failure
		case ctx.Err() != nil:
			return stopped(ctx, rankList(s.unfinished)+" of "+fmt.Sprint(len(r.ranks))+" had not finished and "+plural(s.unfinished, "was", "were")+" stopped")
		}
		var settled <-chan time.Time
		if s.settles > 0 {
			settled = time.After(s.settles)
		}
		gone := r.agents[0].Ended()
		if s.failure != nil || s.settles > 0 {
			gone = nil // that would be news no more
		}
		select {
		case <-r.changed:
		case <-settled:
		case <-gone:
			r.agentGone(r.agents[0])
		case <-ctx.Done():
		case <-starting.C:
			if err := r.timedOut(true); err != nil {
				return err
			}
		case <-late:
			if err := r.timedOut(false); err != nil {
				return err
			}
		}
	}
}

// stopped is the error of a run whose context has ended.
func stopped(ctx context.Context, what string) error {
	return fmt.Errorf("the run was interrupted: %s: %w", what, context.Cause(ctx))
}

// outlook is how the run stands.
type outlook struct {
	over       bool
	failure    error
	ready      bool          // every rank has begun
	settles    time.Duration // when to look again although nothing has changed
	unfinished []int
}

func (r *run) look() outlook {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := outlook{ready: true}
	heard := true // the output of all failed ranks is here
	for i := range r.ranks {
		k := &r.ranks[i]
		s.ready = s.ready && k.state.ready()
		if !k.finished() {
			s.unfinished = append(s.unfinished, i)
		}
		heard = heard && (k.state != StateFailed || k.ended)
	}
	if len(r.failures) == 0 {
		s.over = len(s.unfinished) == 0
		return s
	}
	since := time.Since(r.failedAt)
	switch {
	case len(s.unfinished) == 0, since >= settle && heard, since >= settleOutput:
		s.over, s.failure = true, r.runError()
	case since < settle:
		s.settles = settle - since
	default:
		s.settles = settleOutput - since
	}
	return s
}

func (k *rankState) finished() bool {
	return k.ended && (k.result != nil || k.state == StateFailed)
}

// runError makes the error of a run with failures, with r.mu held.
func (r *run) runError() *RunError {
	e := &RunError{Size: len(r.ranks), Failures: slices.Clone(r.failures)}
	for i := range e.Failures {
		// A rank's failure may have been here before the agent's word on its process.
		f := &e.Failures[i]
		f.Host, f.PID = r.ranks[f.Rank].host, r.ranks[f.Rank].pid
	}
	// The first is the cause, unless it only says that somebody else stopped it.
	slices.SortStableFunc(e.Failures, func(a, b RankFailure) int {
		return consequence(a) - consequence(b)
	})
	for i := range r.ranks {
		switch {
		case r.ranks[i].result != nil:
			e.Done = append(e.Done, i)
		case r.ranks[i].state != StateFailed:
			e.Stopped = append(e.Stopped, i)
		}
	}
	return e
}

func consequence(f RankFailure) int {
	if f.Kind == rendezvous.FailureCanceled {
		return 1
	}
	return 0
}

// timedOut is the error of a timeout, or nil when the last rank came in together with it.
func (r *run) timedOut(start bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &TimeoutError{Start: start, After: r.opts.Timeout, Size: len(r.ranks), Addr: r.server.Addr()}
	if start {
		e.After = r.opts.StartTimeout
	}
	for i := range r.ranks {
		k := &r.ranks[i]
		if start && !k.state.ready() || !start && !k.finished() {
			e.Ranks = append(e.Ranks, RankTimeout{Rank: i, Host: k.host, PID: k.pid, State: k.state, Since: k.since.Sub(r.began)})
		}
	}
	if len(e.Ranks) == 0 {
		return nil
	}
	return e
}

// agentGone makes failures of the ranks that an agent has left behind.
func (r *run) agentGone(a *worker.AgentProcess) {
	message := "its agent " + a.Obituary()
	r.mu.Lock()
	silent := !slices.ContainsFunc(r.ranks, func(k rankState) bool { return k.state != StateWaiting })
	r.mu.Unlock()
	if silent {
		message += fmt.Sprintf(" (%s must be gorovod, or a program that calls worker.Main first thing in main)", r.opts.Executable)
	}
	r.lost(worker.AllRanks, message)
}

// lost makes a failure of a rank that can no more say anything for itself, or of all that have not finished.
func (r *run) lost(rank int, message string) {
	for i := range r.ranks {
		r.mu.Lock()
		finished, state := r.ranks[i].finished(), r.ranks[i].state
		r.mu.Unlock()
		if rank != i && (rank != worker.AllRanks || finished) {
			continue
		}
		f := rendezvous.Failure{Kind: rendezvous.FailureExit, Message: "was lost: " + message}
		if !state.ready() {
			f = rendezvous.Failure{Kind: rendezvous.FailureStart, Message: message}
		}
		r.fail(i, f)
		r.ended(i)
	}
}

// end ends whatever still runs and waits until it is gone.
func (r *run) end(reason string) {
	r.mu.Lock()
	r.ending = true
	var stopped []int
	for i := range r.ranks {
		if s := &r.ranks[i]; s.state != StateFailed && s.result == nil {
			s.state, s.since = StateStopped, time.Now()
			stopped = append(stopped, i)
		}
	}
	r.mu.Unlock()
	for _, a := range r.agents {
		a.Stop()
	}
	if reason != "" && r.server != nil {
		r.server.Cancel(reason)
	}
	late := time.NewTimer(agentGrace)
	defer late.Stop()
	for _, a := range r.agents {
		select {
		case <-a.Ended():
		case <-late.C:
			a.Kill()
			<-a.Ended()
		}
	}
	r.phase("all processes gone")
	if r.server != nil {
		if err := r.server.Close(); err != nil {
			r.opts.Logger.Debug("close the rendezvous server", "err", err)
		}
	}
	for _, i := range stopped {
		r.out.tell(r.event(i))
	}
	r.phase("ended")
}

func (r *run) results() []Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Result
	for i := range r.ranks {
		all = append(all, *r.ranks[i].result)
	}
	return all
}
