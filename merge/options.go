package merge

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file holds the policies of a merge. The zero value of each is the cluster's. A policy decides values only. The history of a
// field has every claim in any case, so the conflicts do not depend on a policy.

// Options extend Apply. The zero value only merges, which is cheapest.
type Options struct {
	// Owners requests Result.History.
	Owners bool
	// Base names the layer of the base, "base" if empty. At is the place of the base in its document.
	Base Owner
	At   fieldpath.Path

	// Managed states that the base is a live object of a definition. The owners in its metadata.managedFields claim their fields. A patch
	// replaces what its manager has applied before: fields that nobody owns then are removed. The result has the new managedFields. The
	// entries of the patches have no time. Managed permits no policy but Order.
	Managed bool

	// The policies of the merge. Their zero values merge as the cluster.
	Order      OrderPolicy
	Unions     UnionPolicy
	Empty      EmptyPolicy
	Precedence PrecedencePolicy
	Defaults   DefaultPolicy
	// Managers win over all others. The first one named wins over the next. No other Precedence may be set.
	Managers []string
	// Protected are patterns of fields that keep the base's values: see schema.Type.Resolve and fieldpath.Path.Matches. An item keeps its
	// merge key in any case. No pattern may lead into a value that merges whole.
	// Result.Protected lists who sets such a field; with ProtectedError that is an error.
	Protected      []fieldpath.Path
	ProtectedError bool
}

// Base names the layer of the base if Options do not.
const Base Owner = "base"

func baseLayerOf(o Options) Owner {
	if o.Base == "" {
		return Base
	}
	return o.Base
}

// OrderPolicy states where the items of a list-map and the elements of a set stand. It permutes them and changes no value.
type OrderPolicy string

const (
	// PatchOrder is upstream's order: new items usually go in front, and the patch orders the items that it names.
	PatchOrder OrderPolicy = ""
	// BaseOrder lets the items of the base keep their places. New ones follow in the order of the patches.
	BaseOrder OrderPolicy = "base"
)

// UnionPolicy states what becomes of a union's members if an object has several of them. It changes only such members. The unions
// come from the plan's rules. In a union with a discriminator, the discriminator's value decides which member may stay.
type UnionPolicy string

const (
	// AllMembers keeps all members, as upstream: the API server then rejects the object.
	AllMembers UnionPolicy = ""
	// LastMember removes the members of all layers but the last one that claims a member.
	LastMember UnionPolicy = "last"
	// OneMember returns an error that names the members and their layers.
	OneMember UnionPolicy = "error"
)

// EmptyPolicy states what sets a field of a Go type that has no omitempty. The type's JSON holds such a field even if nobody sets it. It
// changes only such fields.
type EmptyPolicy string

const (
	// SetEmpty sets the field to "", or empties it for a null, as upstream.
	SetEmpty EmptyPolicy = ""
	// SkipEmpty keeps the field's earlier value.
	SkipEmpty EmptyPolicy = "skip"
	// SkipZero takes from a Go value no field without omitempty that holds an empty string, or a nil list, map or pointer. Nobody has set
	// such a field. A list or a map that is empty and not nil stays, and so does all that an Object sets.
	SkipZero EmptyPolicy = "zero"
)

// PrecedencePolicy states whose value stays where patches overlap. It changes values only there. Options.Managers names another order.
type PrecedencePolicy string

const (
	// LastPatch lets the last patch win, as upstream.
	LastPatch PrecedencePolicy = ""
	// FirstPatch lets the first manager win. The later patches of one manager win over its earlier ones.
	FirstPatch PrecedencePolicy = "first"
	// BaseAlways lets the base win over all patches: what it sets stays. Among the patches the last one wins. It also changes
	// values where a patch overrides the base, although managers do not conflict there.
	BaseAlways PrecedencePolicy = "base"
)

// DefaultPolicy states whether fields that nobody sets have a value. It adds only such fields, without an owner.
type DefaultPolicy string

const (
	// NoDefaults adds nothing, as upstream.
	NoDefaults DefaultPolicy = ""
	// RuleDefaults fills in the defaults of the plan's rules, for comparison with a live object.
	RuleDefaults DefaultPolicy = "rules"
)

// A Decision records the decision of a policy on one field. The claims of the losers stay in the history, so conflict.Find reports them.
type Decision struct {
	// Policy is the name of the option in lower case.
	Policy string
	// Path is the field whose value was decided.
	Path fieldpath.Path
	// Winner is the layer whose value stays. Losers are the layers whose claims gave way.
	Winner Owner
	Losers []Owner
}

