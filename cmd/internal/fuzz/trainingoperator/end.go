package trainingoperator

import (
	"fmt"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	fakes "github.com/kubeflow/training-operator/pkg/common/util"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/mpi"
	paddle "github.com/kubeflow/training-operator/pkg/controller.v1/paddlepaddle"
	"github.com/kubeflow/training-operator/pkg/controller.v1/pytorch"
	"github.com/kubeflow/training-operator/pkg/controller.v1/xgboost"
	"github.com/kubeflow/training-operator/pkg/util"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// Succeeded asks the job's controller whether the job is done. The given numbers of Pods of each
// type have succeeded, and the others run. It supports the kinds with a master or a launcher. The
// controllers of the others need a cluster for the answer.
func Succeeded(job apiruntime.Object, succeeded map[kubeflow.ReplicaType]int32) (bool, error) {
	job = job.DeepCopyObject()
	scheme := apiruntime.NewScheme()
	if err := kubeflow.AddToScheme(scheme); err != nil {
		return false, fmt.Errorf("scheme: %w", err)
	}
	scheme.Default(job)
	base := common.JobController{Recorder: record.NewFakeRecorder(1000),
		WorkQueue: &fakes.FakeWorkQueue[string]{}}
	var specs map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec
	var c interface {
		UpdateJobStatus(any, map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec,
			*kubeflow.JobStatus) error
	}
	switch job := job.(type) {
	case *kubeflow.PyTorchJob:
		specs = job.Spec.PyTorchReplicaSpecs
		r := &pytorch.PyTorchJobReconciler{JobController: base}
		r.Controller, c = r, r
	case *kubeflow.XGBoostJob:
		specs = job.Spec.XGBReplicaSpecs
		r := &xgboost.XGBoostJobReconciler{JobController: base}
		r.Controller, c = r, r
	case *kubeflow.PaddleJob:
		specs = job.Spec.PaddleReplicaSpecs
		r := &paddle.PaddleJobReconciler{JobController: base}
		r.Controller, c = r, r
	case *kubeflow.MPIJob:
		specs = job.Spec.MPIReplicaSpecs
		r := &mpi.MPIJobReconciler{JobController: base}
		r.Controller, c = r, r
	default:
		return false, fmt.Errorf("no answer for a %T", job)
	}
	status := kubeflow.JobStatus{
		ReplicaStatuses: map[kubeflow.ReplicaType]*kubeflow.ReplicaStatus{}}
	for t, spec := range specs {
		status.ReplicaStatuses[t] = &kubeflow.ReplicaStatus{
			Succeeded: succeeded[t], Active: *spec.Replicas - succeeded[t]}
	}
	if err := c.UpdateJobStatus(job, specs, &status); err != nil {
		return false, err
	}
	return util.IsSucceeded(status), nil
}
