package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// history holds the facts about each manager's patch that the claims on the merged template give.
type history struct {
	sets      map[merge.Owner]bool // the patch sets a value
	shares    map[merge.Owner]bool // another patch sets one of these values as well
	changes   map[merge.Owner]bool // the result has a value of the patch, and would have another one without it
	undecided map[merge.Owner]bool // the claims alone do not decide whether the patch changes the result
}

// history reads the claims of the patches. An item that a patch names to reach its fields is not a value of the patch. An item
// that has only a key is a value, and so is an item that the runtime lacks. It stops once each manager of times, the numbers of
// their patches, has one patch and that changes the result. The other facts do not matter then.
func (c *checker) history(times map[string]int) history {
	h := history{map[merge.Owner]bool{}, map[merge.Owner]bool{}, map[merge.Owner]bool{}, map[merge.Owner]bool{}}
	var item fieldpath.Path // an item that patches have named, until a field within it follows
	var named []merge.Claim
	for path, claims := range c.merged.Owners.Reached() {
		if h.compare(path, claims) && h.isSettled(times) {
			return h
		}
	}
	for path, claims := range c.merged.Owners.All() {
		if item != nil && !path.HasPrefix(item) {
			h.add(named)
		}
		item, named = nil, nil
		switch {
		case claims[len(claims)-1].Value == merge.Presence{} && claims[0].Owner == runtimepatch.RuntimeLayer:
			item, named = path, claims
		default:
			h.add(claims)
		}
	}
	h.add(named)
	return h
}

// isSettled reports whether each manager has one patch, and that changes the result.
func (h history) isSettled(times map[string]int) bool {
	for manager, n := range times {
		if n > 1 || !h.changes[merge.Manager(manager)] {
			return false
		}
	}
	return true
}

// add adds the values that the claims on one field set.
func (h history) add(claims []merge.Claim) {
	var first map[string]merge.Owner
	for i, claim := range claims {
		if _, is := claim.Owner.Manager(); !is {
			continue
		}
		if h.sets[claim.Owner] = true; first == nil {
			if i == len(claims)-1 {
				return // nobody shares it
			}
			first = map[string]merge.Owner{}
		}
		text, err := json.Marshal(claim.Value)
		if err != nil {
			continue
		}
		if other, known := first[string(text)]; !known {
			first[string(text)] = claim.Owner
		} else if other != claim.Owner {
			h.shares[other], h.shares[claim.Owner] = true, true
		}
	}
}

// compare compares each claim of a manager on a field with the one of the layer below it. It reports whether one changes the result.
func (h history) compare(path fieldpath.Path, claims []merge.Claim) (changes bool) {
	for i, claim := range claims {
		if _, is := claim.Owner.Manager(); !is {
			continue
		}
		var below any // null, as absent
		for _, under := range slices.Backward(claims[:i]) {
			if under.Owner != claim.Owner {
				below = under.Value
				break
			}
		}
		_, isField := path[len(path)-1].Field()
		switch {
		case merge.SameValue(claim.Value, below):
		case i == len(claims)-1 && differ(claim.Value, below) && !(isField && claim.Value == merge.Presence{}):
			h.changes[claim.Owner], changes = true, true
		default:
			h.undecided[claim.Owner] = true
		}
	}
	return changes
}

// differ reports whether two values certainly make two results. The results may treat an empty value as an absent one.
func differ(a, b any) bool {
	switch {
	case a == nil:
		return differ(b, nil)
	case b == nil:
		v := reflect.ValueOf(a)
		isEmpty := v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
		return !isEmpty || v.Type() == reflect.TypeFor[merge.Presence]()
	default:
		return reflect.TypeOf(a) == reflect.TypeOf(b) && !equality.Semantic.DeepEqual(a, b)
	}
}

// candidate is a patch that may be idle.
type candidate struct {
	index int
	// undecided tells that the history does not decide, also if the patch may reorder a list.
	undecided, reorders bool
	certain             bool // to go
}

// mostCompared is the maximum number of patches for idle, which may merge once more for each. The schema rejects more.
const mostCompared = 16

