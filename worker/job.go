package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gorovod/gorovod/rendezvous"
)

// Job is what an agent is to do. It travels as one line of JSON on the agent's standard input.
type Job struct {
	Version    int
	Driver     Driver
	Slots      []rendezvous.Slot
	Env        []string // K=V, set in each worker
	Dir        string   // the workers' working directory; empty: the agent's
	Executable string   // the workers' executable; empty: the agent's
}

// Driver is where the rendezvous server of a run is, and what it takes to talk to it.
type Driver struct{ Addr, Fingerprint, Token string }

// jobVersion changes whenever the agent's or the worker's pipes do.
const jobVersion = 1

// maxJob bounds the line: 256 ranks take 40 kB, an environment may take 2 MB.
const maxJob = 16 << 20

// Report is what an agent tells the driver on standard output, where the rendezvous server is not the way: one line
// of JSON each.
type Report struct {
	Rank  int    // the rank that Error is about; AllRanks: all of this agent's
	Error string `json:",omitempty"` // why the agent cannot do its job
	Done  bool   `json:",omitempty"` // all workers have ended
}

// AllRanks stands in a Report for each rank that the agent has.
const AllRanks = -1

// slotJob is what the agent tells a worker over its pipe.
type slotJob struct {
	Driver Driver
	Slot   rendezvous.Slot
}

// readJob reads and checks the Job line.
func readJob(r *bufio.Reader) (Job, error) {
	var job Job
	line, err := readLine(r, maxJob)
	if err != nil {
		return job, fmt.Errorf("read the job from standard input: %w; gorovod starts its agents by itself, they are of no use by hand", err)
	}
	if err := json.Unmarshal(line, &job); err != nil {
		return job, fmt.Errorf("read the job from standard input: %w", err)
	}
	if job.Version != jobVersion {
		return job, fmt.Errorf("the driver speaks version %d of the agent's protocol and this agent version %d: install the same gorovod on both sides", job.Version, jobVersion)
	}
	if len(job.Slots) == 0 {
		return job, errors.New("the job has no slots")
	}
	for _, kv := range job.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" || strings.ContainsRune(kv, 0) {
			return job, fmt.Errorf("the job's environment has %q, which is not of the form NAME=VALUE", kv)
		}
	}
	return job, nil
}

func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > limit:
			return nil, fmt.Errorf("the line is over %d bytes", limit)
		case err == nil:
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("it ended after %d bytes: %w", len(line), io.ErrUnexpectedEOF)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// rankVariables are those by which launchers tell processes their place. A driver that runs under one of them must
// not pass its own place on to the workers.
var rankVariables = struct{ names, prefixes []string }{
	names: []string{
		"HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE",
		"HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE", "HOROVOD_HOSTNAME",
		"OMPI_UNIVERSE_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", roleVar,
	},
	prefixes: []string{"OMPI_COMM_WORLD_", "PMI_", "PMIX_"},
}

// SetsRank says whether an environment variable tells a process its place in a run, so that nobody but gorovod may
// set it for a worker.
func SetsRank(name string) bool {
	return slices.Contains(rankVariables.names, name) ||
		slices.ContainsFunc(rankVariables.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

func isRankVariable(kv string) bool {
	name, _, _ := strings.Cut(kv, "=")
	return SetsRank(name)
}

// traceVar is what the Go runtime looks at when it dies.
const traceVar = "GOTRACEBACK"

// quiet keeps the Go runtime, when it dies of the user's code, to the sentence that says why: the stacks below it are those
// of the interpreter.
func quiet(env []string) []string {
	if !terse() {
		return env
	}
	return append(env, traceVar+"=none")
}

// terse says whether stacks are to be left out of crash reports: they are unless the user asks for them.
func terse() bool {
	_, set := os.LookupEnv(traceVar)
	return !set
}

// environ is the environment of the worker in a slot: the agent's, without the place of whoever started that, then
// what the run asks for, then the worker's place, which nothing can override.
func (j *Job) environ(slot rendezvous.Slot) []string {
	env := slices.DeleteFunc(os.Environ(), isRankVariable)
	if _, set := os.LookupEnv("GOMAXPROCS"); !set {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(max(1, runtime.GOMAXPROCS(0)/max(1, slot.LocalSize))))
	}
	env = append(quiet(env), slices.DeleteFunc(slices.Clone(j.Env), isRankVariable)...)
	env = append(env, roleVar+"="+roleWorker)
	for _, v := range []struct {
		name  string
		value int
	}{
		{"RANK", slot.Rank}, {"SIZE", slot.Size}, {"LOCAL_RANK", slot.LocalRank}, {"LOCAL_SIZE", slot.LocalSize},
		{"CROSS_RANK", slot.CrossRank}, {"CROSS_SIZE", slot.CrossSize},
	} {
		env = append(env, "HOROVOD_"+v.name+"="+strconv.Itoa(v.value))
	}
	return append(env, "HOROVOD_HOSTNAME="+slot.Host)
}
