package worker

import (
	"bytes"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorovod/gorovod/rendezvous"
	"github.com/gorovod/gorovod/worker/internal/child"
)

const (
	// A line is cut when it is this long.
	longLine = 64 << 10
	// A line that was begun is shown after this time although it has not ended: a row of dots. On a machine with more to
	// do than it can, a process may well be halted in the middle of a line, which then must not be cut.
	patience = time.Second
)

// lineOutput turns what a process writes, as it is read, into records of whole lines, so that the lines of two
// ranks never mix. A line ends with a line feed or, when it is a progress display, with a carriage return.
type lineOutput struct {
	emit func(rendezvous.Record)

	mu    sync.Mutex
	begun [2][]byte // by child.Stream: the line that has not ended
	timer *time.Timer
	armed bool
	done  bool
}

func newLineOutput(emit func(rendezvous.Record)) *lineOutput {
	o := &lineOutput{emit: emit}
	o.timer = time.AfterFunc(patience, o.flush)
	o.timer.Stop()
	return o
}

// write takes what was read from a stream.
func (o *lineOutput) write(s child.Stream, p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line := append(o.begun[s], p...)
	end := bytes.LastIndexAny(line, "\r\n") + 1
	if len(line)-end >= longLine {
		end = wholeRunes(line)
	}
	if end > 0 {
		o.record(s, line[:end])
	}
	o.begun[s] = append(o.begun[s][:0], line[end:]...)
	if len(o.begun[s]) > 0 && !o.armed && !o.done {
		o.armed = true
		o.timer.Reset(patience)
	}
}

// flush shows the lines that were begun.
func (o *lineOutput) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.armed = false
	if o.done {
		return
	}
	for s, line := range o.begun {
		if end := wholeRunes(line); end > 0 {
			o.record(child.Stream(s), line[:end])
			o.begun[s] = append(line[:0], line[end:]...)
		}
	}
}

// close shows what is left.
func (o *lineOutput) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done = true
	o.timer.Stop()
	for s, line := range o.begun {
		if len(line) > 0 {
			o.record(child.Stream(s), line)
		}
	}
}

func (o *lineOutput) record(s child.Stream, data []byte) {
	kind := rendezvous.Stdout
	if s == child.Stderr {
		kind = rendezvous.Stderr
	}
	o.emit(rendezvous.Record{Kind: kind, Data: data})
}

// wholeRunes is the length of p without a character at its end whose last bytes have not come yet.
func wholeRunes(p []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(p)); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}
