package schema

import (
	"fmt"
	"slices"
	"strconv"
)

// This file checks whether the schema of a definition is structural. The API server does so before it accepts a definition. The
// sources are apiextensions-apiserver v0.36.3 pkg/apiserver/schema, and pkg/apis/apiextensions/validation for the rules of
// lists.

// validator collects the distinct problems of a schema, in the order of the document's sorted names.
type validator struct {
	problems []error
	seen     map[string]bool
}

// schemaPath is the place of a schema in its document.
type schemaPath struct {
	parent *schemaPath
	text   string
}

func (p *schemaPath) child(text string) *schemaPath { return &schemaPath{p, "." + text} }
func (p *schemaPath) key(name string) *schemaPath   { return &schemaPath{p, "[" + name + "]"} }
func (p *schemaPath) index(i int) *schemaPath       { return &schemaPath{p, "[" + strconv.Itoa(i) + "]"} }

// String returns the JSON path.
func (p *schemaPath) String() string {
	var parts []string
	length := 0
	for ; p != nil; p = p.parent {
		parts = append(parts, p.text)
		length += len(p.text)
	}
	text := make([]byte, 0, length)
	for _, part := range slices.Backward(parts) {
		text = append(text, part...)
	}
	return string(text)
}

func (j *validator) reject(at *schemaPath, format string, args ...any) {
	text := at.String() + ": " + fmt.Sprintf(format, args...)
	if j.seen[text] {
		return
	}
	if j.seen == nil {
		j.seen = map[string]bool{}
	}
	j.seen[text] = true
	j.problems = append(j.problems, problem(text))
}

type problem string

func (p problem) Error() string { return string(p) }

// deepestSchema limits the nesting of schemas. No definition comes near it.
const deepestSchema = 500

// root checks the schema of a version.
func (j *validator) root(s map[string]any, at *schemaPath) {
	j.schema(s, at, scope{root: true})
	if j.tooDeep() {
		return
	}
	j.structure(s, at, rootLevel)
	j.complete(s, s, at, at)
	if s["nullable"] == true {
		j.reject(at.child("nullable"), "must be false at the root")
	}
}

// tooDeep reports whether the check has stopped because of the schema's depth.
func (j *validator) tooDeep() bool {
	return len(j.problems) > 0 && j.problems[len(j.problems)-1] == errTooDeep
}

var errTooDeep error = problem("schemas nest more than " + strconv.Itoa(deepestSchema) + " deep")

// scope holds the facts that outer schemas decide for an inner one.
type scope struct {
	root       bool
	meta       bool   // within the metadata of an object
	noDefaults string // the reason why defaults are forbidden
	depth      int
}

var (
	schemaTypes = []string{"array", "boolean", "integer", "number", "object", "string"}
	unsupported = []string{"$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties"}
	// keywords are the JSON types of the keywords that affect the structure.
	keywords = map[string]string{
		"type": "a string", "format": "a string", "title": "a string", "description": "a string", "pattern": "a string", "id": "a string",
		"$ref": "a string", "$schema": "a string", "nullable": "a boolean", "uniqueItems": "a boolean", "properties": "an object",
		"required": "a list", "allOf": "a list", "anyOf": "a list", "oneOf": "a list", "not": "an object",
		keepsUnknown: "a boolean", embedded: "a boolean", intOrString: "a boolean", listType: "a string", mapType: "a string", listKeys: "a list",
	}
)

// schema checks a schema and its inner schemas by the rules that apply everywhere.
func (j *validator) schema(s map[string]any, at *schemaPath, w scope) {
	if j.tooDeep() {
		return
	}
	if w.depth++; w.depth > deepestSchema {
		j.problems = append(j.problems, errTooDeep)
		return
	}
	for _, keyword := range sortedKeys(s) {
		want, known := keywords[keyword]
		if is := jsonName(s[keyword]); known && s[keyword] != nil && is != want {
			j.reject(at.child(keyword), "must be %s, and is %s", want, is)
		}
	}
	of, _ := s["type"].(string)
	switch {
	case of == "" || slices.Contains(schemaTypes, of):
	case of == "null":
		j.reject(at.child("type"), "must not be null: nullable says that a value may be null")
	default:
		j.reject(at.child("type"), "must be one of %q, and is %q", schemaTypes, of)
	}
	for _, keyword := range unsupported {
		if v := s[keyword]; v != nil && v != "" || v == "" && keyword == "$ref" {
			if held, ok := v.(map[string]any); ok && len(held) == 0 && (keyword == "definitions" || keyword == "patternProperties") {
				continue
			}
			j.reject(at.child(keyword), "must not be set")
		}
	}
	if s["$schema"] != nil && s["$schema"] != "" {
		j.reject(at.child("$schema"), "must not be set")
	}
	if s["default"] != nil && w.noDefaults != "" {
		j.reject(at.child("default"), "must not be set %s", w.noDefaults)
	}
	if s["uniqueItems"] == true {
		j.reject(at.child("uniqueItems"), "must not be true: %s set says it", listType)
	}
	if w.meta && s[embedded] == true {
		j.reject(at.child(embedded), "must not be set within metadata")
	}
	if s[keepsUnknown] == false {
		j.reject(at.child(keepsUnknown), "must be true or left out")
	}
	j.extensions(s, of, at)
	j.inner(s, at, w)
}

