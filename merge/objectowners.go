package merge

import (
	"maps"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// objectWalk walks an object and its log side by side, in the order of the document. It visits each field that a set of fields
// of structured-merge-diff names.
type objectWalk struct {
	*log
	// visit gets a field's node, and the base's claim on the field. The node is noNode if no patch reached the field.
	visit         func(at node, kind valueKind, value any) bool
	steps         []objectStep // to the field
	names         []setStep    // the known steps in the form of FieldsV1
	visitsMissing bool         // whether to visit fields that the object lacks
}

// objectStep is a step to a field: a struct's field, or the log's key.
type objectStep struct {
	parent *schema.Type
	field  *schema.StructField
	key    string
}

func (s *objectStep) step() fieldpath.Step {
	switch {
	case s.field != nil:
		return fieldpath.Field(s.field.Name)
	case s.parent.Kind == schema.ListMap || s.parent.Kind == schema.Set:
		return itemStepOf(s.parent, s.key)
	default:
		return s.parent.Step(s.key)
	}
}

// path returns the path to the current field.
func (w *objectWalk) path() fieldpath.Path {
	path := make(fieldpath.Path, len(w.steps))
	for i := range w.steps {
		path[i] = w.steps[i].step()
	}
	return path
}

// visitField visits a field and its contents. named has the meaning that it has in a merge.
func (w *objectWalk) visitField(step objectStep, t *schema.Type, v any, at node, named bool) bool {
	w.steps = append(w.steps, step)
	kind := claimedAs(t, v, named)
	if at != noNode && w.nodes[at].first >= 0 || kind != unlistedPresence {
		if !w.visit(at, kind, v) {
			return false
		}
	}
	if to := filledOf(t, v); to != nil {
		if !w.contents(to, v, at) {
			return false
		}
	} else if w.visitsMissing && at != noNode && w.nodes[at].child != noNode && !w.contents(granular(t), nil, at) {
		return false
	}
	w.steps = w.steps[:len(w.steps)-1]
	w.names = w.names[:min(len(w.names), len(w.steps))]
	return true
}

// named returns the steps to the current field in the form of FieldsV1.
func (w *objectWalk) named() []setStep {
	for i := len(w.names); i < len(w.steps); i++ {
		w.names = append(w.names, w.steps[i].set())
	}
	return w.names
}

// missingValue is the value of a field that the object lacks.
type missingValue struct{}

// contents visits the members of an object or a list.
func (w *objectWalk) contents(t *schema.Type, v any, at node) bool {
	find := w.finder(at)
	if t.Kind == schema.ListMap || t.Kind == schema.Set {
		list, _ := v.([]any)
		return w.items(t, list, at, find)
	}
	fields, _ := v.(map[string]any)
	names := slices.AppendSeq(make([]string, 0, len(fields)), maps.Keys(fields))
	if w.visitsMissing { // add the fields that a later layer removed
		names = append(names, w.childNames(at)...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		f, of, err := fieldOf(t, name)
		if err != nil {
			continue // a later layer wrote a field that the definition lacks
		}
		step, child := objectStep{parent: t, field: f, key: name}, noNode
		if f != nil {
			child = w.lookup(at, f, "")
		} else {
			child = find(name)
		}
		value, there := fields[name]
		if !there {
			value = missingValue{}
		}
		if !w.visitField(step, of, value, child, f == nil) {
			return false
		}
	}
	return true
}

// items visits the items of a list-map or of a set. Of items that share their keys, only the presence is claimed.
func (w *objectWalk) items(t *schema.Type, list []any, at node, find func(string) node) bool {
	keys := make([]string, len(list))
	there := make(map[string]int, len(list))
	for i, item := range list {
		keys[i], _ = itemKeyOf(t, item)
		there[keys[i]]++
	}
	for i, key := range keys {
		of, item := t.Elem, list[i]
		if there[key] > 1 || t.Kind == schema.Set {
			of, item = presenceType, []any{}
		}
		if there[key] > 0 && !w.visitField(objectStep{parent: t, key: key}, of, item, find(key), true) {
			return false
		}
		there[key] = 0
	}
	if !w.visitsMissing {
		return true
	}
	for _, key := range w.childNames(at) { // that a later layer removed
		if _, is := there[key]; !is && !w.visitField(objectStep{parent: t, key: key}, t.Elem, missingValue{}, find(key), true) {
			return false
		}
	}
	return true
}

// granular returns how the parts of an emptied field merge.
func granular(t *schema.Type) *schema.Type {
	if t.Object != nil {
		return t.Object
	}
	return t
}

// presenceType is the type of an item of which only the presence counts.
var presenceType = &schema.Type{Kind: schema.Set}

// objectClaims yields the claims on every field.
func (o *Ownership) objectClaims(yield func(fieldpath.Path, []Claim) bool) {
	object, _ := o.value.Interface().(map[string]any)
	w := objectWalk{log: o.log, visitsMissing: true}
	w.visit = func(at node, kind valueKind, value any) bool {
		path := w.path()
		claims := o.log.decided(at, o.log.claimsOf(at, path), path)
		if claims == nil {
			if kind == presenceValue {
				value = Presence{}
			}
			claims = []Claim{o.log.export(baseLayer, value, path)}
		}
		return yield(path, claims)
	}
	w.contents(o.log.root, object, rootNode)
}

// objectFields fills the sets with the fields that each layer owns in an object. A layer's number is the index of its set.
func (o *Ownership) objectFields(sets []fieldSet, ignored func(fieldpath.Path) bool) {
	object, _ := o.value.Interface().(map[string]any)
	w := objectWalk{log: o.log}
	w.visit = func(at node, kind valueKind, _ any) bool {
		if serverKeeps(w.steps) || ignored != nil && ignored(w.path()) {
			return true
		}
		if _, isJudged := w.overrulings[at]; at == noNode || w.nodes[at].first < 0 || isJudged {
			if !w.live {
				sets[baseLayer].insert(w.named())
			}
			return true
		}
		for i := w.nodes[at].first; i >= 0; i = w.claims[i].next {
			if c := &w.claims[i]; i >= w.nodes[at].firstActive && c.kind() != unlistedPresence {
				sets[c.layer()].insert(w.named())
			}
		}
		return true
	}
	w.contents(o.log.root, object, rootNode)
}

// serverKeeps reports whether the API server omits a field from all sets: the identity of an object has no owner.
func serverKeeps(steps []objectStep) bool {
	if len(steps) > 2 {
		return false
	}
	name := steps[0].key
	if len(steps) == 1 {
		return name == "apiVersion" || name == "kind" || name == "metadata"
	}
	if name != "metadata" {
		return false
	}
	switch steps[1].key {
	case "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion":
		return true
	}
	return false
}

// set returns the step in the form of FieldsV1.
func (s *objectStep) set() setStep {
	text, typed := strings.CutPrefix(s.key, typedMark)
	switch {
	case s.field != nil || s.parent.Kind != schema.ListMap && s.parent.Kind != schema.Set:
		return setStep{'f', s.key}
	case s.parent.Kind == schema.Set && typed:
		return setStep{'v', text}
	case s.parent.Kind == schema.Set:
		return setStep{'v', quoted(s.key)}
	case typed:
		return setStep{'k', text}
	default:
		return setStep{'k', "{" + quoted(s.parent.Key) + ":" + quoted(s.key) + "}"}
	}
}
