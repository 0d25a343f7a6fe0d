package hvd_test

import (
	"fmt"

	"github.com/gorovod/gorovod/hvd"
)

// Alone, a process does all of the work; of four ranks, each does a quarter.
func Example() {
	files := []string{"a.txt", "b.txt", "c.txt"}
	for i := hvd.Rank(); i < len(files); i += hvd.Size() {
		fmt.Println(files[i])
	}
	// Output:
	// a.txt
	// b.txt
	// c.txt
}

// What one process of a run shall do is left to rank 0.
func ExampleRank() {
	if hvd.Rank() == 0 {
		fmt.Printf("%d process\n", hvd.Size())
	}
	// Output: 1 process
}

// Work of a host is shared among its processes.
func ExampleLocalRank() {
	devices := []string{"gpu0", "gpu1"}
	fmt.Println(devices[hvd.LocalRank()%len(devices)], "of", hvd.LocalSize())
	// Output: gpu0 of 1
}

// One process of each host has LocalRank 0; CrossRank numbers them.
func ExampleCrossRank() {
	if hvd.LocalRank() == 0 {
		fmt.Printf("host %d of %d\n", hvd.CrossRank(), hvd.CrossSize())
	}
	// Output: host 0 of 1
}
