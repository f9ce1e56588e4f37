package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// longestValue is the number of characters from which a value is cut in reports.
const longestValue = 64

// FormatValue writes a claimed value for a report: as compact JSON, cut when it is long. The literal
// value of an environment variable is masked unless show is set, since reports end up in logs. null, the value of a claim that empties a field, reads "null".
func FormatValue(path Path, value any, show bool) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case Presence:
		return v.String()
	}
	if !show && IsSecret(path) {
		return mask(value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%v", value)
	}
	return shorten(string(text))
}

// FormatClaim is FormatValue for the value of a claim on a field. What a controller made is no secret, and shown.
func FormatClaim(path Path, c Claim, show bool) string {
	return FormatValue(path, c.Value, show || !IsSecretOf(c.Layer, path))
}

// SameValue reports whether two values of claims are equal: by their encoding, as the cluster sees them,
// so that 1Gi is 1024Mi.
func SameValue(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// IsSecret reports whether a field holds what may be a password: the literal value of an environment variable, or
// the configuration that was applied last, which has such values in it.
func IsSecret(path Path) bool {
	n := len(path)
	if n == 0 {
		return false
	}
	if key, ok := path[n-1].Key(); ok {
		return key == lastApplied
	}
	if n < 3 {
		return false
	}
	value, _ := path[n-1].Field()
	env, _ := path[n-3].Field()
	return value == "value" && env == "env"
}

// IsSecretOf is IsSecret for what a layer wrote into the field: controllers write no secrets there.
func IsSecretOf(layer Layer, path Path) bool { return !layer.isController() && IsSecret(path) }

// lastApplied is the annotation in which kubectl keeps a whole object.
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
