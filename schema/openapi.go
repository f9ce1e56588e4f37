package schema

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/internal/yamltext"
)

// ParseOpenAPI reads how the objects of a kind merge under server-side apply, from JSON or YAML.
// The data is one document of three; empty documents around it do not count:
//
//   - a CustomResourceDefinition of apiextensions.k8s.io/v1. The default version is the stored one.
//   - the openAPIV3Schema of one of its versions.
//   - an OpenAPI v3 document, as an API server prints it: kubectl get --raw
//     /openapi/v3/apis/apps/v1. It must name a kind.
//
// ParseOpenAPI does not ask whether an API server accepts the schema. What a schema does not say
// merges leniently: a value without a type by its JSON, and a list without usable keys as a whole.
// ParseOpenAPI ignores a definition's schema of apiVersion, kind and metadata, because every object
// shares them. Aliases may expand a document to 3 MiB.
//
// The types of fields have no slots in a Go type. They merge objects: see merge.Apply.
func ParseOpenAPI(data []byte, of ...runtimeschema.GroupVersionKind) (*Type, error) {
	read, err := documentOf(data)
	if err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	root, ok := read.(map[string]any)
	if !ok {
		return nil, errors.New("read the definition: must be an object")
	}
	if d := documentIn(root); d != nil {
		return d.kind(of)
	}
	if _, isObject := root["spec"]; isObject || root["kind"] != nil {
		if root, err = versionOf(root, of); err != nil {
			return nil, err
		}
	}
	return newOpenAPI().root(root), nil
}

// documentOf reads the only document of JSON or YAML, as JSON.
func documentOf(data []byte) (document any, err error) {
	var text json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err = decoder.Decode(&text); err != nil {
		only, yamlErr := onlyYAML(data)
		switch {
		case yamlErr == nil:
			text = only
		case utilyaml.IsJSONBuffer(data):
			return nil, err
		default:
			return nil, yamlErr
		}
	} else if decoder.More() {
		return nil, errSeveral
	}
	err = kjson.UnmarshalCaseSensitivePreserveInts(text, &document)
	return document, err
}

// onlyYAML returns the only document of YAML as JSON. A comment alone is not a document.
func onlyYAML(data []byte) (only []byte, err error) {
	only = []byte("null")
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		text, err := reader.Read()
		if err == io.EOF {
			return only, nil
		}
		if err == nil {
			text, err = yamltext.ToJSON(text)
		}
		switch {
		case err != nil:
			return nil, err
		case string(only) == "null":
			only = text
		case string(text) != "null":
			return nil, errSeveral
		}
	}
}

var errSeveral = errors.New("there is more than one document")

// versionOf finds the schema of a version in a definition.
func versionOf(definition map[string]any,
	of []runtimeschema.GroupVersionKind) (map[string]any, error) {
	if kind := definition["kind"]; kind != "CustomResourceDefinition" {
		return nil, fmt.Errorf("kind: must be CustomResourceDefinition, and is %v", kind)
	}
	if version := definition["apiVersion"]; version != "apiextensions.k8s.io/v1" {
		return nil, fmt.Errorf("apiVersion: must be apiextensions.k8s.io/v1, and is %v", version)
	}
	spec, _ := definition["spec"].(map[string]any)
	if spec["preserveUnknownFields"] == true {
		return nil, errors.New("spec.preserveUnknownFields: must be false")
	}
	var wanted runtimeschema.GroupVersionKind
	if len(of) > 0 {
		wanted = of[0]
	}
	if names := asSchema(spec["names"]); wanted.Kind != "" &&
		(names["kind"] != wanted.Kind || spec["group"] != wanted.Group) {
		return nil, fmt.Errorf("spec.names.kind: must be %s of %s, and is %v of %v", wanted.Kind,
			wanted.Group, names["kind"], spec["group"])
	}
	versions, _ := spec["versions"].([]any)
	for i, v := range versions {
		v, _ := v.(map[string]any)
		if wanted.Version != "" && v["name"] != wanted.Version ||
			wanted.Version == "" && v["storage"] != true && len(versions) > 1 {
			continue
		}
		validation, _ := v["schema"].(map[string]any)
		root, ok := validation["openAPIV3Schema"].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("spec.versions[%d].schema.openAPIV3Schema: required", i)
		}
		return root, nil
	}
	if wanted.Version != "" {
		return nil, fmt.Errorf("spec.versions: there is no version %q", wanted.Version)
	}
	return nil, errors.New("spec.versions: there is no version that is stored")
}

