package live_test

import (
	"errors"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
)

// dump is a source with one file.
type dump string

func (d dump) Inputs() (fs.FS, io.Reader) {
	return fstest.MapFS{"dump.yaml": {Data: []byte(d)}}, strings.NewReader("")
}

const family = `apiVersion: batch/v1
kind: Job
metadata: {name: llm-node-0, namespace: a, ownerReferences: [{kind: JobSet, name: llm}]}
---
apiVersion: v1
kind: Pod
metadata: {name: llm-node-0-0-x, generateName: llm-node-0-0-, namespace: a, ownerReferences: [{kind: Job, name: llm-node-0}]}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: a, labels: {jobset.sigs.k8s.io/jobset-name: alone}}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: llm, namespace: a, labels: {old: one}}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: llm, namespace: a, ownerReferences: [{kind: TrainJob, name: llm}]}
spec: {futureField: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: a}
---
apiVersion: example.com/v1
kind: Job
metadata: {name: another, namespace: a}
`

// TestRead holds that objects find their families by owners and labels, and that the last one of a
// name counts.
func TestRead(t *testing.T) {
	d := live.Read(dump(family), workspace.Flags{}, "dump.yaml")
	if d.Findings != nil {
		t.Fatal(d.Findings)
	}
	f := d.Family(fieldpath.Object{Kind: "TrainJob", Namespace: "a", Name: "llm"})
	if f == nil || f.JobSet == nil || f.TrainJob != nil || len(f.Jobs) != 1 || len(f.Pods) != 1 {
		t.Fatalf("the family is %+v", f)
	}
	if f.JobSet.Value.GetLabels() != nil {
		t.Error("the first JobSet of the name counts, want the last one")
	}
	if other := d.Family(
		fieldpath.Object{Kind: "TrainJob", Namespace: "a", Name: "alone"}); other == nil ||
		len(other.Pods) != 1 {
		t.Errorf("the Pod of another JobSet has the family %+v", other)
	}
	if len(d.Families) != 2 || d.Bare != 6 {
		t.Errorf("%d families and %d objects without managed fields, want 2 and 6", len(d.Families),
			d.Bare)
	}
	if m := f.JobSet.Managed(); m != nil {
		t.Errorf("the JobSet has managed fields: %v", m.Entries)
	}
}

// TestPlain holds that Plain changes its argument never, and its own result not again.
func TestPlain(t *testing.T) {
	grace := int64(30)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a-x", GenerateName: "a-", UID: "1",
			Labels: map[string]string{"controller-uid": "1", "app": "web"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace, ServiceAccountName: "default", NodeName: "n",
			SecurityContext: &corev1.PodSecurityContext{},
			Containers: []corev1.Container{
				{Name: "a", Image: "i:1", ImagePullPolicy: corev1.PullIfNotPresent},
				{Name: "b", Image: "i", ImagePullPolicy: corev1.PullNever}},
		},
	}
	before := pod.DeepCopy()
	plain := live.Plain(pod).(*corev1.Pod)
	if !reflect.DeepEqual(pod, before) {
		t.Error("Plain changes its argument")
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "a-", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				{Name: "a", Image: "i:1"},
				{Name: "b", Image: "i", ImagePullPolicy: corev1.PullNever}}},
	}
	if !reflect.DeepEqual(plain, want) {
		t.Errorf("Plain = %+v, want %+v", plain, want)
	}
	if again := live.Plain(plain); !reflect.DeepEqual(again, metav1.Object(want)) {
		t.Errorf("Plain of its result = %+v", again)
	}
}

