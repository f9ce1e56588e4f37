// Package release says how each release of Kubeflow Trainer behaves, as data.
//
//	r, err := release.Parse("2.2") // or 2.2.1
//	if err != nil {
//		return err // names the known ones
//	}
//	fmt.Println(r.Version, r.JobSetVersion, r.MergeRoot)
//
// A Release is a small value. Each of its fields is named for one behaviour, and the code of that
// behaviour reads it. No code compares versions. Besides, a release has custom resource definitions
// and stock runtimes (Definition, Runtimes). It also has a set of the rules of its webhooks
// (Rules).
//
// Switches lists the fields one by one, with the release in which each turned, the reason and a
// link. Set them one after the other to get from one release to another:
//
//	for _, s := range release.Switches() {
//		s.Set(&now, then)
//	}
//
// The facts come from the sources of the releases: the tags of the Trainer and of the JobSet they
// install.
//
// Its first file to read is release.go.
package release

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Release is the behaviour of one release of the Trainer, with the JobSet that it installs. A
// caller may change a copy.
type Release struct {
	// Name is the minor version, such as 2.3. Version is the full version of the Trainer.
	// JobSetVersion is the version of the JobSet that the release installs.
	Name, Version, JobSetVersion string
	// Schema and Stock are the versions of the Trainer whose definitions and stock runtimes apply.
	// JobSetSchema is the version of JobSet whose definition applies.
	Schema, Stock, JobSetSchema string
	// Kubernetes is the minor version of Kubernetes whose Jobs, Pods and claims apply, such as
	// 1.36. Each release has that of its Go types; see On.
	Kubernetes string
	// Rules are the rules of the webhooks.
	Rules Rules

	// Overrides is the field of a TrainJob that changes the runtime's template.
	Overrides Overrides
	// MergeRoot is the type of the objects over which its items merge.
	MergeRoot MergeRoot
	// Resources says what spec.trainer.resourcesPerNode does with the resources of the runtime's
	// container.
	Resources Resources
	// GangRequests says which resources a gang's minResources count.
	GangRequests GangRequests
	// MPINodeTrainer lets MPI's job called node take resourcesPerNode and spec.trainer.env if the
	// launcher counts as a node.
	MPINodeTrainer bool
	// MPISlots says how many processes a node runs if nobody sets a number above one.
	MPISlots MPISlots
	// SSHModes gives the files of MPI's keys modes of their own.
	SSHModes bool
	// Endpoints says which replicas of a job an MPI hostfile lists.
	Endpoints Endpoints
	// NProc says how PET_NPROC_PER_NODE comes about.
	NProc NProc
	// TorchTune is the release whose recipes and models of torchtune apply.
	TorchTune TorchTune
	// JAXNeedsTrainer lets the controller crash on a runtime of JAX without a job with the
	// trainer's label.
	JAXNeedsTrainer bool
	// InitLists lets the controller write the lists of init containers again, as it does for
	// containers. Of two ports that it takes for one, the second is then there twice.
	InitLists bool
	// GangLabel says under which podGroupPolicy Pods carry the label of their PodGroup.
	GangLabel GangLabel
	// Flux is the release whose installation of Flux applies.
	Flux Flux
	// SecondTrainer says whose parallelism a second job with the trainer's label gets.
	SecondTrainer SecondTrainer
	// RuntimeRead says when the controller reads the runtime of a TrainJob.
	RuntimeRead RuntimeRead
	// StatusGate gives the controller the feature gate TrainJobStatus.
	StatusGate bool
	// ManagedBy makes the controller leave a TrainJob of another manager alone.
	ManagedBy bool
	// MPIPrte gives MPI's launcher the variables of Open MPI 5 as well.
	MPIPrte bool
	// MPIImage gives spec.trainer.image to the containers called node of MPI's jobs launcher and
	// node, whatever their labels.
	MPIImage bool
	// FailedIsFinal keeps a TrainJob failed: the controller does not clear the condition.
	FailedIsFinal bool
	// Claims is what the release does with claims of devices.
	Claims Claims
	// JobSet is the behaviour of the JobSet controller.
	JobSet JobSet
}

// Claims is what a release does with the claims of devices, ResourceClaims. Their devices are GPUs
// that a template in the namespace of the TrainJob requests by name. Each use of their number is a
// field of its own.
type Claims struct {
	// Gate gives the controller the feature gate DynamicResourceAllocation.
	Gate bool
	// Kept keeps the claims of a container beside resourcesPerNode.
	Kept bool
	// PerNode reads spec.trainer.resourceClaimsPerNode.
	PerNode bool
	// Counted counts the devices of the first claim of a container called node.
	Counted bool
	// Torch, TorchTune, MPI, XGBoost and Flux let these policies use the number where a node has no
	// other GPUs.
	Torch, TorchTune, MPI, XGBoost, Flux bool
}

