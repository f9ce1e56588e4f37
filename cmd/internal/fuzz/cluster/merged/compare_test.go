package merged

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/cmd/internal/builtin"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/objectmerge"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

// mergeCase is a base with the patches of several managers.
type mergeCase struct {
	base    map[string]any
	patches []any // each the fields of an object, or a list of operations
	typ     string
	// definition is that of the kind, for an apply.
	definition *objectmerge.Defined
	// rejections returns the errors of the API server for a new object. The fields of an applied
	// object may be null.
	rejections func(fields map[string]any, applied bool) []string
}

// compare merges by the program, and compares its verdict with the API server's.
func (m *mergeCase) compare(t *testing.T) (outcome, finding.List, []string) {
	t.Helper()
	baseRejected := len(m.rejections(m.base, false)) > 0
	merged, found := m.merge(t)
	if m.typ == operationsType && !baseRejected {
		result, rejected := m.compareOperations(t, merged)
		if result == falseRefusal && (acceptsList(found) || m.isKeyless(found)) {
			result = unmerged
		}
		if result != bothAccept {
			return result, found, rejected
		}
	}
	if merged == nil {
		if m.typ == option.StrategicType && !baseRejected && m.mergesUpstream(t) {
			return falseRefusal, found, nil
		}
		return unmerged, found, nil
	}
	rejected := m.rejections(merged.Fields, m.typ == option.ApplyType)
	refuses := found.Err() != nil
	switch {
	case baseRejected:
		return baseRefused, found, rejected
	case refuses && len(rejected) > 0:
		return bothRefuse, found, rejected
	case refuses && !acceptsList(found):
		return falseRefusal, found, rejected
	case len(rejected) > 0:
		return missed, found, rejected
	}
	return bothAccept, found, rejected
}

// isKeyless reports whether all errors are on items without their merge keys in a JobSet that
// another controller manages, since the base or a patch says so. The webhook gives them the empty
// key: docs/differences.md has it.
func (m *mergeCase) isKeyless(found finding.List) bool {
	isManaged := strings.Contains(fmt.Sprint(m.base, m.patches), "managedBy")
	return m.base["kind"] == "JobSet" && isManaged &&
		!slices.ContainsFunc(found, func(f finding.Finding) bool {
			return f.Severity == finding.Error &&
				!strings.HasPrefix(f.Message, "an item without its merge key")
		})
}

// acceptsList reports whether all errors are on lists for text. A definition accepts a list in a
// text field with a format, and refuses it in every other one: docs/differences.md has it.
func acceptsList(found finding.List) bool {
	return !slices.ContainsFunc(found, func(f finding.Finding) bool {
		return f.Severity == finding.Error && f.Message != "must be a string, not a list"
	})
}

// mergesUpstream reports whether the API server merges strategic merge patches, and accepts the
// result of each. It returns false for an item that may have a null as its key: docs/differences.md
// has it.
func (m *mergeCase) mergesUpstream(t *testing.T) bool {
	t.Helper()
	apiVersion, _ := m.base["apiVersion"].(string)
	kind, _ := m.base["kind"].(string)
	of, _ := builtin.TypeOf(apiVersion, kind)
	text := encode(t, m.base)
	for _, patch := range m.patches {
		if hasNullItem(patch) {
			return false
		}
		var err error
		if text, err = strategicpatch.StrategicMergePatch(text, encode(t, patch),
			reflect.New(of).Interface()); err != nil {
			return false
		}
		object := reflect.New(of).Interface()
		if strict, err := kjson.UnmarshalStrict(text, object); err != nil || strict != nil ||
			len(m.rejections(fieldsIn(text), false)) > 0 {
			return false
		}
	}
	return true
}

// hasNullItem reports whether an item of a list within a value has a field that is null.
func hasNullItem(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(value)), hasNullItem)
	case []any:
		isNull := func(field any) bool { return field == nil }
		return slices.ContainsFunc(value, func(item any) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(asFields(item))), isNull) ||
				hasNullItem(item)
		})
	}
	return false
}

