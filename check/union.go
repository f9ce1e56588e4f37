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

// side is one of the two structs that a check walks along the schema: a patch's, or the runtime template's. The zero side is
// absent.
type side struct {
	schema.View
	of    *source
	depth int // the depth of the struct within of's trail
}

// source is the patch or runtime that a side belongs to.
type source struct {
	trail
	layer engine.Layer
}

// trail is the path to the current struct. It is joined only for a finding.
type trail struct {
	start fieldpath.Path
	steps []fieldpath.Step
}

// in appends steps at a depth, and returns the new depth. It drops the deeper steps.
func (t *trail) in(depth int, steps ...fieldpath.Step) int {
	t.steps = append(t.steps[:depth], steps...)
	return len(t.steps)
}

// within appends the steps of fields, as in does.
func (t *trail) within(depth int, names ...string) int {
	t.steps = t.steps[:depth]
	for _, name := range names {
		t.steps = append(t.steps, fieldpath.Field(name))
	}
	return len(t.steps)
}

// path returns the path to a depth, followed by steps.
func (t *trail) path(depth int, steps ...fieldpath.Step) fieldpath.Path {
	return slices.Concat(t.start, t.steps[:depth], steps)
}

// path returns the path of the side's value, followed by steps.
func (s side) path(steps ...fieldpath.Step) fieldpath.Path { return s.of.path(s.depth, steps...) }

// field returns the struct in a field.
func (s side) field(f *schema.StructField) side {
	in := s.Struct(f)
	if !in.IsPresent() {
		return side{}
	}
	return side{in, s.of, s.of.in(s.depth, fieldpath.Field(f.Name))}
}

// claim returns a side's claim on a field that it has.
func (s side) claim(f *schema.StructField) engine.Claim {
	return engine.Claim{Layer: s.of.layer, Value: s.Value(f).Interface(), Source: s.path(fieldpath.Field(f.Name))}
}

// items are the items of a side's list-map.
type items struct {
	schema.List
	of    *source
	depth int
	first map[string]int // the first item of each key; nil for a short list
}

// read sets l to the list in a field of a side.
func (l *items) read(s side, f *schema.StructField) {
	l.List, l.of = s.List(f), s.of
	if l.Len() == 0 {
		return
	}
	l.depth = s.of.in(s.depth, fieldpath.Field(f.Name))
	const short = 32
	if l.Len() <= short {
		return
	}
	l.first = make(map[string]int, l.Len())
	for i := range l.Len() {
		if _, duplicate := l.first[l.Key(i)]; !duplicate {
			l.first[l.Key(i)] = i
		}
	}
}

// path returns the path of the list, followed by steps.
func (l *items) path(steps ...fieldpath.Step) fieldpath.Path { return l.of.path(l.depth, steps...) }

// find returns the position of the first item with a key, or -1.
func (l *items) find(key string) int {
	if l.first == nil {
		return l.Find(key)
	}
	if i, ok := l.first[key]; ok {
		return i
	}
	return -1
}

// item returns the item of the list at a position, with its step; for -1, an absent side.
func (l *items) item(i int, step fieldpath.Step) side {
	if i < 0 {
		return side{}
	}
	return side{l.At(i), l.of, l.of.in(l.depth, step)}
}

// walk runs the checks that need only the shape of the values: unions, merge keys, directives. With only a runtime it checks
// the runtime. With a patch, it checks the patch by itself and against the runtime.
func (c *checker) walk(t *schema.Type, patch, runtime side, parent string) {
	for i := range t.Unions {
		if t.Unions[i].Discriminator == "" {
			c.union(t, i, patch, runtime, parent)
		} else {
			c.discriminated(t, t.Unions[i], patch, runtime)
		}
	}
	if !patch.IsPresent() {
		for _, f := range t.Nested() {
			if runtime.Has(f) {
				c.inner(f, side{}, runtime)
			}
		}
		return
	}
	for _, f := range t.Inside() {
		if !patch.Has(f) {
			continue
		}
		switch f.Type.Kind {
		case schema.Struct, schema.ListMap:
			c.inner(f, patch, runtime)
		case schema.Map:
			c.directives(patch.Value(f), &patch.of.trail, patch.depth, fieldpath.Field(f.Name))
		case schema.Atomic:
			c.nestedDirectives(f.Type, patch.Value(f), &patch.of.trail, patch.of.in(patch.depth, fieldpath.Field(f.Name)))
		}
	}
}

// inner walks into a field that is a struct or a list-map.
func (c *checker) inner(f *schema.StructField, patch, runtime side) {
	if f.Type.Kind == schema.Struct {
		c.walk(f.Type, patch.field(f), runtime.field(f), f.Name)
	} else {
		c.list(f, patch, runtime)
	}
}