// JobSet is the behaviour of a JobSet controller, as far as its definition does not say it.
type JobSet struct {
	// Claims makes the claims of volumeClaimPolicies, and their volumes in the Pods.
	Claims bool
	// GroupLabels puts the uid and the group of its JobSet on each Job and Pod. Without it, a
	// replicated job has no group.
	GroupLabels bool
	// PriorityLabel says which Pods carry the label of their priority.
	PriorityLabel PriorityLabel
}

// The values of the fields of a Release. Their words are stable: reports and the recorded cases
// show them.
type (
	Overrides     string
	MergeRoot     string
	Resources     string
	GangRequests  string
	MPISlots      string
	Endpoints     string
	NProc         string
	TorchTune     string
	Flux          string
	GangLabel     string
	SecondTrainer string
	RuntimeRead   string
	PriorityLabel string
)

const (
	PodSpecOverrides     Overrides = "podSpecOverrides"
	PodTemplateOverrides Overrides = "podTemplateOverrides"
	RuntimePatches       Overrides = "runtimePatches"

	PodSpecRoot     MergeRoot = "PodSpec"
	PodTemplateRoot MergeRoot = "PodTemplateSpec"
	JobTemplateRoot MergeRoot = "JobTemplateSpec" // of each job that a patch names
	JobSetRoot      MergeRoot = "JobSetSpec"

	ReplaceResources Resources = "replace"
	MergeResources   Resources = "merge"

	// RuntimeRequests ignores resourcesPerNode, TrainerRequests counts its requests alone, and
	// MergedRequests counts the Pods' requests.
	RuntimeRequests GangRequests = "runtime"
	TrainerRequests GangRequests = "trainer"
	MergedRequests  GangRequests = "merged"

	SlotsAsSet MPISlots = "as set"
	SlotsOfGPU MPISlots = "GPUs"

	FirstReplica Endpoints = "first"
	AllReplicas  Endpoints = "all"

	// NProcOfTrainer counts devices of spec.trainer.resourcesPerNode only; NProcOfNode counts
	// devices of the node, wherever they are set.
	NProcOfTrainer NProc = "trainer"
	NProcOfNode    NProc = "node"

	TorchTune20 TorchTune = "2.0"
	TorchTune21 TorchTune = "2.1"
	TorchTune23 TorchTune = "2.3"

	Flux22 Flux = "2.2"
	Flux23 Flux = "2.3"

	AnyGangLabel      GangLabel = "every podGroupPolicy"
	CoschedulingLabel GangLabel = "coscheduling"

	FirstTrainerCounts SecondTrainer = "first"
	OwnCounts          SecondTrainer = "own"

	LiveRuntime     RuntimeRead = "live"
	RuntimeSnapshot RuntimeRead = "snapshot"

	ExclusivePriority PriorityLabel = "exclusive placement"
	EveryPriority     PriorityLabel = "every priority"
)

// releases returns the known releases, the oldest first.
var releases = sync.OnceValue(func() []Release {
	return following(
		Release{
			Name: "2.0", Version: "2.0.1", JobSetVersion: "0.8.2", Schema: "2.0.1",
			Kubernetes: "1.32", JobSetSchema: "0.8.2", Stock: "2.0.1",
			Rules: Rules{JobSetDependency, MPIProcesses, NameOnCreate, PatchedJobsExist, PatchedOnce,
				RuntimeLauncher, TorchProcesses, TorchTuneNodes},
			Overrides: PodSpecOverrides, MergeRoot: PodSpecRoot, Resources: ReplaceResources,
			GangRequests: RuntimeRequests,
			MPISlots:     SlotsAsSet, Endpoints: FirstReplica, NProc: NProcOfTrainer,
			TorchTune: TorchTune20, JAXNeedsTrainer: true, Flux: Flux22,
			GangLabel: AnyGangLabel, SecondTrainer: FirstTrainerCounts, RuntimeRead: LiveRuntime,
			JobSet: JobSet{PriorityLabel: ExclusivePriority},
		},
		func(r *Release) {
			r.Name, r.Version, r.Schema, r.Stock = "2.1", "2.1.0", "2.1.0", "2.1.0"
			r.JobSetVersion, r.JobSetSchema, r.Kubernetes = "0.10.1", "0.10.1", "1.34"
			r.Overrides, r.MergeRoot = PodTemplateOverrides, PodTemplateRoot
			r.MPINodeTrainer, r.MPISlots, r.NProc = true, SlotsOfGPU, NProcOfNode
			r.TorchTune, r.GangLabel, r.SecondTrainer = TorchTune21, CoschedulingLabel, OwnCounts
			r.JobSet.GroupLabels = true
		},
		func(r *Release) {
			r.Name, r.Version, r.Schema, r.Stock = "2.2", "2.2.1", "2.2.1", "2.2.1"
			r.JobSetVersion, r.JobSetSchema, r.Kubernetes = "0.11.0", "0.11.0", "1.36"
			r.Overrides, r.MergeRoot = RuntimePatches, JobTemplateRoot
			r.GangRequests, r.StatusGate = TrainerRequests, true
			r.JobSet.Claims, r.JobSet.PriorityLabel = true, EveryPriority
		},
		func(r *Release) {
			r.Name, r.Version, r.Schema, r.Stock = "2.3", "2.3.0", "2.3.0", "2.3.0"
			r.JobSetVersion, r.JobSetSchema = "0.12.0", "0.12.0"
			r.MergeRoot, r.Resources, r.GangRequests = JobSetRoot, MergeResources, MergedRequests
			r.SSHModes, r.Endpoints, r.TorchTune, r.Flux = true, AllReplicas, TorchTune23, Flux23
			r.JAXNeedsTrainer, r.InitLists, r.ManagedBy = false, true, true
			r.RuntimeRead = RuntimeSnapshot
		},
		// Its module could not be read: see marks. The stock runtimes are not known, so those of
		// 2.3 stay.
		func(r *Release) {
			r.Name, r.Version, r.Schema = "2.4", "2.4.0", "2.4.0"
			r.MPIPrte, r.MPIImage, r.FailedIsFinal = true, true, true
			r.Claims = Claims{Gate: true, Kept: true, PerNode: true, Counted: true, Torch: true,
				TorchTune: true, MPI: true, XGBoost: true, Flux: true}
		},
	)
})

