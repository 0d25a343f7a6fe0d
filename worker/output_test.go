package worker

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorovod/gorovod/rendezvous"
	"github.com/gorovod/gorovod/worker/internal/child"
)

// posted collects records, written as kind:data.
type posted struct {
	mu   sync.Mutex
	text []string
}

func (p *posted) emit(r rendezvous.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, r.Kind.String()[3:]+":"+string(r.Data))
}

func (p *posted) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.text
	p.text = nil
	return text
}

func TestLinesStayWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got posted
		o := newLineOutput(got.emit)
		step := func(what string, want ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, got.take()); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
		}
		o.write(child.Stdout, []byte("a\nb\nc"))
		step("two lines and a beginning", "out:a\nb\n")
		o.write(child.Stderr, []byte("E\n"))
		step("the other stream does not wait", "err:E\n")
		o.write(child.Stdout, []byte("c\r10%"))
		step("a progress display", "out:cc\r")
		time.Sleep(patience)
		step("patience ends", "out:10%")
		time.Sleep(10 * patience)
		step("nothing is left")
		o.write(child.Stdout, []byte("gr\xc3"))
		time.Sleep(patience)
		step("half a character waits", "out:gr")
		o.write(child.Stdout, []byte("\xbcn\n"))
		step("for its other half", "out:\xc3\xbcn\n")
		long := strings.Repeat("x", longLine)
		o.write(child.Stdout, []byte(long))
		step("a long line is cut", "out:"+long)
		o.flush()
		step("a flush with nothing to flush")
		o.write(child.Stderr, []byte("begun"))
		o.flush()
		step("a flush", "err:begun")
		o.write(child.Stdout, []byte("last \xc3"))
		o.close()
		step("the end", "out:last \xc3")
		time.Sleep(10 * patience)
		step("after the end")
	})
}

func FuzzLineOutput(f *testing.F) {
	f.Add([]byte("a\r\nb\xff"), 3)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		cut = max(0, min(cut, len(in)))
		var out []byte
		o := newLineOutput(func(r rendezvous.Record) { out = append(out, r.Data...) })
		o.write(child.Stdout, in[:cut])
		o.flush()
		o.write(child.Stdout, in[cut:])
		o.close()
		if !bytes.Equal(in, out) {
			t.Errorf("%q became %q", in, out)
		}
	})
}
