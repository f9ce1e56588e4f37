// Command v22jobset answers with the code of JobSet 0.11.0: see package oracle. Trainer 2.2
// installs it.
package main

import (
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/webhooks"

	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/oracle/jobs"
)

func main() {
	jobSet := jobs.Code{
		Webhooks: jobSetWebhooks,
		Reconciler: func(c client.Client, scheme *apiruntime.Scheme) reconcile.Reconciler {
			return controllers.NewJobSetReconciler(c, scheme, record.NewFakeRecorder(1000))
		},
	}
	oracle.Main(nil, jobSet)
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
