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
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
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
	if f == nil || f.JobSet == nil || f.TrainJob != nil || len(f.Jobs) != 1 {
		t.Fatalf("the family is %+v", f)
	}
	if f.JobSet.Value.GetLabels() != nil {
		t.Error("the first JobSet of the name counts, want the last one")
	}
	if len(d.Families) != 1 {
		t.Errorf("%d families, want 1", len(d.Families))
	}
	if m := f.JobSet.Managed(); m != nil {
		t.Errorf("the JobSet has managed fields: %v", m.Entries)
	}
}

// TestPlain holds that Plain changes its argument never, and its own result not again.
func TestPlain(t *testing.T) {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1",
			Labels: map[string]string{"controller-uid": "1", "app": "web"}},
		Spec: jobOf(corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(30)), ServiceAccountName: "default",
			NodeName: "n", SecurityContext: &corev1.PodSecurityContext{},
			Containers: []corev1.Container{
				{Name: "a", Image: "i:1", ImagePullPolicy: corev1.PullIfNotPresent},
				{Name: "b", Image: "i", ImagePullPolicy: corev1.PullNever}},
		}).Spec,
	}
	before := job.DeepCopy()
	plain := live.Plain(job)
	if !reflect.DeepEqual(job, before) {
		t.Error("Plain changes its argument")
	}
	want := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "web"}},
		Spec: jobOf(corev1.PodSpec{Containers: []corev1.Container{
			{Name: "a", Image: "i:1"},
			{Name: "b", Image: "i", ImagePullPolicy: corev1.PullNever}}}).Spec,
	}
	want.Spec.Parallelism, want.Spec.Completions = new(int32(1)), new(int32(1))
	if difference := cmp.Diff(metav1.Object(want), plain); difference != "" {
		t.Errorf("Plain differs (-want +got):\n%s", difference)
	}
	if again := live.Plain(plain); !reflect.DeepEqual(again, plain) {
		t.Errorf("Plain of its result = %+v", again)
	}
	js := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"},
		Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{
			{Name: "node", Template: batchv1.JobTemplateSpec{Spec: job.Spec}}}},
		Status: jobset.JobSetStatus{Restarts: 1}}
	written := js.DeepCopy()
	if plain = live.Plain(js); !reflect.DeepEqual(js, written) {
		t.Error("Plain changes a JobSet")
	}
	if again := live.Plain(plain); !reflect.DeepEqual(again, plain) ||
		reflect.DeepEqual(plain, metav1.Object(js)) {
		t.Errorf("Plain of a JobSet = %+v, and of its result %+v", plain, again)
	}
}

func jobOf(pod corev1.PodSpec) *batchv1.Job {
	return &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}}}
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
			job := live.Plain(jobOf(corev1.PodSpec{Containers: []corev1.Container{
				{Image: image, ImagePullPolicy: policy}}})).(*batchv1.Job)
			got := job.Spec.Template.Spec.Containers[0].ImagePullPolicy
			if (got == "") != (policy == want) {
				t.Errorf("Plain of a container of %s with %s keeps %q; the default is %s", image,
					policy, got, want)
			}
		}
	}
}

// TestPlain_Stored compares written Jobs with the forms in which an API server stores them.
func TestPlain_Stored(t *testing.T) {
	for _, c := range []struct {
		name            string
		written, stored string // YAML
		differ          bool
	}{
		{"an empty selector", `spec: {selector: {}}`,
			`spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: "1"}}}`, false},
		{"no selector", `spec: {}`,
			`spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: "1"}}}`, false},
		{"a selector", `spec: {selector: {matchLabels: {a: b}}}`,
			`spec: {selector: {matchLabels: {a: b, batch.kubernetes.io/controller-uid: "1"}}}`,
			false},
		{"another selector", `spec: {selector: {}}`,
			`spec: {selector: {matchLabels: {a: b, batch.kubernetes.io/controller-uid: "1"}}}`,
			true},
		{"a manual selector", `spec: {manualSelector: true, selector: {}}`,
			`spec: {manualSelector: true, selector: {matchLabels: {batch.kubernetes.io/controller-uid: "1"}}}`, true},
		{"no counts", `spec: {}`,
			`spec: {parallelism: 1, completions: 1, completionMode: NonIndexed}`, false},
		{"a count of completions", `spec: {completions: 1}`,
			`spec: {parallelism: 1, completions: 1}`, false},
		{"a count of Pods", `spec: {parallelism: 1}`,
			`spec: {parallelism: 1, completions: 1}`, true},
		{
			"a disk of Azure",
			`spec: {template: {spec: {volumes: [{name: a, azureDisk: {diskName: a, diskURI: b, cachingMode: null}}]}}}`,
			`spec: {template: {spec: {volumes: [{name: a, azureDisk: {diskName: a, diskURI: b, cachingMode: ReadWrite, fsType: ext4, kind: Shared, readOnly: false}}]}}}`, false,
		},
		{
			"old disks",
			`spec: {template: {spec: {volumes: [{name: a, iscsi: {lun: 0}}, {name: b, rbd: {image: a}}, {name: c, scaleIO: {system: a}}]}}}`,
			`spec: {template: {spec: {volumes: [{name: a, iscsi: {lun: 0, iscsiInterface: default}}, {name: b, rbd: {image: a, pool: rbd, user: admin, keyring: /etc/ceph/keyring}}, {name: c, scaleIO: {system: a, storageMode: ThinProvisioned, fsType: xfs}}]}}}`, false,
		},
	} {
		written, stored := &batchv1.Job{}, &batchv1.Job{}
		if err := errors.Join(yaml.Unmarshal([]byte(c.written), written),
			yaml.Unmarshal([]byte(c.stored), stored)); err != nil {
			t.Fatal(c.name, err)
		}
		want, got := live.Plain(written), live.Plain(stored)
		if difference := cmp.Diff(want, got); (difference != "") != c.differ {
			t.Errorf("%s: the forms differ: %v, want %v\n%s", c.name, difference != "", c.differ,
				difference)
		}
	}
}
