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
	slot  func(*schema.StructField) *schema.Slot
	value reflect.Value
	at    *trail
	layer engine.Layer
}

// trail is a path that is only put together when there is something to report.
type trail struct {
	outer *trail
	step  fieldpath.Step
	start fieldpath.Path // of the outermost
	spare *[]trail       // memory for more, in pieces
}

func (t *trail) path() fieldpath.Path {
	if t == nil {
		return nil
	}
	if t.outer == nil {
		return t.start
	}
	return t.outer.path().Append(t.step)
}

func (t *trail) in(step fieldpath.Step) *trail {
	if len(*t.spare) == 0 {
		*t.spare = make([]trail, 32)
	}
	inner := &(*t.spare)[0]
	*t.spare = (*t.spare)[1:]
	inner.outer, inner.step, inner.spare = t, step, t.spare
	return inner
}

func patchSlot(f *schema.StructField) *schema.Slot    { return f.Patch }
func templateSlot(f *schema.StructField) *schema.Slot { return &f.Template }

func (s side) present() bool { return s.value.IsValid() }

func (s side) path() fieldpath.Path { return s.at.path() }

// field is the side's value of a field, absent where the encoding leaves it out or reads null.
func (s side) field(f *schema.StructField) side {
	if !s.present() || s.slot(f) == nil {
		return side{}
	}
	v, encoded := s.slot(f).Of(s.value)
	if !encoded {
		return side{}
	}
	return s.encoded(f, v)
}

// encoded is the side of a field that the encoding holds, absent where it reads null.
func (s side) encoded(f *schema.StructField, v reflect.Value) side {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return side{}
		}
		v = v.Elem()
	case reflect.Slice, reflect.Map:
		if v.IsNil() {
			return side{}
		}
	}
	return side{s.slot, v, s.at.in(fieldpath.Field(f.Name)), s.layer}
}

// items finds the items of a side's list by their keys.
type items struct {
	side
	t     *schema.Type
	index map[string]int // nil where looking along the list is as good
}

// itemsOf makes the items of a list ready to be found.
func (s side) itemsOf(t *schema.Type) items {
	const short = 32
	found := items{side: s, t: t}
	if s.present() && s.value.Len() > short {
		found.index = make(map[string]int, s.value.Len())
		for i := s.value.Len() - 1; i >= 0; i-- {
			found.index[s.key(t, i)] = i
		}
	}
	return found
}

// find is the list's first item of the given key, absent where there is none.
func (s *items) find(key string) side {
	if !s.present() {
		return side{}
	}
	at, ok := s.index[key]
	for i := 0; s.index == nil && !ok && i < s.value.Len(); i++ {
		at, ok = i, s.key(s.t, i) == key
	}
	if !ok {
		return side{}
	}
	return side{s.slot, s.value.Index(at), s.at.in(fieldpath.Item(s.t.Key, key)), s.layer}
}

func (s side) key(t *schema.Type, i int) string {
	v, _ := s.slot(t.KeyField()).Of(s.value.Index(i))
	if v.Kind() == reflect.String {
		return v.String()
	}
	return fmt.Sprint(v.Interface())
}