// list checks the items of a list-map, each against the runtime's item of the same key.
func (c *checker) list(f *schema.StructField, patch, runtime side) {
	t, ofPatch := f.Type, patch.IsPresent()
	if t.Key == "containerPort" || t.Key == "topologyKey" {
		return // Kubernetes identifies these items by more than the merge key
	}
	var list, there items
	if ofPatch {
		list.read(patch, f)
		there.read(runtime, f)
	} else {
		list.read(runtime, f)
	}
	for i := range list.Len() {
		key := list.Key(i)
		if key == "" && !mayLackKey(f, ofPatch) {
			c.keyless(f, t, list.path(fieldpath.Index(i)))
			continue
		}
		step := fieldpath.Item(t.Key, key)
		if key == "" {
			step = fieldpath.Index(i)
		}
		if first := list.find(key); first < i {
			at := list.path(fieldpath.Index(i))
			code := finding.CodeDuplicateItem
			if f.Name == "volumeMounts" && ofPatch {
				code = finding.CodeOneMountPath // the TrainJob CRD identifies a patch's mounts by name
			}
			c.report(code, finding.Error, at, "merge the two into one, or give one of them another "+t.Key,
				"two items of %s have the %s %q", f.Name, t.Key, key).Claims = twice(list.of.layer, list.path(fieldpath.Index(first)), at)
			step = fieldpath.Index(i)
		}
		if item := list.item(i, step); ofPatch {
			c.walk(t.Elem, item, there.item(there.find(key), fieldpath.Item(t.Key, key)), f.Name)
		} else {
			c.walk(t.Elem, side{}, item, f.Name)
		}
	}
	if f.Name == "volumeMounts" && ofPatch && list.Len() > 1 {
		c.mountNames(t.Elem, &list)
	}
}

// mayLackKey reports whether the cluster accepts an item with an empty merge key. It accepts a reference to a pull secret, and
// a runtime's replicated job. JobSet v0.12.0 pkg/webhooks validates only names made of the job's name.
func mayLackKey(f *schema.StructField, ofPatch bool) bool {
	return f.Name == "imagePullSecrets" || !ofPatch && (f.Name == "replicatedJobs" || f.Name == "dependsOn")
}

func (c *checker) keyless(f *schema.StructField, t *schema.Type, path fieldpath.Path) {
	code := finding.CodeNoMergeKey
	if f.Name == "env" {
		code = finding.CodeEnvWithoutName
	}
	c.report(code, finding.Error, path, fmt.Sprintf("give the item a %s", t.Key), "an item of %s has no %s", f.Name, t.Key)
}

// mountNames reports two mounts of one volume in one patch. The merge identifies mounts by path, but the TrainJob CRD lists
// them by name (Trainer v2.3.0 ContainerPatch).
func (c *checker) mountNames(mount *schema.Type, mounts *items) {
	seen := map[string]int{}
	for i := range mounts.Len() {
		name := mounts.At(i).Value(mount.Field("name")).String()
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
	if !patch.IsPresent() {
		setter = runtime
	}
	n := countMembers(fields, setter)
	if n == 0 || n == 1 && (!patch.IsPresent() || countMembers(fields, runtime) == 0) {
		return // the check of the runtime reports its own members
	}
	added, there := members(fields, setter), []member(nil)
	if patch.IsPresent() {
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

// countMembers returns the number of a union's fields that a side sets.
func countMembers(fields []*schema.StructField, s side) (n int) {
	if !s.IsPresent() {
		return 0
	}
	for _, f := range fields {
		if s.Has(f) {
			n++
		}
	}
	return n
}

// member is a union's field that a side sets.
type member struct {
	name  string
	claim engine.Claim
}

// members returns a union's fields that a side sets.
func members(fields []*schema.StructField, s side) []member {
	var set []member
	for _, f := range fields {
		if s.Has(f) {
			set = append(set, member{f.Name, s.claim(f)})
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

// describe names the item at path that may have one member of the union, and its key.
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
			break // an item without a key, or with a duplicate one
		}
	}
	return "the " + what, "name"
}

// discriminated reports a member that does not belong to the discriminator's value.
func (c *checker) discriminated(t *schema.Type, u schema.Union, patch, runtime side) {
	setter := func(f *schema.StructField) side {
		if patch.Has(f) {
			return patch
		}
		return runtime
	}
	chooser := t.Field(u.Discriminator)
	by := setter(chooser)
	if !by.Has(chooser) {
		return
	}
	chosen := by.Value(chooser).String()
	if chosen == u.When {
		return
	}
	at := patch
	if !patch.IsPresent() {
		at = runtime
	}
	for _, name := range u.Members {
		member := t.Field(name)
		holder := setter(member)
		if !holder.Has(member) || patch.IsPresent() && by.of != patch.of && holder.of != patch.of {
			continue
		}
		f := c.report(finding.CodeTwoSources, finding.Error, at.path(),
			fmt.Sprintf("set %s to %q, or drop %s", u.Discriminator, u.When, name),
			"%s is only allowed where %s is %q, and it is %q; the cluster refuses the Pod", name, u.Discriminator, u.When, chosen)
		f.Claims = []engine.Claim{by.claim(chooser), holder.claim(member)}
		if holder.of.layer == merge.RuntimeLayer && by.of.layer != merge.RuntimeLayer {
			slices.Reverse(f.Claims) // the patch's claim comes last
		}
	}
}

// directives reports keys that a strategic merge patch treats as directives. Upstream obeys them, so a label "$patch" can
// remove the runtime's labels.
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
