package golden

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/mlpolicy"
)

// Start is a new case: the name of its folder, and its files by name.
type Start struct {
	Name  string
	Files map[string][]byte
}

// Walk returns cases for the ways in which a TrainJob can use a runtime. One case is minimal.
// Others cover each section of a TrainJob that the runtime uses, and each area that a manager may
// patch. The runtime is a *trainer.TrainingRuntime or a *trainer.ClusterTrainingRuntime. Walk
// returns an error for any other type, and for a runtime without a name or replicated jobs. Update
// writes the expected files, and the author reviews them.
func Walk(runtime any) ([]Start, error) {
	w := walk{job: fields{}}
	ref := fields{}
	switch r := runtime.(type) {
	case *trainer.TrainingRuntime:
		w.spec, ref["name"], ref["kind"] = &r.Spec, r.Name, trainer.TrainingRuntimeKind
		if r.Namespace != "" {
			w.job["namespace"] = r.Namespace
		}
	case *trainer.ClusterTrainingRuntime:
		w.spec, ref["name"] = &r.Spec, r.Name
	default:
		return nil, fmt.Errorf("golden: %T is not a runtime", runtime)
	}
	if w.runtimeRef = ref; ref["name"] == "" {
		return nil, fmt.Errorf("golden: the runtime has no name")
	}
	if len(w.spec.Template.Spec.ReplicatedJobs) == 0 {
		return nil, fmt.Errorf("golden: the runtime has no replicated jobs")
	}
	w.sections()
	w.patches()
	return w.starts, w.err
}

// fields is a JSON object.
type fields = map[string]any

type walk struct {
	spec            *trainer.TrainingRuntimeSpec
	job, runtimeRef fields // the metadata and the reference of each TrainJob
	starts          []Start
	err             error
}

// add adds a case with a TrainJob's spec.
func (w *walk) add(name, comment string, spec fields, options string) {
	spec["runtimeRef"] = w.runtimeRef
	metadata := maps.Clone(w.job)
	// cases of one runtime are TrainJobs next to each other, as in one cluster
	metadata["name"] = name
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", comment)
	err := manifest.Encode(&b, manifest.YAML, fields{
		"apiVersion": trainer.GroupVersion.String(), "kind": trainer.TrainJobKind,
		"metadata": metadata, "spec": spec,
	})
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("golden: %w", err)
	}
	start := Start{Name: name, Files: map[string][]byte{"trainjob.yaml": b.Bytes()}}
	if options != "" {
		start.Files[optionsFile] = []byte(options)
	}
	w.starts = append(w.starts, start)
}

// nodes returns a number of nodes that differs from the runtime's.
func (w *walk) nodes() int32 {
	if p := w.spec.MLPolicy; p != nil && p.NumNodes != nil {
		return *p.NumNodes + 1
	}
	return 2
}

// sections adds the cases of a TrainJob's own sections.
func (w *walk) sections() {
	w.add("plain", "Nothing but the runtime.", fields{}, "")
	w.add("suspended", "Nothing runs before the TrainJob is resumed.", fields{"suspend": true}, "")
	if w.has(mlpolicy.Trainer) {
		w.add("trainer",
			"The TrainJob's own image, command and variables go before those of the runtime.",
			fields{"trainer": fields{
				"image": "registry.example.com/train:1", "command": []any{"python", "train.py"},
				"args": []any{"--epochs=3"},
				"env":  []any{fields{"name": "LOG_LEVEL", "value": "debug"}},
			}}, "")
		if p := w.spec.MLPolicy; p != nil {
			w.add("num-nodes", "Another number of nodes than the runtime's.",
				fields{"trainer": fields{"numNodes": w.nodes()}}, "")
			w.add("resources",
				"What each node asks for, with accelerators that a policy may count.",
				fields{"trainer": fields{
					"resourcesPerNode": fields{
						"requests": fields{"cpu": "8", "nvidia.com/gpu": "2"},
						"limits":   fields{"nvidia.com/gpu": "2"},
					},
				}}, "")
			if p.Torch != nil || p.MPI != nil || p.Flux != nil {
				w.add("num-proc-per-node", "Two processes on each node.",
					fields{"trainer": fields{"numProcPerNode": 2}}, "")
			}
			w.add("pods", "The Pods of two nodes, with the addresses at which they meet.",
				fields{"trainer": fields{"numNodes": 2}}, "to: pods\n")
		}
	}
	for _, i := range []struct{ ancestor, field, uri string }{
		{mlpolicy.DatasetInitializer, "dataset", "hf://team/dataset"},
		{mlpolicy.ModelInitializer, "model", "hf://team/model"},
	} {
		if w.has(i.ancestor) {
			w.add(i.ancestor, "The "+i.field+" comes from elsewhere than the runtime says.",
				fields{"initializer": fields{
					i.field: fields{
						"storageUri": i.uri,
						"env":        []any{fields{"name": "LOG_LEVEL", "value": "debug"}}},
				}}, "")
		}
	}
}

