package migration

import (
	"fmt"
	"maps"
	"slices"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Differences returns a finding for each field that differs between the JobSets of both forms, or
// nil. It compares their encodings.
func Differences(object fieldpath.Object, before, after *jobset.JobSet,
	manager string) (found finding.List) {
	old, _ := tree.Value(before) // API types always encode
	now, _ := tree.Value(after)
	compare(nil, old, now, func(path fieldpath.Path, before, after any) {
		found = append(found, finding.Finding{
			Code: codes.MigratesOther, Severity: finding.Error, Object: object, Path: path,
			Claims: []merge.Claim{{Owner: runtimepatch.OverrideLayer("all"), Value: before},
				{Owner: merge.Manager(manager), Value: after}},
			Message: fmt.Sprintf("the patch makes another JobSet than the overrides in %s", path),
			Remedy: finding.Remedy{
				Text: "write this field by hand, in the patch or in the runtime"},
		})
	})
	return found
}

// compare calls differ for each part in which two values differ, as deep as possible.
func compare(path fieldpath.Path, before, after any, differ func(fieldpath.Path, any, any)) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			all := maps.Clone(b)
			maps.Copy(all, a)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				compare(path.Append(fieldpath.Field(name)), b[name], a[name], differ)
			}
			return
		}
	case []any:
		if a, ok := after.([]any); ok && len(a) == len(b) {
			for i := range b {
				compare(path.Append(stepToItem(b[i], a[i], i)), b[i], a[i], differ)
			}
			return
		}
	default:
		if before == after {
			return
		}
	}
	differ(path, before, after)
}

// stepToItem returns the step to an item: its name if both sides have the same one, else its index.
func stepToItem(before, after any, i int) fieldpath.Step {
	b, _ := before.(map[string]any)
	a, _ := after.(map[string]any)
	if name, ok := b["name"].(string); ok && a["name"] == name {
		return fieldpath.Item("name", name)
	}
	return fieldpath.Index(i)
}