// extensions checks the merge extensions of a schema.
func (j *validator) extensions(s map[string]any, of string, at *schemaPath) {
	if kind, ok := s[mapType].(string); ok {
		if of != "object" {
			j.reject(at.child("type"), "must be object beside %s", mapType)
		}
		if kind != "atomic" && kind != "granular" {
			j.reject(at.child(mapType), "must be atomic or granular, and is %q", kind)
		}
	}
	kind, isList := s[listType].(string)
	if isList && of != "array" {
		j.reject(at.child("type"), "must be array beside %s", listType)
	}
	if isList && kind != "atomic" && kind != "set" && kind != "map" {
		j.reject(at.child(listType), "must be atomic, set or map, and is %q", kind)
	}
	keys, items := stringsOf(s[listKeys]), asSchema(s["items"])
	if len(keys) > 0 && kind != "map" {
		j.reject(at.child(listType), "must be map beside %s", listKeys)
	}
	if kind != "set" && kind != "map" {
		return
	}
	if items["nullable"] == true {
		j.reject(at.child("items").child("nullable"), "must be false in a %s", kind)
	}
	if kind == "set" {
		itemType, _ := items["type"].(string)
		if itemList, ok := items[listType].(string); of == "array" && itemType == "array" && ok && itemList != "atomic" {
			j.reject(at.child("items").child(listType), "must be atomic in a set")
		}
		if of == "array" && itemType == "object" && items[mapType] != "atomic" {
			j.reject(at.child("items").child(mapType), "must be atomic in a set")
		}
		return
	}
	j.mapKeys(keys, s, items, at)
}

// mapKeys checks the keys of a list whose items merge by keys.
func (j *validator) mapKeys(keys []string, s, items map[string]any, at *schemaPath) {
	if len(keys) == 0 {
		j.reject(at.child(listKeys), "required in a map")
	}
	if s["items"] == nil {
		j.reject(at.child("items"), "required in a map")
	}
	if _, ok := s["items"].([]any); ok {
		j.reject(at.child("items"), "must be one schema in a map")
	}
	if items == nil {
		return
	}
	if items["type"] != "object" {
		j.reject(at.child("items").child("type"), "must be object in a map")
	}
	required, named := map[string]bool{}, map[string]bool{}
	for _, name := range stringsOf(items["required"]) {
		required[name] = true
	}
	properties := asSchema(items["properties"])
	for _, key := range keys {
		property, ok := properties[key].(map[string]any)
		if items["type"] == "object" {
			if !ok {
				j.reject(at.child(listKeys), "%q is not a property of the items", key)
			} else if property["type"] == "array" || property["type"] == "object" {
				j.reject(at.child("items").child("properties").key(key).child("type"), "must be a scalar, as a key of a map")
			}
			if named[key] {
				j.reject(at.child(listKeys), "duplicate %q", key)
			}
			named[key] = true
		}
		if !ok {
			continue
		}
		field := at.child("items").child("properties").key(key)
		if property["default"] == nil && !required[key] {
			j.reject(field.child("default"), "required, as a key of a map that the items do not require")
		}
		if property["nullable"] == true {
			j.reject(field.child("nullable"), "must be false, as a key of a map")
		}
	}
}

// inner checks the schemas within a schema.
func (j *validator) inner(s map[string]any, at *schemaPath, w scope) {
	inside := w
	inside.root = false
	properties := subschemas(s, "properties")
	j.notSchemas(s["properties"], at.child("properties"))
	switch of := s["additionalProperties"].(type) {
	case nil:
	case bool:
		if !of && len(properties) > 0 {
			j.reject(at.child("additionalProperties"), "must not be set beside properties")
		}
	case map[string]any:
		if len(properties) > 0 {
			j.reject(at.child("additionalProperties"), "must not be set beside properties")
		}
		sub := inside
		if w.meta {
			sub.noDefaults = "within metadata"
		}
		j.schema(of, at.child("additionalProperties"), sub)
	default:
		j.reject(at.child("additionalProperties"), "must be a schema or a boolean, and is %s", jsonName(of))
	}
	for _, name := range sortedKeys(properties) {
		sub := inside
		if (w.root || s[embedded] == true) && (name == "metadata" || name == "kind" || name == "apiVersion") {
			sub.meta = true
			if w.root {
				sub.noDefaults = "in the " + name + " of an object"
			}
		}
		j.schema(properties[name], at.child("properties").key(name), sub)
	}
	for _, junctor := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[junctor].([]any)
		for i, of := range list {
			if sub, ok := of.(map[string]any); ok {
				j.schema(sub, at.child(junctor).index(i), inside)
			} else {
				j.reject(at.child(junctor).index(i), "must be an object, and is %s", jsonName(of))
			}
		}
	}
	if not := asSchema(s["not"]); not != nil {
		j.schema(not, at.child("not"), inside)
	}
	switch of := s["items"].(type) {
	case nil:
	case map[string]any:
		j.schema(of, at.child("items"), inside)
	case []any:
		j.reject(at.child("items"), "must be one schema, and is a list")
	default:
		j.reject(at.child("items"), "must be an object, and is %s", jsonName(of))
	}
}

