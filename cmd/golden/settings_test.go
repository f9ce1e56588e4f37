package golden_test

import (
	"os"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/golden"
)

// TestSettings holds that the table of docs/golden.md has every option with its words.
func TestSettings(t *testing.T) {
	page, err := os.ReadFile("../../docs/golden.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(page)) {
		names, values, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, name := range strings.Split(names, ", ") {
			if isRow {
				rows[strings.Trim(name, "`")] = values
			}
		}
	}
	for _, s := range golden.Settings() {
		row, ok := rows[s.Name]
		if !ok || s.Doc == "" {
			t.Errorf("docs/golden.md has no row for %s, or the option no description", s.Name)
		}
		for _, word := range s.Words {
			if !strings.Contains(row, "`"+word+"`") {
				t.Errorf("docs/golden.md does not name the value %s of %s", word, s.Name)
			}
		}
	}
}
