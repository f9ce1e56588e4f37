// Package jobs runs the controller code of the JobSet that its program links.
package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"

	"github.com/trainweld/trainweld/fuzz/oracle"
)

// Code is JobSet's code. Its fields are the calls whose Go signatures differ between releases.
type Code struct {
	// Webhooks registers the webhooks, for JobSets and Pods.
	Webhooks func(ctrl.Manager) error
	// Reconciler returns the reconciler.
	Reconciler func(client.Client, *apiruntime.Scheme) reconcile.Reconciler
}

// AddToScheme adds JobSet's types.
func (Code) AddToScheme(scheme *apiruntime.Scheme) error { return jobset.AddToScheme(scheme) }

// Hooks registers the webhooks.
func (c Code) Hooks(m ctrl.Manager) error { return c.Webhooks(m) }

// Create runs JobSet's reconciler until it creates nothing more, and plays the Job controller: Jobs
// that others wait for become complete or ready. It returns the objects as they were sent.
func (c Code) Create(scheme *apiruntime.Scheme, stored oracle.Object) ([]client.Object, error) {
	js := &jobset.JobSet{}
	if err := oracle.Convert(stored, js); err != nil {
		return nil, err
	}
	ctx := context.Background()
	sent := map[string]client.Object{}
	var lock sync.Mutex
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(js.DeepCopy()).
		WithStatusSubresource(&jobset.JobSet{}, &batchv1.Job{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object,
				opts ...client.CreateOption) error {
				lock.Lock()
				sent[fmt.Sprintf("%T %s", object, object.GetName())] = object.DeepCopyObject().(client.Object)
				lock.Unlock()
				// the API server's default
				if job, ok := object.(*batchv1.Job); ok && job.Spec.Parallelism == nil {
					one := int32(1)
					job.Spec.Parallelism = &one
				}
				return c.Create(ctx, object, opts...)
			},
		})
	if err := controllers.SetupJobSetIndexes(ctx, indexer{builder}); err != nil {
		return nil, err
	}
	cluster := builder.Build()
	reconciler := c.Reconciler(cluster, scheme)
	for before := -1; before != len(sent); {
		before = len(sent)
		if _, err := reconciler.Reconcile(
			ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(js)}); err != nil {
			return nil, err
		}
		if !createsInSteps(js) || js.Spec.Suspend != nil && *js.Spec.Suspend {
			break // all that comes is there
		}
		if err := advance(ctx, cluster, js); err != nil {
			return nil, err
		}
	}
	return slices.Collect(maps.Values(sent)), nil
}

// Resume runs JobSet's reconciler once over a stored JobSet and its Jobs. It returns the Jobs that
// the reconciler updates, as it sends them.
func (c Code) Resume(scheme *apiruntime.Scheme, stored oracle.Object,
	existing []*batchv1.Job) (updated []*batchv1.Job, err error) {
	js := &jobset.JobSet{}
	if err := oracle.Convert(stored, js); err != nil {
		return nil, err
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(js).WithStatusSubresource(
		&jobset.JobSet{}, &batchv1.Job{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Update: func(ctx context.Context, c client.WithWatch, object client.Object,
				opts ...client.UpdateOption) error {
				if job, ok := object.(*batchv1.Job); ok {
					updated = append(updated, job.DeepCopy())
				}
				return c.Update(ctx, object, opts...)
			},
		})
	for _, job := range existing {
		builder.WithObjects(job)
	}
	ctx := context.Background()
	if err := controllers.SetupJobSetIndexes(ctx, indexer{builder}); err != nil {
		return nil, err
	}
	_, err = c.Reconciler(builder.Build(), scheme).Reconcile(
		ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(js)})
	return updated, err
}

// advance makes Jobs ready, and complete where another waits for that.
func advance(ctx context.Context, c client.Client, js *jobset.JobSet) error {
	var jobs batchv1.JobList
	if err := c.List(ctx, &jobs); err != nil {
		return err
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if job.Status.Ready != nil {
			continue
		}
		if awaitedComplete(js, job.Labels[jobset.ReplicatedJobNameKey]) {
			job.Status.Conditions = []batchv1.JobCondition{
				{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}
		job.Status.Ready = job.Spec.Parallelism
		if err := c.Status().Update(ctx, job); err != nil {
			return err
		}
	}
	return nil
}

// createsInSteps reports whether some Jobs are created after others.
func createsInSteps(js *jobset.JobSet) bool {
	policy := js.Spec.StartupPolicy
	return policy != nil && policy.StartupPolicyOrder == jobset.InOrder ||
		slices.ContainsFunc(js.Spec.ReplicatedJobs, func(r jobset.ReplicatedJob) bool {
			return len(r.DependsOn) > 0
		})
}

func awaitedComplete(js *jobset.JobSet, name string) bool {
	return slices.ContainsFunc(js.Spec.ReplicatedJobs, func(r jobset.ReplicatedJob) bool {
		return slices.Contains(
			r.DependsOn, jobset.DependsOn{Name: name, Status: jobset.DependencyComplete})
	})
}

// indexer gives a fake client the indexes that the manager's cache would have.
type indexer struct{ builder *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, object client.Object, field string,
	extract client.IndexerFunc) error {
	i.builder.WithIndex(object, field, extract)
	return nil
}