// Open returns the type of objects without a schema: objects merge by key, and every other value is
// replaced.
func Open() *Type { return newOpenAPI().free.Object }

// openAPI compiles a schema. Definitions repeat a few types often, so it makes one of each.
type openAPI struct {
	document document         // nil for a definition
	types    map[string]*Type // of the document, by name
	pending  []pending
	lists    []*Type // the list-maps by one key
	scalars  map[scalar]*Type
	// free is a value that only its JSON describes: objects merge by key, and all else is replaced.
	// Within a list of such values the type is opaque, and objects are replaced as well.
	free, opaque *Type
	meta         *Type // of a definition
}

// scalar is a type of scalars: see Type.JSON and Type.NonNull.
type scalar struct {
	json    string
	nonNull bool
}

func newOpenAPI() *openAPI {
	c := &openAPI{
		types:   map[string]*Type{},
		scalars: map[scalar]*Type{},
		free:    &Type{Kind: Untyped},
		opaque:  &Type{Kind: Untyped},
	}
	c.opaque.List = &Type{Kind: Atomic, Elem: c.opaque}
	c.opaque.Object = &Type{Kind: Atomic, Object: &Type{Kind: Map, Elem: c.opaque}}
	c.free.List = &Type{Kind: Atomic, Elem: c.opaque}
	c.free.Object = &Type{Kind: Map, Elem: c.free}
	return c
}

// scalar returns the type of a scalar, which many fields share.
func (c *openAPI) scalar(of scalar) *Type {
	if c.scalars[of] == nil {
		c.scalars[of] = &Type{Kind: Scalar, JSON: of.json, NonNull: of.nonNull}
	}
	return c.scalars[of]
}

// root returns the type of whole objects.
func (c *openAPI) root(s map[string]any) *Type {
	c.meta = objectMeta()
	return c.finish(c.object(s, s[keepsUnknown] == true, c.ownFields()))
}

// value returns the type of a schema. Only a definition refuses null, where it states a type, and
// no default takes the place of the null. The flag free states that an outer schema keeps unknown
// fields, and so do all inner ones.
func (c *openAPI) value(s map[string]any, free bool) *Type {
	t := c.nullable(s, free)
	hasType := s["type"] != nil || s[intOrString] == true
	if c.document != nil || !hasType || s["nullable"] == true || s["default"] != nil {
		return t
	}
	if t.Kind == Scalar {
		return c.scalar(scalar{t.JSON, true})
	}
	t.NonNull = true
	return t
}

// nullable returns the type of a schema as if its values may be null.
func (c *openAPI) nullable(s map[string]any, free bool) *Type {
	if name, ok := reference(s); ok && c.document != nil {
		return c.named(name, s[mapType])
	}
	free = free || s[keepsUnknown] == true
	switch s["type"] {
	case "object":
		if s[embedded] == true && c.document == nil {
			return c.object(s, free, c.ownFields())
		}
		return c.object(s, free, nil)
	case "array":
		return c.list(s, free)
	case "integer":
		if c.document == nil {
			return c.scalar(scalar{json: "integer"})
		}
		return c.scalar(scalar{json: "number"}) // the decoder of the API's Go types judges it
	case "number":
		return c.scalar(scalar{json: "number"})
	case "boolean":
		return c.scalar(scalar{json: "boolean"})
	case "string":
		if format := s["format"]; format == nil || format == "" || format == "byte" ||
			c.document == nil {
			return c.scalar(scalar{json: "string"})
		}
		return c.scalar(scalar{}) // an API server accepts any scalar here when it merges
	default:
		if s[intOrString] == true && c.document == nil {
			return c.scalar(scalar{json: IntOrString})
		}
		if len(subschemas(s, "properties")) == 0 && s["additionalProperties"] == nil &&
			s["items"] == nil {
			return c.free
		}
		return &Type{Kind: Untyped, Object: c.object(s, free, nil), List: c.list(s, free)}
	}
}

// ownFields returns the fields of every Kubernetes object.
func (c *openAPI) ownFields() map[string]*Type {
	text := c.scalar(scalar{json: "string"})
	return map[string]*Type{"apiVersion": text, "kind": text, "metadata": c.meta}
}

