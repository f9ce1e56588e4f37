package codes

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// explanations lists the codes that a finding with another code explains, and where. Both have one
// cause then, and only that finding is reported.
var explanations = []struct {
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
	// The definition rejects the null.
	{ZeroNull, WrongType, atOnePlace},
	// The definition rejects the number, which no webhook stores as another text.
	{Respelled, WrongType, atOneField},
	// The webhook lacks the target of the variables, and names the reference to the runtime.
	{EnvInjection, EnvInjection, aroundSource},
	// The cluster rejects a gang without Pods before their Job completes at once.
	{NeverCreated, BadValue, aroundSource},
	// A controller's object repeats the mistake of its source.
	{EnvWithoutName, Env, aroundSource},
	// A patch has no effect because its fields do not exist, or because no patch may set them.
	{IdlePatch, UnknownField, around},
	{IdlePatch, Unpatchable, around},
	// The webhook refuses the claim before a Job has it.
	{Resources, NoPodClaim, ofSource},
	// The cluster refuses the value, and stores none in another form.
	{Respelled, Resources, aroundSource},
	// The Trainer rejects the variable that a policy would replace.
	{Shadowed, EnvOnMain, ofClaim},
	// The object that is skipped is a patch, and its version is not the base's.
	{UnknownVersion, NoMerge, atOneField},
	// A policy writes into the job with the label, which the runtime lacks.
	{NothingInjected, NoTrainerLabel, inOneObject},
	// The policy's address is an endpoint without a Pod.
	{NoSuchPod, MasterAddress, anywhere},
}

// relation states how the places of two findings relate if one explains the other.
type relation uint8

const (
	anywhere     relation = iota
	atOneField            // the same field in one object
	atOnePlace            // the same place in one file
	within                // the explained field is in the other one, in one object
	around                // the explained field is the other one, or contains it, in one object
	aroundSource          // the explained field is the other's source, or contains it
	inOneObject           // any field of one object
	// the source of one of the explained claims is the other field, or within it
	ofClaim
	ofSource // likewise, or within the source of the other one
)

// mark is a place where a finding explains others by a row of the table.
type mark struct {
	row      int
	object   fieldpath.Object
	path     string
	position fieldpath.Position
}

func (m mark) of(row int) mark {
	m.row = row
	return m
}

// marks calls add for each place at which f explains others.
func (r relation) marks(f finding.Finding, add func(mark)) {
	source, hasSource := lastSource(f)
	switch {
	case r == anywhere:
		add(mark{})
	case r == atOneField || r == within:
		add(mark{object: f.Object, path: f.Path.String()})
	case r == atOnePlace && f.Position.Line > 0:
		add(mark{position: f.Position})
	case r == around:
		for n := range len(f.Path) + 1 {
			add(mark{object: f.Object, path: f.Path[:n].String()})
		}
	case r == aroundSource && hasSource:
		for n := range len(source) + 1 {
			add(mark{path: source[:n].String()})
		}
	case r == inOneObject:
		add(mark{object: f.Object})
	case r == ofClaim:
		add(mark{path: f.Path.String()})
	case r == ofSource && hasSource:
		add(mark{path: source.String()})
	}
}

// isMarked reports whether another finding marked a place of f.
func (r relation) isMarked(f finding.Finding, has func(mark) bool) bool {
	switch r {
	case anywhere:
		return has(mark{})
	case inOneObject:
		return has(mark{object: f.Object})
	case atOneField, around:
		return has(mark{object: f.Object, path: f.Path.String()})
	case atOnePlace:
		return has(mark{position: f.Position})
	case aroundSource:
		return has(mark{path: f.Path.String()})
	}
	if r == within {
		return isMarkedAround(f.Object, f.Path, has)
	}
	return slices.ContainsFunc(f.Claims, func(c merge.Claim) bool {
		return isMarkedAround(fieldpath.Object{}, c.At, has)
	})
}

// isMarkedAround reports whether a path, or a field around it, is marked.
func isMarkedAround(in fieldpath.Object, path fieldpath.Path, has func(mark) bool) bool {
	for n := range len(path) + 1 {
		if has(mark{object: in, path: path[:n].String()}) {
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