// notSchemas reports properties that are not schemas.
func (j *validator) notSchemas(properties any, at *schemaPath) {
	held, _ := properties.(map[string]any)
	for _, name := range sortedKeys(held) {
		if asSchema(held[name]) == nil {
			j.reject(at.key(name), "must be an object, and is %s", jsonName(held[name]))
		}
	}
}

func asSchema(v any) map[string]any {
	s, _ := v.(map[string]any)
	return s
}

type level uint8

const (
	rootLevel level = iota
	itemLevel
	fieldLevel
)

// structure checks that the schema of each value declares its type, and that junctors only restrict values.
func (j *validator) structure(s map[string]any, at *schemaPath, l level) {
	of, _ := s["type"].(string)
	items, properties := asSchema(s["items"]), subschemas(s, "properties")
	if of == "array" && s["items"] == nil {
		j.reject(at.child("items"), "required in an array")
	}
	if items != nil {
		j.structure(items, at.child("items"), itemLevel)
	}
	for _, name := range sortedKeys(properties) {
		j.structure(properties[name], at.child("properties").key(name), fieldLevel)
	}
	more := s["additionalProperties"]
	if more != nil && l == rootLevel {
		j.reject(at.child("additionalProperties"), "must not be set at the root")
	}
	if sub := asSchema(more); sub != nil {
		j.structure(sub, at.child("additionalProperties"), fieldLevel)
	}
	if s[intOrString] == true && s[keepsUnknown] == true {
		j.reject(at.child(keepsUnknown), "must not be set beside %s", intOrString)
	}
	if s[intOrString] == true && s[embedded] == true {
		j.reject(at.child(embedded), "must not be set beside %s", intOrString)
	}
	j.junctors(s, at, isIntOrString(s["anyOf"]), firstIsIntOrString(s))

	switch {
	case s[embedded] == true && of != "object":
		j.reject(at.child("type"), "must be object beside %s", embedded)
	case of == "" && s[intOrString] != true && s[keepsUnknown] != true:
		j.reject(at.child("type"), "required")
	}
	if s[embedded] == true && more != nil {
		j.reject(at.child("additionalProperties"), "must not be set beside %s", embedded)
	}
	if s[embedded] == true && s[keepsUnknown] != true && len(properties) == 0 {
		j.reject(at.child("properties"), "required beside %s without %s", embedded, keepsUnknown)
	}
	if l == rootLevel && of != "" && of != "object" {
		j.reject(at.child("type"), "must be object at the root, and is %q", of)
	}
	j.identity(s, properties, at, l)
}

// identity checks a schema's restrictions on the kind and the metadata of an object.
func (j *validator) identity(s map[string]any, properties map[string]map[string]any, at *schemaPath, l level) {
	if l != rootLevel && s[embedded] != true {
		return
	}
	for _, name := range []string{"apiVersion", "kind"} {
		if p, ok := properties[name]; ok && p["type"] != "string" {
			j.reject(at.child("properties").key(name).child("type"), "must be string")
		}
	}
	meta, ok := properties["metadata"]
	if !ok {
		return
	}
	at = at.child("properties").key("metadata")
	if meta["type"] != "object" {
		j.reject(at.child("type"), "must be object")
	}
	if l != rootLevel {
		return
	}
	for _, keyword := range sortedKeys(meta) {
		switch v := meta[keyword].(type) {
		case nil:
			continue
		case bool:
			if !v && keyword != "additionalProperties" {
				continue
			}
		case string:
			if v == "" {
				continue
			}
		case map[string]any:
			named := subschemas(meta, "properties")
			for _, name := range []string{"name", "generateName"} {
				delete(named, name)
			}
			if keyword == "properties" && len(named) == 0 {
				continue
			}
		}
		if _, known := structuralKeywords[keyword]; known && keyword != "type" && keyword != "default" {
			j.reject(at, "must not specify anything but name and generateName")
			return
		}
	}
}

// structuralKeywords are all keywords of a structural schema.
var structuralKeywords = map[string]bool{
	"additionalProperties": true, "allOf": true, "anyOf": true, "default": true, "description": true, "enum": true, "example": true,
	"exclusiveMaximum": true, "exclusiveMinimum": true, "externalDocs": true, "format": true, "items": true, "maxItems": true,
	"maxLength": true, "maxProperties": true, "maximum": true, "minItems": true, "minLength": true, "minProperties": true,
	"minimum": true, "multipleOf": true, "not": true, "nullable": true, "oneOf": true, "pattern": true, "properties": true,
	"required": true, "title": true, "type": true, "uniqueItems": true, "x-kubernetes-validations": true,
	keepsUnknown: true, embedded: true, intOrString: true, listType: true, listKeys: true, mapType: true,
}
