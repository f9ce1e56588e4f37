// Command v20 answers with the code of Trainer 2.0.1 and JobSet 0.8.2: see package oracle.
package main

import (
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/webhooks"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"github.com/kubeflow/trainer/v2/pkg/runtime/core"

	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/oracle/jobs"
	"github.com/trainweld/trainweld/fuzz/oracle/training"
)

func main() {
	trainer := training.Code{
		Types:    []func(*apiruntime.Scheme) error{coscheduling.AddToScheme},
		Runtimes: core.New,
	}
	jobSet := jobs.Code{
		Webhooks: jobSetWebhooks,
		Reconciler: func(c client.Client, scheme *apiruntime.Scheme) reconcile.Reconciler {
			return controllers.NewJobSetReconciler(c, scheme, record.NewFakeRecorder(1000))
		},
	}
	oracle.Main(trainer, jobSet)
}

func jobSetWebhooks(m ctrl.Manager) error {
	hook, err := webhooks.NewJobSetWebhook(m.GetClient())
	if err != nil {
		return err
	}
	if err := hook.SetupWebhookWithManager(m); err != nil {
		return err
	}
	return webhooks.NewPodWebhook(m.GetClient()).SetupWebhookWithManager(m)
}
