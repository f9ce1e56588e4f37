package repair

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// pass repairs the files of one judgment.
type pass struct {
	*fixer
	in      *workspace.Input
	texts   map[string]*manifest.Texts
	objects map[fieldpath.Position]*editedObject
	marks   map[string]changeBlocker
	users   map[string][]fieldpath.Object
	fixes   []*fix
	jobs    *workspace.Input // the TrainJobs, decoded for a rewriting; nil until one is needed
}

func newPass(s *fixer, in *workspace.Input) *pass {
	return &pass{
		fixer: s, in: in, texts: map[string]*manifest.Texts{}, objects: map[fieldpath.Position]*editedObject{},
		marks: map[string]changeBlocker{}, users: map[string][]fieldpath.Object{},
	}
}

// usersOf returns the TrainJobs that a file of patches changes.
func (r *pass) usersOf(file string) []fieldpath.Object {
	users, known := r.users[file]
	if !known {
		users = r.in.PatchedBy(file)
		r.users[file] = users
	}
	return users
}

// plan returns the new content of the files that change.
func (r *pass) plan() map[string][]byte {
	r.dropUnshared()
	r.dropOpposed()
	edits := r.combine()
	changed := map[string][]byte{}
	for file, all := range edits {
		data, _ := r.in.Data(file)
		changed[file] = manifest.ApplyEdits(data, all)
	}
	for _, w := range r.fixes {
		r.tried[idOf(w.finding)]++
		delete(r.rejected, idOf(w.finding))
		r.repaired = append(r.repaired, w)
	}
	return changed
}

