package admission

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	structurallisttype "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	structuralobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apimachinery "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
)

// decode handles a request as the API server does: it prunes unknown fields, drops invalid nulls
// and fills in defaults. It does not change raw; the object may share values with it. It reports
// the pruned fields, which strict field validation rejects.
func (d *definition) decode(raw map[string]any, namespace string, found *findings) *object {
	filled, isFilled := d.fast.withDefaults(raw)
	if !isFilled {
		filled = clone(raw).(map[string]any)
	}
	o := &object{definition: d, fields: filled, names: itemNames{}}
	meta := mapOf(o.fields, "metadata")
	o.id.Kind = d.kind
	o.id.Name, _ = meta["name"].(string)
	if d.namespaced {
		o.id.Namespace, _ = meta["namespace"].(string)
		if o.id.Namespace == "" {
			o.id.Namespace = namespace
		}
	}
	if got := fmt.Sprint(o.fields["apiVersion"]); got != d.apiVersion {
		found.Add(finding.Finding{
			Code: codes.UnknownVersion, Severity: finding.Error, Object: o.id,
			Path:    fieldpath.Fields("apiVersion"),
			Message: fmt.Sprintf("Unsupported value: %q: %s has no such version", got, d.kind),
			Remedy: finding.Remedy{Do: finding.SetValue, Options: []string{d.apiVersion},
				IsCertain: true, Text: "set apiVersion: " + d.apiVersion},
		})
		o.fields["apiVersion"] = d.apiVersion
	}
	metadata, unknown, err := o.storedMetadata()
	if err != nil {
		o.undecodable = true
		found.reject(codes.WrongType, o.id, fieldpath.Fields("metadata"),
			fmt.Sprintf("cannot be decoded: %s", unmarshalProblem(err)),
			"quote the values of labels and annotations")
		return o
	}
	if metadata != nil {
		o.fields["metadata"] = metadata
		o.generateName(metadata, found)
	}
	if !isFilled {
		unknown = append(
			unknown, structuralpruning.PruneWithOptions(o.fields, d.schema, true,
				structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	}
	for _, path := range unknown {
		found.Add(o.unknownField(o.path(path, raw)))
	}
	if !isFilled {
		structuraldefaulting.PruneNonNullableNullsWithoutDefaults(o.fields, d.schema)
		if err := structuralobjectmeta.Coerce(nil, o.fields, d.schema, false, false); err != nil {
			found.Add(o.schemaFinding(err))
		}
	}
	if !isFilled {
		structuraldefaulting.Default(o.fields, d.schema)
	}
	return o
}

// sharesSpec reports whether the object has the same spec as its request: no default was missing.
func (o *object) sharesSpec(raw map[string]any) bool {
	was, is := mapOf(raw, "spec"), mapOf(o.fields, "spec")
	return reflect.ValueOf(was).Pointer() == reflect.ValueOf(is).Pointer()
}

// Stored returns a TrainJob as the API server keeps it, and as the expressions of admission
// policies see it: without unknown fields and invalid nulls, and with defaults. r is the release;
// nil means the latest one. It returns false for an object that cannot be decoded.
func Stored(r *release.Release, fields map[string]any, namespace string) (map[string]any, bool) {
	found := &findings{}
	d := found.definition(r, trainer.TrainJobKind)
	if d == nil {
		return nil, false
	}
	o := d.decode(fields, namespace, found)
	return o.fields, !o.undecodable
}

// unknownField returns the finding on a field that the definition lacks. If the caller named a
// release, the finding names it, and the releases that have the field.
func (o *object) unknownField(path fieldpath.Path) finding.Finding {
	f := finding.Finding{
		Code: codes.UnknownField, Severity: finding.Error, Object: o.id, Path: path,
		Message: fmt.Sprintf(
			"unknown field of %s: the API server drops it, or rejects it under strict validation",
			o.kind),
		Remedy: finding.Remedy{Do: finding.Remove, Text: "remove the field"},
	}
	if !o.asked {
		return f
	}
	owner := "Trainer " + o.release.Name
	if o.kind == jobSetKind {
		owner = "JobSet " + o.release.JobSetVersion
	}
	f.Message = owner + " has no such field"
	var names []string
	for _, step := range path {
		if name, ok := step.Field(); ok {
			names = append(names, name)
		}
	}
	having := definedFields.Having(o.kind, names...)
	if len(having) == 0 {
		return f
	}
	f.Message += "; it is a field of " + release.Span(having)
	f.Remedy.Text = "remove the field"
	const ofSpec = 2
	switch overrides := o.release.Overrides; {
	case o.kind != trainer.TrainJobKind || len(names) != ofSpec:
	case overrides == release.RuntimePatches && slices.Contains(legacy.Fields(), names[1]):
		f.Remedy = finding.Remedy{Do: finding.Migrate, Text: "rewrite it as spec.runtimePatches"}
	case slices.ContainsFunc(having, func(r release.Release) bool {
		return names[1] == string(r.Overrides)
	}):
		f.Remedy = finding.Remedy{Text: fmt.Sprintf("use spec.%s instead", overrides)}
	}
	return f
}

// definedFields are the fields of all releases, for messages.
var definedFields release.Definitions

// as decodes the object into a value of its Go type, as controllers and webhooks do.
func (o *object) as(into any) error {
	if tree.Decode(o.fields, into) {
		return nil
	}
	text, err := json.Marshal(o.fields)
	if err != nil {
		return err
	}
	return tree.UnmarshalBounded(text, into, kjson.UnmarshalCaseSensitivePreserveInts)
}

// reencode merges the Go value into the object, as a mutating webhook does with its changes. Fields
// of the encoding win, and fields that it omits stay (controller-runtime v0.24.1
// pkg/webhook/admission).
func (o *object) reencode(value any) error {
	encoded, err := tree.Fields(value)
	if err != nil {
		return err
	}
	overlay(o.fields, encoded)
	o.fields = encoded
	// The API server fills in defaults after the webhook. It prunes unknown fields and nulls only
	// from requests. So it rejects a null that the Go type writes for a missing field.
	if filled, ok := o.fast.withDefaults(o.fields); ok {
		o.fields = filled
	} else {
		// Values that only the request has are pruned, and have their defaults.
		structuralpruning.Prune(o.fields, o.schema, true)
		structuraldefaulting.Default(o.fields, o.schema)
	}
	return nil
}

// overlay adds to the maps of over the fields that only under has.
func overlay(under, over any) {
	switch over := over.(type) {
	case map[string]any:
		lower, _ := under.(map[string]any)
		for key, value := range lower {
			if upper, ok := over[key]; ok {
				overlay(value, upper)
			} else {
				over[key] = value
			}
		}
	case []any:
		if lower, ok := under.([]any); ok && len(lower) == len(over) {
			for i := range over {
				overlay(lower[i], over[i])
			}
		}
	}
}

// These limit the list items and the mistakes of one object. The validator of the API server
// compares each error with all others, and takes minutes for tens of thousands.
const (
	maxItems    = 16_384
	maxMistakes = 1024
)

// listItems counts the items of all lists in a value.
func listItems(value any) int {
	n := 0
	switch v := value.(type) {
	case map[string]any:
		for _, entry := range v {
			n += listItems(entry)
		}
	case []any:
		n = len(v)
		for _, item := range v {
			n += listItems(item)
		}
	}
	return n
}

// validate checks the object as the API server does before it stores it: metadata, schema, unique
// keys of lists, rules. With an old object it is an update, and rules see both objects. It then
// accepts an unchanged invalid value where the API server does (apiextensions-apiserver v0.36.3
// pkg/registry/customresource).
func (o *object) validate(ctx context.Context, old *object, found *findings) {
	if o.undecodable {
		return
	}
	if n := listItems(o.fields); n > maxItems {
		found.reject(codes.Syntax, o.id, nil,
			fmt.Sprintf("has %d list items: must be at most %d", n, maxItems),
			"split the object")
		return
	}
	if n := o.fast.mistakes(o.fields); n > maxMistakes {
		found.reject(codes.Syntax, o.id, nil,
			fmt.Sprintf("has %d missing fields and wrong values: must have at most %d", n,
				maxMistakes), "write the object by its definition")
		return
	}
	inMetadata := slices.CompactFunc(inOrder(o.metadata(old)), func(a, b *field.Error) bool {
		return a.Type == b.Type && a.Field == b.Field && a.Type == field.ErrorTypeInvalid &&
			reflect.DeepEqual(a.BadValue, b.BadValue)
	})
	for _, err := range inMetadata {
		found.Add(o.metadataFinding(err))
	}
	// The API server ignores the status of a request: status is a separate subresource.
	fields := maps.Clone(o.fields)
	delete(fields, "status")
	if old == nil {
		o.rejectVersion(found)
	} else {
		old = &object{definition: old.definition, fields: maps.Clone(old.fields)}
		delete(old.fields, "status")
	}
	var errs field.ErrorList
	var correlated *common.CorrelatedObject
	var rules []cel.Option
	isPlain := false
	if old == nil {
		if isPlain = o.fast.accepts(fields); !isPlain {
			errs = validation.ValidateCustomResource(nil, fields, o.validator)
		}
	} else {
		correlated = common.NewCorrelatedObject(fields, old.fields,
			&model.Structural{Structural: o.schema})
		rules = append(rules, cel.WithRatcheting(correlated))
		errs = validation.ValidateCustomResourceUpdate(nil, fields, old.fields, o.validator,
			validation.WithRatcheting(correlated))
	}
	if !isPlain {
		errs = append(errs, o.enums.validate(nil, fields, correlated)...)
		errs = append(errs, structuralobjectmeta.Validate(nil, fields, o.schema, false)...)
	}
	if !isPlain &&
		(old == nil ||
			len(structurallisttype.ValidateListSetsAndMaps(nil, o.schema, old.fields)) == 0) {
		errs = append(errs, structurallisttype.ValidateListSetsAndMaps(nil, o.schema, fields)...)
	}
	for _, err := range inOrder(errs) {
		found.Add(o.schemaFinding(err))
	}
	if slices.ContainsFunc(inMetadata, skipsRules) || slices.ContainsFunc(errs, skipsRules) {
		return
	}
	var before any
	validator := o.onCreate
	if old != nil {
		before, validator = old.fields, o.rules
	}
	broken, _ := validator.Validate(ctx, nil, o.schema, fields, before,
		celconfig.RuntimeCELCostBudget, rules...)
	for _, err := range inOrder(broken) {
		found.Add(o.ruleFinding(err, old != nil))
	}
}

// inOrder sorts errors by field. The API server's order depends on Go maps.
func inOrder(errs field.ErrorList) field.ErrorList {
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		return cmp.Or(strings.Compare(a.Field, b.Field),
			strings.Compare(string(a.Type), string(b.Type)), strings.Compare(a.Detail, b.Detail))
	})
	return errs
}

