package main

import (
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render/policy"
)

// TestMain keeps controller-runtime's log out of what commands print.
func TestMain(m *testing.M) {
	log.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	os.Exit(m.Run())
}

// TestREADME runs the README's commands and compares their output. It runs them in a copy of this
// folder, as a reader would elsewhere.
func TestREADME(t *testing.T) {
	clone, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	text := readme(t)
	commands := 0
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(
		text, -1) {
		for _, part := range regexp.MustCompile(`(?m)^\$ `).Split(block[1], -1)[1:] {
			commands++
			command, want, _ := strings.Cut(part, "\n")
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "TRAINWELD="+clone, "GOFLAGS=-mod=mod")
			got, err := cmd.CombinedOutput()
			if err != nil || string(got) != want {
				t.Errorf("$ %s\n%v, prints:\n%s\nthe README says:\n%s", command, err, got, want)
			}
		}
	}
	if commands < 4 {
		t.Errorf("found %d commands in the README, want at least 4", commands)
	}
}

// TestREADMEAnswer sends the TrainJob of which the README shows the answer.
func TestREADMEAnswer(t *testing.T) {
	response := ask(
		t, &admissionv1.AdmissionRequest{
			Operation: admissionv1.Create, Object: raw(t, trainJob(t))})
	if response.Allowed || response.Result.Code != http.StatusUnprocessableEntity {
		t.Fatalf("allowed %v, %+v", response.Allowed, response.Result)
	}
	if !strings.Contains(readme(t), "```text\n"+response.Result.Message+"\n```") {
		t.Errorf("the README shows another answer than:\n%s", response.Result.Message)
	}
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestManifests reads the manifests strictly, and follows a request through them. The request goes
// from the webhook's configuration to the Service, the Deployment's port and the certificate in it.
func TestManifests(t *testing.T) {
	text, err := os.ReadFile("manifests/webhook.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var (
		service       corev1.Service
		deployment    appsv1.Deployment
		config        corev1.ConfigMap
		budget        policyv1.PodDisruptionBudget
		role          rbacv1.ClusterRole
		configuration admissionregistrationv1.ValidatingWebhookConfiguration
		certificate   struct {
			metav1.TypeMeta
			metav1.ObjectMeta `json:"metadata"`
			Spec              struct {
				SecretName string
				DNSNames   []string
				IssuerRef  struct{ Name string }
			}
		}
	)
	kinds := map[string]any{
		"Namespace": &corev1.Namespace{}, "ServiceAccount": &corev1.ServiceAccount{},
		"ClusterRole":        &role,
		"ClusterRoleBinding": &rbacv1.ClusterRoleBinding{}, "Deployment": &deployment,
		"ConfigMap": &config, "PodDisruptionBudget": &budget, "Service": &service,
		"Certificate": &certificate, "ValidatingWebhookConfiguration": &configuration,
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
			t.Fatal(err)
		}
		into, ok := kinds[meta.Kind]
		if !ok {
			continue
		}
		delete(kinds, meta.Kind)
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Errorf("%s: %v", meta.Kind, err)
		}
	}
	if len(kinds) > 0 {
		t.Fatalf("the manifests lack %v", kinds)
	}
	hook := configuration.Webhooks[0]
	to := hook.ClientConfig.Service
	if *to.Path != path || to.Name != service.Name || to.Namespace != service.Namespace {
		t.Errorf("the webhook is asked at %s/%s%s", to.Namespace, to.Name, *to.Path)
	}
	if host := to.Name + "." + to.Namespace + ".svc"; !slices.Contains(certificate.Spec.DNSNames,
		host) {
		t.Errorf("the certificate is for %q, not for %s", certificate.Spec.DNSNames, host)
	}
	if from := configuration.Annotations["cert-manager.io/inject-ca-from"]; from !=
		certificate.Namespace+"/"+certificate.Name {
		t.Errorf("the authority is injected from %q", from)
	}
	pod := deployment.Spec.Template
	container := pod.Spec.Containers[0]
	for key, value := range service.Spec.Selector {
		if pod.Labels[key] != value || deployment.Spec.Selector.MatchLabels[key] != value {
			t.Errorf("the Service selects %s=%s", key, value)
		}
	}
	if port := service.Spec.Ports[0].TargetPort; port != intstr.FromString(
		container.Ports[0].Name) {
		t.Errorf("the Service sends to port %s", port.String())
	}
	if secret := pod.Spec.Volumes[0].Secret.SecretName; secret != certificate.Spec.SecretName {
		t.Errorf("the certificate is in %s, and %s is mounted", certificate.Spec.SecretName, secret)
	}
	if !slices.Contains(container.Args, "-cert-dir="+container.VolumeMounts[0].MountPath) {
		t.Errorf("the certificate is not where %q looks for it", container.Args)
	}
	for file, text := range config.Data {
		if _, found := policy.Parse(file, []byte(text)); found != nil {
			t.Errorf("the policy: %v", found)
		}
		if mount := container.VolumeMounts[1]; !slices.Contains(container.Args,
			"-policy="+mount.MountPath+"/"+file) || mount.SubPath != "" {
			t.Errorf("the policy is not where %q looks for it, or never changes", container.Args)
		}
	}
	if from := pod.Spec.Volumes[1].ConfigMap.Name; from != config.Name || len(config.Data) != 1 {
		t.Errorf("the policy is in %s, and %s is mounted", config.Name, from)
	}
	if !maps.Equal(budget.Spec.Selector.MatchLabels, pod.Labels) {
		t.Errorf("the budget selects %v", budget.Spec.Selector.MatchLabels)
	}
	rule := hook.Rules[0]
	if rule.APIGroups[0] != "trainer.kubeflow.org" || rule.APIVersions[0] != "v1alpha1" ||
		rule.Resources[0] != "trainjobs" {
		t.Errorf("the webhook is asked about %+v", rule)
	}
	if resources := role.Rules[0].Resources; !slices.Equal(
		resources, []string{"clustertrainingruntimes", "trainingruntimes"}) {
		t.Errorf("it may read %q", resources)
	}
}
