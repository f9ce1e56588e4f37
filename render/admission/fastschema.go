package admission

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
)

// fastSchema is a schema, compiled to recognize plainly valid values. The validator of the API
// server builds validators for every value again, and most values are valid. It still judges all
// other values: it alone knows the errors and their words. So do the API server's functions that
// prune a value and fill in its defaults.
type fastSchema struct {
	// undecided marks a schema with a rule that only the validator knows.
	undecided bool
	// open marks a schema that accepts unknown fields, or has metadata of its own.
	open     bool
	defaults []defaultValue
	kind     string
	orString bool // an integer or a string
	nullable bool
	fields   map[string]*fastSchema
	others   *fastSchema // the values of other keys, or nil for any
	items    *fastSchema
	required []string
	demanded []string // also by allOf and the like
	pattern  *regexp.Regexp
	isTime   bool
	enum     map[string]bool
	// These limit a number, the runes of a string, the items of a list, or the keys of a map.
	least, most int64
	// keys are the fields that identify an item of a list.
	keys  []string
	isSet bool // a list of distinct scalars
}

// defaultValue is the default of a field, with the defaults within it.
type defaultValue struct {
	name  string
	value any
}

// compileFast compiles a schema. It leaves rules undecided that definitions of the API rarely have.
func compileFast(s *structuralschema.Structural) *fastSchema {
	p := &fastSchema{kind: s.Type, nullable: s.Nullable, orString: s.XIntOrString,
		least: math.MinInt64, most: math.MaxInt64}
	if s.Items != nil {
		p.items = compileFast(s.Items)
	}
	if len(s.Properties) > 0 {
		p.fields = make(map[string]*fastSchema, len(s.Properties))
		for name, property := range s.Properties {
			p.fields[name] = compileFast(&property)
			if property.Default.Object != nil {
				value := runtime.DeepCopyJSONValue(property.Default.Object)
				structuraldefaulting.Default(value, &property)
				p.defaults = append(p.defaults, defaultValue{name, value})
			}
		}
	}
	p.open = s.XPreserveUnknownFields || s.XEmbeddedResource
	p.undecided = s.XEmbeddedResource
	if s.AdditionalProperties != nil {
		if s.AdditionalProperties.Structural != nil {
			p.others = compileFast(s.AdditionalProperties.Structural)
		}
		p.open = p.open || s.AdditionalProperties.Structural == nil
		p.undecided = p.undecided || s.AdditionalProperties.Structural == nil &&
			!s.AdditionalProperties.Bool
	}
	if s.XListType != nil {
		p.isSet = *s.XListType == "set"
		if *s.XListType == "map" {
			p.keys = s.XListMapKeys
			p.undecided = p.undecided || len(p.keys) == 0 || len(p.keys) > len(identity{})
		}
	}
	if s.ValueValidation != nil {
		p.restrict(s.ValueValidation)
	}
	return p
}

// restrict adds the rules on values.
func (p *fastSchema) restrict(v *structuralschema.ValueValidation) {
	p.isTime = p.kind == "string" && v.Format == "date-time"
	isKnownFormat := v.Format == "" || p.isTime ||
		p.kind == "integer" && (v.Format == "int32" || v.Format == "int64")
	p.undecided = p.undecided || !isKnownFormat || v.UniqueItems || v.MultipleOf != nil ||
		v.AllOf != nil || v.OneOf != nil || v.Not != nil || v.AnyOf != nil && !p.orString ||
		v.ExclusiveMinimum || v.ExclusiveMaximum
	if v.Format == "int32" {
		p.least, p.most = math.MinInt32, math.MaxInt32
	}
	for _, bound := range []*float64{v.Minimum, v.Maximum} {
		if bound != nil && (*bound != math.Trunc(*bound) || math.Abs(*bound) > 1<<53 ||
			p.kind != "integer") {
			p.undecided = true
			return
		}
	}
	if v.Minimum != nil {
		p.least = max(p.least, int64(*v.Minimum))
	}
	if v.Maximum != nil {
		p.most = min(p.most, int64(*v.Maximum))
	}
	limits := map[string][2]*int64{"string": {v.MinLength, v.MaxLength},
		"array": {v.MinItems, v.MaxItems}, "object": {v.MinProperties, v.MaxProperties}}
	if limit := limits[p.kind]; limit[0] != nil {
		p.least = *limit[0]
	}
	if limit := limits[p.kind]; limit[1] != nil {
		p.most = *limit[1]
	}
	p.required, p.demanded = v.Required, demandedBy(v)
	if v.Pattern != "" {
		var err error
		p.pattern, err = regexp.Compile(v.Pattern)
		p.undecided = p.undecided || err != nil
	}
	for _, choice := range v.Enum {
		text, ok := choice.Object.(string)
		p.undecided = p.undecided || !ok
		if p.enum == nil {
			p.enum = make(map[string]bool, len(v.Enum))
		}
		p.enum[text] = true
	}
}

