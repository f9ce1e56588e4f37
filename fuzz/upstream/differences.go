package upstream

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Difference is one deliberate rejection of differences.txt: an input that upstream renders.
type Difference struct {
	// Case is the name of the case that shows it, or "" in the tables that describe inputs in
	// words.
	Case string
	// Code is trainweld's code for it.
	Code string
	// Reason states the reason.
	Reason string
}

// A table of cases starts with | case | code | reason |. A row of any table has a code in its
// second column.
var (
	tableOfCases = regexp.MustCompile(`^\|\s*case\s*\|\s*code\s*\|`)
	row          = regexp.MustCompile(
		"^\\|\\s*`?([^|`]+)[^|]*\\|\\s*`?(TW\\d+)`?\\s*\\|\\s*(.+?)\\s*\\|$")
)

// Differences reads the tables of the document.
func Differences(file string) ([]Difference, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("the list of deliberate refusals: %w", err)
	}
	defer f.Close()
	var out []Difference
	ofCases := false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if !strings.HasPrefix(line, "|") {
			ofCases = false
		}
		ofCases = ofCases || tableOfCases.MatchString(line)
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		d := Difference{Code: m[2], Reason: m[3]}
		if ofCases {
			d.Case = strings.TrimSpace(m[1])
		}
		out = append(out, d)
	}
	return out, lines.Err()
}
