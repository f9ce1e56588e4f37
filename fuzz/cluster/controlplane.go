// Package cluster runs a control plane in this process, for comparison: etcd, the API server, the Job and
// ephemeral volume controllers, JobSet and Trainer with all their webhooks. No kubelet and no scheduler run.
package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/server/v3/embed"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"sigs.k8s.io/yaml"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	trainerconfig "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	trainercontroller "github.com/kubeflow/trainer/v2/pkg/controller"
	trainerruntime "github.com/kubeflow/trainer/v2/pkg/runtime/core"
	trainerwebhooks "github.com/kubeflow/trainer/v2/pkg/webhooks"
)

// ControlPlane is a running control plane. It listens on loopback only, and its state is in a temporary
// directory.
type ControlPlane struct {
	// URL is the API server's.
	URL string
	// Token is the one that the API server takes.
	Token string

	http    *http.Client
	rest    *rest.Config
	trainer manager.Manager
	jobset  manager.Manager

	failures sync.Map // of a namespace: *failures

	// Names of ClusterTrainingRuntimes, which no namespace keeps apart: one case at a time may use each.
	runtimes sync.Map
	next     int
	mu       sync.Mutex
}

// Start starts a control plane, and waits until it takes TrainJobs. Canceling ctx stops its controllers; the API server runs until
// the process ends. A process can start only one: the API server's flags are the process's.
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
			Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 64},
			Timeout:   time.Minute,
		},
	}
	c.rest = &rest.Config{Host: c.URL, BearerToken: c.Token, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
	failed := make(chan error, 3)
	go func() { failed <- runAPIServer(ctx, dir, etcd, ports[2], c.Token) }()
	if err := c.wait(ctx, failed, func() bool { return c.answers("/readyz") }); err != nil {
		return nil, err
	}
	authority, err := writeCertificate(dir)
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
			if m.GetWebhookServer().StartedChecker()(nil) != nil || !m.GetCache().WaitForCacheSync(ctx) {
				return false
			}
		}
		return c.answers("/apis/batch/v1/namespaces/default/jobs") && c.answers("/api/v1/namespaces/default")
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

// freePorts are ports of the loopback interface on which nothing listens.
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
	at := func(port int) url.URL { return url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)} }
	config := embed.NewConfig()
	config.Dir = dir
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{at(clientPort)}, []url.URL{at(clientPort)}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{at(peerPort)}, []url.URL{at(peerPort)}
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
	if err := os.WriteFile(tokens, []byte(token+",admin,admin,system:masters\n"), 0o600); err != nil {
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

// writeCertificate writes what the webhooks serve with, and is the authority that the API server shall trust.
func writeCertificate(dir string) ([]byte, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600); err != nil {
		return nil, err
	}
	var last []byte
	for rest := certificate; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, err
		}
		last = pem.EncodeToMemory(block)
	}
	return last, os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600)
}

