package runtimepatch

import (
	"encoding/json"
	"fmt"
	"maps"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	strict "k8s.io/apimachinery/pkg/util/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// UpsertIn returns a TrainJob with one manager's entry, as [Upsert] does. The TrainJob is an
// object, as a dynamic client reads it: unlike a Go type, it keeps the fields that the API of this
// release lacks. Everything outside the manager's entries stays deeply equal. If the entry is there
// already, UpsertIn returns the TrainJob as it is. The time of the last write does not count,
// unless the new entry has one. UpsertIn never changes the given TrainJob; the result shares memory
// with it.
//
// The error names a field that is not of its type.
func UpsertIn(trainJob map[string]any, entry trainer.RuntimePatch) (map[string]any, error) {
	d, err := open(trainJob)
	if err != nil {
		return nil, err
	}
	return d.upsert(entry)
}

// RemoveIn returns a TrainJob without a manager's entries, as [Remove] does, and keeps everything
// else as [UpsertIn] does. It removes a list that becomes empty. So RemoveIn undoes an UpsertIn
// that added an entry, except for a list that was empty.
func RemoveIn(trainJob map[string]any, manager string) (map[string]any, error) {
	d, err := open(trainJob)
	if err != nil {
		return nil, err
	}
	return d.remove(manager), nil
}

// MinimalIn returns a TrainJob with the patch of [Minimal] as the manager's entry. It keeps
// everything else as [UpsertIn] does. If the plan sets nothing, MinimalIn removes the entry. Fields
// that the API of this release lacks take no part in the plan.
//
// The error is one of Minimal or of UpsertIn.
func MinimalIn(
	template *trainer.JobSetTemplateSpec, trainJob map[string]any, want trainer.RuntimePatch,
) (map[string]any, error) {
	d, err := open(trainJob)
	if err != nil {
		return nil, err
	}
	entry, err := Minimal(template, d.patches, want)
	if err != nil {
		return nil, err
	}
	if entry.TrainingRuntimeSpec == nil {
		return d.remove(want.Manager), nil
	}
	return d.upsert(entry)
}

// document is a TrainJob with its entries, as values of the API and as they stand there.
type document struct {
	trainJob, spec map[string]any
	patches        []trainer.RuntimePatch
	entries        []any
}

// The fields of a TrainJob that hold its patches.
const (
	specField    = "spec"
	entriesField = "runtimePatches"
	patchesField = "." + specField + "." + entriesField
)

func open(trainJob map[string]any) (*document, error) {
	spec, ok := trainJob[specField].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: must be an object", fieldpath.Fields(specField))
	}
	d := &document{trainJob: trainJob, spec: spec}
	if d.entries, ok = spec[entriesField].([]any); !ok && spec[entriesField] != nil {
		return nil, fmt.Errorf("%s: must be a list", patchesField)
	}
	text, err := json.Marshal(d.entries)
	if err == nil {
		err = strict.Unmarshal(text, &d.patches)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", patchesField, err)
	}
	return d, nil
}

// upsert implements UpsertIn.
func (d *document) upsert(entry trainer.RuntimePatch) (map[string]any, error) {
	var now map[string]any
	text, err := json.Marshal(entry)
	if err == nil {
		err = strict.Unmarshal(text, &now)
	}
	if err != nil {
		return nil, err
	}
	var kept, own []any
	for i, old := range d.entries {
		if d.patches[i].Manager != entry.Manager {
			kept = append(kept, old)
			continue
		}
		if own = append(own, old); len(own) == 1 {
			kept = append(kept, now)
		}
	}
	switch {
	case own == nil:
		kept = append(kept, now)
	case len(own) == 1 && isSameEntry(own[0], now):
		return d.trainJob, nil
	}
	return d.with(kept), nil
}

// remove implements RemoveIn.
func (d *document) remove(manager string) map[string]any {
	var kept []any
	for i, entry := range d.entries {
		if d.patches[i].Manager != manager {
			kept = append(kept, entry)
		}
	}
	if len(kept) == len(d.entries) {
		return d.trainJob
	}
	return d.with(kept)
}

// with returns the TrainJob with other entries.
func (d *document) with(entries []any) map[string]any {
	changed, spec := maps.Clone(d.trainJob), maps.Clone(d.spec)
	changed[specField] = spec
	if spec[entriesField] = entries; entries == nil {
		delete(spec, entriesField)
	}
	return changed
}

// isSameEntry reports whether an entry equals another one. If the latter has no time, the former
// may have any.
func isSameEntry(old any, now map[string]any) bool {
	was, ok := old.(map[string]any)
	if ok && now["time"] == nil {
		was = maps.Clone(was)
		delete(was, "time")
	}
	return ok && merge.SameValue(was, now)
}
