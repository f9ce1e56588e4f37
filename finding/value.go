package finding

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// longestValue limits the characters of a value in reports.
const longestValue = 64

// FormatValue formats a claimed value for a report, as compact JSON and cut if it is long. It masks
// the literal value of an environment variable unless show is set, because reports end up in logs.
// The value of a claim that empties a field reads "null".
func FormatValue(path fieldpath.Path, value any, show bool) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case merge.Presence:
		return v.String()
	}
	if !show {
		if IsSecret(path) {
			return mask(value)
		}
		value = HideSecrets(path, value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%v", value)
	}
	return shorten(string(text))
}

// IsSecret reports whether a field may hold a password. Such a field is the literal value of an
// environment variable, even if the variables are a map. The last applied configuration is another,
// because it contains such values.
func IsSecret(path fieldpath.Path) bool {
	n := len(path)
	if n == 0 {
		return false
	}
	if key, ok := path[n-1].Key(); ok && key == lastApplied {
		return true
	}
	if n > 1 && stepName(path[n-2]) == "env" && stepName(path[n-1]) != "" {
		return true
	}
	return n > 2 && stepName(path[n-1]) == "value" && stepName(path[n-3]) == "env" &&
		stepName(path[n-2]) == ""
}

// stepName returns the name of a field or the key of an entry, or "" for an item.
func stepName(s fieldpath.Step) string {
	name, _ := s.Name()
	return name
}

// HideSecrets returns a copy of a field's value with asterisks in place of every value that
// IsSecret reports. The value is JSON: objects are map[string]any and lists are []any.
func HideSecrets(path fieldpath.Path, value any) any {
	if value != nil && IsSecret(path) {
		return mask(value)
	}
	switch v := value.(type) {
	case map[string]any:
		hidden := make(map[string]any, len(v))
		for name, field := range v {
			hidden[name] = HideSecrets(path.Append(fieldpath.Key(name)), field)
		}
		return hidden
	case []any:
		hidden := make([]any, len(v))
		for i, item := range v {
			hidden[i] = HideSecrets(path.Append(fieldpath.Index(i)), item)
		}
		return hidden
	}
	return value
}

// lastApplied is the annotation in which kubectl stores a whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func mask(value any) string {
	text, ok := value.(string)
	if !ok {
		return "***"
	}
	return fmt.Sprintf("*** (%d characters)", utf8.RuneCountInString(text))
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= longestValue {
		return text
	}
	return string([]rune(text)[:longestValue-1]) + "…"
}
