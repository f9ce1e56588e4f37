package engine_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// TestApply_Duplicates checks that a patch to a list of the base names the merge keys that its items share, each once.
func TestApply_Duplicates(t *testing.T) {
	plan, err := engine.For[corev1.Service, corev1.Service](schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	base := corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Port: 53, Protocol: "UDP"}, {Port: 53, Protocol: "TCP"}, {Port: 80}, {Port: 53, Protocol: "SCTP"},
	}}}
	ports := func(port int32) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port, Name: "a"}}}}
	}
	same := fieldpath.Fields("spec", "ports").Append(fieldpath.Item("port", "53"))
	for _, tc := range []struct {
		reason  string
		patches []*corev1.Service
		want    []fieldpath.Path
	}{
		{"two patches to the list", []*corev1.Service{ports(53), ports(80)}, []fieldpath.Path{same}},
		{"a patch to another field", []*corev1.Service{{Spec: corev1.ServiceSpec{ClusterIP: "None"}}}, nil},
	} {
		var patches []engine.Layered[corev1.Service]
		for _, patch := range tc.patches {
			patches = append(patches, engine.Layered[corev1.Service]{Layer: engine.Manager("a"), Patch: patch})
		}
		result, err := plan.Apply(&base, patches, engine.Options{Owners: true})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(result.Duplicates, tc.want) {
			t.Errorf("%s: Duplicates = %v, want %v", tc.reason, result.Duplicates, tc.want)
		}
	}
}
