package check

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// side is one of the two values that a check walks along the schema: a patch, or the runtime's
// template. The zero side is absent.
type side struct {
	value reflect.Value
	of    *source
	depth int // of the value, within of's trail
}

// source is what a side is a value of.
type source struct {
	trail
	layer engine.Layer
	patch bool
}

// slot is where a field stands in the side's Go type, nil where a patch may not set it.
func (s *source) slot(f *schema.StructField) *schema.Slot {
	if s.patch {
		return f.Patch
	}
	return &f.Template
}

// trail is the path to what is walked. It is put together when there is something to report only.
type trail struct {
	start fieldpath.Path
	steps []fieldpath.Step
}

// in notes the steps on from a depth, and returns the depth that they lead to. What was deeper before is forgotten.
func (t *trail) in(depth int, steps ...fieldpath.Step) int {
	t.steps = append(t.steps[:depth], steps...)
	return len(t.steps)
}

// within is in for fields.
func (t *trail) within(depth int, names ...string) int {
	t.steps = t.steps[:depth]
	for _, name := range names {
		t.steps = append(t.steps, fieldpath.Field(name))
	}
	return len(t.steps)
}

// path is the path to a depth, and some steps on.
func (t *trail) path(depth int, steps ...fieldpath.Step) fieldpath.Path {
	return slices.Concat(t.start, t.steps[:depth], steps)
}

func (s side) present() bool { return s.value.IsValid() }

// path is the path of the side's value, and some steps on.
func (s side) path(steps ...fieldpath.Step) fieldpath.Path { return s.of.path(s.depth, steps...) }

// has reports whether the side sets a field.
func (s side) has(f *schema.StructField) bool { return countMembers([]*schema.StructField{f}, s) == 1 }

// field is the side's value of a field, absent where the encoding leaves it out or reads null.
func (s side) field(f *schema.StructField) side {
	if !s.present() || !s.of.slot(f).Has(s.value) {
		return side{}
	}
	v, _ := s.of.slot(f).Of(s.value)
	return s.encoded(f, v)
}

