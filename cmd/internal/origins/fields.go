package origins

import (
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/nearest"
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

// IsObject reports whether an argument names an object of a build, such as Deployment/web.
func IsObject(arg string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	kind, name, named := strings.Cut(arg, "/")
	return named && kind != "" && name != "" && strings.Trim(kind, letters+"0123456789") == "" &&
		!strings.ContainsAny(name, "/[]\"'")
}

// Asks reports whether an argument names an object of a kind that has or had some names, or without
// names any of the kind. The name of a generated object may lack its hash.
func Asks(arg, kind string, names ...string) bool {
	askedKind, asked, _ := strings.Cut(arg, "/")
	return strings.EqualFold(kind, askedKind) &&
		(names == nil || slices.ContainsFunc(names, func(name string) bool {
			return name == asked || withoutHash(name) == asked
		}))
}

// NotHeld is the error for an argument that names none of the objects of builds, with what may be
// meant.
func NotHeld(arg string, held []string) error {
	near := []string{nearest.To(arg, held)}
	if near[0] == "" {
		near = slices.DeleteFunc(slices.Clone(held), func(name string) bool {
			kind, _, _ := strings.Cut(name, "/")
			return !Asks(arg, kind)
		})
	}
	if near = near[:min(len(near), 3)]; len(near) == 0 {
		return fmt.Errorf("no build holds %s", arg)
	}
	return fmt.Errorf("no build holds %s; did you mean %s?", arg, strings.Join(near, " or "))
}

// withoutHash returns the name of a generated object as its generator has it.
func withoutHash(name string) string {
	const hash = "-0123456789"
	if at := len(name) - len(hash); at > 0 && name[at] == '-' {
		return name[:at]
	}
	return name
}

// Kind returns the kind of an object, or "" for no object.
func (n *Node) Kind() string {
	if n == nil {
		return ""
	}
	kind, _ := n.Fields["kind"].Value().(string)
	return kind
}

// Names returns the names that an object had, the last one last. It returns an empty list for an
// object without a name.
func (n *Node) Names() []string { return n.Had("name") }

// Had is Names for another field of the metadata.
func (n *Node) Had(field string) []string {
	values := []string{}
	if n == nil {
		return values
	}
	if metadata := n.Fields["metadata"]; metadata != nil && metadata.Fields[field] != nil {
		for _, c := range metadata.Fields[field].Claims {
			values = append(values, fmt.Sprint(c.Value))
		}
	}
	return values
}
