package kernel_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gorovod/gorovod/kernel"
	"github.com/gorovod/gorovod/kernel/jupyter"
)

// A program that Jupyter starts as a kernel reads the connection file that it is given and serves the notebook. It must
// have called worker.Serve first thing in main, since the notebook's session is the same program.
func ExampleNew() {
	info := jupyter.ConnectionInfo{IP: "127.0.0.1", Key: "secret"} // from jupyter.ReadConnectionFile
	server, err := jupyter.Listen(info, jupyter.Options{})
	if err != nil {
		log.Fatal(err)
	}
	k := kernel.New(kernel.Config{Version: "v1.0"})
	fmt.Println(k.Info().Implementation, k.Info().Language.Version)
	ctx, stop := context.WithCancel(context.Background())
	stop() // here nobody connects
	if err := server.Serve(ctx, k); err != nil {
		log.Fatal(err)
	}
	// Output: gorovod go1.26
}
