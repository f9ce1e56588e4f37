package codes

import (
	"fmt"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Key identifies a finding: two findings with one key are duplicates. Claims and remedies follow from the rest.
type Key struct {
	Code     finding.Code
	Severity finding.Severity
	Object   fieldpath.Object
	Path     string
	Position fieldpath.Position
	Message  string // empty if stages, or the TrainJobs of a runtime, word one mistake differently
	Build    string
}

// KeyOf returns the key of a finding.
func KeyOf(f finding.Finding) Key {
	k := Key{f.Code, f.Severity, f.Object, f.Path.String(), f.Position, f.Message, f.Build}
	switch f.Code {
	case WrongType, DuplicateItem, DuplicateManager, NeverResumed, MPINodes, ClaimsDropped:
		k.Message = ""
	}
	return k
}

// Set collects distinct findings. The zero value is an empty set.
type Set struct {
	list   finding.List
	keys   map[Key]bool
	marked map[supersedingField]bool // the places of findings that supersede others
}

// Add adds the findings that the set lacks.
func (s *Set) Add(found ...finding.Finding) {
	if s == nil {
		return
	}
	for _, f := range found {
		k := KeyOf(f)
		if s.keys[k] {
			continue
		}
		if s.keys == nil {
			s.keys, s.marked = map[Key]bool{}, map[supersedingField]bool{}
		}
		s.keys[k] = true
		s.list = append(s.list, f)
		for i, r := range superseded {
			if r.by == f.Code {
				r.where.mark(f, func(at supersedingField) { s.marked[at.of(i)] = true })
			}
		}
	}
}

// Has reports whether the set has a finding with the key.
func (s *Set) Has(k Key) bool { return s != nil && s.keys[k] }

// List returns the findings in the order of Add.
func (s *Set) List() finding.List {
	if s == nil {
		return nil
	}
	return slices.Clip(s.list)
}

// Supersedes reports whether a finding of the set describes the same mistake as f, and does so better. It compares findings on
// one object and on the objects that controllers make of it.
func (s *Set) Supersedes(f finding.Finding) bool {
	if s == nil || len(s.marked) == 0 {
		return false
	}
	for i, r := range superseded {
		if r.code == f.Code && r.where.isMarked(f, func(at supersedingField) bool { return s.marked[at.of(i)] }) {
			return true
		}
	}
	return false
}

// Distinct returns a list without duplicates.
func Distinct(found finding.List) finding.List {
	var s Set
	s.Add(found...)
	return s.List()
}

// JoinBuilds returns a list with one finding for each mistake of a source that several builds share. The first one names the other
// builds. The objects may differ in their names and namespaces, which an overlay sets. The objects of one build stay apart.
func JoinBuilds(found finding.List) finding.List {
	type source struct {
		Key
		claims string
		nth    int // of the objects of a build with the mistake
	}
	first, objects, seen := map[source]int{}, map[source]int{}, map[source]bool{}
	var joined finding.List
	for _, f := range found {
		if f.Build == "" || f.Position == (fieldpath.Position{}) {
			joined = append(joined, f)
			continue
		}
		s := source{Key: KeyOf(f)}
		s.Message = f.Message
		for _, c := range f.Claims {
			s.claims += fmt.Sprintf("%s\x00%v\x00%v\x00", c.Owner, c.Value, c.Position)
		}
		if seen[s] {
			continue
		}
		seen[s] = true
		s.Object = fieldpath.Object{Kind: f.Object.Kind}
		objects[s]++
		s.nth, s.Build = objects[s], ""
		if at, ok := first[s]; ok {
			joined[at].MoreBuilds = append(joined[at].MoreBuilds, f.Build)
			continue
		}
		first[s] = len(joined)
		f.MoreBuilds = slices.Clip(f.MoreBuilds) // the caller's list stays
		joined = append(joined, f)
	}
	return joined
}
