package origins

import (
	"iter"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// Fields yields each value of an object that has no parts, with its claims. A value that an
// operation removed is one of them.
func (t *Trace) Fields(object int) iter.Seq2[fieldpath.Path, []Claim] {
	return func(yield func(fieldpath.Path, []Claim) bool) { t.Objects[object].fields(nil, yield) }
}

func (n *Node) fields(at fieldpath.Path, yield func(fieldpath.Path, []Claim) bool) bool {
	if n.IsLeaf() && !yield(at, n.Claims) {
		return false
	}
	for _, key := range slices.Sorted(maps.Keys(n.Fields)) {
		if !n.Fields[key].fields(at.Append(blame.FieldStep(key)), yield) {
			return false
		}
	}
	steps := blame.ItemSteps(len(n.Items), func(i int) string {
		name, _ := n.Items[i].Fields["name"].Value().(string)
		return name
	})
	for i, item := range n.Items {
		if !item.fields(at.Append(steps[i]), yield) {
			return false
		}
	}
	return true
}

// Claims returns claims in the form of package merge. Their owners are the operations: the
// directory of the kustomization, and the key unless it only adds objects.
func (t *Trace) Claims(claims []Claim) []merge.Claim {
	all := make([]merge.Claim, len(claims))
	for i, c := range claims {
		op := t.Operations[c.Operation]
		owner := filepath.Join(t.Dir, filepath.FromSlash(op.Dir))
		if op.Name != "resources" && op.Name != "" {
			owner += " " + op.Name
		}
		all[i] = merge.Claim{Owner: merge.Owner(owner), Value: c.Value, Position: c.At}
		all[i].Position.File = filepath.Join(t.Dir, filepath.FromSlash(c.At.File))
		if c.Value == nil && !c.Gone {
			all[i].Value = merge.Presence{}
		}
	}
	return all
}

// Source returns the field whose value a claim copies, or nil.
func (t *Trace) Source(c Claim) *Copied {
	if c.From == nil {
		return nil
	}
	from := *c.From
	if from.At.File != "" {
		from.At.File = filepath.Join(t.Dir, filepath.FromSlash(from.At.File))
	}
	return &from
}

// At returns the claims on the value at a path. Of a path beyond what the object has, they are
// those of the last value that the object has.
func (t *Trace) At(object int, path fieldpath.Path) []Claim {
	n := t.Objects[object]
	for _, step := range path {
		inner := n.child(step)
		if inner.IsGone() {
			break
		}
		n = inner
	}
	if n == nil {
		return nil
	}
	return n.Claims
}

// Replaced returns the claim before the last one, if the last operation sets the value to another
// one on purpose. The order of the two is an accident if both are patches of one kustomization, or
// of two components: then nothing but the order in a list makes the last one win. Names that follow
// other objects, and prefixes, replace nothing.
func (t *Trace) Replaced(claims []Claim) (before Claim, accident, ok bool) {
	n := len(claims)
	if n < 2 || reflect.DeepEqual(claims[n-1].Value, claims[n-2].Value) || claims[n-2].Gone {
		return Claim{}, false, false
	}
	last, old := t.Operations[claims[n-1].Operation], t.Operations[claims[n-2].Operation]
	key, _, _ := strings.Cut(last.Name, "[")
	if !slices.Contains(setting, key) ||
		claims[n-1].At == last.At && (isPatch(last) || strings.HasSuffix(key, "Generator")) {
		return Claim{}, false, false // what the operation says is elsewhere
	}
	switch {
	case last.Dir == old.Dir:
		accident = isPatch(last) && isPatch(old)
		return claims[n-2], accident, accident
	case last.Component && old.Component:
		return claims[n-2], true, true
	}
	return claims[n-2], false, true
}

// setting are the keys of a kustomization that set values.
var setting = []string{"patches", "patchesStrategicMerge", "patchesJson6902", "replicas", "images",
	"labels", "commonLabels", "commonAnnotations", "namespace", "configMapGenerator",
	"secretGenerator"}

func isPatch(op Operation) bool { return strings.HasPrefix(op.Name, "patches") }
