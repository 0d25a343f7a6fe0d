package worker

import (
	"bufio"
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/gorovod/gorovod/rendezvous"
)

func TestAnAgentRefusesAJobThatItCannotRead(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"nothing", "", "of no use by hand"},
		{"no line", `{"Version":1`, "it ended after 12 bytes"},
		{"no JSON", "hello\n", "invalid character"},
		{"another version", `{"Version":99,"Slots":[{}]}` + "\n", "version 99"},
		{"no slots", `{"Version":1}` + "\n", "no slots"},
		{"bad environment", `{"Version":1,"Slots":[{}],"Env":["A"]}` + "\n", `"A"`},
		{"too long", strings.Repeat("x", maxJob+1), "over"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			err := Agent(context.Background(), strings.NewReader(tc.in), &out)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v; want %q", err, tc.want)
			}
			if !strings.Contains(out.String(), `"Error"`) {
				t.Errorf("the driver is told %q", out.String())
			}
		})
	}
}

func TestSetsRank(t *testing.T) {
	for name, want := range map[string]bool{
		"HOROVOD_RANK": true, "HOROVOD_CROSS_SIZE": true, "HOROVOD_CYCLE_TIME": false, "OMPI_COMM_WORLD_RANK": true,
		"OMPI_MCA_btl": false, "PMI_RANK": true, "PMIX_RANK": true, "PATH": false, "GOROVOD_ROLE": true,
	} {
		if SetsRank(name) != want {
			t.Errorf("%s: got %v", name, !want)
		}
	}
}

func TestAWorkersShareOfTheCores(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	job := Job{Env: []string{"GOMAXPROCS=7"}}
	env := strings.Join(job.environ(rendezvous.Slot{LocalSize: 1}), "\n")
	if !strings.Contains(env, "GOMAXPROCS=7") {
		t.Error("what the run asks for is not there")
	}
}

func FuzzReadJob(f *testing.F) {
	f.Add([]byte(`{"Version":1,"Slots":[{"rank":0,"size":1}],"Env":["A=b"]}` + "\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		job, err := readJob(bufio.NewReader(bytes.NewReader(in)))
		if err == nil && len(job.Slots) == 0 {
			t.Error("a job without slots was taken")
		}
	})
}
