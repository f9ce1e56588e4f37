package trainjob_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/render/casefile"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/trainjob"
)

// patchOf is a patch of one replicated job's Pods.
func patchOf(job string, pod *trainjob.PodSpecPatch) trainjob.RuntimePatch {
	return patchOfJobs(trainjob.ReplicatedJobPatch{Name: job, Template: &trainjob.JobTemplatePatch{
		Spec: &trainjob.JobSpecPatch{Template: &trainjob.PodTemplatePatch{Spec: pod}},
	}})
}

func patchOfJobs(jobs ...trainjob.ReplicatedJobPatch) trainjob.RuntimePatch {
	return trainjob.RuntimePatch{TrainingRuntimeSpec: &trainjob.TrainingRuntimeSpecPatch{
		Template: &trainjob.JobSetTemplatePatch{
			Spec: &trainjob.JobSetSpecPatch{ReplicatedJobs: jobs}},
	}}
}

// sdk has the options of each file in testdata/sdk.txtar. A file holds the TrainJob that the SDK
// sends for them.
var sdk = map[string]struct {
	reason  string
	options []trainjob.Option
}{
	"name": {"an empty trainer is omitted", nil},
	"labels": {"of labels that are given twice the last ones count, whole",
		[]trainjob.Option{
			trainjob.Labels{"old": "x"},
			trainjob.Labels{"team": "research", "example.com/tier": "b"}}},
	"annotations": {"annotations are the TrainJob's own",
		[]trainjob.Option{trainjob.Annotations{"example.com/note": "asked for by the ranking team"},
			trainjob.Labels{}}},
	"command": {"a command goes to spec.trainer",
		[]trainjob.Option{trainjob.TrainerCommand{"torchrun", "main.py"}}},
	"args": {
		"an empty word is a word", []trainjob.Option{trainjob.TrainerArgs{"--epochs", "12", ""}}},
	"args_cleared": {"an empty list of words is sent, and clears the runtime's",
		[]trainjob.Option{trainjob.TrainerArgs{}}},
	"container": {
		"names of resources in any case, aliases, and another name as it is; an empty value counts",
		[]trainjob.Option{
			trainjob.TrainerImage("registry.example.com/ranker:7"), trainjob.NumNodes(3),
			trainjob.TrainerEnv{Name: "NCCL_DEBUG", Value: "INFO"},
			trainjob.TrainerEnv{Name: "EMPTY"},
			trainjob.ResourcesPerNode{"CPU": "6", "Memory": "24Gi", "GPU": "2", "storage": "100Gi",
				"example.com/Fast-NIC": "1"},
		}},
	"mig": {"a MIG profile by its short name",
		[]trainjob.Option{trainjob.ResourcesPerNode{"MIG-2g.10gb": "1"}}},
	"env_from": {"variables from a Secret and a ConfigMap", []trainjob.Option{
		trainjob.TrainerEnvFrom{
			Name: "HUB_TOKEN",
			Source: corev1.EnvVarSource{
				SecretKeyRef: &corev1.SecretKeySelector{
					LocalObjectReference: corev1.LocalObjectReference{Name: "hub"}, Key: "token"}}},
		trainjob.TrainerEnvFrom{
			Name: "REGION",
			Source: corev1.EnvVarSource{
				ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
					LocalObjectReference: corev1.LocalObjectReference{Name: "site"},
					Key:                  "region"}}},
	}},
	"deadline": {
		"a deadline goes to spec", []trainjob.Option{trainjob.ActiveDeadlineSeconds(7200)}},
	"patch_empty": {"a patch of empty parts is its manager, who is always sent",
		[]trainjob.Option{patchOfJobs()}},
	"patch_metadata": {"metadata on all three levels; empty parts below are omitted",
		[]trainjob.Option{trainjob.RuntimePatch{
			TrainingRuntimeSpec: &trainjob.TrainingRuntimeSpecPatch{
				Template: &trainjob.JobSetTemplatePatch{
					Metadata: &metav1.ObjectMeta{Labels: map[string]string{"cost": "ranking"}},
					Spec: &trainjob.JobSetSpecPatch{
						ReplicatedJobs: []trainjob.ReplicatedJobPatch{
							{Name: "node", Template: &trainjob.JobTemplatePatch{
								Metadata: &metav1.ObjectMeta{
									Annotations: map[string]string{"example.com/step": "fit"},
									Labels:      map[string]string{}},
								Spec: &trainjob.JobSpecPatch{Template: &trainjob.PodTemplatePatch{
									Metadata: &metav1.ObjectMeta{
										Labels: map[string]string{"scrape": "yes"}},
									Spec: &trainjob.PodSpecPatch{
										Containers:   []trainjob.ContainerPatch{},
										NodeSelector: map[string]string{}},
								}},
							}}}},
				}},
		}}},
	"patch_name_only": {"a job or container that is only named stays",
		[]trainjob.Option{patchOfJobs(
			trainjob.ReplicatedJobPatch{
				Name: "node",
				Template: &trainjob.JobTemplatePatch{
					Spec: &trainjob.JobSpecPatch{Template: &trainjob.PodTemplatePatch{}}}},
			trainjob.ReplicatedJobPatch{
				Name: "launcher",
				Template: &trainjob.JobTemplatePatch{
					Spec: &trainjob.JobSpecPatch{Template: &trainjob.PodTemplatePatch{
						Spec: &trainjob.PodSpecPatch{
							Containers: []trainjob.ContainerPatch{
								{Name: "metrics", Env: []corev1.EnvVar{}}}},
					}}}},
		)}},
	"patch_pod": {"every field that the SDK's PodSpecPatch and ContainerPatch have",
		[]trainjob.Option{patchOf("node", &trainjob.PodSpecPatch{
			ServiceAccountName: ptr.To("ranker"),
			Volumes: []corev1.Volume{{Name: "corpus", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
					ClaimName: "corpus-2024", ReadOnly: true},
			}}},
			InitContainers: []trainjob.ContainerPatch{
				{Name: "warm-up", Env: []corev1.EnvVar{{Name: "SHARDS", Value: "8"}}}},
			Containers: []trainjob.ContainerPatch{
				{
					Name: "node",
					VolumeMounts: []corev1.VolumeMount{
						{Name: "corpus", MountPath: "/corpus", ReadOnly: true}},
					SecurityContext: &corev1.SecurityContext{RunAsNonRoot: ptr.To(true)},
				},
				{Name: "metrics", Env: []corev1.EnvVar{
					{Name: "HOST",
						ValueFrom: &corev1.EnvVarSource{
							FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}},
					{Name: "CPUS",
						ValueFrom: &corev1.EnvVarSource{
							ResourceFieldRef: &corev1.ResourceFieldSelector{
								Resource: "limits.cpu"}}},
				}},
			},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}},
			SecurityContext:  &corev1.PodSecurityContext{FSGroup: ptr.To[int64](2000)},
			NodeSelector:     map[string]string{"pool": "h100"},
			Affinity: &corev1.Affinity{
				NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
						NodeSelectorTerms: []corev1.NodeSelectorTerm{
							{MatchExpressions: []corev1.NodeSelectorRequirement{
								{Key: "zone", Operator: corev1.NodeSelectorOpIn,
									Values: []string{"a", "b"}},
							}}},
					}}},
			Tolerations: []corev1.Toleration{
				{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists,
					Effect: corev1.TaintEffectNoSchedule}},
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/quota"}},
		})}},
}

