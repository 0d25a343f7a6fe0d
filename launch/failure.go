package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorovod/gorovod/rendezvous"
)

// RankFailure is the failure of one rank.
type RankFailure struct {
	Rank int
	Host string
	PID  int // 0 when the process was not started
	rendezvous.Failure
}

// String tells what happened to the rank, without its stack.
func (f RankFailure) String() string {
	where := fmt.Sprintf("rank %d on %s", f.Rank, f.Host)
	if f.PID != 0 {
		where += fmt.Sprintf(" (pid %d)", f.PID)
	}
	return where + " " + f.what()
}

// what tells what happened, to stand behind the rank.
func (f RankFailure) what() string {
	switch f.Kind {
	case rendezvous.FailurePanic:
		if f.Goroutine != "" {
			return "panicked in a goroutine: " + f.Message
		}
		return "panicked: " + f.Message
	case rendezvous.FailureError:
		return "failed: " + f.Message
	case rendezvous.FailureResult:
		return "could not return its result: " + f.Message
	case rendezvous.FailureStart:
		return "could not start: " + f.Message
	case rendezvous.FailureCanceled:
		return "was stopped: " + f.Message
	}
	return f.Message // of a process: was killed by ..., exited with ...
}

// RunError is the end of a run in which a rank failed.
type RunError struct {
	Size     int           // the number of ranks
	Failures []RankFailure // the root cause first
	Stopped  []int         // the ranks that were stopped because of it
	Done     []int         // the ranks that had returned a result, which is lost
}

// Error tells the root cause in full, and the rest in one line.
func (e *RunError) Error() string {
	var b strings.Builder
	root := e.Failures[0]
	b.WriteString(root.String())
	for _, f := range root.Stack {
		fmt.Fprintf(&b, "\n    %s", formatFrame(f))
	}
	if root.LastOutput != "" {
		b.WriteString("\nits last lines on standard error:")
		for line := range strings.Lines(root.LastOutput) {
			b.WriteString("\n    " + strings.TrimRight(line, "\r\n"))
		}
	}
	var others []string
	var same []int // as the root cause, as when all ranks meet the same mistake
	for _, f := range e.Failures[1:] {
		if f.what() == root.what() {
			same = append(same, f.Rank)
			continue
		}
		first, _, _ := strings.Cut(f.what(), "\n")
		others = append(others, fmt.Sprintf("rank %d %s", f.Rank, first))
	}
	if len(same) > 0 {
		slices.Sort(same)
		others = append([]string{rankList(same) + " failed in the same way"}, others...)
	}
	const most = 3
	if more := len(others) - most; more > 0 {
		others = append(others[:most], fmt.Sprintf("%d more ranks failed", more))
	}
	if len(e.Stopped) > 0 {
		others = append(others, rankList(e.Stopped)+" "+plural(e.Stopped, "was", "were")+" stopped")
	}
	if len(e.Done) > 0 {
		others = append(others, rankList(e.Done)+" had finished")
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, "\nof the other %d: %s", e.Size-1, strings.Join(others, "; "))
	}
	return b.String()
}

func plural(of []int, one, many string) string {
	if len(of) == 1 {
		return one
	}
	return many
}

func formatFrame(f rendezvous.Frame) string {
	place := f.File
	if f.Line > 0 {
		place += fmt.Sprintf(":%d", f.Line)
	}
	if f.Column > 0 {
		place += fmt.Sprintf(":%d", f.Column)
	}
	if f.Func == "" {
		return place
	}
	return place + " in " + f.Func
}

// RankTimeout is a rank that a timeout found unfinished.
type RankTimeout struct {
	Rank  int
	Host  string
	PID   int
	State State         // what it was last seen doing
	Since time.Duration // since when, from the start of the run
}

// TimeoutError is the end of a run that took too long.
type TimeoutError struct {
	Start bool // ranks were not ready in time; else the run did not end in time
	After time.Duration
	Size  int
	Ranks []RankTimeout
	Addr  string // the driver's address, which the workers were given
}

func (e *TimeoutError) Error() string {
	var b strings.Builder
	var ranks []int
	for _, r := range e.Ranks {
		ranks = append(ranks, r.Rank)
	}
	if e.Start {
		fmt.Fprintf(&b, "start timeout: %s of %d %s not ready after %v", rankList(ranks), e.Size, plural(ranks, "was", "were"), e.After)
	} else {
		fmt.Fprintf(&b, "timeout: %s of %d had not finished after %v", rankList(ranks), e.Size, e.After)
	}
	const most = 16
	for i, r := range e.Ranks {
		if i == most {
			fmt.Fprintf(&b, "\n    and %d more", len(e.Ranks)-most)
			break
		}
		fmt.Fprintf(&b, "\n    rank %d on %s", r.Rank, r.Host)
		if r.PID != 0 {
			fmt.Fprintf(&b, " (pid %d)", r.PID)
		}
		fmt.Fprintf(&b, ": last seen %s, %.1f s into the run", r.State, r.Since.Seconds())
	}
	if e.Start {
		fmt.Fprintf(&b, "\nThe workers were to connect to %s. If they only need longer, give --start-timeout more.", e.Addr)
	} else {
		b.WriteString("\nAll ranks were stopped. If the run only needs longer, give --timeout more.")
	}
	return b.String()
}

// Timeout makes the error one of those that net.Error's users know.
func (e *TimeoutError) Timeout() bool { return true }

// ExitStatus is the exit status of a command that ends with the error of Run: 0 without one, 2 when the options
// were refused before anything was started, 130 when the run was interrupted, else 1.
func ExitStatus(err error) int {
	var usage *UsageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		return 2
	case errors.Is(err, context.Canceled):
		return 130
	}
	return 1
}
