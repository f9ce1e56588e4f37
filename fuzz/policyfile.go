package fuzz

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

const podOfPolicy = ".spec.replicatedJobs[*].template.spec.template"

// formsOfPaths are all the forms in which a path names a field, a key, an item or an element.
var formsOfPaths = []string{
	podOfPolicy + ".spec.nodeSelector", podOfPolicy + ".spec.nodeSelector[*]",
	podOfPolicy + ".spec.nodeSelector[pool]", podOfPolicy + `.spec.nodeSelector["a"]`,
	podOfPolicy + ".metadata.labels[*]", podOfPolicy + ".metadata.annotations",
	".metadata.labels[a]", ".metadata.annotations[*]",
	".spec.replicatedJobs[node].template.metadata.labels",
	".spec.replicatedJobs[*].template.metadata.annotations[*]",
	podOfPolicy + ".spec.serviceAccountName", podOfPolicy + ".spec.tolerations",
	podOfPolicy + ".spec.containers[node]", podOfPolicy + ".spec.containers[*].env",
	podOfPolicy + ".spec.volumes[*].csi.volumeAttributes[*]", podOfPolicy + ".spec.volumes[a]",
	podOfPolicy + ".metadata.finalizers[*]", "nodeSelector[*]", podOfPolicy + ".spec",
}

// PolicyUsers are users that a policy may name, and one that none names.
var PolicyUsers = []string{"ann", "system:serviceaccount:kueue-system:kueue", "bob"}

// PolicyFile returns a policy file of three managers, with paths in all forms, selectors and users.
func PolicyFile(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("managers:\n")
	for _, i := range r.Perm(3) {
		fmt.Fprintf(&b, "- name: example.com/m%d\n", i)
		if r.IntN(4) == 0 {
			fmt.Fprintf(&b, "  required: true\n  for: {labels: %q, names: ['l*']}\n", pickOf(r,
				"n>5", "n<7,tier", "tier!=a", "!tier", "n>999999999999999998", "tier in (a,)", "n"))
		}
		if r.IntN(5) > 0 {
			var paths []string
			for _, n := range r.Perm(len(formsOfPaths))[:1+r.IntN(4)] {
				paths = append(paths, formsOfPaths[n])
			}
			allowed, _ := json.Marshal(paths)
			fmt.Fprintf(&b, "  paths: %s\n", allowed)
		}
		if r.IntN(4) == 0 {
			b.WriteString(
				pickOf(r, "  users: [ann]\n", "  serviceAccounts: [kueue-system/kueue]\n"))
		}
	}
	// the expressions for overlaps are always the same, and take most of the time
	if r.IntN(4) > 0 {
		b.WriteString("severities: {TW300: warning}\n")
	}
	return b.String()
}

// drawMap returns a map of words, with directives, nulls or neither.
func drawMap(r *rand.Rand) any {
	if r.IntN(12) == 0 {
		return nil
	}
	m := map[string]any{}
	for range r.IntN(3) {
		m[pickOf(r, "a", "pool", "app")] = pickOf[any](r, "x", "y", "x", nil)
	}
	if r.IntN(5) == 0 {
		directive := pickOf(r, "$patch", "$patch", "$retainKeys", "$setElementOrder/a",
			"$deleteFromPrimitiveList/a", "$x")
		m[directive] = pickOf[any](r, "delete", "replace", "merge", "x", nil)
	}
	return m
}

// drawMetadata returns the metadata of a template in a patch.
func drawMetadata(r *rand.Rand) any {
	m := map[string]any{}
	for _, name := range []string{"labels", "annotations"} {
		if r.IntN(3) == 0 {
			m[name] = drawMap(r)
		}
	}
	if r.IntN(8) == 0 {
		m["finalizers"] = pickOf[any](r, nil, []any{}, []any{"a.example/b"})
	}
	return pickOf[any](r, m, m, m, nil)
}

