package objectmerge

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/lookup"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/schema"
)

// Rejected returns the errors of the API server for the merged object, each at the patch that
// brings it in. It returns none if the base has errors before, and none that other findings
// explain.
func (m *Object) Rejected(merged *Result, others finding.List) (found finding.List) {
	errs := m.admit(merged.Fields)
	if errs == nil {
		return nil
	}
	ofBase, ok := m.ofBase()
	if !ok {
		return nil
	}
	var values lookup.Lists
	explained, seen := newPaths(others), map[codes.Key]bool{}
	for _, f := range errs {
		if ofBase.Has(codes.KeyOf(f)) {
			continue // a field that is dropped from the base as well
		}
		f.Object, f.Path = m.ID, pathIn(&values, merged.Type, merged.Fields, f.Path)
		// two items may have one key
		if key := codes.KeyOf(f); !explained.near(f.Path) && !seen[key] {
			seen[key] = true
			found = append(found, f)
		}
	}
	if found != nil {
		c := newCulprits(m, merged)
		for i := range found {
			c.blame(&found[i])
		}
	}
	return found
}

// paths are the paths of errors, and those around them.
type paths struct{ at, around map[string]bool }

func newPaths(found finding.List) paths {
	p := paths{map[string]bool{}, map[string]bool{}}
	for _, f := range found {
		if f.Severity == finding.Error && f.Code != codes.Overlap {
			p.at[f.Path.String()] = true
			for n := range f.Path {
				p.around[f.Path[:n].String()] = true
			}
		}
	}
	return p
}

// near reports whether an error is at a path, within it or around it.
func (p paths) near(path fieldpath.Path) bool {
	for n := range len(path) + 1 {
		if p.at[path[:n].String()] {
			return true
		}
	}
	return p.around[path.String()]
}

// admit returns the errors of the API server for an object of the kind.
func (m *Object) admit(fields merge.Object) finding.List {
	found := admission.AdmitBuiltIn(m.release.Or().Kubernetes, m.apiVersion, m.kind, fields)
	if m.isJobSet() {
		found = admission.AdmitJobSet(context.Background(), m.release, fields, m.ID.Namespace)
		for i := range found {
			if claims := found[i].Claims; len(claims) > 0 { // of a Job or a Pod
				found[i].Path, found[i].Claims = claims[0].At, nil
			}
		}
	}
	// A JobSet whose Jobs are never created is accepted.
	isOfServer := func(f finding.Finding) bool {
		return f.Code == codes.DropsField || f.Severity == finding.Error &&
			f.Code != codes.NeverCreated && f.Code != codes.NoSuchPod
	}
	return found.Where(isOfServer)
}

func (m *Object) isJobSet() bool {
	return m.apiVersion == jobset.SchemeGroupVersion.String() && m.kind == "JobSet"
}

// ofBase returns the warnings on the base, and whether it has no errors.
func (m *Object) ofBase() (warnings codes.Report, ok bool) {
	base, err := m.base.Fields()
	found := m.admit(base)
	warnings.Add(found...)
	return warnings, err == nil && found.Err() == nil
}

// pathIn returns a path of the API server in the form of the type. There, the keys of a list name
// its items.
func pathIn(lists *lookup.Lists, t *schema.Type, value any, path fieldpath.Path) fieldpath.Path {
	out := make(fieldpath.Path, 0, len(path))
	for i, step := range path {
		switch in := value.(type) {
		case merge.Object:
			name, _ := step.Name()
			if t != nil {
				step, t = t.Step(name), t.Inner(name)
			}
			value = in[name]
		case []any:
			at, ok := lists.Position(in, step)
			if !ok {
				return append(out, path[i:]...)
			}
			value = in[at]
			if t != nil {
				if named, ok := t.Item(value); ok {
					step = named
				}
				t = t.Elem
			}
		default:
			return append(out, path[i:]...)
		}
		out = append(out, step)
	}
	return out
}

// culprits finds the patches that bring in errors.
type culprits struct {
	*Object
	merged *Result
	values lookup.Lists
	last   map[string]merge.Claim   // on each field
	claims map[claimKey]merge.Claim // the first one of a layer at a path or within it
	errors map[int]map[string]bool  // of the object with so many patches only
}

// claimKey is a layer, a path, and the text of a value, or "" for any value.
type claimKey struct {
	layer       merge.Owner
	path, value string
}

func newCulprits(m *Object, merged *Result) *culprits {
	c := &culprits{Object: m, merged: merged, last: map[string]merge.Claim{},
		claims: map[claimKey]merge.Claim{}, errors: map[int]map[string]bool{}}
	for at, claims := range merged.History.All() {
		if len(claims) > 0 {
			c.last[at.String()] = claims[len(claims)-1]
		}
		for _, claim := range claims {
			for n := range len(at) + 1 {
				for _, value := range []string{"", textOf(claim.Value)} {
					key := claimKey{claim.Owner, at[:n].String(), value}
					if _, known := c.claims[key]; !known {
						c.claims[key] = claim
					}
				}
			}
		}
	}
	return c
}

// textOf returns the text of a scalar, or "".
func textOf(value any) string {
	switch value.(type) {
	case string, bool, int64, float64, int32, int:
		return fmt.Sprintf("=%v", value)
	}
	return ""
}

