package hvd_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gorovod/gorovod/hvd"
)

// TestMain lets the test binary be the compiled program that a launcher starts.
func TestMain(m *testing.M) {
	if os.Getenv("HVD_TEST_PROGRAM") != "" {
		os.Setenv("HOROVOD_RANK", "99") // too late to matter
		fmt.Println(hvd.Rank(), hvd.Size(), hvd.LocalRank(), hvd.LocalSize(), hvd.CrossRank(), hvd.CrossSize(), hvd.Hostname())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program runs the program with the variables, and none that the test itself was started with.
func program(t *testing.T, variables ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "HOROVOD_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(append(cmd.Env, "HVD_TEST_PROGRAM=1"), variables...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return strings.TrimSpace(out.String()), errs.String(), err
}

func TestProgram(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name      string
		variables []string
		want      string
	}{
		{"alone", nil, "0 1 0 1 0 1 " + host},
		{"a rank", []string{
			"HOROVOD_RANK=4", "HOROVOD_SIZE=5", "HOROVOD_LOCAL_RANK=2", "HOROVOD_LOCAL_SIZE=3",
			"HOROVOD_CROSS_RANK=0", "HOROVOD_CROSS_SIZE=1", "HOROVOD_HOSTNAME=b",
		}, "4 5 2 3 0 1 b"},
		{"alone under another name", []string{"HOROVOD_HOSTNAME=a"}, "0 1 0 1 0 1 a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, stderr, err := program(t, test.variables...)
			if err != nil || got != test.want {
				t.Errorf("got %q (%v), want %q\n%s", got, err, test.want, stderr)
			}
		})
	}
}

func TestProgramWithContradiction(t *testing.T) {
	_, stderr, err := program(t, "HOROVOD_RANK=1")
	if err == nil || !strings.Contains(stderr, "HOROVOD_RANK is set but not HOROVOD_SIZE, ") {
		t.Errorf("it ended with %v and said:\n%s", err, stderr)
	}
}
