package child

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// bytesWaiting asks how many bytes can be read now.
const bytesWaiting = unix.TIOCINQ

func processGroup(orphan bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if !orphan {
		attr.Pdeathsig = syscall.SIGKILL
	}
	return attr
}

// waitWithoutReaping returns when the process has ended, leaving it a zombie, so that the number of its process
// group cannot be given to another yet. It returns false when the system cannot do that.
func waitWithoutReaping(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// oomKills says how many processes of this process' control group the kernel has killed for want of memory.
func oomKills() uint64 {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "":
			return oomKillsIn("/sys/fs/cgroup", parts[2], "memory.events")
		case parts[1] == "memory":
			return oomKillsIn("/sys/fs/cgroup/memory", parts[2], "memory.oom_control")
		}
	}
	return 0
}

// oomKillsIn reads the count from the group's file, or, in a container that shows only its own groups, the root's.
func oomKillsIn(root, group, file string) uint64 {
	data, err := os.ReadFile(filepath.Join(root, group, file))
	if err != nil {
		if data, err = os.ReadFile(filepath.Join(root, file)); err != nil {
			return 0
		}
	}
	for line := range bytes.Lines(data) {
		if count, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("oom_kill ")); ok {
			n, _ := strconv.ParseUint(string(count), 10, 64)
			return n
		}
	}
	return 0
}
