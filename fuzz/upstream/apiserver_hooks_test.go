package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	kjson "sigs.k8s.io/json"

	configapi "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	trainerruntime "github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	"github.com/kubeflow/trainer/v2/pkg/webhooks"

	"github.com/trainweld/trainweld/fuzz/upstream"
)

// hold makes the server hold the runtime as it stored it, with all PriorityClasses that it names, or
// nothing, and further objects; and sets the webhooks up over that.
func (s *apiServer) hold(stored upstream.Object, further ...client.Object) {
	s.t.Helper()
	builder := fake.NewClientBuilder().WithScheme(s.scheme).WithObjects(further...)
	if stored != nil {
		var held client.Object = &trainer.TrainingRuntime{}
		if stored["kind"] == trainer.ClusterTrainingRuntimeKind {
			held = &trainer.ClusterTrainingRuntime{}
		}
		data, err := json.Marshal(stored)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := json.Unmarshal(data, held); err != nil {
			s.t.Fatalf("the server stored what its clients cannot read: %v\n%s", err, data)
		}
		held.SetResourceVersion("")
		held.SetDeletionTimestamp(nil) // which a server does not take from an author
		held.SetManagedFields(nil)
		builder.WithObjects(held)
		for _, name := range priorityClasses(stored) {
			class := &schedulingv1.PriorityClass{}
			class.Name = name
			builder.WithObjects(class)
		}
	}
	s.held = builder.Build()
	runtimes, err := core.New(context.Background(), s.held, fakeIndexer{builder}, &configapi.Configuration{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.hooks = map[string]*admission.Webhook{}
	if what, err := webhooks.Setup(&trainerManager{server: s}, map[string]trainerruntime.Runtime(runtimes)); err != nil {
		s.t.Fatal(what, err)
	}
}

// priorityClasses are the names of all PriorityClasses that are named anywhere in a value.
func priorityClasses(value any) []string {
	names := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case upstream.Object:
			if name, ok := v["priorityClassName"].(string); ok && name != "" {
				names[name] = true
			}
			for _, field := range v {
				walk(field)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(value)
	return slices.Sorted(maps.Keys(names))
}

// hook sends an object to a webhook; it returns what the webhook makes of it, or why it refuses. A panic is
// a refusal, as the API server takes it.
func (s *apiServer) hook(path string, object, old upstream.Object) (upstream.Object, string) {
	raw := s.encode(object)
	request := admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw}}
	if old != nil {
		request.Operation, request.OldObject = admissionv1.Update, runtime.RawExtension{Raw: s.encode(old)}
	}
	response := func() (r admission.Response) {
		defer func() {
			if p := recover(); p != nil {
				r = admission.Denied(fmt.Sprintf("panic: %v", p))
			}
		}()
		return s.hooks[path].Handle(context.Background(), admission.Request{AdmissionRequest: request})
	}()
	if !response.Allowed {
		return nil, path + ": " + response.Result.Message
	}
	if len(response.Patches) > 0 {
		data, err := json.Marshal(response.Patches)
		if err != nil {
			s.t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(data)
		if err != nil {
			s.t.Fatal(err)
		}
		if raw, err = patch.Apply(raw); err != nil {
			s.t.Fatal(err)
		}
	}
	var out upstream.Object
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &out); err != nil {
		s.t.Fatal(err)
	}
	return out, ""
}

func (s *apiServer) encode(object upstream.Object) []byte {
	s.t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		s.t.Fatal(err)
	}
	return raw
}

// trainerManager is as much of a manager as registering the Trainer's webhooks takes; they end up in the
// server's hooks.
type trainerManager struct {
	ctrl.Manager
	server *apiServer
}

func (m *trainerManager) GetScheme() *runtime.Scheme              { return m.server.scheme }
func (m *trainerManager) GetConfig() *rest.Config                 { return &rest.Config{} }
func (m *trainerManager) GetLogger() logr.Logger                  { return logr.Discard() }
func (m *trainerManager) GetRESTMapper() meta.RESTMapper          { return nil }
func (m *trainerManager) GetControllerOptions() config.Controller { return config.Controller{} }
func (m *trainerManager) GetClient() client.Client                { return m.server.held }
func (m *trainerManager) GetWebhookServer() webhook.Server {
	return trainerHooks{hookServer{nil}, m.server.hooks}
}

type trainerHooks struct {
	hookServer
	into map[string]*admission.Webhook
}

func (s trainerHooks) Register(path string, hook http.Handler) {
	if hook, ok := hook.(*admission.Webhook); ok {
		s.into[path] = hook
	}
}
