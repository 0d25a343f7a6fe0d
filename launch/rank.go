package launch

import (
	"time"

	"github.com/gorovod/gorovod/rendezvous"
	"github.com/gorovod/gorovod/worker"
)

// The methods in this file are how a run hears of its ranks: from the rendezvous server, whose Events it is, and
// from its agents.

// Record takes a piece of a rank's output, or a change of its state.
func (r *run) Record(rank int, rec rendezvous.Record) {
	if rec.Kind != rendezvous.Status {
		r.out.record(rec, r.event(rank))
		return
	}
	status, err := rec.Status()
	if err != nil {
		r.opts.Logger.Debug("a status that cannot be read", "rank", rank, "err", err)
		return
	}
	states := map[string]State{
		rendezvous.StateStarting:  StateStarting,
		rendezvous.StateConnected: StateConnected,
		rendezvous.StateReady:     StateRunning,
		rendezvous.StateRunning:   StateRunning,
	}
	r.mu.Lock()
	k := &r.ranks[rank]
	k.pid = status.PID
	if k.result != nil {
		k.result.PID = status.PID
	}
	if status.Host != "" {
		k.host = status.Host
	}
	state, known := states[status.State]
	// Statuses and results come over different connections, in any order.
	over := k.result != nil || k.state == StateFailed || r.ending
	if known && !over && state != k.state {
		k.state, k.since = state, time.Now()
		if state == StateRunning {
			k.began = k.since
		}
	}
	r.mu.Unlock()
	r.notice(rank)
}

// notice tells the observer of a rank's state, and await that it has to look.
func (r *run) notice(rank int) {
	r.out.tell(r.event(rank))
	r.wake()
}

func (r *run) wake() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// event describes a rank as it is now.
func (r *run) event(rank int) Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := &r.ranks[rank]
	return Event{Time: time.Now(), Rank: rank, Host: k.host, PID: k.pid, State: k.state}
}

// Result takes a rank's value.
func (r *run) Result(rank int, value []byte) {
	r.mu.Lock()
	if r.ending {
		r.mu.Unlock()
		return
	}
	k := &r.ranks[rank]
	now := time.Now()
	k.result = &Result{Rank: rank, Host: k.host, PID: k.pid, Value: value}
	if !k.began.IsZero() {
		k.result.Duration = now.Sub(k.began)
	}
	k.state, k.since = StateDone, now
	r.mu.Unlock()
	r.notice(rank)
}

// Failed takes a rank's failure.
func (r *run) Failed(rank int, f rendezvous.Failure) {
	r.fail(rank, f)
	r.wake()
}

// fail takes the first failure of a rank.
func (r *run) fail(rank int, f rendezvous.Failure) {
	r.mu.Lock()
	k := &r.ranks[rank]
	if r.ending || k.state == StateFailed {
		r.mu.Unlock()
		return
	}
	if len(r.failures) == 0 {
		r.failedAt = time.Now()
	}
	r.failures = append(r.failures, RankFailure{Rank: rank, Host: k.host, PID: k.pid, Failure: f})
	k.state, k.since, k.result = StateFailed, time.Now(), nil
	r.mu.Unlock()
	r.notice(rank)
}

// OutputEnded says that a rank's output is over.
func (r *run) OutputEnded(rank int, err error) {
	if err != nil {
		r.fail(rank, rendezvous.Failure{Kind: rendezvous.FailureExit, Message: "was lost: " + r.brokenOff(err)})
	}
	r.ended(rank)
	r.wake()
}

// brokenOff says why a rank's output broke off. That is mostly because its agent has died, which shows a moment later.
func (r *run) brokenOff(err error) string {
	late := time.NewTimer(settle)
	defer late.Stop()
	agent := r.agents[0]
	select {
	case <-agent.Ended():
		return "its agent " + agent.Obituary()
	case <-late.C:
		return "its output broke off: " + err.Error()
	}
}

func (r *run) ended(rank int) {
	r.mu.Lock()
	r.ranks[rank].ended = true
	r.mu.Unlock()
}

// ControlLost says that a worker's connection ended too early. Its agent, which is nearer, tells how it ended.
func (r *run) ControlLost(rank int) {
	r.opts.Logger.Debug("control connection lost", "rank", rank)
}

// reported takes what an agent says over its own pipe.
func (r *run) reported(rep worker.Report) {
	if rep.Error != "" {
		r.lost(rep.Rank, rep.Error)
		r.wake()
	}
}
