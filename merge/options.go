package merge

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file has the options of a merge. An option that decides changes values only. The history of
// a field has every claim in any case, so the conflicts do not depend on it.

// An Option changes a merge. Without options, a merge does what the cluster does.
type Option func(*options)

// Base names the layer of the base, "base" if no option does, and the place of the base in its
// document.
func Base(owner Owner, at fieldpath.Path) Option {
	return func(o *options) { o.base, o.at = owner, at }
}

// Rules are the rules of the base's Go type beside its struct tags. Without them, the rules are
// schema.PodRules. A program that merges often makes this option once: it holds what is compiled
// from the types.
func Rules(r schema.Rules) Option {
	set := &ruleSet{of: func(reflect.Type) schema.Rules { return r }}
	return func(o *options) { o.rules = set }
}

// Live states that the base of an Apply is a live object. The owners in its metadata.managedFields
// claim their fields. A patch replaces what its manager has applied before: fields that nobody owns
// then are removed. The result has the new managedFields. The entries of the patches have no time.
// No option that decides goes with it.
func Live() Option { return func(o *options) { o.live = true } }

// KeepOrder lets the items of the base's lists by key and sets keep their places. New ones follow
// in the order of the patches. Upstream usually puts new items in front, and the patch orders the
// items that it names. No value changes.
func KeepOrder() Option { return func(o *options) { o.keepsOrder = true } }

// SkipZero takes from a Go value no field without omitempty that holds an empty string, or a nil
// list, map or pointer. Nobody has set such a field. A list or a map that is empty and not nil
// stays, and so does all that an Object sets.
func SkipZero() Option { return func(o *options) { o.skipsZero = true } }

// SkipEmpty lets an empty string set no field without omitempty that has another value, in a Go
// value and in an Object.
func SkipEmpty() Option { return func(o *options) { o.skipsEmpty = true } }

// Unions states what becomes of the members of a union if an object has several of them. Upstream
// keeps all, and the API server then rejects the object. In a union with a discriminator, the
// discriminator's value decides which member may stay.
func Unions(policy UnionPolicy) Option { return func(o *options) { o.unions = policy } }

// UnionPolicy is the argument of Unions.
type UnionPolicy string

const (
	// Last removes the members of all owners but the last one that claims a member.
	Last UnionPolicy = "last"
	// Error returns an error that names the members and their owners.
	Error UnionPolicy = "error"
)

// Prefer lets managers win over all others where patches overlap. The first one named wins over the
// next.
func Prefer(managers ...string) Option { return func(o *options) { o.preferred = managers } }

// First lets the first manager win where patches overlap. The later patches of one manager win over
// its earlier ones.
func First() Option { return func(o *options) { o.precedence = firstWins } }

// BaseWins lets the base win over all patches: what it sets stays. Among the patches the last one
// wins.
func BaseWins() Option { return func(o *options) { o.precedence = baseWins } }

// Protect keeps the base's values of fields: see schema.Type.Resolve and fieldpath.Path.Matches. An
// item keeps its merge key in any case. No pattern may lead into a value that merges whole. A note
// tells who sets such a field.
func Protect(paths ...fieldpath.Path) Option {
	return func(o *options) { o.protected = append(o.protected, paths...) }
}

// ProtectError makes it an error to set a protected field.
func ProtectError() Option { return func(o *options) { o.protectedError = true } }

// Trees are the JSON of the base and of patches that are Go values, for a caller who has it
// already. A patch without a tree is encoded. The merge takes over the base's tree.
func Trees(base Object, patches []Object) Option {
	return func(o *options) { o.baseTree, o.trees = base, patches }
}

// Defaults fills in the defaults of the rules, for comparison with a live object. Nobody owns them.
func Defaults() Option { return func(o *options) { o.defaults = true } }

// options are those of one merge.
type options struct {
	base           Owner
	at             fieldpath.Path
	rules          *ruleSet
	live           bool
	keepsOrder     bool
	skipsZero      bool
	skipsEmpty     bool
	unions         UnionPolicy // "" keeps all members
	precedence     precedence
	preferred      []string
	protected      []fieldpath.Path
	protectedError bool
	defaults       bool
	baseTree       Object
	trees          []Object
}

// precedence is whose value stays where patches overlap.
type precedence uint8

const (
	lastWins precedence = iota
	firstWins
	baseWins
)

func optionsOf(all []Option) *options {
	o := &options{base: BaseLayer, rules: ofKubernetes}
	for _, set := range all {
		if set != nil {
			set(o)
		}
	}
	return o
}

