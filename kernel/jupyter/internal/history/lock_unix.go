//go:build unix

package history

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lock takes the file's lock, which ends with the file's being closed. On a network file system whose lock service is
// down a lock may never come; the history is not worth waiting for.
func lock(f *os.File) error {
	const tries, pause = 40, 5 * time.Millisecond
	for range tries {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("another process has held its lock for %v", tries*pause)
}
