package tree

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// maxLength is the largest number of characters in a quantity.
	maxLength = 64
	// maxExponent is the largest exponent, positive or negative.
	maxExponent = 999
)

// CheckQuantity returns an error for a quantity that is too long, or whose exponent is too large.
// It accepts all other strings, including invalid quantities.
func CheckQuantity(text string) error {
	text = strings.TrimSpace(text)
	if len(text) > maxLength {
		return fmt.Errorf("must be at most %d characters", maxLength)
	}
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return nil
	}
	exponent := strings.TrimLeft(strings.TrimLeft(text[i+1:], "+-"), "0")
	if len(exponent) > len(fmt.Sprint(maxExponent)) && strings.Trim(exponent, "0123456789") == "" {
		return fmt.Errorf("invalid value %q: must have an exponent between -%d and %d", text,
			maxExponent, maxExponent)
	}
	return nil
}

// ParseQuantity parses a quantity. It returns the error of CheckQuantity or of the parser.
func ParseQuantity(text string) (resource.Quantity, error) {
	if err := CheckQuantity(text); err != nil {
		return resource.Quantity{}, err
	}
	return resource.ParseQuantity(text)
}

// MayExceed reports whether JSON or YAML may hold a quantity that CheckQuantity rejects. It
// scans the text only, so it is fast. A true may be wrong, a false never is.
func MayExceed(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if !isNumber(text[i]) {
			continue
		}
		start := i
		for i < len(text) && isNumber(text[i]) {
			i++
		}
		if i-start > maxLength/2 {
			return true
		}
		if i == len(text) || text[i] != 'e' && text[i] != 'E' || isWithin(text[:start]) {
			continue
		}
		for i++; i < len(text) && (text[i] == '+' || text[i] == '-'); i++ {
		}
		first := i
		for i < len(text) && '0' <= text[i] && text[i] <= '9' {
			i++
		}
		if i-first > len("999") {
			return true
		}
		i--
	}
	return false
}

func isNumber(c byte) bool { return '0' <= c && c <= '9' || c == '.' || c == '+' || c == '-' }

// isWithin reports whether a number directly behind the text belongs to a word, such as the digest
// of an image.
func isWithin(before []byte) bool {
	if len(before) == 0 {
		return false
	}
	c := before[len(before)-1]
	if c == ':' { // a digest, unless a key ends here
		return len(before) > 1 && before[len(before)-2] != '"' && before[len(before)-2] != ' '
	}
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '/' || c == '@'
}

// Decodable returns an error if a value in the form of encoding/json holds a quantity that
// CheckQuantity rejects. Check each value before decoding JSON into the type.
func Decodable(value any, t reflect.Type) error { return checkQuantities(Structs{}, value, t) }

func checkQuantities(structs Structs, value any, t reflect.Type) error {
	if t = Concrete(t); t == reflect.TypeFor[resource.Quantity]() {
		text, ok := value.(string)
		if !ok {
			text = fmt.Sprint(value)
		}
		return CheckQuantity(text)
	}
	switch v := value.(type) {
	case map[string]any:
		if t.Kind() == reflect.Map {
			for _, entry := range v {
				if err := checkQuantities(structs, entry, t.Elem()); err != nil {
					return err
				}
			}
		}
		if t.Kind() == reflect.Struct {
			for _, field := range structs.Of(t) {
				if entry, ok := v[field.Name]; ok {
					if err := checkQuantities(structs, entry, field.Type); err != nil {
						return fmt.Errorf("%s: %w", field.Name, err)
					}
				}
			}
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for _, item := range v {
				if err := checkQuantities(structs, item, t.Elem()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// UnmarshalBounded decodes JSON with the function decode. It returns the error of Decodable if
// MayExceed is true.
func UnmarshalBounded(text []byte, into any, decode func([]byte, any) error) error {
	if MayExceed(text) {
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return err
		}
		if err := Decodable(value, reflect.TypeOf(into)); err != nil {
			return err
		}
	}
	return decode(text, into)
}
