package rendezvous

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Slot is the place of one rank in a run.
type Slot struct {
	Rank      int    `json:"rank"`
	Size      int    `json:"size"`
	LocalRank int    `json:"local_rank"`
	LocalSize int    `json:"local_size"`
	CrossRank int    `json:"cross_rank"`
	CrossSize int    `json:"cross_size"`
	Host      string `json:"host"`
}

// The kinds of a Failure.
const (
	FailurePanic    = "panic"    // the user's code panicked
	FailureError    = "error"    // the user's code returned an error
	FailureExit     = "exit"     // the process ended without a result
	FailureSignal   = "signal"   // the process was killed by a signal
	FailureResult   = "result"   // the value could not be sent
	FailureStart    = "start"    // the process could not be started or made ready
	FailureCanceled = "canceled" // the run was canceled before this rank ended
)

// Failure says why a rank has no result.
type Failure struct {
	Kind       string  `json:"kind"`
	Message    string  `json:"message"`
	Stack      []Frame `json:"stack,omitempty"`
	ExitCode   int     `json:"exit_code,omitempty"`
	Signal     string  `json:"signal,omitempty"`
	LastOutput string  `json:"last_output,omitempty"`
	Goroutine  string  `json:"goroutine,omitempty"`
}

// Frame is one call of a Failure's stack, innermost first.
type Frame struct {
	Func   string `json:"func"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column,omitempty"`
}

// RecordKind tells what a Record holds.
type RecordKind byte

// The kinds of a Record. The values are what travels.
const (
	Stdout  RecordKind = 'o' // bytes written to standard output
	Stderr  RecordKind = 'e' // bytes written to standard error
	Display RecordKind = 'd' // one display message, in the form that display and kernel agree on
	Status  RecordKind = 's' // a RankStatus, as JSON
)

// String gives the kind's name, as used in logs and errors.
func (k RecordKind) String() string {
	switch k {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	case Display:
		return "display"
	case Status:
		return "status"
	}
	return fmt.Sprintf("RecordKind(%#02x)", byte(k))
}

// Record is one piece of a rank's output. The order of a rank's records is
// kept from the writer to Events.
//
// A record travels as one or more frames: the kind in one byte, the number of
// bytes that follow in four (big endian), and these bytes, at most 1 MiB. The
// top bit of the kind says that the record goes on in the next frame.
type Record struct {
	Kind RecordKind
	Data []byte
}

// The states that a RankStatus reports, in the order in which a rank runs
// through them.
const (
	StateStarting  = "starting"
	StateConnected = "connected"
	StateReady     = "ready"
	StateRunning   = "running"
	StateDone      = "done"
)

// RankStatus is the content of a Status record.
type RankStatus struct {
	State  string `json:"state"`
	PID    int    `json:"pid,omitempty"`
	Host   string `json:"host,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Record gives the record that carries s.
func (s RankStatus) Record() Record {
	data, err := json.Marshal(s)
	if err != nil {
		// Strings and an int always have a JSON form.
		panic(fmt.Sprintf("rendezvous: encode a status: %v", err))
	}
	return Record{Kind: Status, Data: data}
}

// Status reads the RankStatus out of a Status record.
func (r Record) Status() (RankStatus, error) {
	var s RankStatus
	if r.Kind != Status {
		return s, fmt.Errorf("rendezvous: read a rank's status: the record is of kind %s", r.Kind)
	}
	if err := json.Unmarshal(r.Data, &s); err != nil {
		return s, fmt.Errorf("rendezvous: read a rank's status: %w", err)
	}
	return s, nil
}

const (
	frameHeader = 5
	maxFrame    = 1 << 20
	// A record is put together in memory before the driver sees it, so its
	// size is bounded too. Plain output is cut into frames that are records
	// of their own and never comes near; a display with a large picture may.
	maxRecord = 64 << 20
	moreBit   = 0x80
)

// check tells whether the record may be sent.
func (r Record) check() error {
	switch r.Kind {
	case Stdout, Stderr, Display, Status:
	default:
		return fmt.Errorf("unknown record kind %#02x", byte(r.Kind))
	}
	if len(r.Data) > maxRecord && (r.Kind == Display || r.Kind == Status) {
		return fmt.Errorf("the %s record has %d bytes, over the limit of %d", r.Kind, len(r.Data), maxRecord)
	}
	return nil
}

// appendFrame appends the record's next frame to dst and returns what of the
// record is left to send. Stdout and stderr are streams, so there each frame
// is a record of its own and nothing has to be put together again.
func (r Record) appendFrame(dst []byte) ([]byte, Record) {
	head, tail := r.Data, []byte(nil)
	kind := byte(r.Kind)
	if len(head) > maxFrame {
		head, tail = head[:maxFrame], head[maxFrame:]
		if r.Kind != Stdout && r.Kind != Stderr {
			kind |= moreBit
		}
	}
	dst = append(dst, kind)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(head)))
	dst = append(dst, head...)
	return dst, Record{Kind: r.Kind, Data: tail}
}

// frameError is a fault in the framing itself, as against one of the
// connection below.
type frameError struct{ msg string }

func (e *frameError) Error() string { return e.msg }

// pace is told about each frame, so that the time between two of them can be
// unlimited while the time within one is not.
type pace interface {
	between() error
	within() error
}

// readRecord reads the next record. It returns io.EOF only at the end of the
// body between two records. A claimed length costs memory only as its bytes
// arrive: a frame is bounded and records grow by frames that were read whole.
func readRecord(br *bufio.Reader, p pace) (Record, error) {
	var rec Record
	for first := true; ; first = false {
		kind, data, err := readFrame(br, p)
		if err == io.EOF && !first {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return Record{}, err
		}
		k := RecordKind(kind &^ moreBit)
		if err := (Record{Kind: k}).check(); err != nil {
			return Record{}, &frameError{err.Error()}
		}
		if !first && k != rec.Kind {
			return Record{}, &frameError{fmt.Sprintf("a %s frame stands within a %s record", k, rec.Kind)}
		}
		if len(rec.Data)+len(data) > maxRecord {
			return Record{}, &frameError{fmt.Sprintf("a %s record has more than %d bytes", k, maxRecord)}
		}
		rec.Kind = k
		if first {
			rec.Data = data
		} else {
			rec.Data = append(rec.Data, data...)
		}
		if kind&moreBit == 0 {
			return rec, nil
		}
		if len(data) == 0 {
			// Else an endless record could be sent without ever growing.
			return Record{}, &frameError{fmt.Sprintf("an empty frame is said to begin a longer %s record", k)}
		}
	}
}

func readFrame(br *bufio.Reader, p pace) (kind byte, data []byte, err error) {
	if br.Buffered() == 0 {
		if err := p.between(); err != nil {
			return 0, nil, err
		}
	}
	if kind, err = br.ReadByte(); err != nil {
		return 0, nil, err
	}
	if br.Buffered() < frameHeader-1 {
		if err := p.within(); err != nil {
			return 0, nil, err
		}
	}
	var size [frameHeader - 1]byte
	if _, err := io.ReadFull(br, size[:]); err != nil {
		return 0, nil, noEOF(err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxFrame {
		return 0, nil, &frameError{fmt.Sprintf("a frame of %d bytes is over the limit of %d", n, maxFrame)}
	}
	if br.Buffered() < int(n) {
		if err := p.within(); err != nil {
			return 0, nil, err
		}
	}
	data = make([]byte, n)
	if _, err := io.ReadFull(br, data); err != nil {
		return 0, nil, noEOF(err)
	}
	return kind, data, nil
}

// noEOF makes an end within a frame what it is.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
