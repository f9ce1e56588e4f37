package merged

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"

	"github.com/trainweld/trainweld/cmd/internal/objectmerge"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/render/release"
)

// casesOfOne is how many cases use one random definition, since it takes long to compile.
const casesOfOne = 10

// TestVerdicts_Definition is TestVerdicts for objects of random definitions. The other verdict is
// that of apiextensions.
func TestVerdicts_Definition(t *testing.T) {
	c := comparison{name: "definition", stream: 200}
	if c.isLeftOut() {
		return
	}
	known := map[uint64]*randomDefinition{}
	c.random = func(g *generator) *mergeCase {
		at := g.at / casesOfOne
		if known[at] == nil {
			clear(known)
			known[at] = newDefinition(t, at)
		}
		return known[at].random(g)
	}
	for _, typ := range []string{option.ApplyType, operationsType} {
		c.run(t, typ, objectmerge.Defined{})
	}
}

// TestVerdicts_Released is TestVerdicts for the Trainer's own kinds, by their definitions. Webhooks
// judge in another comparison.
func TestVerdicts_Released(t *testing.T) {
	server := newServer(t)
	for i, name := range []string{"TrainJob", "ClusterTrainingRuntime"} {
		c := comparison{name: name, stream: 300 + uint64(i), rare: 2}
		if c.isLeftOut() {
			continue
		}
		definition := released(t, name)
		text, err := release.Latest().Definition(name)
		if err != nil {
			t.Fatal(err)
		}
		d := &randomDefinition{oracle: server.Oracle, defined: definition, kind: name,
			apiVersion: "trainer.kubeflow.org/v1alpha1", schema: schemaOf(t, text), budget: 8}
		c.random = d.random
		for _, typ := range []string{option.ApplyType, option.JSONType, operationsType} {
			c.run(t, typ, definition)
		}
	}
}

// released returns a definition of the latest release.
func released(t *testing.T, kind string) objectmerge.Defined {
	t.Helper()
	text, err := release.Latest().Definition(kind)
	if err != nil {
		t.Fatal(err)
	}
	return defined(t, text)
}

// defined reads a definition as the command does.
func defined(t *testing.T, text []byte) objectmerge.Defined {
	t.Helper()
	read, found := objectmerge.DecodeDefinitions("crd.json", text)
	if found.Err() != nil || len(read) != 1 {
		t.Fatalf("%v: %s", found, text)
	}
	versions := read[0].Fields["spec"].(map[string]any)["versions"].([]any)
	d, found := read[0].Version(asFields(versions[0])["name"].(string))
	if found.Err() != nil {
		t.Fatalf("%v: %s", found, text)
	}
	return d
}

// schemaOf returns the schema of a definition's first version.
func schemaOf(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := json.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// randomDefinition is a definition, compiled by both sides.
type randomDefinition struct {
	oracle           *oracle.Oracle
	defined          objectmerge.Defined
	schema           map[string]any
	kind, apiVersion string
	budget           int // of the values in an object
}

// newDefinition returns the random definition of a seed, which an API server accepts.
func newDefinition(t *testing.T, at uint64) *randomDefinition {
	t.Helper()
	g := &schemas{generator{rand.New(rand.NewPCG(at, 201)), at}}
	for {
		schema := g.root()
		text := encode(t, map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": "things.example.com"},
			"spec": map[string]any{
				"group": "example.com", "scope": "Namespaced",
				"names": map[string]any{"plural": "things", "singular": "thing", "kind": "Thing",
					"listKind": "ThingList"},
				"versions": []any{
					map[string]any{"name": "v1", "served": true, "storage": true,
						"schema": map[string]any{"openAPIV3Schema": schema}}},
			},
		})
		if !isValid(t, text) {
			continue
		}
		o, err := oracle.New(nil, nil, oracle.Modules{})
		if err == nil {
			err = o.Define(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		return &randomDefinition{oracle: o, defined: defined(t, text), schema: schema,
			kind: "Thing", apiVersion: "example.com/v1", budget: 60}
	}
}

// isValid reports whether an API server accepts a new definition.
func isValid(t *testing.T, text []byte) bool {
	t.Helper()
	crd, internal := &apiextensionsv1.CustomResourceDefinition{},
		&apiextensions.CustomResourceDefinition{}
	if err := json.Unmarshal(text, crd); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
		t.Fatal(err)
	}
	internal.Status.StoredVersions = []string{crd.Spec.Versions[0].Name}
	return len(validation.ValidateCustomResourceDefinition(t.Context(), internal)) == 0
}

// random returns a case of the definition.
func (d *randomDefinition) random(g *generator) *mergeCase {
	values := &objects{generator: *g}
	text, err := json.Marshal(
		map[string]any{"apiVersion": d.apiVersion, "kind": d.kind,
			"metadata": map[string]any{"name": "a"}})
	if err != nil {
		panic(err)
	}
	m := g.mergeCase(string(text), func() map[string]any {
		values.budget = d.budget
		fields := values.fields(d.schema, 0)
		if g.chance(10) {
			fields["metadata"] = g.metadata()
		}
		return fields
	}, d.rejections)
	m.definition = &d.defined
	return m
}

// rejections returns the errors of apiextensions.
func (d *randomDefinition) rejections(fields map[string]any, applied bool) []string {
	return refusedBy(d.oracle, fields, applied)
}

// refusedBy returns the errors of an object's definition. An apply leaves nulls, which the decoding
// of another request drops.
func refusedBy(o *oracle.Oracle, fields map[string]any, applied bool) []string {
	decoded, rejected, err := o.Decode(fields, oracle.Namespace)
	if err != nil {
		return []string{err.Error()}
	}
	if rejected != nil {
		return rejected
	}
	if applied {
		for name, value := range fields {
			if name != "metadata" {
				restoreNulls(decoded, name, value)
			}
		}
	}
	rejected, err = o.Validate(decoded, nil)
	if err != nil {
		return []string{err.Error()}
	}
	return rejected
}

// restoreNulls sets the nulls of a value that decoding dropped and no default replaces.
func restoreNulls(into map[string]any, name string, value any) {
	if value == nil {
		if _, has := into[name]; !has {
			into[name] = nil
		}
		return
	}
	restoreNullsWithin(into[name], value)
}

func restoreNullsWithin(into, value any) {
	switch value := value.(type) {
	case map[string]any:
		if fields, ok := into.(map[string]any); ok {
			for name, field := range value {
				restoreNulls(fields, name, field)
			}
		}
	case []any:
		if items, ok := into.([]any); ok && len(items) == len(value) {
			for i := range value {
				restoreNullsWithin(items[i], value[i])
			}
		}
	}
}
