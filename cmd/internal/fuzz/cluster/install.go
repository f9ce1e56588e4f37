package cluster

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render/release"
)

// writeCertificate writes the certificate of webhooks. The certificate is an hour old and valid for
// age, or for a year if age is
// 0. It returns the authority that the API server must trust.
func writeCertificate(dir string, age time.Duration) ([]byte, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKeyWithOptions(
		cert.SelfSignedCertKeyOptions{Host: "127.0.0.1", MaxAge: age})
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

// moduleDirectory returns the directory in which the Go tool keeps a module's files.
func moduleDirectory(path string) (string, error) {
	command := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path)
	out, err := command.Output()
	if err != nil || len(out) < 2 {
		return "", fmt.Errorf("go list -m %s: no directory (%w)", path, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// install creates the custom resource definitions, and the webhooks at their ports.
func (c *ControlPlane) install(ctx context.Context, authority []byte, jobsetPort,
	trainerPort int) error {
	for _, from := range []struct {
		module, files string
		port          int
	}{
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
	for _, group := range []string{"scheduling.volcano.sh", "scheduling.x-k8s.io"} {
		definition, err := release.PodGroup(group)
		if err != nil {
			return err
		}
		if err := c.installOne(definition, nil, group, 0); err != nil {
			return err
		}
	}
	return nil
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
			hook["clientConfig"] = map[string]any{
				"url":      fmt.Sprintf("https://127.0.0.1:%d%s", port, service["path"]),
				"caBundle": authority}
			// As in Trainer's own patch.
			if name := hook["name"].(string); strings.HasSuffix(
				name, "runtime.trainer.kubeflow.org") {
				hook["objectSelector"] = map[string]any{"matchExpressions": []any{map[string]any{
					"key": "trainer.kubeflow.org/webhook-validation", "operator": "NotIn",
					"values": []any{"disabled"},
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
		return errors.New(answer.Rejection())
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
