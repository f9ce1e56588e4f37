package crds_test

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/trainweld/trainweld/internal/roundrobin"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission/serverside"
)

// jobSet is an object of a size that people have: three replicated jobs of two containers each.
func jobSet(t testing.TB) merge.Object {
	container := func(name string) string {
		return fmt.Sprintf(
			`{"name": %q, "image": "registry.example.com/train:1", "command": ["python", "train.py"], "env": [
			{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}],
			"resources": {"limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": 8}, "requests": {"cpu": "8", "memory": "64Gi"}},
			"ports": [{"containerPort": 80}, {"containerPort": 8080, "protocol": "TCP", "name": "metrics"}],
			"volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "shm", "mountPath": "/dev/shm"}]}`, name)
	}
	jobs := ""
	for i, name := range []string{"dataset", "model", "node"} {
		if i > 0 {
			jobs += ","
		}
		jobs += fmt.Sprintf(
			`{"name": %q, "replicas": 1, "template": {"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {
			"backoffLimit": 0, "completions": 4, "parallelism": 4, "completionMode": "Indexed",
			"template": {"metadata": {"labels": {"app": "train", "tier": "x"}, "annotations": {"x": "y"}}, "spec": {
				"restartPolicy": "Never", "nodeSelector": {"pool": "gpu", "zone": "a"}, "serviceAccountName": "train",
				"containers": [%s, %s], "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "shm", "emptyDir": {"medium": "Memory"}}],
				"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]}}}}}`, name, container("main"), container("sidecar"))
	}
	return read(t,
		`{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "train", "labels": {"x": "1"}}, "spec": {
		"network": {"enableDNSHostnames": true}, "successPolicy": {"operator": "All", "targetReplicatedJobs": ["node"]}, "replicatedJobs": [`+jobs+`]}}`)
}

// patches are what some managers say of it.
func patches(t testing.TB, n int) []merge.Object {
	all := make([]merge.Object, n)
	for i := range all {
		all[i] = read(
			t, fmt.Sprintf(
				`{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "train", "labels": {"team-%d": "x"}}, "spec": {
			"replicatedJobs": [{"name": "node", "template": {"spec": {"parallelism": %d, "template": {"metadata": {"labels": {"tier": "t%d"}}, "spec": {
				"nodeSelector": {"zone": "z%d"}, "containers": [{"name": "main", "env": [{"name": "A", "value": "%d"}, {"name": "N%d", "value": "1"}]}],
				"volumes": [{"name": "extra-%d", "emptyDir": {}}]}}}}}]}}`, i, i+4, i, i, i, i, i))
	}
	return all
}

func read(t testing.TB, text string) merge.Object {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return u.Object
}

// server is structured-merge-diff as an API server uses it.
type server struct {
	d *definition
	*serverside.Server
}

func (s *server) apply(t testing.TB, base merge.Object, patches []merge.Object) map[string][]byte {
	version := fieldpath.APIVersion(s.d.kind.GroupVersion().String())
	object := func(o merge.Object, options ...typed.ValidationOptions) *typed.TypedValue {
		v, err := s.d.converter.ObjectToTyped(&unstructured.Unstructured{Object: o}, options...)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	live := object(merge.Object{"apiVersion": string(version), "kind": s.d.kind.Kind})
	owners := fieldpath.ManagedFields{}
	for i, config := range append([]merge.Object{base}, patches...) {
		var err error
		name := manager(i - 1)
		if live, owners, err = s.Apply(live, object(config), owners, name); err != nil {
			t.Fatal(err)
		}
	}
	fields := map[string][]byte{}
	for name, set := range owners {
		text, err := set.Set().ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		fields[name] = text
	}
	return fields
}

// BenchmarkObject merges patches into a JobSet by its definition, with owners and FieldsV1. It
// compares with structured-merge-diff for the same forced applies. The server's reading and writing
// of requests, and of managedFields between the applies, is omitted.
func BenchmarkObject(b *testing.B) {
	d, err := compile("JobSet", files(b)["JobSet-2.3"])
	if err != nil {
		b.Fatal(err)
	}
	s := &server{
		d, serverside.Of(fieldpath.APIVersion(d.kind.GroupVersion().String()), d.kind.Kind,
			d.converter)}
	base := jobSet(b)
	for _, n := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("managers=%d", n), func(b *testing.B) {
			patches := patches(b, n)
			layers := make([]merge.Patch, n)
			for i := range layers {
				layers[i] = merge.Patch{Manager: manager(i), Value: &patches[i]}
			}
			owned := &roundrobin.Side{Name: "owned", Run: func() error {
				result, err := merge.Apply(d.typ, base, layers)
				if err != nil {
					return err
				}
				for _, text := range result.History.FieldsV1(nil) {
					if len(text) == 0 {
						return errors.New("no fields")
					}
				}
				return nil
			}}
			upstream := &roundrobin.Side{Name: "upstream", Run: func() error {
				s.apply(b, base, patches)
				return nil
			}}
			roundrobin.Take(b, []*roundrobin.Side{owned, upstream})
			for _, side := range []*roundrobin.Side{owned, upstream} {
				b.ReportMetric(side.Quick()/1000, "µs/"+side.Name)
			}
			b.ReportMetric(upstream.Quick()/owned.Quick(), "times-faster")
		})
	}
}
