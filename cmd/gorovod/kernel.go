package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func kernelCommand() *cobra.Command {
	return &cobra.Command{Use: "kernel CONNECTION_FILE", RunE: func(*cobra.Command, []string) error { return errors.New("not linked yet") }}
}
