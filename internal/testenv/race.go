//go:build race

package testenv

// Race says whether the race detector looks on: processes are slow under it, and share no memory with the test.
const Race = true