// TestPlain_PullPolicy holds that the default policy of an image goes, and no other one.
func TestPlain_PullPolicy(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for image, want := range map[string]corev1.PullPolicy{
		"i": corev1.PullAlways, "i:latest": corev1.PullAlways,
		"i:latest" + digest: corev1.PullAlways, "host:5000/i": corev1.PullAlways,
		"a/b__c--d.e": corev1.PullAlways, "[::1]:5000/i": corev1.PullAlways,
		"Host/i": corev1.PullAlways, "docker.io/i": corev1.PullAlways,
		strings.Repeat("a", 247):                corev1.PullAlways,
		"host:5000/" + strings.Repeat("a", 255): corev1.PullAlways,
		"i:1":                                   corev1.PullIfNotPresent,
		"i" + digest:                            corev1.PullIfNotPresent,
		"host:5000/i:1" + digest:                corev1.PullIfNotPresent,
		// These do not parse.
		strings.Repeat("a", 248): corev1.PullIfNotPresent, "host:5000/" + strings.Repeat("a", 256) +
			":latest": corev1.PullIfNotPresent,
		"": corev1.PullIfNotPresent, "I": corev1.PullIfNotPresent,
		"a/B:latest": corev1.PullIfNotPresent, "a/": corev1.PullIfNotPresent,
		"i:latest@sha256:0":                        corev1.PullIfNotPresent,
		"i:latest@md5:" + strings.Repeat("0a", 32): corev1.PullIfNotPresent,
		"a___b": corev1.PullIfNotPresent,
		"a..b":  corev1.PullIfNotPresent, "-a": corev1.PullIfNotPresent,
		"a_": corev1.PullIfNotPresent, "i:": corev1.PullIfNotPresent,
		"i:latest:latest": corev1.PullIfNotPresent, "i latest": corev1.PullIfNotPresent,
		"-host.x/i": corev1.PullIfNotPresent, "host:/i": corev1.PullIfNotPresent,
		"[::1/i": corev1.PullIfNotPresent, "[::1]5000/i": corev1.PullIfNotPresent,
		"i:.latest": corev1.PullIfNotPresent, strings.Repeat("0a", 32): corev1.PullIfNotPresent,
	} {
		for _, policy := range []corev1.PullPolicy{corev1.PullAlways, corev1.PullIfNotPresent} {
			pod := &corev1.Pod{
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Image: image, ImagePullPolicy: policy}}}}
			if got := live.Plain(pod).(*corev1.Pod).Spec.Containers[0].ImagePullPolicy; (got == "") != (policy == want) {
				t.Errorf("Plain of a container of %s with %s keeps %q; the default is %s", image,
					policy, got, want)
			}
		}
	}
}

