// Gorovod runs Go cells on many processes: it is a Jupyter kernel for Go, a launcher, and the workers that they start.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/gorovod/gorovod/worker"
)

// version is set when the binary is built.
var version = "devel"

func main() {
	// Agents, workers and sessions are this binary too. In such a process this call does not return.
	worker.Serve(worker.Interpreter())
	os.Exit(run(os.Args[1:]))
}

// exitError is a command's end by an exit status of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func run(args []string) int {
	root := &cobra.Command{
		Use:           "gorovod",
		Short:         "Go notebooks that run on many processes",
		Long:          "gorovod runs Go on many processes: from Jupyter, as a kernel with %%run, and from the command line.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(runCommand(), kernelCommand(), installCommand(), versionCommand(), checkBuildCommand())
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return 0
	}
	var exit *exitError
	if errors.As(err, &exit) {
		if exit.err != nil {
			fmt.Fprintln(os.Stderr, exit.err)
		}
		return exit.code
	}
	fmt.Fprintf(os.Stderr, "gorovod: %v\n", err)
	return 2 // cobra's errors are about arguments
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print gorovod's version and the Go it speaks",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), versionLine())
			return err
		},
	}
}
