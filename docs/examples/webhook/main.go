// Command webhook is a validating admission webhook for TrainJobs: it refuses those whose managers set one
// field to different values, and answers with who sets what. See the README.
package main

import (
	"flag"
	"fmt"
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
	health := flag.String("health-address", ":8081", "where to answer /healthz")
	file := flag.String("policy", "", "the policy file: managers, their paths and severities; its patches are not applied")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	rules, err := readPolicy(*file)
	if err == nil {
		err = run(*port, *certs, *health, rules)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "webhook: %v\n", err)
		os.Exit(1)
	}
}

// readPolicy reads the policy file. Without a file, there are no rules.
func readPolicy(file string) (*policy.Policy, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rules, findings := policy.Parse(file, data)
	return rules, findings.Err()
}

func run(port int, certs, health string, rules *policy.Policy) error {
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
	if err := manager.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	// The manager's client reads runtimes from a cache that watches them.
	manager.GetWebhookServer().Register(path, admission.WithValidator(scheme, validator{runtimes: manager.GetClient(), policy: rules}))
	return manager.Start(ctrl.SetupSignalHandler())
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, trainer.AddToScheme(scheme)
}
