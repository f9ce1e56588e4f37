// Package cluster runs a control plane in this process, for comparison. It runs etcd, the API
// server, the Job and ephemeral volume controllers, and JobSet and Trainer with all their webhooks.
// No kubelet and no scheduler run.
package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetcontrollers "sigs.k8s.io/jobset/pkg/controllers"
	jobsetwebhooks "sigs.k8s.io/jobset/pkg/webhooks"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	trainerconfig "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	trainercontroller "github.com/kubeflow/trainer/v2/pkg/controller"
	trainerruntime "github.com/kubeflow/trainer/v2/pkg/runtime/core"
	trainerwebhooks "github.com/kubeflow/trainer/v2/pkg/webhooks"
)

// ControlPlane is a running control plane. It listens on loopback only, and its state is in a
// temporary directory.
type ControlPlane struct {
	// URL is the address of the API server.
	URL string
	// Token authenticates to the API server.
	Token string

	http    *http.Client
	rest    *rest.Config
	trainer manager.Manager
	jobset  manager.Manager

	failures sync.Map // *failures by namespace

	// Names of ClusterTrainingRuntimes in use. Namespaces do not separate them, so only one case at
	// a time may use each.
	runtimes sync.Map
	next     int
	mu       sync.Mutex
}

// Start starts a control plane, and waits until it accepts TrainJobs. Canceling ctx stops its
// controllers. The API server runs until the process ends. A process can start only one, because
// the API server's flags are global.
func Start(ctx context.Context, dir string) (*ControlPlane, error) {
	ctrl.SetLogger(logr.Discard())
	ports, err := freePorts(5)
	if err != nil {
		return nil, err
	}
	etcd, err := startEtcd(filepath.Join(dir, "etcd"), ports[0], ports[1])
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	c := &ControlPlane{
		URL:   fmt.Sprintf("https://127.0.0.1:%d", ports[2]),
		Token: "loopback",
		http: &http.Client{
			Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
				MaxIdleConnsPerHost: 64},
			Timeout: time.Minute,
		},
	}
	c.rest = &rest.Config{Host: c.URL, BearerToken: c.Token,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
	failed := make(chan error, 3)
	go func() { failed <- runAPIServer(ctx, dir, etcd, ports[2], c.Token) }()
	if err := c.wait(ctx, failed, func() bool { return c.answers("/readyz") }); err != nil {
		return nil, err
	}
	authority, err := writeCertificate(dir, 0)
	if err != nil {
		return nil, err
	}
	if err := c.install(ctx, authority, ports[3], ports[4]); err != nil {
		return nil, err
	}
	if err := c.startJobs(ctx); err != nil {
		return nil, err
	}
	c.jobset, err = c.manager("jobset", dir, ports[3])
	if err != nil {
		return nil, err
	}
	c.trainer, err = c.manager("trainer", dir, ports[4])
	if err != nil {
		return nil, err
	}
	if err := setupJobSet(ctx, c.jobset); err != nil {
		return nil, err
	}
	if err := setupTrainer(ctx, c.trainer); err != nil {
		return nil, err
	}
	for _, m := range []manager.Manager{c.jobset, c.trainer} {
		go func() { failed <- m.Start(ctx) }()
	}
	return c, c.wait(ctx, failed, func() bool {
		for _, m := range []manager.Manager{c.jobset, c.trainer} {
			if m.GetWebhookServer().StartedChecker()(nil) != nil ||
				!m.GetCache().WaitForCacheSync(ctx) {
				return false
			}
		}
		return c.answers("/apis/batch/v1/namespaces/default/jobs") &&
			c.answers("/api/v1/namespaces/default")
	})
}

