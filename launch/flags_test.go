package launch

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// parse reads flags as the magic does, which has -o beside those of the run.
func parse(args ...string) (o Options, bind string, rest []string, err error) {
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	o.AddFlags(fs)
	fs.StringVarP(&bind, "out", "o", "", "bind `NAME`")
	rest, err = Parse(fs, args)
	return o, bind, rest, err
}

func TestFlags(t *testing.T) {
	for _, tc := range []struct {
		args string
		want Options
		bind string
		rest string
	}{
		{args: ""},
		{args: "-np 4", want: Options{NumProc: 4}},
		{args: "-np=4", want: Options{NumProc: 4}},
		{args: "-np4", want: Options{NumProc: 4}},
		{args: "--num-proc 4", want: Options{NumProc: 4}},
		{args: "--num-proc=4 -v", want: Options{NumProc: 4, Verbose: true}},
		{args: "-v -np 4 -o x", want: Options{NumProc: 4, Verbose: true}, bind: "x"},
		{args: "-vox -np4", want: Options{NumProc: 4, Verbose: true}, bind: "x"},
		{args: "-o -np -np 2", want: Options{NumProc: 2}, bind: "-np"},
		{args: "--start-timeout 90 --timeout 2h", want: Options{StartTimeout: 90 * time.Second, Timeout: 2 * time.Hour}},
		{args: "--env A=1,2 --env B", want: Options{Env: []string{"A=1,2", "B"}}},
		{args: "--output group --output-filename /tmp/x --executable g", want: Options{Output: OutputGroup, OutputDir: "/tmp/x", Executable: "g"}},
		{args: "--dry-run", want: Options{DryRun: true}},
		{args: "-np 2 file.go -np 3 -x", want: Options{NumProc: 2}, rest: "file.go -np 3 -x"},
		{args: "--timeout 5s file.go -np3", want: Options{Timeout: 5 * time.Second}, rest: "file.go -np3"},
		{args: "-np 2 -- -f(x)", want: Options{NumProc: 2}, rest: "-f(x)"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			got, bind, rest, err := parse(strings.Fields(tc.args)...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.FilterPath(func(p cmp.Path) bool {
				return p.Last().String() == ".Observer" || p.Last().String() == ".Logger"
			}, cmp.Ignore())); diff != "" {
				t.Error(diff)
			}
			if bind != tc.bind || strings.Join(rest, " ") != tc.rest {
				t.Errorf("got -o %q and the rest %q", bind, rest)
			}
		})
	}
}

func TestRefusedFlags(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"--hosts a:2", "unknown flag: --hosts; the flags are -np/--num-proc, --start-timeout, --timeout, --output, --output-filename, --env, --executable, -v/--verbose, --dry-run, -o/--out, --help"},
		{"-x", "unknown shorthand flag: 'x' in -x; the flags are -np/--num-proc"},
		{"-np 0", "at least 1"},
		{"-np=x", "whole number"},
		{"-np", "needs an argument"},
		{"-np=", "whole number"},
		{"--timeout -1s", "30s, 2m"},
		{"--timeout soon", "30s, 2m"},
		{"--output loud", "stream, group, root, raw"},
		{"--env 1A=2", "not the name of an environment variable"},
		{"--env A.B", "not the name"},
		{"--env HOROVOD_RANK=1", "gorovod sets itself"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			_, _, _, err := parse(strings.Fields(tc.args)...)
			var usage *UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v; want %q", err, tc.want)
			}
			if ExitStatus(err) != 2 {
				t.Errorf("got exit status %d", ExitStatus(err))
			}
		})
	}
}

func TestRefusedOptions(t *testing.T) {
	t.Setenv("LAUNCH_TEST_UNSET", "")
	for _, tc := range []struct {
		name string
		o    Options
		want string
	}{
		{"np", Options{NumProc: -1}, "-np must be at least 1"},
		{"timeout", Options{Timeout: -1}, "timeout"},
		{"mode", Options{Output: "loud"}, "stream, group, root, raw"},
		{"env", Options{Env: []string{"LAUNCH_TEST_NOT_SET_ANYWHERE"}}, "it is not set here; write LAUNCH_TEST_NOT_SET_ANYWHERE=VALUE"},
		{"env name", Options{Env: []string{"A B=1"}}, "not the name"},
		{"env zero", Options{Env: []string{"A=\x00"}}, "zero byte"},
		{"dir", Options{Dir: "/no/such/folder"}, "no such file"},
		{"dir is a file", Options{Dir: "/dev/null"}, "not a folder"},
		{"executable", Options{Executable: "/no/such/gorovod"}, "/no/such/gorovod"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.o.checked()
			var usage *UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v; want %q", err, tc.want)
			}
		})
	}
	o, err := Options{NumProc: 2, OutputDir: "/dev/null/x"}.checked()
	if err == nil {
		_, err = execute(t.Context(), nil, o)
	}
	if ExitStatus(err) != 2 || !strings.Contains(err.Error(), "/dev/null") {
		t.Errorf("output to an impossible folder: got %v", err)
	}
}

func TestStartTimeoutFromTheEnvironment(t *testing.T) {
	t.Setenv(startTimeoutVar, "7s")
	if o, err := (Options{}).checked(); err != nil || o.StartTimeout != 7*time.Second {
		t.Errorf("got %v, %v", o.StartTimeout, err)
	}
	if o, err := (Options{StartTimeout: time.Second}).checked(); err != nil || o.StartTimeout != time.Second {
		t.Errorf("got %v, %v", o.StartTimeout, err)
	}
	t.Setenv(startTimeoutVar, "soon")
	if _, err := (Options{}).checked(); err == nil || !strings.Contains(err.Error(), startTimeoutVar) {
		t.Errorf("got %v", err)
	}
}

func TestHelp(t *testing.T) {
	var o Options
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	o.AddFlags(fs)
	if _, err := Parse(fs, []string{"-np", "2", "--help"}); !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("got %v", err)
	}
	text := Help(fs, "%%run [flags]", "Runs the cell on several processes.")
	for _, want := range []string{
		"usage: %%run [flags]\n\nRuns the cell", "\n  -np, --num-proc N         start N processes (default 1)\n",
		"\n  -v, --verbose             tell", "\n  --env NAME=VALUE          set",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 110 {
			t.Errorf("the line is too long: %s", line)
		}
	}
}
