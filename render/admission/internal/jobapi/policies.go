package jobapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/admission/internal/podapi"
	"github.com/trainweld/trainweld/render/codes"
)

// The limits of a Job's policies (Kubernetes v1.36.3 pkg/apis/batch/validation).
const (
	mostRules       = 20
	mostExitCodes   = 255
	mostConditions  = 20
	longestIndexSet = 64 * 1024
)

func checkPodFailurePolicy(spec *batchv1.JobSpec, report apirule.Reporter) {
	path := fieldpath.Fields("spec", "podFailurePolicy", "rules")
	rules := spec.PodFailurePolicy.Rules
	if len(rules) > mostRules {
		report(codes.JobSpec, path, apirule.TooMany(len(rules), mostRules), "remove some of them")
	}
	for i := range rules {
		checkFailureRule(spec, &rules[i], path.Append(fieldpath.Index(i)), report)
	}
}

func checkFailureRule(spec *batchv1.JobSpec, rule *batchv1.PodFailurePolicyRule, at fieldpath.Path,
	report apirule.Reporter) {
	action := at.Append(fieldpath.Field("action"))
	apirule.OneOf(report, codes.JobSpec, action, rule.Action,
		batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore)
	if rule.Action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil {
		report(codes.JobSpec, action,
			apirule.Invalid(string(rule.Action), "requires the backoffLimitPerIndex to be set"),
			"set backoffLimitPerIndex, or use another action")
	}
	if hasCodes, hasConditions := rule.OnExitCodes != nil,
		len(rule.OnPodConditions) > 0; hasCodes == hasConditions {
		detail := "specifying one of OnExitCodes and OnPodConditions is required"
		if hasCodes {
			detail = "specifying both OnExitCodes and OnPodConditions is not supported"
		}
		report(codes.JobSpec, at, apirule.InvalidObject(detail),
			"set either onExitCodes or onPodConditions")
	}
	if exit := rule.OnExitCodes; exit != nil {
		checkExitCodes(spec, exit, at.Append(fieldpath.Field("onExitCodes")), report)
	}
	conditions := at.Append(fieldpath.Field("onPodConditions"))
	if len(rule.OnPodConditions) > mostConditions {
		report(codes.JobSpec, conditions,
			apirule.TooMany(len(rule.OnPodConditions), mostConditions), "remove some of them")
	}
	for i, pattern := range rule.OnPodConditions {
		item := conditions.Append(fieldpath.Index(i))
		apirule.QualifiedName(report, codes.JobSpec, item.Append(fieldpath.Field("type")),
			string(pattern.Type))
		if pattern.Status != "" { // the API server fills in True
			apirule.OneOf(report, codes.JobSpec, item.Append(fieldpath.Field("status")),
				pattern.Status, corev1.ConditionTrue, corev1.ConditionFalse,
				corev1.ConditionUnknown)
		}
	}
}

func checkExitCodes(spec *batchv1.JobSpec, exit *batchv1.PodFailurePolicyOnExitCodesRequirement,
	at fieldpath.Path, report apirule.Reporter) {
	apirule.OneOf(report, codes.JobSpec, at.Append(fieldpath.Field("operator")), exit.Operator,
		batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn)
	pod := &spec.Template.Spec
	if name := exit.ContainerName; name != nil && !podapi.HasContainer(pod.Containers, *name) &&
		!podapi.HasContainer(pod.InitContainers, *name) {
		report(codes.JobSpec, at.Append(fieldpath.Field("containerName")),
			apirule.Invalid(
				*name, "must be one of the container or initContainer names in the pod template"),
			"use a container of the job")
	}
	values := at.Append(fieldpath.Field("values"))
	reject := func(path fieldpath.Path, message, help string) {
		report(codes.JobSpec, path, message, help)
	}
	switch n := len(exit.Values); {
	case n == 0:
		reject(values, apirule.Invalid(exit.Values, "at least one value is required"),
			"set the exit codes")
	case n > mostExitCodes:
		reject(values, apirule.TooMany(n, mostExitCodes), "remove some of them")
	}
	for i, code := range exit.Values {
		if code == 0 && exit.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn {
			reject(values.Append(fieldpath.Index(i)),
				apirule.Invalid(code, "must not be 0 for the In operator"), "remove it")
		}
		if slices.Contains(exit.Values[:i], code) {
			reject(values.Append(fieldpath.Index(i)), apirule.Duplicate(code),
				"remove one of the two")
		}
	}
	if !slices.IsSorted(exit.Values) {
		reject(values, apirule.InvalidObject("must be ordered"), "sort the exit codes")
	}
}

