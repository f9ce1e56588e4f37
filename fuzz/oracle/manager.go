package oracle

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// manager is as much of a manager as registering webhooks takes. The webhooks end up in hooks.
type manager struct {
	ctrl.Manager
	scheme *apiruntime.Scheme
	client client.Client
	hooks  map[string]*admission.Webhook
}

func (m *manager) GetScheme() *apiruntime.Scheme           { return m.scheme }
func (m *manager) GetConfig() *rest.Config                 { return &rest.Config{} }
func (m *manager) GetLogger() logr.Logger                  { return logr.Discard() }
func (m *manager) GetRESTMapper() meta.RESTMapper          { return nil }
func (m *manager) GetControllerOptions() config.Controller { return config.Controller{} }
func (m *manager) GetClient() client.Client                { return m.client }
func (m *manager) GetWebhookServer() webhook.Server        { return hookServer(m.hooks) }

type hookServer map[string]*admission.Webhook

func (s hookServer) Register(path string, hook http.Handler) {
	if hook, ok := hook.(*admission.Webhook); ok {
		s[path] = hook
	}
}
func (s hookServer) NeedLeaderElection() bool        { return false }
func (s hookServer) Start(context.Context) error     { return nil }
func (s hookServer) StartedChecker() healthz.Checker { return nil }
func (s hookServer) WebhookMux() *http.ServeMux      { return http.NewServeMux() }