// walk checks what hangs on the shape of the values alone: unions, merge keys, directives. With
// only a runtime it checks that; with a patch, the patch by itself and against the runtime.
func (c *checker) walk(t *schema.Type, patch, runtime side, parent string) {
	for _, u := range t.Unions {
		if u.Discriminator == "" {
			c.union(t, u, patch, runtime, parent)
		} else {
			c.discriminated(t, u, patch, runtime)
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
				c.inner(f, p, runtime.field(f))
			}
		case schema.Map:
			c.directives(v, patch.at, fieldpath.Field(f.Name))
		case schema.Atomic:
			if p := patch.encoded(f, v); f.Type.HoldsMaps() && p.present() {
				c.nestedDirectives(f.Type, p.value, p.at)
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
	there := runtime.itemsOf(t)
	seen := firsts{keys: c.names(from.value.Len())}
	defer c.forget(from.value.Len())
	for i := range from.value.Len() {
		key := from.key(t, i)
		if key == "" && !mayLackKey(f, patch) {
			c.keyless(f, t, from.path().Append(fieldpath.Index(i)))
			continue
		}
		item := side{from.slot, from.value.Index(i), from.at.in(fieldpath.Item(t.Key, key)), from.layer}
		if key == "" {
			item.at = from.at.in(fieldpath.Index(i))
		}
		if first, duplicate := seen.add(key, i); duplicate {
			at := from.path().Append(fieldpath.Index(i))
			code := finding.CodeDuplicateItem
			if f.Name == "volumeMounts" && patch.present() {
				code = finding.CodeOneMountPath // the TrainJob CRD tells a patch's mounts apart by name
			}
			c.report(code, finding.Error, at, "merge the two into one, or give one of them another "+t.Key,
				"two items of %s have the %s %q", f.Name, t.Key, key).Claims = twice(from.layer, from.path().Append(fieldpath.Index(first)), at)
			item.at = from.at.in(fieldpath.Index(i))
		}
		if patch.present() {
			c.walk(t.Elem, item, there.find(key), f.Name)
		} else {
			c.walk(t.Elem, side{}, item, f.Name)
		}
	}
	if f.Name == "volumeMounts" && patch.present() {
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
			at := mounts.path().Append(fieldpath.Index(i))
			c.report(finding.CodeDuplicateItem, finding.Error, at,
				"mount the volume at one path in this patch, and at the other in the runtime or by another volume of the same source",
				"the TrainJob API takes one mount of a volume in a container's patch, and volume %q is mounted twice", name,
			).Claims = twice(mounts.layer, mounts.path().Append(fieldpath.Index(first)), at)
		} else {
			seen[name] = i
		}
	}
}

// union reports two members of one union that are both set.
func (c *checker) union(t *schema.Type, u schema.Union, patch, runtime side, parent string) {
	setter := patch
	if !patch.present() {
		setter = runtime
	}
	n := countMembers(t, u, setter)
	if n == 0 || n == 1 && (!patch.present() || countMembers(t, u, runtime) == 0) {
		return // what the patch leaves alone is the runtime's own affair
	}
	added, there := members(t, u, setter), []side(nil)
	if patch.present() {
		there = members(t, u, runtime)
	}
	there = slices.DeleteFunc(there, func(r side) bool {
		return slices.ContainsFunc(added, func(p side) bool { return fieldName(p) == fieldName(r) })
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
	message := fmt.Sprintf("%s has %s", what, fieldNames(added, " and "))
	help := "keep the one that is meant: " + fieldNames(added, " or ")
	if len(there) > 0 {
		message = fmt.Sprintf("%s has %s in the runtime, and the patch adds %s", what, fieldNames(there, " and "), fieldNames(added, " and "))
		help = fmt.Sprintf("set %s in the patch, too, since a patch takes nothing away; or use another %s", fieldNames(there, " and "), key)
	}
	f := c.report(code, finding.Error, at, help, "%s; the cluster keeps %s and refuses the Pod", message, both)
	for _, s := range slices.Concat(there, added) {
		f.Claims = append(f.Claims, engine.Claim{Layer: s.layer, Value: s.value.Interface(), Source: s.path()})
	}
}

// countMembers is the number of members that a side sets.
func countMembers(t *schema.Type, u schema.Union, s side) (n int) {
	for _, name := range u.Members {
		if f := t.Field(name); s.present() && f != nil && s.slot(f) != nil {
			if v, encoded := s.slot(f).Of(s.value); encoded && !isNull(v) {
				n++
			}
		}
	}
	return n
}

func isNull(v reflect.Value) bool {
	k := v.Kind()
	return (k == reflect.Pointer || k == reflect.Slice || k == reflect.Map) && v.IsNil()
}

// members are the members of a union that a side sets.
func members(t *schema.Type, u schema.Union, s side) []side {
	var set []side
	if !s.present() {
		return nil
	}
	for _, f := range t.Fields {
		if s.slot(f) == nil {
			continue
		}
		if v, encoded := s.slot(f).Of(s.value); encoded && u.Has(f.Name) {
			if m := s.encoded(f, v); m.present() {
				set = append(set, m)
			}
		}
	}
	return set
}

// fieldName is the name of the field that a side's value is of.
func fieldName(s side) string {
	name, _ := s.at.step.Field()
	return name
}

func fieldNames(sides []side, separator string) string {
	names := make([]string, len(sides))
	for i, s := range sides {
		names[i] = fieldName(s)
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
	patched := false
	field := func(name string) side {
		s := patch.field(t.Field(name))
		if s.present() {
			patched = true
			return s
		}
		return runtime.field(t.Field(name))
	}
	at := patch.at
	if !patch.present() {
		at = runtime.at
	}
	chosen := field(u.Discriminator)
	if !chosen.present() || chosen.value.String() == u.When {
		return
	}
	for _, name := range u.Members {
		member := field(name)
		if !member.present() || patch.present() && !patched {
			continue
		}
		f := c.report(finding.CodeTwoSources, finding.Error, at.path(),
			fmt.Sprintf("set %s to %q, or drop %s", u.Discriminator, u.When, name),
			"%s is only allowed where %s is %q, and it is %q; the cluster refuses the Pod", name, u.Discriminator, u.When, chosen.value.String())
		f.Claims = []engine.Claim{
			{Layer: chosen.layer, Value: chosen.value.Interface(), Source: chosen.path()},
			{Layer: member.layer, Value: member.value.Interface(), Source: member.path()},
		}
		if member.layer == merge.RuntimeLayer && chosen.layer != merge.RuntimeLayer {
			slices.Reverse(f.Claims) // what the patch writes comes after it
		}
	}
}

// directives refuses keys that a strategic merge patch takes for its own orders. Upstream obeys
// them, and so loses the runtime's labels to a label called "$patch".
func (c *checker) directives(m reflect.Value, at *trail, steps ...fieldpath.Step) {
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
		c.report(finding.CodeDirective, finding.Error, at.path().Append(steps...).Append(fieldpath.Key(key)), "drop the key; a patch can add and change entries of a map, and never remove any",
			"%q is a directive of strategic merge patches; the cluster obeys it here, and loses what the runtime set", key)
	}
}

func isDirective(key string) bool {
	return strings.HasPrefix(key, "$") &&
		(key == "$patch" || key == "$retainKeys" || strings.HasPrefix(key, "$setElementOrder") || strings.HasPrefix(key, "$deleteFromPrimitiveList"))
}

// nestedDirectives looks for directives in the maps within a value.
func (c *checker) nestedDirectives(t *schema.Type, v reflect.Value, at *trail) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch {
	case t == nil || t.Kind == schema.Scalar:
	case v.Kind() == reflect.Map:
		c.directives(v, at)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			c.nestedDirectives(t.Elem, v.Index(i), at.in(fieldpath.Index(i)))
		}
	case v.Kind() == reflect.Struct:
		for _, f := range t.Fields {
			if inner, encoded := f.Template.Of(v); encoded {
				c.nestedDirectives(f.Type, inner, at.in(fieldpath.Field(f.Name)))
			}
		}
	}
}