// rejectVersion reports a resourceVersion on creation (apiserver v0.36.3 pkg/storage/etcd3).
func (o *object) rejectVersion(found *findings) {
	text, _ := mapOf(o.fields, "metadata")["resourceVersion"].(string)
	if version, err := strconv.ParseUint(text, 10, 64); err != nil || version == 0 {
		return
	}
	found.Add(finding.Finding{
		Code: codes.BadMetadata, Severity: finding.Error, Object: o.id,
		Path:    fieldpath.Fields("metadata", "resourceVersion"),
		Message: "resourceVersion should not be set on objects to be created",
		Remedy:  finding.Remedy{Do: finding.Remove, IsCertain: true, Text: "remove the field"},
	})
}

func (o *object) metadata(old *object) field.ErrorList {
	at := field.NewPath("metadata")
	u := &unstructured.Unstructured{Object: o.fields}
	if old == nil {
		return apimachinery.ValidateObjectMetaAccessor(u, o.namespaced,
			apimachinery.NameIsDNSSubdomain, at)
	}
	// Files lack the fields that the API server maintains. The server takes them from the stored
	// object.
	before := &unstructured.Unstructured{Object: clone(old.fields).(map[string]any)}
	after := &unstructured.Unstructured{Object: clone(o.fields).(map[string]any)}
	for _, u := range []*unstructured.Unstructured{before, after} {
		u.SetResourceVersion("1")
		u.SetUID("")
		u.SetGeneration(0)
		u.SetCreationTimestamp(before.GetCreationTimestamp())
		u.SetDeletionTimestamp(nil)
		u.SetDeletionGracePeriodSeconds(nil)
	}
	return apimachinery.ValidateObjectMetaAccessorUpdate(after, before, at)
}

