package release

import (
	"fmt"
	"slices"
	"strconv"
)

// Switch is one behaviour that differs between releases: a field of Release, the definitions, the
// rules or the stock runtimes.
type Switch struct {
	// ID is a short stable name, such as resources.
	ID string
	// Changes are the changes, the oldest first.
	Changes []Change
	// Parts are the single changes of a change that has many; see Switch.Part.
	Parts []Part

	value func(*Release) string
	set   func(r, to *Release)
}

// Change is a change of a behaviour in a release.
type Change struct {
	// In is the minor version of the release.
	In string
	// Why is a sentence on the behavior since that release, without a full stop.
	Why string
	// Link is the change in the Trainer or in JobSet. It is empty where the definitions of a
	// release are the source.
	Link string
}

// Set gives r the behaviour of another release, and reports whether that changes r.
func (s Switch) Set(r, to *Release) bool {
	if s.value == nil || r == nil {
		return false
	}
	before := s.value(r)
	s.set(r, to.Or())
	return s.value(r) != before
}

// Since returns the change that brought the behaviour of r, or false if the oldest known release
// has it.
func (s Switch) Since(r *Release) (Change, bool) {
	at := r.Or().Index()
	for _, t := range slices.Backward(s.Changes) {
		if in, err := Parse(t.In); err == nil && in.Index() <= at {
			return t, true
		}
	}
	return Change{}, false
}

// Between returns the latest change on the way from one release to the other, in either direction.
// It is the zero Change if there is none.
func (s Switch) Between(from, to *Release) Change {
	low, high := from.Or().Index(), to.Or().Index()
	if low > high {
		low, high = high, low
	}
	for _, t := range slices.Backward(s.Changes) {
		if in, err := Parse(t.In); err == nil && low < in.Index() && in.Index() <= high {
			return t
		}
	}
	return Change{}
}

// Switches returns all switches in a fixed order. The definitions and the rules come first, since
// they decide which fields a rendering sees.
func Switches() []Switch { return slices.Concat(shipped(), ruleSwitches(), behaviours()) }

// shipped returns the switches of the files that a release ships. A JobSet has the claims before a
// stock runtime asks for them.
func shipped() []Switch {
	all := []Switch{
		of("definitions", func(r *Release) *string { return &r.Schema },
			Change{"2.1", "the definitions of Trainer 2.1 apply", ""},
			Change{"2.2", "the definitions of Trainer 2.2 apply", ""},
			Change{"2.3", "the definitions of Trainer 2.3 apply", ""},
			Change{"2.4", "the definitions of Trainer 2.4 apply", ""}),
		of("jobset-definition", func(r *Release) *string { return &r.JobSetSchema },
			Change{"2.1", "JobSet 0.10 has groupName, and several items of dependsOn", ""},
			Change{"2.2", "JobSet 0.11 has volumeClaimPolicies", ""},
			Change{"2.3", "JobSet 0.12 merges replicatedJobs by name", jobSet(1185)}),
		of("claims", func(r *Release) *bool { return &r.JobSet.Claims },
			Change{"2.2",
				"JobSet 0.11 makes the claims of volumeClaimPolicies, and their volumes in the Pods",
				jobSet(1098)}),
		of("stock", func(r *Release) *string { return &r.Stock },
			Change{"2.1", "the stock runtimes of Trainer 2.1 apply", ""},
			Change{"2.2", "the stock runtimes of Trainer 2.2 apply", ""},
			Change{"2.3", "the stock runtimes of Trainer 2.3 apply", ""}),
	}
	all[0].Parts, all[1].Parts, all[len(all)-1].Parts = definitionParts(), definitionParts(),
		stockParts()
	return all
}