// idle returns the warnings on patches that do not change the result. A patch that sets a value of another patch is not idle:
// managers that agree each keep their own patch. A patch is not reported if another finding tells why it has no effect: it tries to
// clear a field, loses a conflict, or is of a replicated job that the release skips.
func (c *checker) idle() finding.List {
	if n := len(c.typed.Spec.RuntimePatches); c.merged == nil || n == 0 || n > mostCompared {
		return nil
	}
	patches, times := c.typed.Spec.RuntimePatches, map[string]int{}
	for i := range patches {
		times[patches[i].Manager]++
	}
	h := c.history(times)
	written, _ := mapOf(c.job.fields, "spec")["runtimePatches"].([]any)
	var found finding.List
	var candidates []candidate
	for i, patch := range patches {
		layer := merge.Manager(patch.Manager)
		if c.isSkipped(patches[i : i+1]) {
			continue
		}
		if patch.TrainingRuntimeSpec == nil || patch.TrainingRuntimeSpec.Template == nil {
			candidates = append(candidates, candidate{index: i, certain: true})
			continue
		}
		clears := c.cannotClear(patch.Manager)
		found = append(found, clears...)
		isRepeated := times[patch.Manager] > 1 // then their claims are one layer's
		isLost := slices.ContainsFunc(c.merging.Decisions, func(d conflict.Decision) bool {
			return slices.ContainsFunc(d.Lost, func(claim merge.Claim) bool { return claim.Owner == layer }) // another finding reports it
		})
		if clears == nil && !isLost && !h.shares[layer] && (isRepeated || !h.changes[layer]) {
			reorders := mayReorder(written[i])
			candidates = append(candidates, candidate{i, isRepeated || h.undecided[layer] || reorders, reorders, true})
		}
	}
	candidates = c.decide(candidates)
	losers := map[string]bool{}
	if len(candidates) > 0 {
		losers = conflictManagers(c.merged.Owners)
	}
	for _, is := range candidates {
		patch, message := patches[is.index], "patch has no effect: the runtime or another patch already sets the same values, or a later patch replaces them"
		switch {
		case patch.TrainingRuntimeSpec == nil || patch.TrainingRuntimeSpec.Template == nil:
			message = "patch is empty"
		case !h.sets[merge.Manager(patch.Manager)]:
			message = "patch sets no field: empty values and nulls set none"
		case losers[patch.Manager]:
			continue
		}
		found = append(found, finding.Finding{
			Code: codes.IdlePatch, Severity: finding.Warning, Object: c.job.id, Path: fieldpath.Fields("spec", "runtimePatches").Append(fieldpath.Item("manager", patch.Manager)),
			Message: message, Remedy: finding.Remedy{Do: finding.Remove, Text: "remove it", IsCertain: is.certain},
		})
	}
	return found
}

// isSkipped reports whether the merge of the release skips parts of the patch.
func (c *checker) isSkipped(patch []trainer.RuntimePatch) bool {
	reached := render.Applicable(c.in.Release, &c.in.Runtime.spec.Template, patch)
	return &reached[0] != &patch[0]
}

// conflictManagers returns the managers of all conflicts.
func conflictManagers(owners *merge.History) map[string]bool {
	managers := map[string]bool{}
	for _, found := range conflict.Find(owners) {
		for _, manager := range found.Managers() {
			managers[manager] = true
		}
	}
	return managers
}

// decide returns the candidates that are idle. It merges without all that the history does not decide. It merges without each if that
// changes the result, or if one may restore an order that another one changes. Of two patches that are idle because of each other,
// only the first is certain to go.
func (c *checker) decide(candidates []candidate) []candidate {
	isSame := func(without map[int]bool) bool {
		template, err := c.merging.Without(func(i int) bool { return without[i] })
		return err == nil && sameTemplate(template, &c.merged.Template)
	}
	asked, orders := map[int]bool{}, 0
	for _, of := range candidates {
		if of.undecided {
			asked[of.index] = true
		}
		if of.reorders {
			orders++
		}
	}
	if len(asked) == 0 || orders < 2 && isSame(asked) {
		return candidates
	}
	var idle []candidate
	gone := map[int]bool{}
	for _, of := range candidates {
		switch {
		case !of.undecided:
		case len(asked) == 1 || !isSame(map[int]bool{of.index: true}):
			continue
		default:
			gone[of.index] = true
			if of.certain = len(gone) == 1 || isSame(gone); !of.certain {
				delete(gone, of.index)
			}
		}
		idle = append(idle, of)
	}
	return idle
}

