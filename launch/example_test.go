package launch_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/launch"
)

// program checks Go source and makes a Program of it.
func program(source string) *interp.Program {
	plan, err := interp.NewNotebook().Plan("sum.go", source)
	if err != nil {
		panic(err)
	}
	p, err := plan.Program(nil)
	if err != nil {
		panic(err)
	}
	return p
}

// The program that calls Run has called worker.Main first thing in its main: its own executable is what the workers
// are started from.
func ExampleRun() {
	p := program(`
		sum := 0.0
		for i := hvd.Rank(); i < 100; i += hvd.Size() {
			sum += float64(i)
		}
		sum
	`)
	results, err := launch.Run(context.Background(), p, launch.Options{NumProc: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		var sum float64
		if err := r.Decode(&sum); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Rank, sum)
	}
	// Output:
	// 0 1200
	// 1 1225
	// 2 1250
	// 3 1275
}

// A rank that fails ends the run for all.
func ExampleRun_failure() {
	p := program(`
		shards := map[int]string{0: "a", 1: "b"}
		if _, ok := shards[hvd.Rank()]; !ok {
			panic("there is no shard for me")
		}
	`)
	_, err := launch.Run(context.Background(), p, launch.Options{NumProc: 3})
	var failed *launch.RunError
	if errors.As(err, &failed) {
		root := failed.Failures[0]
		fmt.Println("rank", root.Rank, root.Kind+":", root.Message)
		fmt.Println("at line", root.Stack[0].Line)
	}
	// Output:
	// rank 2 panic: there is no shard for me
	// at line 4
}

// Output comes line by line, behind its rank. Here the ranks' lines are put in order.
func ExampleOptions_output() {
	p := program(`fmt.Printf("half %d of %d\n", hvd.Rank()+1, hvd.Size());`)
	_, err := launch.Run(context.Background(), p, launch.Options{NumProc: 2, Output: launch.OutputGroup, Stdout: os.Stdout})
	fmt.Println(err)
	// Output:
	// [0] half 1 of 2
	// [1] half 2 of 2
	// <nil>
}

// A command that runs programs takes its options from flags.
func ExampleParse() {
	var o launch.Options
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	o.AddFlags(fs)
	rest, err := launch.Parse(fs, []string{"-np4", "--timeout", "10m", "main.go", "-v"})
	fmt.Println(o.NumProc, o.Timeout, rest, err)
	_, err = launch.Parse(fs, []string{"-np", "many"})
	fmt.Println(err)
	// Output:
	// 4 10m0s [main.go -v] <nil>
	// invalid argument "many" for "-np, --num-proc" flag: it must be a whole number, at least 1
}