// moduleDirectory is where the Go tool keeps a module's files.
func moduleDirectory(path string) (string, error) {
	command := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path)
	out, err := command.Output()
	if err != nil || len(out) < 2 {
		return "", fmt.Errorf("go list -m %s: no directory (%w)", path, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// install creates the custom resource definitions, and the webhooks at their ports.
func (c *ControlPlane) install(ctx context.Context, authority []byte, jobsetPort, trainerPort int) error {
	for _, from := range []struct {
		module, files string
		port          int
	}{
		{"sigs.k8s.io/scheduler-plugins", "config/crd/bases/scheduling.x-k8s.io_podgroups.yaml", 0},
		{"sigs.k8s.io/jobset", "config/components/crd/bases/*.yaml", 0},
		{"sigs.k8s.io/jobset", "config/components/webhook/manifests.yaml", jobsetPort},
		{"github.com/kubeflow/trainer/v2", "manifests/base/crds/trainer*.yaml", 0},
		{"github.com/kubeflow/trainer/v2", "manifests/base/webhook/manifests.yaml", trainerPort},
	} {
		dir, err := moduleDirectory(from.module)
		if err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(dir, from.files))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("no files %s in %s: %w", from.files, dir, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, document := range bytes.Split(data, []byte("\n---\n")) {
				if err := c.installOne(document, authority, from.module, from.port); err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
			}
		}
	}
	definition, err := json.Marshal(volcanoPodGroups())
	if err != nil {
		return err
	}
	return c.installOne(definition, nil, "volcano.sh", 0)
}

func (c *ControlPlane) installOne(document, authority []byte, module string, port int) error {
	var object map[string]any
	if err := yaml.Unmarshal(document, &object); err != nil || object == nil {
		return err
	}
	metadata := object["metadata"].(map[string]any)
	path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	switch kind := object["kind"]; kind {
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		metadata["name"] = strings.ReplaceAll(module, "/", "-")
		path = "/apis/admissionregistration.k8s.io/v1/" + strings.ToLower(kind.(string)) + "s"
		for _, hook := range object["webhooks"].([]any) {
			hook := hook.(map[string]any)
			service := hook["clientConfig"].(map[string]any)["service"].(map[string]any)
			hook["clientConfig"] = map[string]any{"url": fmt.Sprintf("https://127.0.0.1:%d%s", port, service["path"]), "caBundle": authority}
			// As Trainer's own patch has it.
			if name := hook["name"].(string); strings.HasSuffix(name, "runtime.trainer.kubeflow.org") {
				hook["objectSelector"] = map[string]any{"matchExpressions": []any{map[string]any{
					"key": "trainer.kubeflow.org/webhook-validation", "operator": "NotIn", "values": []any{"disabled"},
				}}}
			}
		}
	}
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	answer, err := c.Do(http.MethodPost, path, body)
	if err != nil {
		return err
	}
	if answer.Status != http.StatusCreated {
		return errors.New(answer.Refusal())
	}
	if names, isDefinition := object["spec"].(map[string]any); isDefinition {
		plural := names["names"].(map[string]any)["plural"]
		version := names["versions"].([]any)[0].(map[string]any)["name"]
		return c.wait(context.Background(), nil, func() bool {
			return c.answers(fmt.Sprintf("/apis/%s/%s/%s", names["group"], version, plural))
		})
	}
	return nil
}

// volcanoPodGroups is a definition with the one default that Volcano's has: its module of types has none.
func volcanoPodGroups() any {
	keep := true
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "podgroups.scheduling.volcano.sh"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "scheduling.volcano.sh", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "PodGroup", ListKind: "PodGroupList", Plural: "podgroups", Singular: "podgroup"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1beta1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &keep,
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {
						Type: "object", XPreserveUnknownFields: &keep,
						Properties: map[string]apiextensionsv1.JSONSchemaProps{"queue": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"default"`)}}},
					}},
				}},
			}},
		},
	}
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
		clientscheme.AddToScheme, trainer.AddToScheme, trainerconfig.AddToScheme, jobset.AddToScheme, coscheduling.AddToScheme, volcano.AddToScheme,
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
		WebhookServer:          webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: dir}),
	})
}

func setupJobSet(ctx context.Context, m manager.Manager) error {
	if err := jobsetcontrollers.SetupJobSetIndexes(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	if err := jobsetcontrollers.SetupPodIndexes(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	if err := jobsetcontrollers.NewJobSetReconciler(m.GetClient(), m.GetScheme(), m.GetEventRecorder("jobset")).SetupWithManager(m); err != nil {
		return err
	}
	if err := jobsetcontrollers.NewPodReconciler(m.GetClient(), m.GetScheme(), m.GetEventRecorder("pod")).SetupWithManager(m); err != nil {
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
	if name, err := trainercontroller.SetupControllers(m, runtimes, controller.Options{}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if name, err := trainerwebhooks.Setup(m, runtimes); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Answer is what the API server says.
type Answer struct {
	Status   int
	Body     []byte
	Warnings []string
}

// Refusal is the error as kubectl would show it.
func (a Answer) Refusal() string {
	var status struct{ Reason, Message string }
	if json.Unmarshal(a.Body, &status) != nil || status.Message == "" {
		return fmt.Sprintf("HTTP %d: %s", a.Status, a.Body)
	}
	return fmt.Sprintf("HTTP %d %s: %s", a.Status, status.Reason, status.Message)
}

// Do sends a request to the API server.
func (c *ControlPlane) Do(method, path string, body []byte) (Answer, error) {
	kind := "application/json"
	if method == http.MethodPatch {
		kind = "application/merge-patch+json"
		if strings.Contains(path, "fieldManager=") {
			kind = "application/apply-patch+yaml"
		}
	}
	request, err := http.NewRequest(method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	request.Header.Set("Content-Type", kind)
	response, err := c.http.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	out, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, out, response.Header.Values("Warning")}, err
}

// failures are what a manager logged about one namespace.
type failures struct {
	mu    sync.Mutex
	lines []string
	last  time.Time
}

func (f *failures) add(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = time.Now()
	for _, known := range f.lines {
		if known == line {
			return
		}
	}
	f.lines = append(f.lines, line)
}

func (f *failures) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.lines...)
}

// sink keeps the errors that a manager logs, by namespace.
type sink struct {
	manager  string
	failures *sync.Map
	values   []any
}

func (s *sink) Init(logr.RuntimeInfo)        {}
func (s *sink) Enabled(int) bool             { return false }
func (s *sink) Info(int, string, ...any)     {}
func (s *sink) WithName(string) logr.LogSink { return s }
func (s *sink) WithValues(v ...any) logr.LogSink {
	return &sink{s.manager, s.failures, append(append([]any(nil), s.values...), v...)}
}

func (s *sink) Error(err error, message string, values ...any) {
	namespace := ""
	for all, i := append(append([]any(nil), s.values...), values...), 0; i+1 < len(all); i += 2 {
		if all[i] == "namespace" {
			namespace, _ = all[i+1].(string)
		}
		if all[i] == "panic" && err == nil {
			err = fmt.Errorf("panic: %v", all[i+1])
		}
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	line := fmt.Sprintf("%s: %s: %s", s.manager, message, strings.ReplaceAll(text, "\n", `\n`))
	if namespace == "" {
		log.Print(line)
		return
	}
	kept, _ := s.failures.LoadOrStore(namespace, &failures{})
	kept.(*failures).add(line)
}