// blame sets the claims and the position of an error: the patch without which the object is valid,
// and the field there.
func (c *culprits) blame(f *finding.Finding) {
	patch := &c.patches[c.culprit(*f)-1]
	layer := merge.Manager(patch.manager)
	if patch.json != nil && c.managed {
		layer = merge.Manager(patch.manager + updated)
	}
	if last, ok := c.last[f.Path.String()]; ok &&
		(last.Owner != merge.BaseLayer || c.base.Has(last.At)) {
		f.Claims = append(f.Claims, c.placed(last))
	}
	switch claim, ok := c.nearest(layer, f.Path); {
	case patch.json == nil && patch.document.Has(f.Path):
		f.Position = patch.document.Position(f.Path)
	case ok:
		f.Position = c.Position(layer, claim.At)
		f.Claims = append(slices.DeleteFunc(f.Claims, func(c merge.Claim) bool {
			return c.Owner == layer
		}), c.placed(claim))
	default:
		f.Position = c.Position(layer, nil)
	}
}

func (m *Object) placed(c merge.Claim) merge.Claim {
	c.Position = m.Position(c.Owner, c.At)
	return c
}

// culprit returns the number of patches with which the object has the error, and without the last
// of which it does not.
func (c *culprits) culprit(f finding.Finding) int {
	without, with := 0, len(c.patches)
	for with-without > 1 {
		if n := (without + with) / 2; c.errorsWith(n)[string(f.Code)+f.Message] {
			with = n
		} else {
			without = n
		}
	}
	return with
}

// errorsWith returns the errors of the object with the first patches only.
func (c *culprits) errorsWith(n int) map[string]bool {
	if c.errors[n] == nil {
		c.errors[n] = map[string]bool{}
		fewer := *c.Object
		fewer.patches = c.patches[:n]
		if merged, _ := fewer.Apply(nil); merged != nil {
			for _, f := range c.admit(merged.Fields) {
				c.errors[n][string(f.Code)+f.Message] = true
			}
		}
	}
	return c.errors[n]
}

// nearest returns the claim of a layer on the field of a path, or on the nearest one around it. Of
// several, it is one with the value of the path. A claim elsewhere in the object is none.
func (c *culprits) nearest(layer merge.Owner, path fieldpath.Path) (merge.Claim, bool) {
	value := textOf(c.values.At(c.merged.Fields, path))
	for n := len(path); n > 0; n-- {
		for _, value := range []string{value, ""} {
			if claim, ok := c.claims[claimKey{layer, path[:n].String(), value}]; ok {
				return claim, true
			}
		}
	}
	return merge.Claim{}, false
}

// Admit reports what the object's definition refuses of the merged object, and not of the base.
// Each finding names who set the field. It reports nothing that another finding says already.
func (m *Object) Admit(ctx context.Context, merged *Result, others finding.List) finding.List {
	if m.admits == nil {
		return nil
	}
	if _, ok := m.ofBase(); ok && m.isJobSet() {
		return nil // Rejected judges a JobSet as its webhook leaves it
	}
	namespace := cmp.Or(m.ID.Namespace, metav1.NamespaceDefault) // of the request
	found, err := m.admits.Admit(ctx, merged.Fields, namespace)
	if err != nil || len(found) == 0 {
		return nil // a definition that cannot judge is reported where it is checked
	}
	type refusal struct{ path, message string }
	known := map[refusal]bool{}
	if base, err := m.Base(); err == nil {
		before, _ := m.admits.Admit(ctx, base, namespace)
		for _, f := range before {
			known[refusal{f.Path.String(), f.Message}] = true
		}
	}
	var news finding.List
	for _, f := range found {
		f.Object = m.ID
		isSame := func(other finding.Finding) bool { return codes.KeyOf(other) == codes.KeyOf(f) }
		if !known[refusal{f.Path.String(), f.Message}] && !slices.ContainsFunc(others, isSame) {
			news = append(news, f)
		}
	}
	m.attribute(news, merged.History)
	return news
}

// attribute adds to each finding who set its field last, or else the managers that set a field
// within it, as a rule on a struct has. Its position is that of the last of them, or else of the
// closest field around it.
func (m *Object) attribute(found finding.List, owners *merge.History) {
	if len(found) == 0 {
		return
	}
	nearest, within := make([]fieldpath.Path, len(found)), make([][]merge.Claim, len(found))
	for path, claims := range owners.All() {
		for i := range found {
			f := &found[i]
			if len(claims) == 0 {
				continue
			}
			claim := claims[len(claims)-1]
			if _, isManager := claim.Owner.Manager(); isManager && len(path) > len(f.Path) &&
				path.HasPrefix(f.Path) {
				isOwn := func(other merge.Claim) bool { return other.Owner == claim.Owner }
				if !slices.ContainsFunc(within[i], isOwn) {
					within[i] = append(within[i], m.placed(claim))
				}
			}
			if f.Path.HasPrefix(path) && len(path) >= len(nearest[i]) {
				nearest[i], f.Position = path, m.Position(claim.Owner, path)
				if f.Claims = nil; len(path) == len(f.Path) {
					claim.Position = f.Position
					f.Claims = []merge.Claim{claim}
				}
			}
		}
	}
	for i := range found {
		switch f := &found[i]; {
		case len(f.Claims) == 0 && len(within[i]) > 0:
			f.Claims, f.Position = within[i], within[i][len(within[i])-1].Position
		case len(nearest[i]) == 0:
			f.Position = m.base.Position(f.Path)
		}
	}
}
