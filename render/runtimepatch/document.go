package runtimepatch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	strict "k8s.io/apimachinery/pkg/util/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// Document is a whole TrainJob: an object, as a dynamic client reads it, or JSON. Unlike a Go type, it keeps the fields that the
// API of this release lacks.
type Document interface{ map[string]any | []byte }

// UpsertIn returns a TrainJob with one manager's entry, as [Upsert] does. Everything outside the manager's entries stays deeply
// equal in an object, and keeps its bytes in JSON. If the entry is there already, UpsertIn returns the TrainJob as it is. The time
// of the last write does not count, unless the new entry has one. UpsertIn never changes the given TrainJob; the result shares
// memory with it.
//
// The error states that the TrainJob is not valid JSON, or names a field that is not of its type.
func UpsertIn[D Document](trainJob D, entry trainer.RuntimePatch) (D, error) {
	d, err := open(trainJob)
	if err != nil {
		return nil, err
	}
	return d.upsert(entry)
}

// RemoveIn returns a TrainJob without a manager's entries, as [Remove] does, and keeps everything else as [UpsertIn] does. It
// removes a list that becomes empty. So RemoveIn undoes an UpsertIn that added an entry, except for a list that was empty.
func RemoveIn[D Document](trainJob D, manager string) (D, error) {
	d, err := open(trainJob)
	if err != nil {
		return nil, err
	}
	return d.remove(manager)
}

// MinimalIn returns a TrainJob with the patch of [Minimal] as the manager's entry. It keeps everything else as [UpsertIn] does. If the plan
// sets nothing, MinimalIn removes the entry. Fields that the API of this release lacks take no part in the plan.
//
// The error is one of Minimal or of UpsertIn.
func MinimalIn[D Document](template *trainer.JobSetTemplateSpec, trainJob D, want trainer.RuntimePatch) (D, error) {
	d, err := open(trainJob)
	if err != nil {
		return nil, err
	}
	entry, err := Minimal(template, d.patches, want)
	if err != nil {
		return nil, err
	}
	if entry.TrainingRuntimeSpec == nil {
		return d.remove(want.Manager)
	}
	return d.upsert(entry)
}

// document is an open Document.
type document[D Document] struct {
	trainJob D
	patches  []trainer.RuntimePatch
	values   []any // the entries, with the fields that the API lacks
	// write returns the document with the given entries, by their places. At the place new it has the new entry.
	write func(places []int, new int, entry []byte) (any, error)
}

func open[D Document](trainJob D) (*document[D], error) {
	d := &document[D]{trainJob: trainJob}
	var list []byte
	var err error
	switch whole := any(trainJob).(type) {
	case map[string]any:
		list, err = d.openObject(whole)
	case []byte:
		list, err = d.openJSON(whole)
	}
	if err == nil && list != nil {
		if err = strict.Unmarshal(list, &d.patches); err == nil {
			err = strict.Unmarshal(list, &d.values)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", patchesField, err)
		}
	}
	return d, err
}

// The fields of a TrainJob that hold its patches.
const (
	specField    = "spec"
	entriesField = "runtimePatches"
	patchesField = "." + specField + "." + entriesField
)

// upsert implements UpsertIn.
func (d *document[D]) upsert(entry trainer.RuntimePatch) (D, error) {
	text, err := json.Marshal(entry)
	if err != nil {
		return nil, err
	}
	own, others := d.places(entry.Manager)
	if len(own) == 1 && isSameEntry(d.values[own[0]], text) {
		return d.trainJob, nil
	}
	place := len(d.patches)
	if len(own) > 0 {
		place = own[0]
	}
	at, _ := slices.BinarySearch(others, place)
	return d.written(slices.Insert(others, at, place), place, text)
}

// remove implements RemoveIn.
func (d *document[D]) remove(manager string) (D, error) {
	own, others := d.places(manager)
	if len(own) == 0 {
		return d.trainJob, nil
	}
	return d.written(others, -1, nil)
}

func (d *document[D]) written(places []int, new int, entry []byte) (D, error) {
	whole, err := d.write(places, new, entry)
	if err != nil {
		return nil, err
	}
	return whole.(D), nil
}

// places returns the places of a manager's entries, and the places of all others.
func (d *document[D]) places(manager string) (own, others []int) {
	for i := range d.patches {
		if d.patches[i].Manager == manager {
			own = append(own, i)
		} else {
			others = append(others, i)
		}
	}
	return own, others
}

// isSameEntry reports whether an entry equals another one in JSON. If the latter has no time, the former may have any.
func isSameEntry(old any, entry []byte) bool {
	var now map[string]any
	was, ok := old.(map[string]any)
	if !ok || strict.Unmarshal(entry, &now) != nil {
		return false
	}
	if now["time"] == nil {
		was = maps.Clone(was)
		delete(was, "time")
	}
	return merge.SameValue(was, now)
}

// openObject returns the JSON of the entries of a TrainJob that is an object.
func (d *document[D]) openObject(whole map[string]any) ([]byte, error) {
	spec, ok := whole[specField].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: must be an object", fieldpath.Fields(specField))
	}
	list, ok := spec[entriesField].([]any)
	if !ok && spec[entriesField] != nil {
		return nil, fmt.Errorf("%s: must be a list", patchesField)
	}
	d.write = func(places []int, new int, entry []byte) (any, error) {
		var kept []any
		for _, i := range places {
			if i != new {
				kept = append(kept, list[i])
				continue
			}
			var value map[string]any
			if err := strict.Unmarshal(entry, &value); err != nil {
				return nil, err
			}
			kept = append(kept, value)
		}
		changed, inner := maps.Clone(whole), maps.Clone(spec)
		changed[specField] = inner
		if inner[entriesField] = kept; kept == nil {
			delete(inner, entriesField)
		}
		return changed, nil
	}
	return json.Marshal(list)
}
