package admission

import (
	"context"
	"maps"
	"math"
	"slices"

	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/api/equality"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission/serverside"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/diff"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// createJobSet returns the JobSet as stored on its creation, with the defaults of its definition and webhook. It
// returns nil if the decoding fails.
func (d *definition) createJobSet(applied map[string]any, namespace string, found *findings) *object {
	o := d.decode(applied, namespace, found)
	js := &jobset.JobSet{}
	if o.undecodable || o.as(js) != nil {
		return nil
	}
	if _, err := o.mutate(js); err != nil {
		return nil
	}
	return o
}

// reapplied returns the stored JobSet after a second server-side apply by its manager. Fields that the manager
// applied before and omits now disappear, and fields of others stay. A map that becomes empty turns into null
// (structured-merge-diff v6 typed/remove.go), which the definition may forbid. An apply also keeps its own nulls,
// which a create request loses. It returns nil if the server fails to read one of them.
func (o *object) reapplied(before, now map[string]any) *object {
	created := clone(before).(map[string]any)
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(created, o.schema)
	return o.applied(now, func(s *serverside.Server, live, now map[string]any) (map[string]any, error) {
		return s.Reapply(live, applicable(created, o.definition), now)
	})
}

// applied returns the stored JobSet after an apply, or nil if the server cannot read one of the objects.
func (o *object) applied(now map[string]any, apply func(s *serverside.Server, live, now map[string]any) (map[string]any, error)) *object {
	fields, err := apply(o.server(), applicable(o.fields, o.definition), applicable(now, o.definition))
	if err != nil {
		return nil
	}
	updated := o.definition.decode(now, o.id.Namespace, &findings{})
	if updated.undecodable {
		return nil
	}
	metadata := map[string]any{}
	maps.Copy(metadata, mapOf(updated.fields, "metadata"))
	for _, key := range []string{"labels", "annotations"} {
		delete(metadata, key)
	}
	maps.Copy(metadata, mapOf(fields, "metadata"))
	fields["metadata"] = metadata
	structuraldefaulting.Default(fields, o.schema)
	updated.fields = fields
	return updated
}

// applicable returns the fields of a JobSet that an apply uses, as the API server reads them.
func applicable(object map[string]any, d *definition) map[string]any {
	object = clone(object).(map[string]any)
	structuralpruning.Prune(object, d.schema, true)
	fields := map[string]any{}
	if spec := mapOf(object, "spec"); spec != nil {
		fields["spec"] = spec
	}
	metadata := map[string]any{}
	for _, key := range []string{"labels", "annotations"} {
		if entries := mapOf(mapOf(object, "metadata"), key); len(entries) > 0 {
			metadata[key] = entries
		}
	}
	if len(metadata) > 0 {
		fields["metadata"] = metadata
	}
	return fields
}

// isLive reports whether an object is from a cluster.
func isLive(object map[string]any) bool {
	uid, _ := mapOf(object, "metadata")["uid"].(string)
	return uid != ""
}

// withoutDefaulted returns the live state of an object without some fields that the new state lacks. The cluster would fill in these
// fields alike if it created the new state. The manager has never applied them, so that another apply keeps them.
func withoutDefaulted(live, now, created map[string]any) map[string]any {
	applied := make(map[string]any, len(live))
	for name, value := range live {
		next, isSet := now[name]
		switch filled, isFilled := created[name]; {
		case !isSet && isFilled && equality.Semantic.DeepEqual(value, filled):
		case isSet && isFilled:
			applied[name] = withoutDefaultedValue(value, next, filled)
		default:
			applied[name] = value
		}
	}
	return applied
}

func withoutDefaultedValue(live, now, created any) any {
	switch live := live.(type) {
	case map[string]any:
		next, isMap := now.(map[string]any)
		filled, isFilled := created.(map[string]any)
		if isMap && isFilled {
			return withoutDefaulted(live, next, filled)
		}
	case []any:
		next, _ := now.([]any)
		filled, _ := created.([]any)
		applied := make([]any, len(live))
		for i, item := range live {
			applied[i] = item
			at := itemLike(next, item, i)
			if at >= 0 && at < len(filled) && len(filled) == len(next) {
				applied[i] = withoutDefaultedValue(item, next[at], filled[at])
			}
		}
		return applied
	}
	return live
}

// itemLike returns the index of the item with the name of another one, or of the same index without names. It returns -1 without such
// an item.
func itemLike(list []any, item any, index int) int {
	fields, _ := item.(map[string]any)
	name, named := fields["name"].(string)
	for i, other := range list {
		fields, _ := other.(map[string]any)
		if otherName, ok := fields["name"].(string); ok == named && otherName == name && (named || i == index) {
			return i
		}
	}
	return -1
}

func mapOf(object map[string]any, field string) map[string]any {
	fields, _ := object[field].(map[string]any)
	return fields
}

// frozen returns the changed fields that are immutable in an existing JobSet (JobSet v0.12.0 pkg/webhooks). They are
// managedBy and the jobs. While the JobSet is suspended before or after the change, five fields of the Pod templates
// may change.
func frozen(old, new *jobset.JobSet) []fieldpath.Path {
	fixed := func(js *jobset.JobSet) *jobset.JobSet {
		return &jobset.JobSet{Spec: jobset.JobSetSpec{ManagedBy: js.Spec.ManagedBy, ReplicatedJobs: js.Spec.ReplicatedJobs}}
	}
	before, after := fixed(old), fixed(new.DeepCopy())
	if suspendedJobSet(old) || suspendedJobSet(new) {
		byName := make(map[string]*jobset.ReplicatedJob, len(before.Spec.ReplicatedJobs))
		for i := range before.Spec.ReplicatedJobs {
			byName[before.Spec.ReplicatedJobs[i].Name] = &before.Spec.ReplicatedJobs[i]
		}
		for i := range after.Spec.ReplicatedJobs {
			was := byName[after.Spec.ReplicatedJobs[i].Name]
			if was == nil {
				continue
			}
			pod, kept := &after.Spec.ReplicatedJobs[i].Template.Spec.Template, &was.Template.Spec.Template
			pod.Annotations, pod.Labels = kept.Annotations, kept.Labels
			pod.Spec.NodeSelector, pod.Spec.Tolerations, pod.Spec.SchedulingGates = kept.Spec.NodeSelector, kept.Spec.Tolerations, kept.Spec.SchedulingGates
		}
	}
	changes, _ := diff.Compare(before, after, diff.Options{}) // a JobSet always has an encoding
	inTypeOrder(changes)
	around, seen := map[string]bool{}, map[string]bool{} // the fields around changes, and the reported ones
	for _, c := range changes {
		for n := range c.Path {
			around[c.Path[:n].String()] = around[c.Path[:n].String()] || c.Kind != diff.Moved
		}
	}
	var paths []fieldpath.Path
	for _, c := range changes {
		path := c.Path
		if _, isElement := path[len(path)-1].Element(); isElement || c.Kind == diff.Moved {
			path = path[:len(path)-1] // the list changes as a whole
		}
		if at := path.String(); !seen[at] && !(c.Kind == diff.Moved && around[at]) {
			seen[at], paths = true, append(paths, path)
		}
	}
	return paths
}

// inTypeOrder sorts changes of a JobSet by the fields of its Go type. The items of a list keep their order, except that removed ones
// come last.
func inTypeOrder(changes diff.Changes) {
	const last = math.MaxInt
	ranks := map[string][]int{}
	for i, c := range changes {
		var of []int
		t := runtimepatch.JobSetTemplate()
		for n, step := range c.Path {
			rank := i
			if name, isField := step.Field(); isField && t != nil {
				rank = slices.IndexFunc(t.Fields, func(f *schema.StructField) bool { return f.Name == name })
			} else if known, ok := ranks[c.Path[:n+1].String()]; ok {
				rank = known[n]
			} else if _, _, isItem := step.Item(); isItem && c.Kind == diff.Removed && n == len(c.Path)-1 {
				rank = last
			}
			of = append(of, rank)
			ranks[c.Path[:n+1].String()] = of
			t = t.Lookup(c.Path[n : n+1])
		}
	}
	slices.SortStableFunc(changes, func(a, b diff.Change) int { return slices.Compare(ranks[a.Path.String()], ranks[b.Path.String()]) })
}

// update returns the API server's errors on a new state of a stored JobSet, and the changed immutable fields. It
// drops an error on a null that belongs to such a change.
func (o *object) update(ctx context.Context, stored *object) (finding.List, []fieldpath.Path) {
	found := &findings{}
	o.validate(ctx, stored, found)
	var old, new jobset.JobSet
	if stored.as(&old) != nil || o.as(&new) != nil {
		return found.all, nil
	}
	changed := frozen(&old, &new)
	rejected := slices.DeleteFunc(found.all, func(f finding.Finding) bool {
		return f.Code == codes.WrongType && slices.ContainsFunc(changed, func(path fieldpath.Path) bool { return path.HasPrefix(f.Path) })
	})
	return rejected, slices.DeleteFunc(changed, func(path fieldpath.Path) bool { return found.has(o.id, path, codes.Immutable) })
}

func suspendedJobSet(js *jobset.JobSet) bool { return js.Spec.Suspend != nil && *js.Spec.Suspend }