// accepts reports whether a value is plainly valid.
func (p *fastSchema) accepts(value any) bool {
	if p.undecided {
		return false
	}
	switch v := value.(type) {
	case nil:
		return p.nullable && p.enum == nil
	case map[string]any:
		return p.kind == "object" && p.enum == nil && p.within(len(v)) && p.acceptsFields(v)
	case []any:
		return p.kind == "array" && p.enum == nil && p.within(len(v)) && p.distinct(v) &&
			(p.items == nil || !slices.ContainsFunc(v, func(item any) bool {
				return !p.items.accepts(item)
			}))
	case string:
		return (p.kind == "string" || p.kind == "" && p.orString) &&
			(p.kind == "" || p.within(utf8.RuneCountInString(v))) &&
			(p.enum == nil || p.enum[v]) && (p.pattern == nil || p.pattern.MatchString(v)) &&
			(!p.isTime || isTime(v))
	case int64:
		return (p.kind == "integer" || p.kind == "" && p.orString) && p.enum == nil &&
			p.least <= v && v <= p.most
	case bool:
		return p.kind == "boolean" && p.enum == nil
	}
	return false
}

func (p *fastSchema) within(n int) bool { return p.least <= int64(n) && int64(n) <= p.most }

// isTime reports whether a text is a time as controllers write it: in UTC, without fractions.
func isTime(text string) bool {
	_, err := time.Parse("2006-01-02T15:04:05Z", text)
	return err == nil
}

// acceptsFields reports whether the fields of an object are plainly valid, and none is missing.
func (p *fastSchema) acceptsFields(fields map[string]any) bool {
	for _, name := range p.required {
		if _, ok := fields[name]; !ok {
			return false
		}
	}
	for name, value := range fields {
		of, ok := p.fields[name]
		if !ok {
			of = p.others
		}
		if of != nil && !of.accepts(value) {
			return false
		}
	}
	return true
}

// mistakes counts the plain mistakes in a value: missing fields, and scalars of a wrong type or
// value.
func (p *fastSchema) mistakes(value any) (n int) {
	if p == nil {
		return 0
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range p.demanded {
			if _, ok := v[name]; !ok {
				n++
			}
		}
		for name, of := range v {
			n += p.field(name).mistakes(of)
		}
	case []any:
		for _, item := range v {
			n += p.items.mistakes(item)
		}
	default:
		if p.isWrong(v) {
			n++
		}
	}
	return n
}

// isWrong reports whether a scalar is plainly invalid.
func (p *fastSchema) isWrong(value any) bool {
	if p.undecided || p.kind == "" && !p.orString {
		return false
	}
	switch value.(type) {
	case string:
		return !p.accepts(value) && !(p.isTime && p.kind == "string") // a time has other forms
	case int64:
		return !p.accepts(value) && p.kind != "number"
	case bool:
		return !p.accepts(value)
	}
	return false
}

// demandedBy returns the fields that rules on a value require, those of allOf and the like too. Of
// choices, only one with many fields counts: other values lack most fields of a choice.
func demandedBy(v *structuralschema.ValueValidation) []string {
	const many = 64
	all := slices.Clone(v.Required)
	for _, rule := range v.AllOf {
		all = append(all, demandedBy(&rule.ValueValidation)...)
	}
	choices := slices.Concat(v.AnyOf, v.OneOf)
	if v.Not != nil {
		choices = append(choices, *v.Not)
	}
	for _, choice := range choices {
		if names := demandedBy(&choice.ValueValidation); len(names) > many {
			all = append(all, names...)
		}
	}
	return all
}

