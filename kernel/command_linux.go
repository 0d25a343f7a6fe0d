package kernel

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a command into a process group that ends as a whole, with its context or with the kernel.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
