package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/kernel/kernelspec"
)

func installCommand() *cobra.Command {
	var place kernelspec.Place
	c := &cobra.Command{
		Use:   "install [--user | --sys-prefix | --prefix P]",
		Short: "tell Jupyter of the gorovod kernel",
		Long: `Writes the kernelspec by which Jupyter finds this binary as the kernel "Go (gorovod)".

  gorovod install                for this user (the same as --user)
  gorovod install --sys-prefix   for the active Python environment
  gorovod install --prefix P     below P/share/jupyter`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			exe, err := os.Executable()
			if err != nil {
				return &exitError{1, fmt.Errorf("gorovod install: finding this binary: %w", err)}
			}
			dir, err := place.DataDir(context.Background())
			if err != nil {
				return &exitError{1, fmt.Errorf("gorovod install: %w", err)}
			}
			path, err := kernelspec.Install(dir, kernelspec.Gorovod(exe))
			if err != nil {
				return &exitError{1, fmt.Errorf("gorovod install: %w", err)}
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "installed the kernel %q in %s\n", "Go (gorovod)", path)
			return err
		},
	}
	c.Flags().BoolVar(&place.User, "user", false, "for this user")
	c.Flags().BoolVar(&place.SysPrefix, "sys-prefix", false, "for the active Python environment")
	c.Flags().StringVar(&place.Prefix, "prefix", "", "below `P`/share/jupyter")
	c.MarkFlagsMutuallyExclusive("user", "sys-prefix", "prefix")
	return c
}

func versionLine() string {
	return fmt.Sprintf("gorovod %s (%s, %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func checkBuildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check-build",
		Short: "say what this build and this machine can do",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			exe, err := os.Executable()
			if err != nil {
				return &exitError{1, errors.New("gorovod check-build: this binary cannot be found; workers are started from it")}
			}
			var b strings.Builder
			fmt.Fprintf(&b, "%s\n\n", versionLine())
			fmt.Fprintf(&b, "Language:    Go %s, standard library of %d packages\n", strings.TrimPrefix(interp.GoVersion, "go"), interp.StandardPackages())
			fmt.Fprintf(&b, "Evaluators:  [X] yaegi (interpreter)\n")
			fmt.Fprintf(&b, "Launchers:   [X] local (this machine, %d cores)\n", runtime.NumCPU())
			fmt.Fprintf(&b, "Workers:     %s\n", exe)
			_, err = c.OutOrStdout().Write([]byte(b.String()))
			return err
		},
	}
}
