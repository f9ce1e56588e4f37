package merged

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
)

// schemas makes structural schemas of definitions.
type schemas struct{ generator }

// root returns the schema of an object.
func (g *schemas) root() map[string]any {
	return map[string]any{
		"type": "object", "properties": map[string]any{"spec": g.object(3), "data": g.value(2)}}
}

// object returns the schema of an object with properties.
func (g *schemas) object(depth int) map[string]any {
	properties := map[string]any{}
	for range 2 + g.IntN(4) {
		properties[pick(&g.generator, []string{"a", "b", "c", "name", "mode", "size"})] = g.value(
			depth - 1)
	}
	s := map[string]any{"type": "object", "properties": properties}
	names := slices.Sorted(maps.Keys(properties))
	if g.chance(3) {
		s["required"] = []any{pick(&g.generator, names)}
	}
	if g.chance(8) {
		s["x-kubernetes-map-type"] = pick(&g.generator, []string{"atomic", "granular"})
	}
	if g.chance(12) {
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	if len(names) > 1 && g.chance(5) {
		s[pick(&g.generator, []string{"oneOf", "anyOf"})] = []any{
			map[string]any{"required": []any{names[0]}},
			map[string]any{"required": []any{names[1]}}}
	}
	if g.chance(6) {
		s["x-kubernetes-validations"] = []any{
			map[string]any{
				"rule":    "!has(self." + names[0] + ") || has(self." + names[len(names)-1] + ")",
				"message": "needs the other"}}
	}
	return s
}

// value returns the schema of a field.
func (g *schemas) value(depth int) map[string]any {
	kind := g.IntN(10)
	if depth <= 0 {
		kind = g.IntN(5)
	}
	var s map[string]any
	switch kind {
	case 0, 1:
		s = g.text()
	case 2:
		s = g.number()
	case 3:
		s = map[string]any{"type": "boolean"}
	case 4:
		s = map[string]any{"x-kubernetes-int-or-string": true,
			"anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}}
		if g.chance(2) {
			s["pattern"] = "^[0-9]+%?$"
		}
	case 5, 6:
		s = g.object(depth)
	case 7:
		s = map[string]any{"type": "object", "additionalProperties": g.value(depth - 1)}
		if g.chance(3) {
			s["maxProperties"] = 2
		}
	default:
		s = g.list(depth)
	}
	if g.chance(8) {
		s["nullable"] = true
	}
	return s
}

func (g *schemas) text() map[string]any {
	s := map[string]any{"type": "string"}
	switch g.IntN(6) {
	case 0:
		s["enum"] = []any{"on", "off", "auto"}
		if g.chance(3) {
			s["default"] = "auto"
		}
	case 1:
		s["pattern"] = pick(&g.generator,
			[]string{"^[a-z]([-a-z0-9]*[a-z0-9])?$", "^s3://", "^[0-9]+$"})
	case 2:
		s["format"] = pick(
			&g.generator,
			[]string{"date-time", "byte", "ipv4", "cidr", "duration", "uuid", "uri", "email",
				"hostname"})
	case 3:
		s["minLength"], s["maxLength"] = 1, 5
		if g.chance(2) {
			s["x-kubernetes-validations"] = []any{
				map[string]any{"rule": "!self.startsWith('b')", "message": "not with b"}}
		}
	}
	return s
}

func (g *schemas) number() map[string]any {
	s := map[string]any{"type": pick(&g.generator, []string{"integer", "integer", "number"})}
	if s["type"] == "integer" && g.chance(2) {
		s["format"] = pick(&g.generator, []string{"int32", "int64"})
	}
	switch g.IntN(5) {
	case 0:
		s["minimum"] = 1
		if g.chance(2) {
			s["exclusiveMinimum"] = true
		}
		if g.chance(3) {
			s["default"] = 2
		}
	case 1:
		s["minimum"], s["maximum"] = 0, 10
	case 2:
		s["multipleOf"] = 2
	case 3:
		s["x-kubernetes-validations"] = []any{map[string]any{"rule": "self >= 0 && self < 100"}}
		if s["type"] == "number" {
			s["x-kubernetes-validations"] = []any{map[string]any{"rule": "self >= 0.0"}}
		}
	}
	return s
}

func (g *schemas) list(depth int) map[string]any {
	s := map[string]any{"type": "array"}
	switch g.IntN(3) {
	case 0:
		s["items"] = g.value(depth - 1)
	case 1:
		s["x-kubernetes-list-type"], s["items"] = "set", map[string]any{"type": "string"}
	default:
		items := g.object(depth)
		items["properties"].(map[string]any)["name"] = map[string]any{
			"type": "string", "maxLength": 20}
		items["required"] = []any{"name"}
		delete(items, "oneOf")
		delete(items, "anyOf")
		s["x-kubernetes-list-type"], s["x-kubernetes-list-map-keys"], s["items"] = "map",
			[]any{"name"}, items
	}
	if g.chance(3) {
		s["maxItems"] = 3
	}
	if g.chance(5) {
		s["minItems"] = 1
	}
	return s
}

// objects makes objects by their schemas. Some values are wrong.
type objects struct {
	generator
	budget int // how many more values are made
}

// fields returns an object of a schema with properties.
func (g *objects) fields(s map[string]any, depth int) map[string]any {
	out := map[string]any{}
	properties := asFields(s["properties"])
	names := slices.Sorted(maps.Keys(properties))
	if depth == 0 {
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name)
		})
	}
	required, _ := s["required"].([]any)
	share := max(1, len(names)/3)
	for _, name := range names {
		isRequired := slices.Contains(required, any(name)) && !g.chance(25)
		if isRequired || g.budget > 0 && (depth == 0 || g.chance(share)) {
			out[name] = g.value(asFields(properties[name]), depth+1)
		}
	}
	if depth > 0 && g.chance(150) {
		out["unknown"] = "a"
	}
	return out
}