// An OptionError reports an option that does not exist for a plan, or that contradicts another one.
type OptionError struct {
	// Option is the name of the field of Options.
	Option string
	// Err states the problem.
	Err error
}

// Error names the option.
func (e *OptionError) Error() string {
	if e == nil {
		return "no error"
	}
	return fmt.Sprintf("merge: Options.%s: %v", e.Option, e.Err)
}

// Unwrap returns the problem.
func (e *OptionError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Check returns the error of Apply for the options, an [*OptionError], without a merge. A program can call it when it makes the plan.
func (p *Plan[T, P]) Check(o Options) error {
	if p == nil || p.plan == nil {
		return errors.New("merge: a plan that was not compiled merges nothing")
	}
	return o.check(p.plan)
}

func (o *Options) check(p *plan) error {
	root := p.root
	switch {
	case o.Managed && (!p.objects || p.removes):
		return &OptionError{"Managed", apiError("Forbidden", "may only be set for objects of a definition")}
	case o.Managed && o.decides():
		return &OptionError{"Managed", apiError("Forbidden", "may not be set with a policy that decides")}
	}
	for _, err := range []error{
		checkKnown("Order", o.Order, PatchOrder, BaseOrder),
		checkKnown("Unions", o.Unions, AllMembers, LastMember, OneMember),
		checkKnown("Empty", o.Empty, SetEmpty, SkipEmpty, SkipZero),
		checkKnown("Precedence", o.Precedence, LastPatch, FirstPatch, BaseAlways),
		checkKnown("Defaults", o.Defaults, NoDefaults, RuleDefaults),
	} {
		if err != nil {
			return err
		}
	}
	if o.Defaults == RuleDefaults && p.defaults == nil {
		return &OptionError{"Defaults", apiError("Forbidden", "may only be set when the rules have defaults")}
	}
	for i, name := range o.Managers {
		if slices.Contains(o.Managers[:i], name) {
			return &OptionError{"Managers", apiError("Duplicate value", "%q", name)}
		}
	}
	if len(o.Managers) > 0 && o.Precedence != LastPatch {
		return &OptionError{"Managers", apiError("Forbidden", "may not be set when Precedence is %q", o.Precedence)}
	}
	if o.ProtectedError && len(o.Protected) == 0 {
		return &OptionError{"ProtectedError", apiError("Forbidden", "may not be set when Protected is empty")}
	}
	for _, path := range o.Protected {
		if err := isField(root, path); err != nil {
			return &OptionError{"Protected", fmt.Errorf("%s: %w", path, err)}
		}
	}
	return nil
}

// isField returns an error for a path that leads to no field which merges by itself. The error shows the path that was probably meant.
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
		return apiError("Invalid value", "%s is part of a value that does not merge: use %s", resolved, whole)
	}
	return nil
}

// checkKnown returns an error for an unknown value of an option. The first of its values is the zero one.
func checkKnown[P ~string](option string, value P, values ...P) error {
	if slices.Contains(values, value) {
		return nil
	}
	quoted := make([]string, len(values)-1)
	for i, other := range values[1:] {
		quoted[i] = strconv.Quote(string(other))
	}
	return &OptionError{option, apiError("Unsupported value", "%q: supported values: %s", value, strings.Join(quoted, ", "))}
}

// decides reports whether a policy needs the history of the fields.
func (o *Options) decides() bool {
	return o.Unions != AllMembers || o.Empty == SkipEmpty || o.Precedence != LastPatch || len(o.Managers) > 0 || len(o.Protected) > 0
}

// restores reports whether a policy gives fields the base's values again.
func (o *Options) restores() bool { return o.Precedence == BaseAlways || len(o.Protected) > 0 }

// precedes reports whether the patches merge in another order than the given one.
func (o *Options) precedes() bool { return o.Precedence == FirstPatch || len(o.Managers) > 0 }

// precedence returns the name of the option that precedes.
func (o *Options) precedence() string {
	if len(o.Managers) > 0 {
		return "managers"
	}
	return "precedence"
}

// mergeOrder returns the order in which the patches merge: the winner comes last. The patches of one manager keep their order.
func mergeOrder[P any](patches []Patch[P], o Options) []int {
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
		if o.Precedence == FirstPatch {
			return -first[patches[i].Owner]
		}
		name, _ := patches[i].Owner.Manager()
		if at := slices.Index(o.Managers, name); at >= 0 {
			return len(o.Managers) - at
		}
		return 0
	}
	slices.SortStableFunc(order, func(i, j int) int { return rank(i) - rank(j) })
	return order
}