// dropUnshared rejects each change of a shared patch that some of its TrainJobs do not need. It would change their results.
func (r *pass) dropUnshared() {
	wanted := map[string]map[fieldpath.Object]bool{}
	for _, w := range r.fixes {
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
	others := map[string]*fieldpath.Object{} // the first TrainJob that does not need a change, by the change
	r.fixes = slices.DeleteFunc(r.fixes, func(w *fix) bool {
		for _, c := range w.changes {
			if !c.isShared {
				continue
			}
			key := c.key()
			other, known := others[key]
			if !known {
				users := r.usersOf(c.at.File)
				if i := slices.IndexFunc(users, func(o fieldpath.Object) bool { return !wanted[key][o] }); i >= 0 {
					other = &users[i]
				}
				others[key] = other
			}
			if other != nil {
				r.reject(w.finding, codes.SharedPatch, fmt.Sprintf("the patch at %s also changes %s, which does not need the repair", c.at, *other), ownPatch)
				return true
			}
		}
		return false
	})
}

// dropOpposed drops each repair that sets a field to another value than an earlier one does.
func (r *pass) dropOpposed() {
	type field struct {
		at   fieldpath.Position
		path string
	}
	chosen := map[field]string{}
	r.fixes = slices.DeleteFunc(r.fixes, func(w *fix) bool {
		for _, c := range w.changes {
			if key, known := chosen[field{c.at, c.Path.String()}]; known && key != c.key() {
				r.reject(w.finding, codes.NotRepaired, fmt.Sprintf("another repair changes %s at %s to another value", c.Path, c.at), byHand)
				return true
			}
		}
		for _, c := range w.changes {
			chosen[field{c.at, c.Path.String()}] = c.key()
		}
		return false
	})
}

// combine returns the edits of each file for all repairs that can be done together. The others wait for the next pass, or are rejected if
// they cannot be done alone.
func (r *pass) combine() map[string][]manifest.Edit {
	r.dropIncompatible()
	made := map[*editedObject][]manifest.Edit{} // the edits of the objects for the present repairs
	for {
		objects, fixes := r.changedObjects()
		dropped := map[*fix]bool{}
		drop := func(w *fix) {
			dropped[w] = true
			for _, c := range w.changes {
				delete(made, c.editedObject)
			}
		}
		edits, ends := map[string][]manifest.Edit{}, map[string]int{}
		for _, o := range objects {
			if _, known := made[o]; !known {
				kept := r.compatible(o, nil, fixes[o], drop)
				made[o], _ = r.edit(o, kept)
			}
			if slices.ContainsFunc(made[o], func(e manifest.Edit) bool { return len(edits[o.File]) > 0 && e.Start <= ends[o.File] }) {
				for _, w := range fixes[o] {
					drop(w) // it shares a line with a repair of the object before
				}
				continue
			}
			for _, e := range made[o] {
				ends[o.File] = max(ends[o.File], e.End)
			}
			edits[o.File] = append(edits[o.File], made[o]...)
		}
		if len(dropped) == 0 {
			return edits
		}
		r.fixes = slices.DeleteFunc(r.fixes, func(w *fix) bool { return dropped[w] })
	}
}

// dropIncompatible drops the repairs that an object does not take next to the repairs before. It rejects repairs that it does not take alone.
func (r *pass) dropIncompatible() {
	objects, fixes := r.changedObjects()
	dropped := map[*fix]bool{}
	for _, o := range objects {
		lists, seen := make([][]manifest.Change, len(fixes[o])), map[string]bool{}
		for i, w := range fixes[o] {
			for _, c := range w.changes {
				if c.editedObject == o && !seen[c.key()] {
					seen[c.key()] = true
					lists[i] = append(lists[i], c.Change)
				}
			}
		}
		alone, beside := o.Fit(lists)
		for i, w := range fixes[o] {
			err := alone[i]
			if slices.ContainsFunc(lists[i], func(c manifest.Change) bool { return c.Do == manifest.RemoveField }) && err != nil {
				_, err = r.edit(o, []*fix{w}) // the whole item may go, and not only the field
			}
			if err != nil {
				r.reject(w.finding, codes.NotRepaired, err.Error(), byHand)
			}
			if beside[i] != nil {
				dropped[w] = true
			}
		}
	}
	r.fixes = slices.DeleteFunc(r.fixes, func(w *fix) bool { return dropped[w] })
}

// compatible returns the kept repairs of an object, and the repairs of fixes that can be done next to them. It drops the others, and
// rejects repairs that cannot be done alone. Among many repairs that fit, it finds the exceptions by halves.
func (r *pass) compatible(o *editedObject, kept, fixes []*fix, drop func(*fix)) []*fix {
	all := slices.Concat(kept, fixes)
	if _, err := r.edit(o, all); err == nil {
		return all
	}
	if len(fixes) == 1 {
		if _, err := r.edit(o, fixes); err != nil {
			r.reject(fixes[0].finding, codes.NotRepaired, err.Error(), byHand)
		}
		drop(fixes[0])
		return kept
	}
	half := len(fixes) / 2
	return r.compatible(o, r.compatible(o, kept, fixes[:half], drop), fixes[half:], drop)
}

// changedObjects returns the objects that change, in the order of their files and lines, and the repairs of each one.
func (r *pass) changedObjects() ([]*editedObject, map[*editedObject][]*fix) {
	of := map[*editedObject][]*fix{}
	var all []*editedObject
	for _, w := range r.fixes {
		for _, c := range w.changes {
			known := of[c.editedObject]
			if known == nil {
				all = append(all, c.editedObject)
			}
			if len(known) == 0 || known[len(known)-1] != w {
				of[c.editedObject] = append(known, w)
			}
		}
	}
	slices.SortFunc(all, func(a, b *editedObject) int {
		return cmp.Or(cmp.Compare(a.at.File, b.at.File), cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Column, b.at.Column))
	})
	return all, of
}

// edit returns the edits of an object for repairs.
func (r *pass) edit(o *editedObject, fixes []*fix) ([]manifest.Edit, error) {
	return o.Change(r.changesOf(o, fixes))
}

// changesOf returns the changes of an object, each once. It adds the removal of the items that they leave without a field.
func (r *pass) changesOf(o *editedObject, fixes []*fix) []manifest.Change {
	var changes []manifest.Change
	var removed []fieldpath.Path
	seen := map[string]bool{}
	for _, w := range fixes {
		for _, c := range w.changes {
			if c.editedObject != o || seen[c.key()] {
				continue
			}
			seen[c.key()] = true
			isDuplicate := w.finding.Code == codes.DuplicateKey // the first of the two keys stays
			if changes = append(changes, c.Change); c.Do == manifest.RemoveField && !isDuplicate {
				removed = append(removed, c.Path)
			}
		}
	}
	idle := idleItems(o.Document, removed)
	gone := pathsOf(idle)
	changes = slices.DeleteFunc(changes, func(c manifest.Change) bool {
		return c.Do == manifest.RemoveField && gone.hasPrefix(c.Path, len(c.Path))
	})
	for _, item := range idle {
		changes = append(changes, manifest.Change{Path: item, Do: manifest.RemoveField})
	}
	return changes
}

// isList reports whether a value is a list as JSON.
func isList(value any) bool {
	_, ok := jsonValue(value).([]any)
	return ok
}

// jsonValue returns a value as JSON does.
func jsonValue(value any) any {
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
