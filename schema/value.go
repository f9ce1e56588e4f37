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

// IsSecret reports whether a field holds the literal value of an environment variable, which may
// be a password.
func IsSecret(path Path) bool {
	n := len(path)
	if n < 3 {
		return false
	}
	value, _ := path[n-1].Field()
	env, _ := path[n-3].Field()
	return value == "value" && env == "env"
}

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