// object returns the type of a schema's objects. The types in own replace those that the schema
// gives the fields.
func (c *openAPI) object(s map[string]any, free bool, own map[string]*Type) *Type {
	t := &Type{Kind: Struct}
	properties := subschemas(s, "properties")
	var compiled []StructField
	required, _ := s["required"].([]any)
	add := func(name string, of *Type, def any) {
		isRequired := c.document != nil && slices.Contains(required, any(name))
		compiled = append(
			compiled, StructField{Name: name, Type: of, Default: def, Required: isRequired})
	}
	for name, property := range properties {
		if _, isOwn := own[name]; !isOwn {
			add(name, c.value(property, free), property["default"])
		}
	}
	for name, of := range own {
		add(name, of, nil)
	}
	t.withFields(compiled)
	switch of := s["additionalProperties"].(type) {
	case nil:
		if free || len(properties) == 0 && own == nil {
			t.Elem = c.free
		}
	case map[string]any:
		t.Elem = c.value(of, free)
	case bool:
		if of {
			t.Elem = c.free
		}
	}
	if len(t.Fields) == 0 && t.Elem != nil {
		t.Kind = Map
	}
	if s[mapType] == "atomic" {
		return &Type{Kind: Atomic, Object: t}
	}
	return t
}

// withFields sets the fields of a struct, sorted by name.
func (t *Type) withFields(fields []StructField) {
	slices.SortFunc(fields, func(a, b StructField) int { return strings.Compare(a.Name, b.Name) })
	t.Fields = make([]*StructField, len(fields))
	for i := range fields {
		t.Fields[i] = &fields[i]
	}
	t.sorted = t.Fields
}

func (c *openAPI) list(s map[string]any, free bool) *Type {
	t := &Type{Kind: Atomic, Elem: c.opaque}
	if items, ok := s["items"].(map[string]any); ok {
		t.Elem = c.value(items, free)
	}
	switch kind, keys := c.document.strategy(s); kind {
	case "set":
		t.Kind = Set
	case "map":
		t.Kind, t.Keys = ListMap, keys
		c.lists = append(c.lists, t)
	}
	return t
}

// setKeys sets the key of a list-map. A list without keys, or whose items cannot have them, merges
// as a whole.
func (t *Type) setKeys() {
	items := t.Elem.granular()
	isUnusable := func(name string) bool {
		f := items.Field(name)
		return f == nil || f.Type.Kind != Scalar
	}
	switch {
	case len(t.Keys) == 0 || slices.ContainsFunc(t.Keys, isUnusable):
		t.Kind, t.Keys = Atomic, nil
	case len(t.Keys) == 1:
		t.Key, t.key = t.Keys[0], items.Field(t.Keys[0])
	}
}

// asSchema returns a schema, or nil for another value.
func asSchema(v any) map[string]any {
	s, _ := v.(map[string]any)
	return s
}

// objectMeta returns the type of metadata, which an API server defines itself.
var objectMeta = sync.OnceValue(func() *Type {
	var s any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(metaSchema), &s); err != nil {
		panic(err)
	}
	c := newOpenAPI()
	c.document = document{} // which permits nulls
	return c.finish(c.value(asSchema(s), false))
})

//go:embed objectmeta.json
var metaSchema string

// The extensions that decide how values merge.
const (
	keepsUnknown = "x-kubernetes-preserve-unknown-fields"
	embedded     = "x-kubernetes-embedded-resource"
	intOrString  = "x-kubernetes-int-or-string"
	listType     = "x-kubernetes-list-type"
	listKeys     = "x-kubernetes-list-map-keys"
	mapType      = "x-kubernetes-map-type"
)

// subschemas returns the schemas that a keyword holds by name.
func subschemas(s map[string]any, keyword string) map[string]map[string]any {
	held, _ := s[keyword].(map[string]any)
	schemas := make(map[string]map[string]any, len(held))
	for name, of := range held {
		if of, ok := of.(map[string]any); ok {
			schemas[name] = of
		}
	}
	return schemas
}

// stringsOf returns the strings of a list.
func stringsOf(list any) []string {
	items, _ := list.([]any)
	all := make([]string, 0, len(items))
	for _, item := range items {
		if text, ok := item.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
