package launch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// AddFlags defines the flags of a run, which fill the options. Parse reads them.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.Var(&countValue{&o.NumProc}, "num-proc", "start `N` processes (default 1)")
	fs.Var(&durationValue{&o.StartTimeout}, "start-timeout",
		"give up when not every rank is ready after `TIME` (default 30s, or GOROVOD_START_TIMEOUT)")
	fs.Var(&durationValue{&o.Timeout}, "timeout", "stop the run after `TIME`, such as 90s or 2h")
	fs.Var(&modeValue{&o.Output}, "output",
		"show output in this `MODE`: stream (lines as they come, tagged with their rank), group (by rank, at the end), root (rank 0 only), raw (untagged bytes)")
	fs.StringVar(&o.OutputDir, "output-filename", o.OutputDir,
		"also write each rank's output to `DIR`/rank.N/stdout and DIR/rank.N/stderr")
	fs.Var(&envValue{&o.Env}, "env", "set an environment variable in the workers: `NAME=VALUE`, or NAME for its value here; may be repeated")
	fs.StringVar(&o.Executable, "executable", o.Executable, "start the workers from the executable at `PATH`")
	fs.BoolVarP(&o.Verbose, "verbose", "v", o.Verbose, "tell each phase of the run with its duration")
	fs.BoolVar(&o.DryRun, "dry-run", o.DryRun, "tell what would be shipped and started, and start nothing")
}

// Parse reads flags up to the first argument that is none, or "--", and returns the arguments from there on. It
// takes -np in its three spellings: -np 4, -np=4, -np4. Its errors are *UsageError, and name what there is to
// choose from; --help is pflag.ErrHelp.
func Parse(fs *pflag.FlagSet, args []string) ([]string, error) {
	fs.SetInterspersed(false)
	fs.Usage = func() {} // the caller shows Help where it likes
	err := fs.Parse(respell(fs, args))
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return fs.Args(), err
	}
	text := strings.ReplaceAll(err.Error(), `"--num-proc"`, `"-np, --num-proc"`)
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		text = fmt.Sprintf("%s; the flags are %s, --help", text, strings.Join(flagNames(fs), ", "))
	}
	return nil, &UsageError{text}
}

// respell turns -np, which pflag would read as -n -p, into --num-proc. It stops where Parse stops.
func respell(fs *pflag.FlagSet, args []string) []string {
	args = slices.Clone(args)
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" || !strings.HasPrefix(arg, "-") || arg == "-" {
			break
		}
		if rest, ok := strings.CutPrefix(arg, "-np"); ok {
			value, given := strings.CutPrefix(rest, "=")
			if given || (rest != "" && rest[0] >= '0' && rest[0] <= '9') {
				args[i] = "--num-proc=" + value
				continue
			}
			if rest == "" {
				args[i] = "--num-proc"
			}
		}
		if takesNext(fs, args[i]) {
			i++
		}
	}
	return args
}

// takesNext says whether the flag's value is the next argument.
func takesNext(fs *pflag.FlagSet, arg string) bool {
	if strings.Contains(arg, "=") {
		return false
	}
	if name, long := strings.CutPrefix(arg, "--"); long {
		f := fs.Lookup(name)
		return f != nil && f.NoOptDefVal == ""
	}
	for i := 1; i < len(arg); i++ {
		if f := fs.ShorthandLookup(arg[i : i+1]); f == nil || f.NoOptDefVal == "" {
			return f != nil && i == len(arg)-1
		}
	}
	return false
}

func flagNames(fs *pflag.FlagSet) []string {
	var names []string
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, spelling(f))
		}
	})
	return names
}

// spelling is how a flag is written, with both names.
func spelling(f *pflag.Flag) string {
	switch {
	case f.Name == "num-proc":
		return "-np/--num-proc"
	case f.Shorthand != "" && f.Name != f.Shorthand:
		return "-" + f.Shorthand + "/--" + f.Name
	case f.Shorthand != "":
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// Help is the text for --help: the usage line, what the command is for, and each flag.
func Help(fs *pflag.FlagSet, usage, about string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s\n\n%s\n\nflags:\n", usage, strings.TrimSpace(about))
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		head := strings.ReplaceAll(spelling(f), "/", ", ")
		if value != "" && f.NoOptDefVal == "" {
			head += " " + value
		}
		if len(head) > 24 {
			fmt.Fprintf(&b, "  %s\n", head)
			head = ""
		}
		for i, line := range wrap(text, 76) {
			if i > 0 {
				head = ""
			}
			fmt.Fprintf(&b, "  %-24s  %s\n", head, line)
		}
	})
	return b.String()
}

// wrap breaks a text into lines of at most width characters, between words.
func wrap(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// countValue is a number of processes.
type countValue struct{ n *int }

func (v *countValue) Type() string { return "N" }
func (v *countValue) String() string {
	if v.n == nil || *v.n == 0 {
		return ""
	}
	return strconv.Itoa(*v.n)
}

func (v *countValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("it must be a whole number, at least 1")
	}
	*v.n = n
	return nil
}

// durationValue is a timeout: a Go duration, or a plain number of seconds as other launchers have it.
type durationValue struct{ d *time.Duration }

func (v *durationValue) Type() string { return "TIME" }
func (v *durationValue) String() string {
	if v.d == nil || *v.d == 0 {
		return ""
	}
	return v.d.String()
}

func (v *durationValue) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		if n, e := strconv.Atoi(s); e == nil && n < 1<<31 {
			d, err = time.Duration(n)*time.Second, nil
		}
	}
	if err != nil || d <= 0 {
		return errors.New("it must be a time such as 30s, 2m or 1h30m")
	}
	*v.d = d
	return nil
}

type modeValue struct{ m *OutputMode }

func (v *modeValue) Type() string { return "MODE" }
func (v *modeValue) String() string {
	if v.m == nil {
		return ""
	}
	return string(*v.m)
}

func (v *modeValue) Set(s string) error {
	if !slices.Contains(outputModes, OutputMode(s)) {
		return errors.New("it must be one of " + modeNames())
	}
	*v.m = OutputMode(s)
	return nil
}

// envValue collects NAME and NAME=VALUE.
type envValue struct{ env *[]string }

func (v *envValue) Type() string   { return "NAME=VALUE" }
func (v *envValue) String() string { return "" }

func (v *envValue) Set(s string) error {
	if err := checkEnv(s); err != nil {
		return err
	}
	*v.env = append(*v.env, s)
	return nil
}