// following returns the first release and those after it. Each is the one before with what it
// changes, and the table of rules has which of them come and go.
func following(first Release, changes ...func(*Release)) []Release {
	all := []Release{first}
	for _, change := range changes {
		r := all[len(all)-1]
		change(&r)
		for _, rule := range rules {
			for _, c := range rule.changes {
				if c.In == r.Name {
					r.Rules = r.Rules.with(rule.rule, !r.Rules.Has(rule.rule))
				}
			}
		}
		all = append(all, r)
	}
	return all
}

// Latest returns the release that applies unless a caller names another one: the last one whose
// source was compared. A change to the value does not affect others.
func Latest() *Release {
	at := len(releases()) - 1
	for releases()[at].Unread() {
		at--
	}
	r := releases()[at]
	return &r
}

// Kueue returns the release whose code Kueue 0.17 to 0.19 links, whatever release a cluster runs.
func Kueue() *Release {
	r, _ := Parse("2.2")
	return r
}

// Known returns copies of all releases, the oldest first. The last ones may be Unread.
func Known() []Release { return slices.Clone(releases()) }

// Compared returns copies of the releases whose source was compared, the oldest first. Latest is
// the last one.
func Compared() []Release {
	return slices.DeleteFunc(Known(), func(r Release) bool { return r.Unread() })
}

// Or returns the release, or the latest one for nil.
func (r *Release) Or() *Release {
	if r == nil {
		return Latest()
	}
	return r
}

// Parse returns the release of a minor version such as 2.2, or of a full one such as 2.2.1. A
// leading v is optional. The error names the known ones. The main branch, next, is an error of its
// own: it has no release to take definitions from.
func Parse(version string) (*Release, error) {
	bare := strings.TrimPrefix(version, "v")
	var known []string
	for _, r := range releases() {
		if bare == r.Name || bare == r.Version {
			return &r, nil
		}
		known = append(known, fmt.Sprintf("%s (%s)", r.Name, r.Version))
	}
	list := strings.Join(known, ", ")
	if version == "next" {
		return nil, fmt.Errorf(
			"next is the main branch of the Trainer, which no module proxy serves; the known "+
				"releases are %s", list)
	}
	hint := ""
	if near := nearest(bare); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return nil, fmt.Errorf("%q is not a known release of the Trainer: %s%s", version, list, hint)
}

// nearest returns the known minor version in a text with another patch version or other signs.
// Examples are 2.2.7 and 22. It returns "" for none.
func nearest(version string) string {
	numbers := strings.FieldsFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if len(numbers) == 1 {
		numbers = strings.Split(numbers[0], "")
	}
	for _, r := range releases() {
		if len(numbers) > 1 && r.Name == numbers[0]+"."+numbers[1] {
			return r.Name
		}
	}
	return ""
}

// Index returns the index of a release among the known ones, the oldest first, or -1 if unknown.
func (r *Release) Index() int {
	return slices.IndexFunc(releases(), func(other Release) bool {
		return other.Version == r.Or().Version
	})
}
