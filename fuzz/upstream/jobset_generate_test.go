package upstream_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/upstream"
)

// generateJobSet makes a JobSet that the cluster would take, of whatever decides what its children
// look like.
func generateJobSet(t *testing.T, r *rand.Rand) *jobset.JobSet {
	if r.IntN(2) == 0 {
		return documentJobSet(t, r)
	}
	maybe := func(oneIn int) bool { return r.IntN(oneIn) == 0 }
	js := &jobset.JobSet{
		TypeMeta: metav1.TypeMeta{APIVersion: jobset.SchemeGroupVersion.String(), Kind: "JobSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: oneOf(r, "llm", "a", "tj-1"), Namespace: oneOf(r, "default", "team-a"),
			UID:    types.UID("uid-of-the-set"),
			Labels: someLabels(r), Annotations: withPlacement(r, someLabels(r)),
		}}
	if maybe(3) {
		js.Spec.Network = &jobset.Network{
			Subdomain: oneOf(r, "", "net"), EnableDNSHostnames: maybeBool(r),
			PublishNotReadyAddresses: maybeBool(r)}
	}
	js.Spec.Suspend = maybeBool(r)
	names := []string{"data", "node", "side", "eval"}[:1+r.IntN(4)]
	if maybe(4) {
		js.Spec.StartupPolicy = &jobset.StartupPolicy{StartupPolicyOrder: jobset.InOrder}
	}
	if maybe(4) {
		js.Spec.FailurePolicy = &jobset.FailurePolicy{
			MaxRestarts: 1, Rules: []jobset.FailurePolicyRule{
				{Action: jobset.FailJobSet}, {Name: "named", Action: jobset.RestartJobSet},
			}}
	}
	if maybe(4) {
		js.Spec.Coordinator = &jobset.Coordinator{ReplicatedJob: names[0], JobIndex: r.IntN(2),
			PodIndex: r.IntN(2)}
	}
	for range r.IntN(3) {
		policy := jobset.VolumeClaimPolicy{}
		for _, name := range names[:r.IntN(2)] {
			policy.Templates = append(policy.Templates, corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{
					Name:   name + fmt.Sprint(len(js.Spec.VolumeClaimPolicies)),
					Labels: someLabels(r), Annotations: someLabels(r)},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{
							corev1.ResourceStorage: resource.MustParse("1Gi")}},
				},
			})
		}
		switch r.IntN(3) {
		case 0:
			policy.RetentionPolicy = &jobset.VolumeRetentionPolicy{}
		case 1:
			when := oneOf(r, jobset.RetentionPolicyDelete, jobset.RetentionPolicyRetain)
			policy.RetentionPolicy = &jobset.VolumeRetentionPolicy{WhenDeleted: &when}
		}
		js.Spec.VolumeClaimPolicies = append(js.Spec.VolumeClaimPolicies, policy)
	}
	for i, name := range names {
		rjob := jobset.ReplicatedJob{Name: name, GroupName: oneOf(r, "", "", "default", "workers"),
			Replicas: int32(r.IntN(4))}
		if i > 0 && js.Spec.StartupPolicy == nil && maybe(3) {
			for _, target := range names[r.IntN(i):i] {
				rjob.DependsOn = append(rjob.DependsOn,
					jobset.DependsOn{
						Name:   target,
						Status: oneOf(r, jobset.DependencyComplete, jobset.DependencyReady)})
			}
		}
		rjob.Template.ObjectMeta = metav1.ObjectMeta{
			Labels: someLabels(r), Annotations: withPlacement(r, someLabels(r))}
		rjob.Template.Spec = generateJob(r, js)
		js.Spec.ReplicatedJobs = append(js.Spec.ReplicatedJobs, rjob)
	}
	return js
}

// documentJobSet makes a JobSet of a generated runtime's template.
func documentJobSet(t *testing.T, r *rand.Rand) *jobset.JobSet {
	d := fuzz.Document(r.Uint64(), fuzz.DocumentOptions{})
	template, _ := d.Runtime["spec"].(upstream.Object)["template"].(upstream.Object)
	read, js := &jobset.JobSet{}, &jobset.JobSet{}
	convert(t, template, read)
	convert(t, read, js) // without the empty values that no typed client sends
	if slices.ContainsFunc(js.Spec.ReplicatedJobs, func(r jobset.ReplicatedJob) bool {
		return len(r.DependsOn) > 0
	}) || js.Spec.StartupPolicy != nil {
		js.Spec.SuccessPolicy = nil // or the JobSet succeeds before its last Jobs are created
	}
	for i := range js.Spec.ReplicatedJobs {
		withoutLabelKeys(js.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec.Affinity)
	}
	js.APIVersion, js.Kind = jobset.SchemeGroupVersion.String(), "JobSet"
	js.Name, js.Namespace, js.UID, js.Finalizers = "tj-1", "default", "uid-of-the-set", nil
	return js
}

