package merge_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// BenchmarkCompile compiles plans. B/held is the memory that a plan keeps, and B/op includes what
// compiling it leaves behind.
func BenchmarkCompile(b *testing.B) {
	for _, plan := range []struct {
		of      string
		compile func() (any, error)
	}{
		{"Pod", func() (any, error) { return planFor[corev1.Pod](schema.Rules{}) }},
		{"Deployment", func() (any, error) { return planFor[appsv1.Deployment](schema.Rules{}) }},
	} {
		b.Run(plan.of, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := plan.compile(); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			kept := make([]any, 20)
			before := heap()
			for i := range kept {
				kept[i], _ = plan.compile()
			}
			b.ReportMetric((heap()-before)/float64(len(kept)), "B/held")
			runtime.KeepAlive(kept)
		})
	}
}

// heap returns the bytes of the heap that something still uses.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkSize links a program that copies a Deployment, and one that merges patches into it as
// well.
func BenchmarkSize(b *testing.B) {
	const without = `package main

import (
	"encoding/json"
	"os"

	appsv1 "k8s.io/api/apps/v1"
)

func main() {
	d := &appsv1.Deployment{}
	if err := json.NewDecoder(os.Stdin).Decode(d); err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(d.DeepCopy())
}
`
	const with = `package main

import (
	"encoding/json"
	"os"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/trainweld/trainweld/merge"
)

func main() {
	d, patch := &appsv1.Deployment{}, merge.Object{}
	in := json.NewDecoder(os.Stdin)
	if err := in.Decode(d); err != nil {
		panic(err)
	}
	if err := in.Decode(&patch); err != nil {
		panic(err)
	}
	result, err := merge.Strategic(d.DeepCopy(), []merge.Patch{{Manager: "web", Value: patch}})
	if err != nil {
		panic(err)
	}
	for path, claims := range result.History.All() {
		println(path.String(), len(claims))
	}
	json.NewEncoder(os.Stdout).Encode(&result.Value)
}
`
	var less, more float64
	for range b.N {
		less, more = linked(b, without), linked(b, with)
	}
	b.ReportMetric(0, "ns/op") // of the linker
	b.ReportMetric(less/1e6, "MB/k8s.io/api")
	b.ReportMetric(more/1e6, "MB/engine")
	b.ReportMetric((more-less)/1e6, "MB/added")
}

// linked returns the size of a program without its symbols.
func linked(b *testing.B, source string) float64 {
	b.Helper()
	dir := b.TempDir()
	file, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(file, []byte(source), 0o666); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program,
		file).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		b.Fatal(err)
	}
	return float64(info.Size())
}

// BenchmarkPolicies merges the patches of three managers into a Pod, with owners: by no policy, and
// by all of them.
func BenchmarkPolicies(b *testing.B) {
	plan, err := planFor[corev1.PodSpec](schema.PodRules(reflect.TypeFor[corev1.PodSpec]()))
	if err != nil {
		b.Fatal(err)
	}
	env := func(name, value string) any { return merge.Object{"name": name, "value": value} }
	var base corev1.PodSpec
	for _, name := range []string{"server", "proxy", "log"} {
		base.Containers = append(base.Containers, corev1.Container{
			Name: name, Image: name + ":1", Args: []string{"--port=80", "--verbose"},
			Ports: []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 443}},
			Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"},
				{Name: "C", Value: "3"}},
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"},
				{Name: "tmp", MountPath: "/tmp"}},
			LivenessProbe: &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{
					Exec: &corev1.ExecAction{Command: []string{"healthy"}}}, PeriodSeconds: 5},
		})
	}
	base.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "tmp"}}
	base.NodeSelector = map[string]string{"pool": "a", "zone": "b"}
	var patches []merge.Patch
	for i, name := range []string{"web", "queue", "team"} {
		patches = append(patches, merge.Patch{Manager: name, Value: &merge.Object{
			"nodeSelector": merge.Object{"pool": name}, "schedulerName": "s",
			"volumes": []any{merge.Object{"name": name, "configMap": merge.Object{"name": name}}},
			"containers": []any{
				merge.Object{"name": "server", "image": "server:2",
					"env":          []any{env("A", name), env("D", "4")},
					"volumeMounts": []any{merge.Object{"name": name, "mountPath": "/" + name}}},
				merge.Object{"name": []string{"proxy", "log", "new"}[i],
					"livenessProbe": merge.Object{
						"httpGet": merge.Object{"port": int64(80), "path": "/"}},
					"resources": merge.Object{"limits": merge.Object{"cpu": "1"}}},
			},
		}})
	}
	protected := []fieldpath.Path{fieldpath.Fields("containers", "args"),
		fieldpath.Fields("serviceAccountName")}
	for _, by := range []struct {
		name string
		o    options
	}{
		{"none", options{}},
		{"all", options{Order: "base", Unions: "last", Empty: "skip", Precedence: "first",
			Defaults: "rules", Protected: protected}},
		{"defaults", options{Defaults: "rules"}},
		{"base", options{Order: "base", Unions: "last", Empty: "skip", Precedence: "base",
			Protected: protected}},
	} {
		b.Run(by.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := plan.Apply(&base, patches, by.o.list()...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
