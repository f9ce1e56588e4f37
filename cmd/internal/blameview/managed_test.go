package blameview_test

import (
	"slices"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/blameview"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

const managedPod = `apiVersion: v1
kind: Pod
metadata:
  name: a
  labels: {app: web, by: hand}
  managedFields:
  - manager: creator
    operation: Update
    fieldsV1:
      f:metadata: {f:labels: {.: {}, f:app: {}}}
      f:spec:
        f:containers:
          k:{"name":"web"}:
            .: {}
            f:image: {}
            f:name: {}
            f:ports:
              k:{"containerPort":80,"protocol":"TCP"}: {.: {}, f:containerPort: {}}
        f:nodeSelector: {}
  - manager: editor
    operation: Update
    fieldsV1:
      f:metadata: {f:labels: {f:by: {}}}
      f:spec:
        f:containers:
          k:{"name":"web"}:
            f:image: {}
spec:
  containers:
  - name: web
    image: i
    workingDir: /
    ports:
    - {containerPort: 80, protocol: TCP}
  - name: mesh
    image: m
  nodeSelector: {pool: a}
`

// TestManaged_OwnersOf holds that a field belongs to the entries that own it, fields within it, or
// a value around it.
func TestManaged_OwnersOf(t *testing.T) {
	documents, findings := manifest.DecodeKinds("pod.yaml", []byte(managedPod),
		[]manifest.Kind{
			{Version: "v1", Kind: "Pod", New: func() any { return new(blameview.AnyObject) }}})
	if findings != nil || len(documents) != 1 {
		t.Fatalf("Decode = %d documents, %v", len(documents), findings)
	}
	room := blameview.MaxManaged
	m, ok := blameview.ReadManaged(documents[0], &room)
	if !ok {
		t.Fatal(m.Findings)
	}
	for path, want := range map[string][]string{
		`metadata.labels["app"]`:                                            {"creator"},
		`metadata.labels["by"]`:                                             {"editor"},
		`metadata.labels`:                                                   {"creator", "editor"},
		`metadata.labels["none"]`:                                           nil,
		`spec.containers[name="web"].image`:                                 {"creator", "editor"},
		`spec.containers[name="web"].workingDir`:                            nil,
		`spec.containers[name="web"].ports`:                                 {"creator"},
		`spec.containers[name="web"].ports[containerPort=80].containerPort`: {"creator"},
		`spec.containers[name="web"].ports[containerPort="80"]`:             {"creator"},
		`spec.containers[name="mesh"]`:                                      nil,
		`spec.containers[name="none"]`:                                      nil,
		`spec.nodeSelector["pool"]`:                                         {"creator"},
		`spec`:                                                              {"creator", "editor"},
		`status`:                                                            nil,
	} {
		parsed, err := fieldpath.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range m.OwnersOf(parsed) {
			got = append(got, e.Manager)
		}
		if !slices.Equal(got, want) {
			t.Errorf("OwnersOf(%s) = %q, want %q", path, got, want)
		}
	}
}
