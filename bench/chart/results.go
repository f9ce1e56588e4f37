package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// results maps a benchmark and a unit, such as "BenchmarkCheck check-cpu-ms", to the value.
type results map[string]float64

// parse reads the output of go test -bench. It ignores other lines. A later value of a benchmark replaces an earlier one.
func parse(r io.Reader) (results, error) {
	found := results{}
	cores := regexp.MustCompile(`-\d+$`)
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := cores.ReplaceAllString(fields[0], "")
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: invalid value %q of %s", n, fields[i], name)
			}
			found[name+" "+fields[i+1]] = value
		}
	}
	return found, lines.Err()
}
