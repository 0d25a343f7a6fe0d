package launch

import "time"

// State is where a rank stands.
type State string

// The states, in the order in which a rank goes through them; it ends in one of the last three.
const (
	StateWaiting   State = "waiting"   // its host was not heard of yet
	StateStarting  State = "starting"  // its process was started
	StateConnected State = "connected" // it has fetched the Program
	StateRunning   State = "running"   // it evaluates the Program
	StateDone      State = "done"      // its result is there
	StateFailed    State = "failed"    // it failed
	StateStopped   State = "stopped"   // it was stopped because the run ended
)

// ready says whether a rank in this state has begun, or is past that.
func (s State) ready() bool {
	return s != StateWaiting && s != StateStarting && s != StateConnected
}

// Stream is one of a rank's two output streams.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Event is something that happened to a rank.
type Event struct {
	Time  time.Time
	Rank  int
	Host  string
	PID   int // of the rank's process; 0 while it is not known
	State State

	// Line is the newest line of output, without its end, and Stream where it was written; both are empty when
	// the event is about something else. Not every line has an event of its own.
	Line   string
	Stream Stream
	// Display is a MIME bundle (JSON) that the rank wants shown, behind the output that was written before. It comes
	// in all output modes; in OutputGroup at the end.
	Display []byte
}
