package release

import (
	"slices"
	"strings"
)

// Part is one part of a change that has many. It concerns a field of the definitions or a stock
// runtime.
type Part struct {
	// ID is a short stable name, such as storage-uri. Parts of several releases may share it.
	ID string
	// In is the minor version of the release.
	In string
	// Why is a sentence on the behavior since that release, without a full stop.
	Why string
	// Link is the change in the Trainer or in JobSet.
	Link string

	// of are patterns of places. A pattern lists words that a place has in this order. A word with
	// a final * stands for all words with that beginning. A final dot stands for the end of the
	// place.
	of []string
}

// Part returns the part of the change in a release that changes a place. The words of a place are
// the kind of an object and the steps of a path. Steps are names of fields, and keys of maps and of
// items. For the switch stock, the name of the runtime precedes them. Part returns false for a
// place that no part changes.
func (s Switch) Part(in string, place ...string) (Part, bool) {
	for _, p := range s.Parts {
		if p.In == in && slices.ContainsFunc(p.of, func(pattern string) bool {
			return matches(place, strings.Fields(pattern))
		}) {
			return p, true
		}
	}
	return Part{}, false
}

// matches reports whether a place has the words of a pattern.
func matches(place, pattern []string) bool {
	for i, word := range place {
		prefix, open := strings.CutSuffix(pattern[0], "*")
		if word != pattern[0] && !(open && strings.HasPrefix(word, prefix)) {
			continue
		}
		switch pattern = pattern[1:]; {
		case len(pattern) == 0:
			return true
		case pattern[0] == ".":
			return i == len(place)-1
		}
	}
	return false
}

