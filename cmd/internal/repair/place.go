package repair

import (
	"bytes"
	"errors"
	"sort"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
)

// fieldRef is a field of an object in a file.
type fieldRef struct {
	*editedObject
	path fieldpath.Path
	// isOwn tells that the path is the finding's: the field is not in a file of patches.
	isOwn bool
}

// editedObject is an object of a file, with the changes to it.
type editedObject struct {
	*manifest.Document
	at fieldpath.Position // identifies the object
	// bases are the paths of its patches, and starts the positions of all but the first. Both are nil before the first use.
	bases  []fieldpath.Path
	starts []fieldpath.Position
	// items are the positions of a field in a list's items, by the path of both and the field's text.
	items map[string]map[string][]fieldpath.Position
	// isShared tells that its file may hold one value at two paths.
	isShared bool
}

// errNoPlace is the error of a finding whose field the text does not have in one place.
var errNoPlace = errors.New("the field has no single place in the file")

// fieldRef returns the field of a position. The path leads to the field in the finding's object. The object may hold it in several
// forms: a patch in its own file has another root than the TrainJob.
func (r *pass) fieldRef(p fieldpath.Position, path fieldpath.Path) (fieldRef, error) {
	object := r.objectAt(p)
	if object == nil {
		return fieldRef{}, errNoPlace
	}
	document := object.Document
	found := fieldRef{editedObject: object}
	if document.IsAt(path, p) {
		found.path, found.isOwn = path, true
		return found, nil
	}
	for _, inPatch := range pathsInPatch(path) {
		for _, base := range object.basesAt(p) {
			if candidate := base.Append(inPatch...); document.IsAt(candidate, p) {
				found.path = candidate
				return found, nil
			}
		}
	}
	return fieldRef{}, errNoPlace
}

// basesAt returns the paths of the patches that may hold a position. They are the object as one patch, and the last patch that starts
// before. An alias shares values with other patches.
func (o *editedObject) basesAt(p fieldpath.Position) []fieldpath.Path {
	if o.bases == nil {
		o.bases = patchesIn(o.Document)
		for _, base := range o.bases[1:] {
			o.starts = append(o.starts, o.TextPosition(base))
		}
	}
	if o.isShared {
		return o.bases
	}
	n := sort.Search(len(o.starts), func(i int) bool {
		return o.starts[i].Line > p.Line || o.starts[i].Line == p.Line && o.starts[i].Column > p.Column
	})
	return []fieldpath.Path{nil, o.bases[n]}
}

// objectAt returns the object that holds a position, or nil.
func (r *pass) objectAt(p fieldpath.Position) *editedObject {
	data, ok := r.in.Data(p.File)
	if !ok || p.Line == 0 {
		return nil
	}
	texts := r.texts[p.File]
	if texts == nil {
		texts = manifest.NewTexts(p.File, data)
		r.texts[p.File] = texts
	}
	document := texts.At(p)
	if document == nil {
		return nil
	}
	at := document.TextPosition(nil)
	if r.objects[at] == nil {
		r.objects[at] = &editedObject{Document: document, at: at, items: map[string]map[string][]fieldpath.Position{}, isShared: bytes.ContainsRune(data, '*')}
	}
	return r.objects[at]
}

// nearestField returns the place of the nearest field around a path that has the position. The cluster reports fields of an item that no
// file sets.
func (r *pass) nearestField(p fieldpath.Position, path fieldpath.Path) (fieldRef, error) {
	for n := len(path); n > 0; n-- {
		if at, err := r.fieldRef(p, path[:n]); err == nil {
			return at, nil
		}
	}
	return fieldRef{}, errNoPlace
}

// patchesIn returns the paths of the patches in a document: of a TrainJob, or of a patch alone.
func patchesIn(d *manifest.Document) []fieldpath.Path {
	bases := []fieldpath.Path{nil}
	list := fieldpath.Fields("spec", "runtimePatches")
	for i := 0; d.Has(list.Append(fieldpath.Index(i))); i++ {
		bases = append(bases, list.Append(fieldpath.Index(i)))
	}
	return bases
}

// pathsInPatch returns the paths in a patch that a finding's path may stand for. The path is one of a TrainJob's patch, or of the
// JobSet.
func pathsInPatch(path fieldpath.Path) []fieldpath.Path {
	const patch = 3 // the steps to an entry of spec.runtimePatches
	if len(path) >= patch && path.HasPrefix(fieldpath.Fields("spec", "runtimePatches")) {
		return []fieldpath.Path{path[patch:]}
	}
	return []fieldpath.Path{fieldpath.Fields("trainingRuntimeSpec", "template").Append(path...)}
}

// isOf reports whether a place belongs to the object of a finding, by its kind and name. A patch in a file of its own has no kind.
func (p fieldRef) isOf(f finding.Finding) bool {
	return p.isOwn && (p.ID.Kind == f.Object.Kind && p.ID.Name == f.Object.Name || p.ID.Kind == "" && !isOfTrainJob(f))
}
