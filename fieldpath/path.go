// Package fieldpath makes, prints and reads the paths of fields in objects.
//
//	env := fieldpath.Fields("spec", "containers").Append(fieldpath.Item("name", "node"), fieldpath.Field("env"))
//	fmt.Println(env) // .spec.containers[name="node"].env
//
// Paths are printed as Kubernetes prints them in conflicts, and [ParsePath] reads what is printed.
// A path with [Any] is a pattern: it matches the fields of each item. The package schema knows
// which paths a type has.
//
// Its first file to read is path.go.
package fieldpath

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

// Path names one field of an object, in the syntax that Kubernetes prints in conflicts:
//
//	.spec.replicatedJobs[name="node"].template.metadata.labels["app"]
//
// A step is one of these:
//
//	.spec                       a field
//	[name="node"]               an item of a list that merges by one key
//	[port=80,protocol="TCP"]    an item of a list that merges by several keys
//	["app"]                     a key of a map
//	[="x"]                      an element of a set
//	[2]                         a position in a list without a merge key
//	[*]                         any item, key or element
//
// A person may leave out the first dot and the quotes. In a path that a type resolves, [node] is
// the item of that name, and a field of a list is the field of each item. The zero Path is the
// object itself.
type Path []Step

// Step is one step of a Path. Make one with Field, Item, ItemBy, Key, Element, ElementOf, Index or
// Any.
type Step struct {
	kind  stepKind
	typed bool   // whether value, or the name of an element, is JSON and not a plain string
	name  string // field, map key, element, or the name of the merge key, "" for several
	value string // the merge key's value, or several with their names as a JSON object
	index int
}

type stepKind uint8

const (
	fieldStep stepKind = iota
	itemStep
	keyStep
	elementStep
	indexStep
	anyStep
)

// Field returns the step to a field of an object: .name. A name that cannot follow a dot is written
// as a key, and equals one.
func Field(name string) Step {
	if name == "" || strings.ContainsAny(name, ".[") {
		return Key(name)
	}
	return Step{kind: fieldStep, name: name}
}

// Item returns the step to the item of a list-map whose merge key has the given value:
// [key="value"].
func Item(key, value string) Step {
	if key == "" {
		return ItemBy(ItemKey{key, value})
	}
	return Step{kind: itemStep, name: key, value: value}
}

// ItemKey is one merge key of an item: its name, and a string, int64, float64, bool or nil.
type ItemKey struct {
	Name  string
	Value any
}

// ItemBy returns the step to the item of a list-map with these merge keys:
// [port=80,protocol="TCP"]. For a single string it equals Item.
func ItemBy(keys ...ItemKey) Step {
	isOther := func(key ItemKey) bool { return key.Name != keys[0].Name }
	if len(keys) > 0 && keys[0].Name != "" && !slices.ContainsFunc(keys, isOther) {
		key := keys[len(keys)-1]
		if text, ok := key.Value.(string); ok {
			return Item(key.Name, text)
		}
		return Step{kind: itemStep, typed: true, name: key.Name, value: encoded(key.Value)}
	}
	byName := make(map[string]any, len(keys))
	for _, key := range keys {
		byName[key.Name] = json.RawMessage(encoded(key.Value))
	}
	return Step{kind: itemStep, typed: true, value: encoded(byName)}
}

// ElementOf returns the step to an element of a set of any scalars: [=80]. For a string it equals
// Element.
func ElementOf(value any) Step {
	if text, ok := value.(string); ok {
		return Element(text)
	}
	return Step{kind: elementStep, typed: true, name: encoded(value)}
}

