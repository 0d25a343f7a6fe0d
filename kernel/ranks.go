package kernel

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorovod/gorovod/display"
	"github.com/gorovod/gorovod/kernel/jupyter"
	"github.com/gorovod/gorovod/launch"
	"github.com/gorovod/gorovod/worker"
)

const (
	// updateEvery is how often the live display may change.
	updateEvery = 100 * time.Millisecond
	// tickEvery is how often it changes although nothing has happened, for its clock.
	tickEvery = time.Second
	// slowStart is the time after which the display names the ranks that are waited for.
	slowStart = 2 * time.Second
	// mostRows is how many ranks the display shows one by one.
	mostRows = 32
	// longestLine is how much of a rank's last line it shows.
	longestLine = 100
)

// displays counts the live displays of this process, which need names of their own.
var displays atomic.Int64

// rankDisplay shows how the ranks of a run do: a table that is updated in place while they run, and one line after
// that. It also hands on what the ranks themselves show, and keeps the shown form of their values.
type rankDisplay struct {
	out   *jupyter.Output
	mode  launch.OutputMode
	id    string
	began time.Time

	values map[int]jupyter.Bundle // of the ranks, when the run has ended
	deaf   bool                   // the user was told that ranks cannot clear the output

	changed chan struct{} // holds a value when there is something new to show
	over    chan struct{}
	loop    sync.WaitGroup

	mu    sync.Mutex
	ranks []rankRow
	shown bool
}

// rankRow is a line of the table.
type rankRow struct {
	host  string
	pid   int
	state launch.State
	ended time.Time // when it came to its end
	line  string
}

// newRankDisplay begins to show a run. It has to be ended by end.
func newRankDisplay(out *jupyter.Output, o launch.Options) *rankDisplay {
	d := &rankDisplay{
		out: out, mode: o.Output, began: time.Now(), id: fmt.Sprintf("gorovod-run-%s-%d", out.Parent().ID, displays.Add(1)),
		values: map[int]jupyter.Bundle{}, changed: make(chan struct{}, 1), over: make(chan struct{}),
		ranks: make([]rankRow, max(1, o.NumProc)),
	}
	for i := range d.ranks {
		d.ranks[i].state = launch.StateWaiting
	}
	d.loop.Go(d.keepShowing)
	return d
}

