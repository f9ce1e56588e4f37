package editor

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// acceptedValues are the values that the API of Jobs and Pods accepts in some fields. The definitions have none for them. A key is the name of the
// field, after the name of the field or list around it.
func acceptedValues() map[string][]any {
	containers := map[string][]any{
		"imagePullPolicy":          enumOf(corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever),
		"terminationMessagePolicy": enumOf(corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError),
	}
	all := map[string][]any{
		"spec.restartPolicy":      enumOf(corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure), // a Job takes no Always
		"spec.dnsPolicy":          enumOf(corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone),
		"spec.preemptionPolicy":   enumOf(corev1.PreemptLowerPriority, corev1.PreemptNever),
		"spec.completionMode":     enumOf(batchv1.IndexedCompletion, batchv1.NonIndexedCompletion),
		"podFailurePolicy.action": enumOf(batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore),

		"os.name":              enumOf(corev1.Linux, corev1.Windows),
		"tolerations.operator": enumOf(corev1.TolerationOpEqual, corev1.TolerationOpExists),
		"tolerations.effect":   enumOf(corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute),
		"topologySpreadConstraints.whenUnsatisfiable":  enumOf(corev1.DoNotSchedule, corev1.ScheduleAnyway),
		"topologySpreadConstraints.nodeAffinityPolicy": enumOf(corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore),
		"topologySpreadConstraints.nodeTaintsPolicy":   enumOf(corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore),

		"ports.protocol":                           enumOf(corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
		"httpGet.scheme":                           enumOf(corev1.URISchemeHTTP, corev1.URISchemeHTTPS),
		"volumeMounts.mountPropagation":            enumOf(corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional),
		"volumeMounts.recursiveReadOnly":           enumOf(corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled),
		"seccompProfile.type":                      enumOf(corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined),
		"appArmorProfile.type":                     enumOf(corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined),
		"securityContext.procMount":                enumOf(corev1.DefaultProcMount, corev1.UnmaskedProcMount),
		"resizePolicy.resourceName":                enumOf(corev1.ResourceCPU, corev1.ResourceMemory),
		"resizePolicy.restartPolicy":               enumOf(corev1.NotRequired, corev1.RestartContainer),
		"volumeClaimTemplate.volumeMode":           enumOf(corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock),
		"securityContext.fsGroupChangePolicy":      enumOf(corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways),
		"securityContext.supplementalGroupsPolicy": enumOf(corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict),
		"hostPath.type": enumOf(corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory, corev1.HostPathFileOrCreate, corev1.HostPathFile,
			corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev),
	}
	for _, name := range []string{"containers", "initContainers"} {
		for field, values := range containers {
			all[name+"."+field] = values
		}
	}
	return all
}

func enumOf[T ~string](words ...T) []any {
	all := make([]any, len(words))
	for i := range words {
		all[i] = string(words[i])
	}
	return all
}

// choose restricts the fields below a schema to their words. around is the name of the schema's own field.
func choose(s object, around string, words map[string][]any) {
	s = itemSchema(s)
	fields, _ := s["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := fields[name].(object)
		if values := words[around+"."+name]; values != nil && field["type"] == "string" && field["enum"] == nil {
			field["enum"] = values
		}
		below := name
		if name == "rules" {
			below = around // of a policy
		}
		choose(field, below, words)
	}
}