// definitionParts are the changes of the definitions of TrainJobs, runtimes and JobSets. The first
// part that matches a place counts.
func definitionParts() []Part {
	return []Part{
		{"pod-template-overrides", "2.1",
			"spec.podTemplateOverrides replaces spec.podSpecOverrides", trainer(2785),
			[]string{"TrainJob podSpecOverrides", "TrainJob podTemplateOverrides"}},
		{"kubernetes-1.34", "2.1", "the fields of Kubernetes 1.34 exist, such as fileKeyRef",
			trainer(2804),
			[]string{"fileKeyRef", "stopSignal", "restartPolicyRules", "hostnameOverride",
				"podCertificate"}},
		{"job-name", "2.1", "a rule of the definition checks metadata.name: an RFC 1035 label",
			trainer(2767),
			[]string{"TrainJob .", "TrainJob metadata"}},
		{"job-status", "2.1", "bounds apply to the status", trainer(2858),
			[]string{"TrainJob status"}},
		{"runtime-name", "2.1", "the name of the runtime has at least one character", trainer(2858),
			[]string{"TrainJob runtimeRef name"}},
		{"mpi-implementation", "2.1", "mpiImplementation may be empty", trainer(2897),
			[]string{"TrainingRuntime mpiImplementation"}},
		{"volcano", "2.1", "a podGroupPolicy may name Volcano", trainer(2729),
			[]string{"TrainingRuntime podGroupPolicy"}},
		{"failure-messages", "2.1", "rules of a failurePolicy may have onJobFailureMessagePatterns",
			jobSet(1033), []string{"onJobFailureMessagePatterns"}},
		{"dependencies", "2.1", "dependsOn may have five items", jobSet(878),
			[]string{"dependsOn"}},
		{"group-name", "2.1", "a replicated job has a groupName", jobSet(822),
			[]string{"groupName"}},
		{"empty-runtime", "2.1",
			"a runtime needs no template, but its spec and its template may not be empty",
			trainer(2858),
			[]string{"TrainingRuntime spec .", "TrainingRuntime template ."}},

		{"num-proc-per-node", "2.2",
			"numProcPerNode of a TrainJob is an integer, and a torch policy has none",
			trainer(3239),
			[]string{"TrainJob numProcPerNode", "TrainingRuntime torch numProcPerNode",
				"JobSet PET_NPROC_PER_NODE"}},
		{"runtime-patches", "2.2",
			"spec.runtimePatches replaces spec.podTemplateOverrides, spec.labels and " +
				"spec.annotations", trainer(3309),
			[]string{"TrainJob podTemplateOverrides", "TrainJob runtimePatches",
				"TrainJob spec labels", "TrainJob spec annotations"}},
		{"deadline", "2.2", "a TrainJob may have activeDeadlineSeconds", trainer(3258),
			[]string{"TrainJob activeDeadlineSeconds"}},
		{"trainer-status", "2.2", "the status has the progress of the training", trainer(3227),
			[]string{"TrainJob trainerStatus"}},
		{"bounds", "2.2",
			"lists and strings have bounds, such as 128 items of env and 500 characters of an image",
			trainer(3309),
			[]string{
				"TrainJob status", "TrainJob env", "TrainJob storageUri", "TrainJob managedBy",
				"TrainJob runtimeRef name", "TrainJob runtimeRef kind",
				"TrainJob runtimeRef apiGroup", "TrainJob trainer args", "TrainJob trainer command",
				"TrainJob trainer image", "TrainingRuntime sshAuthMountPath",
			}},
		{"immutable", "2.2", "spec.trainer and spec.initializer are immutable", trainer(3157),
			[]string{"TrainJob trainer .", "TrainJob initializer .", "TrainJob runtimeRef ."}},
		{"elastic-policy", "2.2", "a torch policy has no elasticPolicy", trainer(3235),
			[]string{"TrainingRuntime elasticPolicy", "TrainingRuntime mlPolicy ."}},
		{"jax", "2.2", "an mlPolicy may be jax", trainer(3151), []string{"TrainingRuntime jax"}},
		{"xgboost", "2.2", "an mlPolicy may be xgboost", trainer(3200),
			[]string{"TrainingRuntime xgboost"}},
		{"flux", "2.2", "an mlPolicy may be flux", trainer(3188), []string{"TrainingRuntime flux"}},
		{"in-place-restart", "2.2", "restartStrategy may be InPlaceRestart", jobSet(1099),
			[]string{"restartStrategy", "JobSet currentInPlaceRestartAttempt",
				"JobSet previousInPlaceRestartAttempt"}},
		{"volume-claim-policies", "2.2", "a JobSet has volumeClaimPolicies", jobSet(1098),
			[]string{"volumeClaimPolicies"}},
		{"kubernetes-1.35", "2.2",
			"the fields of Kubernetes 1.35 exist, such as userAnnotations of a podCertificate",
			trainer(3127),
			[]string{"onPodConditions", "userAnnotations", "workloadRef"}},
		{"kubernetes-1.36", "2.2",
			"the fields of Kubernetes 1.36 exist in runtimes, such as schedulingGroup",
			trainer(3470), []string{"schedulingGroup"}},

		{"storage-uri", "2.3", "storageUri is empty, or begins with a scheme such as hf://",
			trainer(3510), []string{"TrainJob storageUri"}},
		{"grace-period", "2.3", "patches may set terminationGracePeriodSeconds", trainer(3324),
			[]string{"TrainJob terminationGracePeriodSeconds"}},
		{"long-arguments", "2.3", "an item of command and args may have 1 MiB; before, 64 KiB",
			trainer(3689), []string{"TrainJob args", "TrainJob command"}},
		{"env-injection", "2.3", "a torch policy may name more targets of its variables",
			trainer(3516), []string{"TrainingRuntime envInjection"}},
		{"restart-job", "2.3", "rules of a failurePolicy may restart one job", jobSet(1177),
			[]string{"action", "JobSet jobRestarts*"}},
		{"kubernetes-1.36", "2.3",
			"the fields of Kubernetes 1.36 exist in JobSets, such as schedulingGroup", jobSet(1212),
			[]string{"schedulingGroup", "workloadRef"}},

		{"num-nodes", "2.4", "numNodes is at least 0", trainer(3809),
			[]string{"TrainJob numNodes"}},
		{"num-proc-per-node", "2.4", "numProcPerNode of a TrainJob and of MPI is at least 1",
			trainer(3809),
			[]string{"TrainJob numProcPerNode", "TrainingRuntime mpi numProcPerNode"}},
		{"claims-in-resources", "2.4",
			"claims belong in resourceClaimsPerNode, and not in resourcesPerNode", trainer(4027),
			[]string{"TrainJob resourcesPerNode"}},
		{"claims-of-nodes", "2.4", "spec.trainer has resourceClaimsPerNode", trainer(4027),
			[]string{"TrainJob resourceClaimsPerNode"}},
		{"claims-in-patches", "2.4", "patches may set the claims of Pods", trainer(4027),
			[]string{"TrainJob runtimePatches resourceClaims"}},
		{"resources-in-patches", "2.4", "patches may set the resources of containers",
			trainer(4027), []string{"TrainJob runtimePatches resources"}},
	}
}

