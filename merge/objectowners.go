package merge

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// objectWalk walks an object and its log side by side, in the order of the document. It visits each
// field that a set of fields of structured-merge-diff names.
type objectWalk struct {
	*log
	// visit gets a field's node, and the base's claim on the field. The node is nil if no patch
	// reached the field.
	visit         func(at *node, kind valueKind, value any) bool
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

func (s *objectStep) step() fieldpath.Step { return partStep(s.parent, s.field, s.key) }

// objectClaims yields the claims on every field.
func (o *History) objectClaims(yield func(fieldpath.Path, []Claim) bool) {
	object := o.tree()
	w := objectWalk{log: o.log, visitsMissing: true}
	w.visit = func(at *node, kind valueKind, value any) bool {
		path := w.path()
		claims := o.log.decided(at, o.log.claimsOf(at, path), path)
		isMissing := value == any(missing{})
		if isMissing && claims == nil {
			return true // its owners' object lacks it
		}
		if !isMissing && !isScalar(value) && isEmpty(value) {
			claims = o.log.emptyClaims(claims, at, value, path)
		}
		if claims == nil && kind == unlistedPresence {
			return true // an empty list of the base
		}
		if claims == nil {
			if kind == presenceValue {
				value = Presence{}
			}
			claims = []Claim{o.log.export(baseLayer, value, path)}
		}
		return yield(path, claims)
	}
	w.contents(o.log.root, object, o.log.top)
}

// emptyClaims appends the claim of the owner that left a field null or empty.
func (l *log) emptyClaims(claims []Claim, at *node, value any, path fieldpath.Path) []Claim {
	if at != nil && at.nulledBy != baseLayer && value == nil &&
		(claims == nil || claims[len(claims)-1].Value != nil) {
		return withLast(claims, l.export(at.nulledBy, nil, path))
	}
	return l.leftEmpty(claims, l.lastRemoval(at), value, path)
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
func (w *objectWalk) visitField(step objectStep, t *schema.Type, v any, at *node, named bool) bool {
	w.steps = append(w.steps, step)
	kind := claimedAs(t, v, named)
	if at != nil && (len(at.claims) > 0 || len(at.children) > 0 && isEmpty(v)) ||
		kind != unlistedPresence {
		if !w.visit(at, kind, v) {
			return false
		}
	}
	if to := filledOf(t, v); to != nil {
		if !w.contents(to, v, at) {
			return false
		}
	} else if w.visitsMissing && len(at.within()) > 0 &&
		!w.contents(granular(t), nil, at) {
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

// contents visits the members of an object or a list.
func (w *objectWalk) contents(t *schema.Type, v any, at *node) bool {
	if t.HasItems() {
		list, _ := v.([]any)
		return w.items(t, list, at)
	}
	fields, _ := v.(map[string]any)
	names := slices.AppendSeq(make([]string, 0, len(fields)), maps.Keys(fields))
	if w.visitsMissing { // add the fields that a later layer removed
		names = append(names, at.childNames()...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		f, of, err := fieldOf(t, name)
		if err != nil {
			continue // a later layer wrote a field that the definition lacks
		}
		step, child := objectStep{parent: t, field: f, key: name}, at.find(f, name)
		if !w.visitField(step, of, valueIn(fields, name), child, f == nil) {
			return false
		}
	}
	return true
}

// items visits the items of a list-map or of a set. Of items that share their keys, only the
// presence is claimed.
func (w *objectWalk) items(t *schema.Type, list []any, at *node) bool {
	keys := make([]string, len(list))
	there := make(map[string]int, len(list))
	for i, item := range list {
		keys[i], _ = itemKeyOf(t, item)
		there[keys[i]]++
	}
	for i, key := range keys {
		of, item := t.Elem, list[i]
		switch {
		case t.Kind == schema.Set:
			of, item = presenceType, []any{}
		case there[key] > 1: // fields that each of them lacks may have owners
			of, item = &schema.Type{Kind: schema.Set, Object: granular(t.Elem)}, map[string]any{}
		}
		if there[key] > 0 && !w.visitField(objectStep{parent: t, key: key}, of, item, at.find(nil, key),
			true) {
			return false
		}
		there[key] = 0
	}
	if !w.visitsMissing {
		return true
	}
	for _, key := range at.childNames() { // that a later layer removed
		if _, is := there[key]; !is && !w.visitField(objectStep{parent: t, key: key}, t.Elem,
			missing{}, at.find(nil, key), true) {
			return false
		}
	}
	return true
}

// objectFields fills the sets with the fields of each owner in an object. An owner's number is
// the index of its set.
func (o *History) objectFields(sets []fieldSet, ignored func(fieldpath.Path) bool) {
	object := o.tree()
	w := objectWalk{log: o.log, visitsMissing: o.log.live} // the owners of an absent field stay
	w.visit = func(at *node, kind valueKind, _ any) bool {
		isUnnamed := kind == unlistedPresence && len(at.made()) == 0
		isOutside := len(o.within) > 0 && o.rest(w.path()) == nil
		if isUnnamed || isOutside || serverKeeps(w.steps) || ignored != nil && ignored(w.path()) {
			return true
		}
		if len(at.made()) == 0 || at.ruling != nil {
			if !w.live {
				sets[baseLayer].insert(w.named()[len(o.within):])
			}
			return true
		}
		for _, c := range at.claims {
			if c.number >= at.active && c.kind != unlistedPresence {
				sets[c.layer].insert(w.named()[len(o.within):])
			}
		}
		return true
	}
	w.contents(o.log.root, object, o.log.top)
}

// serverKeeps reports whether the API server omits a field from all sets: the identity of an object
// has no owner.
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
	case "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
		"managedFields", "resourceVersion":
		return true
	}
	return false
}

// set returns the step in the form of FieldsV1.
func (s *objectStep) set() setStep {
	text, typed := strings.CutPrefix(s.key, typedMark)
	switch {
	case s.field != nil || !s.parent.HasItems():
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

// All yields every field that an owner set, with its claims in the order of writing. The last claim
// is in force. Fields come in the order of the encoded document: sorted by name, list items in list
// order.
//
// A field is a leaf: a scalar, an entry of a map, an atomic list, an element of a set. All also
// yields the presence of an item of a list-map, of an empty struct, and of a list or a map that a
// patch left empty. The merge key of an item is not a leaf. A field that a null emptied has a nil
// as its last claim.
func (o *History) All() iter.Seq2[fieldpath.Path, []Claim] {
	return func(yield func(fieldpath.Path, []Claim) bool) {
		o := o.orEmpty()
		if all := yield; len(o.within) > 0 {
			yield = func(path fieldpath.Path, claims []Claim) bool {
				rest := o.rest(path)
				return rest == nil || all(rest, claims)
			}
		}
		if o.isObject() {
			o.objectClaims(yield)
			return
		}
		w := walk{log: o.log, yield: yield, empties: true}
		w.value(o.log.root, o.tree(), o.log.top, nil)
	}
}

// Changed yields the fields that claims give different values, with these claims, in the order in
// which the owners reached the fields. A null around a field is a claim on the outer field alone.
func (o *History) Changed() iter.Seq2[fieldpath.Path, []Claim] {
	return func(yield func(fieldpath.Path, []Claim) bool) {
		l := o.orEmpty().log
		for _, at := range l.reached {
			last := at.last()
			if !slices.ContainsFunc(at.claims, func(c claim) bool { return !c.equals(last) }) {
				continue
			}
			path := at.path()
			if !yield(path, l.decided(at, l.claimsOf(at, path), path)) {
				return
			}
		}
	}
}

// rest returns a path in the value as one in the part, nil for a field outside.
func (o *History) rest(path fieldpath.Path) fieldpath.Path {
	if n := len(o.within); len(path) > n && path.HasPrefix(o.within) {
		return path[n:]
	}
	return nil
}

// Of returns the claims on one field, as All yields them, or nil.
func (o *History) Of(path fieldpath.Path) []Claim {
	for at, claims := range o.All() {
		if slices.Equal(at, path) {
			return claims
		}
	}
	return nil
}

// FieldsV1 yields the fields of each owner, in the format of metadata.managedFields. Server-side
// applies with force of the base and then of each patch in order would give the owner these fields.
//
// A field belongs to every owner that set it to the value in force. An owner loses a field to an
// owner that sets another value. The owner that names an item also owns the field of its merge key.
// An owner without fields yields {}. FieldsV1 omits the fields for which ignored returns true; a
// nil ignored omits none.
//
// The API server would record the same by the definition's schema if it merges as the struct tags
// do. The differences are listed in docs/differences.md.
func (o *History) FieldsV1(ignored func(fieldpath.Path) bool) iter.Seq2[Owner, []byte] {
	return func(yield func(Owner, []byte) bool) {
		o := o.orEmpty()
		names := o.Owners()
		sets := make([]fieldSet, len(names))
		if o.isObject() {
			o.objectFields(sets, ignored)
		} else {
			o.valueFields(sets, names, ignored)
		}
		for i, name := range names {
			if !yield(name, sets[i].encode()) {
				return
			}
		}
	}
}

// valueFields fills the sets of a value of a Go type. An owner's number is the index of its set.
func (o *History) valueFields(sets []fieldSet, names []Owner, ignored func(fieldpath.Path) bool) {
	w := walk{log: o.log}
	w.yield = func(path fieldpath.Path, claims []Claim) bool {
		path = o.rest(path)
		if path == nil || w.emptiedAround || ignored != nil && ignored(path) {
			return true
		}
		last := claims[len(claims)-1]
		if last.Value == nil && !o.log.isManager(int32(slices.Index(names, last.Owner))) {
			return true // a later layer removed it
		}
		owned := true
		for i := len(claims) - 1; i >= 0 && owned; i-- {
			if layer := slices.Index(names, claims[i].Owner); layer >= 0 &&
				(!w.decided || SameValue(claims[i].Value, last.Value)) {
				sets[layer].insertPath(path)
			}
			owned = i > 0 && (w.decided || SameValue(claims[i-1].Value, claims[i].Value))
		}
		return true
	}
	w.value(o.log.root, o.tree(), o.log.top, nil)
}
