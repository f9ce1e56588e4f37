package admission

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/admission/serverside"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/items"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// createJobSet returns the JobSet as stored on its creation, with the defaults of its definition
// and webhook. It returns nil if the decoding fails.
func (d *definition) createJobSet(applied map[string]any, namespace string,
	found *findings) *object {
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

// reapplied returns the stored JobSet after a second server-side apply by its manager. Fields that
// the manager applied before and omits now disappear, and fields of others stay. A map that becomes
// empty turns into null (structured-merge-diff v6 typed/remove.go), which the definition may
// forbid. An apply also keeps its own nulls, which a create request loses. It returns nil if the
// server fails to read one of them.
func (o *object) reapplied(before, now map[string]any) *object {
	created := clone(before).(map[string]any)
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(created, o.schema)
	return o.applied(
		now, func(s *serverside.Server, live, now map[string]any) (map[string]any, error) {
			return s.Reapply(live, applicable(created, o.definition), now)
		})
}

// reappliedByOwner returns the stored JobSet after a second server-side apply by the only manager
// that has applied the live object. Its managed fields say which ones it gives up. It returns nil
// without managed fields, or with those of several appliers.
func (o *object) reappliedByOwner(live, now map[string]any) *object {
	entries := managedFields(live)
	applier := ""
	for _, entry := range entries {
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" ||
			entry.Manager == applier {
			continue
		}
		if applier != "" {
			return nil
		}
		applier = entry.Manager
	}
	if applier == "" {
		return nil
	}
	owners, err := serverside.Owners(entries, applier)
	if err != nil {
		return nil
	}
	return o.appliedBy(applier, owners, now)
}

// managedFields returns the managed fields of a live object, or nil.
func managedFields(live map[string]any) []metav1.ManagedFieldsEntry {
	var metadata metav1.ObjectMeta
	data, err := json.Marshal(mapOf(live, "metadata"))
	if err != nil || json.Unmarshal(data, &metadata) != nil {
		return nil
	}
	return metadata.ManagedFields
}

// appliedBy returns the stored JobSet after an apply by one of its owners, and sets what each of
// them owns then. It returns nil if the server cannot read one of the objects.
func (o *object) appliedBy(manager string, owners smd.ManagedFields, now map[string]any) *object {
	return o.applied(
		now, func(s *serverside.Server, live, now map[string]any) (map[string]any, error) {
			object, err := s.Typed(live, typed.AllowDuplicates)
			if err != nil {
				return nil, err
			}
			config, err := s.Typed(now)
			if err != nil {
				return nil, err
			}
			result, left, err := s.Apply(object, config, owners.Copy(), manager)
			if err != nil {
				return nil, err
			}
			maps.DeleteFunc(owners, func(string, smd.VersionedSet) bool { return true })
			maps.Copy(owners, left)
			fields, _ := result.AsValue().Unstructured().(map[string]any)
			return fields, nil
		})
}

// applied returns the stored JobSet after an apply, or nil if the server cannot read one of the
// objects.
func (o *object) applied(now map[string]any,
	apply func(s *serverside.Server, live, now map[string]any) (map[string]any, error)) *object {
	fields, err := apply(o.server(), applicable(o.fields, o.definition),
		applicable(now, o.definition))
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

// withoutDefaulted drops from the live state of an object the fields that defaulting would set
// again anyway. The manager never applied them, so another apply leaves them alone.
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

// itemLike returns the index of the item with the name of another one, or of the same index without
// names. It returns -1 without such an item.
func itemLike(list []any, item any, index int) int {
	fields, _ := item.(map[string]any)
	name, named := fields["name"].(string)
	for i, other := range list {
		fields, _ := other.(map[string]any)
		if otherName, ok := fields["name"].(string); ok == named && otherName == name &&
			(named || i == index) {
			return i
		}
	}
	return -1
}

// frozen returns the changed fields that are immutable in an existing JobSet (JobSet v0.12.0
// pkg/webhooks). They are managedBy and the jobs. While the JobSet is suspended before or after the
// change, five fields of the Pod templates may change.
func frozen(old, new *jobset.JobSet) []fieldpath.Path {
	updated := new.DeepCopy()
	if suspendedJobSet(old) || suspendedJobSet(new) {
		byName := make(map[string]*jobset.ReplicatedJob, len(old.Spec.ReplicatedJobs))
		for i := range old.Spec.ReplicatedJobs {
			byName[old.Spec.ReplicatedJobs[i].Name] = &old.Spec.ReplicatedJobs[i]
		}
		for i := range updated.Spec.ReplicatedJobs {
			was := byName[updated.Spec.ReplicatedJobs[i].Name]
			if was == nil {
				continue
			}
			pod := &updated.Spec.ReplicatedJobs[i].Template.Spec.Template
			kept := &was.Template.Spec.Template
			pod.Annotations, pod.Labels = kept.Annotations, kept.Labels
			pod.Spec.NodeSelector, pod.Spec.Tolerations,
				pod.Spec.SchedulingGates = kept.Spec.NodeSelector, kept.Spec.Tolerations,
				kept.Spec.SchedulingGates
		}
	}
	before, errBefore := tree.Fields(&old.Spec)
	after, errAfter := tree.Fields(&updated.Spec)
	if errBefore != nil || errAfter != nil {
		return nil // a value of the Go type always has an encoding
	}
	var paths []fieldpath.Path
	for _, name := range []string{"managedBy", "replicatedJobs"} {
		differences(runtimepatch.JobSetTemplate().Field("spec").Type.Field(name).Type, before[name],
			after[name], fieldpath.Fields("spec", name),
			func(path fieldpath.Path) { paths = append(paths, path) })
	}
	return paths
}

// update returns the API server's errors on a new state of a stored JobSet, and the changed
// immutable fields. Such a change explains an error on the null that it leaves.
func (o *object) update(ctx context.Context, stored *object) (finding.List, []fieldpath.Path) {
	var changed []fieldpath.Path
	var old, new jobset.JobSet
	if stored.as(&old) == nil && o.as(&new) == nil {
		changed = frozen(&old, &new)
	}
	found := &findings{*codes.NewReport(nil, func(f finding.Finding) bool {
		return f.Code == codes.WrongType &&
			slices.ContainsFunc(changed, func(path fieldpath.Path) bool {
				return path.HasPrefix(f.Path)
			})
	})}
	o.validate(ctx, stored, found)
	return found.List(), slices.DeleteFunc(changed, func(path fieldpath.Path) bool {
		return found.HasError(o.id, path, codes.Immutable)
	})
}

// differences finds the fields that differ between two values. Merge keys identify the items of a
// list. A list without a merge key counts as one field.
func differences(t *schema.Type, a, b any, path fieldpath.Path, add func(fieldpath.Path)) {
	before, had := a.(map[string]any)
	after, has := b.(map[string]any)
	switch {
	case merge.SameValue(a, b) || isNoItem(a) && isNoItem(b):
	case t.Kind == schema.Struct && had && has:
		for _, f := range t.Fields {
			differences(f.Type, before[f.Name], after[f.Name],
				path.Append(fieldpath.Field(f.Name)), add)
		}
	case t.Kind == schema.Map:
		all := map[string]any{}
		maps.Copy(all, before)
		maps.Copy(all, after)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if !merge.SameValue(before[key], after[key]) {
				add(path.Append(fieldpath.Key(key)))
			}
		}
	case t.KeyField() != nil:
		differentItems(t, items.Of(t, a), items.Of(t, b), path, add)
	default:
		add(path)
	}
}

// isNoItem reports whether a value is a list without items, which may be missing.
func isNoItem(value any) bool {
	list, isList := value.([]any)
	return value == nil || isList && len(list) == 0
}

// differentItems compares items of the same key. A different order, or a duplicate key, makes the
// whole list one difference.
func differentItems(t *schema.Type, before, after items.List, path fieldpath.Path,
	add func(fieldpath.Path)) {
	found := false
	report := func(p fieldpath.Path) {
		add(p)
		found = true
	}
	if before.IsUnique() && after.IsUnique() {
		for i, key := range after.Keys() {
			at := path.Append(fieldpath.Item(t.Key, key))
			if was := before.Named(key); was != nil {
				differences(t.Elem, was, after.At(i), at, report)
			} else {
				report(at)
			}
		}
		for _, key := range before.Keys() {
			if after.Named(key) == nil {
				report(path.Append(fieldpath.Item(t.Key, key)))
			}
		}
	}
	if !found {
		add(path)
	}
}

// unfreeze returns the help for an immutable field of a JobSet.
func unfreeze(path fieldpath.Path) string {
	const depth = 3 // .spec.replicatedJobs[…]
	if len(path) > depth && path[:depth-1].HasPrefix(fieldpath.Fields("spec", "replicatedJobs")) {
		for _, field := range mutableInPods() {
			if path[depth:].HasPrefix(
				fieldpath.Fields("template", "spec", "template").Append(field...)) {
				return "suspend the JobSet before the change, or in it"
			}
		}
	}
	return "restore the old value"
}
