package finding

import "slices"

// Stricter tells whether an error refuses what the admission of a cluster takes. Admission is what happens
// when a TrainJob or a runtime is applied: the API server with the definitions that the Trainer ships, asked
// to be strict about unknown fields as kubectl asks it, and the Trainer's webhooks (Trainer v2.3.0). So the
// findings that are not stricter are the verdict of that admission: there is such an error exactly where it
// refuses the object, for what the calls of package render/admission find.
//
// Stricter are all errors about objects that a controller makes later, JobSets and their Jobs and Pods, and
// those of the codes that docs/differences.md lists. It says nothing of warnings, which refuse nothing.
func (f Finding) Stricter() bool {
	switch f.Object.Kind {
	case TrainJobKind, RuntimeKind, clusterRuntimeKind, "":
		return slices.Contains(stricter, f.Code)
	default:
		return true
	}
}

const clusterRuntimeKind = "ClusterTrainingRuntime"

// TrainJobKind and RuntimeKind are the kinds of the objects in which a check of patches finds something; their
// names are for the caller to fill in, who knows them.
const (
	TrainJobKind = "TrainJob"
	RuntimeKind  = "TrainingRuntime"
)

// StricterCodes are the codes of findings on TrainJobs and runtimes with which this project is stricter than
// the admission of a cluster, in the order of their numbers.
func StricterCodes() []Code { return slices.Clone(stricter) }

// stricter has a row in docs/differences.md for each of its codes.
var stricter = []Code{
	// What JobSet or the Job API refuses later.
	CodeUnknownJob,
	CodeUnknownContainer,
	CodeValueAndValueFrom,
	CodeEnvWithoutName,
	CodeTwoSources,
	// What gets lost in silence.
	CodeDirective,
	CodeOneMountPath,
	CodeNoMergeKey,
	// Managers that disagree.
	CodeOverlap,
	CodeUnion,
	// What only a cluster can name.
	CodeNoName,
	// What never comes to run.
	CodeNeverCreated,
	CodeNeverResumed,
	CodePortsTakenForOne,
	CodeFileKeyRef,
	CodeMPIImplementation,
	CodeHostfile,
	CodeFluxNodes,
	CodeFluxCommand,
	CodeEndlessUpdate,
}
