package admission

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// Stricter reports whether an error rejects an input that a cluster's admission accepts. Admission
// is the check of an applied TrainJob or runtime by the API server and the webhooks of the
// Trainer's release. The API server has the Trainer's definitions, and rejects unknown fields, as
// kubectl requests. So the other errors are the verdict of admission. One of them exists exactly if
// admission rejects the object.
//
// Errors about objects that a controller makes later are stricter: JobSets with their Jobs and
// Pods. So are the codes in docs/differences.md. For a warning, which rejects nothing, the result
// has no meaning.
func Stricter(r *release.Release, f finding.Finding) bool {
	switch f.Object.Kind {
	case trainer.TrainJobKind, trainer.TrainingRuntimeKind, trainer.ClusterTrainingRuntimeKind, "":
		return slices.Contains(stricter, f.Code) &&
			!(f.Code == codes.UnknownJob && r.Or().Rules.Has(release.PatchedJobsExist))
	default:
		return true
	}
}

// StricterCodes returns the codes, in numerical order, of findings on TrainJobs and runtimes that
// are stricter than a cluster's admission.
func StricterCodes() []finding.Code { return slices.Clone(stricter) }

// stricter has a row in docs/differences.md for each of its codes.
var stricter = []finding.Code{
	// JobSet or the Job API rejects the input later.
	codes.UnknownJob,
	codes.UnknownContainer,
	codes.ValueAndValueFrom,
	codes.EnvWithoutName,
	codes.TwoSources,
	// The cluster silently loses part of the input.
	codes.Directive,
	codes.OneMountPath,
	codes.NoMergeKey,
	// Managers disagree.
	codes.Overlap,
	codes.Union,
	// Only a cluster can choose a name.
	codes.NoName,
	// The job never runs.
	codes.NeverCreated,
	codes.NeverResumed,
	codes.PortsTakenForOne,
	codes.FileKeyRef,
	codes.MPIImplementation,
	codes.Hostfile,
	codes.FluxNodes,
	codes.FluxCommand,
	codes.ImageName,
	codes.EndlessUpdate,
	// Kueue rejects the update, where it is installed.
	codes.MovedQueue,
}