// has reports whether the runtime has a job with that label and the container that the controller
// requires.
func (w *walk) has(ancestor string) bool {
	container := ancestor
	if ancestor == mlpolicy.Trainer {
		container = mlpolicy.Node
	}
	return slices.ContainsFunc(w.spec.Template.Spec.ReplicatedJobs,
		func(j jobset.ReplicatedJob) bool {
			return j.Template.Labels[mlpolicy.Ancestor] == ancestor &&
				slices.ContainsFunc(j.Template.Spec.Template.Spec.Containers,
					func(c corev1.Container) bool { return c.Name == container })
		})
}

// main returns the trainer's job, or else the last one.
func (w *walk) main() *jobset.ReplicatedJob {
	jobs := w.spec.Template.Spec.ReplicatedJobs
	for i := range jobs {
		if jobs[i].Template.Labels[mlpolicy.Ancestor] == mlpolicy.Trainer {
			return &jobs[i]
		}
	}
	return &jobs[len(jobs)-1]
}

// manager is the name of the patches' manager.
const manager = "example.com/platform"

// patch adds a case with one manager's patch of the template's metadata and of one job.
func (w *walk) patch(name, comment string, metadata fields, job string, template fields) {
	patched := fields{
		"spec": fields{"replicatedJobs": []any{fields{"name": job, "template": template}}}}
	if metadata != nil {
		patched["metadata"] = metadata
	}
	spec := fields{
		"runtimePatches": []any{
			fields{"manager": manager, "trainingRuntimeSpec": fields{"template": patched}}}}
	if w.has(mlpolicy.Trainer) {
		spec["trainer"] = fields{} // most policies do nothing without it
	}
	w.add(name, comment, spec, "")
}

// pod adds a case with one manager's patch of a job's Pods.
func (w *walk) pod(name, comment, job string, pod fields) {
	w.patch(name, comment, nil, job, fields{"spec": fields{"template": fields{"spec": pod}}})
}

// patches adds the cases of patches by a manager (Trainer v2.3.0 pkg/apis/trainer/v1alpha1
// RuntimePatch).
func (w *walk) patches() {
	main := w.main()
	marks := fields{"labels": fields{"example.com/team": "research"},
		"annotations": fields{"example.com/cost-center": "4711"}}
	w.patch("patch-metadata", "A manager labels the JobSet, a Job and its Pods.", marks, main.Name,
		fields{"metadata": marks, "spec": fields{"template": fields{"metadata": marks}}})
	w.pod("patch-scheduling", "A manager says where the Pods may run, and when.", main.Name, fields{
		"nodeSelector": fields{"example.com/pool": "reserved"},
		"tolerations": []any{
			fields{"key": "example.com/reserved", "operator": "Exists", "effect": "NoSchedule"}},
		"schedulingGates": []any{fields{"name": "example.com/quota"}},
		"affinity": fields{
			"nodeAffinity": fields{"requiredDuringSchedulingIgnoredDuringExecution": fields{
				"nodeSelectorTerms": []any{
					fields{"matchExpressions": []any{
						fields{"key": "example.com/zone", "operator": "In",
							"values": []any{"a", "b"}}}}},
			}}},
	})
	w.pod("patch-service-account",
		"A manager says as whom the Pods run, and with which images' secrets.", main.Name, fields{
			"serviceAccountName": "trainer", "imagePullSecrets": []any{fields{"name": "registry"}},
		})
	security := fields{"securityContext": fields{"runAsNonRoot": true}}
	volume := []any{fields{"name": "example-scratch", "emptyDir": fields{"sizeLimit": "1Gi"}}}
	mount := []any{fields{"name": "example-scratch", "mountPath": "/example/scratch"}}
	if containers := main.Template.Spec.Template.Spec.Containers; len(containers) > 0 {
		name := containers[0].Name
		w.pod("patch-volumes", "A manager gives a container a volume.", main.Name, fields{
			"volumes": volume, "containers": []any{fields{"name": name, "volumeMounts": mount}},
		})
		w.pod("patch-security", "A manager restricts the Pods and a container.", main.Name, fields{
			"securityContext": security["securityContext"],
			"containers": []any{
				fields{"name": name, "securityContext": fields{"allowPrivilegeEscalation": false}}},
		})
	}
	w.sidecars()
}

// sidecars adds the cases of containers without a section in the TrainJob. A manager may patch
// variables only in them.
func (w *walk) sidecars() {
	env := []any{fields{"name": "EXAMPLE_REGION", "value": "north"}}
	own := []string{mlpolicy.Node, mlpolicy.DatasetInitializer, mlpolicy.ModelInitializer}
	kinds := []struct {
		name, comment, field string
		of                   func(*corev1.PodSpec) []corev1.Container
	}{
		{"patch-env", "A manager gives a container beside the trainer a variable.", "containers",
			func(p *corev1.PodSpec) []corev1.Container { return p.Containers }},
		{"patch-init-containers", "A manager gives an init container a variable.", "initContainers",
			func(p *corev1.PodSpec) []corev1.Container { return p.InitContainers }},
	}
	for _, kind := range kinds {
		for _, j := range w.spec.Template.Spec.ReplicatedJobs {
			all := kind.of(&j.Template.Spec.Template.Spec)
			i := slices.IndexFunc(all, func(c corev1.Container) bool {
				return !slices.Contains(own, c.Name)
			})
			if i >= 0 {
				w.pod(kind.name, kind.comment, j.Name,
					fields{kind.field: []any{fields{"name": all[i].Name, "env": env}}})
				break
			}
		}
	}
}
