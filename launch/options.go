package launch

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gorovod/gorovod/worker"
)

// OutputMode says how the output of the ranks is shown.
type OutputMode string

// The output modes.
const (
	OutputStream OutputMode = "stream" // each line as it comes, behind its rank: "[2] line"
	OutputGroup  OutputMode = "group"  // the same lines, rank by rank, when the run has ended
	OutputRoot   OutputMode = "root"   // rank 0's output only, as it comes
	OutputRaw    OutputMode = "raw"    // the bytes as they come
)

var outputModes = []OutputMode{OutputStream, OutputGroup, OutputRoot, OutputRaw}

// DefaultStartTimeout is how long ranks may take to become ready when nothing else is said.
const DefaultStartTimeout = 30 * time.Second

// startTimeoutVar sets another default for StartTimeout.
const startTimeoutVar = "GOROVOD_START_TIMEOUT"

// Options says how to run a Program. The zero value runs it on one local worker.
type Options struct {
	// NumProc is the number of ranks; 0 means 1.
	NumProc int
	// StartTimeout bounds the time from the call of Run until every rank is ready; 0 means what the environment
	// variable GOROVOD_START_TIMEOUT says, else DefaultStartTimeout.
	StartTimeout time.Duration
	// Timeout bounds the whole run; 0 means that it may take for ever.
	Timeout time.Duration
	// OutputDir gets the output of each rank as it was written, in rank.N/stdout and rank.N/stderr.
	OutputDir string
	// Env is set in the workers, behind what they inherit: NAME=VALUE, or NAME for the caller's own value.
	Env []string
	// Dir is the workers' working directory; empty means the caller's.
	Dir string
	// Output says how the ranks' output is written to Stdout and Stderr; empty means OutputStream.
	Output OutputMode
	// Stdout and Stderr get the ranks' output; nil means the process' own. A writer that blocks holds up the ranks,
	// and Run with them. Run calls one of them at a time.
	Stdout, Stderr io.Writer
	// Observer is told what happens to each rank, for a live display; one call at a time, from Run's goroutines.
	Observer func(Event)
	// Executable is what workers are started from; empty means the running executable when it called worker.Main,
	// else gorovod on the PATH.
	Executable string
	// DryRun makes Run write the Plan to Stdout and start nothing.
	DryRun bool
	// Verbose writes each phase of the run with its duration to Stderr.
	Verbose bool
	// Logger is told about requests at debug level; nil means no log.
	Logger *slog.Logger
}

// UsageError is a refusal of options, before anything was started.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// checked returns the options with all defaults filled in, or the first that makes no sense.
func (o Options) checked() (Options, error) {
	if o.NumProc < 0 {
		return o, usagef("start %d processes: -np must be at least 1", o.NumProc)
	}
	o.NumProc = max(1, o.NumProc)
	if o.StartTimeout < 0 || o.Timeout < 0 {
		return o, usagef("time out after %v: a timeout must be longer than nothing", min(o.StartTimeout, o.Timeout))
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = DefaultStartTimeout
		if text := os.Getenv(startTimeoutVar); text != "" {
			d, err := time.ParseDuration(text)
			if err != nil || d <= 0 {
				return o, usagef("read the environment variable %s=%q: it must be a time such as 30s or 2m", startTimeoutVar, text)
			}
			o.StartTimeout = d
		}
	}
	if o.Output == "" {
		o.Output = OutputStream
	}
	if !slices.Contains(outputModes, o.Output) {
		return o, usagef("show output in the mode %q: there are %s", o.Output, modeNames())
	}
	env, err := resolveEnv(o.Env)
	if err != nil {
		return o, err
	}
	o.Env = env
	if o.Dir != "" {
		if o.Dir, err = filepath.Abs(o.Dir); err != nil {
			return o, usagef("run in %q: %v", o.Dir, err)
		}
		if info, err := os.Stat(o.Dir); err != nil {
			return o, usagef("run in a folder: %v", err)
		} else if !info.IsDir() {
			return o, usagef("run in %s: it is not a folder", o.Dir)
		}
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = func(Event) {}
	}
	if o.Executable, err = worker.Executable(o.Executable); err != nil {
		return o, &UsageError{err.Error()}
	}
	return o, nil
}

func modeNames() string {
	var names []string
	for _, m := range outputModes {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkEnv checks one NAME or NAME=VALUE.
func checkEnv(entry string) error {
	name, _, _ := strings.Cut(entry, "=")
	switch {
	case !envName.MatchString(name):
		return fmt.Errorf("%q is not the name of an environment variable: letters, digits and _, not beginning with a digit", name)
	case worker.SetsRank(name):
		return fmt.Errorf("%s tells a worker its place in the run, which gorovod sets itself", name)
	case strings.ContainsRune(entry, 0):
		return fmt.Errorf("the value of %s has a zero byte in it, which an environment cannot hold", name)
	}
	return nil
}

// resolveEnv gives each bare NAME the caller's value.
func resolveEnv(entries []string) ([]string, error) {
	var env []string
	for _, entry := range entries {
		if err := checkEnv(entry); err != nil {
			return nil, usagef("set an environment variable in the workers: %v", err)
		}
		if !strings.Contains(entry, "=") {
			value, ok := os.LookupEnv(entry)
			if !ok {
				return nil, usagef("hand the environment variable %s to the workers: it is not set here; write %s=VALUE to give it one", entry, entry)
			}
			entry += "=" + value
		}
		env = append(env, entry)
	}
	return env, nil
}

// errNoProgram is what Run says to a nil Program.
var errNoProgram = errors.New("launch.Run: the Program is nil; package interp makes one from source text")
