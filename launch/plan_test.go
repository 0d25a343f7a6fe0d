package launch

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorovod/gorovod/interp"
)

func programOf(t *testing.T, source string) *interp.Program {
	t.Helper()
	plan, err := interp.NewNotebook().Plan("cell[4]", source)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDryRunStartsNothing(t *testing.T) {
	out := expect()
	o := Options{
		NumProc: 4, DryRun: true, Stdout: out, Executable: os.Args[0], Env: []string{"KEY=s3cr3t"}, OutputDir: "/no/such",
		Observer: func(e Event) { t.Errorf("the event %+v", e) },
	}
	results, err := Run(t.Context(), programOf(t, "float64(hvd.Rank())"), o)
	if err != nil || results != nil {
		t.Fatalf("got %v, %v", results, err)
	}
	text := out.String()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"program cell[4]\n", "gives  float64 from each rank\n", "to each rank\n", "on " + host + ": ranks 0 to 3 of 4\n",
		os.Args[0] + " agent", os.Args[0] + " worker", "env    KEY\n", "output: stream, and files in /no/such\n", "nothing was started\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "s3cr3t") {
		t.Errorf("a value of the environment is in\n%s", text)
	}
}

func TestDecode(t *testing.T) {
	results, err := Run(t.Context(), programOf(t, "[]float64{1, 2.5}"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	if err := results[0].Decode(&got); err != nil || !cmp.Equal(got, []float64{1, 2.5}) {
		t.Errorf("got %v, %v", got, err)
	}
	var wrong map[string]int
	for _, tc := range []struct {
		result Result
		into   any
		want   string
	}{
		{results[0], &wrong, "decode the result of rank 0 as map[string]int: "},
		{results[0], got, "must be a pointer to a variable, not []float64"},
		{results[0], nil, "must be a pointer"},
		{results[0], (*int)(nil), "must be a pointer"},
		{Result{Rank: 3}, &got, "rank 3: the program returned nothing"},
	} {
		if err := tc.result.Decode(tc.into); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v; want %q", err, tc.want)
		}
	}
	if _, err := Run(t.Context(), nil, Options{}); !errors.Is(err, errNoProgram) {
		t.Errorf("got %v", err)
	}
}