// withoutLabelKeys clears the fields of which the API server, and no webhook, makes expressions of
// a Pod's selectors.
func withoutLabelKeys(affinity *corev1.Affinity) {
	if affinity == nil {
		return
	}
	both := cmp.Or(affinity.PodAffinity, &corev1.PodAffinity{})
	anti := cmp.Or(affinity.PodAntiAffinity, &corev1.PodAntiAffinity{})
	for _, terms := range [][]corev1.PodAffinityTerm{
		both.RequiredDuringSchedulingIgnoredDuringExecution,
		anti.RequiredDuringSchedulingIgnoredDuringExecution} {
		for i := range terms {
			terms[i].MatchLabelKeys, terms[i].MismatchLabelKeys = nil, nil
		}
	}
	for _, terms := range [][]corev1.WeightedPodAffinityTerm{
		both.PreferredDuringSchedulingIgnoredDuringExecution,
		anti.PreferredDuringSchedulingIgnoredDuringExecution} {
		for i := range terms {
			terms[i].PodAffinityTerm.MatchLabelKeys,
				terms[i].PodAffinityTerm.MismatchLabelKeys = nil, nil
		}
	}
}

func generateJob(r *rand.Rand, js *jobset.JobSet) batchv1.JobSpec {
	number := func(n int) *int32 {
		if r.IntN(3) == 0 {
			return nil
		}
		i := int32(1 + r.IntN(n))
		return &i
	}
	job := batchv1.JobSpec{Parallelism: number(3), Completions: number(4), BackoffLimit: number(3),
		Suspend: maybeBool(r)}
	if r.IntN(4) == 0 {
		mode := oneOf(r, batchv1.IndexedCompletion, batchv1.NonIndexedCompletion)
		job.CompletionMode = &mode
	}
	job.Template.ObjectMeta = metav1.ObjectMeta{
		Labels: someLabels(r), Annotations: withPlacement(r, someLabels(r))}
	if r.IntN(5) == 0 {
		job.Template.Finalizers = []string{"example.com/f"}
	}
	pod := &job.Template.Spec
	pod.RestartPolicy = oneOf(r, "", corev1.RestartPolicyNever)
	pod.PriorityClassName = oneOf(r, "", "", "system-node-critical")
	pod.NodeSelector = someLabels(r)
	pod.Hostname, pod.Subdomain = oneOf(r, "", "mine"), oneOf(r, "", "mine")
	if r.IntN(3) == 0 {
		pod.Tolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}
	}
	if r.IntN(4) == 0 {
		term := corev1.PodAffinityTerm{
			TopologyKey:   "host",
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}
		pod.Affinity = &corev1.Affinity{}
		if r.IntN(2) == 0 {
			pod.Affinity.PodAffinity = &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}
		} else {
			pod.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}
		}
	}
	if r.IntN(3) == 0 {
		pod.Volumes = []corev1.Volume{
			{Name: "tmp",
				VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}
	container := func(name string) corev1.Container {
		c := corev1.Container{Name: name, Image: "image"}
		for _, policy := range js.Spec.VolumeClaimPolicies {
			for _, template := range policy.Templates {
				if r.IntN(2) == 0 {
					c.VolumeMounts = append(c.VolumeMounts,
						corev1.VolumeMount{Name: template.Name, MountPath: "/" + template.Name})
				}
			}
		}
		if r.IntN(4) == 0 {
			c.Env = []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", Value: "x"}}
		}
		if r.IntN(3) == 0 {
			c.Ports = []corev1.ContainerPort{
				{ContainerPort: 80}, {ContainerPort: 81, Protocol: corev1.ProtocolUDP}}
		}
		if r.IntN(4) == 0 {
			service := "s"
			c.LivenessProbe = &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{
					GRPC: &corev1.GRPCAction{Port: 9, Service: oneOf(r, nil, &service)}}}
		}
		return c
	}
	pod.Containers = []corev1.Container{container("node"), container("side")}
	if r.IntN(3) == 0 {
		pod.InitContainers = []corev1.Container{container("init")}
	}
	return job
}

func oneOf[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func maybeBool(r *rand.Rand) *bool {
	if r.IntN(2) == 0 {
		return nil
	}
	b := r.IntN(2) == 0
	return &b
}

// someLabels is a few labels, some of them the controller's own.
func someLabels(r *rand.Rand) map[string]string {
	if r.IntN(2) == 0 {
		return nil
	}
	all := map[string]string{"app": "x", "team": "y", jobset.JobSetNameKey: "other",
		jobset.JobIndexKey: "7", "trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if r.IntN(3) == 0 {
			out[key] = all[key]
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// withPlacement asks for exclusive placement now and then, by either strategy.
func withPlacement(r *rand.Rand, annotations map[string]string) map[string]string {
	for _, key := range []string{jobset.ExclusiveKey, jobset.NodeSelectorStrategyKey} {
		if r.IntN(6) > 0 {
			continue
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = oneOf(r, "rack", "zone")
	}
	return annotations
}
