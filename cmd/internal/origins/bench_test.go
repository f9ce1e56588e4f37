package origins_test

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/trainweld/trainweld/cmd/internal/origins"
)

// large returns three layers with 200 objects and 40 operations.
func large(b *testing.B) filesys.FileSystem {
	b.Helper()
	files := filesys.MakeFsInMemory()
	write := func(name, text string) {
		if err := files.WriteFile(name, []byte(text)); err != nil {
			b.Fatal(err)
		}
	}
	const web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web%[1]d, labels: {app: web%[1]d}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web%[1]d}}
  template:
    metadata: {labels: {app: web%[1]d}}
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1
        args: [--port, "8080", --level, info]
        ports: [{name: http, containerPort: 8080}]
        env:
        - {name: A, value: a}
        - name: MODE
          valueFrom: {configMapKeyRef: {name: settings%[1]d, key: mode}}
        resources:
          limits: {cpu: "1", memory: 1Gi}
          requests: {cpu: "1", memory: 1Gi}
      volumes: [{name: config, configMap: {name: settings%[1]d}}]
---
apiVersion: v1
kind: Service
metadata: {name: web%[1]d}
spec:
  selector: {app: web%[1]d}
  ports: [{name: http, port: 80, targetPort: http}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings%[1]d}
data: {mode: fast, level: info, text: "a longer text that is here for its size"}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web%[1]d}
spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web%[1]d}
`
	base := "resources:\n"
	for i := range 50 {
		base += fmt.Sprintf("- web%d.yaml\n", i)
		write(fmt.Sprintf("/r/base/web%d.yaml", i), fmt.Sprintf(web, i))
	}
	write("/r/base/kustomization.yaml", base+operations(0, 12))
	write("/r/mid/kustomization.yaml", "resources: [../base]\n"+operations(12, 24))
	write("/r/top/kustomization.yaml", "resources: [../mid]\n"+operations(24, 36))
	return files
}

// operations returns a kustomization's operations from one number to another one.
func operations(from, to int) string {
	text := map[string]string{}
	for i := from; i < to; i++ {
		switch i % 12 {
		case 0:
			text["namePrefix: "] = fmt.Sprintf("p%d-\n", i)
		case 1:
			text["namespace: "] = fmt.Sprintf("n%d\n", i)
		case 2, 3:
			text["labels:\n"] += fmt.Sprintf("- pairs: {l%d: v}\n  includeTemplates: true\n", i)
		case 4, 5:
			text["images:\n"] += fmt.Sprintf("- {name: registry.example.com/web, newTag: v%d}\n", i)
		case 6, 7:
			text["replicas:\n"] += fmt.Sprintf("- {name: web%d, count: %d}\n", i, i)
		case 8, 9, 10:
			text["patches:\n"] += fmt.Sprintf("- patch: |\n    apiVersion: apps/v1\n"+
				"    kind: Deployment\n    metadata: {name: web%d}\n    spec:\n      template:\n"+
				"        spec:\n          containers:\n          - {name: web, workingDir: /w%d}\n", i, i)
		case 11:
			text["configMapGenerator:\n"] += fmt.Sprintf("- {name: made%d, literals: [a=b]}\n", i)
		}
	}
	all := ""
	for key, value := range text {
		all += key + value
	}
	return all
}

// BenchmarkNew compares a trace of all objects, and of one, with the build alone.
func BenchmarkNew(b *testing.B) {
	source := sourceOf(large(b))
	for b.Loop() {
		start := time.Now()
		made, err := source.Build("/r/top", nil)
		if err != nil {
			b.Fatal(err)
		}
		built := time.Since(start)
		output := bytes.Join(made, []byte("\n"))
		runtime.GC()
		start = time.Now()
		trace, err := origins.New(source, "/r/top")
		if err != nil {
			b.Fatal(err)
		}
		whole := time.Since(start)
		start = time.Now()
		asked := "p24-p12-p0-web7"
		files, err := origins.Needed(source, "/r/top", "Deployment", asked)
		if err != nil {
			b.Fatal(err)
		}
		less := source
		less.Build = func(dir string, instead map[string][]byte) ([][]byte, error) {
			all := maps.Clone(files)
			maps.Copy(all, instead)
			return source.Build(dir, all)
		}
		one, err := origins.New(less, "/r/top")
		if err != nil || !one.Within(output, "Deployment/"+asked) {
			b.Fatal(err, "or the object alone is another one")
		}
		b.ReportMetric(float64(len(made)), "objects")
		b.ReportMetric(float64(len(trace.Operations)), "operations")
		b.ReportMetric(built.Seconds(), "s/build")
		b.ReportMetric(float64(whole)/float64(built), "whole/build")
		b.ReportMetric(float64(time.Since(start))/float64(built), "one/build")
	}
}