// behaviours are the switches of the fields of Release.
func behaviours() []Switch {
	return []Switch{
		of("overrides", func(r *Release) *Overrides { return &r.Overrides },
			Change{"2.1", "the controller reads spec.podTemplateOverrides", trainer(2785)},
			Change{"2.2", "the controller reads spec.runtimePatches", trainer(3309)}),
		of("merge-root", func(r *Release) *MergeRoot { return &r.MergeRoot },
			Change{"2.1", "overrides merge into the Pod template, with its labels and annotations",
				trainer(2785)},
			Change{"2.2", "patches merge into the template of each job that they name",
				trainer(3309)},
			Change{"2.3",
				"patches merge into the whole JobSet: a job that the runtime lacks is added",
				jobSet(1185)}),
		of("resources", func(r *Release) *Resources { return &r.Resources },
			Change{"2.3",
				"resourcesPerNode merges into the runtime's resources by key, and only under an " +
					"mlPolicy; it replaced them all before", trainer(3602)}),
		of("gang-requests", func(r *Release) *GangRequests { return &r.GangRequests },
			Change{"2.2", "minResources count the requests of resourcesPerNode alone",
				trainer(2982)},
			Change{"2.3", "minResources count the merged requests", trainer(3602)}),
		of("mpi-node-trainer", func(r *Release) *bool { return &r.MPINodeTrainer },
			Change{"2.1",
				"if the launcher is a node, the job node takes resourcesPerNode and " +
					"spec.trainer.env as well", trainer(2653)}),
		of("mpi-slots", func(r *Release) *MPISlots { return &r.MPISlots },
			Change{"2.1", "a number of one in the runtime means one process for each GPU", ""}),
		of("ssh-modes", func(r *Release) *bool { return &r.SSHModes },
			Change{"2.3", "the volume of MPI's keys has the mode 0400, and modes for each key",
				trainer(3649)}),
		of("endpoints", func(r *Release) *Endpoints { return &r.Endpoints },
			Change{"2.3", "the hostfile lists all replicas of a job", trainer(3539)}),
		of("nproc", func(r *Release) *NProc { return &r.NProc },
			Change{"2.1",
				"auto counts the devices of the node; before, it counted resourcesPerNode only, " +
					"and a number without requests became one", ""}),
		of("torchtune", func(r *Release) *TorchTune { return &r.TorchTune },
			Change{"2.1", "torchtune has recipes for LoRA, QLoRA and DoRA, and other models",
				trainer(2832)},
			Change{"2.3",
				"arguments ask for QLoRA and DoRA only with the value True; before, their names " +
					"alone did", ""}),
		of("jax-needs-trainer", func(r *Release) *bool { return &r.JAXNeedsTrainer },
			Change{"2.3",
				"the controller renders a runtime of JAX without a job with the trainer's label; " +
					"it crashed before", trainer(3563)}),
		of("init-lists", func(r *Release) *bool { return &r.InitLists },
			Change{"2.3",
				"of two ports of an init container that the controller takes for one, the second " +
					"is there twice", ""}),
		of("gang-label", func(r *Release) *GangLabel { return &r.GangLabel },
			Change{"2.1",
				"Pods carry the label of coscheduling only if the runtime asks for coscheduling",
				""}),
		of("flux", func(r *Release) *Flux { return &r.Flux },
			Change{"2.3",
				"Flux has /dev/shm in memory, counts GPUs, and runs the runtime's command if the " +
					"TrainJob has none", trainer(3325)}),
		of("second-trainer", func(r *Release) *SecondTrainer { return &r.SecondTrainer },
			Change{"2.1",
				"each job with the trainer's label has a parallelism of its own; before, all had " +
					"the first one's", ""}),
		of("runtime-read", func(r *Release) *RuntimeRead { return &r.RuntimeRead },
			Change{"2.3", "the controller keeps a snapshot of the runtime for each TrainJob",
				trainer(3580)}),
		of("status-gate", func(r *Release) *bool { return &r.StatusGate },
			Change{"2.2", "under the feature gate TrainJobStatus, Pods report their progress",
				trainer(3227)}),
		of("managed-by", func(r *Release) *bool { return &r.ManagedBy },
			Change{"2.3",
				"the controller makes no JobSet for a TrainJob that another controller manages",
				trainer(3681)}),
		of("mpi-prte", func(r *Release) *bool { return &r.MPIPrte },
			Change{"2.4", "MPI's launcher also has the variables of Open MPI 5, PRTE_MCA_*",
				trainer(4029)}),
		of("mpi-image", func(r *Release) *bool { return &r.MPIImage },
			Change{"2.4",
				"spec.trainer.image reaches the launcher and the nodes of MPI, whatever their " +
					"labels", trainer(4301)}),
		of("failed-final", func(r *Release) *bool { return &r.FailedIsFinal },
			Change{"2.4", "a failed TrainJob stays failed", trainer(3891)}),
		of("claims-gate", func(r *Release) *bool { return &r.Claims.Gate },
			Change{"2.4", "claims of devices need the feature gate DynamicResourceAllocation",
				trainer(4027)}),
		of("claims-kept", func(r *Release) *bool { return &r.Claims.Kept },
			Change{"2.4",
				"a container keeps its claims beside resourcesPerNode; before, it lost them",
				trainer(4027)}),
		of("claims-per-node", func(r *Release) *bool { return &r.Claims.PerNode },
			Change{"2.4",
				"resourceClaimsPerNode replaces claims of the Pod and of its container node by " +
					"name, or adds them", trainer(4027)}),
		of("claims-counted", func(r *Release) *bool { return &r.Claims.Counted },
			Change{"2.4",
				"the devices of the first claim of the container node count if their request has " +
					"a name with gpu", trainer(4027)}),
		of("claims-torch", func(r *Release) *bool { return &r.Claims.Torch },
			Change{"2.4", "PET_NPROC_PER_NODE is the number of claimed GPUs", trainer(4027)}),
		of("claims-torchtune", func(r *Release) *bool { return &r.Claims.TorchTune },
			Change{"2.4", "claimed GPUs decide about the recipe of torchtune", trainer(4027)}),
		of("claims-mpi", func(r *Release) *bool { return &r.Claims.MPI },
			Change{"2.4",
				"a number of one in the runtime also means one process for each claimed GPU",
				trainer(4027)}),
		of("claims-xgboost", func(r *Release) *bool { return &r.Claims.XGBoost },
			Change{"2.4", "DMLC_NUM_WORKER counts claimed GPUs", trainer(4027)}),
		of("claims-flux", func(r *Release) *bool { return &r.Claims.Flux },
			Change{"2.4", "Flux counts claimed GPUs", trainer(4027)}),
		of("group-labels", func(r *Release) *bool { return &r.JobSet.GroupLabels },
			Change{"2.1", "Jobs and Pods carry the uid of the JobSet, and their group",
				jobSet(822)}),
		of("priority-label", func(r *Release) *PriorityLabel { return &r.JobSet.PriorityLabel },
			Change{"2.2", "every Pod with a priority carries its label", jobSet(1077)}),
	}
}

// of makes the switch of a field.
func of[T ~string | ~bool](id string, field func(*Release) *T, changes ...Change) Switch {
	return Switch{
		ID: id, Changes: changes,
		value: func(r *Release) string {
			if v, ok := any(*field(r)).(bool); ok {
				return yes(v)
			}
			return fmt.Sprint(*field(r))
		},
		set: func(r, to *Release) { *field(r) = *field(to) },
	}
}

func yes(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}

func trainer(pull int) string {
	return "https://github.com/kubeflow/trainer/pull/" + strconv.Itoa(pull)
}

func jobSet(pull int) string {
	return "https://github.com/kubernetes-sigs/jobset/pull/" + strconv.Itoa(pull)
}
