package finding

import (
	"fmt"

	"github.com/trainweld/trainweld/engine"
)

// ZeroNulls returns a warning for each field that a Go value leaves out and so removes: see Result.ZeroNulls of package engine. The
// caller sets the object.
func ZeroNulls(nulls []engine.Ignored) List {
	var found List
	for _, null := range nulls {
		found = append(found, Finding{
			Code: CodeZeroNull, Severity: Warning, Path: null.Path,
			Message: fmt.Sprintf("%s leaves the field out, and its Go type encodes that as null, which removes the field", null.Layer),
			Remedy:  Remedy{Text: "use an apply configuration of client-go as the patch, or set the field"},
			Claims:  []engine.Claim{{Layer: null.Layer, Source: null.Path}},
		})
	}
	return found
}
