package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/schema"
)

// union reports two members of one union that are both set.
func (w *walker) union(t *structShape, union int, patch, runtime operand, parent string) {
	setter, u := patch, t.Unions[union]
	if patch.object == nil {
		setter = runtime
	}
	names := t.names[union]
	n := countMembers(names, setter)
	if n == 0 || n == 1 && (patch.object == nil || countMembers(names, runtime) == 0) {
		return // what the patch leaves alone is the runtime's own affair
	}
	fields := t.members[union]
	added, there := w.members(fields, setter), []member(nil)
	if patch.object != nil {
		there = w.members(fields, runtime)
	}
	there = slices.DeleteFunc(there, func(r member) bool {
		return slices.ContainsFunc(added, func(p member) bool { return p.name == r.name })
	})
	if len(added)+len(there) < 2 {
		return
	}
	at, code := w.path(setter), codes.TwoSources
	if parent == "env" && u.Name == "value" {
		code = codes.ValueAndValueFrom
	}
	both := "both"
	if len(added)+len(there) > 2 {
		both = "them all"
	}
	what, key := describe(parent, u, at)
	message := fmt.Sprintf("%s has %s", what, memberNames(added, " and "))
	help := "keep one: " + memberNames(added, " or ")
	if len(there) > 0 {
		message = fmt.Sprintf("%s has %s in the runtime, the patch adds %s", what,
			memberNames(there, " and "), memberNames(added, " and "))
		help = fmt.Sprintf("set %s in the patch instead, or use another %s",
			memberNames(there, " and "), key)
	}
	f := w.report(code, at, help,
		"%s: the merge keeps %s, and the cluster rejects the Pod", message, both)
	for _, m := range slices.Concat(there, added) {
		f.Claims = append(f.Claims, m.claim)
		if len(there) == 0 {
			f.Remedy.Do, f.Remedy.Options = finding.ChooseOne, append(f.Remedy.Options, m.name)
		}
	}
}

// countMembers returns how many fields of a union a side sets.
func countMembers(names map[string]bool, s operand) (n int) {
	for name, value := range s.object {
		if value != nil && names[name] {
			n++
		}
	}
	return n
}

// member is a union's field that a side sets.
type member struct {
	name  string
	claim merge.Claim
}

// members returns a union's fields that a side sets.
func (w *walker) members(fields []*schema.StructField, s operand) []member {
	var set []member
	for _, f := range fields {
		if s.has(f) {
			set = append(set, member{f.Name, w.claim(s, f)})
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
	what, ok := map[string]string{"volumes": "volume", "env": "variable", "valueFrom": "variable",
		"volumeMounts": "mount"}[parent]
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
func (w *walker) discriminated(t *schema.Type, u schema.Union, patch, runtime operand) {
	setter := func(f *schema.StructField) operand {
		if patch.has(f) {
			return patch
		}
		return runtime
	}
	chooser := t.Field(u.Discriminator)
	by := setter(chooser)
	if !by.has(chooser) {
		return
	}
	chosen, _ := by.object[chooser.Name].(string)
	if chosen == u.When {
		return
	}
	at := patch
	if patch.object == nil {
		at = runtime
	}
	for _, name := range u.Members {
		member := t.Field(name)
		holder := setter(member)
		if !holder.has(member) || patch.object != nil && !by.inPatch && !holder.inPatch {
			continue
		}
		f := w.report(codes.TwoSources, w.path(at),
			fmt.Sprintf("set %s to %q, or remove %s", u.Discriminator, u.When, name),
			"%s is only allowed if %s is %q, not %q: the cluster rejects the Pod", name,
			u.Discriminator, u.When, chosen)
		f.Claims = []merge.Claim{w.claim(by, chooser), w.claim(holder, member)}
		if !holder.inPatch && by.inPatch {
			slices.Reverse(f.Claims) // what the patch writes comes after it
		}
	}
}
