package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// managerName owns the patch that this program adds.
const managerName = "kueue.x-k8s.io/manager"

// The kinds that this program reads. It reads objects, so that it never drops a field that its Go
// types lack.
var (
	trainJobKind       = trainer.GroupVersion.WithKind(trainer.TrainJobKind)
	runtimeKind        = trainer.GroupVersion.WithKind(trainer.TrainingRuntimeKind)
	clusterRuntimeKind = trainer.GroupVersion.WithKind(trainer.ClusterTrainingRuntimeKind)
	workloadKind       = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2",
		Kind: "Workload"}
	flavorKind = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2",
		Kind: "ResourceFlavor"}
)

// objectOf returns an empty object of a kind.
func objectOf(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// reconciler applies the admission of a TrainJob's Workload.
type reconciler struct {
	client client.Client
	events events.EventRecorder
}

// Reconcile admits a suspended TrainJob, or suspends it and then removes the patch. The Trainer
// accepts changes of patches only while a TrainJob is suspended. One update may change them and
// resume it.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := objectOf(trainJobKind)
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	w, err := r.workloadOf(ctx, object)
	if err != nil || w == nil {
		return ctrl.Result{}, err
	}
	suspended, _, err := unstructured.NestedBool(object.Object, "spec", "suspend")
	if err != nil {
		return ctrl.Result{}, err
	}
	var changed map[string]any
	switch {
	case w.isAdmitted() && !suspended:
		return ctrl.Result{}, nil // it runs
	case w.isAdmitted():
		changed, err = r.admitted(ctx, object, w)
	case suspended:
		changed, err = runtimepatch.RemoveIn(object.Object, managerName)
	default:
		changed, err = withSuspend(object.Object, true), nil
	}
	if r.rejects(object, err) {
		return ctrl.Result{}, nil // only a change of the TrainJob or its Workload helps
	}
	if err != nil || reflect.DeepEqual(changed, object.Object) {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.client.Update(ctx, &unstructured.Unstructured{Object: changed})
}

// admitted returns the TrainJob with the smallest patch that the admission needs, and resumes it.
func (r *reconciler) admitted(ctx context.Context, object *unstructured.Unstructured,
	w *workload) (map[string]any, error) {
	job := &trainer.TrainJob{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object,
		job); err != nil {
		return nil, err
	}
	template, err := r.template(ctx, job)
	if err != nil {
		return nil, err
	}
	sets, err := r.podSets(ctx, w)
	if err != nil {
		return nil, err
	}
	planned, err := plan(template, runtimepatch.Remove(job.Spec.RuntimePatches, managerName), sets)
	if err != nil {
		return nil, err
	}
	// so that the patch comes last
	changed, err := runtimepatch.RemoveIn(object.Object, managerName)
	if err == nil && planned.TrainingRuntimeSpec != nil {
		changed, err = runtimepatch.UpsertIn(changed, planned)
	}
	if err != nil {
		return nil, err
	}
	return withSuspend(changed, false), nil
}

// rejects reports whether an error names a problem of the TrainJob. It tells the user in an event.
func (r *reconciler) rejects(object *unstructured.Unstructured, err error) bool {
	var conflicts conflict.Conflicts
	var findings finding.List
	var failed *runtimepatch.PatchError
	if !errors.As(err, &conflicts) && !errors.As(err, &findings) && !errors.As(err, &failed) {
		return false
	}
	r.events.Eventf(object, nil, corev1.EventTypeWarning, "PatchConflict", "Admit", "%s",
		short(err.Error()))
	return true
}

// short cuts a message to the bytes that the API server accepts for an event.
func short(message string) string {
	const most, mark = 1024, "…"
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most-len(mark)], "") + mark
	}
	return message
}

// template returns the JobSet template of the runtime that a TrainJob names.
func (r *reconciler) template(ctx context.Context,
	job *trainer.TrainJob) (*trainer.JobSetTemplateSpec, error) {
	ref := job.Spec.RuntimeRef
	kind, key := clusterRuntimeKind, client.ObjectKey{Name: ref.Name}
	if ref.Kind != nil && *ref.Kind == trainer.TrainingRuntimeKind {
		kind, key.Namespace = runtimeKind, job.Namespace
	}
	object, found := objectOf(kind), &trainer.ClusterTrainingRuntime{} // both kinds have one spec
	if err := r.client.Get(ctx, key, object); err != nil {
		return nil, fmt.Errorf("get %s %s: %w", kind.Kind, ref.Name, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object,
		found); err != nil {
		return nil, err
	}
	return &found.Spec.Template, nil
}

// withSuspend returns a TrainJob with its field spec.suspend. It changes no other memory than its
// own.
func withSuspend(trainJob map[string]any, suspend bool) map[string]any {
	changed := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(trainJob)}
	_ = unstructured.SetNestedField(changed.Object, suspend, "spec", "suspend") // spec is an object
	return changed.Object
}
