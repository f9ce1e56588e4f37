package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/webhooks"
	"sigs.k8s.io/yaml"
)

// jobSetUpstream is JobSet's own code, in process.
type jobSetUpstream struct {
	scheme     *runtime.Scheme
	structural *schema.Structural
	hooks      map[string]*admission.Webhook
}

func newJobSetUpstream(t *testing.T) *jobSetUpstream {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	u := &jobSetUpstream{scheme: runtime.NewScheme(), hooks: map[string]*admission.Webhook{}}
	for _, add := range []func(*runtime.Scheme) error{jobset.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme} {
		if err := add(u.scheme); err != nil {
			t.Fatal(err)
		}
	}
	u.structural = jobSetSchema(t)
	if err := webhooks.Setup(&hookManager{upstream: u}); err != nil {
		t.Fatal(err)
	}
	return u
}

// jobSetSchema reads the CRD that the JobSet module ships.
func jobSetSchema(t *testing.T) *schema.Structural {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/jobset").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, crd); err != nil {
		t.Fatal(err)
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	return structural
}

// admitJobSet does what the API server does with a JobSet that is created: the CRD's defaults, then
// the mutating webhook.
func (u *jobSetUpstream) admitJobSet(t *testing.T, js *jobset.JobSet) *jobset.JobSet {
	t.Helper()
	data, err := json.Marshal(js)
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(value, u.structural)
	defaulting.Default(value, u.structural)
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	stored := &jobset.JobSet{}
	u.admit(t, "/mutate-jobset-x-k8s-io-v1alpha2-jobset", raw, stored)
	return stored
}

// admit sends an object to a mutating webhook and decodes what comes of it.
func (u *jobSetUpstream) admit(t *testing.T, path string, raw []byte, into any) {
	t.Helper()
	response := u.hooks[path].Handle(context.Background(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "u", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw},
	}})
	if !response.Allowed {
		t.Fatalf("%s: %v", path, response.Result)
	}
	if len(response.Patches) > 0 {
		data, err := json.Marshal(response.Patches)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(data)
		if err != nil {
			t.Fatal(err)
		}
		if raw, err = patch.Apply(raw); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// reconcile runs JobSet's reconciler until it creates nothing more, playing the Job controller: Jobs
// that others wait for become complete or ready. It returns the objects as they were sent.
func (u *jobSetUpstream) reconcile(t *testing.T, seed uint64, js *jobset.JobSet) map[string]client.Object {
	t.Helper()
	ctx := context.Background()
	sent := map[string]client.Object{}
	var lock sync.Mutex
	builder := fake.NewClientBuilder().WithScheme(u.scheme).WithObjects(js.DeepCopy()).
		WithStatusSubresource(&jobset.JobSet{}, &batchv1.Job{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				kind := strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1.")
				lock.Lock()
				sent[kind+" "+o.GetName()] = o.DeepCopyObject().(client.Object)
				lock.Unlock()
				if job, ok := o.(*batchv1.Job); ok && job.Spec.Parallelism == nil { // the API server's default
					one := int32(1)
					job.Spec.Parallelism = &one
				}
				return c.Create(ctx, o, opts...)
			},
		})
	if err := controllers.SetupJobSetIndexes(ctx, fakeIndexer{builder}); err != nil {
		t.Fatal(err)
	}
	c := builder.Build()
	reconciler := controllers.NewJobSetReconciler(c, u.scheme, events.NewFakeRecorder(1000))
	for created := -1; created != len(sent); {
		created = len(sent)
		if _, err := reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(js)}); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, jobSetYAML(js))
		}
		if !createsInSteps(js) || js.Spec.Suspend != nil && *js.Spec.Suspend {
			break // all that comes is there
		}
		var jobs batchv1.JobList
		if err := c.List(ctx, &jobs); err != nil {
			t.Fatal(err)
		}
		for i := range jobs.Items {
			job := &jobs.Items[i]
			if job.Status.Ready != nil {
				continue
			}
			if awaitedComplete(js, job.Labels[jobset.ReplicatedJobNameKey]) {
				job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
			}
			job.Status.Ready = job.Spec.Parallelism
			if err := c.Status().Update(ctx, job); err != nil {
				t.Fatal(err)
			}
		}
	}
	return sent
}

// createsInSteps tells whether some Jobs are created after others.
func createsInSteps(js *jobset.JobSet) bool {
	return js.Spec.StartupPolicy.StartupPolicyOrder == jobset.InOrder ||
		slices.ContainsFunc(js.Spec.ReplicatedJobs, func(r jobset.ReplicatedJob) bool { return len(r.DependsOn) > 0 })
}

func awaitedComplete(js *jobset.JobSet, name string) bool {
	return slices.ContainsFunc(js.Spec.ReplicatedJobs, func(r jobset.ReplicatedJob) bool {
		return slices.Contains(r.DependsOn, jobset.DependsOn{Name: name, Status: jobset.DependencyComplete})
	})
}

// fakeIndexer gives the fake client the indexes that the manager's cache would have.
type fakeIndexer struct{ builder *fake.ClientBuilder }

func (i fakeIndexer) IndexField(_ context.Context, o client.Object, field string, f client.IndexerFunc) error {
	i.builder.WithIndex(o, field, f)
	return nil
}

// hookManager is as much of a manager as registering webhooks takes; the webhooks end up in upstream.
type hookManager struct {
	ctrl.Manager
	upstream *jobSetUpstream
}

func (m *hookManager) GetScheme() *runtime.Scheme              { return m.upstream.scheme }
func (m *hookManager) GetConfig() *rest.Config                 { return &rest.Config{} }
func (m *hookManager) GetLogger() logr.Logger                  { return logr.Discard() }
func (m *hookManager) GetRESTMapper() meta.RESTMapper          { return nil }
func (m *hookManager) GetControllerOptions() config.Controller { return config.Controller{} }
func (m *hookManager) GetWebhookServer() webhook.Server        { return hookServer{m.upstream.hooks} }
func (m *hookManager) GetClient() client.Client {
	return fake.NewClientBuilder().WithScheme(m.upstream.scheme).Build()
}

type hookServer struct{ hooks map[string]*admission.Webhook }

func (s hookServer) Register(path string, hook http.Handler) {
	if hook, ok := hook.(*admission.Webhook); ok {
		s.hooks[path] = hook
	}
}
func (s hookServer) NeedLeaderElection() bool        { return false }
func (s hookServer) Start(context.Context) error     { return nil }
func (s hookServer) StartedChecker() healthz.Checker { return nil }
func (s hookServer) WebhookMux() *http.ServeMux      { return http.NewServeMux() }
