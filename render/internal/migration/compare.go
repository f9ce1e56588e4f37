package migration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Differences returns a finding for each field that differs between two JobSets, or nil. It
// compares their encodings.
func Differences(object fieldpath.Object, before, after *jobset.JobSet,
	manager string) finding.List {
	c := migrationComparison{report: func(path fieldpath.Path, before, after any) finding.Finding {
		return notSame(object, path, before, after, manager)
	}}
	c.values(nil, generic(before), generic(after))
	return c.found
}

// generic returns a value as encoding/json decodes it.
func generic(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("render: encode a %T: %v", v, err)) // API types always encode
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		panic(fmt.Sprintf("render: decode a %T: %v", v, err))
	}
	return out
}

type migrationComparison struct {
	report func(path fieldpath.Path, before, after any) finding.Finding
	found  finding.List
}

func (c *migrationComparison) values(path fieldpath.Path, before, after any) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			c.objects(path, b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok && len(a) == len(b) {
			for i := range b {
				c.values(path.Append(stepToItem(b[i], a[i], i)), b[i], a[i])
			}
			return
		}
	default:
		if before == after {
			return
		}
	}
	c.found = append(c.found, c.report(path, before, after))
}

func (c *migrationComparison) objects(path fieldpath.Path, before, after map[string]any) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c.values(path.Append(fieldpath.Field(name)), before[name], after[name])
	}
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

// notSame returns the finding on a field that differs between the JobSets of both forms.
func notSame(object fieldpath.Object, path fieldpath.Path, before, after any,
	manager string) finding.Finding {
	return finding.Finding{
		Code: codes.MigratesOther, Severity: finding.Error, Object: object, Path: path,
		Claims: []merge.Claim{{Owner: runtimepatch.OverrideLayer("all"), Value: before},
			{Owner: merge.Manager(manager), Value: after}},
		Message: fmt.Sprintf("the patch makes another JobSet than the overrides in %s", path),
		Remedy:  finding.Remedy{Text: "write this field by hand, in the patch or in the runtime"},
	}
}
