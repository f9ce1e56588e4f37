//go:build !linux || !(amd64 || arm64)

package process

// Confine does nothing on this system.
func Confine() error { return nil }

// Trap does nothing on this system.
func Trap() error { return nil }
