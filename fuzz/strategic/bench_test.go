package strategic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/trainweld/trainweld/internal/roundrobin"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission/serverside"
)

// BenchmarkMerge merges patches into a Pod of three containers and a Deployment of ten, as Go
// values and as objects. The other sides are StrategicMergePatch and the forced applies of
// structured-merge-diff. The floor is one DeepCopy of the result.
func BenchmarkMerge(b *testing.B) {
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	for _, managers := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("Pod/managers=%d", managers), func(b *testing.B) {
			pod := fmt.Sprintf(`{"metadata": %s, "spec": %s}`, benchMetadata, benchPodSpec(3))
			benchmarkMerge(b, "a Pod", serverside.Of("v1", "Pod", converter),
				(*corev1.Pod).DeepCopy, pod, managers, func(own string) string {
					return fmt.Sprintf(`{"metadata": %s, "spec": %s}`, benchPatchMetadata(own),
						benchPatchSpec(own))
				})
		})
		b.Run(fmt.Sprintf("Deployment/managers=%d", managers), func(b *testing.B) {
			// which a Go value always encodes
			const selector = `"selector": {"matchLabels": {"app": "web"}}`
			deployment := fmt.Sprintf(
				`{"metadata": %s, "spec": {"replicas": 3, %s, "template": {"metadata": %[1]s, "spec": %[3]s}}}`,
				benchMetadata, selector, benchPodSpec(10))
			benchmarkMerge(b, "a Deployment", serverside.Of("apps/v1", "Deployment", converter),
				(*appsv1.Deployment).DeepCopy, deployment, managers, func(own string) string {
					return fmt.Sprintf(
						`{"metadata": %s, "spec": {%s, "template": {"metadata": %[1]s, "spec": %[3]s}}}`,
						benchPatchMetadata(own), selector, benchPatchSpec(own))
				})
		})
	}
}

func benchmarkMerge[T any](b *testing.B, what string, server *serverside.Server,
	deepCopy func(*T) *T, base string, managers int, patch func(own string) string) {
	b.Helper()
	from := read[T](b, base)
	values, objects := make([]merge.Patch, managers), make([]merge.Patch, managers)
	for i := range managers {
		own := fmt.Sprintf("m%d", i)
		values[i] = merge.Patch{Manager: own, Value: read[T](b, patch(own))}
		objects[i] = merge.Patch{Manager: own, Value: read[merge.Object](b, patch(own))}
	}
	result, err := merge.Strategic(from, values, rules())
	if err != nil {
		b.Fatal(err)
	}
	other, err := merge.Strategic(from, objects, rules())
	if err != nil {
		b.Fatal(err)
	}
	upstream, err := strategicMerges(from, objects)
	if err != nil {
		b.Fatal(err)
	}
	for _, got := range []*T{&result.Value, &other.Value} {
		if !bytes.Equal(Encode(got), Encode(upstream)) {
			b.Fatalf("the sides do not make the same:\n%s\n%s", Encode(got), Encode(upstream))
		}
	}
	roundrobin.Compare(b, fmt.Sprintf("%s, %d managers", what, managers), []*roundrobin.Side{
		{Name: "DeepCopy", Run: func() error { deepCopy(&result.Value); return nil }},
		{Name: "Apply", Run: func() error {
			_, err := merge.Strategic(from, values, rules())
			return err
		}},
		{Name: "objects", Run: func() error {
			_, err := merge.Strategic(from, objects, rules())
			return err
		}},
		{Name: "strategicpatch", Run: func() error {
			_, err := strategicMerges(from, objects)
			return err
		}},
		{Name: "smd", Run: forcedApplies(b, server, from, objects)},
	})
}

// strategicMerges lays patches over a value as a client does that has no engine. The value is
// encoded and decoded once, and not between the patches, which is to its favor.
func strategicMerges[T any](base *T, patches []merge.Patch) (*T, error) {
	text, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	for _, p := range patches {
		patch, err := json.Marshal(p.Value)
		if err != nil {
			return nil, err
		}
		if text, err = strategicpatch.StrategicMergePatch(text, patch, *new(T)); err != nil {
			return nil, err
		}
	}
	merged := new(T)
	return merged, json.Unmarshal(text, merged)
}

