package codes

import (
	"fmt"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Key identifies a finding: two findings with one key are duplicates. Claims and remedies follow
// from the rest.
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

// Report collects the findings of all stages on one object, and on the objects that controllers
// make of it: each once, and none that another finding explains. A stage gets the report so far.
// The zero value is an empty report; a nil report stays empty.
type Report struct {
	// Rate sets the severity of a finding to add. Zero omits it. nil keeps the severities.
	Rate func(*finding.Finding)

	list     finding.List
	earlier  int // the findings of an earlier stage, at the beginning of the list
	explains func(finding.Finding) bool
	keys     map[Key]bool
	effects  map[effect]bool
	marked   map[mark]bool // the places of findings that explain others
	lookup   lookup
}

// effect is what one field of the input does to any number of fields and objects.
type effect struct {
	code    finding.Code
	message string
	from    source
}

// NewReport returns a report that goes on from the findings of an earlier stage, which List omits.
// The function explains reports whether one of these findings explains a further one; nil leaves
// that to their codes and places.
func NewReport(known finding.List, explains func(finding.Finding) bool) *Report {
	r := &Report{list: slices.Clip(known), earlier: len(known), explains: explains}
	for _, f := range known {
		r.mark(f)
	}
	return r
}

// Add adds the findings that the report neither has nor explains.
func (r *Report) Add(found ...finding.Finding) {
	for _, f := range found {
		if r == nil {
			return
		}
		if r.Rate != nil {
			if r.Rate(&f); f.Severity == 0 {
				continue
			}
		}
		if !r.Has(KeyOf(f)) && !r.Explains(f) {
			r.mark(f)
			r.list = append(r.list, f)
		}
	}
}

// Follow adds the findings of a stage that sees the same values once more. An error repeats one
// with its code, at its field or above. A warning or a note on a value with an error is a
// consequence of it.
func (r *Report) Follow(found ...finding.Finding) {
	for _, f := range found {
		isKnown := r.HasError(f.Object, f.Path)
		if f.Severity >= finding.Error {
			isKnown = r.HasError(f.Object, f.Path, f.Code)
		}
		if !isKnown {
			r.Add(f)
		}
	}
}

// mark records a finding.
func (r *Report) mark(f finding.Finding) {
	if r.keys == nil {
		r.keys, r.effects, r.marked = map[Key]bool{}, map[effect]bool{}, map[mark]bool{}
	}
	r.keys[KeyOf(f)] = true
	if e, ok := effectOf(f); ok {
		r.effects[e] = true
	}
	for i, row := range explanations {
		if row.by == f.Code {
			row.where.marks(f, func(at mark) { r.marked[at.of(i)] = true })
		}
	}
}

// effectOf returns the effect that a finding describes, if its message says all of it.
func effectOf(f finding.Finding) (effect, bool) {
	if len(f.Claims) == 0 || KeyOf(f).Message == "" {
		return effect{}, false
	}
	return effect{f.Code, f.Message, sourceOf(f.Claims[len(f.Claims)-1])}, true
}

// Has reports whether the report has a finding with the key.
func (r *Report) Has(k Key) bool { return r != nil && r.keys[k] }

// List returns the added findings in the order of Add, without those that a later finding explains.
func (r *Report) List() finding.List {
	if r == nil {
		return nil
	}
	return r.list[r.earlier:].Where(func(f finding.Finding) bool { return !r.isMarked(f) })
}

// Explains reports whether a finding of the report has the same cause as f, and describes it
// better.
func (r *Report) Explains(f finding.Finding) bool {
	if r == nil {
		return false
	}
	e, isEffect := effectOf(f)
	return isEffect && r.effects[e] || r.isMarked(f) || r.explains != nil && r.explains(f)
}

func (r *Report) isMarked(f finding.Finding) bool {
	if len(r.marked) == 0 {
		return false
	}
	for i, row := range explanations {
		if row.code == f.Code && row.where.isMarked(f, func(at mark) bool {
			return r.marked[at.of(i)]
		}) {
			return true
		}
	}
	return false
}

// Distinct returns a list without duplicates.
func Distinct(found finding.List) finding.List {
	seen := map[Key]bool{}
	return found.Where(func(f finding.Finding) bool {
		k := KeyOf(f)
		isFirst := !seen[k]
		seen[k] = true
		return isFirst
	})
}

// JoinBuilds returns a list with one finding for each mistake of a source that several builds
// share. The first one names the other builds. The objects may differ in their names and
// namespaces, which an overlay sets. The objects of one build stay apart.
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
