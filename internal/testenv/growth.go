package testenv

import (
	"math"
	"strconv"
	"strings"
)

// Exponent returns the exponent of the growth from one input to another one of ten times its size.
func Exponent(few, many uint64) float64 { return math.Log10(float64(many) / float64(few)) }

// Statements counts the statements in a profile of coverage that counts: each as often as it ran.
func Statements(profile string) uint64 {
	sum := uint64(0)
	for _, line := range strings.Split(profile, "\n") {
		fields := strings.Fields(line) // file:from,to statements count
		if len(fields) != 3 {
			continue
		}
		statements, _ := strconv.ParseUint(fields[1], 10, 64)
		count, _ := strconv.ParseUint(fields[2], 10, 64)
		sum += statements * count
	}
	return sum
}
