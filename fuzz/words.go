package fuzz

// maker makes one value of a document: a scalar, or an object.
type maker func(g *generator) any

// anyOf chooses among a field's values.
func anyOf(values ...any) maker {
	return func(g *generator) any { return copyValue(values[g.rng.IntN(len(values))]) }
}

// between makes whole numbers, mostly small ones, and sometimes the bounds.
func between(low, high int64) maker {
	return func(g *generator) any {
		if g.chance(0.05) {
			return g.rng.Int64N(2)*(high-low) + low
		}
		return low + g.rng.Int64N(min(high-low, 4)+1)
	}
}

var (
	anyLabel    = anyOf("research", "gold", "", "a.b_c-d", "true", "1")
	anyDNSLabel = anyOf("a", "b-1", "cache")
	anyFile     = anyOf("a", "b.txt", "dir/c")
	anyMode     = anyOf(int64(0o400), int64(0o644), int64(0), int64(0o777))
	anyFSType   = anyOf("ext4", "xfs")
	anyHost     = anyOf("localhost", "10.0.0.1")
	anySecret   = anyOf("token", "creds")
	anyMonitors = anyOf("10.0.0.1:6789", "10.0.0.2:6789")
	anyLabelKey = anyOf("app", "team", "example.com/tier")
	anyPositive = between(1, 1<<31-1)
	anyNatural  = between(0, 1<<31-1)
	anyPort     = between(1, 65535)
	anyTime     = anyOf("2026-01-02T03:04:05Z", "2026-02-02T03:04:05Z")
	anyMemory   = anyOf("1Gi", "1024Mi", "1073741824", "1.5Gi", "2e9", "1G")
	anyWholeID  = between(0, 1<<31-1)
)