// TestSDK compares the builder with the SDK. The SDK's JSON decodes to the builder's TrainJob,
// which encodes to the same JSON. Both are without empty values.
func TestSDK(t *testing.T) {
	archive := casefile.Read(t, "testdata/sdk.txtar")[0]
	if len(archive.Files) != len(sdk) {
		t.Fatalf("%d files for %d cases", len(archive.Files), len(sdk))
	}
	for _, file := range archive.Files {
		name := strings.TrimSuffix(file.Name, ".json")
		t.Run(name, func(t *testing.T) {
			c, ok := sdk[name]
			if !ok {
				t.Fatalf("no options make %s", file.Name)
			}
			sent := file.Data
			job, findings := trainjob.New("torch-distributed",
				append(c.options, trainjob.Name("nightly"))...)
			if len(findings) > 0 {
				t.Fatalf("%s: %v", c.reason, findings)
			}
			if diff := cmp.Diff(read(t, file.Name, sent), job); diff != "" {
				t.Errorf("%s: the SDK's JSON reads as another TrainJob (-SDK +builder):\n%s",
					c.reason, diff)
			}
			var made bytes.Buffer
			if err := manifest.Encode(&made, manifest.JSON, job); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fields(t, sent), fields(t, made.Bytes())); diff != "" {
				t.Errorf("%s: the builder's TrainJob encodes to other JSON (-SDK +builder):\n%s",
					c.reason, diff)
			}
		})
	}
}

// read decodes one TrainJob, of which nothing may be found.
func read(t *testing.T, file string, text []byte) *trainer.TrainJob {
	t.Helper()
	documents, findings := manifest.Decode(file, text)
	if len(findings) > 0 || len(documents) != 1 {
		t.Fatalf("%d documents, %v\n%s", len(documents), findings, text)
	}
	job, ok := documents[0].Object.(*trainer.TrainJob)
	if !ok {
		t.Fatalf("%s holds a %T", file, documents[0].Object)
	}
	return job
}

// fields decodes JSON without values that the typed API cannot tell from missing ones. These are an
// empty value of a variable, and a divisor of 0, which it always writes. Amounts of resources are
// as the API writes them.
func fields(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	plain(all)
	trainerSpec, _ := all["spec"].(map[string]any)["trainer"].(map[string]any)
	resources, _ := trainerSpec["resourcesPerNode"].(map[string]any)
	for _, list := range resources {
		for name, amount := range list.(map[string]any) {
			q := resource.MustParse(fmt.Sprint(amount))
			list.(map[string]any)[name] = q.String()
		}
	}
	return all
}

// plain removes parts of a value that the typed API cannot tell from missing ones.
func plain(value any) {
	switch v := value.(type) {
	case map[string]any:
		if v["value"] == "" {
			delete(v, "value")
		}
		if v["divisor"] == "0" {
			delete(v, "divisor")
		}
		for _, member := range v {
			plain(member)
		}
	case []any:
		for _, item := range v {
			plain(item)
		}
	}
}
