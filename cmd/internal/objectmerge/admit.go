package objectmerge

import (
	"cmp"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
)

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
