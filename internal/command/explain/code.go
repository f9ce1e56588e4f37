package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/trainweld/trainweld/docs"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/internal/option"
)

// isCode reports whether an argument is the code of a finding and not a field.
func isCode(arg string) bool {
	digits, ok := strings.CutPrefix(strings.ToUpper(arg), "TW")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// writeCode writes the meaning of a code and its remedy.
func writeCode(w io.Writer, name, format string) error {
	code := finding.Code(strings.ToUpper(name))
	page, ok := docs.Of(code)
	if !ok {
		return exit.Usage(fmt.Errorf("no finding has the code %s%s", code, option.DidYouMean(string(code), codes())))
	}
	if format == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Code    finding.Code `json:"code"`
			Title   string       `json:"title"`
			Meaning string       `json:"meaning"`
			Mend    string       `json:"mend"`
		}{code, page.Title, page.Meaning, page.Mend})
	}
	_, err := fmt.Fprintf(w, "%s: %s\n\n%s\n", code, page.Title, page.Markdown)
	return err
}

// codes returns all codes with a page.
func codes() []string {
	var names []string
	for _, code := range docs.Codes() {
		names = append(names, string(code))
	}
	return names
}
