package trainjob_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/trainjob"
)

const (
	patched = `.spec.runtimePatches[manager="trainer.kubeflow.org/kubeflow-sdk"].trainingRuntimeSpec.template.spec.replicatedJobs`
	podPath = patched + `[name="node"].template.spec.template.spec`
	limits  = ".spec.trainer.resourcesPerNode.limits"
)

func container(c trainjob.ContainerPatch) trainjob.RuntimePatch {
	return patchOf("node", &trainjob.PodSpecPatch{Containers: []trainjob.ContainerPatch{c}})
}

func mount(m corev1.VolumeMount) trainjob.RuntimePatch {
	return container(
		trainjob.ContainerPatch{Name: "metrics", VolumeMounts: []corev1.VolumeMount{m}})
}

func variable(v corev1.EnvVar) trainjob.RuntimePatch {
	return container(trainjob.ContainerPatch{Name: "metrics", Env: []corev1.EnvVar{v}})
}

// rejections are what New rejects; the reason begins with who else does.
var rejections = map[string]struct {
	reason string
	option trainjob.Option
	code   finding.Code
	path   string
	says   string
}{
	"container without name": {"SDK: the name of a container is not empty",
		container(trainjob.ContainerPatch{}),
		codes.NoMergeKey, podPath + ".containers[0]", "name"},
	"container with blank name": {
		"SDK: nor is it blank", container(trainjob.ContainerPatch{Name: " \t"}),
		codes.BadName, podPath + ".containers[name=\" \\t\"]", "blank"},
	"init container with blank name": {"SDK: init containers are patched by the same type",
		patchOf("node",
			&trainjob.PodSpecPatch{InitContainers: []trainjob.ContainerPatch{{Name: " "}}}),
		codes.BadName, podPath + `.initContainers[name=" "]`, "blank"},
	"env without name": {"SDK: a variable has a name", variable(corev1.EnvVar{Value: "x"}),
		codes.EnvWithoutName, podPath + `.containers[name="metrics"].env[0]`, "name"},
	"env without value": {"SDK: a variable has a value or a valueFrom",
		variable(corev1.EnvVar{Name: "A"}),
		codes.Env, podPath + `.containers[name="metrics"].env[name="A"]`,
		"neither a value nor a valueFrom"},
	"env from nowhere": {
		"SDK: a valueFrom has a source",
		variable(corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{}}),
		codes.Env, podPath + `.containers[name="metrics"].env[name="A"].valueFrom`,
		"source that the SDK lacks"},
	"env from a file": {"SDK: fileKeyRef is no source that it knows",
		variable(corev1.EnvVar{
			Name: "A", ValueFrom: &corev1.EnvVarSource{
				FileKeyRef: &corev1.FileKeySelector{VolumeName: "v", Path: "p", Key: "k"}}}),
		codes.Env, podPath + `.containers[name="metrics"].env[name="A"].valueFrom`,
		"source that the SDK lacks"},
	"env with both": {"cluster: the Job API takes one of value and valueFrom",
		variable(corev1.EnvVar{
			Name: "A", Value: "x",
			ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}),
		codes.ValueAndValueFrom, podPath + `.containers[name="metrics"].env[name="A"]`,
		"valueFrom"},
	"env of the trainer": {"cluster: the webhook keeps the trainer's variables to spec.trainer",
		container(trainjob.ContainerPatch{
			Name: "node", Env: []corev1.EnvVar{{Name: "A", Value: "x"}}}),
		codes.EnvOnMain, podPath + `.containers[name="node"].env`, "must not have envs"},
	"mount without name": {
		"SDK: a mount names its volume", mount(corev1.VolumeMount{MountPath: "/data"}),
		codes.Mount, podPath + `.containers[name="metrics"].volumeMounts[mountPath="/data"]`,
		"no name"},
	"mount without path": {"SDK: a mount has a path", mount(corev1.VolumeMount{Name: "data"}),
		codes.NoMergeKey, podPath + `.containers[name="metrics"].volumeMounts[0]`, "mountPath"},
	"mount at a relative path": {
		"SDK: and an absolute one", mount(corev1.VolumeMount{Name: "data", MountPath: "data"}),
		codes.Mount, podPath +
			`.containers[name="metrics"].volumeMounts[mountPath="data"].mountPath`,
		"not an absolute path"},
	"job without name": {"SDK: its type has no default for the name; cluster: nor an empty one",
		patchOfJobs(trainjob.ReplicatedJobPatch{}),
		codes.NoMergeKey, patched + "[0]", "name"},
	"manager without domain": {"cluster: a manager is a domain and a path",
		trainjob.RuntimePatch{Manager: "me"},
		codes.BadManager, ".spec.runtimePatches[0].manager", `Invalid value: "me"`},
	"not a kind of runtime": {"API: there are two kinds", trainjob.RuntimeKind("TrainingRuntimes"),
		codes.UnknownRuntime, ".spec.runtimeRef.kind", "unsupported value"},
	"name in capitals": {"cluster: the definition's rule for metadata.name",
		trainjob.Name("Nightly"),
		codes.BadMetadata, ".metadata.name", "invalid name"},
	"name that begins with a digit": {"cluster: RFC 1035", trainjob.Name("7b"),
		codes.BadMetadata, ".metadata.name", "invalid name"},
	"name that is too long": {"cluster: 63 characters", trainjob.Name(strings.Repeat("a", 64)),
		codes.BadMetadata, ".metadata.name", "63"},
	"no name": {"here: the SDK's random one would differ each time", trainjob.Name(""),
		codes.NoName, ".metadata.name", "Required value"},
	"namespace": {"cluster: RFC 1123", trainjob.Namespace("team_a"),
		codes.BadMetadata, ".metadata.namespace", "invalid namespace"},
	"label key": {"cluster: keys are qualified names", trainjob.Labels{"a b": "x"},
		codes.BadMetadata, `.metadata.labels["a b"]`, "invalid label key"},
	"label value": {"cluster: values are short and plain", trainjob.Labels{"a": "x y"},
		codes.BadMetadata, `.metadata.labels["a"]`, "invalid label value"},
	"annotation key": {"cluster: keys are qualified names", trainjob.Annotations{"a b": "x"},
		codes.BadMetadata, `.metadata.annotations["a b"]`, "invalid annotation key"},
	"annotations that are too long": {
		"cluster: 256 KiB", trainjob.Annotations{"a": strings.Repeat("x", 256<<10)},
		codes.BadMetadata, ".metadata.annotations", "bytes"},
	"empty image": {"SDK: an empty image is not sent, so it cannot be meant",
		trainjob.TrainerImage(""),
		codes.BadValue, ".spec.trainer.image", "is empty"},
	"long image": {"cluster: 500 characters", trainjob.TrainerImage(strings.Repeat("i", 501)),
		codes.BadValue, ".spec.trainer.image", "501"},
	"no nodes": {"SDK: 0 is not sent, so it cannot be meant", trainjob.NumNodes(0),
		codes.BadValue, ".spec.trainer.numNodes", "must be at least 1"},
	"less than no nodes": {"cluster: the Job is refused", trainjob.NumNodes(-2),
		codes.BadValue, ".spec.trainer.numNodes", "must be at least 1"},
	"many words": {"cluster: 128 of them", trainjob.TrainerArgs(make([]string, 129)),
		codes.BadValue, ".spec.trainer.args", "129"},
	"long word": {
		"cluster: 1 MiB each", trainjob.TrainerCommand{"sh", strings.Repeat("x", 1<<20+1)},
		codes.BadValue, ".spec.trainer.command[1]", "bytes"},
	"trainer env without name": {"SDK: TrainerEnvFrom's name is not empty",
		trainjob.TrainerEnvFrom{
			Source: corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
		codes.EnvWithoutName, ".spec.trainer.env[0]", "no name"},
	"trainer env with a bad name": {
		"cluster: the Pod is refused", trainjob.TrainerEnv{Name: "A=B", Value: "x"},
		codes.Env, `.spec.trainer.env[name="A=B"]`, "invalid name"},
	"trainer env from nowhere": {"cluster: the Pod is refused", trainjob.TrainerEnvFrom{Name: "A"},
		codes.Env, `.spec.trainer.env[name="A"].valueFrom`, "source that the SDK lacks"},
	"no deadline": {"SDK: 1 or more", trainjob.ActiveDeadlineSeconds(0),
		codes.BadValue, ".spec.activeDeadlineSeconds", "must be at least 1"},
	"GPU and MIG": {"SDK: whole GPUs and parts of one exclude each other",
		trainjob.ResourcesPerNode{"gpu": "1", "mig-1g.5gb": "1"},
		codes.Resources, limits, "exclude each other"},
	"two MIG profiles": {
		"SDK: one profile at most",
		trainjob.ResourcesPerNode{"mig-1g.5gb": "1", "nvidia.com/mig-2g.10gb": "1"},
		codes.Resources, limits, "several MIG profiles"},
	"one resource by two names": {"here: the SDK takes the last one in silence",
		trainjob.ResourcesPerNode{"gpu": "1", "nvidia.com/gpu": "2"},
		codes.Resources, limits + `["nvidia.com/gpu"]`, "are one resource"},
	"unknown resource": {"cluster: the Job is refused", trainjob.ResourcesPerNode{"gpus": "1"},
		codes.Resources, limits + `["gpus"]`, `unknown resource "gpus"`},
	"bad resource name": {
		"cluster: the Job is refused", trainjob.ResourcesPerNode{"example.com/a b": "1"},
		codes.Resources, limits + `["example.com/a b"]`, "invalid resource name"},
	"not a quantity": {"cluster: the TrainJob is refused",
		trainjob.ResourcesPerNode{"memory": "16 GB"},
		codes.Resources, limits + `["memory"]`, "invalid value"},
	"below zero": {"cluster: the Job is refused", trainjob.ResourcesPerNode{"cpu": "-1"},
		codes.Resources, limits + `["cpu"]`, "must be at least 0"},
	"part of a GPU": {"cluster: the Job is refused", trainjob.ResourcesPerNode{"gpu": "500m"},
		codes.Resources, limits + `["nvidia.com/gpu"]`, "must be a whole number"},
}

