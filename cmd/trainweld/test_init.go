package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func (p *program) testInit(cmd *cobra.Command, flags testFlags, paths []string) error {
	return errors.New("not yet")
}