// skipsRules reports whether the API server skips the rules after such an error.
func skipsRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
		field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	default:
		return false
	}
}

// clone copies a decoded JSON value. Whole numbers become an int64, as the API server decodes them.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[key] = clone(value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = clone(v[i])
		}
		return list
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case float64:
		const whole = 1 << 53
		if v == math.Trunc(v) && math.Abs(v) < whole {
			return int64(v)
		}
		return v
	default:
		return v
	}
}

// Encode converts an object of the API's Go types to fields for this package. It omits an empty
// status, which the Go types always write. It returns an error for a value without a JSON object as
// its encoding.
func Encode(value any) (map[string]any, error) {
	fields, err := tree.Fields(value)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w; it is not an object of the API", value, err)
	}
	if status, ok := fields["status"].(map[string]any); ok && len(status) == 0 {
		delete(fields, "status")
	}
	return fields, nil
}

// unmarshalProblem returns the message of a decoder without the names of Go types.
func unmarshalProblem(err error) string {
	text := strings.TrimPrefix(err.Error(), "json: ")
	if before, after, ok := strings.Cut(text, " into Go struct field "); ok {
		path, of, _ := strings.Cut(after, " of type ")
		return strings.Replace(before, "cannot unmarshal", "holds a", 1) + " at " +
			path[strings.Index(path, ".")+1:] + " where a " + of + " belongs"
	}
	return text
}
