// Package trainingjob converts a training job of kubeflow.org/v1 to a TrainJob and its
// TrainingRuntime. The job is a PyTorchJob, MPIJob, XGBoostJob, JAXJob, TFJob or PaddleJob.
//
// # Guarantees
//
// The new TrainJob has the Pods of the old API: the same number, images, commands, resources and
// volumes. It has every environment variable of the old controller under its old name.
// docs/migrate.md lists each field and each variable. It gives the reason why each is kept,
// converted or rejected. A changed meaning is a warning. A field that cannot be converted is an
// error. Convert then returns no result.
//
// # Two layouts
//
// If there is one replica type, or master and worker agree, all Pods are of one kind. They become
// one replicated job called node, under the policy of their framework. The TrainJob's spec.trainer
// holds the values that change between runs. Otherwise each replica type becomes a replicated job
// without a policy, and the runtime holds all values. The reason is that no policy of Trainer 2.3
// counts the nodes of two jobs.
//
//	trainingjob.go  Convert
//	rules.yaml      what it reports, by the names of rules.go
//	source.go       the old job: its replica types, and the checks of the old API
//	role.go         a replicated job, and the addresses of its Pods
//	pod.go          the Pod templates with new names
//	policy.go       restarts, deadlines and the end of a job
//	gang.go         gang scheduling
//	pytorch.go …    one kind each: its variables, its policy and its end
//	assemble.go     the runtime and the TrainJob
//
// The types of the old API and the facts about its controllers come from
// github.com/kubeflow/training-operator v1.9.3.
//
// Its first file to read is trainingjob.go.
package trainingjob

import (
	"fmt"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// Group and Version identify the old API.
const (
	Group   = "kubeflow.org"
	Version = "v1"
)

// Kinds returns the kinds that Convert accepts.
func Kinds() []string {
	return []string{
		kubeflow.PyTorchJobKind, kubeflow.MPIJobKind, kubeflow.XGBoostJobKind, kubeflow.JAXJobKind,
		kubeflow.TFJobKind, kubeflow.PaddleJobKind,
	}
}

// New returns an empty object of one of the Kinds for a decoder, or nil for any other kind.
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

// GangScheduler is the scheduler that starts the Pods of a job together. The old operator got its
// name on the command line, so jobs do not contain it.
type GangScheduler string

const (
	// Coscheduling is that plugin of scheduler-plugins.
	Coscheduling GangScheduler = "coscheduling"
	// Volcano is the scheduler Volcano.
	Volcano GangScheduler = "volcano"
)

// Options controls the conversion.
type Options struct {
	// Gang enables gang scheduling with this scheduler, even for a job without a schedulingPolicy.
	// Empty leaves the choice to the job: its scheduler's name, or the fields of its
	// schedulingPolicy.
	Gang GangScheduler
}

// Result holds the new objects.
type Result struct {
	// Runtime is the new runtime of the TrainJob.
	Runtime *trainer.TrainingRuntime
	// TrainJob is the new job.
	TrainJob *trainer.TrainJob
}

// Objects returns the objects in the order to apply them. The Trainer rejects a TrainJob without
// its runtime.
func (r *Result) Objects() []any {
	if r == nil {
		return nil
	}
	return []any{r.Runtime, r.TrainJob}
}

// Convert converts a training job of kubeflow.org/v1 to objects that Trainer 2.3 runs in the same
// way. It sets the defaults of the old API. It does not change job, and the result shares no memory
// with it.
//
// The result is nil if a finding is an error. Each finding names the old job, and a field of it or
// of the new objects.
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
			Code: codes.UnknownKind, Severity: finding.Error, Path: fieldpath.Fields("kind"),
			Message: fmt.Sprintf("%T is not a training job of %s/%s", job, Group, Version),
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
