// Package compose computes the value that the values of several managers make together. A rule gives one value for a field that
// Kubernetes replaces whole: the union of tolerations, the maximum of a period.
//
//	rules := compose.Rules{{Path: tolerations, Kind: compose.KindUnion}}
//	if rule, ok := rules.For(claimed); ok {
//		value, err := rule.Compose(claims...)
//		if err != nil {
//			return err // the rule gives no value
//		}
//		fmt.Println(value)
//	}
//
// # Laws
//
// The result of a rule depends on the set of the claims only. It is the same in every order of the patches. A repeated claim
// changes nothing, and claims may be composed in groups. Lists of a union are sorted, so that managers that compose the same
// claims write the same list. Property tests hold these laws.
//
// # The runtime's value
//
// The value of the runtime takes part in a union, a minimum and a maximum. A union of the patches alone would still drop the runtime's
// tolerations. It takes no part where managers must agree, and where one of them owns the field: patches may change it.
package compose

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonnumber "k8s.io/apimachinery/pkg/util/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// Kind is the kind of a rule. The zero value is invalid.
type Kind string

const (
	// KindUnion keeps each item of each list once.
	KindUnion Kind = "union"
	// KindMinimum keeps the smallest number or quantity.
	KindMinimum Kind = "minimum"
	// KindMaximum keeps the largest number or quantity.
	KindMaximum Kind = "maximum"
	// KindAgree takes the value that all managers set. Different values have no result.
	KindAgree Kind = "agree"
	// KindOwner takes the value of one manager, the owner. A value that only others set has no result.
	KindOwner Kind = "owner"
)

// Kinds returns all kinds in the order of the documentation.
func Kinds() []Kind { return []Kind{KindUnion, KindMinimum, KindMaximum, KindAgree, KindOwner} }

// includesBase reports whether the value that the managers patch takes part.
func (k Kind) includesBase() bool { return k == KindUnion || k == KindMinimum || k == KindMaximum }

// isDeep reports whether a rule also governs the fields within its path.
func (k Kind) isDeep() bool { return k == KindAgree || k == KindOwner }

// Rule composes the values of the fields that a pattern names.
type Rule struct {
	// Path is the pattern, see [fieldpath.Path.Matches]. KindAgree and KindOwner also govern the fields within.
	Path fieldpath.Path
	// Kind states how values compose.
	Kind Kind
	// Owner names the manager of KindOwner.
	Owner string
	// Seconds composes the tolerationSeconds of tolerations that are equal otherwise: KindAgree or KindMaximum. Empty means
	// KindAgree. Without seconds, a toleration lasts forever, which is the maximum.
	Seconds Kind
	// Position locates the rule in its file, if it comes from one.
	Position fieldpath.Position
}

// Rules are the rules of a policy. Of two that govern one field, the one with the longer path holds, and else the first one.
type Rules []Rule

// For returns the rule that governs a field, and reports whether there is one.
func (rs Rules) For(path fieldpath.Path) (Rule, bool) { return rs.Finder()(path) }

// Finder returns a function like For, for many fields. Its work for one of them does not grow with the rules.
func (rs Rules) Finder() func(path fieldpath.Path) (Rule, bool) {
	if len(rs) == 0 {
		return func(fieldpath.Path) (Rule, bool) { return Rule{}, false }
	}
	paths := make([]fieldpath.Path, len(rs))
	for i, r := range rs {
		paths[i] = r.Path
	}
	patterns := fieldpath.NewPatterns(paths)
	return func(path fieldpath.Path) (Rule, bool) {
		first := -1
		for i := range patterns.Matching(path) {
			r := rs[i]
			if len(r.Path) == 0 || len(r.Path) < len(path) && !r.Kind.isDeep() {
				continue
			}
			if first < 0 || len(r.Path) > len(rs[first].Path) || len(r.Path) == len(rs[first].Path) && i < first {
				first = i
			}
		}
		if first < 0 {
			return Rule{}, false
		}
		return rs[first], rs[first].Kind != ""
	}
}

// Compose returns the value that claims on one field make together, as JSON. Its type is map[string]any, []any, string, int64,
// float64 or bool. It is nil if no claim takes part, or if all of them are null. The claims of layers other than managers are the
// base, whose value takes part as the package describes.
//
// Null sets nothing in a union, a minimum and a maximum. Compose does not change the claims, and the result shares no memory with
// them.
//
// The error states why the rule gives no value. Of the values it names the keys of tolerations only.
func (r Rule) Compose(claims ...merge.Claim) (any, error) {
	var values []any
	isOpposed := false
	for _, c := range claims {
		manager, isManager := c.Layer.Manager()
		switch {
		case c.Value == merge.Presence{} || !isManager && !r.Kind.includesBase():
			continue
		case r.Kind == KindOwner && manager != r.Owner:
			isOpposed = true
			continue
		}
		value, err := jsonValue(c.Value)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	if isOpposed && len(values) == 0 {
		return nil, fmt.Errorf("only %s may set the field", r.Owner)
	}
	return r.join(values)
}

// join composes values of JSON.
func (r Rule) join(values []any) (any, error) {
	switch r.Kind {
	case KindUnion:
		return r.union(values)
	case KindMinimum, KindMaximum:
		return r.extreme(values)
	case KindAgree, KindOwner:
		for _, value := range values[min(1, len(values)):] {
			if !merge.SameValue(values[0], value) {
				return nil, errors.New("managers must set the same value")
			}
		}
		if len(values) == 0 {
			return nil, nil
		}
		return values[0], nil
	}
	return nil, fmt.Errorf("unknown kind of rule %q", r.Kind)
}

// IsSame reports whether two values of a governed field mean the same under the rule. The order of a union does not count, nor does
// the default operator of a toleration.
func (r Rule) IsSame(a, b any) bool {
	x, errX := jsonValue(a)
	y, errY := jsonValue(b)
	if errX != nil || errY != nil {
		return false
	}
	if r.Kind != KindUnion {
		return merge.SameValue(x, y)
	}
	first, isList := x.([]any)
	second, areLists := y.([]any)
	if !isList || !areLists {
		return merge.SameValue(x, y)
	}
	return len(first) == len(second) && merge.SameValue(r.spelled(first), r.spelled(second))
}

// jsonValue returns a value as JSON.
func jsonValue(value any) (any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var result any
	err = jsonnumber.Unmarshal(data, &result)
	return result, err
}