// encoded is the side of a field that the encoding holds, absent where it reads null.
func (s side) encoded(f *schema.StructField, v reflect.Value) side {
	if isNull(v) {
		return side{}
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return side{v, s.of, s.of.in(s.depth, fieldpath.Field(f.Name))}
}

func isNull(v reflect.Value) bool {
	k := v.Kind()
	return (k == reflect.Pointer || k == reflect.Slice || k == reflect.Map) && v.IsNil()
}

// items are those of a side's list, which are found by their keys.
type items struct {
	side
	t      *schema.Type
	texts  schema.Texts
	isText bool
	index  map[string]int // nil where looking along the list is as good
}

// itemsOf makes the items of a list ready to be read.
func itemsOf(list side, t *schema.Type) items {
	found := items{side: list, t: t}
	if list.present() {
		found.isText = found.texts.Read(list.of.slot(t.KeyField()), list.value)
	}
	return found
}

// key is the merge key of an item as text.
func (s *items) key(i int) string {
	if s.isText {
		text, _ := s.texts.At(i)
		return text
	}
	v, _ := s.of.slot(s.t.KeyField()).Of(s.value.Index(i))
	if v.Kind() == reflect.String {
		return v.String()
	}
	return fmt.Sprint(v.Interface())
}

// item is the item of the list at a position, which a step leads to.
func (s *items) item(i int, step fieldpath.Step) side {
	return side{s.value.Index(i), s.of, s.of.in(s.depth, step)}
}

// find is the list's first item of the given key, absent where there is none.
func (s *items) find(key string) side {
	const short = 32
	if !s.present() {
		return side{}
	}
	n := s.value.Len()
	if s.index == nil && n > short {
		s.index = make(map[string]int, n)
		for i := n - 1; i >= 0; i-- {
			s.index[s.key(i)] = i
		}
	}
	first, ok := s.index[key]
	switch {
	case s.index != nil:
	case s.isText:
		first = s.texts.Find(n, key)
		ok = first >= 0
	default:
		for i := 0; !ok && i < n; i++ {
			first, ok = i, s.key(i) == key
		}
	}
	if !ok {
		return side{}
	}
	return s.item(first, fieldpath.Item(s.t.Key, key))
}

// walk checks what hangs on the shape of the values alone: unions, merge keys, directives. With
// only a runtime it checks that; with a patch, the patch by itself and against the runtime.
func (c *checker) walk(t *schema.Type, patch, runtime side, parent string) {
	for i := range t.Unions {
		if t.Unions[i].Discriminator == "" {
			c.union(t, i, patch, runtime, parent)
		} else {
			c.discriminated(t, t.Unions[i], patch, runtime)
		}
	}
	if !patch.present() {
		for _, f := range t.Nested() {
			if r := runtime.field(f); r.present() {
				c.inner(f, side{}, r)
			}
		}
		return
	}
	for f, v := range t.Encoded(patch.value) {
		switch f.Type.Kind {
		case schema.Struct, schema.ListMap:
			if p := patch.encoded(f, v); p.present() {
				r := runtime.field(f)
				c.inner(f, p, r)
			}
		case schema.Map:
			c.directives(v, &patch.of.trail, patch.depth, fieldpath.Field(f.Name))
		case schema.Atomic:
			if f.Type.HoldsMaps() {
				c.nestedDirectives(f.Type, v, &patch.of.trail, patch.of.in(patch.depth, fieldpath.Field(f.Name)))
			}
		}
	}
}

// inner walks on into a struct or a list-map.
func (c *checker) inner(f *schema.StructField, patch, runtime side) {
	if f.Type.Kind == schema.Struct {
		c.walk(f.Type, patch, runtime, f.Name)
	} else {
		c.list(f, patch, runtime)
	}
}

// list checks the items of a list-map, each against the runtime's of the same key.
func (c *checker) list(f *schema.StructField, patch, runtime side) {
	t, from := f.Type, patch
	if !from.present() {
		from = runtime
	}
	if t.Key == "containerPort" || t.Key == "topologyKey" {
		return // Kubernetes tells their items apart by more than the merge key
	}
	list, there := itemsOf(from, t), itemsOf(runtime, t)
	seen := firsts{keys: c.names(from.value.Len())}
	defer c.forget(from.value.Len())
	for i := range from.value.Len() {
		key := list.key(i)
		if key == "" && !mayLackKey(f, patch) {
			c.keyless(f, t, from.path(fieldpath.Index(i)))
			continue
		}
		step := fieldpath.Item(t.Key, key)
		if key == "" {
			step = fieldpath.Index(i)
		}
		if first, duplicate := seen.add(key, i); duplicate {
			at := from.path(fieldpath.Index(i))
			code := finding.CodeDuplicateItem
			if f.Name == "volumeMounts" && patch.present() {
				code = finding.CodeOneMountPath // the TrainJob CRD tells a patch's mounts apart by name
			}
			c.report(code, finding.Error, at, "merge the two into one, or give one of them another "+t.Key,
				"two items of %s have the %s %q", f.Name, t.Key, key).Claims = twice(from.of.layer, from.path(fieldpath.Index(first)), at)
			step = fieldpath.Index(i)
		}
		item := list.item(i, step)
		if patch.present() {
			other := there.find(key)
			c.walk(t.Elem, item, other, f.Name)
		} else {
			c.walk(t.Elem, side{}, item, f.Name)
		}
	}
	if f.Name == "volumeMounts" && patch.present() && patch.value.Len() > 1 {
		c.mountNames(patch)
	}
}

// names is memory for the keys of n items, until forget is called with the same n. Lists stand one inside the other.
func (c *checker) names(n int) []string {
	start := len(c.keys)
	c.keys = append(c.keys, make([]string, n)...)
	return c.keys[start:]
}

func (c *checker) forget(n int) { c.keys = c.keys[:len(c.keys)-n] }

// firsts are the keys of a list's items and where each stands first, "" for an item without one. Most lists are short.
type firsts struct {
	keys  []string
	index map[string]int
}

// add notes an item's key, and returns the first item that had it before.
func (s *firsts) add(key string, i int) (first int, duplicate bool) {
	const short = 32
	s.keys[i] = key
	if s.index == nil && i < short {
		first = slices.Index(s.keys[:i+1], key)
		return first, first < i
	}
	if s.index == nil {
		s.index = map[string]int{}
		for i, key := range slices.Backward(s.keys[:i+1]) {
			s.index[key] = i
		}
	}
	if first, duplicate = s.index[key]; !duplicate {
		s.index[key] = i
	}
	return first, duplicate && first < i
}

// mayLackKey reports whether the cluster accepts an item with an empty merge key: the reference to a pull
// secret, and a runtime's replicated job (JobSet v0.12.0 pkg/webhooks validates only names made of it).
func mayLackKey(f *schema.StructField, patch side) bool {
	return f.Name == "imagePullSecrets" || !patch.present() && (f.Name == "replicatedJobs" || f.Name == "dependsOn")
}

func (c *checker) keyless(f *schema.StructField, t *schema.Type, path fieldpath.Path) {
	code := finding.CodeNoMergeKey
	if f.Name == "env" {
		code = finding.CodeEnvWithoutName
	}
	c.report(code, finding.Error, path, fmt.Sprintf("give the item a %s", t.Key), "an item of %s has no %s", f.Name, t.Key)
}

// mountNames refuses two mounts of one volume in one patch: the merge tells mounts apart by path,
// but the TrainJob CRD lists them by name (Trainer v2.3.0 ContainerPatch).
func (c *checker) mountNames(mounts side) {
	seen := map[string]int{}
	for i := range mounts.value.Len() {
		name := mounts.value.Index(i).FieldByName("Name").String()
		if first, duplicate := seen[name]; duplicate {
			at := mounts.path(fieldpath.Index(i))
			c.report(finding.CodeDuplicateItem, finding.Error, at,
				"mount the volume at one path in this patch, and at the other in the runtime or by another volume of the same source",
				"the TrainJob API takes one mount of a volume in a container's patch, and volume %q is mounted twice", name,
			).Claims = twice(mounts.of.layer, mounts.path(fieldpath.Index(first)), at)
		} else {
			seen[name] = i
		}
	}
}

// union reports two members of one union that are both set.
func (c *checker) union(t *schema.Type, union int, patch, runtime side, parent string) {
	setter, fields, u := patch, t.Members(union), t.Unions[union]
	if !patch.present() {
		setter = runtime
	}
	n := countMembers(fields, setter)
	if n == 0 || n == 1 && (!patch.present() || countMembers(fields, runtime) == 0) {
		return // what the patch leaves alone is the runtime's own affair
	}
	added, there := members(fields, setter), []member(nil)
	if patch.present() {
		there = members(fields, runtime)
	}
	there = slices.DeleteFunc(there, func(r member) bool {
		return slices.ContainsFunc(added, func(p member) bool { return p.name == r.name })
	})
	if len(added)+len(there) < 2 {
		return
	}
	at, code := setter.path(), finding.CodeTwoSources
	if parent == "env" && u.Name == "value" {
		code = finding.CodeValueAndValueFrom
	}
	both := "both"
	if len(added)+len(there) > 2 {
		both = "them all"
	}
	what, key := describe(parent, u, at)
	message := fmt.Sprintf("%s has %s", what, memberNames(added, " and "))
	help := "keep the one that is meant: " + memberNames(added, " or ")
	if len(there) > 0 {
		message = fmt.Sprintf("%s has %s in the runtime, and the patch adds %s", what, memberNames(there, " and "), memberNames(added, " and "))
		help = fmt.Sprintf("set %s in the patch, too, since a patch takes nothing away; or use another %s", memberNames(there, " and "), key)
	}
	f := c.report(code, finding.Error, at, help, "%s; the cluster keeps %s and refuses the Pod", message, both)
	for _, m := range slices.Concat(there, added) {
		f.Claims = append(f.Claims, m.claim)
		if len(there) == 0 {
			f.Remedy.Do, f.Remedy.Options = finding.ChooseOne, append(f.Remedy.Options, m.name)
		}
	}
}

// countMembers is the number of a union's fields that a side sets.
func countMembers(fields []*schema.StructField, s side) (n int) {
	if !s.present() {
		return 0
	}
	for _, f := range fields {
		if slot := s.of.slot(f); slot.Has(s.value) {
			if v, _ := slot.Of(s.value); !isNull(v) {
				n++
			}
		}
	}
	return n
}

// member is a union's field that a side sets.
type member struct {
	name  string
	claim engine.Claim
}

// members are those of a union's fields that a side sets.
func members(fields []*schema.StructField, s side) []member {
	var set []member
	for _, f := range fields {
		if m := s.field(f); m.present() {
			set = append(set, member{f.Name, engine.Claim{Layer: s.of.layer, Value: m.value.Interface(), Source: m.path()}})
		}
	}
	return set
}

func memberNames(set []member, separator string) string {
	names := make([]string, len(set))
	for i, m := range set {
		names[i] = m.name
	}
	return strings.Join(names, separator)
}

// describe names the item at path that may have one member of the union, and what tells it apart.
func describe(parent string, u schema.Union, path fieldpath.Path) (what, key string) {
	what, ok := map[string]string{"volumes": "volume", "env": "variable", "valueFrom": "variable", "volumeMounts": "mount"}[parent]
	if !ok {
		return "the " + u.Name, "name"
	}
	for _, step := range slices.Backward(path) {
		if key, value, ok := step.Item(); ok {
			return fmt.Sprintf("%s %q", what, value), key
		}
		if _, ok := step.Index(); ok {
			break // an item without a key, or whose key another one has
		}
	}
	return "the " + what, "name"
}

// discriminated reports a member that does not belong to the discriminator's value.
func (c *checker) discriminated(t *schema.Type, u schema.Union, patch, runtime side) {
	setter := func(f *schema.StructField) side {
		if patch.has(f) {
			return patch
		}
		return runtime
	}
	chooser := t.Field(u.Discriminator)
	by := setter(chooser)
	chosen := by.field(chooser)
	if !chosen.present() || chosen.value.String() == u.When {
		return
	}
	at := patch
	if !patch.present() {
		at = runtime
	}
	for _, name := range u.Members {
		holder := setter(t.Field(name))
		if !holder.has(t.Field(name)) || patch.present() && by.of != patch.of && holder.of != patch.of {
			continue
		}
		f := c.report(finding.CodeTwoSources, finding.Error, at.path(),
			fmt.Sprintf("set %s to %q, or drop %s", u.Discriminator, u.When, name),
			"%s is only allowed where %s is %q, and it is %q; the cluster refuses the Pod", name, u.Discriminator, u.When, chosen.value.String())
		f.Claims = append(claims(chooser, by), claims(t.Field(name), holder)...)
		if holder.of.layer == merge.RuntimeLayer && by.of.layer != merge.RuntimeLayer {
			slices.Reverse(f.Claims) // what the patch writes comes after it
		}
	}
}

// claims is what a side claims of a field.
func claims(f *schema.StructField, s side) []engine.Claim {
	v := s.field(f)
	return []engine.Claim{{Layer: s.of.layer, Value: v.value.Interface(), Source: v.path()}}
}

// directives refuses keys that a strategic merge patch takes for its own orders. Upstream obeys
// them, and so loses the runtime's labels to a label called "$patch".
func (c *checker) directives(m reflect.Value, at *trail, depth int, steps ...fieldpath.Step) {
	var keys []string
	if plain, ok := m.Interface().(map[string]string); ok {
		for key := range plain {
			if isDirective(key) {
				keys = append(keys, key)
			}
		}
	} else {
		for entries := m.MapRange(); entries.Next(); {
			if key := entries.Key().String(); isDirective(key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		c.report(finding.CodeDirective, finding.Error, at.path(depth, append(steps, fieldpath.Key(key))...), "drop the key; a patch can add and change entries of a map, and never remove any",
			"%q is a directive of strategic merge patches; the cluster obeys it here, and loses what the runtime set", key)
	}
}

func isDirective(key string) bool {
	return strings.HasPrefix(key, "$") &&
		(key == "$patch" || key == "$retainKeys" || strings.HasPrefix(key, "$setElementOrder") || strings.HasPrefix(key, "$deleteFromPrimitiveList"))
}

// nestedDirectives looks for directives in the maps within a value.
func (c *checker) nestedDirectives(t *schema.Type, v reflect.Value, at *trail, depth int) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch {
	case t == nil || t.Kind == schema.Scalar:
	case v.Kind() == reflect.Map:
		c.directives(v, at, depth)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			c.nestedDirectives(t.Elem, v.Index(i), at, at.in(depth, fieldpath.Index(i)))
		}
	case v.Kind() == reflect.Struct:
		for _, f := range t.Fields {
			if inner, encoded := f.Template.Of(v); encoded {
				c.nestedDirectives(f.Type, inner, at, at.in(depth, fieldpath.Field(f.Name)))
			}
		}
	}
}