// forcedApplies returns a function that applies every patch by force. It does not count reading the
// values into their typed form, which is to its favor.
func forcedApplies[T any](b *testing.B, server *serverside.Server, base *T,
	patches []merge.Patch) func() error {
	b.Helper()
	read := func(v any) *typed.TypedValue {
		fields, _ := JSON(v).(object)
		value, err := server.Typed(fields)
		if err != nil {
			b.Fatal(err)
		}
		return value
	}
	live := read(base)
	set, err := live.ToFieldSet()
	if err != nil {
		b.Fatal(err)
	}
	configs := make([]*typed.TypedValue, len(patches))
	for i := range patches {
		configs[i] = read(patches[i].Value)
	}
	return func() error {
		object, owners := live,
			fieldpath.ManagedFields{"base": fieldpath.NewVersionedSet(set, "v1", true)}
		for i, config := range configs {
			var err error
			if object, owners, err = server.Apply(object, config, owners,
				fmt.Sprint("m", i)); err != nil {
				return err
			}
		}
		return nil
	}
}

func read[T any](b *testing.B, text string) *T {
	b.Helper()
	value := new(T)
	if err := json.Unmarshal([]byte(text), value); err != nil {
		b.Fatalf("%v in %s", err, text)
	}
	return value
}

const benchMetadata = `{"name": "web", "labels": {"app": "web", "part-of": "shop"}, "annotations": {"prometheus.io/scrape": "true"}}`

// benchPodSpec is a Pod's spec as people write them. The last container is a sidecar, which the
// patches extend.
func benchPodSpec(containers int) string {
	var all []string
	for i := range containers {
		name := fmt.Sprintf("app-%d", i)
		if i == containers-1 {
			name = "sync"
		}
		all = append(
			all, fmt.Sprintf(
				`{"name": %q, "image": "registry.example.com/shop/app:1.4", "command": ["/bin/run", "--config=/etc/config/run.yaml"],
			"resources": {"limits": {"cpu": "4", "memory": "16Gi"}, "requests": {"cpu": "2", "memory": "8Gi"}},
			"ports": [{"containerPort": %d, "protocol": "TCP"}],
			"volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "shm", "mountPath": "/dev/shm"}, {"name": "config", "mountPath": "/etc/config"}],
			"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}, {"name": "D", "value": "4"},
				{"name": "POD", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}]}`, name, 8000+i))
	}
	return fmt.Sprintf(
		`{"serviceAccountName": "web", "nodeSelector": {"pool": "large", "zone": "a"}, "imagePullSecrets": [{"name": "registry"}],
		"tolerations": [{"key": "spot", "operator": "Equal", "value": "true", "effect": "NoExecute", "tolerationSeconds": 300}],
		"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "shm", "emptyDir": {"medium": "Memory"}},
			{"name": "config", "configMap": {"name": "config"}}],
		"containers": [%s]}`, strings.Join(all, ","))
}

func benchPatchMetadata(own string) string {
	return fmt.Sprintf(`{"labels": {"%s.example.com/queue": "research"}}`, own)
}

// benchPatchSpec is a manager's patch: a node selector, a scheduling gate, a volume with its mount
// and a variable. No two managers disagree.
func benchPatchSpec(own string) string {
	return fmt.Sprintf(
		`{"nodeSelector": {"%[1]s.example.com/flavor": "on-demand", "pool": "xlarge"},
		"schedulingGates": [{"name": "%[1]s.example.com/topology"}], "securityContext": {"fsGroup": 1000},
		"volumes": [{"name": %[1]q, "secret": {"secretName": %[1]q}}],
		"containers": [{"name": "sync", "env": [{"name": "ENDPOINT_%[1]s", "value": "https://%[1]s.example.com"}],
			"volumeMounts": [{"name": %[1]q, "mountPath": "/var/run/%[1]s", "readOnly": true}]}]}`, own)
}
