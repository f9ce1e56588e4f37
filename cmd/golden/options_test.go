package golden

import (
	"os"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/option"
)

// TestNames holds that the table of docs/golden.md has every option, and the words of those that
// take only some.
func TestNames(t *testing.T) {
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
	withWords := 0
	for _, name := range names() {
		row, ok := rows[name]
		if !ok {
			t.Errorf("docs/golden.md has no row for %s", name)
		}
		_, words, ok := strings.Cut(
			strings.NewReplacer("neither ", "none of ", " nor ", ", ", "-word", "").Replace(
				errorText(option.Set(newSettings().command, name, "no-word"))), "none of ")
		if !ok {
			continue
		}
		withWords++
		for _, word := range strings.Split(words, ", ") {
			if !strings.Contains(row, "`"+word+"`") {
				t.Errorf("docs/golden.md does not name the value %s of %s", word, name)
			}
		}
	}
	if withWords < 5 {
		t.Errorf("only %d options take words", withWords)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
