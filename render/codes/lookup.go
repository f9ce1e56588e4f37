package codes

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// lookup finds the errors of a report by their fields. It reads the list lazily.
type lookup struct {
	read int           // the number of findings of the list that it knows
	at   map[any][]int // positions in the list, by a place or a source
	// within counts the errors of areas. The areas around many errors have them all.
	within map[area]int
}

type (
	// place is a field of an object.
	place struct {
		object fieldpath.Object
		path   string
	}
	// area is a field of an object with all that is in it.
	area place
	// source is a field that a layer sets, from which a controller makes another one.
	source struct {
		layer merge.Owner
		path  string
	}
)

func sourceOf(c merge.Claim) source { return source{c.Owner, c.At.String()} }

// errors returns the positions of the errors with a key.
func (r *Report) errors(key any) []int {
	if r == nil {
		return nil
	}
	r.look()
	return r.lookup.at[key]
}

// look adds the findings that the lookup does not know.
func (r *Report) look() {
	if r.lookup.at == nil {
		r.lookup.at, r.lookup.within = map[any][]int{}, map[area]int{}
	}
	for ; r.lookup.read < len(r.list); r.lookup.read++ {
		r.lookup.add(r.list[r.lookup.read], r.lookup.read)
	}
}

func (l *lookup) add(f finding.Finding, at int) {
	for _, key := range keysOf(f) {
		l.at[key] = append(l.at[key], at)
	}
	l.count(f, 1)
}

func (l *lookup) remove(f finding.Finding, at int) {
	for _, key := range keysOf(f) {
		l.at[key] = slices.DeleteFunc(l.at[key], func(i int) bool { return i == at })
	}
	l.count(f, -1)
}

// count adds a finding to its areas, or removes it from them.
func (l *lookup) count(f finding.Finding, by int) {
	if f.Severity < finding.Error {
		return
	}
	for n := range len(f.Path) + 1 {
		l.within[area{f.Object, f.Path[:n].String()}] += by
	}
}

// keysOf returns the keys of an error.
func keysOf(f finding.Finding) []any {
	if f.Severity < finding.Error {
		return nil
	}
	keys := []any{place{f.Object, f.Path.String()}}
	if isMade := f.Object.Kind == "JobSet" || f.Object.Kind == "PodGroup"; isMade &&
		len(f.Claims) > 0 {
		keys = append(keys, sourceOf(f.Claims[len(f.Claims)-1]))
	}
	return keys
}

// HasError reports whether there is an error at a field of an object, or above it, with one of the
// codes. No code means any.
func (r *Report) HasError(object fieldpath.Object, path fieldpath.Path,
	codes ...finding.Code) bool {
	return r.FirstError(object, path, func(f finding.Finding) bool {
		return len(codes) == 0 || slices.Contains(codes, f.Code)
	}) >= 0
}

// HasErrorWithin reports whether there is an error at a field of an object, or within it.
func (r *Report) HasErrorWithin(object fieldpath.Object, path fieldpath.Path) bool {
	if r == nil {
		return false
	}
	r.look()
	return r.lookup.within[area{object, path.String()}] > 0
}

// FirstError returns the position of the first error at a field of an object or above it that meets
// the condition, or -1.
func (r *Report) FirstError(object fieldpath.Object, path fieldpath.Path,
	meets func(finding.Finding) bool) int {
	first := -1
	for n := range len(path) + 1 {
		if i := r.ErrorAt(object, path[:n], meets); first < 0 || i >= 0 && i < first {
			first = i
		}
	}
	return first
}

// ErrorAt returns the position of the first error at a field that meets the condition, or -1.
func (r *Report) ErrorAt(object fieldpath.Object, path fieldpath.Path,
	meets func(finding.Finding) bool) int {
	first := -1
	for _, i := range r.errors(place{object, path.String()}) {
		if (first < 0 || i < first) && meets(r.list[i]) {
			first = i
		}
	}
	return first
}

// ErrorFrom returns the position of the first error in a JobSet or a PodGroup with the source of a
// claim, or -1.
func (r *Report) ErrorFrom(c merge.Claim) int {
	if known := r.errors(sourceOf(c)); len(known) > 0 {
		return slices.Min(known)
	}
	return -1
}

// Errors calls take for each error of the report so far with its position.
func (r *Report) Errors(take func(at int, f finding.Finding)) {
	for i, f := range r.list[r.earlier:] {
		if f.Severity >= finding.Error {
			take(r.earlier+i, f)
		}
	}
}

// Change changes the finding at a position.
func (r *Report) Change(at int, to func(*finding.Finding)) {
	r.look()
	r.lookup.remove(r.list[at], at)
	to(&r.list[at])
	r.mark(r.list[at])
	r.lookup.add(r.list[at], at)
}
