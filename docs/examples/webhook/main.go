// Command webhook is a validating admission webhook for TrainJobs. It rejects a TrainJob if its
// managers set one field to different values. The answer names each manager and its value. See the
// README.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trainweld/trainweld/render/policy"
)

// path is where the ValidatingWebhookConfiguration sends TrainJobs.
const path = "/validate-trainjob"

func main() {
	port := flag.Int("port", 9443, "the port to serve HTTPS on")
	certs := flag.String("cert-dir", "/certs", "the directory of tls.crt and tls.key")
	health := flag.String("health-address", ":8081", "where to answer /healthz and /readyz")
	file := flag.String("policy", "",
		"the policy file: managers, their paths and severities; its patches are not applied")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(*port, *certs, *health, *file); err != nil {
		fmt.Fprintf(os.Stderr, "webhook: %v\n", err)
		os.Exit(1)
	}
}

func run(port int, certs, health, file string) error {
	scheme, err := newScheme()
	if err != nil {
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
		WebhookServer:          webhook.NewServer(webhook.Options{Port: port, CertDir: certs}),
	})
	if err != nil {
		return err
	}
	server := manager.GetWebhookServer()
	// The manager's client reads runtimes from a cache that watches them.
	hook := &reloading{file: file, handler: func(rules *policy.Policy) (http.Handler, error) {
		return admission.StandaloneWebhook(
			admission.WithValidator(
				scheme, validator{runtimes: manager.GetClient(), policy: rules}),
			admission.StandaloneOptions{})
	}}
	if _, err := hook.current(); err != nil {
		return err // a rollout stops at a Pod that does not start
	}
	if err := errors.Join(manager.AddHealthzCheck("healthz", healthz.Ping),
		manager.AddReadyzCheck("readyz", server.StartedChecker())); err != nil {
		return err
	}
	server.Register(path, hook)
	return manager.Start(ctrl.SetupSignalHandler())
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, trainer.AddToScheme(scheme)
}
