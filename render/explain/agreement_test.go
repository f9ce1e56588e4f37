package explain_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/casefile"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/explain"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestWriters compares the table of writers with the writes of the layers, in every recorded case and
// every policy case. Explain names each claim of a layer after the patches, and each row of the table is
// seen.
func TestWriters(t *testing.T) {
	unseen := map[string]bool{}
	for _, path := range explain.Paths() {
		rule, err := explain.Field(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range rule.Writers {
			unseen[row(w)] = true
		}
	}
	var files []string
	for _, dir := range []string{"../../internal/testdata/policies", casefile.Shared(t, "../../internal/testdata/cluster", "input.yaml")} {
		found, err := filepath.Glob(filepath.Join(dir, "*", "input.yaml"))
		if err != nil || len(found) < 10 {
			t.Fatalf("%s: %d cases: %v", dir, len(found), err)
		}
		files = append(files, found...)
	}
	missing := map[string]string{}
	for _, file := range files {
		job, runtime := read(t, file)
		if job == nil {
			continue
		}
		out, _ := render.JobSet(render.Input{TrainJob: job, Runtime: runtime}, render.Options{
			OnConflict: render.Last, Owners: true, FeatureGates: render.FeatureGates{TrainJobStatus: strings.Contains(file, "trainjobstatus")},
		})
		if out.JobSet == nil {
			continue
		}
		for path, claims := range out.Owners.All() {
			isIndex := func(s fieldpath.Step) bool { _, ok := s.Index(); return ok }
			if slices.ContainsFunc(path, isIndex) || claims[len(claims)-1].Value == nil {
				continue // a second item of one key; or what is not there any more: a port that another replaced
			}
			for _, c := range claims {
				if _, ok := c.Layer.Manager(); ok || c.Layer == runtimepatch.RuntimeLayer || c.Layer == runtimepatch.DefaultLayer {
					continue
				}
				rule, err := explain.Field(path.String())
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				named := false
				for _, w := range rule.Writers {
					if w.Layer == c.Layer || w.Layer == "policy/*" && strings.HasPrefix(string(c.Layer), "policy/") {
						named = true
						delete(unseen, row(w))
					}
				}
				if !named {
					missing[fmt.Sprintf("%s writes %s", c.Layer, explain.Format(path))] = file
				}
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s in %s, and explain does not say so", text, missing[text])
	}
	for _, text := range slices.Sorted(maps.Keys(unseen)) {
		t.Errorf("explain says that %s, and no case shows it", text)
	}
}

func row(w explain.Writer) string {
	return fmt.Sprintf("%s writes %s", w.Layer, explain.Format(w.Path))
}

// read reads a case with one TrainJob and its runtime; nil where it has none or cannot be read.
func read(t *testing.T, file string) (*trainer.TrainJob, *trainer.TrainingRuntimeSpec) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents, findings := manifest.Decode(file, data)
	if findings.Err() != nil {
		return nil, nil
	}
	var job *trainer.TrainJob
	var spec *trainer.TrainingRuntimeSpec
	for _, d := range documents {
		switch o := d.Object.(type) {
		case *trainer.TrainJob:
			job = o
			render.DefaultTrainJob(job, nil)
		case *trainer.TrainingRuntime:
			spec = &o.Spec
			render.DefaultRuntime(spec, d.Has)
		case *trainer.ClusterTrainingRuntime:
			spec = &o.Spec
			render.DefaultRuntime(spec, d.Has)
		}
	}
	if job == nil || spec == nil {
		return nil, nil
	}
	return job, spec
}

const changeRuntime = `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: rt, namespace: ns}
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                volumes: [{name: data, emptyDir: {}}]
                containers:
                - {name: node, image: example.com/node:1}
                - {name: side, image: example.com/side:1}
`

// TestPatchable compares the fields that a patch may set with the definition of TrainJob. The API server prunes a field that the
// definition lacks.
func TestPatchable(t *testing.T) {
	root, err := new(release.Definitions).Fields(nil, "TrainJob")
	if err != nil {
		t.Fatal(err)
	}
	template := root.Find("spec", "runtimePatches", "trainingRuntimeSpec", "template")
	for _, text := range explain.Paths() {
		rule, err := explain.Field(text)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, step := range rule.Path {
			if name, ok := step.Field(); ok {
				names = append(names, name)
			}
		}
		defined := template.Find(names...) != nil
		isNested := names[0] != "metadata" && len(names) > 1 && names[len(names)-2] == "metadata"
		if rule.Patchable && !defined || isNested && defined && !rule.Patchable {
			t.Errorf("%s: patchable: %t, defined: %t", text, rule.Patchable, defined)
		}
		for _, f := range rule.Fields {
			if f.Patchable && template.Find(append(names, f.Name)...) == nil {
				t.Errorf("%s: the field %s is patchable, and not defined", text, f.Name)
			}
		}
	}
}

// TestChange compares the answers of explain about changes with admission. A suspended TrainJob,
// whose JobSet exists, gets a patch of one field.
func TestChange(t *testing.T) {
	ctx := context.Background()
	runtime, findings := admission.AdmitRuntime(ctx, nil, object(t, changeRuntime), "ns")
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	const pod = "spec.replicatedJobs.template.spec.template."
	inPod := func(spec string) string {
		return "spec: {replicatedJobs: [{name: node, template: {spec: {template: {" + spec + "}}}}]}"
	}
	for path, patch := range map[string]string{
		"metadata.labels":                                  "metadata: {labels: {a: b}}",
		"metadata.annotations":                             "metadata: {annotations: {a: b}}",
		"spec.replicatedJobs.template.metadata.labels":     "spec: {replicatedJobs: [{name: node, template: {metadata: {labels: {a: b}}}}]}",
		pod + "metadata.labels":                            inPod("metadata: {labels: {a: b}}"),
		pod + "metadata.annotations":                       inPod("metadata: {annotations: {a: b}}"),
		pod + "spec.nodeSelector":                          inPod("spec: {nodeSelector: {a: b}}"),
		pod + "spec.tolerations":                           inPod("spec: {tolerations: [{key: a, operator: Exists}]}"),
		pod + "spec.schedulingGates":                       inPod("spec: {schedulingGates: [{name: example.com/gate}]}"),
		pod + "spec.affinity":                              inPod("spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}}"),
		pod + "spec.volumes":                               inPod("spec: {volumes: [{name: more, emptyDir: {}}]}"),
		pod + "spec.serviceAccountName":                    inPod("spec: {serviceAccountName: robot}"),
		pod + "spec.imagePullSecrets":                      inPod("spec: {imagePullSecrets: [{name: registry}]}"),
		pod + "spec.securityContext":                       inPod("spec: {securityContext: {runAsUser: 1000}}"),
		pod + "spec.containers[name=side].env":             inPod("spec: {containers: [{name: side, env: [{name: A, value: b}]}]}"),
		pod + "spec.containers[name=side].volumeMounts":    inPod("spec: {containers: [{name: side, volumeMounts: [{name: data, mountPath: /data}]}]}"),
		pod + "spec.containers[name=side].securityContext": inPod("spec: {containers: [{name: side, securityContext: {runAsUser: 1000}}]}"),
	} {
		rule, err := explain.Field(path)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if !rule.Patchable {
			t.Errorf("%s: explain says that no patch may set it: %s", path, rule.Set)
		}
		before := changeJob(t, "")
		after := changeJob(t, "{manager: a.example.com/b, trainingRuntimeSpec: {template: {"+patch+"}}}")
		found := admission.Update(ctx,
			admission.Input{TrainJob: before, Runtime: runtime, Namespace: "ns"}, admission.Input{TrainJob: after, Runtime: runtime, Namespace: "ns"})
		rejected := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Code == codes.EndlessUpdate })
		if says := strings.Contains(rule.Change, "TW702"); says != rejected {
			t.Errorf("%s: explain says %q, and admission: %v", path, rule.Change, found)
		}
	}
}

func changeJob(t *testing.T, patch string) map[string]any {
	t.Helper()
	return object(t, `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tj, namespace: ns}
spec:
  suspend: true
  runtimeRef: {name: rt, kind: TrainingRuntime}
  runtimePatches: [`+patch+`]
`)
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}
