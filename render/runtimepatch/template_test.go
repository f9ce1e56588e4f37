package runtimepatch_test

import (
	"fmt"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

func ExampleJobSetTemplate() {
	jobs := runtimepatch.JobSetTemplate().Lookup(fieldpath.Fields("spec", "replicatedJobs"))
	fmt.Println(jobs)

	path, _ := fieldpath.ParsePath(`spec.replicatedJobs[name="node"].template.spec.template.spec`)
	pod := runtimepatch.JobSetTemplate().Lookup(path)
	for _, f := range pod.Patchable() {
		fmt.Printf("%s: %v\n", f.Name, f.Type)
	}
	// Output:
	// list-map by name
	// volumes: list-map by name
	// initContainers: list-map by name
	// containers: list-map by name
	// terminationGracePeriodSeconds: scalar
	// nodeSelector: map
	// serviceAccountName: scalar
	// securityContext: struct
	// imagePullSecrets: list-map by name
	// affinity: struct
	// tolerations: atomic
	// schedulingGates: list-map by name
}

// TestJobSetTemplate holds how the fields of a template merge, and which of them a patch may set.
func TestJobSetTemplate(t *testing.T) {
	const pod = `.spec.replicatedJobs[name="n"].template.spec.template.spec`
	for _, tc := range []struct {
		path, want, reason string
	}{
		{`.metadata.labels`, "map patchable", "labels of the JobSet merge per key"},
		{`.metadata.finalizers`, "set fixed",
			"the controller reads only labels and annotations of a patch's template.metadata"},
		{`.spec.replicatedJobs[name="n"].template.metadata.finalizers`, "set patchable",
			"the Go type lets a patch set a Job's finalizers"},
		{`.spec.replicatedJobs[name="n"].replicas`, "scalar fixed",
			"the patch type has no replicas"},
		{`.spec.network`, "struct fixed", "the patch type has no network"},
		{pod + `.containers[name="c"].volumeMounts`, "list-map by mountPath patchable",
			"mounts merge by path, whatever the CRD's list key says"},
		{pod + `.containers[name="c"].env`, "list-map by name patchable", "env merges by name"},
		{pod + `.containers[name="c"].ports`, "list-map by containerPort fixed",
			"ports merge by number alone, and no patch sets them"},
		{pod + `.containers[name="c"].image`, "scalar fixed", "the image is spec.trainer's"},
		{pod + `.containers[name="c"].securityContext.capabilities.add`, "atomic patchable",
			"lists without a strategy are replaced"},
		{pod + `.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`, "atomic patchable", "lists inside affinity are replaced"},
		{pod + `.volumes[name="v"].emptyDir.sizeLimit`, "scalar patchable",
			"a quantity is one value"},
		{pod + `.volumes[name="v"].csi.volumeAttributes`, "map patchable",
			"a map of strings merges per key wherever it stands"},
		{pod + `.volumes[name="v"].projected.sources`, "atomic patchable",
			"sources have no merge key"},
	} {
		path, err := fieldpath.ParsePath(tc.path)
		if err != nil {
			t.Fatal(err)
		}
		parent := runtimepatch.JobSetTemplate().Lookup(path[:len(path)-1])
		name, _ := path[len(path)-1].Field()
		f := parent.Field(name)
		if f == nil {
			t.Errorf("%s: no such field", tc.path)
			continue
		}
		got := f.Type.String()
		if f.IsPatchable() {
			got += " patchable"
		} else {
			got += " fixed"
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s: %s", tc.path, got, tc.want, tc.reason)
		}
	}
}
