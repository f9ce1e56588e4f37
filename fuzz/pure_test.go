package fuzz_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// inputsAreLeftAlone: Apply and Find change nothing, also when two goroutines share the inputs, and
// the result shares no memory with them. The race detector watches this one.
func inputsAreLeftAlone(c *fuzz.Case) string {
	kept := c.Clone()
	var results [2]*runtimepatch.Result
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			result, err := runtimepatch.Apply(c.Template, c.Patches, runtimepatch.Options{})
			if err != nil {
				return
			}
			if i == 0 {
				conflict.Find(result.History)
				for range result.History.All() {
				}
				runtimepatch.ManagedFields(result.History)
			}
			results[i] = result
		})
	}
	group.Wait()
	if !unchanged(c, kept) {
		return "Apply changed its inputs"
	}
	if results[0] == nil || results[1] == nil {
		return ""
	}
	before, owners := encode(&results[1].Template), ownersText(results[0])
	fuzz.Scribble(c.Template)
	fuzz.Scribble(&c.Patches)
	*c = *kept.Clone() // for the report
	if string(encode(&results[1].Template)) != string(before) {
		return "a change of the inputs after Apply changed the result's template"
	}
	if ownersText(results[0]) != owners {
		return "a change of the inputs after Apply changed the result's claims"
	}
	result, err := runtimepatch.Apply(c.Template, c.Patches, runtimepatch.Options{})
	if err != nil {
		return fmt.Sprintf("Apply took it, and refuses it now: %v", err)
	}
	fuzz.Scribble(&result.Template)
	if !unchanged(c, kept) {
		return "a change of the result changed the inputs"
	}
	return ""
}

func unchanged(c, kept *fuzz.Case) bool {
	return reflect.DeepEqual(c.Template, kept.Template) &&
		reflect.DeepEqual(c.Patches, kept.Patches)
}

func ownersText(r *runtimepatch.Result) string {
	var text strings.Builder
	for path, claims := range r.History.All() {
		text.WriteString(path.String())
		for _, claim := range claims {
			fmt.Fprintf(&text, " %s=", claim.Owner)
			text.Write(encode(claim.Value))
		}
		text.WriteByte('\n')
	}
	return text.String()
}
