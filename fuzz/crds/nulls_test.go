package crds_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// nullable returns the type of a definition, if all fields took null.
func nullable(data []byte) (*schema.Type, error) {
	root, err := schema.ParseOpenAPI(data) // a type of its own
	if err != nil {
		return nil, err
	}
	seen := map[*schema.Type]bool{nil: true}
	for left := []*schema.Type{root}; len(left) > 0; {
		t := left[len(left)-1]
		if left = left[:len(left)-1]; seen[t] {
			continue
		}
		seen[t], t.NonNull = true, false
		left = append(left, t.Elem, t.Object, t.List)
		for _, f := range t.Fields {
			left = append(left, f.Type)
		}
	}
	return root, nil
}

// merge merges patches. It compares the refusal of a null with the API server's validation of the
// result, which it returns then too.
func (d *definition) merge(t testing.TB, base merge.Object, patches []merge.Patch,
	o ...merge.Option) (*merge.Result[merge.Object], error) {
	t.Helper()
	result, err := merge.Apply(d.typ, base, patches, o...)
	var wrong *merge.TypeError
	isRefused := errors.As(err, &wrong) && wrong.Is == "null"
	if isRefused {
		result, err = merge.Apply(d.nullable, base, patches, o...)
	}
	if err != nil || d.types == nil {
		return result, err
	}
	_, isUpdate := patches[len(patches)-1].Value.(merge.JSONPatch)
	null := d.refusesNull(base, result.Value, isUpdate)
	if isRefused != (null != "") {
		t.Fatalf("of %s: validation says of a null %q, and we %v:\nbase %s\nresult %s", d.name,
			null, wrong, canonical(base), canonical(result.Value))
	}
	return result, nil
}

// refusesNull returns the message of the API server's validation on a null in an object that has
// changed, or "". The server drops nulls from an update.
func (d *definition) refusesNull(before, after merge.Object, isUpdate bool) string {
	before, after = deepCopy(before), deepCopy(after)
	for _, object := range []merge.Object{before, after} {
		delete(object, "status")
		delete(object, "metadata")
		if isUpdate {
			defaulting.PruneNonNullableNullsWithoutDefaults(object, d.schema)
		}
		defaulting.Default(object, d.schema)
	}
	unchanged := common.NewCorrelatedObject(after, before, &model.Structural{Structural: d.schema})
	for _, err := range validation.ValidateCustomResourceUpdate(nil, after, before, d.types,
		validation.WithRatcheting(unchanged)) {
		if ofType.MatchString(err.Detail) && strings.HasSuffix(err.Detail, ofNull) {
			return err.Error()
		}
	}
	return ""
}