// TestPlain_Stored compares written objects with the forms in which an API server with the webhooks
// stores them.
func TestPlain_Stored(t *testing.T) {
	for _, c := range []struct {
		name            string
		object          metav1.Object
		written, stored string // YAML
		differ          bool
	}{
		{"the time of a patch", &trainer.TrainJob{}, `spec: {runtimePatches: [{manager: a.b/c}]}`,
			`spec: {runtimePatches: [{manager: a.b/c, time: "2026-11-20T09:00:00Z"}]}`, false},
		{"another time of a patch", &trainer.TrainJob{},
			`spec: {runtimePatches: [{manager: a.b/c, time: "2025-11-20T09:00:00Z"}]}`,
			`spec: {runtimePatches: [{manager: a.b/c, time: "2026-11-20T09:00:00Z"}]}`, false},
		{"another patch", &trainer.TrainJob{}, `spec: {runtimePatches: [{manager: a.b/c}]}`,
			`spec: {runtimePatches: [{manager: a.b/d, time: "2026-11-20T09:00:00Z"}]}`, true},
		{"an empty selector", &batchv1.Job{}, `spec: {selector: {}}`,
			`spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: "1"}}}`, false},
		{"no selector", &batchv1.Job{}, `spec: {}`,
			`spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: "1"}}}`, false},
		{"a selector", &batchv1.Job{}, `spec: {selector: {matchLabels: {a: b}}}`,
			`spec: {selector: {matchLabels: {a: b, batch.kubernetes.io/controller-uid: "1"}}}`,
			false},
		{"another selector", &batchv1.Job{}, `spec: {selector: {}}`,
			`spec: {selector: {matchLabels: {a: b, batch.kubernetes.io/controller-uid: "1"}}}`,
			true},
		{"a manual selector", &batchv1.Job{}, `spec: {manualSelector: true, selector: {}}`,
			`spec: {manualSelector: true, selector: {matchLabels: {batch.kubernetes.io/controller-uid: "1"}}}`, true},
		{"no counts", &batchv1.Job{}, `spec: {}`,
			`spec: {parallelism: 1, completions: 1, completionMode: NonIndexed}`, false},
		{"a count of completions", &batchv1.Job{}, `spec: {completions: 1}`,
			`spec: {parallelism: 1, completions: 1}`, false},
		{"a count of Pods", &batchv1.Job{}, `spec: {parallelism: 1}`,
			`spec: {parallelism: 1, completions: 1}`, true},
		{
			"a disk of Azure", &corev1.Pod{},
			`spec: {volumes: [{name: a, azureDisk: {diskName: a, diskURI: b, cachingMode: null}}]}`,
			`spec: {volumes: [{name: a, azureDisk: {diskName: a, diskURI: b, cachingMode: ReadWrite, fsType: ext4, kind: Shared, readOnly: false}}]}`, false,
		},
		{
			"old disks", &corev1.Pod{},
			`spec: {volumes: [{name: a, iscsi: {lun: 0}}, {name: b, rbd: {image: a}}, {name: c, scaleIO: {system: a}}]}`,
			`spec: {volumes: [{name: a, iscsi: {lun: 0, iscsiInterface: default}}, {name: b, rbd: {image: a, pool: rbd, user: admin, keyring: /etc/ceph/keyring}}, {name: c, scaleIO: {system: a, storageMode: ThinProvisioned, fsType: xfs}}]}`, false,
		},
		{"the limits of a Pod", &corev1.Pod{}, `spec: {resources: {limits: {cpu: 2, memory: 1Gi}}}`,
			`spec: {resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 2, memory: 1Gi}}}`,
			false},
		{
			"requests of containers", &corev1.Pod{},
			`spec: {resources: {limits: {cpu: 2}}, containers: [{name: a, resources: {requests: {cpu: 500m, memory: 1Gi, nvidia.com/gpu: 1}}}, {name: b, resources: {limits: {cpu: 1}}}]}`,
			`spec: {resources: {limits: {cpu: 2}, requests: {cpu: 1500m, memory: 1Gi}}, containers: [{name: a, resources: {requests: {cpu: 500m, memory: 1Gi, nvidia.com/gpu: 1}}}, {name: b, resources: {limits: {cpu: 1}, requests: {cpu: 1}}}]}`, false,
		},
		{
			"huge pages of containers", &corev1.Pod{},
			`spec: {resources: {requests: {cpu: 2}}, containers: [{name: a, resources: {limits: {hugepages-2Mi: 4Mi}}}]}`,
			`spec: {resources: {limits: {hugepages-2Mi: 4Mi}, requests: {cpu: 2, hugepages-2Mi: 4Mi}}, containers: [{name: a, resources: {limits: {hugepages-2Mi: 4Mi}, requests: {hugepages-2Mi: 4Mi}}}]}`, false,
		},
		{"the limits of a Pod that follow from all containers", &corev1.Pod{},
			`spec: {resources: {requests: {cpu: 3}}, containers: [{name: a, resources: {limits: {cpu: 2, memory: 1Gi}}}, {name: b, resources: {limits: {cpu: 500m}}}]}`,
			`spec: {resources: {limits: {cpu: 3}, requests: {cpu: 3, memory: 1Gi}}, containers: [{name: a, resources: {limits: {cpu: 2, memory: 1Gi}}}, {name: b, resources: {limits: {cpu: 500m}}}]}`, false,
		},
		{"a limit of a Pod that an init container lacks", &corev1.Pod{},
			`spec: {resources: {requests: {cpu: 1}}, initContainers: [{name: i}], containers: [{name: a, resources: {limits: {cpu: 2}}}]}`,
			`spec: {resources: {limits: {cpu: 2}, requests: {cpu: 1}}, initContainers: [{name: i}], containers: [{name: a, resources: {limits: {cpu: 2}}}]}`, true,
		},
		{"the requests of a Pod", &corev1.Pod{}, `spec: {resources: {requests: {cpu: 2}}}`,
			`spec: {resources: {requests: {cpu: 2}, limits: {cpu: 2}}}`, true},
		{"other requests of a Pod", &corev1.Pod{}, `spec: {resources: {limits: {cpu: 2}}}`,
			`spec: {resources: {limits: {cpu: 2}, requests: {cpu: 1}}}`, true},
	} {
		written, stored := c.object.(runtime.Object).DeepCopyObject(),
			c.object.(runtime.Object).DeepCopyObject()
		if err := errors.Join(yaml.Unmarshal([]byte(c.written), written),
			yaml.Unmarshal([]byte(c.stored), stored)); err != nil {
			t.Fatal(c.name, err)
		}
		want, got := live.Plain(written.(metav1.Object)), live.Plain(stored.(metav1.Object))
		if difference := cmp.Diff(want, got); (difference != "") != c.differ {
			t.Errorf("%s: the forms differ: %v, want %v\n%s", c.name, difference != "", c.differ,
				difference)
		}
	}
}
