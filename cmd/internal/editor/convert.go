package editor

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/render/release/definition"
)

// convertToJSONSchema makes a JSON Schema of an OpenAPI schema of Kubernetes. Unknown fields become errors, as under strict validation. Defaults
// become a part of the descriptions: an editor would write them into each new object.
func convertToJSONSchema(root object) {
	definition.Walk(root, func(s object) {
		if s["type"] == "object" && s["additionalProperties"] == nil && s["x-kubernetes-preserve-unknown-fields"] != true {
			s["additionalProperties"] = false
		}
		completeDescription(s)
		limit(s)
		for name := range s {
			if strings.HasPrefix(name, "x-kubernetes-") {
				delete(s, name)
			}
		}
		if s["nullable"] == true && stringOrEmpty(s["type"]) != "" {
			s["type"] = []any{s["type"], "null"}
		}
		delete(s, "nullable")
		delete(s, "default")
	})
	choose(root, "", acceptedValues())
}

// dropConstraints drops all but the types of a status: an API server takes it from nobody who creates the object.
func dropConstraints(status object) {
	definition.Walk(status, func(s object) {
		for _, word := range []string{"required", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"} {
			delete(s, word)
		}
	})
	status["doNotSuggest"] = true
}

// limit replaces the formats of numbers by their limits, and explains the pattern of quantities.
func limit(s object) {
	switch stringOrEmpty(s["format"]) {
	case "int32":
		for name, value := range map[string]float64{"minimum": math.MinInt32, "maximum": math.MaxInt32} {
			if s[name] == nil {
				s[name] = value
			}
		}
		delete(s, "format")
	case "date-time":
	default:
		delete(s, "format")
	}
	if s["x-kubernetes-int-or-string"] == true && s["pattern"] != nil {
		s["patternErrorMessage"] = "must be a quantity, such as 2, 500m or 8Gi"
	}
}

// completeDescription completes a description by the default and by the rules.
func completeDescription(s object) {
	parts := []string{paragraphs(stringOrEmpty(s["description"]))}
	if value := s["default"]; value != nil && value != "" {
		if j, err := json.Marshal(value); err == nil {
			parts = append(parts, fmt.Sprintf("Default: %s.", j))
		}
	}
	rules, _ := s["x-kubernetes-validations"].([]any)
	for _, rule := range rules {
		fields, _ := rule.(object)
		if message := stringOrEmpty(fields["message"]); message != "" {
			parts = append(parts, "Rule: "+sentence(message))
		}
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	delete(s, "description")
	if len(parts) > 0 {
		s["description"] = strings.Join(parts, "\n\n")
	}
}

// paragraphs joins the lines of each paragraph. Lists and indented lines keep their lines.
func paragraphs(text string) string {
	var b strings.Builder
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		switch {
		case b.Len() == 0:
		case line == "" || last == "" || strings.ContainsAny(line[:1], " \t-*+#0123456789|<"):
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(line)
		last = line
	}
	return strings.TrimSpace(b.String())
}

// metadata returns the schema of an object's metadata. The definitions leave it to the API machinery.
func metadata() object {
	s := ofStruct(reflect.TypeFor[metav1.ObjectMeta](), metav1.ObjectMeta{}.SwaggerDoc())
	fields := s["properties"].(object)
	for _, name := range []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
		fields[name].(object)["doNotSuggest"] = true
	}
	fields["ownerReferences"].(object)["items"] = ofStruct(reflect.TypeFor[metav1.OwnerReference](), metav1.OwnerReference{}.SwaggerDoc())
	name := fields["name"].(object)
	name["minLength"], name["maxLength"] = 1, 253
	return s
}

// ofStruct returns the schema of a struct of the API machinery. It leaves structs below it open.
func ofStruct(t reflect.Type, words map[string]string) object {
	fields := object{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		field := ofType(f.Type)
		field["description"] = paragraphs(words[name])
		fields[name] = field
	}
	return object{"type": "object", "properties": fields, "additionalProperties": false, "description": paragraphs(words[""])}
}

func ofType(t reflect.Type) object {
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int64:
		return object{"type": "integer"}
	case reflect.Pointer:
		return ofType(t.Elem())
	case reflect.Map:
		return object{"type": "object", "additionalProperties": ofType(t.Elem())}
	case reflect.Slice:
		return object{"type": "array", "items": ofType(t.Elem())}
	}
	if t == reflect.TypeFor[metav1.Time]() {
		return object{"type": []any{"string", "null"}} // manifests made by programs hold creationTimestamp: null
	}
	return object{"type": "object"}
}
