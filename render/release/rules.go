package release

import "slices"

// Rule is a rule of the Trainer's or JobSet's webhooks that not all releases have. Rules that all
// of them have need no name.
type Rule string

const (
	// NameOnCreate requires a DNS label as the name of a new TrainJob. Later definitions have a
	// rule of their own.
	NameOnCreate Rule = "name-on-create"
	// PatchedJobsExist rejects overrides and patches of replicated jobs that the runtime lacks.
	PatchedJobsExist Rule = "patched-jobs-exist"
	// PatchedOnce rejects two overrides of one job.
	PatchedOnce Rule = "patched-once"
	// PatchedOnResume lets patches change together with the end of a suspension, not only with its
	// beginning.
	PatchedOnResume Rule = "patched-on-resume"
	// InitializerMount requires an initializer's container to mount the volume called initializer.
	InitializerMount Rule = "initializer-mount"

	// TorchAlways applies the rules of torch to every TrainJob, and not only to one with
	// numProcPerNode.
	TorchAlways Rule = "torch-always"
	// TorchProcesses requires a number, auto, cpu or gpu as numProcPerNode.
	TorchProcesses Rule = "torch-processes"
	// TorchTuneNodes requires numNodes of a TrainJob for torchtune: the webhook crashes without it.
	TorchTuneNodes Rule = "torchtune-nodes"
	// TorchTuneQLoRA rejects QLoRA where torchtune has no recipe for it.
	TorchTuneQLoRA Rule = "torchtune-qlora"
	// TorchTuneOneNode rejects LoRA on several nodes.
	TorchTuneOneNode Rule = "torchtune-one-node"
	// TorchTuneArgs rejects arguments that the runtime sets.
	TorchTuneArgs Rule = "torchtune-args"
	// MPIProcesses requires a number as numProcPerNode.
	MPIProcesses Rule = "mpi-processes"
	// MPIEnv rejects the variables that MPI's policy sets.
	MPIEnv Rule = "mpi-env"
	// MPIPrteEnv rejects the variables that MPI's policy sets for Open MPI 5.
	MPIPrteEnv Rule = "mpi-prte-env"
	// FluxProcesses counts the TrainJob's numProcPerNode before the runtime's.
	FluxProcesses Rule = "flux-processes"
	// FluxUnchecked leaves the numProcPerNode of Flux to the definitions.
	FluxUnchecked Rule = "flux-unchecked"
	// ClaimsExist requires the Pod's claim for each claim of a container.
	ClaimsExist Rule = "claims-exist"
	// SnapshotUpdates judges an update of a TrainJob by the snapshot of its runtime.
	SnapshotUpdates Rule = "snapshot-updates"

	// RuntimeContainers requires the container of a section in the job with its label.
	RuntimeContainers Rule = "runtime-containers"
	// RuntimeLauncher requires one replica of the job called launcher.
	RuntimeLauncher Rule = "runtime-launcher"
	// RuntimeUnchecked exempts runtimes with a label from the webhook.
	RuntimeUnchecked Rule = "runtime-unchecked"
	// RuntimeDeprecated warns of runtimes with the label of deprecated ones.
	RuntimeDeprecated Rule = "runtime-deprecated"
	// RuntimesDeprecated warns of a TrainJob of a deprecated TrainingRuntime as well.
	RuntimesDeprecated Rule = "runtimes-deprecated"
	// ShortJobNames requires names of at most 20 characters of the replicated jobs of runtimes.
	ShortJobNames Rule = "short-job-names"

	// JobSetGroup requires a DNS label as the name of a group.
	JobSetGroup Rule = "jobset-group"
	// JobSetCoordinator requires an address of the coordinator that can be a label's value.
	JobSetCoordinator Rule = "jobset-coordinator"
	// JobSetDependency rejects an empty list of dependencies: the webhook crashes.
	JobSetDependency Rule = "jobset-dependency"
)

// Rules is a set of rules, sorted.
type Rules []Rule

// Has reports whether the set has a rule.
func (rs Rules) Has(rule Rule) bool {
	_, found := slices.BinarySearch(rs, rule)
	return found
}

// with returns the set with the rule, or without it.
func (rs Rules) with(rule Rule, has bool) Rules {
	rs = slices.DeleteFunc(slices.Clone(rs), func(r Rule) bool { return r == rule })
	if has {
		rs = append(rs, rule)
		slices.Sort(rs)
	}
	return rs
}