// identity is a scalar of a set, or the keys of an item.
type identity [2]any

// identity returns the identity of an item, and whether it is plain.
func (p *fastSchema) identity(item any) (id identity, ok bool) {
	if p.isSet {
		id[0] = item
		return id, isScalar(item)
	}
	fields, ok := item.(map[string]any)
	for i, key := range p.keys {
		id[i] = fields[key]
		ok = ok && isScalar(id[i])
	}
	return id, ok
}

func isScalar(value any) bool {
	switch value.(type) {
	case string, int64, bool:
		return true
	}
	return false
}

// distinct reports whether the items of a list plainly differ, as the type of the list requires.
func (p *fastSchema) distinct(list []any) bool {
	if !p.isSet && p.keys == nil {
		return true
	}
	const few = 8 // so few items need no index
	var near [few]identity
	var far map[identity]bool
	if len(list) > few {
		far = make(map[identity]bool, len(list))
	}
	for i, item := range list {
		id, ok := p.identity(item)
		if !ok || far[id] || far == nil && slices.Contains(near[:i], id) {
			return false
		}
		if far == nil {
			near[i] = id
		} else {
			far[id] = true
		}
	}
	return true
}

// withDefaults returns a decoded object with its defaults, except in its own metadata. The result
// shares all values without defaults with fields, which it does not change. It returns false for an
// object that the API server may prune, or whose numbers it converts.
func (p *fastSchema) withDefaults(fields map[string]any) (map[string]any, bool) {
	if p.open || fields == nil {
		return nil, false
	}
	filled := maps.Clone(fields)
	for name, value := range fields {
		if isOfObject(name) {
			continue
		}
		inner, isNew, ok := p.field(name).withValueDefaults(value)
		if !ok || value == nil {
			return nil, false
		}
		if isNew {
			filled[name] = inner
		}
	}
	for i := range p.defaults {
		p.defaults[i].set(filled)
	}
	return filled, true
}

// isOfObject reports whether every object has a field, whatever its schema.
func isOfObject(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata"
}

// field returns the schema of a field, or nil for an unknown one.
func (p *fastSchema) field(name string) *fastSchema {
	if of, ok := p.fields[name]; ok {
		return of
	}
	return p.others
}

// withValueDefaults is withDefaults for a value of a known schema. It reports whether the result is
// another one.
func (p *fastSchema) withValueDefaults(value any) (filled any, isNew, ok bool) {
	if p == nil {
		return nil, false, false
	}
	switch v := value.(type) {
	case nil:
		return nil, false, p.nullable
	case map[string]any:
		return p.withFieldDefaults(v)
	case []any:
		return p.withItemDefaults(v)
	case string, int64, bool:
		return value, false, true
	}
	return nil, false, false
}

func (p *fastSchema) withFieldDefaults(fields map[string]any) (filled any, isNew, ok bool) {
	if p.open {
		return nil, false, false
	}
	result := fields
	own := func() map[string]any {
		if !isNew {
			result, isNew = maps.Clone(fields), true
		}
		return result
	}
	for name, value := range fields {
		inner, changed, ok := p.field(name).withValueDefaults(value)
		if !ok {
			return nil, false, false
		}
		if changed {
			own()[name] = inner
		}
	}
	for i := range p.defaults {
		if _, ok := fields[p.defaults[i].name]; !ok {
			p.defaults[i].set(own())
		}
	}
	return result, isNew, true
}

func (p *fastSchema) withItemDefaults(list []any) (filled any, isNew, ok bool) {
	result := list
	for i, item := range list {
		inner, changed, ok := p.items.withValueDefaults(item)
		if !ok {
			return nil, false, false
		}
		if changed {
			if !isNew {
				result, isNew = slices.Clone(list), true
			}
			result[i] = inner
		}
	}
	return result, isNew, true
}

// set sets the field if it is missing.
func (d *defaultValue) set(fields map[string]any) {
	if _, ok := fields[d.name]; !ok {
		fields[d.name] = runtime.DeepCopyJSONValue(d.value)
	}
}