// BaseLayer is the owner of what the base sets, if no option names another.
const BaseLayer Owner = "base"

// An OptionError reports an option that does not exist for a merge, or that contradicts another
// one.
type OptionError struct {
	// Option is the name of the option's function.
	Option string
	// Err states the problem.
	Err error
}

// Error names the option.
func (e *OptionError) Error() string {
	if e == nil {
		return "no error"
	}
	return fmt.Sprintf("merge: %s: %v", e.Option, e.Err)
}

// Unwrap returns the problem.
func (e *OptionError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

func (o *options) check(p *plan) error {
	_, isManager := o.base.Manager()
	switch {
	case isManager || o.base == "":
		return &OptionError{
			"Base", apiError("Invalid value", "%q: must name a layer, and no manager", o.base)}
	case o.live && (!p.objects || p.removes):
		return &OptionError{
			"Live", apiError("Forbidden", "may only be set for objects of a definition")}
	case o.live && o.decides():
		return &OptionError{
			"Live", apiError("Forbidden", "may not be set with a policy that decides")}
	case o.unions != "" && o.unions != Last && o.unions != Error:
		return &OptionError{
			"Unions", apiError("Unsupported value", "%q: supported values: %q, %q", o.unions, Last,
				Error)}
	case o.defaults && p.defaults == nil:
		return &OptionError{
			"Defaults", apiError("Forbidden", "may only be set when the rules have defaults")}
	case len(o.preferred) > 0 && o.precedence != lastWins:
		return &OptionError{
			"Prefer", apiError("Forbidden", "may not be set with First or BaseWins")}
	case o.protectedError && len(o.protected) == 0:
		return &OptionError{
			"ProtectError", apiError("Forbidden", "may not be set when Protect is not")}
	}
	for i, name := range o.preferred {
		if slices.Contains(o.preferred[:i], name) {
			return &OptionError{"Prefer", apiError("Duplicate value", "%q", name)}
		}
	}
	for _, path := range o.protected {
		if err := isField(p.root, path); err != nil {
			return &OptionError{"Protect", fmt.Errorf("%s: %w", path, err)}
		}
	}
	return nil
}

// decides reports whether an option needs the history of the fields.
func (o *options) decides() bool {
	return o.unions != "" || o.skipsEmpty || o.precedence != lastWins || len(o.preferred) > 0 ||
		len(o.protected) > 0
}

// restores reports whether an option gives fields the base's values again.
func (o *options) restores() bool { return o.precedence == baseWins || len(o.protected) > 0 }

// precedes reports whether the patches merge in another order than the given one.
func (o *options) precedes() bool { return o.precedence == firstWins || len(o.preferred) > 0 }

// preceding returns the name of the option that precedes.
func (o *options) preceding() string {
	if len(o.preferred) > 0 {
		return "Prefer"
	}
	return "First"
}

// mergeOrder returns the order in which the patches merge: the winner comes last. The patches of
// one manager keep their order.
func mergeOrder(patches []layered, o *options) []int {
	order, first := make([]int, len(patches)), map[Owner]int{}
	for i := range patches {
		order[i] = i
	}
	if !o.precedes() {
		return order
	}
	for i, p := range slices.Backward(patches) {
		first[p.Owner] = i
	}
	rank := func(i int) int {
		if o.precedence == firstWins {
			return -first[patches[i].Owner]
		}
		name, _ := patches[i].Owner.Manager()
		if at := slices.Index(o.preferred, name); at >= 0 {
			return len(o.preferred) - at
		}
		return 0
	}
	slices.SortStableFunc(order, func(i, j int) int { return rank(i) - rank(j) })
	return order
}

// isField returns an error for a path that leads to no field which merges by itself. The error
// shows the path that was probably meant.
func isField(t *schema.Type, path fieldpath.Path) error {
	if len(path) == 0 {
		return apiError("Required value", "must name a field")
	}
	resolved, err := t.Resolve(path)
	if wrong := (*schema.PathError)(nil); errors.As(err, &wrong) {
		if whole := t.Replaced(wrong.Meant); whole != nil {
			wrong.Meant = whole
		}
		return apiError("Invalid value", "%w", wrong)
	}
	if whole := t.Replaced(resolved); whole != nil {
		return apiError("Invalid value", "%s is part of a value that does not merge: use %s",
			resolved, whole)
	}
	return nil
}