func (c *ControlPlane) wait(ctx context.Context, failed <-chan error, ready func() bool) error {
	for limit := time.After(3 * time.Minute); !ready(); {
		select {
		case err := <-failed:
			return fmt.Errorf("the control plane stopped: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			return errors.New("the control plane is not ready after three minutes")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

func (c *ControlPlane) answers(path string) bool {
	answer, err := c.Do(http.MethodGet, path, nil)
	return err == nil && answer.Status == http.StatusOK
}

// freePorts returns unused ports of the loopback interface.
func freePorts(count int) ([]int, error) {
	var ports []int
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func startEtcd(dir string, clientPort, peerPort int) (string, error) {
	at := func(port int) url.URL {
		return url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}
	}
	config := embed.NewConfig()
	config.Dir = dir
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{at(clientPort)},
		[]url.URL{at(clientPort)}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{at(peerPort)},
		[]url.URL{at(peerPort)}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.LogLevel = "fatal"
	config.UnsafeNoFsync = true
	config.QuotaBackendBytes = 8 << 30
	config.AutoCompactionMode, config.AutoCompactionRetention = "periodic", "5m"
	server, err := embed.StartEtcd(config)
	if err != nil {
		return "", err
	}
	<-server.Server.ReadyNotify()
	clients := at(clientPort)
	return clients.String(), nil
}

func runAPIServer(ctx context.Context, dir, etcd string, port int, token string) error {
	tokens := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+",admin,admin,system:masters\n"),
		0o600); err != nil {
		return err
	}
	_, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return err
	}
	keyFile := filepath.Join(dir, "service-accounts.key")
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		return err
	}
	command := app.NewAPIServerCommand()
	command.SetArgs([]string{
		"--etcd-servers=" + etcd,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + filepath.Join(dir, "certificates"),
		"--service-account-issuer=https://127.0.0.1",
		"--service-account-key-file=" + keyFile,
		"--service-account-signing-key-file=" + keyFile,
		"--service-cluster-ip-range=10.0.0.0/16",
		"--token-auth-file=" + tokens,
		"--authorization-mode=AlwaysAllow",
		"--disable-admission-plugins=ServiceAccount",
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0",
		"--allow-privileged=true",
		"--profiling=false",
		"--endpoint-reconciler-type=none",
	})
	return command.ExecuteContext(ctx)
}

// startJobs starts the controllers of Jobs and of ephemeral volumes.
func (c *ControlPlane) startJobs(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.rest)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, claims := factory.Core().V1().Pods(), factory.Core().V1().PersistentVolumeClaims()
	jobs, err := job.NewController(ctx, client, pods, factory.Batch().V1().Jobs(), nil, nil)
	if err != nil {
		return err
	}
	volumes, err := ephemeral.NewController(ctx, client, pods, claims)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	go jobs.Run(ctx, 5)
	go volumes.Run(ctx, 5)
	return nil
}

func (c *ControlPlane) manager(name, dir string, port int) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, trainer.AddToScheme, trainerconfig.AddToScheme,
		jobset.AddToScheme, coscheduling.AddToScheme, volcano.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return ctrl.NewManager(c.rest, ctrl.Options{
		Scheme:                 scheme,
		Logger:                 logr.New(&sink{manager: name, failures: &c.failures}),
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{MaxConcurrentReconciles: 5},
		WebhookServer: webhook.NewServer(
			webhook.Options{Host: "127.0.0.1", Port: port, CertDir: dir}),
	})
}

func setupJobSet(ctx context.Context, m manager.Manager) error {
	if err := jobsetcontrollers.SetupJobSetIndexes(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	if err := jobsetcontrollers.SetupPodIndexes(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	if err := jobsetcontrollers.NewJobSetReconciler(m.GetClient(), m.GetScheme(),
		m.GetEventRecorder("jobset")).SetupWithManager(m); err != nil {
		return err
	}
	if err := jobsetcontrollers.NewPodReconciler(m.GetClient(), m.GetScheme(),
		m.GetEventRecorder("pod")).SetupWithManager(m); err != nil {
		return err
	}
	return jobsetwebhooks.Setup(m)
}

func setupTrainer(ctx context.Context, m manager.Manager) error {
	var configuration trainerconfig.Configuration
	m.GetScheme().Default(&configuration)
	runtimes, err := trainerruntime.New(ctx, m.GetClient(), m.GetFieldIndexer(), &configuration)
	if err != nil {
		return err
	}
	if name, err := trainercontroller.SetupControllers(
		m, runtimes, controller.Options{}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if name, err := trainerwebhooks.Setup(m, runtimes); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
