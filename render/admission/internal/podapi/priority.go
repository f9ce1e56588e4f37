package podapi

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

// checkPriority reports a priority or preemption policy that differs from the Pod's class. A Pod
// without a class gets priority 0, unless the cluster has a default class.
func (p *podChecker) checkPriority() {
	computed, known := render.SystemPriority(p.Spec.PriorityClassName)
	if !known {
		return
	}
	if n := p.Spec.Priority; n != nil && *n != computed {
		p.report(codes.PodSpec, p.field("priority"),
			fmt.Sprintf("Invalid value: %d: must be the priority of the class, %d", *n, computed),
			"set priorityClassName instead")
	}
	if policy := p.Spec.PreemptionPolicy; policy != nil && *policy == corev1.PreemptNever {
		p.report(codes.PodSpec, p.field("preemptionPolicy"),
			fmt.Sprintf("Invalid value: %q: must be the policy of the class, %q", *policy,
				corev1.PreemptLowerPriority), "set priorityClassName instead")
	}
}

// checkOverhead reports an overhead without a RuntimeClass.
func (p *podChecker) checkOverhead() {
	if p.Spec.RuntimeClassName == nil && len(p.Spec.Overhead) > 0 {
		p.report(codes.PodSpec, p.field("overhead"),
			"Forbidden: must have a RuntimeClass that defines it",
			"remove the field, or set runtimeClassName")
	}
}
