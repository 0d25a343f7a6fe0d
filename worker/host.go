package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/gorovod/gorovod/worker/internal/child"
)

// Executable chooses the executable that workers are started from: the one asked for; else the running one, when
// it called Main; else gorovod on the PATH.
func Executable(asked string) (string, error) {
	if asked != "" {
		path, err := exec.LookPath(asked)
		if err != nil {
			return "", fmt.Errorf("use %q as the workers' executable: %w", asked, err)
		}
		return path, nil
	}
	if Capable() {
		return self()
	}
	path, err := exec.LookPath("gorovod")
	if err != nil {
		return "", errors.New("find an executable to start workers from: this program did not call worker.Main, " +
			"and there is no gorovod on the PATH. Call worker.Main() first thing in main, or install gorovod, " +
			"or name it in Options.Executable")
	}
	return path, nil
}

// Commands tells, for people, the commands that a run starts on this machine.
func Commands(executable string) []string {
	return []string{
		executable + " " + roleAgent + "    (once; its job, with the secrets, comes on standard input)",
		executable + " " + roleWorker + "   (once for each rank; its place comes from the agent)",
	}
}

// AgentProcess is a running agent, as the driver sees it.
type AgentProcess struct {
	process *child.Child
	input   *os.File

	begun  []byte // of a report's line
	report func(Report)
	ended  chan struct{}
	exit   child.Exit
}

// StartAgent starts an agent on this machine. Its reports are given to report, one at a time.
func StartAgent(executable string, report func(Report)) (*AgentProcess, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe to an agent: %w", err)
	}
	defer theirs.Close()
	process, err := child.Start(child.Spec{
		Path: executable, Args: []string{roleAgent}, Stdin: theirs,
		Env: append(slices.DeleteFunc(os.Environ(), isRankVariable), roleVar+"="+roleAgent),
		// It ends when its input does, and takes its workers with it. Killed with its driver it could not.
		Orphan: true,
	})
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("start an agent: %w", err)
	}
	a := &AgentProcess{process: process, input: ours, report: report, ended: make(chan struct{})}
	process.Listen(a.hear)
	go func() {
		defer close(a.ended)
		a.exit = process.Wait()
		a.input.Close()
	}()
	return a, nil
}

// hear takes what the agent writes. Its standard error stays with the child, for its obituary.
func (a *AgentProcess) hear(s child.Stream, p []byte) {
	if s != child.Stdout {
		return
	}
	a.begun = append(a.begun, p...)
	for {
		line, rest, whole := bytes.Cut(a.begun, []byte("\n"))
		if !whole {
			return
		}
		a.begun = rest
		var r Report
		if json.Unmarshal(line, &r) == nil {
			a.report(r)
		}
	}
}

// Give hands the agent its job.
func (a *AgentProcess) Give(job Job) error {
	job.Version = jobVersion
	line, err := json.Marshal(job)
	if err == nil {
		_, err = a.input.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("give an agent its job: %w", err)
	}
	return nil
}

// PID is the agent's process number.
func (a *AgentProcess) PID() int { return a.process.PID() }

// Stop tells the agent to kill its workers, if any are left, and to end.
func (a *AgentProcess) Stop() { a.input.Close() }

// Kill ends the agent by force. Linux kills its workers then; what they have started may stay.
func (a *AgentProcess) Kill() { a.process.KillGroup() }

// Ended is closed when the agent is gone.
func (a *AgentProcess) Ended() <-chan struct{} { return a.ended }

// Obituary says how the agent ended, with its last lines on standard error. It waits for the end.
func (a *AgentProcess) Obituary() string {
	<-a.ended
	if a.exit.Tail != "" {
		return a.exit.String() + "; its last words: " + a.exit.Tail
	}
	return a.exit.String()
}
