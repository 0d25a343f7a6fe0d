package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/gorovod/gorovod/rendezvous"
)

// outputs is where the output of all ranks comes together. It also calls the observer, so that the observer hears of
// a picture behind the lines that were written before it.
type outputs struct {
	mode    OutputMode
	observe func(Event)

	mu     sync.Mutex
	stdout *tagger
	stderr *tagger // the same as stdout when both go to the same writer
	files  [][2]*os.File
	held   [][]piece // in group mode: what each rank wrote and showed
	err    error     // the first write that failed
}

// piece is one record that waits for the end of the run.
type piece struct {
	record rendezvous.Record
	event  Event
}

// OutputError says that output could not be written. The results are whole nevertheless.
type OutputError struct{ Err error }

func (e *OutputError) Error() string {
	return "the run is complete, but its output is not: " + e.Err.Error()
}
func (e *OutputError) Unwrap() error { return e.Err }

func newOutputs(o Options) (*outputs, error) {
	u := &outputs{mode: o.Output, observe: o.Observer, held: make([][]piece, o.NumProc)}
	tagged := o.Output == OutputStream || o.Output == OutputGroup
	u.stdout = &tagger{w: o.Stdout, tagged: tagged, raw: o.Output == OutputRaw}
	u.stderr = u.stdout
	if !same(o.Stdout, o.Stderr) {
		u.stderr = &tagger{w: o.Stderr, tagged: tagged, raw: o.Output == OutputRaw}
	}
	if o.OutputDir == "" {
		return u, nil
	}
	width := len(strconv.Itoa(o.NumProc - 1))
	for rank := range o.NumProc {
		dir := filepath.Join(o.OutputDir, fmt.Sprintf("rank.%0*d", width, rank))
		err := os.MkdirAll(dir, 0o777)
		var pair [2]*os.File
		for i, name := range []Stream{Stdout, Stderr} {
			if err == nil {
				pair[i], err = os.Create(filepath.Join(dir, string(name)))
			}
		}
		u.files = append(u.files, pair)
		if err != nil {
			u.closeFiles()
			return nil, usagef("write the ranks' output to files: %v", err)
		}
	}
	return u, nil
}

// same says whether two writers are one.
func same(a, b io.Writer) bool {
	t := reflect.TypeOf(a)
	return t == reflect.TypeOf(b) && t.Comparable() && a == b
}

func (u *outputs) closeFiles() {
	for _, pair := range u.files {
		for _, f := range pair {
			if f != nil {
				u.failed(f.Close())
			}
		}
	}
	u.files = nil
}

func (u *outputs) failed(err error) {
	if err != nil && u.err == nil {
		u.err = err
	}
}

// tell gives the observer an event that has no output.
func (u *outputs) tell(e Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.observe(e)
}

// record takes output of a rank, or something that it wants shown. The event says the rest about the rank.
func (u *outputs) record(rec rendezvous.Record, e Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if i, ok := streamIndex(rec.Kind); ok && u.files != nil {
		_, err := u.files[e.Rank][i].Write(rec.Data)
		u.failed(err)
	}
	switch {
	case u.mode == OutputRoot && e.Rank != 0:
		// What is displayed may be the rank's value: the observer knows.
		if rec.Kind == rendezvous.Display {
			u.show(rec, e)
		} else {
			u.observe(withLine(e, rec))
		}
	case u.mode == OutputGroup:
		u.held[e.Rank] = append(u.held[e.Rank], piece{rec, e})
		if rec.Kind != rendezvous.Display {
			u.observe(withLine(e, rec))
		}
	default:
		u.show(rec, e)
		if rec.Kind != rendezvous.Display {
			u.observe(withLine(e, rec))
		}
	}
}

func streamIndex(k rendezvous.RecordKind) (int, bool) {
	switch k {
	case rendezvous.Stdout:
		return 0, true
	case rendezvous.Stderr:
		return 1, true
	}
	return 0, false
}

// show writes output where the user sees it, or gives the observer what is to be displayed.
func (u *outputs) show(rec rendezvous.Record, e Event) {
	switch rec.Kind {
	case rendezvous.Display:
		e.Display = rec.Data
		u.observe(e)
	case rendezvous.Stdout:
		u.failed(u.stdout.write(e.Rank, rec.Data))
	case rendezvous.Stderr:
		u.failed(u.stderr.write(e.Rank, rec.Data))
	}
}

