package child

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStacksAreTakenOut(t *testing.T) {
	const overflow = "runtime: goroutine stack exceeds 536870912-byte limit\nfatal error: stack overflow\n\n"
	for _, tc := range []struct{ name, in, want, lives string }{
		{name: "nothing"},
		{name: "plain", in: "a\n\nb", want: "a\n\nb"},
		{name: "a crash", in: "a\n" + overflow + "runtime stack:\nruntime.throw()\n\ngoroutine 1 [running]:\nf()\n", want: "a\n" + overflow,
			lives: "a\n" + overflow + "runtime stack:\nruntime.throw()\n\ngoroutine 1 [running]:\nf()\n"},
		{name: "a panic", in: "panic: oh\n\n\ngoroutine 1 [running]:\nf()\n", want: "panic: oh\n\n\n", lives: "panic: oh\n\n\ngoroutine 1 [running]:\nf()\n"},
		{name: "a crash and no stacks", in: "fatal error: x\n\nbye\n\ngoroutine 1 is mine\n", want: "fatal error: x\n\nbye\n\ngoroutine 1 is mine\n"},
		{name: "stacks and no crash", in: "\ngoroutine 1 [running]:\n", want: "\ngoroutine 1 [running]:\n"},
		{name: "the beginning of a sign", in: "panic: x\n\ngorou", want: "panic: x\n\ngorou"},
		{name: "a long line", in: strings.Repeat("x", 1000) + "panic: \n\ngoroutine 1\n", want: strings.Repeat("x", 1000) + "panic: \n\ngoroutine 1\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for name, size := range map[string]int{"whole": len(tc.in) + 1, "by byte": 1, "by seven": 7} {
				for _, crashed := range []bool{true, false} {
					var f traceFilter
					var got []byte
					for in := tc.in; in != ""; {
						n := min(size, len(in))
						got = append(got, f.filter([]byte(in[:n]))...)
						in = in[n:]
					}
					got = append(got, f.rest(crashed)...)
					want := tc.want
					if !crashed && tc.lives != "" {
						want = tc.lives
					}
					if diff := cmp.Diff(want, string(got)); diff != "" {
						t.Errorf("%s, crashed %v: %s", name, crashed, diff)
					}
				}
			}
		})
	}
}

func FuzzTraceFilter(f *testing.F) {
	f.Add("panic: x\n\ngoroutine 1\n", 5)
	f.Fuzz(func(t *testing.T, in string, cut int) {
		cut = max(0, min(cut, len(in)))
		var filter traceFilter
		got := string(filter.filter([]byte(in[:cut])))
		got += string(filter.filter([]byte(in[cut:])))
		got += string(filter.rest(false))
		if got != in && len(in) < takenMost {
			t.Errorf("%q became %q", in, got)
		}
	})
}
