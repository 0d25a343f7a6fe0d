package kernelspec_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorovod/gorovod/kernel/kernelspec"
)

func Example() {
	prefix, err := os.MkdirTemp("", "prefix")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(prefix)

	data, err := kernelspec.Place{Prefix: prefix}.DataDir(context.Background())
	if err != nil {
		panic(err)
	}
	spec := kernelspec.Gorovod("/bin/sh") // in earnest, what os.Executable gives
	dir, err := kernelspec.Install(data, spec)
	if err != nil {
		panic(err)
	}
	dir, _ = filepath.Rel(prefix, dir)
	fmt.Println(dir)
	// Output: share/jupyter/kernels/gorovod
}
