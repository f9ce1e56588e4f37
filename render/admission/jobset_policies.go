package admission

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

func checkSuccessPolicy(spec *jobset.JobSetSpec, report apirule.Reporter) {
	if spec.SuccessPolicy == nil {
		return
	}
	path := fieldpath.Fields("spec", "successPolicy", "targetReplicatedJobs")
	checkTargets(spec, spec.SuccessPolicy.TargetReplicatedJobs, path, "", report)
}

// checkTargets checks the names of jobs in a policy. The webhook's message names the failure policy
// by " in failure policy".
func checkTargets(spec *jobset.JobSetSpec, targets []string, path fieldpath.Path, policy string,
	report apirule.Reporter) {
	for i, target := range targets {
		if replicatedJob(spec.ReplicatedJobs, target) == nil {
			report(codes.JobSetPolicy, path.Append(fieldpath.Index(i)),
				fmt.Sprintf("invalid replicatedJob name '%s'%s does not appear in "+
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

func checkFailurePolicy(spec *jobset.JobSetSpec, report apirule.Reporter) {
	path := fieldpath.Fields("spec", "failurePolicy", "rules")
	rules := spec.FailurePolicy.Rules
	for i := range rules {
		if a := rules[i].Action; a == jobset.RestartJob ||
			a == jobset.RestartJobAndIgnoreMaxRestarts {
			report(codes.JobSetGate, path.Append(fieldpath.Index(i), fieldpath.Field("action")),
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
		rule, at := &rules[i], path.Append(fieldpath.Index(i))
		name := at.Append(fieldpath.Field("name"))
		switch {
		case rule.Name == "" || len(rule.Name) > longestRuleName:
			report(codes.JobSetPolicy, name,
				fmt.Sprintf("invalid failure policy rule name of length %d, the rule name must "+
					"be at least 1 characters long and at most %d characters long", len(rule.Name),
					longestRuleName),
				fmt.Sprintf("use 1 to %d characters", longestRuleName))
		case !ruleName().MatchString(rule.Name):
			report(codes.JobSetPolicy, name,
				fmt.Sprintf("invalid failure policy rule name '%s', a failure policy rule name "+
					"must start with an alphabetic character, optionally followed by a string of "+
					"alphanumeric characters or '_,:', and must end with an alphanumeric "+
					"character or '_'", rule.Name),
				"use letters, digits, '_', ',' and ':', beginning with a letter")
		}
		if first := slices.IndexFunc(rules, func(other jobset.FailurePolicyRule) bool {
			return other.Name == rule.Name
		}); first < i {
			report(codes.JobSetPolicy, name,
				fmt.Sprintf("rule names are not unique, rules with indices [%d %d] all have the "+
					"same name '%s'", first, i, rule.Name), "rename one of the rules")
		}
		checkTargets(spec, rule.TargetReplicatedJobs,
			at.Append(fieldpath.Field("targetReplicatedJobs")), " in failure policy", report)
		for j, reason := range rule.OnJobFailureReasons {
			if !slices.Contains(reasons, reason) {
				report(codes.JobSetPolicy,
					at.Append(fieldpath.Field("onJobFailureReasons"), fieldpath.Index(j)),
					fmt.Sprintf("invalid job failure reason '%s' in failure policy is not a "+
						"recognized job failure reason", reason),
					"use one of "+strings.Join(reasons, ", "))
			}
		}
	}
}

func (d *definition) checkCoordinator(js *jobset.JobSet, report apirule.Reporter) {
	coordinator, path := js.Spec.Coordinator, fieldpath.Fields("spec", "coordinator")
	reject := func(field, message, help string) {
		report(codes.JobSetCoordinator, path.Append(fieldpath.Field(field)), message, help)
	}
	job := replicatedJob(js.Spec.ReplicatedJobs, coordinator.ReplicatedJob)
	switch {
	case job == nil:
		reject("replicatedJob",
			fmt.Sprintf("coordinator replicatedJob %s does not exist", coordinator.ReplicatedJob),
			"use one of "+jobNames(&js.Spec))
		return
	case coordinator.JobIndex < 0 || coordinator.JobIndex >= int(job.Replicas):
		reject("jobIndex",
			fmt.Sprintf("coordinator job index %d is invalid for replicatedJob %s",
				coordinator.JobIndex, job.Name), indexHelp(int(job.Replicas)))
	case job.Template.Spec.CompletionMode == nil ||
		*job.Template.Spec.CompletionMode != batchv1.IndexedCompletion ||
		job.Template.Spec.Completions == nil:
		reject("replicatedJob",
			"job for coordinator pod must be indexed completion mode, and completions number "+
				"must be set",
			"set completionMode to Indexed, or use another job")
	case coordinator.PodIndex < 0 || coordinator.PodIndex >= int(*job.Template.Spec.Completions):
		reject("podIndex",
			fmt.Sprintf("coordinator pod index %d is invalid for replicatedJob %s job index %d",
				coordinator.PodIndex, job.Name, coordinator.JobIndex),
			indexHelp(int(*job.Template.Spec.Completions)))
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
		reject("replicatedJob",
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

func checkClaims(js *jobset.JobSet, report apirule.Reporter) {
	seen := map[string]bool{}
	for i := range js.Spec.VolumeClaimPolicies {
		templates := js.Spec.VolumeClaimPolicies[i].Templates
		for j := range templates {
			name := templates[j].Name
			// The webhook prints "template", though the field's name is templates.
			path := fieldpath.Fields("spec", "volumeClaimPolicies").Append(fieldpath.Index(i),
				fieldpath.Field("templates"), fieldpath.Index(j), fieldpath.Field("metadata"),
				fieldpath.Field("name"))
			reject := func(message, help string) { report(codes.JobSetClaim, path, message, help) }
			if seen[name] {
				reject(apirule.Invalid(
					name, "names must be unique for VolumeClaimPolicies template"),
					"rename one of the claims")
			}
			seen[name] = true
			apirule.DNSSubdomain(report, codes.JobSetClaim, path, name)
			if over := len(name+"-"+js.Name) - longestClaim; over > 0 {
				reject(apirule.Invalid(name, "VolumeClaimPolicies template name is too long"),
					fmt.Sprintf("shorten the claim's name, or the TrainJob's, by %d", over))
			}
			checkClaimUse(js.Spec.ReplicatedJobs, name, report)
		}
	}
}

// checkClaimUse requires a container that mounts the claim. It forbids a volume with the claim's
// name.
func checkClaimUse(jobs []jobset.ReplicatedJob, name string, report apirule.Reporter) {
	mounted := false
	for i := range jobs {
		pod := &jobs[i].Template.Spec.Template.Spec
		for j := range pod.Volumes {
			if pod.Volumes[j].Name == name {
				report(codes.JobSetClaim,
					jobPath(jobs[i].Name).Append(
						fieldpath.Fields("template", "spec", "template", "spec",
							"volumes")...).Append(fieldpath.Item("name", name),
						fieldpath.Field("name")),
					apirule.Invalid(
						name, "volume name conflicts with VolumeClaimPolicy template name: "+name),
					"remove the volume, or rename it")
			}
		}
		for j := range pod.InitContainers {
			mounted = mounted || mounts(&pod.InitContainers[j], name)
		}
		for j := range pod.Containers {
			mounted = mounted || mounts(&pod.Containers[j], name)
		}
	}
	if !mounted {
		report(codes.JobSetClaim, fieldpath.Fields("spec", "replicatedJobs"),
			apirule.InvalidObject(
				fmt.Sprintf("replicatedJob containers don't have a matching volumeMount: %s from "+
					"VolumeClaimPolicies", name)),
			"mount a volume of the claim's name, or remove the claim")
	}
}
