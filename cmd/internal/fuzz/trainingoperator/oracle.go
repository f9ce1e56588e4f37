// Package trainingoperator runs the training operator on a job of kubeflow.org/v1 and returns its
// Pods.
//
// It runs the controllers of github.com/kubeflow/training-operator v1.9.3 in process, over an empty
// client:
//
//	made, err := trainingoperator.Run(job, nil) // *kubeflow.PyTorchJob, *kubeflow.MPIJob, …
//	if err != nil {
//		return err
//	}
//	for _, pod := range made.Pods {
//		fmt.Println(pod.Name)
//	}
//
// The package's tests convert the examples of that module and other jobs with package
// cmd/internal/trainingjob. They render the result and compare Pod by Pod. Generated jobs are
// numbered:
//
//	TRAINWELD_JOB=42 go test -run TestGenerated .       one job
//	TRAINWELD_JOBS=20000 go test -run TestGenerated .   more of them
//
// It is a module of its own, so that programs with trainweld link no controller.
package trainingoperator

import (
	"context"
	"fmt"
	"io"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/control"
	"github.com/kubeflow/training-operator/pkg/controller.v1/expectation"
	"github.com/kubeflow/training-operator/pkg/controller.v1/jax"
	"github.com/kubeflow/training-operator/pkg/controller.v1/mpi"
	paddle "github.com/kubeflow/training-operator/pkg/controller.v1/paddlepaddle"
	"github.com/kubeflow/training-operator/pkg/controller.v1/pytorch"
	"github.com/kubeflow/training-operator/pkg/controller.v1/tensorflow"
	"github.com/kubeflow/training-operator/pkg/controller.v1/xgboost"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Pod is a Pod as the operator creates it.
type Pod struct {
	// Name is its name, and also the name of the Service by which other Pods find it.
	Name string
	// Type is its replica type, and Index its number among the Pods of the type.
	Type  kubeflow.ReplicaType
	Index int
	corev1.PodTemplateSpec
}

// Made is the operator's result for a job.
type Made struct {
	// Pods are ordered by their replica types, and then by their numbers.
	Pods []Pod
	// Hostfile is the hostfile of an MPIJob.
	Hostfile string
}

// Run asks the job's controller for its Pods. It first sets the defaults of the job, on a copy. The
// operator runs with the given gang scheduler, or with none if gang is nil.
func Run(job apiruntime.Object, gang control.PodGroupControlInterface) (made *Made, err error) {
	logrus.SetOutput(io.Discard)
	defer func() {
		if r := recover(); r != nil {
			made, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	job = job.DeepCopyObject()
	scheme := apiruntime.NewScheme()
	if err := kubeflow.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("scheme: %w", err)
	}
	if err := clientscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("scheme: %w", err)
	}
	scheme.Default(job)
	if o, ok := job.(metav1.Object); ok && o.GetNamespace() == "" {
		o.SetNamespace(metav1.NamespaceDefault)
	}
	pods := &control.FakePodControl{}
	base := common.JobController{
		PodControl: pods, Expectations: expectation.NewControllerExpectations(),
		Recorder: record.NewFakeRecorder(1000),
	}
	if gang != nil {
		base.Config.GangScheduling, base.PodGroupControl = "on", gang
	}
	switch job := job.(type) {
	case *kubeflow.PyTorchJob:
		r := &pytorch.PyTorchJobReconciler{JobController: base}
		r.Controller = r
		return reconcile(job, r, pods, job.Spec.PyTorchReplicaSpecs,
			kubeflow.PyTorchJobReplicaTypeMaster, kubeflow.PyTorchJobReplicaTypeWorker)
	case *kubeflow.XGBoostJob:
		r := &xgboost.XGBoostJobReconciler{JobController: base}
		r.Controller = r
		return reconcile(job, r, pods, job.Spec.XGBReplicaSpecs,
			kubeflow.XGBoostJobReplicaTypeMaster, kubeflow.XGBoostJobReplicaTypeWorker)
	case *kubeflow.JAXJob:
		r := &jax.JAXJobReconciler{JobController: base}
		r.Controller = r
		return reconcile(job, r, pods, job.Spec.JAXReplicaSpecs, kubeflow.JAXJobReplicaTypeWorker)
	case *kubeflow.TFJob:
		r := &tensorflow.TFJobReconciler{JobController: base}
		r.Controller = r
		return reconcile(job, r, pods, job.Spec.TFReplicaSpecs, kubeflow.TFJobReplicaTypeChief,
			kubeflow.TFJobReplicaTypeMaster,
			kubeflow.TFJobReplicaTypeWorker, kubeflow.TFJobReplicaTypePS,
			kubeflow.TFJobReplicaTypeEval)
	case *kubeflow.PaddleJob:
		r := &paddle.PaddleJobReconciler{JobController: base}
		r.Controller = r
		return reconcile(job, r, pods, job.Spec.PaddleReplicaSpecs,
			kubeflow.PaddleJobReplicaTypeMaster, kubeflow.PaddleJobReplicaTypeWorker)
	case *kubeflow.MPIJob:
		return runMPI(job, base, scheme)
	}
	return nil, fmt.Errorf("no controller for a %T", job)
}

// controller is the common part of all controllers except MPI's.
type controller interface {
	ReconcilePods(job any, status *kubeflow.JobStatus, pods []*corev1.Pod, t kubeflow.ReplicaType,
		spec *kubeflow.ReplicaSpec,
		replicas map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec) error
}

func reconcile(job apiruntime.Object, c controller, pods *control.FakePodControl,
	specs map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec,
	types ...kubeflow.ReplicaType) (*Made, error) {
	made := &Made{}
	for _, t := range types {
		if specs[t] == nil || *specs[t].Replicas == 0 {
			continue // the operator counts from zero up, and makes one Pod of zero replicas
		}
		pods.Clear()
		status := kubeflow.JobStatus{
			ReplicaStatuses: map[kubeflow.ReplicaType]*kubeflow.ReplicaStatus{}}
		if err := c.ReconcilePods(job, &status, nil, t, specs[t], specs); err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		for i, template := range pods.Templates {
			made.Pods = append(made.Pods, Pod{template.Name, t, i, template})
		}
	}
	return made, nil
}

// runMPI runs the controller of MPIJobs, which creates the Pods by itself. Workers come first here,
// as in a JobSet.
func runMPI(job *kubeflow.MPIJob, base common.JobController,
	scheme *apiruntime.Scheme) (*Made, error) {
	cluster := clientset.NewClientset()
	base.KubeClientSet = cluster
	r := &mpi.MPIJobReconciler{
		JobController: base, Client: fake.NewClientBuilder().WithScheme(scheme).Build(),
		Scheme: scheme}
	r.Controller = r
	status := kubeflow.JobStatus{
		ReplicaStatuses: map[kubeflow.ReplicaType]*kubeflow.ReplicaStatus{}}
	specs := job.Spec.MPIReplicaSpecs
	launcher := kubeflow.MPIJobReplicaTypeLauncher
	if err := r.ReconcilePods(job, &status, nil, launcher, specs[launcher], specs); err != nil {
		return nil, err
	}
	made := &Made{}
	ctx := context.Background()
	get := func(name string) error {
		pod, err := cluster.CoreV1().Pods(job.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		t, index := kubeflow.MPIJobReplicaTypeWorker, len(made.Pods)
		if pod.Labels[kubeflow.ReplicaTypeLabel] == "launcher" {
			t, index = launcher, 0
		}
		made.Pods = append(made.Pods, Pod{name, t, index, corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations},
			Spec:       pod.Spec,
		}})
		return nil
	}
	if worker := specs[kubeflow.MPIJobReplicaTypeWorker]; worker != nil {
		for i := range *worker.Replicas {
			if err := get(fmt.Sprintf("%s-worker-%d", job.Name, i)); err != nil {
				return nil, err
			}
		}
	}
	if err := get(job.Name + "-launcher"); err != nil {
		return nil, err
	}
	config, err := cluster.CoreV1().ConfigMaps(job.Namespace).Get(ctx, job.Name+"-config",
		metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	made.Hostfile = config.Data["hostfile"]
	return made, nil
}