// rules are the rules, and the releases that added or dropped them.
var rules = []struct {
	rule    Rule
	changes []Change
}{
	{NameOnCreate,
		[]Change{{"2.1", "a rule of the definition checks the name instead, also on updates",
			trainer(2767)}}},
	{PatchedJobsExist,
		[]Change{{"2.3",
			"a patch of a job that the runtime lacks is admitted, and the TrainJob never starts",
			jobSet(1185)}}},
	{PatchedOnce,
		[]Change{{"2.1", "several overrides may change one job; the last one wins",
			trainer(2880)}}},
	{PatchedOnResume,
		[]Change{{"2.2",
			"patches may change if the TrainJob is suspended before or after the update; before, " +
				"only after it", trainer(3469)}}},
	{InitializerMount,
		[]Change{{"2.3", "the container of an initializer must mount the volume called initializer",
			trainer(3714)}}},
	{TorchAlways,
		[]Change{{"2.2",
			"PET_* variables are always rejected, also without spec.trainer.numProcPerNode",
			trainer(3239)}}},
	{TorchProcesses,
		[]Change{{"2.2", "the definition allows integers only as numProcPerNode", trainer(3239)}}},
	{TorchTuneNodes,
		[]Change{{"2.2",
			"a TrainJob for torchtune without numNodes runs on one node; before, the webhook " +
				"crashed", trainer(3239)}}},
	{TorchTuneQLoRA,
		[]Change{{"2.1", "QLoRA is rejected for models and devices without a recipe",
			trainer(2832)}}},
	{TorchTuneOneNode,
		[]Change{{"2.3", "LoRA on several nodes is rejected; before, it became a full fine-tuning",
			trainer(3302)}}},
	{TorchTuneArgs,
		[]Change{{"2.3", "arguments that the runtime sets are rejected", trainer(3302)}}},
	{MPIProcesses,
		[]Change{{"2.2", "the definition allows integers only as numProcPerNode", trainer(3239)}}},
	{MPIEnv, []Change{
		{"2.3", "variables that MPI's policy sets are rejected; before, they won", trainer(3491)}}},
	{MPIPrteEnv, []Change{
		{"2.4", "variables that MPI's policy sets for Open MPI 5, PRTE_MCA_*, are rejected",
			trainer(4029)}}},
	{FluxProcesses,
		[]Change{{"2.3", "numProcPerNode of the TrainJob is checked as well", trainer(3561)}}},
	{FluxUnchecked,
		[]Change{{"2.4", "the definitions check numProcPerNode, and not the webhook",
			trainer(3809)}}},
	{ClaimsExist,
		[]Change{{"2.4",
			"a container's claim without a claim of the Pod is rejected at admission; before, " +
				"the Jobs were", trainer(4027)}}},
	{SnapshotUpdates,
		[]Change{{"2.4",
			"an update is judged by the snapshot of the runtime; before, by the runtime of that " +
				"time", trainer(3960)}}},
	{RuntimeContainers,
		[]Change{{"2.1",
			"a job with the label of a section must have the container of that section",
			trainer(2722)}}},
	{RuntimeLauncher,
		[]Change{{"2.1",
			"the job called launcher may have several replicas, unless it has the trainer's label",
			trainer(2722)}}},
	{RuntimeUnchecked,
		[]Change{{"2.3",
			"the label trainer.kubeflow.org/webhook-validation: disabled exempts a runtime from " +
				"the webhook", trainer(3683)}}},
	{RuntimeDeprecated,
		[]Change{{"2.1",
			"the webhooks warn of runtimes with the label trainer.kubeflow.org/support: deprecated",
			trainer(2791)}}},
	{RuntimesDeprecated,
		[]Change{{"2.4", "the webhook also warns of a TrainJob of a deprecated TrainingRuntime",
			""}}},
	{ShortJobNames,
		[]Change{{"2.4", "the name of a replicated job of a runtime has at most 20 characters",
			trainer(4394)}}},
	{JobSetGroup, []Change{{"2.1", "groupName must be a DNS label", jobSet(822)}}},
	{JobSetCoordinator,
		[]Change{{"2.2",
			"JobSet rejects a coordinator whose address cannot be a label's value; before, its " +
				"Jobs were rejected", jobSet(1079)}}},
	{JobSetDependency,
		[]Change{{"2.1", "an empty dependsOn is admitted; before, the webhook crashed",
			jobSet(878)}}},
}

// ruleSwitches returns a switch for each rule.
func ruleSwitches() []Switch {
	var all []Switch
	for _, r := range rules {
		all = append(all, Switch{
			ID: string(r.rule), Changes: r.changes,
			value: func(of *Release) string { return yes(of.Rules.Has(r.rule)) },
			set:   func(of, to *Release) { of.Rules = of.Rules.with(r.rule, to.Rules.Has(r.rule)) },
		})
	}
	return all
}
