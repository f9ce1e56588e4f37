package fuzz_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// use is one manager's use of the members of one union.
type use struct {
	path    fieldpath.Path
	members []string
	// kind and local are set where a type decides which member is in use.
	typed, local bool
	kind         string
}

// clashes returns the objects in which two managers make claims in different members of one union.
// It reads them naively off the patches' JSON.
func clashes(patches []trainer.RuntimePatch) []string {
	all := make([]map[string]use, len(patches))
	for i := range patches {
		all[i] = usesOf(&patches[i])
	}
	paths := map[string]bool{}
	for i, mine := range all {
		for j, theirs := range all {
			if i == j {
				continue
			}
			for key, m := range mine {
				if t, ok := theirs[key]; ok && clash(m, t) {
					paths[m.path.String()] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

func clash(a, b use) bool {
	if a.typed {
		// Two types are an overlap on the type: the merge keeps one. With one type that has no
		// place for a profile of the node's, a profile is the other member.
		return a.kind != "Localhost" && b.local && b.kind == a.kind
	}
	for _, m := range a.members {
		for _, n := range b.members {
			if m != n {
				return true
			}
		}
	}
	return false
}

// usesOf finds the unions that the patch touches. The key tells apart two unions of one object.
func usesOf(p *trainer.RuntimePatch) map[string]use {
	uses := map[string]use{}
	spec := specOf(p)
	if spec == nil {
		return uses
	}
	add := func(union string, u use) { uses[union+u.path.String()] = u }
	for _, job := range items(decode(encode(spec)), "replicatedJobs") {
		pod, ok := dig(job, "template", "spec", "template", "spec")
		if !ok {
			continue
		}
		at := fieldpath.Fields("spec", "replicatedJobs").Append(itemOf(job, "name")).Append(
			fieldpath.Fields("template", "spec", "template", "spec")...)
		for _, volume := range items(pod, "volumes") {
			path := at.Append(fieldpath.Field("volumes"), itemOf(volume, "name"))
			add("source", use{path: path, members: keysBut(volume, "name")})
		}
		profiles(pod, at, add)
		for _, list := range []string{"containers", "initContainers"} {
			for _, container := range items(pod, list) {
				containerUses(
					container, at.Append(fieldpath.Field(list), itemOf(container, "name")), add)
			}
		}
	}
	return uses
}

func containerUses(container map[string]any, at fieldpath.Path, add func(string, use)) {
	profiles(container, at, add)
	for _, env := range items(container, "env") {
		path := at.Append(fieldpath.Field("env"), itemOf(env, "name"))
		add("value", use{path: path, members: keysBut(env, "name")})
		if from, ok := env["valueFrom"].(map[string]any); ok {
			add("from", use{path: path.Append(fieldpath.Field("valueFrom")),
				members: keysBut(from)})
		}
	}
	for _, mount := range items(container, "volumeMounts") {
		u := use{path: at.Append(fieldpath.Field("volumeMounts"), itemOf(mount, "mountPath"))}
		for _, member := range []string{"subPath", "subPathExpr"} {
			if _, ok := mount[member]; ok {
				u.members = append(u.members, member)
			}
		}
		add("subPath", u)
	}
}

// profiles finds the two unions of a security context that a type decides.
func profiles(parent map[string]any, at fieldpath.Path, add func(string, use)) {
	for _, name := range []string{"seccompProfile", "appArmorProfile"} {
		if profile, ok := dig(parent, "securityContext", name); ok {
			_, local := profile["localhostProfile"]
			kind, _ := profile["type"].(string)
			add(name, use{path: at.Append(fieldpath.Fields("securityContext", name)...),
				typed: true, kind: kind, local: local})
		}
	}
}

func items(v any, field string) (out []map[string]any) {
	object, _ := v.(map[string]any)
	list, _ := object[field].([]any)
	for _, item := range list {
		if object, ok := item.(map[string]any); ok {
			out = append(out, object)
		}
	}
	return out
}

func dig(v any, fields ...string) (map[string]any, bool) {
	object, ok := v.(map[string]any)
	for _, field := range fields {
		if !ok {
			return nil, false
		}
		object, ok = object[field].(map[string]any)
	}
	return object, ok
}

func itemOf(object map[string]any, key string) fieldpath.Step {
	return fieldpath.Item(key, fmt.Sprint(object[key]))
}

func keysBut(object map[string]any, but ...string) []string {
	keys := slices.Sorted(maps.Keys(object))
	return slices.DeleteFunc(keys, func(k string) bool { return slices.Contains(but, k) })
}

// TestTwinMounts lays every short list of mounts over every other. A patch may have one path
// several times, as the API of patches accepts it. The merge gives the result of upstream's. If the
// runtime has mounts, every order of the patches merges. Then an overlap is reported exactly where
// the order decides.
func TestTwinMounts(t *testing.T) {
	mounts := []corev1.VolumeMount{
		{Name: "v", MountPath: "/a"}, {Name: "w", MountPath: "/a", ReadOnly: true},
		{Name: "v", MountPath: "/b", SubPath: "s"}, {Name: "w", MountPath: "/b"},
	}
	short := listsUpTo(mounts[:3], 2)
	runtimes := slices.DeleteFunc(slices.Clone(short), func(l []corev1.VolumeMount) bool {
		return len(l) == 2 && l[0].MountPath == l[1].MountPath
	})
	try := func(runtime []corev1.VolumeMount, patches ...[]corev1.VolumeMount) {
		c := &fuzz.Case{Template: &trainer.JobSetTemplateSpec{}}
		job := jobset.ReplicatedJob{Name: "node"}
		job.Template.Spec.Template.Spec.Containers = []corev1.Container{
			{Name: "c", VolumeMounts: runtime}}
		c.Template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{job}
		for i, list := range patches {
			pod := &trainer.PodTemplatePatch{
				Spec: &trainer.PodSpecPatch{
					Containers: []trainer.ContainerPatch{{Name: "c", VolumeMounts: list}}}}
			c.Patches = append(c.Patches, trainer.RuntimePatch{
				Manager: []string{"a.example/x", "b.example/x"}[i],
				TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
					Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
						ReplicatedJobs: []trainer.ReplicatedJobPatch{
							{Name: "node",
								Template: &trainer.JobTemplatePatch{
									Spec: &trainer.JobSpecPatch{Template: pod}}}},
					}}},
			})
		}
		if broken := equalsUpstream(c); broken != "" {
			t.Fatalf("%s\n%s", broken, asYAML(c))
		}
		if len(runtime) == 0 || len(patches) < 2 {
			return
		}
		merged, err := runtimepatch.Apply(c.Template, c.Patches, runtimepatch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		reported := pathsOf(conflict.Find(merged.History), conflict.Overlap)
		if one, other, err := twoOutcomes(c.Template, c.Patches); err != nil ||
			(one != "") != (len(reported) > 0) {
			t.Fatalf("overlaps are reported on %v, and the orders give (%v)\n%s\n%s\n%s", reported,
				err, one, other, asYAML(c))
		}
	}
	for _, runtime := range runtimes {
		for _, patch := range listsUpTo(mounts, 3) {
			try(runtime, patch)
		}
		for _, first := range short {
			for _, second := range short {
				try(runtime, first, second)
			}
		}
	}
}

// listsUpTo returns every list of at most n of the items.
func listsUpTo[T any](items []T, n int) [][]T {
	lists := [][]T{nil}
	for last := lists; n > 0; n-- {
		var longer [][]T
		for _, list := range last {
			for _, item := range items {
				longer = append(longer, append(slices.Clip(list), item))
			}
		}
		lists, last = append(lists, longer...), longer
	}
	return lists
}