// merge returns the merged object and the findings on it, or nil and the reasons if the patches do
// not merge.
func (m *mergeCase) merge(t *testing.T) (*objectmerge.Result, finding.List) {
	t.Helper()
	object, found := m.object(t)
	if object == nil || found.Err() != nil {
		return nil, found
	}
	merged, more := object.Apply(found)
	if merged == nil || slices.ContainsFunc(more, func(f finding.Finding) bool {
		return f.Code == codes.UnknownField
	}) {
		return nil, more
	}
	found = append(found, more...)
	found = append(found, object.Conflicts(merged, render.Last)...)
	found = append(found, object.Rejected(merged, found)...)
	return merged, append(found, object.Admit(t.Context(), merged, found)...)
}

// object reads the base and the patches as the command does.
func (m *mergeCase) object(t *testing.T) (*objectmerge.Object, finding.List) {
	t.Helper()
	files := fstest.MapFS{"base.json": {Data: encode(t, m.base)}}
	flags := workspace.Flags{Files: []string{"base.json"}}
	for i, patch := range m.patches {
		name := fmt.Sprintf("%c.json", 'a'+i)
		if m.typ != option.StrategicType {
			patch = plain(patch)
		}
		files[name] = &fstest.MapFile{Data: encode(t, patch)}
		flags.Patches = append(flags.Patches, name)
	}
	if m.typ == option.StrategicType || m.typ == option.JSONType || m.definition.Admits == nil &&
		m.typ == operationsType {
		typ := m.typ
		if typ == operationsType {
			typ = option.JSONType
		}
		p := &host.Program{Files: files, Stdin: strings.NewReader("")}
		object, found, err := objectmerge.Read(p, workspace.New(flags), flags,
			option.Schema{MergeType: typ}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return object, found
	}
	apiVersion, _ := m.base["apiVersion"].(string)
	name, _ := m.base["kind"].(string)
	of, err := objectmerge.NewKind(apiVersion, name, *m.definition)
	if err != nil {
		t.Fatal(err)
	}
	object, found := of.Object("base.json", files["base.json"].Data)
	for _, name := range flags.Patches {
		if object == nil {
			break
		}
		patch, more := of.Patch(name, name, files[name].Data)
		if found = append(found, more...); more.Err() == nil {
			found = append(found, object.Add(patch)...)
		}
	}
	return object, found
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// plain returns a patch without its directives.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, field := range value {
			if !strings.HasPrefix(name, "$") {
				out[name] = plain(field)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range value {
			if fields, ok := item.(map[string]any); !ok || fields["$patch"] == nil {
				out = append(out, plain(item))
			}
		}
		return out
	}
	return value
}

func (m *mergeCase) describe(result outcome, found finding.List, rejected []string) string {
	var b strings.Builder
	side := "only the API server refuses"
	if result == falseRefusal {
		side = "only the program refuses"
	}
	base, _ := json.Marshal(m.base)
	fmt.Fprintf(&b, "%s\n  base  %s\n", side, base)
	for _, patch := range m.patches {
		text, _ := json.Marshal(patch)
		fmt.Fprintf(&b, "  patch %s\n", text)
	}
	fmt.Fprintf(&b, "  program: %v\n  server: %s", found.Err(),
		strings.Join(rejected, "\n          "))
	return b.String()
}

// reasons returns the errors of the one side that refuses, without names and positions.
func (m *mergeCase) reasons(result outcome, found finding.List,
	rejected []string) (reasons []string) {
	switch result {
	case falseRefusal:
		for _, f := range found {
			if f.Severity == finding.Error {
				reasons = append(reasons, "program: "+f.Path.String()+": "+f.Message)
			}
		}
	case unmerged:
		for _, f := range found {
			if f.Severity == finding.Error {
				reasons = append(reasons, "unmerged: "+string(f.Code)+" "+f.Message)
			}
		}
	case missed:
		for _, text := range rejected {
			reasons = append(reasons, "server: "+text)
		}
	}
	for i := range reasons {
		if len(reasons[i]) > 220 {
			reasons[i] = reasons[i][:220]
		}
	}
	return reasons
}
