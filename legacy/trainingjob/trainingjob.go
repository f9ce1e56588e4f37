package trainingjob

import (
	"fmt"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Group and Version are those of the old API.
const (
	Group   = "kubeflow.org"
	Version = "v1"
)

// Kinds are the kinds that Convert takes.
func Kinds() []string {
	return []string{
		kubeflow.PyTorchJobKind, kubeflow.MPIJobKind, kubeflow.XGBoostJobKind, kubeflow.JAXJobKind, kubeflow.TFJobKind, kubeflow.PaddleJobKind,
	}
}

// New is an empty object of one of the Kinds, for a decoder to fill; nil for any other kind.
func New(kind string) runtime.Object {
	switch kind {
	case kubeflow.PyTorchJobKind:
		return &kubeflow.PyTorchJob{}
	case kubeflow.MPIJobKind:
		return &kubeflow.MPIJob{}
	case kubeflow.XGBoostJobKind:
		return &kubeflow.XGBoostJob{}
	case kubeflow.JAXJobKind:
		return &kubeflow.JAXJob{}
	case kubeflow.TFJobKind:
		return &kubeflow.TFJob{}
	case kubeflow.PaddleJobKind:
		return &kubeflow.PaddleJob{}
	}
	return nil
}

// GangScheduler is the scheduler that starts the Pods of a job together. The old operator was told its
// name on its command line, so no job says it.
type GangScheduler string

const (
	// Coscheduling is the plugin of that name of scheduler-plugins.
	Coscheduling GangScheduler = "coscheduling"
	// Volcano is the scheduler of that name.
	Volcano GangScheduler = "volcano"
)

// Options says how to convert. The zero value makes a runtime for the job.
type Options struct {
	// RuntimeName is an existing runtime to use instead of a new one. It must be made for the
	// framework of the job, and all Pods of the job must be of one kind.
	RuntimeName string
	// RuntimeKind is the kind of that runtime: ClusterTrainingRuntime, which is the default as in
	// the API, or TrainingRuntime.
	RuntimeKind string
	// Runtime is the spec of that runtime, where it is known. Convert then tells what the runtime
	// does not do as the old job did; without it, what depends on the runtime is a warning.
	Runtime *trainer.TrainingRuntimeSpec
	// Manager is the manager of the patch with which the Pods of an existing runtime are made to fit.
	// Empty is trainer.kubeflow.org/kubeflow-sdk.
	Manager string
	// Gang asks for gang scheduling also of a job without a schedulingPolicy, and says by which
	// scheduler. Empty leaves it to the job: its scheduler's name, or the fields of its
	// schedulingPolicy.
	Gang GangScheduler
}

// Result is what a job becomes.
type Result struct {
	// Runtime is the runtime that the TrainJob names; nil where Options name an existing one.
	Runtime *trainer.TrainingRuntime
	// TrainJob is the job.
	TrainJob *trainer.TrainJob
}

// Objects are the objects in the order in which they are to be applied: the Trainer refuses a TrainJob
// whose runtime is not there.
func (r *Result) Objects() []any {
	if r == nil {
		return nil
	}
	if r.Runtime == nil {
		return []any{r.TrainJob}
	}
	return []any{r.Runtime, r.TrainJob}
}

// Convert turns a training job of kubeflow.org/v1 into what Trainer 2.3 runs in the same way. The job may
// stand as its author wrote it; the defaults of the old API are filled in. It is never changed, and the
// result shares no memory with it.
//
// The result is nil where a finding is an error. All findings name the old job and a field of it, or of
// what the field becomes.
func Convert(job runtime.Object, opts Options) (*Result, finding.List) {
	c := &conversion{opts: opts}
	switch job := job.(type) {
	case *kubeflow.PyTorchJob:
		c.pyTorch(job.DeepCopy())
	case *kubeflow.MPIJob:
		c.mpi(job.DeepCopy())
	case *kubeflow.XGBoostJob:
		c.xgBoost(job.DeepCopy())
	case *kubeflow.JAXJob:
		c.jax(job.DeepCopy())
	case *kubeflow.TFJob:
		c.tensorFlow(job.DeepCopy())
	case *kubeflow.PaddleJob:
		c.paddle(job.DeepCopy())
	default:
		c.findings = append(c.findings, finding.Finding{
			Code: finding.CodeUnknownKind, Severity: finding.Error, Path: fieldpath.Fields("kind"),
			Message: fmt.Sprintf("%T is no training job of %s/%s", job, Group, Version),
			Remedy:  finding.Remedy{Text: "give one of " + strings.Join(Kinds(), ", ")},
		})
	}
	if c.findings.Err() != nil {
		return nil, c.findings
	}
	result := c.assemble()
	if c.findings.Err() != nil {
		return nil, c.findings
	}
	return result, c.findings
}