// stockParts are the changes of the stock runtimes. The first part that matches a place counts.
func stockParts() []Part {
	const tagged = "the project's own images have the tag of the release"
	return []Part{
		{"stock-mpi", "2.1", "the runtime mpi-distributed is gone", trainer(2760),
			[]string{"mpi-distributed"}},
		{"stock-cache", "2.1", "there is a runtime torch-distributed-with-cache", trainer(2923),
			[]string{"torch-distributed-with-cache"}},
		{"stock-qwen", "2.1", "there is a runtime torchtune-qwen2.5-1.5b", trainer(2835),
			[]string{"torchtune-qwen2.5-1.5b"}},
		{"stock-command", "2.1", "the runtimes run no command of their own", trainer(2754),
			[]string{"torch-distributed command", "deepspeed-distributed command",
				"mlx-distributed command"}},
		{"stock-initializers", "2.1", "the initializers run side by side", trainer(2823),
			[]string{"torchtune-* dependsOn"}},
		{"stock-images", "2.1", tagged, released("2.1.0"), []string{"image"}},

		{"stock-jax", "2.2", "there is a runtime jax-distributed", trainer(3151),
			[]string{"jax-distributed"}},
		{"stock-xgboost", "2.2", "there is a runtime xgboost-distributed", trainer(3200),
			[]string{"xgboost-distributed"}},
		{"stock-num-proc-per-node", "2.2",
			"the torch policies of the runtimes have no numProcPerNode", trainer(3239),
			[]string{"numProcPerNode"}},
		{"stock-claims", "2.2",
			"the runtimes of torchtune claim their volumes; before, a claim of their name had to " +
				"exist", trainer(3150),
			[]string{"torchtune-* volumes", "torchtune-* volumeClaimPolicies",
				"torchtune-* PersistentVolumeClaim"}},
		{"stock-torch", "2.2", "the image has PyTorch 2.10", trainer(3320),
			[]string{"torch-distributed* node image"}},
		{"stock-images", "2.2", tagged, released("2.2.1"), []string{"image", "CACHE_IMAGE"}},

		{"stock-webhook", "2.3", "a label exempts the runtimes from the webhook", trainer(3683),
			[]string{"metadata labels"}},
		{"stock-torch", "2.3", "the image has PyTorch 2.13", trainer(3780),
			[]string{"torch-distributed* node image"}},
		{"stock-images", "2.3", tagged, released("2.3.0"), []string{"image", "CACHE_IMAGE"}},
		{"stock-launcher", "2.3",
			"the launcher of MPI waits for the nodes, which precede it, and Pods have an fsGroup",
			trainer(3748),
			[]string{"deepspeed-distributed", "mlx-distributed"}},
	}
}

func released(version string) string {
	return "https://github.com/kubeflow/trainer/releases/tag/v" + version
}
