//go:build !race

package diff_test

const underRace = false
