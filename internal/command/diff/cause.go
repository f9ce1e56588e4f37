package diff

import (
	"context"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/comparison"
	"github.com/trainweld/trainweld/render/diff"
)

// This file finds the switches that cause the differences between two releases.

// keep adds a TrainJob to both versions, with the causes of what differs.
func (u *upgrade) keep(ctx context.Context, before, after taken, migrated *trainer.TrainJob) {
	switch {
	case before.Refused != nil:
		before.RefusedBy = u.verdictTurns(ctx, before.ID, migrated, true)
	case after.Refused != nil:
		if !slices.ContainsFunc(after.Refused, func(f finding.Finding) bool { return f.Code != finding.CodeUnknownField }) {
			after.Existing = append(after.Existing, "a client without strict validation loses these fields in silence")
		}
		after.RefusedBy = u.verdictTurns(ctx, before.ID, migrated, false)
	default:
		u.attribute(before, after, migrated)
		after.Existing = append(after.Existing, u.existing(ctx, before, after)...)
	}
	u.old().Jobs = append(u.old().Jobs, before.Job)
	u.new().Jobs = append(u.new().Jobs, after.Job)
}

// cause names the switch of a step, with the release that turned it.
func (s *step) cause() engine.Claim {
	return engine.Claim{Layer: engine.Layer(s.of.ID + " " + s.turn.In), Value: engine.Presence{}}
}

// verdictTurns returns a switch whose turn ends the refusal of a TrainJob, or brings it. One step has the old verdict, and a later
// one the new verdict. It halves the way between them until they are neighbours.
func (u *upgrade) verdictTurns(ctx context.Context, id fieldpath.Object, migrated *trainer.TrainJob, ends bool) []engine.Claim {
	low, high := 0, len(u.steps)-1
	for high-low > 1 {
		middle := (low + high) / 2
		if isTaken := u.take(ctx, u.steps[middle], id, migrated).Refused == nil; isTaken == ends {
			high = middle
		} else {
			low = middle
		}
	}
	return []engine.Claim{u.steps[high].cause()}
}

// attribute sets the causes of the differing fields. The cause of a field is the last switch whose turn moved it.
func (u *upgrade) attribute(before, after taken, migrated *trainer.TrainJob) {
	if same(before.Objects, after.Objects) {
		return
	}
	causes := map[comparison.Key]map[string]moved{}
	last := before
	for _, s := range u.steps[1:] {
		now := after
		if s != u.new() {
			if now = u.render(s, before.ID, migrated); now.Objects == nil {
				continue // the next switch that lets it render shows what changed
			}
		}
		for key, paths := range changed(last.Objects, now.Objects) {
			if causes[key] == nil {
				causes[key] = map[string]moved{}
			}
			for name, path := range paths {
				causes[key][name] = moved{path, s.cause()}
			}
		}
		last = now
	}
	for _, objects := range [][]comparison.Object{before.Objects, after.Objects} {
		for i := range objects {
			objects[i].Causes = ownersOf(causes[objects[i].Key])
		}
	}
}

// moved is a changed field with its cause.
type moved struct {
	path  fieldpath.Path
	claim engine.Claim
}

// ownersOf returns the causes of an object's fields. The root stands for an object that comes or goes.
func ownersOf(fields map[string]moved) *diff.Owners {
	if whole, ok := fields[""]; ok {
		return diff.OwnedBy(whole.claim)
	}
	names := slices.Sorted(maps.Keys(fields))
	return diff.OwnersOfFields(func(yield func(fieldpath.Path, []engine.Claim) bool) {
		for _, name := range names {
			if !yield(fields[name].path, []engine.Claim{fields[name].claim}) {
				return
			}
		}
	}, nil)
}

// same reports whether nothing differs between the objects.
func same(old, new []comparison.Object) bool { return len(changed(old, new)) == 0 }

// changed returns the fields that differ, by object and name.
func changed(old, new []comparison.Object) map[comparison.Key]map[string]fieldpath.Path {
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
func (u *upgrade) reasons() map[engine.Layer]comparison.Reason {
	reasons := map[engine.Layer]comparison.Reason{}
	for _, s := range u.steps[1:] {
		reasons[s.cause().Layer] = comparison.Reason{Text: s.turn.Why, Link: s.turn.Link}
	}
	return reasons
}