// mayReorder reports whether a patch as written may reorder a list without a claim, or has a directive.
func mayReorder(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if strings.HasPrefix(name, "$") || mayReorder(field) {
				return true
			}
		}
	case []any:
		return len(v) > 1 || slices.ContainsFunc(v, mayReorder)
	}
	return false
}

// cannotClear returns the warnings on empty fields of the TrainJob's own patch for which the result has a value. The
// controller encodes its Go type of the patch, which omits such fields.
func (c *checker) cannotClear(manager string) finding.List {
	spec := mapOf(c.in.TrainJob, "spec")
	list, _ := spec["runtimePatches"].([]any)
	at := slices.IndexFunc(list, func(item any) bool {
		patch, _ := item.(map[string]any)
		return patch["manager"] == manager
	})
	if at < 0 {
		return nil
	}
	patch, _ := list[at].(map[string]any)
	written := mapOf(mapOf(patch, "trainingRuntimeSpec"), "template")
	if !hasEmpty(written) {
		return nil
	}
	result, err := tree.Fields(&c.merged.Template)
	if err != nil {
		return nil
	}
	var found finding.List
	emptied(runtimepatch.JobSetTemplate(), written, result, runtimepatch.PatchPath(manager), func(path fieldpath.Path, value any) {
		found = append(found, finding.Finding{
			Code: codes.IdlePatch, Severity: finding.Warning, Object: c.job.id, Path: path,
			Message: fmt.Sprintf("a patch cannot clear this field: %s has no effect", nameEmpty(value)),
			Remedy:  finding.Remedy{Text: "remove the value from the runtime or the other patch"},
		})
	})
	return found
}

// hasEmpty reports whether a value has an empty one within it.
func hasEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, field := range v {
			if isEmptyValue(field) || hasEmpty(field) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasEmpty)
	}
	return false
}

// isEmptyValue reports whether encoding/json omits a value from a field with omitempty, or an absent pointer.
func isEmptyValue(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	}
	return false
}

func nameEmpty(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an empty map"
	case []any:
		return "an empty list"
	case string:
		return "an empty string"
	}
	return fmt.Sprint(value)
}

// wrappers are the fields that lead to a Pod template. There a null is an empty YAML key, which nobody means to clear the template.
var wrappers = []string{"metadata", "spec", "template"}

// emptied reports the fields of a patch that are empty while the result has a value. A pointer keeps its empty value, and an empty
// struct is not an attempt to clear the struct.
func emptied(t *schema.Type, patch, result map[string]any, path fieldpath.Path, report func(fieldpath.Path, any)) {
	for _, f := range t.Patchable() {
		value, isSet := patch[f.Name]
		has, at := result[f.Name], path.Append(fieldpath.Field(f.Name))
		switch {
		case !isSet || isEmptyValue(has):
		case !isEmptyValue(value):
			emptiedWithin(f.Type, value, has, at, report)
		case value == nil && slices.Contains(wrappers, f.Name), value != nil && f.Type.Kind == schema.Struct, value != nil && f.Type.Kind == schema.Scalar && f.Patch.IsPointer():
		default:
			report(at, value)
		}
	}
}

func emptiedWithin(t *schema.Type, value, has any, at fieldpath.Path, report func(fieldpath.Path, any)) {
	switch value := value.(type) {
	case map[string]any:
		within, _ := has.(map[string]any)
		if t.Kind == schema.Struct {
			emptied(t, value, within, at, report)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if t.Kind == schema.Map && value[key] == nil && !isEmptyValue(within[key]) {
				report(at.Append(fieldpath.Key(key)), nil)
			}
		}
	case []any:
		known, _ := has.([]any)
		byKey := map[fieldpath.Step]map[string]any{}
		for _, item := range known {
			if step, ok := t.Item(item); ok {
				byKey[step], _ = item.(map[string]any)
			}
		}
		for _, item := range value {
			if step, ok := t.Item(item); ok {
				item, _ := item.(map[string]any)
				emptied(t.Elem, item, byKey[step], at.Append(step), report)
			}
		}
	}
}
