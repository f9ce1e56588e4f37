package fuzz_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestForce holds the laws that runtimepatch.Force documents.
func TestForce(t *testing.T) {
	managers := fuzz.Options{Checked: true, Least: 2}
	// Making a case takes longer than to try a law on it, so each is tried on all three.
	t.Run("Checked", func(t *testing.T) {
		t.Parallel()
		lawFor(t, cases(t)/4, managers, func(c *fuzz.Case) string {
			return cmp.Or(forceTakesAway(c), forceDecides(c), forceGoesInTurn(c))
		})
	})
	t.Run("Wild", func(t *testing.T) {
		t.Parallel()
		lawFor(t, cases(t)/4, fuzz.Options{Least: 2}, forceEnds)
	})
}

// chosen is the manager that is let win: by the seed, so that each place in the list is tried.
func chosen(c *fuzz.Case) string { return c.Patches[c.Seed%uint64(len(c.Patches))].Manager }

// forceTakesAway: the merge of the patches that Force returns equals upstream's merge. Upstream
// gets the patches without the claims against the manager's, which are deleted from their JSON.
func forceTakesAway(c *fuzz.Case) string {
	manager := chosen(c)
	forced, _, err := runtimepatch.Force(c.Template, c.Patches, manager)
	if err != nil {
		return fmt.Sprintf("Force refuses it: %v", err)
	}
	got, err := runtimepatch.Apply(c.Template, forced, runtimepatch.Options{})
	if err != nil {
		return fmt.Sprintf("Apply refuses what Force returns: %v", err)
	}
	want, err := upstreamOf(c.Template, c.Patches, withoutOpposition(c.Patches, manager))
	if err != nil {
		return fmt.Sprintf("upstream refuses the patches without what stands against %s: %v",
			manager, err)
	}
	if got, want := typed(&got.Template), typed(want); !bytes.Equal(got, want) {
		return fmt.Sprintf(
			"%s by force makes another template than the patches without what stands against "+
				"it:\n%s", manager, gocmp.Diff(decode(want), decode(got)))
	}
	return ""
}

// forceDecides: no conflict of the manager is left, and each earlier one has been decided. The
// manager's values are in force, and nothing else changes.
func forceDecides(c *fuzz.Case) string {
	manager := chosen(c)
	before := encode(c.Patches)
	found, broken := find(c)
	if broken != "" {
		return broken
	}
	forced, decisions, err := runtimepatch.Force(c.Template, c.Patches, manager)
	if err != nil {
		return fmt.Sprintf("Force refuses it: %v", err)
	}
	if !bytes.Equal(before, encode(c.Patches)) {
		return "Force changes the patches that it is given"
	}
	had := involving(found, manager)
	if (len(had) > 0) != (len(decisions) > 0) {
		return fmt.Sprintf("there are the conflicts %v, and the decisions %v", had, decisions)
	}
	if len(decisions) == 0 && len(forced) > 0 && &forced[0] != &c.Patches[0] {
		return "there is nothing to decide, and Force returns another list"
	}
	for _, d := range decisions {
		if len(d.Lost) == 0 || slices.ContainsFunc(d.Lost, func(c merge.Claim) bool {
			return c.Owner == merge.Manager(manager)
		}) {
			return fmt.Sprintf("a decision for %s takes %v", manager, d.Lost)
		}
	}
	left, broken := find(&fuzz.Case{Template: c.Template, Patches: forced})
	if broken != "" {
		return broken
	}
	if still := involving(left, manager); len(still) > 0 {
		return fmt.Sprintf("%s takes part in %v still", manager, still)
	}
	return winsIn(c, forced, manager)
}

func involving(found conflict.Conflicts, manager string) (with conflict.Conflicts) {
	for _, f := range found {
		if slices.Contains(f.Managers(), manager) {
			with = append(with, f)
		}
	}
	return with
}

// winsIn wants the manager's patch untouched and its values in the merged template.
func winsIn(c *fuzz.Case, forced []trainer.RuntimePatch, manager string) string {
	merged, err := upstream(c.Template, forced)
	if err != nil {
		return fmt.Sprintf("upstream refuses what Force returns: %v", err)
	}
	inForce := templateLeaves(merged)
	for i := range forced {
		if forced[i].Manager != manager {
			continue
		}
		if !bytes.Equal(encode(&forced[i]), encode(&c.Patches[i])) {
			return "Force changes the patch of the manager that wins"
		}
		mine := patchLeaves(&forced[i])
		for _, text := range mine.sorted() {
			value := mine[text].value
			if value == present || value == perhaps || value == "null" || value == `""` {
				continue
			}
			if got, ok := inForce[text]; !ok || got.value != value {
				return fmt.Sprintf("%s sets %s to %s, and in force is %q", manager, text, value,
					got.value)
			}
		}
	}
	return ""
}

// forceGoesInTurn: several managers are let win one after the other, the first one first.
func forceGoesInTurn(c *fuzz.Case) string {
	first, second := chosen(c), c.Patches[(c.Seed+1)%uint64(len(c.Patches))].Manager
	both, _, err := runtimepatch.Force(c.Template, c.Patches, first, second, "nobody.example/x")
	if err != nil {
		return fmt.Sprintf("Force refuses it: %v", err)
	}
	one, _, err := runtimepatch.Force(c.Template, c.Patches, first)
	if err != nil {
		return fmt.Sprintf("Force refuses it: %v", err)
	}
	if one, _, err = runtimepatch.Force(c.Template, one, second); err != nil {
		return fmt.Sprintf("Force refuses what it returned: %v", err)
	}
	if got, want := encode(both), encode(one); !bytes.Equal(got, want) {
		return fmt.Sprintf("both at once differ from one after the other:\n%s",
			gocmp.Diff(decode(want), decode(got)))
	}
	left, broken := find(&fuzz.Case{Template: c.Template, Patches: both})
	if broken != "" {
		return broken
	}
	if still := append(involving(left, first), involving(left, second)...); len(still) > 0 {
		return fmt.Sprintf("conflicts are left: %v", still)
	}
	return winsIn(c, both, first)
}

