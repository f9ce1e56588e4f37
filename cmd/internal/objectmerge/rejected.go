package objectmerge

import (
	"context"
	"fmt"
	"slices"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/schema"
)

// Rejected returns the errors of the API server for the merged object, each at the patch that brings it in. It returns none if the
// base has errors before, and none that other findings explain.
func (m *Object) Rejected(merged *Result, others finding.List) (found finding.List) {
	errs := m.admit(merged.Fields)
	if errs == nil {
		return nil
	}
	base, err := m.base.Fields()
	if err != nil || m.admit(base) != nil {
		return nil
	}
	for _, f := range errs {
		f.Object, f.Path = m.ID, pathIn(merged.Type, merged.Fields, f.Path)
		explained := func(other finding.Finding) bool {
			return other.Severity == finding.Error && other.Code != codes.Overlap && (f.Path.HasPrefix(other.Path) || other.Path.HasPrefix(f.Path))
		}
		isSame := func(other finding.Finding) bool { return codes.KeyOf(other) == codes.KeyOf(f) } // at two items of one key
		if !slices.ContainsFunc(others, explained) && !slices.ContainsFunc(found, isSame) {
			found = append(found, f)
		}
	}
	for i := range found {
		m.blame(&found[i], merged)
	}
	return found
}

// admit returns the errors of the API server for an object of the kind.
func (m *Object) admit(fields merge.Object) finding.List {
	found := admission.AdmitBuiltIn(m.apiVersion, m.kind, fields)
	if m.apiVersion == jobset.SchemeGroupVersion.String() && m.kind == "JobSet" {
		found = admission.AdmitJobSet(context.Background(), m.release, fields, m.ID.Namespace)
		for i := range found {
			if claims := found[i].Claims; len(claims) > 0 { // of a Job or a Pod
				found[i].Path, found[i].Claims = claims[0].Source, nil
			}
		}
	}
	return found.Where(func(f finding.Finding) bool { return f.Severity == finding.Error })
}

// pathIn returns a path of the API server in the form of the type. There, the keys of a list name its items.
func pathIn(t *schema.Type, value any, path fieldpath.Path) fieldpath.Path {
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
			at, ok := step.Index()
			if key, want, isItem := step.Item(); isItem {
				at, ok = lookup{}.index(in, key)[want]
			}
			if !ok || at >= len(in) {
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

// blame sets the claims and the position of an error: the patch without which the object is valid, and the field there.
func (m *Object) blame(f *finding.Finding, merged *Result) {
	patch := &m.patches[m.culprit(*f)-1]
	layer := merge.Manager(patch.manager)
	if patch.json != nil && m.managed {
		layer = merge.Manager(patch.manager + updated)
	}
	if last, ok := lastClaim(merged.Owners, f.Path); ok && (last.Layer != merge.Base || m.base.Has(last.Source)) {
		f.Claims = append(f.Claims, m.placed(last))
	}
	switch claim, ok := nearestClaim(merged, layer, f.Path); {
	case patch.json == nil && patch.document.Has(f.Path):
		f.Position = patch.document.Position(f.Path)
	case ok:
		f.Position = m.Position(layer, claim.Source)
		f.Claims = append(slices.DeleteFunc(f.Claims, func(c merge.Claim) bool { return c.Layer == layer }), m.placed(claim))
	default:
		f.Position = m.Position(layer, nil)
	}
}

func (m *Object) placed(c merge.Claim) merge.Claim {
	c.Position = m.Position(c.Layer, c.Source)
	return c
}

// culprit returns the number of patches with which the object has the error, and without the last of which it does not.
func (m *Object) culprit(f finding.Finding) int {
	isLike := func(other finding.Finding) bool { return other.Code == f.Code && other.Message == f.Message }
	without, with := 0, len(m.patches)
	for with-without > 1 {
		fewer := *m
		n := (without + with) / 2
		fewer.patches = m.patches[:n]
		if merged, _ := fewer.Apply(nil); merged != nil && slices.ContainsFunc(m.admit(merged.Fields), isLike) {
			with = n
		} else {
			without = n
		}
	}
	return with
}

// lastClaim returns the last claim on a field.
func lastClaim(owners *merge.Ownership, path fieldpath.Path) (merge.Claim, bool) {
	text := path.String()
	for at, claims := range owners.All() {
		if at.String() == text && len(claims) > 0 {
			return claims[len(claims)-1], true
		}
	}
	return merge.Claim{}, false
}

// nearestClaim returns the claim of a layer on the field of a path, or on the nearest one around it. Of several, it is one with the value of the path.
func nearestClaim(merged *Result, layer merge.Layer, path fieldpath.Path) (nearest merge.Claim, ok bool) {
	want, best := fmt.Sprint(lookup{}.at(merged.Fields, path)), -1
	for f := range merged.Owners.Patched() {
		for _, claim := range f.Claims() {
			if claim.Layer != layer {
				continue
			}
			at := f.Path()
			shared := 0
			for shared < min(len(at), len(path)) && at[shared] == path[shared] {
				shared++
			}
			score := 2 * shared
			if fmt.Sprint(claim.Value) == want {
				score++
			}
			if score > best {
				nearest, best, ok = claim, score, true
			}
		}
	}
	return nearest, ok
}
