//go:build race

package testenv

// Race reports whether the race detector is active. Under it, processes are slow and share no
// memory with the test.
const Race = true