// encoded returns a value as JSON.
func encoded(value any) string {
	if value == any(0.0) {
		return "0" // also for the negative zero
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return "null" // a value without JSON selects nothing
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// fromJSON returns the value of JSON, with int64 and float64 for numbers. It returns invalid JSON
// unchanged.
func fromJSON(text string) any {
	var value any
	if kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &value) != nil {
		return text
	}
	return value
}

// Key returns the step to an entry of a map such as labels: ["key"].
func Key(key string) Step { return Step{kind: keyStep, name: key} }

// Element returns the step to an element of a set of strings such as finalizers: [="value"].
func Element(value string) Step { return Step{kind: elementStep, name: value} }

// Index returns the step to a position in a list without a merge key: [2].
func Index(i int) Step { return Step{kind: indexStep, index: i} }

// Any returns the step of a pattern that stands for any item, key or element: [*].
func Any() Step { return Step{kind: anyStep} }

// Field returns the name of the step's field and reports whether the step leads to a field.
func (s Step) Field() (string, bool) { return s.name, s.kind == fieldStep }

// Item returns the merge key and its value as a string. It reports whether the step selects a list
// item by one key.
func (s Step) Item() (key, value string, ok bool) {
	return s.name, s.value, s.kind == itemStep && s.name != ""
}

// Keys returns the merge keys by which the step selects a list item, sorted by name. For another
// step it returns nil.
func (s Step) Keys() []ItemKey {
	switch {
	case s.kind != itemStep:
		return nil
	case !s.typed:
		return []ItemKey{{s.name, s.value}}
	case s.name != "":
		return []ItemKey{{s.name, fromJSON(s.value)}}
	}
	byName, _ := fromJSON(s.value).(map[string]any)
	keys := make([]ItemKey, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		keys = append(keys, ItemKey{name, byName[name]})
	}
	return keys
}

// Key returns the map key and reports whether the step leads to an entry of a map. For a field and
// for an element of a set, it returns the field's name or the element.
func (s Step) Key() (string, bool) { return s.name, s.kind == keyStep }

// Name returns the name of a field or the key of an entry.
func (s Step) Name() (string, bool) {
	if s.kind != fieldStep && s.kind != keyStep {
		return "", false
	}
	return s.name, true
}

// Element returns the element and reports whether the step leads to an element of a set.
func (s Step) Element() (string, bool) { return s.name, s.kind == elementStep }

// ElementValue returns any scalar element as Element does: a string, an int64, a float64 or a bool.
func (s Step) ElementValue() (any, bool) {
	if s.kind == elementStep && s.typed {
		return fromJSON(s.name), true
	}
	return s.name, s.kind == elementStep
}

// Index returns the position and reports whether the step leads to a position in a list.
func (s Step) Index() (int, bool) { return s.index, s.kind == indexStep }

// String returns the step as it appears in a Path.
func (s Step) String() string {
	switch s.kind {
	case itemStep:
		var b strings.Builder
		for i, key := range s.Keys() {
			name := key.Name
			if name == "" || strings.ContainsAny(name, `=",]`) {
				name = strconv.Quote(name)
			}
			b.WriteString([]string{"[", ","}[min(i, 1)] + name + "=")
			if text, ok := key.Value.(string); ok {
				b.WriteString(strconv.Quote(text))
			} else {
				b.WriteString(encoded(key.Value))
			}
		}
		return b.String() + "]"
	case keyStep:
		return "[" + strconv.Quote(s.name) + "]"
	case elementStep:
		if s.typed {
			return "[=" + s.name + "]"
		}
		return "[=" + strconv.Quote(s.name) + "]"
	case indexStep:
		return "[" + strconv.Itoa(s.index) + "]"
	case anyStep:
		return "[*]"
	default:
		return "." + s.name
	}
}

// Fields returns the path through the named fields: Fields("spec", "suspend") is .spec.suspend.
func Fields(names ...string) Path {
	p := make(Path, len(names))
	for i, name := range names {
		p[i] = Field(name)
	}
	return p
}

// Append returns the path with the steps added. It never changes p, and the result shares no memory
// with it.
func (p Path) Append(steps ...Step) Path {
	if len(steps) == 0 {
		return slices.Clone(p)
	}
	longer := make(Path, len(p)+len(steps))
	copy(longer[copy(longer, p):], steps)
	return longer
}

// HasPrefix reports whether q leads to the field of p or to one that contains it. A number equals
// the string with the same characters, because a shell removes quotes.
func (p Path) HasPrefix(q Path) bool {
	return len(q) <= len(p) && slices.EqualFunc(p[:len(q)], q, Step.reads)
}

// reads reports whether two steps are written alike, except for quotes.
func (s Step) reads(t Step) bool {
	s.typed, t.typed = false, false
	return s == t
}

// Matches reports whether a pattern names the field or one that contains it. Any in a pattern
// matches each step.
func (p Path) Matches(pattern Path) bool {
	if len(pattern) > len(p) {
		return false
	}
	for i, step := range pattern {
		if step != p[i] && step != Any() {
			return false
		}
	}
	return true
}

// String returns the path in the syntax of ParsePath. The empty path is "".
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		b.WriteString(s.String())
	}
	return b.String()
}

// MarshalText encodes the path as String does, for reports in JSON.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText decodes the path as ParsePath does.
func (p *Path) UnmarshalText(text []byte) error {
	if p == nil {
		return errors.New("there is no path to read into")
	}
	q, err := ParsePath(string(text))
	*p = q
	return err
}
