package fuzz_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// ownersAreWriters: rule 2. A leaf that differs from the template has a manager as its owner. No
// manager owns a leaf that it did not set. Claims stand in the order of the patches, and the last
// one's value is the merged template's.
func ownersAreWriters(c *fuzz.Case) string {
	result, err := runtimepatch.Apply(c.Template, c.Patches, runtimepatch.Options{})
	if err != nil {
		return fmt.Sprintf("check.Patches passes it, and Apply refuses it: %v", err)
	}
	merged, err := upstream(c.Template, c.Patches)
	if err != nil {
		return fmt.Sprintf("check.Patches passes it, and upstream refuses it: %v", err)
	}
	o := ownership{before: templateLeaves(c.Template), after: templateLeaves(merged),
		claims: map[string][]merge.Claim{}}
	for i := range c.Patches {
		o.writers = append(
			o.writers, writer{merge.Manager(c.Patches[i].Manager), patchLeaves(&c.Patches[i])})
	}
	for path, claims := range result.History.All() {
		if _, again := o.claims[path.String()]; again {
			return fmt.Sprintf("%v is yielded twice", path)
		}
		o.claims[path.String()] = claims
		if len(claims) == 0 {
			return fmt.Sprintf("%v is yielded without a claim", path)
		}
	}
	for _, broken := range []func() string{o.changedIsOwned, o.ownedIsSet, o.setIsOwned,
		o.lastIsInForce, o.runtimeIsFirst} {
		if text := broken(); text != "" {
			return text
		}
	}
	return ""
}

type writer struct {
	layer merge.Owner
	set   leaves
}

type ownership struct {
	before, after leaves
	writers       []writer
	claims        map[string][]merge.Claim
}

func (o *ownership) last(path string) (merge.Claim, bool) {
	claims := o.claims[path]
	if len(claims) == 0 {
		return merge.Claim{}, false
	}
	return claims[len(claims)-1], true
}

// emptied says whether a manager's null has the last word on a field that contains the path.
func (o *ownership) emptied(path fieldpath.Path) bool {
	for n := 1; n <= len(path); n++ {
		if claims := o.claims[path[:n].String()]; slices.ContainsFunc(claims, isNull) {
			return true
		}
	}
	return false
}

func isNull(c merge.Claim) bool { return valueOf(c) == "null" }

// empties says whether a null of the writer is on a field that contains the path.
func (w writer) empties(path fieldpath.Path) bool {
	for n := range path {
		if l, ok := w.set[path[:n].String()]; ok && l.value == "null" {
			return true
		}
	}
	return false
}

// within says whether any leaf stands below the path.
func within(set leaves, path fieldpath.Path) bool {
	for _, l := range set {
		if len(l.path) > len(path) && l.path.HasPrefix(path) {
			return true
		}
	}
	return false
}

func (o *ownership) changedIsOwned() string {
	for _, text := range o.after.sorted() {
		now := o.after[text]
		if was, ok := o.before[text]; ok && was.value == now.value || now.value == perhaps {
			continue
		}
		if now.value == "null" && o.before[text].value == "" && !o.mentioned(now.path) {
			continue // a required list of a new object: the encoding says null, nobody does
		}
		claim, ok := o.last(text)
		if !ok {
			return fmt.Sprintf("%s is new or changed, and has no owner", text)
		}
		if _, isManager := claim.Owner.Manager(); !isManager {
			return fmt.Sprintf("%s is new or changed, and its owner is %s", text, claim.Owner)
		}
	}
	for _, text := range o.before.sorted() {
		was := o.before[text]
		if _, still := o.after[text]; still {
			continue
		}
		filled := was.value == perhaps || was.value == "null" && within(o.after, was.path) ||
			was.value == present && within(o.after, was.path)
		if claim, ok := o.last(text); ok && unsaid(valueOf(claim)) {
			continue
		}
		if !filled && !o.emptied(was.path) {
			return fmt.Sprintf("%s is gone, and no null emptied it", text)
		}
	}
	return ""
}

func (o *ownership) mentioned(path fieldpath.Path) bool {
	for _, w := range o.writers {
		if _, ok := w.set[path.String()]; ok {
			return true
		}
	}
	return false
}