func checkJobSuccessPolicy(spec *batchv1.JobSpec, report apirule.Reporter) {
	if spec.SuccessPolicy == nil {
		return
	}
	path := fieldpath.Fields("spec", "successPolicy")
	if !isIndexed(spec) {
		report(codes.JobSpec, path, apirule.InvalidObject(needsIndex),
			"set completionMode to Indexed, or remove the policy")
		return
	}
	if spec.Completions == nil {
		return // checkCounts reports it
	}
	rules, list := spec.SuccessPolicy.Rules, path.Append(fieldpath.Field("rules"))
	if len(rules) == 0 {
		report(codes.JobSpec, list,
			apirule.Missing(
				"at least one rules must be specified when the successPolicy is specified"),
			"add a rule, or remove the policy")
	}
	if len(rules) > mostRules {
		report(codes.JobSpec, list, apirule.TooMany(len(rules), mostRules), "remove some of them")
	}
	for i := range rules {
		checkSuccessRule(&rules[i], *spec.Completions, list.Append(fieldpath.Index(i)), report)
	}
}

func checkSuccessRule(rule *batchv1.SuccessPolicyRule, completions int32, at fieldpath.Path,
	report apirule.Reporter) {
	reject := func(path fieldpath.Path, message, help string) {
		report(codes.JobSpec, path, message, help)
	}
	if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
		reject(at, apirule.Missing(
			"at least one of succeededCount or succeededIndexes must be specified"),
			"set succeededCount or succeededIndexes")
	}
	total := int32(0)
	if rule.SucceededIndexes != nil {
		path := at.Append(fieldpath.Field("succeededIndexes"))
		if n := len(*rule.SucceededIndexes); n > longestIndexSet {
			reject(path, apirule.TooLong(longestIndexSet), "use ranges")
		}
		n, ok := countIndexes(*rule.SucceededIndexes, completions)
		if !ok {
			reject(path, apirule.Invalid(*rule.SucceededIndexes,
				fmt.Sprintf("error parsing succeededIndexes: the Job has %d completions",
					completions)), `set numbers and ranges in order, such as "1,3-5"`)
		}
		total = n
	}
	if count := rule.SucceededCount; count != nil {
		path := at.Append(fieldpath.Field("succeededCount"))
		apirule.NonNegative(report, codes.JobSpec, path, count)
		if *count > completions {
			reject(path, apirule.Invalid(
				*count, fmt.Sprintf(
					"must be less than or equal to %d (the number of specified completions)",
					completions)), "lower it")
		}
		if rule.SucceededIndexes != nil && *count > total {
			reject(path, apirule.Invalid(
				*count, fmt.Sprintf(
					"must be less than or equal to %d (the number of indexes in the specified "+
						"succeededIndexes field)", total)), "lower it")
		}
	}
}

// countIndexes counts the indexes of a string such as 1,3-5. It returns false unless they are in
// order, without overlap, and below completions.
func countIndexes(text string, completions int32) (total int32, ok bool) {
	if text == "" {
		return 0, true
	}
	last := int64(-1)
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.ParseInt(from, 10, 32)
		if err != nil || first <= last {
			return total, false
		}
		end := first
		if isRange {
			if end, err = strconv.ParseInt(to, 10, 32); err != nil || end <= first {
				return total, false
			}
		}
		if end >= int64(completions) {
			return total, false
		}
		total += int32(end - first + 1)
		last = end
	}
	return total, true
}
