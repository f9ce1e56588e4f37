package diff

import (
	"context"
	"maps"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// This file finds the switches that cause the differences between two releases.

// addJobs adds a TrainJob to both versions, with the causes of what differs.
func (u *upgrade) addJobs(ctx context.Context, before, after upgradeResult, migrated *trainer.TrainJob) {
	switch {
	case before.Rejected != nil:
		before.RejectedBy = u.rejectedBy(ctx, before, migrated, true)
	case after.Rejected != nil:
		if !slices.ContainsFunc(after.Rejected, func(f finding.Finding) bool { return f.Code != codes.UnknownField }) {
			after.Existing = append(after.Existing, "a client without strict validation silently drops these fields")
		}
		undecodable := u.undecodable(after)
		after.Existing = append(after.Existing, undecodable...)
		after.RejectedBy = u.rejectedBy(ctx, after, migrated, false)
		if after.Objects != nil {
			u.attribute(before, after, migrated)
			if undecodable == nil {
				after.Existing = append(after.Existing, u.existing(ctx, before, after)...)
			}
		}
	default:
		u.attribute(before, after, migrated)
		after.Existing = append(after.Existing, u.existing(ctx, before, after)...)
	}
	u.old().Jobs = append(u.old().Jobs, before.Job)
	u.new().Jobs = append(u.new().Jobs, after.Job)
}

// cause names the switch of a step, or its part that changes a field of an object. It includes the release that turned the switch.
func (s *step) cause(kind string, runtime fieldpath.Object, path fieldpath.Path) merge.Claim {
	id, steps := s.of.ID, append([]string{strings.TrimPrefix(kind, "Cluster")}, namesInPath(path)...)
	if id == stockSwitch {
		steps = append([]string{runtime.Name}, steps...)
	}
	if part, found := s.of.Part(s.change.In, steps...); found {
		id = part.ID
	}
	return merge.Claim{Owner: causeOf(id, s.change.In), Value: merge.Presence{}}
}

// movedCause returns the cause of a moved field. A field may move because the release lacks another one. Then it is the cause of the rejected
// field with the same name, or else of the first one.
func (s *step) movedCause(after upgradeResult, claim merge.Claim, path fieldpath.Path) merge.Claim {
	if claim.Owner != causeOf(s.of.ID, s.change.In) || s.of.Parts == nil {
		return claim
	}
	moved := namesInPath(path)
	for i, by := range slices.Backward(after.RejectedBy) {
		if !s.has(by.Owner) {
			continue
		}
		lacking := namesInPath(after.Rejected[i].Path)
		if len(lacking) > 0 && slices.Contains(moved, lacking[len(lacking)-1]) {
			return by
		}
		claim = by
	}
	return claim
}

// has reports whether a part of the step's switch has the name.
func (s *step) has(name merge.Owner) bool {
	return slices.ContainsFunc(s.of.Parts, func(p release.Part) bool { return p.In == s.change.In && causeOf(p.ID, p.In) == name })
}

// stockSwitch is the switch of the runtimes that a release installs.
const stockSwitch = "stock"

func causeOf(id, in string) merge.Owner { return merge.Owner(id + " " + in) }

// namesInPath returns the names in a path.
func namesInPath(path fieldpath.Path) []string {
	var names []string
	for _, step := range path {
		if name, ok := step.Field(); ok {
			names = append(names, name)
		} else if name, ok := step.Key(); ok {
			names = append(names, name)
		} else if _, value, ok := step.Item(); ok {
			names = append(names, value)
		}
	}
	return names
}

// rejectedBy returns for each error of a rejection a switch whose change brings it, or ends it. One step has the error, and an earlier or
// later one does not. It halves the way between them until they are neighbors.
func (u *upgrade) rejectedBy(ctx context.Context, t upgradeResult, migrated *trainer.TrainJob, ends bool) []merge.Claim {
	rejectedAt := map[int]finding.List{}
	has := func(step int, f finding.Finding) bool {
		if _, known := rejectedAt[step]; !known {
			rejectedAt[step] = u.evaluate(ctx, u.steps[step], t.ID, migrated).Rejected
		}
		return slices.ContainsFunc(rejectedAt[step], func(other finding.Finding) bool {
			return other.Code == f.Code && other.Object == f.Object && other.Path.String() == f.Path.String()
		})
	}
	claims := make([]merge.Claim, len(t.Rejected))
	for i, f := range t.Rejected {
		low, high := 0, len(u.steps)-1
		for high-low > 1 {
			if middle := (low + high) / 2; has(middle, f) != ends {
				high = middle
			} else {
				low = middle
			}
		}
		claims[i] = u.steps[high].cause(f.Object.Kind, t.Runtime, f.Path)
	}
	return claims
}

// attribute sets the causes of the differing fields. The cause of a field is the last switch whose change moved it.
func (u *upgrade) attribute(before, after upgradeResult, migrated *trainer.TrainJob) {
	if same(before.Objects, after.Objects) {
		return
	}
	causes := map[comparison.Key]map[string]causedField{}
	last := before
	for _, s := range u.steps[1:] {
		now := after
		if s != u.new() {
			if now = u.render(s, before.ID, migrated); now.Objects == nil {
				continue // the next switch that lets it render shows what changed
			}
		}
		for key, paths := range differingFields(last.Objects, now.Objects) {
			if causes[key] == nil {
				causes[key] = map[string]causedField{}
			}
			for name, path := range paths {
				causes[key][name] = causedField{path, s.movedCause(after, s.cause(key.Kind, before.Runtime, path), path)}
			}
		}
		last = now
	}
	for _, objects := range [][]comparison.Object{before.Objects, after.Objects} {
		for i := range objects {
			objects[i].Causes = ownersFromCauses(causes[objects[i].Key])
		}
	}
}

// causedField is a changed field with its cause.
type causedField struct {
	path  fieldpath.Path
	claim merge.Claim
}

// ownersFromCauses returns the causes of an object's fields. The root stands for an object that comes or goes.
func ownersFromCauses(fields map[string]causedField) *diff.Owners {
	if whole, ok := fields[""]; ok {
		return diff.OwnedBy(whole.claim)
	}
	names := slices.Sorted(maps.Keys(fields))
	return diff.OwnersOfFields(func(yield func(fieldpath.Path, []merge.Claim) bool) {
		for _, name := range names {
			if !yield(fields[name].path, []merge.Claim{fields[name].claim}) {
				return
			}
		}
	}, nil)
}

// same reports whether nothing differs between the objects.
func same(old, new []comparison.Object) bool { return len(differingFields(old, new)) == 0 }

// differingFields returns the fields that differ, by object and name.
func differingFields(old, new []comparison.Object) map[comparison.Key]map[string]fieldpath.Path {
	out := map[comparison.Key]map[string]fieldpath.Path{}
	of := map[comparison.Key]any{}
	for _, o := range old {
		of[o.Key] = o.Object
	}
	for _, o := range new {
		before, found := of[o.Key]
		delete(of, o.Key)
		if !found {
			out[o.Key] = map[string]fieldpath.Path{"": nil}
			continue
		}
		changes, err := diff.Compare(before, o.Object, diff.Options{})
		if err != nil || len(changes) == 0 {
			continue // Compare of the comparison reports an error
		}
		out[o.Key] = map[string]fieldpath.Path{}
		for _, c := range changes {
			out[o.Key][c.Path.String()] = c.Path
		}
	}
	for key := range of {
		out[key] = map[string]fieldpath.Path{"": nil}
	}
	return out
}

// reasons explains the switches that turn.
func (u *upgrade) reasons() map[merge.Owner]comparison.Reason {
	reasons := map[merge.Owner]comparison.Reason{}
	for _, s := range u.steps[1:] {
		in := s.change.In
		add := func(id, why, link string) {
			reason := comparison.Reason{Text: release.Marked(why, in, id), Link: link}
			if u.old().release.Index() < u.new().release.Index() {
				reason.Before = release.Before(in, id)
			}
			reasons[causeOf(id, in)] = reason
		}
		add(s.of.ID, s.change.Why, s.change.Link)
		for _, part := range s.of.Parts {
			if part.In == in {
				add(part.ID, part.Why, part.Link)
			}
		}
	}
	return reasons
}
