package admission

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission/internal/kubeapi"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/nearest"
)

// schemaFinding returns the finding on an error of the schema, or of the keys of a list.
func (o *object) schemaFinding(err *field.Error) finding.Finding {
	f := finding.Finding{Code: codes.BadValue, Severity: finding.Error, Object: o.id,
		Path: o.path(err.Field, o.fields)}
	switch err.Type {
	case field.ErrorTypeRequired:
		f.Code, f.Message = codes.MissingField, kubeapi.Missing(err.Detail)
		f.Remedy = finding.Remedy{Do: finding.SetValue, Text: "set it"}
	case field.ErrorTypeNotSupported:
		f.Message = fmt.Sprintf("%s: %s", err.Type, quoted(f.Path, err.BadValue))
		f.Remedy = finding.Remedy{
			Do:   finding.SetValue,
			Text: "use one of " + strings.TrimPrefix(err.Detail, "supported values: ")}
		correct(&f.Remedy, err)
	case field.ErrorTypeTooLong:
		f.Message, f.Remedy.Text = err.ErrorBody(), "shorten it"
	case field.ErrorTypeTooMany:
		f.Message, f.Remedy.Text = err.ErrorBody(), "remove some of the items"
	case field.ErrorTypeDuplicate:
		f.Code = codes.DuplicateItem
		if len(f.Path) == 3 && f.Path.HasPrefix(fieldpath.Fields("spec", "runtimePatches")) {
			f.Code = codes.DuplicateManager
		}
		f.Message = fmt.Sprintf("%s: %s", err.Type, quoted(f.Path, err.BadValue))
		f.Remedy = finding.Remedy{
			Do: finding.Merge, Text: "combine the two items"}
		if isRepeated(o.fields, f.Path) {
			f.Remedy.Do, f.Remedy.IsCertain = finding.Remove, true
		}
	case field.ErrorTypeTypeInvalid:
		f.Code = codes.WrongType
		f.Message = wrongType(err.Detail)
		f.Remedy.Text = "set a value of that type"
		if f.Message == "must be a list, not null" {
			// JobSet's webhook writes null for an empty or a missing list without omitempty.
			f.Message, f.Remedy.Text = "must be a list with items, not empty",
				"add an item, or remove the object with the list"
		}
	default:
		f.Message = inBody(err.Detail)
		f.Remedy.Text = "use a supported value"
		if of, format, path, ok := wrongFormat(err.Detail); ok {
			f.Code, f.Path = codes.WrongType, o.path(path, o.fields)
			f.Message = "must be " + article(of)
			if format != "" {
				f.Message += " in the range of " + format
			}
		}
		if path, ok := strings.CutSuffix(
			err.Detail, " must validate at least one schema (anyOf)"); ok {
			f.Code, f.Path = codes.WrongType, o.path(strings.Trim(path, `"`), o.fields)
			f.Message, f.Remedy.Text = "must be an integer or a string",
				"set an integer or a string"
			if half, ok := valueAt(o.fields, f.Path).(float64); ok {
				f.Remedy.Text = fractionHelp(f.Path, half)
			}
		}
		if strings.HasPrefix(f.Message, quantityPattern) {
			f.Message, f.Remedy.Text = fmt.Sprintf("Invalid value: %s: must be a quantity",
				quoted(f.Path, err.BadValue)), "set a quantity such as 500m or 8Gi"
		}
	}
	return f
}

// fractionHelp returns the help on a quantity that is written as a fraction. Only resources of
// Kubernetes itself have parts.
func fractionHelp(path fieldpath.Path, value float64) string {
	name, _ := path[len(path)-1].Name()
	number := strconv.FormatFloat(value, 'f', -1, 64)
	switch {
	case strings.Contains(name, "/"):
		return fmt.Sprintf("set a whole number: %s has no parts", name)
	case name == string(corev1.ResourceCPU) && value > 0 && value < 1000:
		return fmt.Sprintf("set %q, or %dm", number, int64(math.Ceil(value*1000)))
	}
	return fmt.Sprintf("set %q, or an integer", number)
}

// valueAt returns the value at a path, or nil.
func valueAt(value any, path fieldpath.Path) any {
	for _, step := range path {
		switch in := value.(type) {
		case map[string]any:
			name, _ := step.Name()
			value = in[name]
		case []any:
			i, isIndex := step.Index()
			key, want, isItem := step.Item()
			if isItem {
				i = slices.IndexFunc(in, func(item any) bool {
					object, _ := item.(map[string]any)
					return fmt.Sprint(object[key]) == want
				})
			}
			if !isIndex && !isItem || i < 0 || i >= len(in) {
				return nil
			}
			value = in[i]
		default:
			return nil
		}
	}
	return value
}

// isRepeated reports whether a path leads to an item, by its index, that equals an earlier one of
// its list.
func isRepeated(value any, path fieldpath.Path) bool {
	if len(path) == 0 {
		return false
	}
	i, isIndex := path[len(path)-1].Index()
	list, _ := valueAt(value, path[:len(path)-1]).([]any)
	return isIndex && i < len(list) && slices.ContainsFunc(list[:i], func(other any) bool {
		return reflect.DeepEqual(other, list[i])
	})
}

