package kernel

import (
	"strings"
	"testing"
	"time"

	"github.com/gorovod/gorovod/kernel/jupyter"
	"github.com/gorovod/gorovod/launch"
)

func TestTableOfRanks(t *testing.T) {
	began := time.Now()
	d := &rankDisplay{began: began, ranks: make([]rankRow, 40)}
	for i := range d.ranks {
		d.ranks[i] = rankRow{host: "a", pid: 100 + i, state: launch.StateRunning, line: strings.Repeat("x", 200)}
	}
	d.ranks[1] = rankRow{host: "long-host", state: launch.StateStarting}
	d.ranks[2].state, d.ranks[2].ended = launch.StateDone, began.Add(1500*time.Millisecond)
	d.ranks[39].state = launch.StateDone
	lines := strings.Split(plainText(d.table(began.Add(time.Second))), "\n")
	if len(lines) != 1+mostRows+1 || !strings.HasPrefix(lines[0], "rank  host       pid  state     elapsed  last line") {
		t.Errorf("got %q", lines)
	}
	if last := lines[len(lines)-1]; last != "and 8 more: 7 running, 1 done" {
		t.Errorf("got %q", last)
	}
	if want := "0     a          100  running   1.0 s    " + strings.Repeat("x", longestLine-1) + "…"; lines[1] != want {
		t.Errorf("got %q", lines[1])
	}
	lines = strings.Split(plainText(d.table(began.Add(3*time.Second))), "\n")
	if last := lines[len(lines)-1]; last != "waiting for rank 1 (starting)" {
		t.Errorf("got %q", last)
	}
	if !strings.Contains(lines[3], "done      1.5 s") {
		t.Errorf("got %q", lines[3])
	}
}

func TestResultsByRank(t *testing.T) {
	html := textBundle("bold")
	html.Data["text/html"] = "<b>bold</b>"
	png := textBundle("a \"picture\"")
	png.Data["image/png"] = "AAAA\nBBBB\n"
	b := resultBundle(map[int]jupyter.Bundle{0: textBundle("1 < 2"), 1: html, 2: png}, 4, false)
	if got, want := plainText(b), "[0] 1 < 2\n[1] bold\n[2] a \"picture\"\n[3] (its value was not shown)"; got != want {
		t.Errorf("got %q", got)
	}
	page := b.Data["text/html"].(string)
	for _, want := range []string{
		"<pre>1 &lt; 2</pre>", "<b>bold</b>", `<img src="data:image/png;base64,AAAABBBB" alt="a &#34;picture&#34;">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
	if b := resultBundle(map[int]jupyter.Bundle{0: textBundle("x")}, 1, false); b.Data["text/html"] != nil || plainText(b) != "[0] x" {
		t.Errorf("got %v", b)
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		123 * time.Millisecond: "0.12 s", 12345 * time.Millisecond: "12.3 s", 2 * time.Hour: "7200 s",
	} {
		if got := seconds(d); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
