package upstream

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Difference is one deliberate refusal of docs/differences.md: an input that upstream renders.
type Difference struct {
	// Name is the case's name, or Generated.
	Name string
	// Code is what trainweld refuses it with.
	Code string
	// Reason says why.
	Reason string
}

// Generated is the name under which the document lists refusals that no single case shows.
const Generated = "generated pairs"

// A row is | `name` | TW207 | reason |, with or without the backquotes.
var row = regexp.MustCompile("^\\|\\s*`?([^|`]+?)`?\\s*\\|\\s*`?(TW\\d+)`?\\s*\\|\\s*(.+?)\\s*\\|$")

// Differences reads the tables of the document.
func Differences(file string) ([]Difference, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("the list of deliberate refusals: %w", err)
	}
	defer f.Close()
	var out []Difference
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m := row.FindStringSubmatch(strings.TrimSpace(lines.Text())); m != nil {
			out = append(out, Difference{m[1], m[2], m[3]})
		}
	}
	return out, lines.Err()
}
