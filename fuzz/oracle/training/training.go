// Package training runs the controller code of the Trainer that its program links.
package training

import (
	"context"
	"fmt"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	trainerruntime "github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/webhooks"

	"github.com/trainweld/trainweld/fuzz/oracle"
)

// Code is the Trainer's code. Its fields are the calls whose Go signatures differ between releases.
type Code struct {
	// Types add the types of the schedulers that the Trainer has a plugin for.
	Types []func(*apiruntime.Scheme) error
	// Runtimes is core.New.
	Runtimes func(context.Context, client.Client,
		client.FieldIndexer) (map[string]trainerruntime.Runtime, error)
	// Labeled says that the webhooks omit runtimes with a label: see oracle.Trainer.
	Labeled bool
}

// AddToScheme adds the types of the objects that the controller reads and applies.
func (c Code) AddToScheme(scheme *apiruntime.Scheme) error {
	for _, add := range append(
		[]func(*apiruntime.Scheme) error{trainer.AddToScheme, jobset.AddToScheme}, c.Types...) {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}

// SkipsLabeled returns Labeled.
func (c Code) SkipsLabeled() bool { return c.Labeled }

// Empty returns an empty runtime or JobSet.
func (Code) Empty(kind string) client.Object {
	switch kind {
	case trainer.TrainingRuntimeKind:
		return &trainer.TrainingRuntime{}
	case trainer.ClusterTrainingRuntimeKind:
		return &trainer.ClusterTrainingRuntime{}
	case "JobSet":
		return &jobset.JobSet{}
	}
	return nil
}

// Hooks registers the webhooks over the manager's client.
func (c Code) Hooks(m ctrl.Manager, indexer client.FieldIndexer) error {
	runtimes, err := c.Runtimes(context.Background(), m.GetClient(), indexer)
	if err != nil {
		return fmt.Errorf("set up the Trainer's runtimes: %w", err)
	}
	if kind, err := webhooks.Setup(m, runtimes); err != nil {
		return fmt.Errorf("set up the webhooks of %s: %w", kind, err)
	}
	return nil
}

// Build validates the TrainJob as the webhook does, and builds the objects as the controller does.
func (c Code) Build(cluster client.Client, indexer client.FieldIndexer,
	stored oracle.Object) oracle.Outcome {
	job := &trainer.TrainJob{}
	if err := oracle.Convert(stored, job); err != nil {
		return oracle.Outcome{Failed: err.Error()}
	}
	runtimes, err := c.Runtimes(context.Background(), cluster, indexer)
	if err != nil {
		return oracle.Outcome{Failed: err.Error()}
	}
	key := trainerruntime.RuntimeRefToRuntimeRegistryKey(job.Spec.RuntimeRef)
	impl, ok := runtimes[key]
	if !ok {
		unsupported := fmt.Sprintf("unsupported runtime: %s", key)
		return oracle.Outcome{Failed: unsupported, Rejected: []string{unsupported}}
	}
	outcome := oracle.Outcome{Rejected: validate(impl, job)}
	if outcome.Objects, err = build(impl, job); err != nil {
		outcome.Failed = err.Error()
	}
	return outcome
}

func validate(impl trainerruntime.Runtime, job *trainer.TrainJob) (rejected []string) {
	defer func() {
		if r := recover(); r != nil {
			rejected = append(rejected, fmt.Sprintf("panic: %v", r))
		}
	}()
	_, errs := impl.ValidateObjects(context.Background(), nil, job.DeepCopy())
	for _, err := range errs {
		rejected = append(rejected, err.Error())
	}
	return rejected
}

func build(impl trainerruntime.Runtime,
	job *trainer.TrainJob) (objects []oracle.Object, err error) {
	defer func() {
		if r := recover(); r != nil {
			objects, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	built, err := impl.NewObjects(context.Background(), job.DeepCopy())
	if err != nil {
		return nil, err
	}
	for _, object := range built {
		asJSON := oracle.Object{}
		if err := oracle.Convert(object, &asJSON); err != nil {
			return nil, err
		}
		objects = append(objects, asJSON)
	}
	return objects, nil
}
