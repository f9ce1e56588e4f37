package finding

import "github.com/trainweld/trainweld/fieldpath"

// superseded says which code another one supersedes, and where.
var superseded = []struct {
	code, by Code
	where    relation
}{
	// An item without its key is missing a required field, and no merge finds it.
	{CodeMissingField, CodeNoMergeKey, atOnePlace},
	{CodeNoMerge, CodeNoMergeKey, atOnePlace},
	// The definition bounds names that have rules of their own.
	{CodeBadValue, CodeBadManager, atOnePlace},
	{CodeBadValue, CodeUnknownJob, atOnePlace},
	{CodeBadValue, CodeUnknownContainer, atOnePlace},
	{CodeBadValue, CodeBadManager, within},
	{CodeMissingField, CodeBadManager, within},
	// A rule of the definition is narrower than what holds for all objects.
	{CodeBadMetadata, CodeBrokenRule, atOneField},
	{CodeManagedByOther, CodeBrokenRule, atOneField},
	// The object that a controller makes shows what its source has.
	{CodeEnvWithoutName, CodeEnv, aroundSource},
	{CodeBadName, CodeDuplicateItem, withinSource},
	// The policy's address is an endpoint that names no Pod.
	{CodeNoSuchPod, CodeMasterAddress, anywhere},
}

// relation says how the places of two findings lie if one supersedes the other.
type relation uint8

const (
	anywhere     relation = iota
	atOneField            // of one object
	atOnePlace            // of one file
	within                // the field of the other, in one object
	aroundSource          // the field is the source of the other, or holds it
	withinSource          // the source is that of the other, or in it
)

// spot is where a finding supersedes others by a row of the table.
type spot struct {
	row      int
	object   fieldpath.Object
	path     string
	position fieldpath.Position
}

func (s spot) of(row int) spot {
	s.row = row
	return s
}

// mark passes on the spots at which f supersedes others.
func (r relation) mark(f Finding, add func(spot)) {
	source, hasSource := lastSource(f)
	switch {
	case r == anywhere:
		add(spot{})
	case r == atOneField || r == within:
		add(spot{object: f.Object, path: f.Path.String()})
	case r == atOnePlace && f.Position != (fieldpath.Position{}):
		add(spot{position: f.Position})
	case r == aroundSource && hasSource:
		for n := range len(source) + 1 {
			add(spot{path: source[:n].String()})
		}
	case r == withinSource && hasSource:
		add(spot{path: source.String()})
	}
}

// isMarked reports whether another finding marked a spot of f.
func (r relation) isMarked(f Finding, has func(spot) bool) bool {
	switch r {
	case anywhere:
		return has(spot{})
	case atOneField:
		return has(spot{object: f.Object, path: f.Path.String()})
	case atOnePlace:
		return has(spot{position: f.Position})
	case aroundSource:
		return has(spot{path: f.Path.String()})
	}
	in, path := f.Object, f.Path
	if r == withinSource {
		source, ok := lastSource(f)
		if !ok {
			return false
		}
		in, path = fieldpath.Object{}, source
	}
	for n := range len(path) + 1 {
		if has(spot{object: in, path: path[:n].String()}) {
			return true
		}
	}
	return false
}

// lastSource returns the source of the last claim of a finding.
func lastSource(f Finding) (fieldpath.Path, bool) {
	if len(f.Claims) == 0 {
		return nil, false
	}
	return f.Claims[len(f.Claims)-1].Source, true
}
