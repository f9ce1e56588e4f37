package fuzz

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

//go:embed fields.yaml
var fieldsText []byte

// knowledge is what the Go types do not say of their fields: see fields.yaml.
type knowledge struct {
	Named                   map[string]any
	Enums                   map[string][]string
	Values                  map[string]values
	Required, Rare, Repeats fieldSet
	Rejected                map[string]string
	Likely                  map[string]float64
	Keys                    map[string][]string
	Unions                  map[string]union
}

// fieldSet has the names of fields by their type.
type fieldSet map[string][]string

func (s fieldSet) has(n *node) bool { return slices.Contains(s[n.owner], n.name) }

// union is a type of which only one member may be set. Default is "" if it may be empty.
type union struct {
	Members []string
	Default string
}

// values are the values of a field: a list, or whole numbers from low to high.
type values struct {
	list      []any
	low, high int64
}

// UnmarshalJSON reads a list, or a range such as 1..3.
func (v *values) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		_, err := fmt.Sscanf(string(text), `"%d..%d"`, &v.low, &v.high)
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(text, &v.list)
}

var known = sync.OnceValue(func() (k knowledge) {
	text, err := yaml.YAMLToJSONStrict(fieldsText)
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		panic(fmt.Errorf("fuzz: fields.yaml: %w", err))
	}
	return k
})

// draw draws one of the values. Of a range, it mostly draws small numbers, and sometimes a bound.
func (g *generator) draw(v values) any {
	switch {
	case v.list != nil:
		return Copy(pickOf(g.rng, v.list...))
	case g.chance(0.05):
		return g.rng.Int64N(2)*(v.high-v.low) + v.low
	}
	return v.low + g.rng.Int64N(min(v.high-v.low, 4)+1)
}

// members returns the fields of which a union may have one.
func (u union) members(n *node) []string {
	if u.Members != nil {
		return u.Members
	}
	var names []string
	for _, f := range n.fields {
		if f.name != "name" {
			names = append(names, f.name)
		}
	}
	return names
}

// Members returns the members of a named string type, or nil for a type that has none.
func Members(t reflect.Type) []string { return known().Enums[typeName(t)] }
