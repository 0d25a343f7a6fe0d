//go:build !unix

package history

import "os"

// lock does nothing: lines of two kernels may come to stand within each other, and are then passed over.
func lock(*os.File) error { return nil }
