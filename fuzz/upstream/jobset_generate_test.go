package upstream_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/upstream"
)

var jobSetTemplate = sync.OnceValue(func() any { return readTemplate("testdata/jobset.yaml") })

// generateJobSet makes a JobSet that the cluster would take.
func generateJobSet(t *testing.T, r *rand.Rand) *jobset.JobSet {
	if r.IntN(2) == 0 {
		return documentJobSet(t, r)
	}
	js := &jobset.JobSet{}
	if err := oracle.Convert(fuzz.Expand(r, jobSetTemplate()), js); err != nil {
		t.Fatal(err)
	}
	for i := range js.Spec.ReplicatedJobs {
		if js.Spec.StartupPolicy != nil {
			js.Spec.ReplicatedJobs[i].DependsOn = nil // there is one or the other
		}
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
