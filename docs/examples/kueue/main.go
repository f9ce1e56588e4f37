// Command kueue applies the admissions of Kueue to TrainJobs. It adds one patch to an admitted
// TrainJob, and removes it after an eviction. No other manager loses a field. See the README.
package main

import (
	"flag"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	health := flag.String("health-address", ":8081", "where to answer /healthz")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(*health); err != nil {
		fmt.Fprintf(os.Stderr, "kueue: %v\n", err)
		os.Exit(1)
	}
}

func run(health string) error {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		HealthProbeBindAddress: health,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		Client:                 client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return err
	}
	if err := manager.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	r := &reconciler{client: manager.GetClient(), events: manager.GetEventRecorder(managerName)}
	if err := ctrl.NewControllerManagedBy(manager).Named("trainjob").For(
		objectOf(trainJobKind)).Owns(objectOf(workloadKind)).Complete(r); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