// TestRejections wants one finding for each, with its place and what to do, and no TrainJob.
func TestRejections(t *testing.T) {
	for name, c := range rejections {
		t.Run(name, func(t *testing.T) {
			job, findings := trainjob.New("torch-distributed", trainjob.Name("nightly"), c.option)
			if job != nil || len(findings) != 1 {
				t.Fatalf("%s: made %v, found %v", c.reason, job, findings)
			}
			f := findings[0]
			if f.Code != c.code || f.Path.String() != c.path ||
				!strings.Contains(f.Message, c.says) || f.Remedy.Text == "" ||
				f.Severity != finding.Error {
				t.Errorf("%s: found %v\nwant %s at %s: … %s …", c.reason, f, c.code, c.path, c.says)
			}
			if f.Object.Kind != trainer.TrainJobKind {
				t.Errorf("it is found in %v", f.Object)
			}
		})
	}
}

// TestAllFindings wants all findings at once. The SDK also sends two patches of one manager, which
// the cluster rejects. Their positions tell them apart.
func TestAllFindings(t *testing.T) {
	job, findings := trainjob.New("", trainjob.Labels{"a b": "x y"}, trainjob.NumNodes(0),
		mount(corev1.VolumeMount{MountPath: "data"}), trainjob.RuntimePatch{},
		trainjob.TrainerEnv{Name: "A"}, trainjob.TrainerEnv{Name: "A", Value: "x"})
	if job != nil {
		t.Errorf("made %v", job)
	}
	count := map[finding.Code]int{}
	for _, f := range findings {
		count[f.Code]++
	}
	for code, want := range map[finding.Code]int{
		codes.NoName: 1, codes.MissingField: 1, codes.BadMetadata: 2, codes.BadValue: 1,
		codes.Mount: 2, codes.DuplicateManager: 1, codes.DuplicateItem: 1,
	} {
		if count[code] != want {
			t.Errorf("%d findings of %s, want %d", count[code], code, want)
		}
	}
	if len(findings) != 9 {
		t.Errorf("%d findings:\n%v", len(findings), findings)
	}
	for _, f := range findings {
		if f.Code == codes.Mount &&
			!strings.HasPrefix(f.Path.String(), ".spec.runtimePatches[0].") {
			t.Errorf("the mount of the first patch is said to stand at %s", f.Path)
		}
	}
}

