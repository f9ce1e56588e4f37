package repair

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/workspace"
	"github.com/trainweld/trainweld/manifest"
)

// round repairs the files of one judgment.
type round struct {
	*session
	in      *workspace.Input
	texts   map[string]*manifest.Texts
	objects map[fieldpath.Position]*object
	marks   map[string]mark
	wishes  []*wish
	jobs    *workspace.Input // the TrainJobs, decoded for a rewriting; nil until one is needed
}

func newRound(s *session, in *workspace.Input) *round {
	return &round{
		session: s, in: in, texts: map[string]*manifest.Texts{}, objects: map[fieldpath.Position]*object{},
		marks: map[string]mark{},
	}
}

// plan returns the new content of the files that change.
func (r *round) plan() map[string][]byte {
	r.dropUnshared()
	r.dropOpposed()
	edits := r.fit()
	changed := map[string][]byte{}
	for file, all := range edits {
		data, _ := r.in.Data(file)
		changed[file] = manifest.ApplyEdits(data, all)
	}
	for _, w := range r.wishes {
		r.tried[mistakeOf(w.finding)]++
		delete(r.refused, mistakeOf(w.finding))
		r.repaired = append(r.repaired, w)
	}
	return changed
}

// dropUnshared refuses each change of a shared patch that some of its TrainJobs do not need: it would change their results.
func (r *round) dropUnshared() {
	wanted := map[string]map[fieldpath.Object]bool{}
	for _, w := range r.wishes {
		for _, c := range w.changes {
			if !c.isShared {
				continue
			}
			key := c.key()
			if wanted[key] == nil {
				wanted[key] = map[fieldpath.Object]bool{}
			}
			wanted[key][w.finding.Object] = true
		}
	}
	r.wishes = slices.DeleteFunc(r.wishes, func(w *wish) bool {
		for _, c := range w.changes {
			if !c.isShared {
				continue
			}
			users := r.in.PatchedBy(c.at.File)
			other := slices.IndexFunc(users, func(o fieldpath.Object) bool { return !wanted[c.key()][o] })
			if other >= 0 {
				r.refuse(w.finding, finding.CodeSharedPatch, fmt.Sprintf("the patch at %s also changes %s, which does not need the repair", c.at, users[other]), ownPatch)
				return true
			}
		}
		return false
	})
}

// dropOpposed drops each repair that sets a field to another value than an earlier one does.
func (r *round) dropOpposed() {
	type field struct {
		at   fieldpath.Position
		path string
	}
	chosen := map[field]string{}
	r.wishes = slices.DeleteFunc(r.wishes, func(w *wish) bool {
		for _, c := range w.changes {
			if key, known := chosen[field{c.at, c.Path.String()}]; known && key != c.key() {
				r.refuse(w.finding, finding.CodeNotRepaired, fmt.Sprintf("another repair changes %s at %s in another way", c.Path, c.at), byHand)
				return true
			}
		}
		for _, c := range w.changes {
			chosen[field{c.at, c.Path.String()}] = c.key()
		}
		return false
	})
}

// fit returns the edits of each file for all repairs that can be done together. The others wait for the next round, or are refused if
// they cannot be done alone.
func (r *round) fit() map[string][]manifest.Edit {
	for {
		edits := map[string][]manifest.Edit{}
		dropped := false
		for _, o := range r.changedObjects() {
			made, err := r.edit(o, r.wishes)
			if err == nil && overlap(edits[o.File], made) {
				err = errLater
			}
			if err != nil {
				r.thin(o, err)
				dropped = true
				break
			}
			edits[o.File] = append(edits[o.File], made...)
		}
		if !dropped {
			return edits
		}
	}
}

// errLater is the error of edits that overlap those of another object.
var errLater = errors.New("it shares a line with another repair")

// thin drops repairs of an object until the others can be done together.
func (r *round) thin(o *object, cause error) {
	var kept []*wish
	r.wishes = slices.DeleteFunc(r.wishes, func(w *wish) bool {
		if !w.touches(o) {
			return false
		}
		if !errors.Is(cause, errLater) {
			if _, err := r.edit(o, append(slices.Clip(kept), w)); err == nil {
				kept = append(kept, w)
				return false
			}
			if _, err := r.edit(o, []*wish{w}); err != nil {
				r.refuse(w.finding, finding.CodeNotRepaired, err.Error(), byHand)
			}
		}
		return true
	})
}

func (w *wish) touches(o *object) bool {
	return slices.ContainsFunc(w.changes, func(c change) bool { return c.object == o })
}

// changedObjects returns the objects that change, in the order of their files and lines.
func (r *round) changedObjects() []*object {
	seen := map[*object]bool{}
	var all []*object
	for _, w := range r.wishes {
		for _, c := range w.changes {
			if !seen[c.object] {
				seen[c.object] = true
				all = append(all, c.object)
			}
		}
	}
	slices.SortFunc(all, func(a, b *object) int {
		return cmp.Or(cmp.Compare(a.at.File, b.at.File), cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Column, b.at.Column))
	})
	return all
}

// edit returns the edits of an object for repairs. A rewriting of the whole object goes alone.
func (r *round) edit(o *object, wishes []*wish) ([]manifest.Edit, error) {
	var rewrites [][]manifest.Edit
	for _, w := range wishes {
		for _, c := range w.changes {
			if c.object == o && c.rewrite != nil {
				rewrites = append(rewrites, c.rewrite)
			}
		}
	}
	changes := r.changesOf(o, wishes)
	switch {
	case len(rewrites) == 0:
		return o.Change(changes)
	case len(rewrites) == 1 && len(changes) == 0:
		return rewrites[0], nil
	default:
		return nil, errors.New("the whole object is rewritten")
	}
}

// changesOf returns the changes of an object, each once, and the removal of the items that they leave without a field.
func (r *round) changesOf(o *object, wishes []*wish) []manifest.Change {
	var changes []manifest.Change
	var removed []fieldpath.Path
	seen := map[string]bool{}
	for _, w := range wishes {
		for _, c := range w.changes {
			if c.object != o || c.rewrite != nil || seen[c.key()] {
				continue
			}
			seen[c.key()] = true
			if changes = append(changes, c.Change); c.Do == manifest.RemoveField {
				removed = append(removed, c.Path)
			}
		}
	}
	idle := idleItems(o.Document, removed)
	changes = slices.DeleteFunc(changes, func(c manifest.Change) bool {
		return c.Do == manifest.RemoveField && slices.ContainsFunc(idle, func(item fieldpath.Path) bool { return c.Path.HasPrefix(item) })
	})
	for _, item := range idle {
		changes = append(changes, manifest.Change{Path: item, Do: manifest.RemoveField})
	}
	return changes
}

// overlap reports whether edits touch the text of others.
func overlap(edits, others []manifest.Edit) bool {
	for _, e := range edits {
		for _, other := range others {
			if e.Start <= other.End && other.Start <= e.End {
				return true
			}
		}
	}
	return false
}

// isList reports whether a value is a list as JSON.
func isList(value any) bool {
	_, ok := plain(value).([]any)
	return ok
}

// plain returns a value as JSON does.
func plain(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var result any
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &result) != nil {
		return nil
	}
	return result
}
