package explain

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// isCode reports whether an argument is the code of a finding, perhaps a misspelt one, and not a
// field.
func isCode(arg string) bool {
	number, ok := strings.CutPrefix(strings.ToUpper(arg), "TW")
	return ok && number != "" && strings.ContainsRune("0123456789", rune(number[0]))
}

// CodeReport is the meaning of a code for programs. The tags doc are the descriptions of the JSON
// Schema.
type CodeReport struct {
	Code    finding.Code        `json:"code"`
	Title   string              `json:"title" doc:"The problem in a few words."`
	Meaning string              `json:"meaning" doc:"The severity, and what the code says."`
	Fix     string              `json:"fix" doc:"What to do."`
	Changes []jsonReleaseChange `json:"changes,omitempty" doc:"The releases of the Trainer that changed what the code is about."`
}

// jsonReleaseChange is a change in a release of the Trainer.
type jsonReleaseChange struct {
	Since  string `json:"since"`
	Change string `json:"change"`
	Link   string `json:"link,omitempty"`
}

// writeCode writes the meaning of a code and its remedy.
func writeCode(w io.Writer, name, format string) error {
	code := finding.Code(strings.ToUpper(name))
	page, ok := codes.Of(code)
	if instead := codes.Removed(code); instead != "" {
		return exit.Usage(fmt.Errorf("%s is gone: %s", code, instead))
	}
	if !ok {
		return exit.Usage(fmt.Errorf("no finding has the code %s%s", code, didYouMean(code)))
	}
	var b bytes.Buffer
	var changes []jsonReleaseChange
	for _, change := range changesOf(code) {
		changes = append(changes, jsonReleaseChange{change.In, change.Why, change.Link})
	}
	if format == "json" {
		return report.EncodeReport(w, CodeReport{code, page.Title, page.Meaning, page.Fix, changes})
	}
	fmt.Fprintf(&b, "%s: %s\n\n%s\n", code, page.Title, page.Markdown)
	for i, c := range changes {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "Since Trainer %s, %s.\n", c.Since, c.Change)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// didYouMean returns the hint at the first code that begins with an unknown code, or else at the
// nearest code.
func didYouMean(code finding.Code) string {
	all := option.CodeNames()
	for _, name := range all {
		if strings.HasPrefix(name, string(code)) {
			return fmt.Sprintf("; did you mean %s?", name)
		}
	}
	return option.DidYouMean(string(code), all)
}
