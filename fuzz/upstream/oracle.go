// Package upstream renders a TrainJob with the Trainer's own code.
//
// It runs pkg/runtime/core of the Trainer module in process, over a fake client that holds only the runtime. Before that it
// sets the API server's defaults by the CRDs of the module:
//
//	oracle, err := upstream.New(moduleDir)
//	if err != nil {
//		return err
//	}
//	outcome := oracle.Render(trainJob, runtime) // both as JSON objects
//	for _, object := range outcome.Objects {
//		fmt.Println(object["kind"])
//	}
//
// The package's tests compare trainweld's renderings with it. The inputs are the TrainJobs of the module's own examples, the
// cases of a folder, and generated pairs. A failure prints the smallest pair that still differs and the command to repeat it:
//
//	TRAINWELD_PAIR=42 go test -run TestPairs .      one pair
//	TRAINWELD_SEED=7 go test -run TestPairs .       another series of pairs
//	TRAINWELD_PAIRS=20000 go test -run TestPairs .  a longer one
//
// Another comparison asks an API server in process, with the definitions and the webhooks of the module, whether it accepts
// generated and mutated objects. It covers new objects and changes, and compares package admission's verdict:
//
//	TRAINWELD_VERDICT=42 go test -run TestVerdicts .                            one case
//	TRAINWELD_SEED=5000 TRAINWELD_VERDICTS=5000 go test -run TestVerdicts .     the cases 5000 to 9999
//
// It is a module of its own, so that programs with trainweld link no controller.
package upstream

import (
	"context"
	"encoding/json"
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

	configapi "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	trainerruntime "github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	"github.com/trainweld/trainweld/fuzz/definition"
)

// Object is an object as JSON.
type Object = definition.Object

// Oracle runs upstream's code. Its methods must not run concurrently: upstream keeps its runtimes in package variables.
type Oracle struct {
	module string
	scheme *apiruntime.Scheme
	definition.Set
}

// Outcome is upstream's result for one TrainJob.
type Outcome struct {
	// Objects are the objects that the controller would apply, in the order in which it returned them.
	Objects []Object
	// Err is the error or the panic of the controller, if it returned no objects.
	Err error
	// Refused are the errors of the validating webhook, or its panic.
	Refused []string
}

// New reads the CRDs of the Trainer module in the directory.
func New(module string) (*Oracle, error) {
	log.SetLogger(logr.Discard()) // avoids a complaint of controller-runtime
	o := &Oracle{module: module, scheme: apiruntime.NewScheme()}
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

// Module returns the directory of the Trainer module.
func (o *Oracle) Module() string { return o.module }

// Render handles a TrainJob as a cluster with the runtime does. It drops fields that the CRDs lack, sets defaults, asks the
// webhook, and builds the objects. It changes neither argument. A nil runtime means that the cluster has none.
func (o *Oracle) Render(trainJob, runtime Object) (outcome Outcome) {
	defer func() {
		if r := recover(); r != nil {
			outcome.Objects, outcome.Err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	var job trainer.TrainJob
	if err := o.store(trainJob, &job); err != nil {
		return Outcome{Err: err}
	}
	if job.Namespace == "" {
		job.Namespace = "default"
	}
	job.UID = "00000000-0000-0000-0000-000000000001"
	impl, err := o.runtimeOf(&job, runtime)
	if err != nil {
		return Outcome{Err: err, Refused: []string{err.Error()}}
	}
	outcome.Refused = validate(impl, &job)
	built, err := impl.NewObjects(context.Background(), job.DeepCopy())
	if err != nil {
		outcome.Err = err
		return outcome
	}
	for _, object := range built {
		asJSON := Object{}
		if err := convert(object, &asJSON); err != nil {
			return Outcome{Err: err, Refused: outcome.Refused}
		}
		outcome.Objects = append(outcome.Objects, asJSON)
	}
	return outcome
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
	builder := fake.NewClientBuilder().WithScheme(o.scheme)
	if runtime != nil {
		object, err := o.runtimeObject(runtime, job.Namespace)
		if err != nil {
			return nil, err
		}
		builder = builder.WithObjects(object)
	}
	index := &indexer{builder}
	// The framework asks for its indexes before it gets a client. A client without indexes suffices there, since rendering
	// looks up objects by name only.
	runtimes, err := core.New(context.Background(), builder.Build(), index, &configapi.Configuration{})
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

func (o *Oracle) runtimeObject(runtime Object, namespace string) (client.Object, error) {
	if runtime["kind"] == trainer.TrainingRuntimeKind {
		object := &trainer.TrainingRuntime{}
		err := o.store(runtime, object)
		if object.Namespace == "" {
			object.Namespace = namespace
		}
		created(object)
		return object, err
	}
	object := &trainer.ClusterTrainingRuntime{}
	err := o.store(runtime, object)
	object.Namespace = ""
	created(object)
	return object, err
}

// created clears fields that an API server rejects in a new object, and on which the fake client fails.
func created(object client.Object) {
	object.SetDeletionTimestamp(nil)
	object.SetResourceVersion("")
	object.SetManagedFields(nil)
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
