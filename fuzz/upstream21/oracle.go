// Package upstream21 renders a TrainJob with the code of Trainer 2.1.
//
// It runs pkg/runtime/core of the module github.com/kubeflow/trainer/v2 v2.1.0 in process, over a fake client that holds only
// the runtime. Before that it sets the API server's defaults by the CRDs of the module:
//
//	oracle, err := upstream21.New(moduleDir)
//	if err != nil {
//		return err
//	}
//	outcome := oracle.Render(trainJob, runtime) // both as JSON objects
//
// The package's tests compare trainweld's renderings of old TrainJobs with it. Two versions of one module cannot be in one
// program, so this module does not import trainweld. Instead a program of trainweld's own (fuzz/oldjobs) generates the pairs
// and renders them, and the two exchange JSON. A failure prints the smallest pair that still differs and the command to repeat
// it:
//
//	TRAINWELD_PAIR=42 go test -run TestPairs .      one pair
//	TRAINWELD_SEED=7 go test -run TestPairs .       another series of pairs
//	TRAINWELD_PAIRS=20000 go test -run TestPairs .  a longer one
package upstream21

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	trainerruntime "github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	"github.com/trainweld/trainweld/fuzz/definition"
)

// Object is an object as JSON.
type Object = definition.Object

// Oracle runs upstream's code. Its methods must not run concurrently: upstream keeps its runtimes in package variables.
type Oracle struct {
	scheme *apiruntime.Scheme
	definition.Set
}

// New reads the CRDs of the Trainer module in the directory.
func New(module string) (*Oracle, error) {
	log.SetLogger(logr.Discard()) // avoids a complaint of controller-runtime
	o := &Oracle{scheme: apiruntime.NewScheme()}
	for _, add := range []func(*apiruntime.Scheme) error{
		clientscheme.AddToScheme, trainer.AddToScheme, jobset.AddToScheme, coscheduling.AddToScheme, volcano.AddToScheme,
	} {
		if err := add(o.scheme); err != nil {
			return nil, fmt.Errorf("scheme: %w", err)
		}
	}
	definitions, err := definition.Read(module)
	o.Set = definitions
	return o, err
}

// Outcome is upstream's result for one TrainJob.
type Outcome struct {
	// JobSet is the JobSet that the controller would apply, even if the webhook rejects the TrainJob.
	JobSet *jobset.JobSet
	// Err is the error or the panic of the controller, if it returned no JobSet.
	Err error
	// Refused are the errors of the validating webhook, or its panic.
	Refused []string
}

// Render handles a TrainJob as Trainer 2.1 does in a cluster with the runtime. It changes neither argument.
func (o *Oracle) Render(trainJob, runtime Object) (outcome Outcome) {
	defer func() {
		if r := recover(); r != nil {
			outcome.JobSet, outcome.Err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	var job trainer.TrainJob
	if err := o.store(trainJob, &job); err != nil {
		return Outcome{Err: err}
	}
	job.UID = "00000000-0000-0000-0000-000000000001"
	impl, err := o.runtimeOf(&job, runtime)
	if err != nil {
		return Outcome{Err: err}
	}
	outcome.Refused = validate(impl, &job)
	outcome.JobSet, outcome.Err = build(impl, &job)
	return outcome
}

// validate asks the validating webhook.
func validate(impl trainerruntime.Runtime, job *trainer.TrainJob) (refused []string) {
	defer func() {
		if r := recover(); r != nil {
			refused = append(refused, fmt.Sprintf("panic: %v", r))
		}
	}()
	_, errs := impl.ValidateObjects(context.Background(), nil, job.DeepCopy())
	for _, err := range errs {
		refused = append(refused, err.Error())
	}
	return refused
}

// build returns the JobSet among the objects that the controller applies, without its owner.
func build(impl trainerruntime.Runtime, job *trainer.TrainJob) (*jobset.JobSet, error) {
	built, err := impl.NewObjects(context.Background(), job.DeepCopy())
	if err != nil {
		return nil, err
	}
	for _, object := range built {
		var asJSON Object
		if err := convert(object, &asJSON); err != nil {
			return nil, err
		}
		if asJSON["kind"] != "JobSet" {
			continue
		}
		js := &jobset.JobSet{}
		err := convert(asJSON, js)
		js.OwnerReferences = nil
		return js, err
	}
	return nil, errors.New("upstream built no JobSet")
}

// store decodes the object as the API server would store it.
func (o *Oracle) store(object Object, into any) error {
	stored, err := o.Default(object)
	if err != nil {
		return err
	}
	return convert(stored, into)
}

// runtimeOf sets up upstream's code over a client that holds the runtime.
func (o *Oracle) runtimeOf(job *trainer.TrainJob, runtime Object) (trainerruntime.Runtime, error) {
	object := &trainer.ClusterTrainingRuntime{}
	if err := o.store(runtime, object); err != nil {
		return nil, err
	}
	object.Namespace = ""
	builder := fake.NewClientBuilder().WithScheme(o.scheme).WithObjects(object)
	index := &indexer{builder}
	// The framework asks for its indexes before it gets a client. A client without indexes suffices there, since rendering
	// looks up objects by name only.
	runtimes, err := core.New(context.Background(), builder.Build(), index)
	if err != nil {
		return nil, fmt.Errorf("set up the Trainer's runtimes: %w", err)
	}
	key := trainerruntime.RuntimeRefToRuntimeRegistryKey(job.Spec.RuntimeRef)
	impl, ok := runtimes[key]
	if !ok {
		return nil, fmt.Errorf("unsupported runtime: %s", key)
	}
	return impl, nil
}

// indexer accepts the framework's indexes and does not use them.
type indexer struct{ *fake.ClientBuilder }

func (i *indexer) IndexField(_ context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	i.ClientBuilder = i.WithIndex(object, field, extract)
	return nil
}

// convert converts a Go value to another through JSON.
func convert(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encode %T: %w", from, err)
	}
	// Kubernetes' own decoder preserves integers.
	if err := utiljson.Unmarshal(data, to); err != nil {
		return fmt.Errorf("decode %T: %w", to, err)
	}
	return nil
}
