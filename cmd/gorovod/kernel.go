package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gorovod/gorovod/kernel"
	"github.com/gorovod/gorovod/kernel/jupyter"
)

func kernelCommand() *cobra.Command {
	var messages string
	c := &cobra.Command{
		Use:   "kernel CONNECTION_FILE",
		Short: "serve a notebook; Jupyter calls this",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("kernel takes one CONNECTION_FILE, the file that Jupyter names when it starts a kernel; %d arguments were given", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := serveKernel(args[0], messages); err != nil {
				return &exitError{1, fmt.Errorf("gorovod kernel: %w", err)}
			}
			return nil
		},
	}
	c.Flags().StringVar(&messages, "log-messages", "", "write every message of the protocol to `FILE`, one JSON object a line")
	return c
}

// serveKernel serves the notebook whose front end has written the connection file.
func serveKernel(connectionFile, messages string) error {
	info, err := jupyter.ReadConnectionFile(connectionFile)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o := jupyter.Options{Logger: log, HistoryFile: jupyter.DefaultHistoryFile("gorovod")}
	if messages != "" {
		f, err := os.OpenFile(messages, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("log messages: %w", err)
		}
		defer f.Close()
		o.MessageLog = f
	}
	// Front ends interrupt by message. A Ctrl-C in the terminal of a console goes to the kernel's process too.
	// It is caught rather than ignored, since processes inherit what is ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	server, err := jupyter.Listen(info, o)
	if err != nil {
		return err
	}
	return server.Serve(ctx, kernel.New(kernel.Config{Version: version, Logger: log}))
}
