package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestREADME runs the README's commands in a copy of this folder.
func TestREADME(t *testing.T) {
	clone, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(
		readme(t), -1) {
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

// TestREADME_Event compares the README's event with the event of a TrainJob whose user asks for
// other nodes.
func TestREADME_Event(t *testing.T) {
	c := newCluster(t)
	c.edit("nodeSelector: {pool: a100}")
	c.assign(bothSpot, false)
	c.reconcile()
	if event := strings.TrimPrefix(<-c.events.Events, "Warning PatchConflict "); !strings.Contains(
		readme(t), "```text\n"+event+"\n```") {
		t.Errorf("the README shows another event than:\n%s", event)
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

// TestManifests holds that the manifest is valid, and that it permits every action of the
// reconciler.
func TestManifests(t *testing.T) {
	text, err := os.ReadFile("manifests/controller.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	var binding rbacv1.ClusterRoleBinding
	var account corev1.ServiceAccount
	var deployment appsv1.Deployment
	kinds := map[string]any{
		"Namespace": &corev1.Namespace{}, "ServiceAccount": &account, "ClusterRole": &role,
		"ClusterRoleBinding": &binding, "Deployment": &deployment,
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
			t.Fatal(err)
		}
		into, ok := kinds[meta.Kind]
		if !ok {
			t.Fatalf("unexpected kind %q", meta.Kind)
		}
		delete(kinds, meta.Kind)
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Errorf("%s: %v", meta.Kind, err)
		}
	}
	if len(kinds) > 0 {
		t.Fatalf("the manifest lacks %v", kinds)
	}
	if binding.RoleRef.Name != role.Name || binding.Subjects[0].Name != account.Name ||
		binding.Subjects[0].Namespace != account.Namespace ||
		deployment.Spec.Template.Spec.ServiceAccountName != account.Name ||
		deployment.Namespace != account.Namespace {
		t.Error("the role, its binding, the account and the Deployment do not belong together")
	}
	read := []string{"get", "list", "watch"}
	for resource, verbs := range map[string][]string{
		"trainjobs": append(slices.Clone(read), "update"), "clustertrainingruntimes": read,
		"trainingruntimes": read, "workloads": read, "resourceflavors": read,
		"events": {"create", "patch"},
	} {
		at := slices.IndexFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.Resources, resource)
		})
		if at < 0 || !slices.Equal(role.Rules[at].Verbs, verbs) {
			t.Errorf("the role may not exactly %q %s", verbs, resource)
		}
	}
}
