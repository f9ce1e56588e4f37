package crds_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi/openapitest"
	"k8s.io/kube-openapi/pkg/spec3"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/schema"
)

// documents are the OpenAPI v3 documents of an API server, by group and version.
func documents(t testing.TB) map[runtimeschema.GroupVersion][]byte {
	t.Helper()
	paths, err := openapitest.NewEmbeddedFileClient().Paths()
	if err != nil {
		t.Fatal(err)
	}
	all := map[runtimeschema.GroupVersion][]byte{}
	for path, of := range paths {
		data, err := of.Schema("application/json")
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		group, version, ok := strings.Cut(strings.TrimPrefix(path, "apis/"), "/")
		if strings.HasPrefix(path, "api/") {
			group, ok = "", true
		}
		if ok {
			all[runtimeschema.GroupVersion{Group: group, Version: version}] = data
		}
	}
	return all
}

// builtIn compiles the kinds of a document that have a spec or data.
func builtIn(t testing.TB, of runtimeschema.GroupVersion, data []byte) (all []*definition) {
	t.Helper()
	var document spec3.OpenAPI
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	converter, err := managedfields.NewTypeConverter(document.Components.Schemas, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range document.Components.Schemas {
		kinds, _ := s.Extensions["x-kubernetes-group-version-kind"].([]any)
		if _, ok := s.Properties["metadata"]; !ok || len(kinds) != 1 ||
			strings.HasSuffix(name, "List") {
			continue
		}
		kind := of.WithKind(kinds[0].(map[string]any)["kind"].(string))
		if kinds[0].(map[string]any)["group"] != of.Group {
			continue
		}
		typ, err := schema.ParseOpenAPI(data, kind)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(
			all, &definition{name: kind.String(), kind: kind, typ: typ, nullable: typ,
				converter: converter})
	}
	return all
}

// TestServerSideApplyOfBuiltInKinds is TestServerSideApply for the kinds of Kubernetes itself, by
// the documents of an API server.
func TestServerSideApplyOfBuiltInKinds(t *testing.T) {
	seed := testenv.NumberOr(t, "TRAINWELD_SEED", 1)
	kinds := 0
	for of, data := range documents(t) {
		for _, d := range builtIn(t, of, data) {
			kinds++
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(len(d.name)))), root: d.typ}
				merged := 0
				cases := int(testenv.NumberOr(t, "TRAINWELD_OBJECTS", 1500)) / 50
				for range cases {
					if d.compare(t, g.pair()) {
						merged++
					}
				}
				if merged < cases/2 {
					t.Errorf("only %d of %d cases merge", merged, cases)
				}
			})
		}
	}
	if kinds < 25 {
		t.Errorf("%d kinds", kinds)
	}
}

// TestServerSideApplyOfServedDefinitions is TestServerSideApply for definitions by the documents
// that the API server makes of them.
func TestServerSideApplyOfServedDefinitions(t *testing.T) {
	seed := testenv.NumberOr(t, "TRAINWELD_SEED", 1)
	all := files(t)
	for name, data := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := compile(name, data)
			if err != nil {
				t.Fatal(err)
			}
			if d.typ, err = schema.ParseOpenAPI(d.served, d.kind); err != nil {
				t.Fatal(err)
			}
			d.nullable, d.types = d.typ, nil
			g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(len(data)))), root: d.typ}
			for range int(testenv.NumberOr(t, "TRAINWELD_OBJECTS", 1500)) / len(all) {
				d.compare(t, g.pair())
			}
		})
	}
}
