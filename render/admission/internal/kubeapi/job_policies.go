package kubeapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// The limits of a Job's policies (Kubernetes v1.36.3 pkg/apis/batch/validation).
const (
	mostRules       = 20
	mostExitCodes   = 255
	mostConditions  = 20
	longestIndexSet = 64 * 1024
)

func checkPodFailurePolicy(spec *batchv1.JobSpec, list *At) {
	rules := spec.PodFailurePolicy.Rules
	list.TooMany(len(rules), mostRules)
	for i := range rules {
		checkFailureRule(spec, &rules[i], list.Index(i))
	}
}

func checkFailureRule(spec *batchv1.JobSpec, rule *batchv1.PodFailurePolicyRule, at *At) {
	OneOf(at.Field("action"), rule.Action, batchv1.PodFailurePolicyActionCount,
		batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyActionFailJob,
		batchv1.PodFailurePolicyActionIgnore)
	if rule.Action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil {
		at.Field("action").Invalid(string(rule.Action),
			"requires the backoffLimitPerIndex to be set",
			"set backoffLimitPerIndex, or use another action")
	}
	if hasCodes := rule.OnExitCodes != nil; hasCodes == (len(rule.OnPodConditions) > 0) {
		detail := "specifying one of OnExitCodes and OnPodConditions is required"
		if hasCodes {
			detail = "specifying both OnExitCodes and OnPodConditions is not supported"
		}
		at.InvalidObject(detail, "set either onExitCodes or onPodConditions")
	}
	if exit := rule.OnExitCodes; exit != nil {
		checkExitCodes(&spec.Template.Spec, exit, at.Field("onExitCodes"))
	}
	conditions := at.Field("onPodConditions")
	conditions.TooMany(len(rule.OnPodConditions), mostConditions)
	for i, pattern := range rule.OnPodConditions {
		conditions.Index(i).Field("type").Qualified(string(pattern.Type))
		// the API server fills in True
		EmptyOr(conditions.Index(i).Field("status"), pattern.Status, corev1.ConditionTrue,
			corev1.ConditionFalse, corev1.ConditionUnknown)
	}
}

func checkExitCodes(pod *corev1.PodSpec, exit *batchv1.PodFailurePolicyOnExitCodesRequirement,
	at *At) {
	OneOf(at.Field("operator"), exit.Operator, batchv1.PodFailurePolicyOnExitCodesOpIn,
		batchv1.PodFailurePolicyOnExitCodesOpNotIn)
	if name := exit.ContainerName; name != nil && !HasContainer(pod.Containers, *name) &&
		!HasContainer(pod.InitContainers, *name) {
		at.Field("containerName").Invalid(*name,
			"must be one of the container or initContainer names in the pod template",
			"use a container of the job")
	}
	values := at.Field("values")
	if len(exit.Values) == 0 {
		values.Invalid(exit.Values, "at least one value is required", "set the exit codes")
	}
	values.TooMany(len(exit.Values), mostExitCodes)
	for i, code := range exit.Values {
		if code == 0 && exit.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn {
			values.Index(i).Invalid(code, "must not be 0 for the In operator", "remove it")
		}
		if slices.Contains(exit.Values[:i], code) {
			values.Index(i).Duplicate(code, "remove one of the two")
		}
	}
	if !slices.IsSorted(exit.Values) {
		values.InvalidObject("must be ordered", "sort the exit codes")
	}
}

func checkJobSuccessPolicy(spec *batchv1.JobSpec, at *At) {
	if !isIndexed(spec) {
		at.InvalidObject(needsIndex, "set completionMode to Indexed, or remove the policy")
		return
	}
	if spec.Completions == nil {
		return // checkCounts reports it
	}
	rules, list := spec.SuccessPolicy.Rules, at.Field("rules")
	if len(rules) == 0 {
		list.Missing("at least one rules must be specified when the successPolicy is specified",
			"add a rule, or remove the policy")
	}
	list.TooMany(len(rules), mostRules)
	for i := range rules {
		checkSuccessRule(&rules[i], *spec.Completions, list.Index(i))
	}
}

func checkSuccessRule(rule *batchv1.SuccessPolicyRule, completions int32, at *At) {
	indexes, count := at.Field("succeededIndexes"), at.Field("succeededCount")
	if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
		at.Missing("at least one of succeededCount or succeededIndexes must be specified",
			"set succeededCount or succeededIndexes")
	}
	total := int32(0)
	if set := rule.SucceededIndexes; set != nil {
		indexes.TooLong(len(*set), longestIndexSet, "use ranges")
		n, ok := countIndexes(*set, completions)
		if !ok {
			indexes.Invalid(*set, fmt.Sprintf(
				"error parsing succeededIndexes: the Job has %d completions", completions),
				`set numbers and ranges in order, such as "1,3-5"`)
		}
		total = n
	}
	NonNegative(count, rule.SucceededCount)
	count.atMost(rule.SucceededCount, completions, " (the number of specified completions)")
	if rule.SucceededIndexes != nil {
		count.atMost(rule.SucceededCount, total,
			" (the number of indexes in the specified succeededIndexes field)")
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
