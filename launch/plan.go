package launch

import (
	"fmt"
	"strings"

	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/worker"
)

// Plan tells what Run would do with a Program: what it would ship, where to, and the commands that it would start.
func Plan(p *interp.Program, o Options) (string, error) {
	if p == nil {
		return "", errNoProgram
	}
	o, err := o.checked()
	if err != nil {
		return "", err
	}
	here := localHost(o.NumProc)
	slots, err := place([]host{here}, o.NumProc)
	if err != nil {
		return "", err
	}
	data, err := p.Marshal()
	if err != nil {
		return "", fmt.Errorf("encode the program %s: %w", p.Name, err)
	}
	var b strings.Builder
	b.WriteString(strings.TrimRight(p.Summary(), "\n"))
	var ranks []int
	for _, s := range slots {
		ranks = append(ranks, s.Rank)
	}
	fmt.Fprintf(&b, "\n  ships  %.1f KiB to each rank\n", float64(len(data))/1024)
	fmt.Fprintf(&b, "on %s: %s of %d\n", here.name, rankList(ranks), len(slots))
	for _, c := range worker.Commands(o.Executable) {
		fmt.Fprintf(&b, "  %s\n", c)
	}
	if o.Dir != "" {
		fmt.Fprintf(&b, "  in     %s\n", o.Dir)
	}
	for _, kv := range o.Env {
		name, _, _ := strings.Cut(kv, "=") // values may be secrets
		fmt.Fprintf(&b, "  env    %s\n", name)
	}
	fmt.Fprintf(&b, "output: %s", o.Output)
	if o.OutputDir != "" {
		fmt.Fprintf(&b, ", and files in %s", o.OutputDir)
	}
	fmt.Fprintf(&b, "\nstart timeout %v", o.StartTimeout)
	if o.Timeout > 0 {
		fmt.Fprintf(&b, ", timeout %v", o.Timeout)
	}
	b.WriteString("\nnothing was started\n")
	return b.String(), nil
}
