package admission

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/kubeapi"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// checkTargets checks the names of jobs in a policy. The webhook's message names the failure policy
// by " in failure policy".
func checkTargets(spec *jobset.JobSetSpec, targets []string, policy string, at *kubeapi.At) {
	for i, target := range targets {
		if replicatedJob(spec.ReplicatedJobs, target) == nil {
			at.Index(i).Reject(fmt.Sprintf("invalid replicatedJob name '%s'%s does not appear in "+
				".spec.ReplicatedJobs", target, policy), "use one of "+jobNames(spec))
		}
	}
}

func jobNames(spec *jobset.JobSetSpec) string {
	names := make([]string, len(spec.ReplicatedJobs))
	for i := range spec.ReplicatedJobs {
		names[i] = spec.ReplicatedJobs[i].Name
	}
	return strings.Join(names, ", ")
}

// ruleName matches a valid name of a failure policy's rule; longestRuleName is its maximum length.
var ruleName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
})

const longestRuleName = 128

func checkFailurePolicy(spec *jobset.JobSetSpec, list *kubeapi.At) {
	rules := spec.FailurePolicy.Rules
	for i := range rules {
		if a := rules[i].Action; a == jobset.RestartJob ||
			a == jobset.RestartJobAndIgnoreMaxRestarts {
			list.As(codes.JobSetGate).Index(i).Field("action").Reject(
				"RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not "+
					"allowed when RestartJob feature gate is disabled",
				"use RestartJobSet, or another action")
			return // the webhook stops here
		}
	}
	reasons := []string{
		batchv1.JobReasonBackoffLimitExceeded, batchv1.JobReasonDeadlineExceeded,
		batchv1.JobReasonFailedIndexes,
		batchv1.JobReasonMaxFailedIndexesExceeded, batchv1.JobReasonPodFailurePolicy,
	}
	for i := range rules {
		rule, at := &rules[i], list.Index(i)
		switch {
		case rule.Name == "" || len(rule.Name) > longestRuleName:
			at.Field("name").Reject(
				fmt.Sprintf("invalid failure policy rule name of length %d, the rule name must "+
					"be at least 1 characters long and at most %d characters long", len(rule.Name),
					longestRuleName), fmt.Sprintf("use 1 to %d characters", longestRuleName))
		case !ruleName().MatchString(rule.Name):
			at.Field("name").Reject(
				fmt.Sprintf("invalid failure policy rule name '%s', a failure policy rule name "+
					"must start with an alphabetic character, optionally followed by a string of "+
					"alphanumeric characters or '_,:', and must end with an alphanumeric "+
					"character or '_'", rule.Name),
				"use letters, digits, '_', ',' and ':', beginning with a letter")
		}
		if first := slices.IndexFunc(rules, func(other jobset.FailurePolicyRule) bool {
			return other.Name == rule.Name
		}); first < i {
			at.Field("name").Reject(
				fmt.Sprintf("rule names are not unique, rules with indices [%d %d] all have the "+
					"same name '%s'", first, i, rule.Name), "rename one of the rules")
		}
		checkTargets(spec, rule.TargetReplicatedJobs, " in failure policy",
			at.Field("targetReplicatedJobs"))
		for j, reason := range rule.OnJobFailureReasons {
			if !slices.Contains(reasons, reason) {
				at.Field("onJobFailureReasons").Index(j).Reject(
					fmt.Sprintf("invalid job failure reason '%s' in failure policy is not a "+
						"recognized job failure reason", reason),
					"use one of "+strings.Join(reasons, ", "))
			}
		}
	}
}

