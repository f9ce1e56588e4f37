package recorded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trainweld/trainweld/render/admission/serverside"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// managedFieldsEntry is an entry of managedFields: the fields of the JobSet that a patch's manager
// owns.
type managedFieldsEntry struct {
	Manager  string `json:"manager"`
	FieldsV1 any    `json:"fieldsV1"`
}

// ownersAfterApply returns what each patch's manager owns after forced server-side applies by the
// release's definition of JobSet. It returns nil without patches, and where the applies do not give
// the object of the merge.
func ownersAfterApply(items []any, of string) ([]managedFieldsEntry, error) {
	r, err := release.Parse(of)
	if err != nil {
		return nil, err
	}
	template, patches, err := templateAndPatches(items)
	if err != nil || len(patches) == 0 || r.Overrides != release.RuntimePatches {
		return nil, err
	}
	definition, err := r.Definition("JobSet")
	if err != nil {
		return nil, err
	}
	server, err := serverside.New(definition)
	if err != nil {
		return nil, err
	}
	live, err := server.Typed(map[string]any{})
	if err != nil {
		return nil, err
	}
	owners := smd.ManagedFields{}
	apply := func(manager string, config map[string]any) bool {
		typed, err := server.Typed(config)
		if err != nil {
			return false // the definition lacks a field
		}
		live, owners, err = server.Apply(live, typed, owners, manager)
		return err == nil
	}
	if !apply("runtime", template) {
		return nil, nil
	}
	for _, p := range patches {
		if !apply(p.manager, p.template) {
			return nil, nil
		}
	}
	if agree, err := agrees(live.AsValue().Unstructured(), template, patches); !agree ||
		err != nil {
		return nil, err
	}
	var out []managedFieldsEntry
	for _, p := range patches {
		var fields bytes.Buffer
		set := owners[p.manager]
		if set == nil {
			continue
		}
		if err := set.Set().ToJSONStream(&fields); err != nil {
			return nil, err
		}
		var decoded map[string]any
		if err := json.Unmarshal(fields.Bytes(), &decoded); err != nil {
			return nil, err
		}
		delete(decoded, "f:apiVersion") // an API server leaves the two out
		delete(decoded, "f:kind")
		out = append(out, managedFieldsEntry{p.manager, decoded})
	}
	return out, nil
}

// managed is a manager's patch of a template.
type managed struct {
	manager  string
	template map[string]any
}

// templateAndPatches returns the template of the runtime and the patches of the TrainJob.
func templateAndPatches(items []any) (template map[string]any, patches []managed, err error) {
	for _, item := range items {
		object, _ := item.(map[string]any)
		spec, _ := object["spec"].(map[string]any)
		if object["kind"] != trainer.TrainJobKind {
			template, _ = spec["template"].(map[string]any)
			continue
		}
		list, _ := spec["runtimePatches"].([]any)
		for _, entry := range list {
			patch, _ := entry.(map[string]any)
			runtime, _ := patch["trainingRuntimeSpec"].(map[string]any)
			of, _ := runtime["template"].(map[string]any)
			name, _ := patch["manager"].(string)
			if name == "" {
				return nil, nil, fmt.Errorf("a patch has no manager")
			}
			patches = append(patches, managed{name, of})
		}
	}
	return template, patches, nil
}

// agrees reports whether the merge of the patches gives the object of the applies.
func agrees(applied any, template map[string]any, patches []managed) (bool, error) {
	base := &trainer.JobSetTemplateSpec{}
	if err := convertAsJSON(template, base); err != nil {
		return false, nil // the schema rejects such a runtime
	}
	typed := make([]trainer.RuntimePatch, len(patches))
	for i, p := range patches {
		typed[i].Manager = p.manager
		of := &trainer.JobSetTemplatePatch{}
		if err := convertAsJSON(p.template, of); err != nil {
			return false, nil
		}
		typed[i].TrainingRuntimeSpec = &trainer.TrainingRuntimeSpecPatch{Template: of}
	}
	merged, err := runtimepatch.Apply(base, typed, runtimepatch.Options{})
	if err != nil {
		return false, nil
	}
	live := &trainer.JobSetTemplateSpec{}
	if err := convertAsJSON(applied, live); err != nil {
		return false, err
	}
	var a, b any
	if err := errors.Join(convertAsJSON(merged.Template, &a), convertAsJSON(live, &b)); err != nil {
		return false, err
	}
	return reflect.DeepEqual(unordered(a), unordered(b)), nil
}

// unordered sorts all lists. A merge puts new items first, an apply puts them last, and owners have
// no order.
func unordered(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = unordered(v[key])
		}
	case []any:
		for i := range v {
			v[i] = unordered(v[i])
		}
		slices.SortFunc(v, func(a, b any) int {
			return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
		})
	}
	return value
}

func convertAsJSON(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// removeOwners removes managedFields from the JobSet of the items, and returns its entries, or nil
// without any.
func removeOwners(items []any) []managedFieldsEntry {
	var entries []managedFieldsEntry
	for _, item := range items {
		object, _ := item.(map[string]any)
		metadata, _ := object["metadata"].(map[string]any)
		if object["kind"] == "JobSet" && metadata["managedFields"] != nil {
			if convertAsJSON(metadata["managedFields"], &entries) != nil {
				entries = []managedFieldsEntry{}
			}
		}
		delete(metadata, "managedFields")
	}
	return entries
}
