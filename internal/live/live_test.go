package live_test

import (
	"io"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/live"
	"github.com/trainweld/trainweld/internal/workspace"
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

// TestRead holds that objects find their families by owners and labels, and that the last one of a name counts.
func TestRead(t *testing.T) {
	d := live.Read(dump(family), workspace.Flags{}, "dump.yaml")
	if d.Findings != nil {
		t.Fatal(d.Findings)
	}
	f := d.Family(fieldpath.Object{Kind: "TrainJob", Namespace: "a", Name: "llm"})
	if f == nil || f.JobSet == nil || f.TrainJob != nil || len(f.Jobs) != 1 || len(f.Pods) != 1 || !f.IsOfTrainer() {
		t.Fatalf("the family is %+v", f)
	}
	if f.JobSet.Value.GetLabels() != nil {
		t.Error("the first JobSet of the name counts, want the last one")
	}
	if job := f.JobOf(f.Pods[0]); job != f.Jobs[0] {
		t.Errorf("the Job of the Pod is %v", job)
	}
	if other := d.Family(fieldpath.Object{Kind: "TrainJob", Namespace: "a", Name: "alone"}); other == nil || other.IsOfTrainer() {
		t.Errorf("the Pod of another JobSet has the family %+v", other)
	}
	if len(d.Families) != 2 || d.Bare != 6 {
		t.Errorf("%d families and %d objects without managed fields, want 2 and 6", len(d.Families), d.Bare)
	}
	if m := f.JobSet.Managed(); m != nil {
		t.Errorf("the JobSet has managed fields: %v", m.Entries)
	}
}

// TestPlain holds that Plain changes its argument never, and its own result not again.
func TestPlain(t *testing.T) {
	grace := int64(30)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a-x", GenerateName: "a-", UID: "1", Labels: map[string]string{"controller-uid": "1", "app": "web"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace, ServiceAccountName: "default", NodeName: "n", SecurityContext: &corev1.PodSecurityContext{},
			Containers: []corev1.Container{{Name: "a", Image: "i:1", ImagePullPolicy: corev1.PullIfNotPresent}, {Name: "b", Image: "i", ImagePullPolicy: corev1.PullNever}},
		},
	}
	before := pod.DeepCopy()
	plain := live.Plain(pod).(*corev1.Pod)
	if !reflect.DeepEqual(pod, before) {
		t.Error("Plain changes its argument")
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "a-", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "i:1"}, {Name: "b", Image: "i", ImagePullPolicy: corev1.PullNever}}},
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
	for image, want := range map[string]corev1.PullPolicy{
		"i": corev1.PullAlways, "i:latest": corev1.PullAlways, "i:latest@sha256:0": corev1.PullAlways, "host:5000/i": corev1.PullAlways,
		"i:1": corev1.PullIfNotPresent, "i@sha256:0": corev1.PullIfNotPresent, "host:5000/i:1@sha256:0": corev1.PullIfNotPresent,
	} {
		for _, policy := range []corev1.PullPolicy{corev1.PullAlways, corev1.PullIfNotPresent} {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image, ImagePullPolicy: policy}}}}
			if got := live.Plain(pod).(*corev1.Pod).Spec.Containers[0].ImagePullPolicy; (got == "") != (policy == want) {
				t.Errorf("Plain of a container of %s with %s keeps %q; the default is %s", image, policy, got, want)
			}
		}
	}
}

// TestAdmitted holds that additions of a cluster go, and that fields of the rendering stay.
func TestAdmitted(t *testing.T) {
	seconds := int64(300)
	notReady := corev1.Toleration{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}
	token := corev1.Volume{Name: "kube-api-access-x", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}}
	mount := corev1.VolumeMount{Name: token.Name, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}
	pod := func() *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{
			Tolerations: []corev1.Toleration{notReady}, Volumes: []corev1.Volume{token}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "s"}},
			Containers: []corev1.Container{{Name: "a", VolumeMounts: []corev1.VolumeMount{mount}}},
		}}
	}
	bare := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}}
	got := pod()
	if live.Admitted(got, bare); !reflect.DeepEqual(got, bare) {
		t.Errorf("Admitted leaves %+v", got.Spec)
	}
	got = pod()
	if live.Admitted(got, pod()); !reflect.DeepEqual(got, pod()) {
		t.Errorf("Admitted removes fields of the rendering: %+v", got.Spec)
	}
}