// observe takes what happens to a rank. It is called for one event at a time.
func (d *rankDisplay) observe(e launch.Event) {
	if e.Display != nil {
		d.showOf(e.Rank, e.Display)
		return
	}
	d.mu.Lock()
	row := &d.ranks[e.Rank]
	row.host, row.state = e.Host, e.State
	if e.PID != 0 {
		row.pid = e.PID
	}
	if e.Line != "" {
		row.line = e.Line
	}
	if ended(e.State) && row.ended.IsZero() {
		row.ended = e.Time
	}
	d.mu.Unlock()
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

func ended(s launch.State) bool {
	return s == launch.StateDone || s == launch.StateFailed || s == launch.StateStopped
}

// showOf shows what a rank shows, under its number.
func (d *rankDisplay) showOf(rank int, data []byte) {
	s, err := readDisplay(data)
	if err != nil {
		d.out.Stream(jupyter.Stderr, fmt.Sprintf("[%d] cannot be shown: %v\n", rank, err))
		return
	}
	switch s.action {
	case worker.ValueAction:
		d.values[rank] = s.bundle
		return
	case actionClear, actionClearWait:
		if !d.deaf {
			d.out.Stream(jupyter.Stderr, fmt.Sprintf("[%d] display.Clear does nothing in a run: it would remove what other ranks show\n", rank))
		}
		d.deaf = true
		return
	}
	if d.mode == launch.OutputRoot && rank != 0 {
		return
	}
	if s.id != "" {
		s.id = fmt.Sprintf("%s-rank-%d-%s", d.id, rank, s.id) // another rank may use the same
	}
	if s.action != actionUpdate {
		_ = d.out.Display(rankLabel(rank), "") // of text alone, which can always be shown
	}
	if err := s.show(d.out); err != nil {
		d.out.Stream(jupyter.Stderr, fmt.Sprintf("[%d] cannot be shown: %v\n", rank, err))
	}
}

func rankLabel(rank int) jupyter.Bundle {
	b := textBundle(fmt.Sprintf("rank %d:", rank))
	b.Data[display.MIMETypeHTML] = fmt.Sprintf(`<small style="opacity: 0.7">rank %d</small>`, rank)
	return b
}

// keepShowing updates the display until the run is over.
func (d *rankDisplay) keepShowing() {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case <-d.over:
			return
		case <-d.changed:
		case <-tick.C:
		}
		d.show(d.table(time.Now()))
		pause := time.NewTimer(updateEvery)
		select {
		case <-d.over:
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// show shows the display, or what it has become.
func (d *rankDisplay) show(b jupyter.Bundle) {
	show := d.out.UpdateDisplay
	if !d.shown {
		show = d.out.Display
	}
	d.shown = true
	_ = show(b, d.id) // two strings, which can always be shown
}

// end puts the one line in the place of the table that tells how the run ended.
func (d *rankDisplay) end(err error) {
	close(d.over)
	d.loop.Wait()
	took := time.Since(d.began)
	if err != nil && !d.shown {
		return // it was refused before anything was started
	}
	hosts := map[string]bool{}
	for _, row := range d.ranks {
		hosts[row.host] = true
	}
	text := count(len(d.ranks), "rank") + " on " + count(max(1, len(hosts)), "host") + ", "
	if err != nil {
		text += "ended by an error after "
	}
	text += seconds(took)
	b := textBundle(text)
	b.Data[display.MIMETypeHTML] = `<small style="opacity: 0.7">` + text + `</small>`
	d.show(b)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// seconds writes a duration with three digits or so.
func seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 10:
		return fmt.Sprintf("%.2f s", s)
	case s < 100:
		return fmt.Sprintf("%.1f s", s)
	default:
		return fmt.Sprintf("%.0f s", s)
	}
}

// table gives the display as it is at a moment of the run.
func (d *rankDisplay) table(now time.Time) jupyter.Bundle {
	d.mu.Lock()
	rows := slices.Clone(d.ranks)
	d.mu.Unlock()
	cells := [][]string{{"rank", "host", "pid", "state", "elapsed", "last line"}}
	for rank, row := range rows[:min(mostRows, len(rows))] {
		until := now
		if !row.ended.IsZero() {
			until = row.ended
		}
		pid := ""
		if row.pid != 0 {
			pid = fmt.Sprint(row.pid)
		}
		elapsed := fmt.Sprintf("%.1f s", max(0, until.Sub(d.began).Seconds()))
		cells = append(cells, []string{fmt.Sprint(rank), row.host, pid, string(row.state), elapsed, shorten(row.line, longestLine)})
	}
	var notes []string
	if more := len(rows) - mostRows; more > 0 {
		notes = append(notes, fmt.Sprintf("and %d more: %s", more, census(rows[mostRows:])))
	}
	if now.Sub(d.began) > slowStart {
		if late := waitedFor(rows); late != "" {
			notes = append(notes, "waiting for "+late)
		}
	}
	b := textBundle(strings.Join(append([]string{alignColumns(cells)}, notes...), "\n"))
	b.Data[display.MIMETypeHTML] = htmlTable(cells, notes)
	return b
}

// census counts the ranks in each state.
func census(rows []rankRow) string {
	counts := map[launch.State]int{}
	var order []launch.State
	for _, row := range rows {
		if counts[row.state]++; counts[row.state] == 1 {
			order = append(order, row.state)
		}
	}
	var parts []string
	for _, s := range order {
		parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
	}
	return strings.Join(parts, ", ")
}

// waitedFor names the ranks that are not ready yet, while others may be.
func waitedFor(rows []rankRow) string {
	const most = 8
	var late []string
	for rank, row := range rows {
		switch row.state {
		case launch.StateWaiting, launch.StateStarting, launch.StateConnected:
			late = append(late, fmt.Sprintf("rank %d (%s)", rank, row.state))
		}
	}
	if more := len(late) - most; more > 0 {
		late = append(late[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(late, ", ")
}

// alignColumns writes a table as text.
func alignColumns(cells [][]string) string {
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, text := range row {
			widths[i] = max(widths[i], len([]rune(text)))
		}
	}
	var lines []string
	for _, row := range cells {
		var b strings.Builder
		for i, text := range row {
			fmt.Fprintf(&b, "%-*s  ", widths[i], text)
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return strings.Join(lines, "\n")
}

func htmlTable(cells [][]string, notes []string) string {
	var b strings.Builder
	b.WriteString(`<table><thead><tr>`)
	for _, text := range cells[0] {
		b.WriteString(`<th style="text-align: left">` + html.EscapeString(text) + `</th>`)
	}
	b.WriteString(`</tr></thead><tbody>`)
	for _, row := range cells[1:] {
		b.WriteString(`<tr>`)
		for i, text := range row {
			text = html.EscapeString(text)
			if i == len(row)-1 {
				text = `<code style="white-space: pre">` + text + `</code>`
			}
			b.WriteString(`<td style="text-align: left">` + text + `</td>`)
		}
		b.WriteString(`</tr>`)
	}
	b.WriteString(`</tbody></table>`)
	for _, note := range notes {
		b.WriteString(`<div><small>` + html.EscapeString(note) + `</small></div>`)
	}
	return b.String()
}

// shorten cuts a text to n characters.
func shorten(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