// correct adds the supported values to a remedy. It is certain if the value is clearly one of them.
func correct(r *finding.Remedy, err *field.Error) {
	got, ok := err.BadValue.(string)
	if !ok {
		return
	}
	supported := strings.TrimPrefix(err.Detail, "supported values: ")
	isPart := strings.HasSuffix(supported, moreValues)
	if isPart {
		supported = supported[:strings.LastIndex(supported, andMore)]
	}
	for value := range strings.SplitSeq(supported, ", ") {
		if value, err := strconv.Unquote(value); err == nil {
			r.Options = append(r.Options, value)
		}
	}
	if near := nearest.To(got, r.Options); near != "" && nearest.IsClear(got, near, r.Options) &&
		(!isPart || strings.EqualFold(got, near)) {
		r.Options, r.IsCertain = []string{near}, true
	}
}

// quantityPattern is the start of the schema's message on an invalid quantity.
const quantityPattern = `should match '^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(`

// wrongFormat parses the one message that contains its field.
func wrongFormat(detail string) (of, format, path string, ok bool) {
	rest, ok := strings.CutPrefix(detail, "Checked value must be of type ")
	if !ok {
		return "", "", "", false
	}
	of, path, ok = strings.Cut(rest, " in ")
	of, format, _ = strings.Cut(strings.TrimSuffix(of, " (default format)"), " with format ")
	return of, format, path, ok
}

// wrongType rewords a message such as `spec.x in body must be of type integer: "string"`.
func wrongType(detail string) string {
	text, ok := strings.CutPrefix(inBody(detail), "must be of type ")
	want, got, typed := strings.Cut(text, ": ")
	if !ok || !typed {
		return inBody(detail)
	}
	name := article(want)
	// a format, and the text that has another
	if name == "a "+want && want != "string" && want != "boolean" {
		return fmt.Sprintf("must be %s, not %s", name, got)
	}
	return fmt.Sprintf("must be %s, not %s", name, article(strings.Trim(got, `"`)))
}

// article returns the name of a JSON type with its article.
func article(of string) string {
	switch of {
	case "integer", "int32", "int64":
		return "an integer"
	case "integer,string":
		return "an integer or a string"
	case "object":
		return "an object"
	case "array":
		return "a list"
	case "number", "float64":
		return "a number"
	case "null":
		return "null"
	default:
		return "a " + of
	}
}

// inBody removes the field's name from a message: the finding has it as its path.
func inBody(detail string) string {
	if _, after, ok := strings.Cut(detail, " in body "); ok {
		return after
	}
	return detail
}

// quoted formats a value for a message. It hides the values of environment variables.
func quoted(path fieldpath.Path, value any) string {
	return finding.FormatValue(path, value, false)
}

// metadataFinding returns the finding on an error in the object's own metadata.
func (o *object) metadataFinding(err *field.Error) finding.Finding {
	f := finding.Finding{Code: codes.BadMetadata, Severity: finding.Error, Object: o.id,
		Path: o.path(err.Field, o.fields)}
	f.Message, f.Remedy.Text = err.ErrorBody(), "use a valid value"
	switch {
	case err.Type == field.ErrorTypeRequired:
		f.Message, f.Remedy.Text = err.ErrorBody(), "set metadata.name"
	case err.Detail != "":
		f.Message = fmt.Sprintf("%s: %s: %s", err.Type, quoted(f.Path, err.BadValue),
			kubeapi.Brief(err.Detail))
		f.Path = o.entry(f.Path, fmt.Sprint(err.BadValue))
	}
	if f.Path.String() == ".metadata.name" && err.Type != field.ErrorTypeRequired {
		f.Remedy.Text = kubeapi.SubdomainHelp
	}
	return f
}

// entry finds the entry with this key or value in a map such as metadata.labels. It appends the key
// to the path.
func (o *object) entry(path fieldpath.Path, text string) fieldpath.Path {
	names := make([]string, len(path))
	for i := range path {
		names[i], _ = path[i].Field()
	}
	entries, ok, _ := unstructured.NestedStringMap(o.fields, names...)
	if !ok {
		return path
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if key == text || entries[key] == text {
			return path.Append(fieldpath.Key(key))
		}
	}
	return path
}

// nameHelp is the remedy for a name that is not a DNS label.
const nameHelp = "use lower-case letters, digits and dashes only, beginning with a letter, 63 at " +
	"most"

// ruleFinding returns the finding on a broken rule of the definition. A rule that compares with the
// old object makes a field immutable.
func (o *object) ruleFinding(err *field.Error, update bool) finding.Finding {
	f := finding.Finding{
		Code: codes.BrokenRule, Severity: finding.Error, Object: o.id,
		Path:    o.path(err.Field, o.fields),
		Message: err.Detail, Remedy: finding.Remedy{Text: "change the values to satisfy the rule"},
	}
	if len(f.Path) == 0 {
		// All rules at the root of an object are about its name.
		f.Path, f.Remedy.Text = fieldpath.Fields("metadata", "name"), nameHelp
	}
	switch {
	case update && strings.Contains(err.Detail, "immutable"):
		f.Code = codes.Immutable
		f.Remedy.Text = "restore the old value"
	case f.Path[len(f.Path)-1] == fieldpath.Field("managedBy"):
		f.Remedy.Text = "set one of the two"
	}
	return f
}