// enums lists the members of the named string types.
var enums = map[string][]string{
	"HostPathType":  {"", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket", "CharDevice", "BlockDevice"},
	"StorageMedium": {"", "Memory", "HugePages", "HugePages-2Mi"}, "AzureDataDiskCachingMode": {"None", "ReadOnly", "ReadWrite"},
	"AzureDataDiskKind": {"Shared", "Dedicated", "Managed"}, "PersistentVolumeAccessMode": {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"},
	"PersistentVolumeMode": {"Filesystem", "Block"}, "PullPolicy": {"Always", "IfNotPresent", "Never"}, "Protocol": {"TCP", "UDP", "SCTP"},
	"ResourceResizeRestartPolicy": {"NotRequired", "RestartContainer"}, "ContainerRestartPolicy": {"Always", "Never", "OnFailure"},
	"ContainerRestartRuleAction": {"Restart"}, "ContainerRestartRuleOnExitCodesOperator": {"In", "NotIn"},
	"RecursiveReadOnlyMode": {"Disabled", "IfPossible", "Enabled"}, "MountPropagationMode": {"None", "HostToContainer", "Bidirectional"},
	"URIScheme": {"HTTP", "HTTPS"}, "Signal": {"SIGTERM", "SIGINT", "SIGUSR1"}, "TerminationMessagePolicy": {"File", "FallbackToLogsOnError"},
	"ProcMountType": {"Default", "Unmasked"}, "SeccompProfileType": {"RuntimeDefault", "Unconfined", "Localhost"},
	"AppArmorProfileType": {"RuntimeDefault", "Unconfined", "Localhost"}, "RestartPolicy": {"Never", "OnFailure", "Always"},
	"DNSPolicy": {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"}, "SupplementalGroupsPolicy": {"Merge", "Strict"},
	"PodFSGroupChangePolicy": {"Always", "OnRootMismatch"}, "PodSELinuxChangePolicy": {"Recursive", "MountOption"},
	"NodeSelectorOperator": {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}, "LabelSelectorOperator": {"In", "NotIn", "Exists", "DoesNotExist"},
	"TolerationOperator": {"Equal", "Exists", "", "Gt", "Lt"}, "TaintEffect": {"NoSchedule", "PreferNoSchedule", "NoExecute", ""},
	"PreemptionPolicy": {"PreemptLowerPriority", "Never"}, "UnsatisfiableConstraintAction": {"DoNotSchedule", "ScheduleAnyway"},
	"NodeInclusionPolicy": {"Honor", "Ignore"}, "OSName": {"linux", "windows"}, "ConditionStatus": {"True", "False", "Unknown"},
	"PodConditionType": {"DisruptionTarget", "example.com/ready"}, "PodFailurePolicyAction": {"Ignore", "Count", "FailJob", "FailIndex"},
	"PodFailurePolicyOnExitCodesOperator": {"In", "NotIn"}, "CompletionMode": {"Indexed", "NonIndexed"},
	"PodReplacementPolicy": {"TerminatingOrFailed", "Failed"}, "v1alpha2.DependsOnStatus": {"Complete", "Ready"}, "v1alpha2.Operator": {"All", "Any"},
	"v1alpha2.JobSetRestartStrategy": {"Recreate", "BlockingRecreate", "InPlaceRestart"},
	"v1alpha2.FailurePolicyAction":   {"FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts", "RestartJob", "RestartJobAndIgnoreMaxRestarts"},
	"v1alpha2.StartupPolicyOptions":  {"AnyOrder", "InOrder"}, "v1alpha2.RetentionPolicyType": {"Delete", "Retain"},
	"MPIImplementation": {"OpenMPI", ""}, "v1beta1.NetworkTopologyMode": {"hard", "soft"}, "ManagedFieldsOperationType": {"Apply", "Update"},
	"ResourceName": {"cpu", "memory"}, "Capability": {"NET_ADMIN", "SYS_TIME", "ALL"},
	"PersistentVolumeClaimPhase": {"Pending", "Bound"}, "PersistentVolumeClaimConditionType": {"Resizing"}, "ClaimResourceStatus": {"ControllerResizeInProgress"},
	"PersistentVolumeClaimModifyVolumeStatus": {"Pending", "InProgress"},
}

// words are the values of fields that the type alone describes too loosely, by Go type and field.
var words = map[string]maker{
	"ObjectMeta.name": anyDNSLabel, "ObjectMeta.generateName": anyOf("tj-"), "ObjectMeta.namespace": anyOf("default"), "ObjectMeta.selfLink": anyOf("/x"),
	"ObjectMeta.labels": anyLabel, "ObjectMeta.annotations": anyOf("x", "", "line1\nline2\n", `{"a": 1}`, "true", "y"),
	"ObjectMeta.finalizers": anyOf("example.com/a", "example.com/b"), "ObjectMeta.uid": anyOf("0b6cd5a1-0000-4000-8000-000000000000"),
	"ObjectMeta.resourceVersion": anyOf("7"), "ObjectMeta.generation": anyOf(int64(1), int64(3)), "ObjectMeta.deletionGracePeriodSeconds": anyOf(int64(0), int64(30)),
	"OwnerReference.apiVersion": anyOf("v1", "apps/v1"), "OwnerReference.kind": anyOf("ConfigMap"), "OwnerReference.name": anyDNSLabel, "OwnerReference.uid": anyOf("u-1", "u-2"),
	"ManagedFieldsEntry.manager": anyOf("kubectl"), "ManagedFieldsEntry.apiVersion": anyOf("trainer.kubeflow.org/v1alpha1"), "ManagedFieldsEntry.fieldsType": anyOf("FieldsV1"),
	"ManagedFieldsEntry.fieldsV1": anyOf(map[string]any{"f:spec": map[string]any{}}), "ManagedFieldsEntry.subresource": anyOf(""),

	"MLPolicy.numNodes": between(1, 3), "MPIMLPolicySource.numProcPerNode": between(1, 8), "FluxMLPolicySource.numProcPerNode": between(1, 8),
	"MPIMLPolicySource.sshAuthMountPath": anyOf("/root/.ssh", "/home/mpiuser/.ssh"), "MPIMLPolicySource.mpiImplementation": anyOf("OpenMPI"),
	"CoschedulingPodGroupPolicySource.scheduleTimeoutSeconds": anyPositive, "NetworkTopologySpec.highestTierAllowed": between(0, 4),
	"EnvInjectionTarget.jobName": anyOf("worker", "node"), "EnvInjectionTarget.containerNames": anyOf("side"),

	"v1alpha2.JobSetSpec.managedBy": anyOf("jobset.sigs.k8s.io/jobset-controller", "kueue.x-k8s.io/multikueue"), "v1alpha2.JobSetSpec.ttlSecondsAfterFinished": anyNatural,
	"v1alpha2.Network.subdomain": anyOf("net", "sub-1"), "v1alpha2.ReplicatedJob.groupName": anyOf("default", "workers"), "v1alpha2.ReplicatedJob.replicas": between(1, 3),
	"v1alpha2.FailurePolicy.maxRestarts": anyNatural, "v1alpha2.FailurePolicy.restartStrategy": anyOf("Recreate", "BlockingRecreate"),
	"v1alpha2.FailurePolicyRule.action":                      anyOf("FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"),
	"v1alpha2.FailurePolicyRule.onJobFailureReasons":         anyOf("BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy"),
	"v1alpha2.FailurePolicyRule.onJobFailureMessagePatterns": anyOf("^a.*", "oom"), "v1alpha2.Coordinator.jobIndex": anyOf(int64(0)), "v1alpha2.Coordinator.podIndex": anyOf(int64(0)),

	"JobSpec.parallelism": between(1, 3), "JobSpec.completions": between(1, 3), "JobSpec.activeDeadlineSeconds": between(0, 9223372036), "JobSpec.backoffLimit": anyNatural,
	"JobSpec.backoffLimitPerIndex": anyNatural, "JobSpec.maxFailedIndexes": between(0, 1), "JobSpec.ttlSecondsAfterFinished": anyNatural, "JobSpec.manualSelector": anyOf(false),
	"JobSpec.managedBy": anyOf("kubernetes.io/job-controller", "example.com/other"),
	"PodFailurePolicyOnExitCodesRequirement.containerName": anyOf("node"), "PodFailurePolicyOnExitCodesRequirement.values": between(1, 255),
	"SuccessPolicyRule.succeededIndexes": anyOf("0"), "SuccessPolicyRule.succeededCount": anyOf(int64(1)),
	"LabelSelector.matchLabels": anyLabel, "LabelSelectorRequirement.key": anyLabelKey, "LabelSelectorRequirement.values": anyLabel,

	"PodSpec.terminationGracePeriodSeconds": anyNatural, "PodSpecPatch.terminationGracePeriodSeconds": anyNatural, "PodSpec.activeDeadlineSeconds": between(1, 1<<31-1),
	"PodSpec.nodeSelector": anyLabel, "PodSpecPatch.nodeSelector": anyLabel, "PodSpec.serviceAccountName": anyOf("trainer", "sa.x"), "PodSpec.serviceAccount": anyOf("trainer"),
	"PodSpecPatch.serviceAccountName": anyOf("trainer", "sa.x", ""), "PodSpec.nodeName": anyOf("node-1"), "PodSpec.hostname": anyOf("mine"), "PodSpec.subdomain": anyOf("mine"),
	"PodSpec.schedulerName": anyOf("default-scheduler", "volcano"), "PodSpec.priorityClassName": anyOf("system-node-critical", "system-cluster-critical"),
	"PodSpec.priority": anyOf(int64(0)), "PodSpec.runtimeClassName": anyOf("gvisor"), "PodSpec.preemptionPolicy": anyOf("PreemptLowerPriority"), "PodSpec.overhead": anyOf("1", "500m"),
	"PodSpec.hostnameOverride": anyOf("over"), "PodSchedulingGroup.podGroupName": anyOf("group"),
	"PodDNSConfig.nameservers": anyOf("1.1.1.1", "2001:db8::1"), "PodDNSConfig.searches": anyOf("a.local", "b.", "."), "PodDNSConfigOption.name": anyOf("ndots", "edns0"),
	"PodDNSConfigOption.value": anyOf("2"), "HostAlias.ip": anyOf("10.0.0.1", "10.0.0.2", "fd00::1"), "HostAlias.hostnames": anyOf("a.local", "b"), "PodReadinessGate.conditionType": anyOf("example.com/a", "b"),
	"PodSchedulingGate.name": anyOf("example.com/g1", "example.com/g2", "kueue.x-k8s.io/admission"), "LocalObjectReference.name": anyOf("reg-a", "reg-b", "reg-c"),
	"PodResourceClaim.name": anyOf("gpu", "nic"), "PodResourceClaim.resourceClaimName": anyOf("shared"), "PodResourceClaim.resourceClaimTemplateName": anyOf("template"),

	"HostPathVolumeSource.path": anyOf("/data", "/dev/shm"), "GCEPersistentDiskVolumeSource.pdName": anyDNSLabel, "GCEPersistentDiskVolumeSource.partition": between(0, 255),
	"GCEPersistentDiskVolumeSource.fsType": anyFSType, "AWSElasticBlockStoreVolumeSource.partition": between(0, 255), "AWSElasticBlockStoreVolumeSource.volumeID": anyOf("vol-1"),
	"GitRepoVolumeSource.repository": anyOf("https://example.com/r.git"), "GitRepoVolumeSource.directory": anyOf("src"), "SecretVolumeSource.secretName": anySecret,
	"SecretVolumeSource.defaultMode": anyMode, "KeyToPath.key": anyOf("k", "a.b"), "KeyToPath.path": anyFile, "KeyToPath.mode": anyMode, "NFSVolumeSource.server": anyHost,
	"NFSVolumeSource.path": anyOf("/export"), "ISCSIVolumeSource.targetPortal": anyOf("10.0.0.1:3260"), "ISCSIVolumeSource.iqn": anyOf("iqn.2001-04.com.example:storage"),
	"ISCSIVolumeSource.lun": between(0, 255), "ISCSIVolumeSource.iscsiInterface": anyOf("default", "if0"), "ISCSIVolumeSource.portals": anyOf("10.0.0.2:3260"),
	"ISCSIVolumeSource.initiatorName": anyOf("iqn.2001-04.com.example:initiator"), "GlusterfsVolumeSource.endpoints": anyDNSLabel, "RBDVolumeSource.monitors": anyMonitors,
	"CephFSVolumeSource.monitors": anyMonitors, "CephFSVolumeSource.path": anyOf("/a"), "FlexVolumeSource.driver": anyOf("example.com/driver"), "FlexVolumeSource.options": anyOf("x"),
	"DownwardAPIVolumeSource.defaultMode": anyMode, "DownwardAPIVolumeFile.path": anyFile, "DownwardAPIVolumeFile.mode": anyMode, "ObjectFieldSelector.apiVersion": anyOf("v1"),
	"ObjectFieldSelector.fieldPath":  anyOf("metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels['app']", "metadata.annotations['example.com/a']"),
	"ResourceFieldSelector.resource": anyOf("limits.cpu", "requests.memory", "limits.ephemeral-storage"), "FCVolumeSource.targetWWNs": anyOf("50060e801049cfd1"),
	"FCVolumeSource.lun": between(0, 255), "FCVolumeSource.wwids": anyOf("3600508b400105e210000900000490000"), "ConfigMapVolumeSource.name": anyOf("settings", "other"),
	"ConfigMapVolumeSource.defaultMode": anyMode, "QuobyteVolumeSource.registry": anyOf("a:1,b:2"), "AzureDiskVolumeSource.diskURI": anyOf("https://example.com/disk"),
	"ProjectedVolumeSource.defaultMode": anyMode, "SecretProjection.name": anySecret, "ConfigMapProjection.name": anyOf("settings"), "ServiceAccountTokenProjection.expirationSeconds": between(600, 1<<32),
	"ServiceAccountTokenProjection.path": anyFile, "ServiceAccountTokenProjection.audience": anyOf("aud"), "ClusterTrustBundleProjection.name": anyOf("bundle"),
	"ClusterTrustBundleProjection.signerName": anyOf("example.com/signer"), "ClusterTrustBundleProjection.path": anyFile, "PodCertificateProjection.signerName": anyOf("example.com/signer"),
	"PodCertificateProjection.keyType": anyOf("ED25519", "RSA3072"), "PodCertificateProjection.maxExpirationSeconds": between(3600, 7862400),
	"PodCertificateProjection.credentialBundlePath": anyOf("bundle.pem"), "PodCertificateProjection.keyPath": anyOf("key.pem"), "PodCertificateProjection.certificateChainPath": anyOf("chain.pem"),
	"CSIVolumeSource.driver": anyOf("csi.example.com"), "EmptyDirVolumeSource.sizeLimit": anyMemory, "ImageVolumeSource.reference": anyOf("registry.example.com/data:1"),
	"PersistentVolumeClaimVolumeSource.claimName": anyOf("data", "scratch"), "PersistentVolumeClaimSpec.storageClassName": anyOf("fast", "", "slow"), "PersistentVolumeClaimSpec.volumeName": anyOf("pv-1"),
	"PersistentVolumeClaimSpec.volumeAttributesClassName": anyOf("gold"), "VolumeResourceRequirements.limits": anyOf("20Gi"), "VolumeResourceRequirements.requests": anyOf("1Gi", "10Gi", "1e9"),
	"TypedLocalObjectReference.apiGroup": anyOf("snapshot.storage.k8s.io"), "TypedLocalObjectReference.kind": anyOf("VolumeSnapshot"), "TypedObjectReference.apiGroup": anyOf("snapshot.storage.k8s.io", "example.com"),
	"TypedObjectReference.kind": anyOf("VolumeSnapshot"), "TypedObjectReference.namespace": anyOf("default"),

	"Container.image": anyOf("ghcr.io/example/app:v1", "app", "app:latest", "app@sha256:0123456789012345678901234567890123456789012345678901234567890123"), "EphemeralContainerCommon.image": anyOf("app"),
	"Container.command": anyOf("python", "train.py", "-n", "", "a=b"), "Container.args": anyOf("--epochs=2", "x", "$(E1)", ""), "Container.workingDir": anyOf("/work", "w"),
	"ContainerPort.containerPort": anyPort, "ContainerPort.hostPort": anyPort, "ContainerPort.name": anyOf("http", "grpc", "p-1"), "ContainerPort.hostIP": anyOf("10.0.0.1"),
	"EnvFromSource.prefix": anyOf("P_", ""), "ConfigMapEnvSource.name": anyOf("settings"), "SecretEnvSource.name": anySecret, "EnvVar.value": anyOf("", "x", "y", "$(E1)", "true", "1", "multi\nline", `q"uote`),
	"ConfigMapKeySelector.name": anyOf("settings"), "SecretKeySelector.name": anySecret, "ConfigMapKeySelector.key": anyOf("k", "z"), "SecretKeySelector.key": anyOf("k", "z"), "FileKeySelector.key": anyOf("K"),
	"FileKeySelector.path": anyFile, "ResourceClaim.name": anyOf("gpu", "nic"), "ResourceClaim.request": anyOf("r0"), "ContainerRestartRuleOnExitCodes.values": between(1, 255),
	"VolumeMount.mountPath": anyOf("/m/a", "/m/b", "/m/c", "/m/d"), "VolumeMount.subPath": anyOf("s", "a/b"), "VolumeMount.subPathExpr": anyOf("$(E1)", "x"), "VolumeDevice.devicePath": anyOf("/dev/xvda", "/dev/xvdb"),
	"Probe.initialDelaySeconds": anyNatural, "Probe.timeoutSeconds": anyPositive, "Probe.periodSeconds": anyPositive, "Probe.successThreshold": anyOf(int64(1)), "Probe.failureThreshold": anyPositive,
	"Probe.terminationGracePeriodSeconds": anyPositive, "ExecAction.command": anyOf("cat", "/tmp/ok"), "HTTPGetAction.path": anyOf("/", "/healthz", "x"), "HTTPGetAction.port": anyOf(int64(80), "http"),
	"HTTPGetAction.host": anyHost, "HTTPHeader.name": anyOf("X-A", "Host"), "HTTPHeader.value": anyOf("x", ""), "TCPSocketAction.port": anyOf(int64(80), "http"), "TCPSocketAction.host": anyHost,
	"GRPCAction.port": anyPort, "GRPCAction.service": anyOf("s", ""), "SleepAction.seconds": between(1, 2), "Container.terminationMessagePath": anyOf("/dev/termination-log", "/tmp/x"),
	"SecurityContext.runAsUser": anyWholeID, "SecurityContext.runAsGroup": anyWholeID, "PodSecurityContext.runAsUser": anyWholeID, "PodSecurityContext.runAsGroup": anyWholeID,
	"PodSecurityContext.fsGroup": anyWholeID, "PodSecurityContext.supplementalGroups": anyWholeID, "Sysctl.name": anyOf("kernel.shm_rmid_forced", "net.core.somaxconn", "vm.swappiness"), "Sysctl.value": anyOf("1", "1024"),
	"SELinuxOptions.level": anyOf("s0:c123,c456"), "WindowsSecurityContextOptions.runAsUserName": anyOf("ContainerUser", `DOM\user`), "WindowsSecurityContextOptions.hostProcess": anyOf(false),
	"WindowsSecurityContextOptions.gmsaCredentialSpecName": anyOf("spec"), "WindowsSecurityContextOptions.gmsaCredentialSpec": anyOf("{}"), "SeccompProfile.localhostProfile": anyOf("p/a.json", "b"),
	"AppArmorProfile.localhostProfile": anyOf("p1", "p2"), "PreferredSchedulingTerm.weight": between(1, 100), "WeightedPodAffinityTerm.weight": between(1, 100),
	"NodeSelectorRequirement.key": anyOf("zone", "example.com/gpu"), "NodeSelectorRequirement.values": anyOf("1", "2", "a"), "PodAffinityTerm.namespaces": anyOf("default", "a"), "PodAffinityTerm.topologyKey": anyOf("rack", "kubernetes.io/hostname"),
	"PodAffinityTerm.matchLabelKeys": anyOf("app", "zone"), "PodAffinityTerm.mismatchLabelKeys": anyOf("team"), "TopologySpreadConstraint.maxSkew": anyPositive,
	"TopologySpreadConstraint.topologyKey": anyOf("rack", "zone"), "TopologySpreadConstraint.minDomains": anyPositive, "TopologySpreadConstraint.matchLabelKeys": anyOf("app"),
	"Toleration.key": anyOf("spot", "node.kubernetes.io/not-ready"), "Toleration.value": anyOf("x", ""), "Toleration.tolerationSeconds": anyOf(int64(300), int64(0), int64(-1)),

	"RuntimeRef.apiGroup": anyOf("trainer.kubeflow.org"), "DatasetInitializer.storageUri": anyOf("hf://org/name", "s3://bucket/x", ""), "ModelInitializer.storageUri": anyOf("hf://org/name", ""),
	"Trainer.image": anyOf("trained:1", "ghcr.io/example/trained"), "Trainer.command": anyOf("python", "train.py", "-m", "torchrun"), "Trainer.args": anyOf("--lr=0.1", "", "a=b"), "Trainer.numNodes": between(1, 3), "Trainer.numProcPerNode": between(1, 8),
	"TrainJobSpec.activeDeadlineSeconds": between(1, 9223372036), "TrainJobSpec.managedBy": anyOf("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"), "RuntimePatch.time": anyTime,
	"Condition.type": anyOf("Complete", "Suspended"), "Condition.reason": anyOf("Reason"), "JobStatus.name": anyOf("node"), "Metric.name": anyOf("loss"), "Metric.value": anyOf("0.5"),
	"TrainerStatus.progressPercentage": between(0, 100),
}