func (g *objects) value(s map[string]any, depth int) any {
	g.budget--
	if g.chance(80) || s["nullable"] == true && g.chance(8) {
		return nil
	}
	if g.chance(150) {
		return pick(&g.generator,
			[]any{"text", 1, 1.5, true, []any{}, map[string]any{}, []any{"a", "a"},
				map[string]any{"a": nil}, "1", "true"})
	}
	if enum, ok := s["enum"].([]any); ok && !g.chance(12) {
		return pick(&g.generator, enum)
	}
	switch s["type"] {
	case "string":
		return g.text(s)
	case "integer":
		return pick(&g.generator,
			[]any{0, 1, 2, 4, 2, 4, -1, 11, 100, 3000000000, json.Number("2.0")})
	case "number":
		return pick(&g.generator, []any{0, 2, 4, 1.5, -0.5, 1e3})
	case "boolean":
		return g.chance(2)
	case "array":
		return g.items(s, depth)
	case "object":
		of := asFields(s["additionalProperties"])
		if of == nil {
			return g.fields(s, depth)
		}
		out := map[string]any{}
		for range g.IntN(3) {
			out[pick(&g.generator, []string{"a", "b", "c", "d"})] = g.value(of, depth+1)
		}
		return out
	}
	// an integer or a string, or anything
	return pick(&g.generator, []any{1, "2", "50%", "a", 0, "10"})
}

func (g *objects) items(s map[string]any, depth int) any {
	list := []any{}
	of := asFields(s["items"])
	for i := range g.IntN(3) + g.IntN(2) {
		item := g.value(of, depth+1)
		if fields, ok := item.(map[string]any); ok && asFields(of["properties"])["name"] != nil &&
			!g.chance(20) {
			fields["name"] = []string{"x", "y", "z"}[i]
		}
		if s["x-kubernetes-list-type"] == "set" && !g.chance(10) {
			item = []string{"p", "q", "r"}[i]
		}
		list = append(list, item)
	}
	return list
}

// text returns a string that mostly has the pattern and the format of a schema.
func (g *objects) text(s map[string]any) string {
	all := []string{"a", "b", "on", "abcdef", "s3://x", "12", "", "Bad_Name", "a b", "ab-c"}
	if pattern, ok := s["pattern"].(string); ok && !g.chance(8) {
		if re, err := regexp.Compile(pattern); err == nil {
			if matching := slices.DeleteFunc(slices.Clone(all), func(text string) bool {
				return !re.MatchString(text)
			}); len(matching) > 0 {
				return pick(&g.generator, matching)
			}
		}
	}
	if s["format"] != nil {
		all = map[string][]string{
			"date-time": {"2026-01-01T00:00:00Z", "2026-01-01"}, "byte": {"YQ==", "a!"},
			"ipv4": {"10.0.0.1", "10.0.0.256"}, "cidr": {"10.0.0.0/8", "10.0.0.0"},
			"duration": {"1h", "1 parsec"},
			"uuid":     {"6f2a1e50-3f0b-4c7c-9d1e-5b8f0a4f7a11", "6f2a"},
			"uri":      {"http://a.example.com", "a b"},
			"email":    {"a@example.com", "a"}, "hostname": {"a.example.com", "a_b"},
		}[s["format"].(string)]
		if g.chance(3) {
			return pick(&g.generator, all)
		}
		return all[0]
	}
	if s["maxLength"] != nil || s["minLength"] != nil {
		return pick(&g.generator, all)
	}
	return pick(&g.generator, all[:4])
}