func (d *definition) checkCoordinator(js *jobset.JobSet, at *kubeapi.At) {
	coordinator, atJob := js.Spec.Coordinator, at.Field("replicatedJob")
	job := replicatedJob(js.Spec.ReplicatedJobs, coordinator.ReplicatedJob)
	if job == nil {
		atJob.Reject(
			fmt.Sprintf("coordinator replicatedJob %s does not exist", coordinator.ReplicatedJob),
			"use one of "+jobNames(&js.Spec))
		return
	}
	switch spec := &job.Template.Spec; {
	case coordinator.JobIndex < 0 || coordinator.JobIndex >= int(job.Replicas):
		at.Field("jobIndex").Reject(
			fmt.Sprintf("coordinator job index %d is invalid for replicatedJob %s",
				coordinator.JobIndex, job.Name), indexHelp(int(job.Replicas)))
	case spec.CompletionMode == nil || *spec.CompletionMode != batchv1.IndexedCompletion ||
		spec.Completions == nil:
		atJob.Reject("job for coordinator pod must be indexed completion mode, and completions "+
			"number must be set", "set completionMode to Indexed, or use another job")
	case coordinator.PodIndex < 0 || coordinator.PodIndex >= int(*spec.Completions):
		at.Field("podIndex").Reject(
			fmt.Sprintf("coordinator pod index %d is invalid for replicatedJob %s job index %d",
				coordinator.PodIndex, job.Name, coordinator.JobIndex),
			indexHelp(int(*spec.Completions)))
	}
	if !d.has(release.JobSetCoordinator) {
		return
	}
	subdomain := js.Name
	if js.Spec.Network != nil && js.Spec.Network.Subdomain != "" {
		subdomain = js.Spec.Network.Subdomain
	}
	address := fmt.Sprintf("%s-%s-%d-%d.%s", js.Name, coordinator.ReplicatedJob,
		coordinator.JobIndex, coordinator.PodIndex, subdomain)
	if problems := validation.IsValidLabelValue(address); len(problems) > 0 {
		atJob.Reject(
			fmt.Sprintf("spec will lead to invalid label value %q for coordinator label %q (long "+
				"JobSet / ReplicatedJob / SubDomain name?): %s", address, jobset.CoordinatorKey,
				strings.Join(problems, ", ")),
			"shorten the name of the TrainJob, of the replicated job or of the subdomain")
	}
}

// indexHelp returns the help for an index of n Jobs or Pods.
func indexHelp(n int) string {
	if n < 1 {
		return "use a replicated job with Pods"
	}
	return fmt.Sprintf("use an index from 0 to %d", n-1)
}

// longestClaim is the maximum length of the name of a volume claim that JobSet makes.
const longestClaim = 63

func checkClaims(js *jobset.JobSet, spec *kubeapi.At) {
	seen := map[string]bool{}
	for i := range js.Spec.VolumeClaimPolicies {
		templates := js.Spec.VolumeClaimPolicies[i].Templates
		for j := range templates {
			name := templates[j].Name
			// The webhook prints "template", though the field's name is templates.
			at := spec.Field("volumeClaimPolicies").Index(i).Field("templates").Index(j).Field(
				"metadata", "name")
			if seen[name] {
				at.Invalid(name, "names must be unique for VolumeClaimPolicies template",
					"rename one of the claims")
			}
			seen[name] = true
			at.Subdomain(name)
			if over := len(name+"-"+js.Name) - longestClaim; over > 0 {
				at.Invalid(name, "VolumeClaimPolicies template name is too long",
					fmt.Sprintf("shorten the claim's name, or the TrainJob's, by %d", over))
			}
			checkClaimUse(js.Spec.ReplicatedJobs, name, spec.Field("replicatedJobs"))
		}
	}
}

// checkClaimUse requires a container that mounts the claim. It forbids a volume with the claim's
// name.
func checkClaimUse(jobs []jobset.ReplicatedJob, name string, at *kubeapi.At) {
	mounted := false
	for i := range jobs {
		pod := &jobs[i].Template.Spec.Template.Spec
		for j := range pod.Volumes {
			if pod.Volumes[j].Name == name {
				at.Step(fieldpath.Item("name", jobs[i].Name)).Field("template", "spec", "template",
					"spec", "volumes").Step(fieldpath.Item("name", name)).Field("name").Invalid(name,
					"volume name conflicts with VolumeClaimPolicy template name: "+name,
					"remove the volume, or rename it")
			}
		}
		mounted = mounted || slices.ContainsFunc(slices.Concat(pod.InitContainers, pod.Containers),
			func(c corev1.Container) bool { return mounts(&c, name) })
	}
	if !mounted {
		at.InvalidObject(fmt.Sprintf("replicatedJob containers don't have a matching volumeMount: "+
			"%s from VolumeClaimPolicies", name),
			"mount a volume of the claim's name, or remove the claim")
	}
}