func (o *ownership) ownedIsSet() string {
	for _, text := range slices.Sorted(maps.Keys(o.claims)) {
		position := -1
		for _, claim := range o.claims[text] {
			at := slices.IndexFunc(o.writers, func(w writer) bool { return w.layer == claim.Owner })
			if at < 0 {
				if claim.Owner != runtimepatch.RuntimeLayer {
					return fmt.Sprintf("%s is claimed by %s, which writes nothing", text,
						claim.Owner)
				}
				continue
			}
			if at <= position {
				return fmt.Sprintf("the claims on %s do not stand in the order of the patches: %v",
					text, o.claims[text])
			}
			position = at
			set, ok := o.writers[at].set[text]
			path, err := fieldpath.ParsePath(text)
			if err != nil {
				return err.Error()
			}
			if isNull(claim) && o.writers[at].empties(path) || valueOf(claim) == present &&
				within(o.writers[at].set, path) {
				// it emptied a struct around the field, or filled one that was emptied, or left one
				// empty
				continue
			}
			if !ok {
				return fmt.Sprintf("%s is claimed by %s, whose patch does not set it", text,
					claim.Owner)
			}
			if got := valueOf(claim); got != set.value &&
				!(got == present && set.value == perhaps) {
				return fmt.Sprintf("%s is claimed by %s as %s, and its patch says %s", text,
					claim.Owner, got, set.value)
			}
		}
	}
	return ""
}

func (o *ownership) setIsOwned() string {
	for i, w := range o.writers {
		for _, text := range w.set.sorted() {
			claimed := slices.ContainsFunc(o.claims[text], func(c merge.Claim) bool {
				return c.Owner == w.layer
			})
			if !claimed && w.set[text].value != perhaps && !o.emptiedAfter(w.set[text].path, i) {
				return fmt.Sprintf("%s is set by %s, which has no claim on it", text, w.layer)
			}
		}
	}
	return ""
}

// emptiedAfter says whether a later writer's null emptied a field that contains the path.
func (o *ownership) emptiedAfter(path fieldpath.Path, i int) bool {
	for _, w := range o.writers[i+1:] {
		for _, l := range w.set {
			if l.value == "null" && len(l.path) < len(path) && path.HasPrefix(l.path) {
				return true
			}
		}
	}
	return false
}

func (o *ownership) lastIsInForce() string {
	for _, text := range slices.Sorted(maps.Keys(o.claims)) {
		claim, _ := o.last(text)
		value := valueOf(claim)
		now, ok := o.after[text]
		path, err := fieldpath.ParsePath(text)
		if err != nil {
			return err.Error()
		}
		switch {
		case ok && now.value == value:
		case !ok && (value == "null" || unsaid(value)):
		case value == present && (now.value == perhaps || within(o.after, path)):
		case !ok && len(path) > 0 && o.emptied(path[:len(path)-1]):
		default:
			return fmt.Sprintf("the last claim on %s is %s by %s, and the merged template has %q",
				text, value, claim.Owner, now.value)
		}
	}
	return ""
}

func (o *ownership) runtimeIsFirst() string {
	for _, text := range o.before.sorted() {
		was := o.before[text]
		claims := o.claims[text]
		if was.value == "null" || was.value == perhaps ||
			was.value == present && within(o.after, was.path) && len(claims) == 0 {
			continue
		}
		if len(claims) == 0 {
			if o.emptied(was.path) {
				continue
			}
			return fmt.Sprintf("%s is set by the runtime, which has no claim on it", text)
		}
		if claims[0].Owner != runtimepatch.RuntimeLayer || valueOf(claims[0]) != was.value {
			return fmt.Sprintf("the runtime sets %s to %s, and its first claim is %s by %s", text,
				was.value, valueOf(claims[0]), claims[0].Owner)
		}
	}
	return ""
}

// unsaid reports whether the template may hold the value although its encoding omits it. For
// example, a patch can set a service account's name to "", which the template's field then omits.
func unsaid(value string) bool { return value == `""` }

// valueOf is a claim's value as leaves have it.
func valueOf(c merge.Claim) string {
	if _, ok := c.Value.(merge.Presence); ok {
		return present
	}
	if object, ok := c.Value.(merge.Object); ok && len(object) == 0 {
		return present // what a patch left of an object
	}
	return canonical(c.Value)
}