// withLine adds the last line of the output that has something on it.
func withLine(e Event, rec rendezvous.Record) Event {
	const longest = 500 // a display shows less than that
	data := bytes.TrimRight(rec.Data, "\r\n")
	data = data[bytes.LastIndexAny(data, "\r\n")+1:]
	e.Line = string(bytes.ToValidUTF8(data[:min(len(data), longest)], []byte("\uFFFD")))
	e.Stream = Stdout
	if rec.Kind == rendezvous.Stderr {
		e.Stream = Stderr
	}
	return e
}

// finish writes what was held back, ends the lines that were begun and closes the files.
func (u *outputs) finish() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, pieces := range u.held {
		for _, p := range pieces {
			u.show(p.record, p.event)
		}
	}
	u.failed(u.stdout.end())
	if u.stderr != u.stdout {
		u.failed(u.stderr.end())
	}
	u.closeFiles()
	if u.err != nil {
		return &OutputError{u.err}
	}
	return nil
}

// verbose writes a line about the run itself.
func (u *outputs) verbose(at time.Duration, format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	ms := math.Round(at.Seconds()*1e4) / 10
	u.failed(u.stderr.note(fmt.Sprintf("gorovod: %8.1f ms  %s\n", ms, fmt.Sprintf(format, args...))))
}

// tagger writes the output of several ranks to one writer, so that no line holds output of two, each line behind the
// number of its rank. A line that ends with a carriage return is a progress display: the next one of that kind is
// written over it, as the rank meant it.
type tagger struct {
	w      io.Writer
	tagged bool
	raw    bool // pass everything as it is

	rank     int  // who wrote last
	begun    bool // there is something on the line
	progress bool // and it may be written over
	returned bool // the line ended with a carriage return

	buf []byte
}

func (t *tagger) write(rank int, data []byte) error {
	if t.raw {
		_, err := t.w.Write(data)
		return err
	}
	t.buf = t.buf[:0]
	switch {
	case rank == t.rank || !t.begun && !t.returned:
	case !t.progress || !isProgress(data):
		t.newline()
	case t.begun && data[0] != '\r':
		t.terminator('\r')
	}
	t.rank = rank
	for len(data) > 0 {
		end := bytes.IndexAny(data, "\r\n")
		if end < 0 {
			t.text(data)
			break
		}
		t.text(data[:end])
		t.terminator(data[end])
		data = data[end+1:]
	}
	_, err := t.w.Write(t.buf)
	return err
}

// isProgress says whether output is the next state of a progress display.
func isProgress(data []byte) bool {
	end := bytes.IndexAny(data, "\r\n")
	return end >= 0 && data[end] == '\r' && !bytes.HasPrefix(data[end:], []byte("\r\n"))
}

func (t *tagger) text(p []byte) {
	if len(p) > 0 {
		t.tag()
		t.buf = append(t.buf, p...)
	}
}

func (t *tagger) tag() {
	if t.begun {
		return
	}
	t.begun, t.returned = true, false
	if t.tagged {
		t.buf = append(t.buf, '[')
		t.buf = strconv.AppendInt(t.buf, int64(t.rank), 10)
		t.buf = append(t.buf, "] "...)
	}
}

func (t *tagger) terminator(c byte) {
	if c == '\r' {
		t.buf = append(t.buf, '\r')
		t.returned = t.returned || t.begun
		t.begun, t.progress = false, true
		return
	}
	if !t.returned { // after a carriage return the line has its tag, and "\r\n" is one end
		t.tag()
	}
	t.newline()
}

func (t *tagger) newline() {
	t.buf = append(t.buf, '\n')
	t.begun, t.progress, t.returned = false, false, false
}

// end ends the last line, if it has not ended.
func (t *tagger) end() error {
	if t.raw || !t.begun && !t.returned {
		return nil
	}
	t.buf = t.buf[:0]
	t.newline()
	_, err := t.w.Write(t.buf)
	return err
}

// note writes a line of our own.
func (t *tagger) note(line string) error {
	err := t.end()
	_, werr := io.WriteString(t.w, line)
	return errors.Join(err, werr)
}
