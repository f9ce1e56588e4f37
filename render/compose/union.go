package compose

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// Union returns each item of the lists once. The items are sorted, so that the result is the same for every order of the lists. Items
// are JSON, and equal items have equal encodings. An empty union is nil.
//
// Tolerations need a [Rule] instead: two of them may differ in their seconds only.
func Union(lists ...[]any) []any {
	type item struct {
		value any
		text  string
	}
	var items []item
	for _, list := range lists {
		for _, value := range list {
			items = append(items, item{value, encodeJSON(value)})
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(compareNumbers(a.value, b.value), cmp.Compare(a.text, b.text))
	})
	items = slices.CompactFunc(items, func(a, b item) bool { return a.text == b.text })
	var union []any
	for _, one := range items {
		union = append(union, one.value)
	}
	return union
}

// encodeJSON returns a value as JSON, or "" for a value without JSON.
func encodeJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}

// compareNumbers compares integers, as of groups, by their values. Other values are equal to it.
func compareNumbers(a, b any) int {
	x, isX := a.(int64)
	y, isY := b.(int64)
	if isX && isY {
		return cmp.Compare(x, y)
	}
	return 0
}

// union composes lists.
func (r Rule) union(values []any) (any, error) {
	var lists [][]any
	isSet := false
	for _, value := range values {
		list, ok := value.([]any)
		if !ok && value != nil {
			return nil, fmt.Errorf("a union of lists cannot take %s", nounOf(value))
		}
		isSet = isSet || ok
		lists = append(lists, list)
	}
	if !isSet {
		return nil, nil
	}
	items := Union(lists...)
	if r.ofTolerations() {
		var err error
		if items, err = r.tolerations(items); err != nil {
			return nil, err
		}
	}
	return append([]any{}, items...), nil
}

// nounOf names the type of a value.
func nounOf(value any) string {
	switch value.(type) {
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	default:
		return "a number"
	}
}

func (r Rule) ofTolerations() bool {
	return len(r.Path) > 0 && r.Path[len(r.Path)-1] == fieldpath.Field(tolerationsField)
}

// The fields of a toleration that compose in their own way.
const (
	tolerationsField = "tolerations"
	operatorField    = "operator"
	secondsField     = "tolerationSeconds"
	defaultOperator  = "Equal"
)

// tolerations composes tolerations that are equal except for their seconds.
func (r Rule) tolerations(items []any) ([]any, error) {
	byIdentity := map[string]map[string]any{}
	for _, value := range items {
		item, ok := value.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("a union of tolerations cannot take %s", nounOf(value))
		}
		item = withoutEmpty(item)
		identity := tolerationIdentity(item)
		other, ok := byIdentity[identity]
		if !ok {
			byIdentity[identity] = item
			continue
		}
		seconds, err := r.seconds(item, other)
		if err != nil {
			return nil, err
		}
		if item[operatorField] == nil { // keep the spelled operator
			item = other
		}
		if delete(item, secondsField); seconds != nil {
			item[secondsField] = seconds
		}
		byIdentity[identity] = item
	}
	var composed []any
	for _, identity := range slices.Sorted(maps.Keys(byIdentity)) {
		composed = append(composed, byIdentity[identity])
	}
	return Union(composed), nil
}

// seconds composes the seconds of two tolerations. Without seconds a toleration has no end.
func (r Rule) seconds(a, b map[string]any) (any, error) {
	x, y := a[secondsField], b[secondsField]
	switch {
	case merge.SameValue(x, y):
		return x, nil
	case r.Seconds != KindMaximum:
		return nil, fmt.Errorf("tolerations of the key %q have different tolerationSeconds", fmt.Sprint(a["key"]))
	case x == nil || y == nil:
		return nil, nil
	}
	return Rule{Kind: KindMaximum}.extreme([]any{x, y})
}

// withoutEmpty returns a copy of a toleration without the fields that mean nothing.
func withoutEmpty(item map[string]any) map[string]any {
	item = maps.Clone(item)
	maps.DeleteFunc(item, func(_ string, value any) bool { return value == nil || value == "" })
	return item
}

// tolerationIdentity returns the encoding of a toleration without its seconds, with its operator.
func tolerationIdentity(item map[string]any) string {
	item = maps.Clone(item)
	delete(item, secondsField)
	if item[operatorField] == nil {
		item[operatorField] = defaultOperator
	}
	return encodeJSON(item)
}

// spelled returns a list in the form in which equal lists have equal encodings.
func (r Rule) spelled(list []any) []any {
	if r.ofTolerations() {
		list = slices.Clone(list)
		for i, value := range list {
			if item, ok := value.(map[string]any); ok {
				item = withoutEmpty(item)
				if item[operatorField] == nil {
					item[operatorField] = defaultOperator
				}
				list[i] = item
			}
		}
	}
	return Union(list)
}
