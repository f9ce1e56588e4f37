//go:build !linux

package process

// StartWithin starts a command. This system limits no other process.
func StartWithin(cmd *Command, _ uint64) error { return cmd.Start() }
