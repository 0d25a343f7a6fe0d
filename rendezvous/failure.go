package rendezvous

import "unicode/utf8"

// The parts of a Failure are cut to these sizes before it is sent, so that
// what went wrong always arrives: a stack overflow has a stack of any length,
// a panic a message of any size.
const (
	maxMessage    = 256 << 10
	maxStack      = 256
	maxName       = 4 << 10
	maxLastOutput = 64 << 10
	maxGoroutine  = 256 << 10
)

// fit returns the failure cut to what may be sent. The beginning of a message
// and the end of an output are what tells most; of a stack both ends are kept.
func (f Failure) fit() Failure {
	f.Message = clip(f.Message, maxMessage)
	f.Signal = clip(f.Signal, maxName)
	f.LastOutput = clipFront(f.LastOutput, maxLastOutput)
	f.Goroutine = clip(f.Goroutine, maxGoroutine)
	if n := len(f.Stack); n > maxStack {
		stack := make([]Frame, 0, maxStack)
		stack = append(stack, f.Stack[:maxStack/2]...)
		f.Stack = append(stack, f.Stack[n-maxStack/2:]...)
	} else {
		f.Stack = append([]Frame(nil), f.Stack...)
	}
	for i, fr := range f.Stack {
		f.Stack[i].Func = clip(fr.Func, maxName)
		f.Stack[i].File = clip(fr.File, maxName)
	}
	return f
}

const ellipsis = "…"

// clip cuts s to at most max bytes, at the border of a character.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	end := max - len(ellipsis)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}

// clipFront is clip for what tells most at its end.
func clipFront(s string, max int) string {
	if len(s) <= max {
		return s
	}
	begin := len(s) - (max - len(ellipsis))
	for begin < len(s) && !utf8.RuneStart(s[begin]) {
		begin++
	}
	return ellipsis + s[begin:]
}
