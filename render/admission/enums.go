package admission

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/trainweld/trainweld/render/nearest"
)

// enums are the long lists of supported values in a schema. The API server's validator puts all
// values into each error: n wrong items of n values take n*n texts. This package checks these lists
// itself, and names a few values.
type enums struct {
	has           map[string]bool // nil for a value that may be any
	names         nearest.Names
	fields        map[string]*enums
	others, items *enums
}

const (
	// namedValues is the number of supported values that an error names.
	namedValues = 10
	// An error that does not name all values ends with andMore, their number, and moreValues.
	andMore, moreValues = " and ", " more"
)

// cutEnums moves the long lists of supported strings out of a schema. It returns nil if there are
// none. It leaves lists within allOf, anyOf, oneOf and not to the validator.
func cutEnums(s *apiextensions.JSONSchemaProps) *enums {
	var cut enums
	if s.Type == "string" && len(s.Enum) > namedValues {
		names := make([]string, len(s.Enum))
		has := make(map[string]bool, len(s.Enum))
		for i, value := range s.Enum {
			var ok bool
			if names[i], ok = value.(string); !ok {
				return nil
			}
			has[names[i]] = true
		}
		s.Enum, cut.has, cut.names = nil, has, nearest.NewNames(names)
	}
	for name, property := range s.Properties {
		if below := cutEnums(&property); below != nil {
			if cut.fields == nil {
				cut.fields = map[string]*enums{}
			}
			cut.fields[name], s.Properties[name] = below, property
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		cut.others = cutEnums(s.AdditionalProperties.Schema)
	}
	if s.Items != nil && s.Items.Schema != nil {
		cut.items = cutEnums(s.Items.Schema)
	}
	if cut.has == nil && cut.fields == nil && cut.others == nil && cut.items == nil {
		return nil
	}
	return &cut
}

// validate returns an error for each value that its list lacks. Like the API server, it accepts
// values that an update does not change. On creation, old is nil. Otherwise it correlates the value
// with the stored one.
func (e *enums) validate(at *field.Path, value any, old *common.CorrelatedObject) field.ErrorList {
	if e == nil || old != nil && old.CachedDeepEqual() {
		return nil
	}
	var errs field.ErrorList
	if e.has != nil {
		if text, ok := value.(string); !ok || !e.has[text] {
			errs = append(errs, e.unsupported(at, value, text))
		}
		return errs
	}
	switch value := value.(type) {
	case map[string]any:
		for name, below := range value {
			of := e.fields[name]
			if of == nil {
				of = e.others
			}
			if of != nil {
				errs = append(errs, of.validate(at.Child(name), below, old.Key(name))...)
			}
		}
	case []any:
		if e.items == nil {
			break
		}
		for i, below := range value {
			errs = append(errs, e.items.validate(at.Index(i), below, old.Index(i))...)
		}
	}
	return errs
}

// unsupported returns the API server's error, with the values that are nearest.
func (e *enums) unsupported(at *field.Path, value any, text string) *field.Error {
	near := e.names.Around(text)
	near = near[:min(len(near), namedValues)]
	err := field.NotSupported(at, value, near)
	if more := e.names.Len() - len(near); more > 0 {
		err.Detail += fmt.Sprint(andMore, more, moreValues)
	}
	return err
}
