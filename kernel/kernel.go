package kernel

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/kernel/jupyter"
)

// Config is what a Kernel can be told. The zero value is ready to use.
type Config struct {
	// Version is gorovod's version, for front ends that show it.
	Version string
	// Executable is what the session and the workers are started from; empty means the running executable when it
	// called worker.Serve, else gorovod on the PATH.
	Executable string
	// Dir is the folder in which the notebook begins; empty means the process's working directory.
	Dir string
	// Logger is told what no user of the notebook needs to see; nil means no log.
	Logger *slog.Logger
}

// Kernel is the Go kernel of one notebook. It is a jupyter.Handler.
type Kernel struct {
	config   Config
	notebook *interp.Notebook
	session  *session

	unnumbered int // cells without a number so far; only Execute uses it

	mu    sync.Mutex
	texts map[string]string // of all cells, by the names that errors call them
}

var _ jupyter.Handler = (*Kernel)(nil)

// New makes a Kernel and begins to start its session, so that the first cell need not wait long. Shutdown ends it.
func New(c Config) *Kernel {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	k := &Kernel{config: c, notebook: interp.NewNotebook(), texts: map[string]string{}}
	k.session = newSession(k.notebook, c)
	return k
}

// Info says what the kernel is.
func (k *Kernel) Info() jupyter.KernelInfo {
	version := k.config.Version
	if version == "" {
		version = "devel"
	}
	return jupyter.KernelInfo{
		Implementation:        "gorovod",
		ImplementationVersion: version,
		Banner: "gorovod " + version + ": Go cells, and %%run to run them on many processes\n" +
			"%help lists the special lines, NAME? tells what NAME is.",
		Language: jupyter.LanguageInfo{
			Name: "go", Version: "go1.26", MIMEType: "text/x-go", FileExtension: ".go",
			PygmentsLexer: "go", CodemirrorMode: "text/x-go",
		},
		HelpLinks: []jupyter.HelpLink{
			{Text: "The Go language", URL: "https://go.dev/ref/spec"},
			{Text: "Go's standard library", URL: "https://pkg.go.dev/std"},
		},
	}
}

// Interrupt has nothing to do beyond ending the context of the running cell: the session and runs heed that.
func (k *Kernel) Interrupt() {}

// Shutdown ends the session with all that it has started. A run ends with the context of its cell.
func (k *Kernel) Shutdown(context.Context, bool) { k.session.close() }

// Execute runs a cell: its special lines in order, then its Go code, then the request's expressions.
func (k *Kernel) Execute(ctx context.Context, req *jupyter.ExecuteRequest, out *jupyter.Output) jupyter.ExecuteResult {
	c := &cell{k: k, ctx: ctx, out: out, name: k.nameCell(req)}
	k.remember(c.name, req.Code)
	defer k.session.show(ctx, out, req.Silent)()
	result := jupyter.ExecuteResult{}
	if err := c.execute(req.Code); err != nil {
		result.Err = k.explain(c.name, err)
	} else {
		result.UserExpressions = c.expressions(req.UserExpressions)
	}
	result.Payload = c.payload
	return result
}

// nameCell gives the name by which messages call a cell.
func (k *Kernel) nameCell(req *jupyter.ExecuteRequest) string {
	if req.StoreHistory {
		return fmt.Sprintf("cell[%d]", req.Count)
	}
	// It has no number of its own, and must not be taken for the cell that has this one.
	k.unnumbered++
	return fmt.Sprintf("unnumbered[%d]", k.unnumbered)
}

// remember keeps a cell's text, for messages about it.
func (k *Kernel) remember(name, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.texts[name] = text
}

// sourceLine gives a line of a cell.
func (k *Kernel) sourceLine(name string, line int) (string, bool) {
	k.mu.Lock()
	text, ok := k.texts[name]
	k.mu.Unlock()
	if !ok || line < 1 {
		return "", false
	}
	for ; line > 1; line-- {
		if _, text, ok = strings.Cut(text, "\n"); !ok {
			return "", false
		}
	}
	text, _, _ = strings.Cut(text, "\n")
	return strings.TrimRight(text, "\r"), true
}
