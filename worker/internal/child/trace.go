package child

import "bytes"

// traceFilter takes the goroutine stacks out of the Go runtime's crash reports. In a process that interprets its
// user's code they are the interpreter's: a thousand lines in which nothing is the user's. GOTRACEBACK=none does that
// for most crashes, but not for a stack overflow and its like.
//
// A report is a line that names the crash, perhaps more lines, an empty line, and then the stacks to the end of the
// process. What is taken out is kept for the case that the process lives on: then it was no report.
type traceFilter struct {
	state filterState
	line  []byte // the first bytes of the line that has not ended
	held  []byte // bytes of a line that may begin the stacks
	taken []byte // the beginning of what was taken out
	out   []byte // what filter returned last
}

type filterState uint8

const (
	passing  filterState = iota
	reported             // a crash was named
	parted               // and an empty line came
	taking               // and then the stacks
)

const (
	lineStart = 40 // longer than each sign of a crash
	takenMost = 64 << 10
)

var stackSigns = [][]byte{[]byte("runtime stack:"), []byte("goroutine ")}

// filter returns what of p is to be passed on, with what was held back before. It is good until the next call.
func (f *traceFilter) filter(p []byte) []byte {
	out := f.out[:0]
	for line := range bytes.Lines(p) {
		if f.state == taking {
			f.taken = append(f.taken, line[:min(len(line), takenMost-len(f.taken))]...)
			continue
		}
		f.line = append(f.line, line[:min(len(line), lineStart-len(f.line))]...)
		ended := line[len(line)-1] == '\n'
		switch {
		case f.state != parted:
			out = append(out, line...)
		case beginsAny(f.line, stackSigns):
			f.state = taking
			f.taken = append(f.taken, f.held...)
			f.taken = append(f.taken, line...)
			f.held = nil
			continue
		case !ended && prefixOfAny(f.line, stackSigns):
			f.held = append(f.held, line...)
		default:
			out = append(append(out, f.held...), line...)
			f.held = f.held[:0]
		}
		if ended {
			f.endLine()
		}
	}
	f.out = out
	return out
}

func (f *traceFilter) endLine() {
	line := bytes.TrimRight(f.line, "\r\n")
	f.line = f.line[:0]
	switch {
	case beginsAny(line, crashSigns):
		f.state = reported
	case len(line) == 0 && f.state != passing:
		f.state = parted
	case f.state == parted:
		f.state = passing
	}
}

// rest returns what is to be passed on at the end of the process, which crashed or not.
func (f *traceFilter) rest(crashed bool) []byte {
	if crashed {
		return f.held
	}
	return append(f.held, f.taken...)
}

func beginsAny(line []byte, signs [][]byte) bool {
	for _, sign := range signs {
		if bytes.HasPrefix(line, sign) {
			return true
		}
	}
	return false
}

// prefixOfAny says whether the line, which has not ended, may become one that begins with a sign.
func prefixOfAny(line []byte, signs [][]byte) bool {
	for _, sign := range signs {
		if bytes.HasPrefix(sign, line) {
			return true
		}
	}
	return false
}
