package upstream_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fuzz/upstream"
)

// mutator changes JSON objects at random.
type mutator struct{ *rand.Rand }

// spot is one value in an object: a field, or an item of a list.
type spot struct {
	parent any // the object or the list
	key    any // the field's name, or the item's index
	// set writes the list back, which is another one when an item has been dropped.
	set func([]any)
	// top is the field of the outermost object that leads here.
	top string
}

// spots gathers all values below v, in the same order each time.
func (m mutator) spots(v any, out *[]spot) { m.spotsOf(v, "", nil, out) }

func (m mutator) spotsOf(v any, top string, set func([]any), out *[]spot) {
	switch v := v.(type) {
	case upstream.Object:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below := top
			if top == "" {
				below = key
			}
			*out = append(*out, spot{v, key, nil, below})
			m.spotsOf(v[key], below, func(list []any) { v[key] = list }, out)
		}
	case []any:
		for i := range v {
			*out = append(*out, spot{v, i, set, top})
			m.spotsOf(v[i], top, func(list []any) { v[i] = list }, out)
		}
	}
}

// drop takes the value out.
func (s spot) drop() bool {
	switch parent := s.parent.(type) {
	case upstream.Object:
		delete(parent, s.key.(string))
		return true
	case []any:
		i := s.key.(int)
		s.set(slices.Delete(slices.Clone(parent), i, i+1))
		return true
	default:
		return false
	}
}

// junk is a value that some field somewhere does not take, or that means something to a rule.
func (m mutator) junk() any {
	values := []any{
		nil, "", "x", "Bad_Name", "a b", strings.Repeat("y", 300), int64(0), int64(-1), int64(2),
		int64(3_000_000_000), 2.5, true, false,
		[]any{}, upstream.Object{}, []any{upstream.Object{}}, []any{"a", "a"}, "example.com/m",
		"s3://b", "tune", "2024-01-02T03:04:05Z",
		"trainer", "node", "launcher", "PET_NNODES", "DMLC_TASK_ID", "OMPI_MCA_plm_rsh_args",
		"flux-installer", "dataset-initializer",
		"kueue.x-k8s.io/multikueue", "500m", "$patch", upstream.Object{"$patch": "x"},
		upstream.Object{"$patch": "delete"}, upstream.Object{"a": "b"},
	}
	return values[m.IntN(len(values))]
}

// someFields are names that mean something in one place or another.
var someFields = []string{
	"suspend", "managedBy", "trainer", "activeDeadlineSeconds", "numNodes", "numProcPerNode",
	"replicas", "env", "time", "labels", "finalizers",
	"command", "args", "image", "storageUri", "initializer", "initContainers", "priorityClassName",
	"dependsOn", "startupPolicy",
	"replicatedJobs", "coordinator", "network", "terminationGracePeriodSeconds", "imagePullSecrets",
	"nodeSelector", "tolerations",
	"schedulingGates", "serviceAccountName", "name", "mountPath", "runtimePatches", "metadata",
	"template", "volumes", "securityContext",
}

// mutate changes one or two values somewhere in the object.
func (m mutator) mutate(o upstream.Object) {
	for range 1 + m.IntN(2) {
		var all []spot
		m.spots(o["spec"], &all)
		if m.IntN(12) == 0 {
			m.spots(o["metadata"], &all)
		}
		if len(all) == 0 {
			return
		}
		m.mutateAt(all[m.IntN(len(all))])
	}
}

func (m mutator) mutateAt(at spot) {
	parent, isObject := at.parent.(upstream.Object)
	if !isObject {
		at.parent.([]any)[at.key.(int)] = m.junk()
		return
	}
	key := at.key.(string)
	switch m.IntN(8) {
	case 0:
		delete(parent, key)
	case 1:
		parent[key+"x"] = parent[key]
	case 2:
		if list, ok := parent[key].([]any); ok && len(list) > 0 {
			parent[key] = append(slices.Clone(list), list[0])
		}
	case 3, 4:
		parent[someFields[m.IntN(len(someFields))]] = m.junk()
	case 5:
		if list, ok := parent[key].([]any); ok && len(list) > 1 {
			parent[key] = list[1:]
		}
	default:
		parent[key] = m.junk()
	}
}

// change makes a change that is often allowed: it replaces a string or a number, or removes an
// item. Now and then it mutates.
func (m mutator) change(o upstream.Object) {
	if m.IntN(3) == 0 {
		m.mutate(o)
		return
	}
	var all []spot
	m.spots(o["spec"], &all)
	if m.IntN(2) == 0 { // in the patches: most of the rest cannot be changed at all
		patches := slices.DeleteFunc(slices.Clone(all), func(s spot) bool {
			return !slices.Contains(
				[]string{"runtimePatches", "podTemplateOverrides", "podSpecOverrides"}, s.top)
		})
		if len(patches) > 0 {
			all = patches
		}
	}
	if len(all) == 0 {
		return
	}
	at := all[m.IntN(len(all))]
	parent, isObject := at.parent.(upstream.Object)
	if !isObject {
		if m.IntN(2) == 0 {
			at.drop()
		} else if text, ok := at.parent.([]any)[at.key.(int)].(string); ok {
			at.parent.([]any)[at.key.(int)] = text + "x"
		}
		return
	}
	key := at.key.(string)
	switch v := parent[key].(type) {
	case string:
		parent[key] = v + "x"
	case int64:
		parent[key] = v + 1
	case bool:
		parent[key] = !v
	default:
		delete(parent, key)
	}
}
