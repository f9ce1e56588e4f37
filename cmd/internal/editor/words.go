package editor

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// words are the values that the API of Jobs and Pods accepts in some fields. The definitions have none for them. A key is the name of the
// field, after the name of the field or list around it.
func words() map[string][]any {
	containers := map[string][]any{
		"imagePullPolicy":          list(corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever),
		"terminationMessagePolicy": list(corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError),
	}
	all := map[string][]any{
		"spec.restartPolicy":      list(corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure), // a Job takes no Always
		"spec.dnsPolicy":          list(corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone),
		"spec.preemptionPolicy":   list(corev1.PreemptLowerPriority, corev1.PreemptNever),
		"spec.completionMode":     list(batchv1.IndexedCompletion, batchv1.NonIndexedCompletion),
		"podFailurePolicy.action": list(batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore),

		"os.name":              list(corev1.Linux, corev1.Windows),
		"tolerations.operator": list(corev1.TolerationOpEqual, corev1.TolerationOpExists),
		"tolerations.effect":   list(corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute),
		"topologySpreadConstraints.whenUnsatisfiable":  list(corev1.DoNotSchedule, corev1.ScheduleAnyway),
		"topologySpreadConstraints.nodeAffinityPolicy": list(corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore),
		"topologySpreadConstraints.nodeTaintsPolicy":   list(corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore),

		"ports.protocol":                           list(corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
		"httpGet.scheme":                           list(corev1.URISchemeHTTP, corev1.URISchemeHTTPS),
		"volumeMounts.mountPropagation":            list(corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional),
		"volumeMounts.recursiveReadOnly":           list(corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled),
		"seccompProfile.type":                      list(corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined),
		"appArmorProfile.type":                     list(corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined),
		"securityContext.procMount":                list(corev1.DefaultProcMount, corev1.UnmaskedProcMount),
		"resizePolicy.resourceName":                list(corev1.ResourceCPU, corev1.ResourceMemory),
		"resizePolicy.restartPolicy":               list(corev1.NotRequired, corev1.RestartContainer),
		"volumeClaimTemplate.volumeMode":           list(corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock),
		"securityContext.fsGroupChangePolicy":      list(corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways),
		"securityContext.supplementalGroupsPolicy": list(corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict),
		"hostPath.type": list(corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory, corev1.HostPathFileOrCreate, corev1.HostPathFile,
			corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev),
	}
	for _, name := range []string{"containers", "initContainers"} {
		for field, values := range containers {
			all[name+"."+field] = values
		}
	}
	return all
}

func list[T ~string](words ...T) []any {
	all := make([]any, len(words))
	for i := range words {
		all[i] = string(words[i])
	}
	return all
}

// choose restricts the fields below a schema to their words. around is the name of the schema's own field.
func choose(s object, around string, words map[string][]any) {
	s = items(s)
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
