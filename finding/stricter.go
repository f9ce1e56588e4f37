package finding

import "slices"

// Stricter reports whether an error rejects an input that a cluster's admission accepts. Admission is the check of an applied
// TrainJob or runtime by the API server and the Trainer's webhooks (Trainer v2.3.0). The API server has the Trainer's
// definitions, and rejects unknown fields, as kubectl requests. So the other errors are the verdict of admission. One of them
// exists exactly if admission rejects the object, for the findings of package render/admission.
//
// Errors about objects that a controller makes later are stricter: JobSets with their Jobs and Pods. So are the codes in
// docs/differences.md. For a warning, which rejects nothing, the result has no meaning.
func (f Finding) Stricter() bool {
	switch f.Object.Kind {
	case TrainJobKind, RuntimeKind, clusterRuntimeKind, "":
		return slices.Contains(stricter, f.Code)
	default:
		return true
	}
}

const clusterRuntimeKind = "ClusterTrainingRuntime"

// TrainJobKind and RuntimeKind are the kinds of objects in which a check of patches finds mistakes. The caller knows their
// names and sets them.
const (
	TrainJobKind = "TrainJob"
	RuntimeKind  = "TrainingRuntime"
)

// StricterCodes returns the codes, in numerical order, of findings on TrainJobs and runtimes that are stricter than a cluster's
// admission.
func StricterCodes() []Code { return slices.Clone(stricter) }

// stricter has a row in docs/differences.md for each of its codes.
var stricter = []Code{
	// JobSet or the Job API rejects the input later.
	CodeUnknownJob,
	CodeUnknownContainer,
	CodeValueAndValueFrom,
	CodeEnvWithoutName,
	CodeTwoSources,
	// The cluster silently loses part of the input.
	CodeDirective,
	CodeOneMountPath,
	CodeNoMergeKey,
	// Managers disagree.
	CodeOverlap,
	CodeUnion,
	CodeNotComposed,
	CodeNoComposition,
	// Only a cluster can choose a name.
	CodeNoName,
	// The job never runs.
	CodeNeverCreated,
	CodeNeverResumed,
	CodePortsTakenForOne,
	CodeFileKeyRef,
	CodeMPIImplementation,
	CodeHostfile,
	CodeFluxNodes,
	CodeFluxCommand,
	CodeEndlessUpdate,
	// Kueue rejects the update, where it is installed.
	CodeMovedQueue,
}
