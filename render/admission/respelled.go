package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

// This file warns of values that the Trainer's mutating webhook respells. When it sets the time of
// a patch, it writes the whole TrainJob from its Go value: cpu: 1 becomes "1". The API server
// compares immutable fields as text. So the next write that does not go through the Go value is
// rejected: a server-side apply of the same file merges 1 over the stored "1", and the times of the
// patches stay. If no patch had a time to set on creation, 1 is stored, and the first patch of a
// queue brings "1".

// respelled reports these values of a TrainJob. sent has the fields before the webhook, which has
// changed the object if stamped is set.
func (c *checker) respelled(sent map[string]any, stamped bool) {
	r := respelling{checker: c}
	switch {
	case stamped:
		r.message = "the webhook stores %s, and the field is immutable: the API server rejects " +
			"each later server-side apply of the file"
		r.compare(fieldpath.Fields("spec"), sent["spec"], c.job.fields["spec"],
			structuralField(c.job.schema, "spec"))
	case c.typed.Labels[render.QueueLabel] != "":
		stored := &object{definition: c.job.definition, id: c.job.id, fields: c.job.fields,
			names: c.job.names}
		if stored.reencode(c.typed) != nil {
			return
		}
		r.message = "the queue's patch makes the webhook store %s, and the field is immutable: " +
			"the API server rejects the patch, and the TrainJob never runs"
		r.compare(fieldpath.Fields("spec"), sent["spec"], stored.fields["spec"],
			structuralField(c.job.schema, "spec"))
	}
}

type respelling struct {
	*checker
	message string
	frozen  bool // whether a field around is immutable
}

// compare compares a value with the one that the webhook stores. Fields that only the webhook has
// stay in a later apply, except in an atomic value.
func (r respelling) compare(at fieldpath.Path, sent, stored any, s *structuralschema.Structural) {
	if s != nil {
		for _, rule := range s.XValidations {
			r.frozen = r.frozen || rule.Rule == immutable
		}
	}
	switch sent := sent.(type) {
	case map[string]any:
		stored, _ := stored.(map[string]any)
		names := maps.Clone(sent)
		if s != nil && s.XMapType != nil && *s.XMapType == "atomic" {
			maps.Copy(names, stored)
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			step, of := fieldpath.Field(name), structuralField(s, name)
			if of == nil {
				step, of = fieldpath.Key(name), valuesOf(s)
			}
			r.compare(at.Append(step), sent[name], stored[name], of)
		}
		return
	case []any:
		stored, _ := stored.([]any)
		if len(stored) == len(sent) {
			var of *structuralschema.Structural
			if s != nil {
				of = s.Items
			}
			for i := range sent {
				r.compare(at.Append(r.job.item(sent, i, s)), sent[i], stored[i], of)
			}
			return
		}
	}
	if !r.frozen || sent == nil && stored == nil || sameScalar(sent, stored) || r.hasImmutable(at) {
		return
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return
	}
	f := finding.Finding{
		Code: codes.Respelled, Severity: finding.Warning, Object: r.job.id, Path: at,
		Message: fmt.Sprintf(r.message, text),
		Remedy:  finding.Remedy{Do: finding.SetValue, Text: fmt.Sprintf("write %s", text)},
	}
	if value, ok := stored.(string); ok {
		f.Remedy.Options = []string{value}
	}
	r.Add(f)
}

// hasImmutable reports whether an error tells that the update changes a field around the path.
func (r respelling) hasImmutable(at fieldpath.Path) bool {
	return slices.ContainsFunc(r.List(), func(f finding.Finding) bool {
		return f.Code == codes.Immutable && f.Object == r.job.id && at.HasPrefix(f.Path)
	})
}

// sameScalar compares two decoded scalars. A number may have two Go types.
func sameScalar(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, okA := number(a)
	y, okB := number(b)
	return okA && okB && x == y
}

func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
