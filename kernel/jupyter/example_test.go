package jupyter_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/gorovod/gorovod/kernel/jupyter"
)

// shouter is a whole kernel: it prints a cell in capitals, and fails at an empty line.
type shouter struct{}

func (shouter) Info() jupyter.KernelInfo {
	return jupyter.KernelInfo{
		Implementation: "shouter", ImplementationVersion: "1.0",
		Language: jupyter.LanguageInfo{Name: "text", MIMEType: "text/plain", FileExtension: ".txt"},
	}
}

func (shouter) Execute(ctx context.Context, req *jupyter.ExecuteRequest, out *jupyter.Output) jupyter.ExecuteResult {
	for line := range strings.Lines(req.Code) {
		if ctx.Err() != nil {
			return jupyter.ExecuteResult{Err: &jupyter.ExecuteError{Name: "Interrupted", Value: context.Cause(ctx).Error()}}
		}
		if strings.TrimSpace(line) == "" {
			return jupyter.ExecuteResult{Err: &jupyter.ExecuteError{Name: "Silence", Value: "an empty line"}}
		}
		fmt.Fprint(out.Writer(jupyter.Stdout), strings.ToUpper(line))
	}
	return jupyter.ExecuteResult{}
}

func (shouter) Complete(context.Context, string, int) (jupyter.Completion, error) {
	return jupyter.Completion{}, nil
}

func (shouter) Inspect(context.Context, string, int, int) (jupyter.Inspection, error) {
	return jupyter.Inspection{}, nil
}

func (shouter) IsComplete(context.Context, string) (jupyter.Completeness, error) {
	return jupyter.Completeness{Status: jupyter.Complete}, nil
}

func (shouter) Interrupt()                     {}
func (shouter) Shutdown(context.Context, bool) {}

// The main function of a kernel, whose kernel.json has "argv": ["shouter", "{connection_file}"].
func ExampleServe() {
	info, err := jupyter.ReadConnectionFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err = jupyter.Serve(ctx, info, shouter{}, jupyter.Options{
		HistoryFile: jupyter.DefaultHistoryFile("shouter"),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A server on ports of the system's choice, as a test wants it.
func ExampleListen() {
	s, err := jupyter.Listen(jupyter.ConnectionInfo{IP: "127.0.0.1", Key: "a secret"}, jupyter.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println("has a port:", s.Connection().ShellPort != 0)

	ctx, stop := context.WithCancel(context.Background())
	stop() // clients would connect now
	fmt.Println("ended:", s.Serve(ctx, shouter{}))
	// Output:
	// has a port: true
	// ended: <nil>
}
