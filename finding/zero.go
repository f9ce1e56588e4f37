package finding

import (
	"fmt"

	"github.com/trainweld/trainweld/merge"
)

// ZeroNulls returns a warning for each field that a Go value omits and so removes: see
// merge.Nulled. The caller sets the object.
func ZeroNulls(notes []merge.Note) List {
	var found List
	for _, null := range notes {
		if null.Kind != merge.Nulled {
			continue
		}
		found = append(found, Finding{
			Code: CodeZeroNull, Severity: Warning, Path: null.Path,
			Message: fmt.Sprintf(
				"%s leaves the field out, and its Go type encodes that as null, which removes "+
					"the field", null.Owner),
			Remedy: Remedy{
				Text: "use an apply configuration of client-go as the patch"},
			Claims: []merge.Claim{{Owner: null.Owner, At: null.Path}},
		})
	}
	return found
}
