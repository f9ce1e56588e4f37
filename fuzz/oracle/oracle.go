package oracle

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Trainer is the Trainer's code: package training.
type Trainer interface {
	AddToScheme(*apiruntime.Scheme) error
	// Hooks registers the webhooks.
	Hooks(ctrl.Manager, client.FieldIndexer) error
	// Build validates a stored TrainJob, and returns the objects that the controller applies.
	Build(client.Client, client.FieldIndexer, Object) Outcome
	// Empty returns an empty object of a kind that the cluster holds, or nil for another kind.
	Empty(kind string) client.Object
	// SkipsLabeled reports whether the webhooks' configuration omits runtimes with the label
	// trainer.kubeflow.org/webhook-validation: disabled.
	SkipsLabeled() bool
}

// JobSet is JobSet's code: package jobs.
type JobSet interface {
	AddToScheme(*apiruntime.Scheme) error
	// Hooks registers the webhooks, for JobSets and Pods.
	Hooks(ctrl.Manager) error
	// Create returns the objects that the controller creates for a stored JobSet.
	Create(*apiruntime.Scheme, Object) ([]client.Object, error)
}

// Modules are the directories of the two modules. They hold the definitions. An empty one has none.
type Modules struct{ Trainer, JobSet string }

// Oracle runs the code of a release. Its methods must not run concurrently: the Trainer keeps its
// runtimes in package variables.
type Oracle struct {
	definitions

	trainer     Trainer
	jobSet      JobSet
	scheme      *apiruntime.Scheme
	hooks       map[string]*admission.Webhook
	jobSetHooks map[string]*admission.Webhook
	warnings    []string // of the webhooks, since the last Apply began
}

// New returns the oracle of a release. Its cluster holds nothing. One of trainer and jobSet may be
// nil.
func New(trainer Trainer, jobSet JobSet, modules Modules) (*Oracle, error) {
	ctrl.SetLogger(logr.Discard()) // avoids a complaint of controller-runtime
	o := &Oracle{trainer: trainer, jobSet: jobSet, scheme: apiruntime.NewScheme(),
		jobSetHooks: map[string]*admission.Webhook{}}
	adders := []func(*apiruntime.Scheme) error{clientscheme.AddToScheme}
	if trainer != nil {
		adders = append(adders, trainer.AddToScheme)
	}
	if jobSet != nil {
		adders = append(adders, jobSet.AddToScheme)
	}
	for _, add := range adders {
		if err := add(o.scheme); err != nil {
			return nil, fmt.Errorf("scheme: %w", err)
		}
	}
	var err error
	if o.definitions, err = readDefinitions(modules); err != nil {
		return nil, err
	}
	if jobSet != nil {
		if err := jobSet.Hooks(
			&manager{scheme: o.scheme, client: o.cluster().Build(), hooks: o.jobSetHooks}); err !=
			nil {
			return nil, fmt.Errorf("set up JobSet's webhooks: %w", err)
		}
	}
	if trainer == nil {
		return o, nil
	}
	return o, o.Hold()
}

func (o *Oracle) cluster() *fake.ClientBuilder {
	return fake.NewClientBuilder().WithScheme(o.scheme)
}

// Outcome is the release's result for one TrainJob.
type Outcome struct {
	// Objects are the objects that the controller would apply, in the order in which it returned
	// them.
	Objects []Object `json:"objects,omitempty"`
	// Failed is the error or the panic of the controller, if it returned no objects.
	Failed string `json:"failed,omitempty"`
	// Rejected are the errors of the validating webhook, or its panic.
	Rejected []string `json:"refused,omitempty"`
}

var errNoTrainer, errNoJobSet = errors.New("this oracle has no Trainer"),
	errors.New("this oracle has no JobSet")

// Render handles a TrainJob as a cluster with the runtime does. It drops fields that the
// definitions lack, sets defaults, asks the Trainer's validation, and builds the objects. It
// changes no argument. A nil runtime means that the cluster has none. Each of the later runtimes
// then replaces the one before in the cluster, and the controller builds the objects again.
func (o *Oracle) Render(trainJob, runtime Object, later ...Object) (outcome Outcome) {
	if o.trainer == nil {
		return Outcome{Failed: errNoTrainer.Error()}
	}
	defer func() {
		if r := recover(); r != nil {
			outcome.Objects, outcome.Failed = nil, fmt.Sprintf("panic: %v", r)
		}
	}()
	job, err := o.Default(trainJob)
	if err != nil {
		return Outcome{Failed: err.Error()}
	}
	metadata, _ := job["metadata"].(Object)
	if metadata == nil {
		metadata = Object{}
		job["metadata"] = metadata
	}
	if metadata["namespace"] == nil || metadata["namespace"] == "" {
		metadata["namespace"] = "default"
	}
	metadata["uid"] = "00000000-0000-0000-0000-000000000001"
	builder := o.cluster()
	if runtime != nil {
		held, err := o.Default(runtime)
		if err != nil {
			return Outcome{Failed: err.Error(), Rejected: []string{err.Error()}}
		}
		object, err := o.typed(held)
		if err != nil {
			return Outcome{Failed: err.Error(), Rejected: []string{err.Error()}}
		}
		switch {
		case !o.definitions[runtime["kind"].(string)].namespaced:
			object.SetNamespace("")
		case object.GetNamespace() == "":
			object.SetNamespace(metadata["namespace"].(string))
		}
		builder.WithObjects(object)
	}
	// The framework asks for its indexes before it gets a client. A client without indexes suffices
	// there, since rendering looks up objects by name only.
	cluster := cached{builder.Build()}
	outcome = o.trainer.Build(cluster, indexer{builder}, job)
	for _, next := range later {
		if err := o.replace(cluster, next); err != nil {
			return Outcome{Failed: err.Error()}
		}
		// a builder takes an index once
		outcome = o.trainer.Build(cluster, indexer{o.cluster()}, job)
	}
	return outcome
}

// cached is a client whose objects have their kinds, as a manager's cache returns them. A snapshot
// of a runtime keeps the kind.
type cached struct{ client.Client }

// Get reads an object.
func (c cached) Get(ctx context.Context, key client.ObjectKey, object client.Object,
	opts ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, object, opts...); err != nil {
		return err
	}
	kind, err := c.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}

// replace updates an object of a cluster.
func (o *Oracle) replace(cluster client.Client, object Object) error {
	held, err := o.typed(object)
	if err != nil {
		return err
	}
	before := o.trainer.Empty(object["kind"].(string))
	if err := cluster.Get(context.Background(), client.ObjectKeyFromObject(held),
		before); err != nil {
		return err
	}
	held.SetResourceVersion(before.GetResourceVersion())
	return cluster.Update(context.Background(), held)
}

// typed returns a stored object as its Go type, for the cluster to hold.
func (o *Oracle) typed(object Object) (client.Object, error) {
	kind, _ := object["kind"].(string)
	held := o.trainer.Empty(kind)
	if held == nil {
		return nil, fmt.Errorf("the cluster holds no %q", kind)
	}
	if err := Convert(object, held); err != nil {
		return nil, err
	}
	// An API server rejects these fields in a new object, and the fake client fails on them.
	held.SetDeletionTimestamp(nil)
	held.SetResourceVersion("")
	held.SetManagedFields(nil)
	return held, nil
}

// indexer gives a fake client the indexes that a manager's cache would have.
type indexer struct{ builder *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, object client.Object, field string,
	extract client.IndexerFunc) error {
	i.builder.WithIndex(object, field, extract)
	return nil
}
