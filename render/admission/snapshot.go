package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// The controller of Trainer 2.3 first stores a runtime, with its managed fields, as YAML in a
// ConfigMap. The library (sigs.k8s.io/yaml) makes YAML of JSON by a YAML parser, which takes no
// longer keys (Trainer v2.3.0 pkg/runtime/core/snapshot.go).
const maxSnapshotKey = 1024

// snapshotKeys returns the findings on fields of a runtime whose keys in the snapshot are too long.
func (o *object) snapshotKeys() finding.List {
	k := keyWalk{object: o}
	k.walk(fieldpath.Fields("spec"), o.fields["spec"], structuralField(o.schema, "spec"), true)
	return k.found
}

type keyWalk struct {
	*object
	found finding.List
}

// walk visits a value. A manager owns parts of it if it is not atomic.
func (k *keyWalk) walk(at fieldpath.Path, value any, s *structuralschema.Structural, owned bool) {
	switch v := value.(type) {
	case map[string]any:
		owned = owned && (s == nil || s.XMapType == nil || *s.XMapType != "atomic")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			step, of, key := fieldpath.Field(name), structuralField(s, name), name
			if of == nil {
				step, of = fieldpath.Key(name), valuesOf(s)
			}
			if owned {
				key = "f:" + name
			}
			below := at.Append(step)
			k.check(below, key)
			k.walk(below, v[name], of, owned)
		}
	case []any:
		var items *structuralschema.Structural
		kind := "atomic"
		if s != nil {
			if items = s.Items; s.XListType != nil {
				kind = *s.XListType
			}
		}
		owned = owned && kind == "map"
		for i, item := range v {
			below := at.Append(fieldpath.Index(i))
			if object, ok := item.(map[string]any); ok && owned {
				keys := map[string]any{}
				for _, name := range s.XListMapKeys {
					if field, ok := object[name]; ok {
						keys[name] = field
					}
				}
				if text, err := json.Marshal(keys); err == nil {
					k.check(below, "k:"+string(text))
				}
			}
			k.walk(below, item, items, owned)
		}
	}
}

// check reports a key that is too long in JSON, with its quotes.
func (k *keyWalk) check(at fieldpath.Path, key string) {
	const quotes = 2
	if len(key)+quotes <= maxSnapshotKey/6 { // an escape has at most six characters
		return
	}
	text, err := json.Marshal(key)
	if n := utf8.RuneCount(text); err == nil && n > maxSnapshotKey {
		k.found = append(k.found, finding.Finding{
			Code: codes.NeverCreated, Severity: finding.Error, Object: k.id, Path: at,
			Message: fmt.Sprintf(
				"its key in managed fields has %d characters: must have at most %d, or the "+
					"controller cannot store a snapshot of the runtime", n, maxSnapshotKey),
			Remedy: finding.Remedy{Text: "shorten it"},
		})
	}
}

// structuralField returns the schema of a field that a schema names, or nil.
func structuralField(s *structuralschema.Structural, name string) *structuralschema.Structural {
	if s == nil {
		return nil
	}
	if field, ok := s.Properties[name]; ok {
		return &field
	}
	return nil
}

// snapshot reports a runtime that the controller cannot store for this TrainJob. It then makes
// nothing.
func (c *checker) snapshot() {
	if c.release().RuntimeRead != release.RuntimeSnapshot {
		return
	}
	c.Add(c.in.Runtime.longKeys...)
}
