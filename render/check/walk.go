package check

import (
	"fmt"
	"reflect"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/items"
	"github.com/trainweld/trainweld/schema"
)

// walk checks what hangs on the shape of the values alone: unions, merge keys, directives. With
// only a runtime it checks that; with a patch, the patch by itself and against the runtime.
func (w *walker) walk(t *structShape, patch, runtime merge.Object, depth int, parent string) {
	p, r := operand{patch, true, depth}, operand{runtime, false, depth}
	for i := range t.Unions {
		if t.Unions[i].Discriminator == "" {
			w.union(t, i, p, r, parent)
		} else {
			w.discriminated(t.Type, t.Unions[i], p, r)
		}
	}
	leader, fields := p, t.inside
	if patch == nil {
		leader, fields = r, t.nested
	}
	for _, f := range fields {
		if !leader.has(f.StructField) {
			continue
		}
		w.steps = append(w.steps[:depth], step{field: f.StructField})
		switch f.Type.Kind {
		case schema.Struct:
			w.walk(f.shape, p.at(f.Name), r.at(f.Name), depth+1, f.Name)
		case schema.Map:
			w.directives(leader.at(f.Name), w.pathAt(depth+1))
		case schema.Atomic:
			w.nestedDirectives(f.Type, leader.object[f.Name], w.pathAt(depth+1))
		default: // a shape has no other fields than list-maps
			w.list(f, p, r, depth+1)
		}
	}
}

// list checks the items of a list-map, each against the runtime's of the same key.
func (w *walker) list(f part, patch, runtime operand, depth int) {
	t, ofPatch := f.Type, patch.object != nil
	if t.Key == "containerPort" || t.Key == "topologyKey" {
		return // Kubernetes tells their items apart by more than the merge key
	}
	var other items.List
	list := runtime.items(f)
	if ofPatch {
		list, other = patch.items(f), list
	}
	at := operand{inPatch: ofPatch, depth: depth}
	for i := range list.Len() {
		step := step{list: t, key: list.Key(i), index: -1}
		if step.key == "" {
			step.index = i
			if !mayLackKey(f.Name, ofPatch) {
				w.keyless(f.StructField, w.path(at, fieldpath.Index(i)))
				continue
			}
		}
		if first := list.Find(step.key); first < i {
			w.duplicate(f.StructField, at, &list, first, i)
			step.index = i
		}
		w.steps = append(w.steps[:depth], step)
		if ofPatch {
			w.walk(f.shape, list.At(i), other.Named(step.key), depth+1, f.Name)
		} else {
			w.walk(f.shape, nil, list.At(i), depth+1, f.Name)
		}
	}
	if f.Name == "volumeMounts" && ofPatch && list.Len() > 1 {
		w.mountNames(&list, at)
	}
}

// duplicate reports an item whose key a first one has.
func (w *walker) duplicate(f *schema.StructField, at operand, list *items.List, first, i int) {
	code := codes.DuplicateItem
	if f.Name == "volumeMounts" && at.inPatch {
		code = codes.OneMountPath // the TrainJob CRD tells a patch's mounts apart by name
	}
	path := w.path(at, fieldpath.Index(i))
	found := w.report(code, path, "combine the two, or change the "+f.Type.Key,
		"Duplicate value: {%q:%q}", f.Type.Key, list.Key(i))
	found.Claims = duplicateClaims(w.layerOf(at), w.path(at, fieldpath.Index(first)), path)
	if reflect.DeepEqual(list.At(first), list.At(i)) {
		found.Remedy.Do, found.Remedy.IsCertain = finding.Remove, true
	}
}

// mayLackKey reports whether the cluster accepts an item with an empty merge key. It accepts a
// reference to a pull secret, and a runtime's replicated job. JobSet v0.12.0 pkg/webhooks validates
// only names made of the job's name.
func mayLackKey(list string, ofPatch bool) bool {
	return list == "imagePullSecrets" ||
		!ofPatch && (list == "replicatedJobs" || list == "dependsOn")
}

func (w *walker) keyless(f *schema.StructField, path fieldpath.Path) {
	code := codes.NoMergeKey
	if f.Name == "env" {
		code = codes.EnvWithoutName
	}
	w.report(code, path, fmt.Sprintf("set the %s of the item", f.Type.Key),
		"Required value: the item of %s has no %s", f.Name, f.Type.Key)
}

// mountNames reports two mounts of one volume in one patch. The merge identifies mounts by path,
// but the TrainJob CRD lists them by name (Trainer v2.3.0 ContainerPatch).
func (w *walker) mountNames(mounts *items.List, list operand) {
	seen := map[string]int{}
	for i := range mounts.Len() {
		name, _ := mounts.At(i)["name"].(string)
		if first, duplicate := seen[name]; duplicate {
			at := w.path(list, fieldpath.Index(i))
			w.report(codes.DuplicateItem, at,
				"remove one of the mounts, or set it in the runtime",
				"a patch of a container may mount a volume only once: volume %q has two mounts",
				name,
			).Claims = duplicateClaims(w.layerOf(list), w.path(list, fieldpath.Index(first)), at)
		} else {
			seen[name] = i
		}
	}
}
