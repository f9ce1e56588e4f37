package schema

import "regexp"

// This file checks the parts of a definition below allOf, anyOf, oneOf and not.

// junctors checks the contents of allOf, anyOf, oneOf and not. It skips the two patterns for an integer or a string.
func (j *validator) junctors(s map[string]any, at *schemaPath, skipAnyOf, skipFirst bool) {
	for _, junctor := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[junctor].([]any)
		for i, of := range list {
			if sub := asSchema(of); sub != nil && !(junctor == "anyOf" && skipAnyOf) {
				j.nested(sub, at.child(junctor).index(i), junctor == "allOf" && i == 0 && skipFirst)
			}
		}
	}
	if not := asSchema(s["not"]); not != nil {
		j.nested(not, at.child("not"), false)
	}
	if pattern, ok := s["pattern"].(string); ok {
		if _, err := regexp.Compile(pattern); err != nil {
			j.reject(at.child("pattern"), "must be a regular expression: %v", err)
		}
	}
}

// nested checks a schema within a junctor, which may only restrict values.
func (j *validator) nested(s map[string]any, at *schemaPath, skipAnyOf bool) {
	j.junctors(s, at, skipAnyOf, false)
	if items := asSchema(s["items"]); items != nil {
		j.nested(items, at.child("items"), false)
	}
	properties := subschemas(s, "properties")
	for _, name := range sortedKeys(properties) {
		j.nested(properties[name], at.child("properties").key(name), false)
	}
	if _, ok := properties["metadata"]; ok {
		j.reject(at.child("properties").key("metadata"), "must not be specified in a junctor")
	}
	for _, keyword := range []string{
		"additionalProperties", "default", "description", "nullable", "title", "type",
		embedded, intOrString, listKeys, listType, mapType, keepsUnknown, "x-kubernetes-validations",
	} {
		switch v := s[keyword].(type) {
		case nil:
			continue
		case bool:
			if !v {
				continue
			}
		case string:
			if v == "" && keyword != listType && keyword != mapType {
				continue
			}
		case []any:
			if len(v) == 0 {
				continue
			}
		}
		j.reject(at.child(keyword), "must not be set in a junctor")
	}
}

// complete checks that the schema of describes every value that a junctor of s restricts.
func (j *validator) complete(s, of map[string]any, at, restricted *schemaPath) {
	check := func(sub any, restricted *schemaPath) {
		if sub := asSchema(sub); sub != nil {
			j.describes(sub, of, at, restricted)
		}
	}
	check(s["not"], restricted.child("not"))
	for _, junctor := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[junctor].([]any)
		for i, sub := range list {
			check(sub, restricted.child(junctor).index(i))
		}
	}
}

func (j *validator) describes(s, of map[string]any, at, restricted *schemaPath) {
	if of == nil {
		j.reject(at, "required, since %s is set", restricted)
		return
	}
	j.complete(s, of, at, restricted)
	if items := asSchema(s["items"]); items != nil {
		j.describes(items, asSchema(of["items"]), at.child("items"), restricted.child("items"))
	}
	properties, described := subschemas(s, "properties"), asSchema(of["properties"])
	for _, name := range sortedKeys(properties) {
		j.describes(properties[name], asSchema(described[name]), at.child("properties").key(name), restricted.child("properties").key(name))
	}
}

// isIntOrString reports whether a junctor is the pattern for an integer or a string.
func isIntOrString(anyOf any) bool {
	list, _ := anyOf.([]any)
	return len(list) == 2 && isOnlyType(list[0], "integer") && isOnlyType(list[1], "string")
}

func isOnlyType(v any, of string) bool {
	s := asSchema(v)
	for keyword, value := range s {
		if keyword != "type" && value != nil && structuralKeywords[keyword] {
			return false
		}
	}
	return s["type"] == of
}

// firstIsIntOrString reports whether the first schema of allOf begins that pattern.
func firstIsIntOrString(s map[string]any) bool {
	list, _ := s["allOf"].([]any)
	return len(list) > 0 && isIntOrString(asSchema(list[0])["anyOf"])
}
