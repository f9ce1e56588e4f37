package builtin

import (
	"slices"
	"testing"

	"github.com/trainweld/trainweld/render/release/minor"
)

func TestSchemaOf(t *testing.T) {
	known := []struct {
		apiVersion, kind string
		since, until     string // the versions that serve it
	}{
		{"v1", "Service", "1.29", "1.37"},
		{"apps/v1", "Deployment", "1.29", "1.37"},
		{"resource.k8s.io/v1", "DeviceClass", "1.34", "1.37"},
		{"resource.k8s.io/v1alpha3", "DeviceClass", "1.29", "1.33"},
		{"apps/v1beta1", "Deployment", "", ""},
		{"apps/v1", "Deploymen", "", ""},
		{"example.com/v1", "Widget", "", ""},
	}
	for _, k := range known {
		for _, name := range append([]string{"1.29"}, minor.Names()...) {
			want := k.since != "" && minor.AtLeast(name, k.since) && minor.AtLeast(k.until, name)
			if got := SchemaOf(name, k.apiVersion, k.kind) != nil; got != want {
				t.Errorf("Kubernetes %s: %s %s is known: %t", name, k.apiVersion, k.kind, got)
			}
		}
	}
}

func TestSchemaOfMerges(t *testing.T) {
	for _, name := range minor.Names() {
		ports := SchemaOf(name, "v1", "Service").Field("spec").Type.Field("ports").Type
		if !slices.Equal(ports.Keys, []string{"port", "protocol"}) {
			t.Errorf("Kubernetes %s: ports merge by %q", name, ports.Keys)
		}
		pod := SchemaOf(name, "v1", "Pod").Field("spec").Type
		if got := pod.Field("evictionResponders") != nil; got != minor.AtLeast(name, "1.37") {
			t.Errorf("Kubernetes %s: a Pod has evictionResponders: %t", name, got)
		}
	}
}
