package render_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"
)

// An object is a Kubernetes object as its JSON says. Tests compare the objects of a cluster with
// the rendered ones.
type object = map[string]any

// cluster holds cases that a real control plane was given.
const cluster = "../testdata/cluster"

// caseFolders lists the folders below root that have the file. There must be one.
func caseFolders(t *testing.T, root, file string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "*", file))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("%s has no */%s", root, file)
	}
	for i, f := range found {
		found[i] = strings.TrimSuffix(f, "/"+file)
	}
	return found
}

// recordedFile is the file of a case with all objects that were made of its input, under a key for
// each kind or step. What two objects have alike is written once, with an anchor.
const recordedFile = "want/objects.yaml"

// A recording is what became of a case.
type recording object

func readRecording(t *testing.T, dir string) recording {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, recordedFile))
	if err != nil {
		t.Fatal(err)
	}
	var all recording
	if err := yaml.Unmarshal(data, &all); err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return all
}

// objects returns the one object or the list of them under a key.
func (r recording) objects(key string) []object {
	switch value := r[key].(type) {
	case []any:
		objects := make([]object, len(value))
		for i, item := range value {
			objects[i] = item.(object)
		}
		return objects
	case object:
		return []object{value}
	}
	return nil
}

// jobSet returns the stored JobSet, which has no field that its type does not know; nil where none
// was made.
func (r recording) jobSet(t *testing.T) *jobset.JobSet {
	t.Helper()
	if r["jobset"] == nil {
		return nil
	}
	js := &jobset.JobSet{}
	if err := yaml.UnmarshalStrict([]byte(mustJSON(t, r["jobset"])), js); err != nil {
		t.Fatal(err)
	}
	return js
}

// asObjects encodes typed objects.
func asObjects[T any](t *testing.T, typed []T) []object {
	t.Helper()
	objects := make([]object, len(typed))
	for i, value := range typed {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &objects[i]); err != nil {
			t.Fatal(err)
		}
	}
	return objects
}

func ofKind(objects []object, kind string) []object {
	return slices.DeleteFunc(slices.Clone(objects), func(o object) bool {
		return o["kind"] != kind
	})
}

func meta(o object) object {
	m, _ := o["metadata"].(object)
	if m == nil {
		m = object{}
		o["metadata"] = m
	}
	return m
}

// clusterIDs are the labels and annotations whose values only a cluster knows.
var clusterIDs = []string{jobset.JobSetUIDKey, "batch.kubernetes.io/controller-uid",
	"controller-uid"}

// level removes the values that rendering from files cannot know, or that the typed API cannot
// express. Unknown are ids, owners, the random part of a Pod's name, and a Job's generated
// selector.
func level(o object) object {
	m := meta(o)
	for _, key := range []string{"ownerReferences", "uid", "creationTimestamp", "resourceVersion",
		"generation"} {
		delete(m, key)
	}
	delete(o, "status")
	spec, _ := o["spec"].(object)
	switch o["kind"] {
	case "Pod":
		delete(m, "name")
	case "Job":
		delete(spec, "selector")
	case "Service":
		for _, key := range []string{"clusterIPs", "internalTrafficPolicy", "ipFamilies",
			"ipFamilyPolicy", "sessionAffinity", "type"} {
			delete(spec, key)
		}
	case "PersistentVolumeClaim":
		if spec["volumeMode"] == "Filesystem" {
			delete(spec, "volumeMode")
		}
		if reflect.DeepEqual(m["finalizers"], []any{"kubernetes.io/pvc-protection"}) {
			delete(m, "finalizers")
		}
	}
	removeUnsayable(o, clusterIDs)
	removeEmpty(o)
	return o
}

