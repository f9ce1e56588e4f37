package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// This file holds the policies of a merge. The zero value of each is the cluster's. Conflicts do not depend on a policy.

// OrderPolicy states where the items of a list-map and the elements of a set stand. It permutes them and changes no value.
type OrderPolicy string

const (
	// PatchOrder is upstream's order: new items usually go in front, and the patch orders the items that it names.
	PatchOrder OrderPolicy = ""
	// BaseOrder lets the items of the base keep their places. New ones follow in the order of the patches.
	BaseOrder OrderPolicy = "base"
)

// check returns an error for a policy that does not exist.
func (o *Options) check() error {
	return known("Order", o.Order, PatchOrder, BaseOrder)
}

// known returns an error for an unknown value of an option. The first of its values is the zero one.
func known[P ~string](option string, value P, values ...P) error {
	if slices.Contains(values, value) {
		return nil
	}
	quoted := make([]string, len(values)-1)
	for i, other := range values[1:] {
		quoted[i] = strconv.Quote(string(other))
	}
	return fmt.Errorf("engine: Options.%s: Unsupported value: %q: supported values: %s", option, value, strings.Join(quoted, ", "))
}
