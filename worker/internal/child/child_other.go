//go:build unix && !linux

package child

import "syscall"

func processGroup(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// waitWithoutReaping has no equal here that x/sys knows.
func waitWithoutReaping(int) bool { return false }

func oomKills() uint64 { return 0 }

// bytesWaiting is FIONREAD, which x/sys does not name on these systems.
const bytesWaiting = 0x4004667f