// TestWritten takes an empty value of a variable where it was written, as the SDK does.
func TestWritten(t *testing.T) {
	patch := variable(corev1.EnvVar{Name: "A"})
	const at = `.trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="metrics"].env[name="A"].value`
	var asked []string
	patch.Written = func(p fieldpath.Path) bool {
		asked = append(asked, p.String())
		return p.String() == at
	}
	if job, findings := trainjob.New("torch-distributed", trainjob.Name("nightly"),
		patch); job == nil || len(findings) > 0 {
		t.Errorf("found %v, and asked for %v", findings, asked)
	}
}

// TestWarnings wants a TrainJob in spite of its warnings.
func TestWarnings(t *testing.T) {
	job, findings := trainjob.New("torch-distributed", trainjob.Name("nightly"),
		trainjob.RuntimePatch{
			TrainingRuntimeSpec: &trainjob.TrainingRuntimeSpecPatch{
				Template: &trainjob.JobSetTemplatePatch{
					Metadata: &metav1.ObjectMeta{Name: "other"}}},
		})
	if job == nil || len(findings) != 1 || findings[0].Code != codes.IgnoredMetadata ||
		findings[0].Severity != finding.Warning {
		t.Errorf("made %v, found %v", job, findings)
	}
}

// TestAliasesNothing changes all that was given, and wants the TrainJob as it was.
func TestAliasesNothing(t *testing.T) {
	labels, command := trainjob.Labels{"a": "x"}, trainjob.TrainerCommand{"sh"}
	source := corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k"}}
	patch := variable(corev1.EnvVar{Name: "A", Value: "x"})
	pod := patch.TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	pod.NodeSelector = map[string]string{}
	job, findings := trainjob.New("r", trainjob.Name("n"), labels, command,
		trainjob.TrainerEnvFrom{Name: "B", Source: source}, patch)
	if job == nil {
		t.Fatal(findings)
	}
	if pod.NodeSelector == nil {
		t.Error("the patch was changed")
	}
	want := job.DeepCopy()
	labels["a"], command[0], source.SecretKeyRef.Key, pod.Containers[0].Env[0].Value = "y", "y",
		"y", "y"
	if same(want, job) != "" {
		t.Error("the TrainJob shares memory with the options")
	}
}

// TestAdmitted: what New makes is admitted, as far as that does not hang on the runtime.
func TestAdmitted(t *testing.T) {
	for name, c := range sdk {
		job, findings := trainjob.New("torch-distributed",
			append(c.options, trainjob.Name("nightly"))...)
		if findings.Err() != nil {
			t.Errorf("%s: %v", name, findings)
			continue
		}
		fields, err := admission.Encode(job)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, f := range admission.Check(context.Background(), admission.Input{TrainJob: fields}) {
			if f.Severity == finding.Error {
				t.Errorf("%s: %v", name, f)
			}
		}
	}
}

// same says how two TrainJobs differ. Where metadata has fields as raw JSON, its spaces do not
// count.
func same(a, b *trainer.TrainJob) string {
	return cmp.Diff(a, b, cmp.Comparer(func(a, b metav1.FieldsV1) bool {
		var x, y bytes.Buffer
		return json.Compact(&x, a.GetRawBytes()) == nil &&
			json.Compact(&y, b.GetRawBytes()) == nil && x.String() == y.String()
	}))
}
