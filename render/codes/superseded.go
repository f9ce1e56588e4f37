package codes

import (
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// superseded lists the codes that another code supersedes, and where.
var superseded = []struct {
	code, by finding.Code
	where    relation
}{
	// An item without its key is missing a required field, and no merge finds it.
	{MissingField, NoMergeKey, atOnePlace},
	{NoMerge, NoMergeKey, atOnePlace},
	// The definition limits names that have their own rules.
	{BadValue, BadManager, atOnePlace},
	{BadValue, UnknownJob, atOnePlace},
	{BadValue, UnknownContainer, atOnePlace},
	{BadValue, BadManager, within},
	{MissingField, BadManager, within},
	// A rule of the definition is narrower than the rule for all objects.
	{BadMetadata, BrokenRule, atOneField},
	{ManagedByOther, BrokenRule, atOneField},
	// The definition rejects the null.
	{ZeroNull, WrongType, atOnePlace},
	// A controller's object repeats the mistake of its source.
	{EnvWithoutName, Env, aroundSource},
	{BadName, DuplicateItem, withinSource},
	// A patch says nothing because its fields are none that a patch may set.
	{IdlePatch, Unpatchable, around},
	{IdlePatch, UnknownField, around},
	// The policy's address is an endpoint without a Pod.
	{NoSuchPod, MasterAddress, anywhere},
}

// relation states how the places of two findings relate if one supersedes the other.
type relation uint8

const (
	anywhere     relation = iota
	atOneField            // the same field in one object
	atOnePlace            // the same place in one file
	within                // the superseded field is in the superseding one, in one object
	around                // the superseded field is the superseding one, or contains it, in one object
	aroundSource          // the superseded field is the other's source, or contains it
	withinSource          // the superseded finding's source is the other's, or within it
)

// supersedingField is a place where a finding supersedes others by a row of the table.
type supersedingField struct {
	row      int
	object   fieldpath.Object
	path     string
	position fieldpath.Position
}

func (s supersedingField) of(row int) supersedingField {
	s.row = row
	return s
}

// mark calls add for each place at which f supersedes others.
func (r relation) mark(f finding.Finding, add func(supersedingField)) {
	source, hasSource := lastSource(f)
	switch {
	case r == anywhere:
		add(supersedingField{})
	case r == atOneField || r == within:
		add(supersedingField{object: f.Object, path: f.Path.String()})
	case r == atOnePlace && f.Position.Line > 0:
		add(supersedingField{position: f.Position})
	case r == around:
		for n := range len(f.Path) + 1 {
			add(supersedingField{object: f.Object, path: f.Path[:n].String()})
		}
	case r == aroundSource && hasSource:
		for n := range len(source) + 1 {
			add(supersedingField{path: source[:n].String()})
		}
	case r == withinSource && hasSource:
		add(supersedingField{path: source.String()})
	}
}

// isMarked reports whether another finding marked a place of f.
func (r relation) isMarked(f finding.Finding, has func(supersedingField) bool) bool {
	switch r {
	case anywhere:
		return has(supersedingField{})
	case atOneField, around:
		return has(supersedingField{object: f.Object, path: f.Path.String()})
	case atOnePlace:
		return has(supersedingField{position: f.Position})
	case aroundSource:
		return has(supersedingField{path: f.Path.String()})
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
		if has(supersedingField{object: in, path: path[:n].String()}) {
			return true
		}
	}
	return false
}

// lastSource returns the source of the last claim of a finding.
func lastSource(f finding.Finding) (fieldpath.Path, bool) {
	if len(f.Claims) == 0 {
		return nil, false
	}
	return f.Claims[len(f.Claims)-1].At, true
}