// removeUnsayable drops the ids, and the empty strings that a cluster stores and the typed API does
// not write.
func removeUnsayable(value any, ids []string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			removeUnsayable(item, ids)
		}
	case object:
		for _, key := range []string{"labels", "annotations", "matchLabels"} {
			if values, ok := v[key].(object); ok {
				for _, id := range ids {
					delete(values, id)
				}
				if len(values) == 0 {
					delete(v, key)
				}
			}
		}
		_, named := v["name"]
		_, resource := v["resource"]
		for _, key := range []string{"value", "containerName"} {
			if v[key] == "" && (named || resource) {
				delete(v, key)
			}
		}
		if _, typed := v["type"]; typed && v["status"] == "" {
			delete(v, "status")
		}
		for _, item := range v {
			removeUnsayable(item, ids)
		}
	}
}

// removeEmpty drops the empty structs that typed clients write and that say nothing.
func removeEmpty(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			removeEmpty(item)
		}
	case object:
		for key, item := range v {
			removeEmpty(item)
			empty, isObject := item.(object)
			switch key {
			case "creationTimestamp":
				if item == nil {
					delete(v, key)
				}
			case "metadata", "resources", "status":
				if isObject && len(empty) == 0 {
					delete(v, key)
				}
			}
		}
	}
}

// differences pairs the objects by kind and name, and reports how they differ. Pods without an
// index that share a generateName are paired by their order.
func differences(want, got []object) []string {
	w, g := keyed(want), keyed(got)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(w)) {
		if _, ok := g[key]; !ok {
			out = append(out, "missing "+key)
		} else {
			out = append(out, valueDifferences(w[key], g[key], key)...)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g)) {
		if _, ok := w[key]; !ok {
			out = append(out, "unexpected "+key)
		}
	}
	return out
}

func keyed(objects []object) map[string]object {
	out := map[string]object{}
	for _, o := range objects {
		m := meta(o)
		name := m["name"]
		if name == nil {
			name = m["generateName"]
		}
		key := fmt.Sprintf("%v %v %v/%v", o["apiVersion"], o["kind"], m["namespace"], name)
		for n := 1; ; n++ {
			numbered := fmt.Sprintf("%s #%d", key, n)
			if _, taken := out[numbered]; !taken {
				out[numbered] = o
				break
			}
		}
	}
	return out
}

func valueDifferences(want, got any, path string) []string {
	w, wantObject := want.(object)
	g, gotObject := got.(object)
	if wantObject && gotObject {
		keys := map[string]bool{}
		for k := range w {
			keys[k] = true
		}
		for k := range g {
			keys[k] = true
		}
		var out []string
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			if _, ok := g[k]; !ok {
				out = append(out, fmt.Sprintf("%s.%s: missing, want %.120v", path, k, w[k]))
			} else if _, ok := w[k]; !ok {
				out = append(out, fmt.Sprintf("%s.%s: unexpected %.120v", path, k, g[k]))
			} else {
				out = append(out, valueDifferences(w[k], g[k], path+"."+k)...)
			}
		}
		return out
	}
	wl, wantList := want.([]any)
	gl, gotList := got.([]any)
	if wantList && gotList && len(wl) == len(gl) {
		var out []string
		for i := range wl {
			out = append(out, valueDifferences(wl[i], gl[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return out
	}
	if !reflect.DeepEqual(want, got) {
		return []string{fmt.Sprintf("%s: want %.200v, got %.200v", path, want, got)}
	}
	return nil
}

// tally counts cases and their failures per kind of object.
type tally map[string]*struct {
	passed, total int
	failed        []string
}

func (c tally) add(t *testing.T, kind, name string, diff []string) {
	t.Helper()
	if c[kind] == nil {
		c[kind] = &struct {
			passed, total int
			failed        []string
		}{}
	}
	c[kind].total++
	if len(diff) == 0 {
		c[kind].passed++
		return
	}
	c[kind].failed = append(c[kind].failed, name)
	t.Errorf("%s of %s:\n  %s", kind, name, strings.Join(diff[:min(len(diff), 8)], "\n  "))
}

func (c tally) log(t *testing.T) {
	kinds := slices.Collect(maps.Keys(c))
	sort.Strings(kinds)
	for _, kind := range kinds {
		t.Logf("%s %d/%d", kind, c[kind].passed, c[kind].total)
	}
}