// drawPatches returns the patches of some managers, one of which [PolicyFile] lists never.
func drawPatches(r *rand.Rand) (patches []any) {
	for _, i := range r.Perm(4)[:r.IntN(4)] {
		spec := map[string]any{}
		if r.IntN(2) == 0 {
			spec["nodeSelector"] = drawMap(r)
		}
		node := map[string]any{
			"name": "node", "env": []any{map[string]any{"name": "A", "value": "b"}}}
		csi := map[string]any{"driver": "d", "volumeAttributes": drawMap(r)}
		for _, f := range []struct {
			name   string
			values []any
		}{
			{"serviceAccountName", []any{"a", "b", nil}},
			{"tolerations", []any{[]any{map[string]any{"key": "a"}}, []any{}, nil}},
			{"containers", []any{[]any{node}, []any{map[string]any{"name": "other"}}, nil}},
			{"volumes", []any{[]any{map[string]any{"name": "a", "csi": csi}}, nil}},
		} {
			if r.IntN(4) == 0 {
				spec[f.name] = pickOf(r, f.values...)
			}
		}
		pod := map[string]any{"metadata": drawMetadata(r), "spec": spec}
		job := map[string]any{"name": pickOf(r, "node", "node", "other"),
			"template": map[string]any{
				"metadata": drawMetadata(r), "spec": map[string]any{"template": pod},
			}}
		template := map[string]any{
			"metadata": drawMetadata(r), "spec": map[string]any{"replicatedJobs": []any{job}},
		}
		patches = append(patches, map[string]any{
			"manager":             fmt.Sprintf("example.com/m%d", i),
			"trainingRuntimeSpec": map[string]any{"template": template},
		})
	}
	return patches
}

// drawLabels returns the labels of a TrainJob, odd ones too.
func drawLabels(r *rand.Rand) any {
	labels := map[string]any{}
	if r.IntN(2) == 0 {
		labels["n"] = pickOf[any](r, "6", "5", "007", "1000000000000000000", "9223372036854775807",
			"9223372036854775808", "00000000000000000000000000000006", "x6", "", nil)
	}
	if r.IntN(2) == 0 {
		labels["tier"] = pickOf[any](r, "a", "b", "", nil)
	}
	return pickOf[any](r, labels, labels, labels, nil)
}

// PolicyRequest returns a TrainJob as a request creates it. Its patches may have directives and
// nulls.
func PolicyRequest(r *rand.Rand) map[string]any {
	return map[string]any{
		"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
		"metadata": map[string]any{
			"name": pickOf(r, "llm", "x"), "namespace": "team-a", "labels": drawLabels(r),
		},
		"spec": map[string]any{
			"runtimeRef":     map[string]any{"kind": "TrainingRuntime", "name": "rt"},
			"runtimePatches": drawPatches(r),
		},
	}
}

// PolicyUpdate returns an update of a TrainJob: of its patches, its labels, both or neither. The
// old TrainJob stays as it is.
func PolicyUpdate(r *rand.Rand, before map[string]any) map[string]any {
	after := Copy(before).(map[string]any)
	spec := after["spec"].(map[string]any)
	patches, _ := spec["runtimePatches"].([]any)
	switch r.IntN(6) {
	case 0, 1:
		spec["runtimePatches"] = drawPatches(r)
	case 2: // one goes
		spec["runtimePatches"] = patches[min(1, len(patches)):]
	case 3: // others are added
		spec["runtimePatches"] = append(
			patches, slices.DeleteFunc(drawPatches(r), func(added any) bool {
				return slices.ContainsFunc(patches, func(has any) bool {
					return has.(map[string]any)["manager"] == added.(map[string]any)["manager"]
				})
			})...)
	case 4:
		r.Shuffle(len(patches), func(i, j int) { patches[i], patches[j] = patches[j], patches[i] })
	}
	if r.IntN(2) == 0 {
		after["metadata"].(map[string]any)["labels"] = drawLabels(r)
	}
	return after
}
