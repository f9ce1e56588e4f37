package compose

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainweld/trainweld/merge/quantity"
)

// extreme returns the smallest or the largest of numbers and quantities. Of equal ones it returns the shortest.
func (r Rule) extreme(values []any) (any, error) {
	var best any
	var most resource.Quantity
	for _, value := range values {
		if value == nil {
			continue
		}
		number, err := numberOf(value)
		if err != nil {
			return nil, err
		}
		order := number.Cmp(most)
		if r.Kind == KindMinimum {
			order = -order
		}
		if best == nil || order > 0 || order == 0 && isShorter(value, best) {
			best, most = value, number
		}
	}
	return best, nil
}

// isShorter reports whether the encoding of a value comes before the encoding of another one.
func isShorter(value, than any) bool {
	x, y := encodeJSON(value), encodeJSON(than)
	return len(x) < len(y) || len(x) == len(y) && x < y
}

// numberOf reads a number or a quantity.
func numberOf(value any) (resource.Quantity, error) {
	switch value.(type) {
	case string, int64, float64:
	default:
		return resource.Quantity{}, fmt.Errorf("a comparison of numbers cannot take %s", nounOf(value))
	}
	number, err := quantity.Parse(fmt.Sprint(value))
	if err != nil {
		return resource.Quantity{}, errors.New("the value is not a quantity")
	}
	return number, nil
}
