package release

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Field is a field of a definition, with the fields below it. A list has Items, and a map Values.
type Field struct {
	Type        string            `json:"type"`
	Format      string            `json:"format"`
	Fields      map[string]*Field `json:"properties"`
	Items       *Field            `json:"items"`
	Values      *Field            `json:"additionalProperties"`
	IntOrString bool              `json:"x-kubernetes-int-or-string"`
	// Default is the default as JSON, or nil.
	Default json.RawMessage `json:"default"`
	// Open marks a field whose content another schema describes: the metadata of an object. Its
	// Fields are unknown.
	Open bool `json:"-"`
}

// Below returns the field with a name below f. In a list or a map, it looks below the items or the
// values. It returns nil without such a field.
func (f *Field) Below(name string) *Field {
	for f != nil && f.Fields == nil {
		switch {
		case f.Items != nil:
			f = f.Items
		case f.Values != nil:
			f = f.Values
		default:
			return nil
		}
	}
	if f == nil {
		return nil
	}
	return f.Fields[name]
}

// Find returns the field at a path of names, which omits the items of lists and the keys of maps.
// It returns nil for no field.
func (f *Field) Find(names ...string) *Field {
	for _, name := range names {
		f = f.Below(name)
	}
	return f
}

// Definitions reads the fields of definitions, each definition once. The zero value is ready for
// use. It is safe for concurrent use.
type Definitions struct {
	mu   sync.Mutex
	read map[definitionKey]*Field
}

type definitionKey struct{ version, kind string }

// Fields returns the fields of a kind in a release. It returns an error where Release.Definition
// does.
func (d *Definitions) Fields(r *Release, kind string) (*Field, error) {
	if d == nil {
		d = &Definitions{}
	}
	r = r.Or()
	key := definitionKey{r.Schema + " " + r.JobSetSchema, kind}
	d.mu.Lock()
	defer d.mu.Unlock()
	if root := d.read[key]; root != nil {
		return root, nil
	}
	text, err := r.Definition(kind)
	if err != nil {
		return nil, err
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					Root *Field `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(text, &crd); err != nil {
		return nil, fmt.Errorf("the definition of %s in Trainer %s: %w", kind, r.Version, err)
	}
	root := crd.Spec.Versions[0].Schema.Root
	root.Fields["metadata"].Open = true
	if d.read == nil {
		d.read = map[definitionKey]*Field{}
	}
	d.read[key] = root
	return root, nil
}

// Having returns the known releases in which a kind has a field, the oldest first. The names form a
// path as in Field.Find.
func (d *Definitions) Having(kind string, names ...string) []Release {
	return slices.DeleteFunc(Known(), func(r Release) bool {
		root, err := d.Fields(&r, kind)
		return err != nil || root.Find(names...) == nil
	})
}

// unread caches the definitions of the unread releases: Later reads them, for a file with an
// unknown field.
var unread = sync.OnceValue(func() *Definitions { return &Definitions{} })

// Later returns the name of the unread release that adds a field to a kind, or "". The names form a
// path as in Field.Find.
func Later(kind string, names ...string) string {
	for _, r := range Known()[Latest().Index()+1:] {
		if root, err := unread().Fields(&r, kind); err == nil && root.Find(names...) != nil {
			return r.Name
		}
	}
	return ""
}

// Span returns consecutive releases as text, such as "Trainer 2.2 and later", or "" for none.
func Span(of []Release) string {
	if len(of) == 0 {
		return ""
	}
	first, last := of[0].Name, of[len(of)-1].Name
	switch {
	case len(of) > 1 && last == releases()[len(releases())-1].Name:
		return fmt.Sprintf("Trainer %s and later", first)
	case len(of) > 2:
		return fmt.Sprintf("Trainer %s to %s", first, last)
	}
	names := make([]string, len(of))
	for i := range of {
		names[i] = of[i].Name
	}
	return "Trainer " + strings.Join(names, " and ")
}