// forceEnds: whatever the patches are, Force comes to an end and changes none of its input.
func forceEnds(c *fuzz.Case) string {
	before := encode(c.Patches)
	if _, _, err := runtimepatch.Force(c.Template, c.Patches, chosen(c)); err != nil {
		if _, applied := runtimepatch.Apply(c.Template, c.Patches,
			runtimepatch.Options{}); applied == nil {
			return fmt.Sprintf("Force refuses what Apply takes: %v", err)
		}
	}
	if !bytes.Equal(before, encode(c.Patches)) {
		return "Force changes the patches that it is given"
	}
	return ""
}

// withoutOpposition returns the JSON of the patches' specs and metadata, without the claims of
// others against the manager. These claims come from an account of claims that shares no code with
// the engine.
func withoutOpposition(patches []trainer.RuntimePatch, manager string) []any {
	all := make([]any, len(patches))
	var mine leaves
	var used map[string]use
	for i := range patches {
		if patches[i].Manager == manager {
			mine, used = patchLeaves(&patches[i]), usesOf(&patches[i])
		}
	}
	for i := range patches {
		template := map[string]any{}
		if metadata := metadataOf(&patches[i]); metadata != nil {
			template["metadata"] = decode(
				encode(map[string]any{
					"labels": metadata.Labels, "annotations": metadata.Annotations}))
		}
		if spec := specOf(&patches[i]); spec != nil {
			template["spec"] = decode(encode(spec))
		}
		all[i] = template
		if patches[i].Manager == manager {
			continue
		}
		for _, path := range opposing(mine, patchLeaves(&patches[i])) {
			remove(template, path)
		}
		for key, theirs := range usesOf(&patches[i]) {
			own, ok := used[key]
			if !ok {
				continue
			}
			for _, member := range otherMembers(own, theirs) {
				remove(template, own.path.Append(fieldpath.Field(member)))
			}
		}
	}
	return all
}

// opposing are the fields of their claims that cannot stand next to mine.
func opposing(mine, theirs leaves) (paths []fieldpath.Path) {
	for text, their := range theirs {
		for _, my := range mine {
			if their.value == perhaps || my.value == perhaps {
				continue
			}
			switch {
			case their.value == my.value:
			case my.value == "null" && their.path.HasPrefix(my.path):
				paths = append(paths, my.path)
			case their.value == "null" && my.path.HasPrefix(their.path):
				paths = append(paths, their.path)
			case text == my.path.String():
				paths = append(paths, their.path)
			}
		}
	}
	return paths
}

// otherMembers are the members of a union that are theirs and not mine.
func otherMembers(mine, theirs use) []string {
	switch {
	case !mine.typed && len(mine.members) > 0:
		return slices.DeleteFunc(slices.Clone(theirs.members), func(m string) bool {
			return slices.Contains(mine.members, m)
		})
	case mine.typed && mine.kind != "Localhost" && theirs.local:
		return []string{"localhostProfile"}
	default:
		return nil
	}
}

// remove deletes a field from a JSON value.
func remove(v any, path fieldpath.Path) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	name, isField := path[0].Field()
	if !isField {
		name, _ = path[0].Key()
	}
	if len(path) == 1 {
		delete(object, name)
		return
	}
	if key, value, ok := path[1].Item(); ok {
		for _, item := range items(object, name) {
			if fmt.Sprint(item[key]) == value {
				remove(item, path[2:])
			}
		}
		return
	}
	remove(object[name], path[1:])
}

// upstreamOf is upstream for patches as JSON, of which a field can be omitted that the Go types
// always say.
func upstreamOf(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch,
	changes []any) (*trainer.JobSetTemplateSpec, error) {
	merged := &trainer.JobSetTemplateSpec{ObjectMeta: *template.ObjectMeta.DeepCopy()}
	before, err := json.Marshal(&template.Spec)
	if err != nil {
		return nil, err
	}
	for i := range patches {
		var change struct {
			Metadata struct{ Labels, Annotations map[string]string }
		}
		if err := json.Unmarshal(encode(changes[i]), &change); err != nil {
			return nil, err
		}
		merged.Labels = overlay(merged.Labels, change.Metadata.Labels)
		merged.Annotations = overlay(merged.Annotations, change.Metadata.Annotations)
		spec, ok := changes[i].(map[string]any)["spec"]
		if !ok {
			continue
		}
		after, err := strategicpatch.StrategicMergePatch(before, encode(spec), jobset.JobSetSpec{})
		if err != nil {
			return nil, err
		}
		// As upstream: each step goes through the Go types.
		merged.Spec = jobset.JobSetSpec{}
		if err := json.Unmarshal(after, &merged.Spec); err != nil {
			return nil, err
		}
		before = encode(&merged.Spec)
	}
	merged.Spec = jobset.JobSetSpec{}
	if err := json.Unmarshal(before, &merged.Spec); err != nil {
		return nil, err
	}
	upstreamOrder(template, &merged.Spec)
	return merged, nil
}
