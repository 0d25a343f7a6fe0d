package child

import (
	"bytes"
	"fmt"
	"strings"
)

// Exit is how a process ended.
type Exit struct {
	Code      int    // its exit status, when no signal ended it
	Signal    string // such as SIGKILL
	OOMKilled bool   // the kernel's out-of-memory killer was at work while it ran, and it was killed
	Fatal     string // what the Go runtime wrote when it gave up, from "fatal error:" or "panic:" on
	Tail      string // its last lines on standard error
}

// String tells how it ended, and why as far as that is known, to stand behind the name of what ended.
func (e Exit) String() string {
	cause, _, _ := strings.Cut(e.Fatal, "\n")
	switch {
	case e.OOMKilled:
		return "was killed by SIGKILL: out of memory, the kernel's out-of-memory killer chose it " +
			"(give it less data, start fewer ranks, or raise the memory limit)"
	case e.Signal == "SIGKILL":
		return "was killed by SIGKILL (somebody sent it that, or the machine ran out of memory: dmesg tells)"
	case e.Signal != "" && cause != "":
		return fmt.Sprintf("was killed by %s: %s", e.Signal, cause)
	case e.Signal != "":
		return "was killed by " + e.Signal
	case e.outOfMemory():
		return fmt.Sprintf("ran out of memory: %s (give it less data, start fewer ranks, or raise the memory limit)", cause)
	case cause != "":
		return fmt.Sprintf("crashed with exit code %d: %s", e.Code, cause)
	default:
		return fmt.Sprintf("exited with code %d", e.Code)
	}
}

func (e Exit) outOfMemory() bool {
	for _, sign := range []string{"out of memory", "cannot allocate memory", "cannot reserve"} {
		if strings.Contains(e.Fatal, sign) {
			return true
		}
	}
	return false
}

const (
	tailBytes  = 4 << 10
	tailLines  = 20
	fatalBytes = 4 << 10
)

// lastWords keeps the end of what a process wrote on standard error, and the beginning of the last crash report of
// the Go runtime in it: behind that may come the stacks of a thousand goroutines.
type lastWords struct {
	last    []byte // up to twice tailBytes
	crash   []byte
	inCrash bool
	line    []byte // the beginning of the line that has not ended yet
}

var crashSigns = [][]byte{
	[]byte("fatal error: "), []byte("panic: "), []byte("runtime: goroutine stack exceeds"),
	[]byte("runtime: out of memory"), []byte("runtime: cannot "), []byte("unexpected fault address"), []byte("SIG"),
}

// write takes what goes into the tail.
func (w *lastWords) write(p []byte) {
	w.last = append(w.last, p[max(0, len(p)-tailBytes):]...)
	if len(w.last) > 2*tailBytes {
		w.last = append(w.last[:0], w.last[len(w.last)-tailBytes:]...)
	}
}

// report looks for crash reports.
func (w *lastWords) report(p []byte) {
	for line := range bytes.Lines(p) {
		if len(w.line) < fatalBytes {
			w.line = append(w.line, line...)
		}
		if line[len(line)-1] == '\n' {
			w.endLine()
		}
	}
}

func (w *lastWords) endLine() {
	line := w.line
	w.line = w.line[:0]
	begins := false
	for _, sign := range crashSigns {
		begins = begins || bytes.HasPrefix(line, sign)
	}
	// "fatal error:" often comes second, after a line that says more; the two make one report.
	if begins && (!w.inCrash || bytes.Contains(w.crash, []byte("\n\n"))) {
		w.inCrash, w.crash = true, w.crash[:0]
	}
	if w.inCrash && len(w.crash) < fatalBytes {
		w.crash = append(w.crash, line...)
	}
}

func (w *lastWords) tail() string {
	last := strings.TrimRight(string(w.last[max(0, len(w.last)-tailBytes):]), "\n")
	lines := strings.Split(last, "\n")
	return strings.ToValidUTF8(strings.Join(lines[max(0, len(lines)-tailLines):], "\n"), "\uFFFD")
}

// fatal gives the crash report with the line that names the crash first.
func (w *lastWords) fatal() string {
	if len(w.line) > 0 {
		w.endLine()
	}
	report := strings.TrimRight(strings.ToValidUTF8(string(w.crash), "\uFFFD"), "\n")
	lines := strings.Split(report, "\n")
	for i, line := range lines[:min(4, len(lines))] {
		if strings.HasPrefix(line, "fatal error: ") {
			lines = append([]string{line}, append(lines[:i:i], lines[i+1:]...)...)
			break
		}
	}
	return strings.Join(lines, "\n")
}
