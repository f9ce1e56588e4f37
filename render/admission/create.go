package admission

import (
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
)

// immutable is the rule of an immutable field. The API server skips it on creation.
const immutable = "self == oldSelf"

// rulesOnCreate returns the validator of an embedded definition without the parts that find nothing
// on creation. It removes fields whose only rule is immutability. From the schema of a rule, it
// removes the properties that the rule does not name. The validator copies all properties each time
// that a rule reads one. TestRulesOnCreate compares it with the whole validator.
func rulesOnCreate(v *cel.Validator, s *structuralschema.Structural) *cel.Validator {
	if v == nil || s == nil || len(v.AllOfValidators) > 0 {
		return v
	}
	var text string
	for _, rule := range s.XValidations {
		if rule.Rule != immutable {
			text += rule.Rule + rule.MessageExpression + "\n"
		}
	}
	small := *v
	small.Items = rulesOnCreate(v.Items, s.Items)
	if s.AdditionalProperties != nil {
		small.AdditionalProperties = rulesOnCreate(v.AdditionalProperties,
			s.AdditionalProperties.Structural)
	}
	small.Properties = nil
	for name, within := range v.Properties {
		property := s.Properties[name]
		if within := rulesOnCreate(&within, &property); within != nil {
			if small.Properties == nil {
				small.Properties = map[string]cel.Validator{}
			}
			small.Properties[name] = *within
		}
	}
	if text != "" {
		small.Schema = named(s, text)
		// the root, for which the validator adds the fields of every object
		if s.Properties["apiVersion"].Type != "" {
			small.Schema = model.WithTypeAndObjectMeta(small.Schema)
		}
		return &small
	}
	if small.Items == nil && small.AdditionalProperties == nil && small.Properties == nil {
		return nil
	}
	return &small
}

// named returns a schema with the properties whose names a text contains.
func named(s *structuralschema.Structural, text string) *structuralschema.Structural {
	if s == nil {
		return nil
	}
	small := *s
	small.Items = named(s.Items, text)
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		small.AdditionalProperties = &structuralschema.StructuralOrBool{
			Structural: named(s.AdditionalProperties.Structural, text)}
	}
	if s.Properties == nil {
		return &small
	}
	small.Properties = map[string]structuralschema.Structural{}
	for name, property := range s.Properties {
		if strings.Contains(text, name) {
			small.Properties[name] = *named(&property, text)
		}
	}
	return &small
}
