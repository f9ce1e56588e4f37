//go:build !race

package fuzz_test

const underRace = false
