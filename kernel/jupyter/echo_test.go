package jupyter_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gorovod/gorovod/kernel/jupyter"
)

// asKernel, when set, makes the test binary an echo kernel whose connection file is its argument: this is how a real
// Jupyter client starts it.
const asKernel = "JUPYTER_TEST_ECHO_KERNEL"

func TestMain(m *testing.M) {
	if os.Getenv(asKernel) != "" {
		if err := runEchoKernel(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, zmq4Leaks...)
}

func runEchoKernel(connectionFile string) error {
	info, err := jupyter.ReadConnectionFile(connectionFile)
	if err != nil {
		return err
	}
	o := jupyter.Options{
		HistoryFile: jupyter.DefaultHistoryFile("echo-kernel-test"),
		CommTargets: map[string]jupyter.CommTarget{"echo": echoTarget},
		Logger:      slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if dir := os.Getenv("JUPYTER_TEST_LOG_DIR"); dir != "" {
		name := filepath.Join(dir, "messages-"+strconv.Itoa(os.Getpid())+".jsonl")
		f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		o.MessageLog = f
	}
	return jupyter.Serve(context.Background(), info, newEchoKernel(), o)
}

// echoKernel runs cells whose lines are little commands. A line that begins with a name that it does not know is an
// error, and so is one that says "error".
type echoKernel struct {
	interrupts chan struct{}
	shutdowns  chan bool
	running    chan string   // gets the argument of a "hold" line when it is reached
	release    chan struct{} // what a "hold" line waits for
	completing chan struct{} // when not nil, Complete waits for it

	mu  sync.Mutex
	out *jupyter.Output // of the last cell
}

func newEchoKernel() *echoKernel {
	return &echoKernel{
		interrupts: make(chan struct{}, 100),
		shutdowns:  make(chan bool, 1),
		running:    make(chan string, 100),
		release:    make(chan struct{}),
	}
}

func (k *echoKernel) Info() jupyter.KernelInfo {
	return jupyter.KernelInfo{
		Implementation: "echo", ImplementationVersion: "1.0", Banner: "An echo.",
		Language: jupyter.LanguageInfo{Name: "echo", Version: "1.0", MIMEType: "text/plain", FileExtension: ".echo"},
	}
}

func (k *echoKernel) lastOutput() *jupyter.Output {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.out
}

func (k *echoKernel) Execute(ctx context.Context, req *jupyter.ExecuteRequest, out *jupyter.Output) jupyter.ExecuteResult {
	k.mu.Lock()
	k.out = out
	k.mu.Unlock()
	res := jupyter.ExecuteResult{UserExpressions: map[string]jupyter.Expression{}}
	for line := range strings.Lines(req.Code) {
		command, argument, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if command == "page" {
			res.Payload = append(res.Payload, map[string]any{
				"source": "page", "start": 0, "data": map[string]any{"text/plain": argument},
			})
			continue
		}
		if err := k.command(ctx, out, command, argument); err != nil {
			name := "EchoError"
			if errors.Is(err, jupyter.ErrInterrupted) {
				name = "Interrupted"
			}
			res.Err = &jupyter.ExecuteError{Name: name, Value: err.Error(), Traceback: []string{"cell", err.Error()}}
			return res
		}
	}
	for name, e := range req.UserExpressions {
		if e == "bad" {
			res.UserExpressions[name] = jupyter.Expression{Err: &jupyter.ExecuteError{Name: "EchoError", Value: "bad"}}
			continue
		}
		res.UserExpressions[name] = jupyter.Expression{Bundle: text(e)}
	}
	return res
}

func text(s string) jupyter.Bundle {
	return jupyter.Bundle{Data: map[string]any{"text/plain": s}}
}

func (k *echoKernel) command(ctx context.Context, out *jupyter.Output, command, argument string) error {
	switch command {
	case "":
		return nil
	case "print":
		fmt.Fprintln(out.Writer(jupyter.Stdout), argument)
	case "eprint":
		out.Stream(jupyter.Stderr, argument+"\n")
	case "bytes": // one byte at a time, so that runes are split
		for _, b := range []byte(argument) {
			out.Stream(jupyter.Stdout, string([]byte{b}))
		}
	case "garbage":
		out.Stream(jupyter.Stdout, "a\xffb\xe4\xb8")
	case "flood":
		n, _ := strconv.Atoi(argument)
		line := strings.Repeat("x", 99) + "\n"
		for range n / len(line) {
			out.Stream(jupyter.Stdout, line)
		}
	case "result":
		return out.Result(text(argument))
	case "display":
		id, body, _ := strings.Cut(argument, " ")
		return out.Display(jupyter.Bundle{Data: map[string]any{"text/html": body, "image/png": []byte{1, 2}}}, id)
	case "update":
		id, body, _ := strings.Cut(argument, " ")
		return out.UpdateDisplay(text(body), id)
	case "clear":
		out.ClearOutput(argument == "wait")
	case "input", "password":
		line, err := out.Input(ctx, argument, command == "password")
		if err != nil {
			return err
		}
		out.Stream(jupyter.Stdout, "<"+line+">")
	case "hold":
		k.running <- argument
		select {
		case <-k.release:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case "stuck": // like hold, but deaf
		k.running <- argument
		<-k.release
	case "open":
		_, err := out.OpenComm(argument, map[string]any{"opened": true}, echoComm{})
		return err
	case "panic":
		panic(argument)
	case "where":
		out.Stream(jupyter.Stdout, out.Parent().ID)
	default:
		return errors.New(command + " " + argument)
	}
	return nil
}

var echoWords = []string{"print", "page", "password", "result", "wörter"}

func (k *echoKernel) Complete(ctx context.Context, code string, cursor int) (jupyter.Completion, error) {
	if k.completing != nil {
		select {
		case <-k.completing:
		case <-ctx.Done():
			return jupyter.Completion{}, ctx.Err()
		}
	}
	start := strings.LastIndexAny(code[:cursor], " \n") + 1
	c := jupyter.Completion{Start: start, End: cursor}
	for _, w := range echoWords {
		if strings.HasPrefix(w, code[start:cursor]) {
			c.Matches = append(c.Matches, jupyter.Match{Text: w, Kind: "keyword"})
		}
	}
	return c, nil
}

func (k *echoKernel) Inspect(_ context.Context, code string, cursor, detail int) (jupyter.Inspection, error) {
	switch {
	case strings.HasPrefix(code, "fail"):
		return jupyter.Inspection{}, errors.New("cannot inspect")
	case strings.HasPrefix(code, "print"):
		return jupyter.Inspection{Found: true, Bundle: text(fmt.Sprintf("print at %d/%d", cursor, detail))}, nil
	}
	return jupyter.Inspection{}, nil
}

func (k *echoKernel) IsComplete(_ context.Context, code string) (jupyter.Completeness, error) {
	switch {
	case strings.HasSuffix(code, "\\"):
		return jupyter.Completeness{Status: jupyter.Incomplete, Indent: "  "}, nil
	case strings.HasPrefix(code, ")"):
		return jupyter.Completeness{Status: jupyter.Invalid}, nil
	}
	return jupyter.Completeness{Status: jupyter.Complete}, nil
}

func (k *echoKernel) Interrupt() { k.interrupts <- struct{}{} }

func (k *echoKernel) Shutdown(_ context.Context, restart bool) { k.shutdowns <- restart }

// echoComm sends back what it gets.
type echoComm struct{}

func echoTarget(c *jupyter.Comm, opened jupyter.CommMessage) (jupyter.CommHandler, error) {
	if strings.Contains(string(opened.Data), "refuse") {
		return nil, errors.New("refused")
	}
	return echoComm{}, nil
}

func (echoComm) Message(c *jupyter.Comm, m jupyter.CommMessage) { c.Send(m.Data, m.Buffers...) }
func (echoComm) Closed(*jupyter.Comm, jupyter.CommMessage)      {}

const patience = 30 * time.Second // for what must come; a test that passes does not wait
