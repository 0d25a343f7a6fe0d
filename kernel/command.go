package kernel

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/gorovod/gorovod/kernel/jupyter"
)

// outputGrace is how long a command's output is still read after its end, when something that it left in the
// background holds on to it.
const outputGrace = 500 * time.Millisecond

// runCommand runs a command and shows what it writes as it comes. At an interrupt it is killed with all that it has
// started.
func runCommand(ctx context.Context, args []string, dir string, out *jupyter.Output) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = out.Writer(jupyter.Stdout), out.Writer(jupyter.Stderr)
	cmd.WaitDelay = outputGrace
	ownGroup(cmd)
	result := make(chan error)
	go func() {
		// The thread that starts the command stays until its end: Linux kills the command when that thread ends, which
		// is meant for the end of the kernel.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		result <- cmd.Run()
	}()
	err := <-result
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	}
	return fmt.Errorf("$ %s: %w", strings.Join(args, " "), err)
}
