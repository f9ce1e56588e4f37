package upstream

import (
	"slices"

	"github.com/trainweld/trainweld/fuzz"
)

type rendered struct {
	policy fuzz.Policy
	kinds  []string
}

// renders are the policies that trainweld renders, and the kinds of objects to compare for runtimes
// with them. This is the only such list in the module.
var renders = []rendered{
	{fuzz.Plain, []string{"JobSet"}},
	{fuzz.Torch, []string{"JobSet"}},
	{fuzz.JAX, []string{"JobSet"}},
	{fuzz.XGBoost, []string{"JobSet"}},
	{fuzz.MPI, []string{"JobSet", "ConfigMap", "Secret"}},
	{fuzz.Flux, []string{"JobSet", "ConfigMap", "Secret"}},
	{fuzz.Coscheduling, []string{"JobSet", "PodGroup"}},
	{fuzz.Volcano, []string{"JobSet", "PodGroup"}},
}

// Policies returns the policies that trainweld renders.
func Policies() (policies []fuzz.Policy) {
	for _, r := range renders {
		policies = append(policies, r.policy)
	}
	return policies
}

// Kinds returns the kinds of objects to compare for a runtime, and reports whether trainweld
// renders all of its policies.
func Kinds(runtime Object) (kinds []string, all bool) {
	for _, policy := range policiesOf(runtime) {
		i := slices.IndexFunc(renders, func(r rendered) bool { return r.policy == policy })
		if i < 0 {
			return nil, false
		}
		kinds = append(kinds, renders[i].kinds...)
	}
	return kinds, true
}

// policiesOf reads a runtime's policies: one for its workload, Plain by default, and the policies
// of its pod group.
func policiesOf(runtime Object) (policies []fuzz.Policy) {
	ml := dig(runtime, "spec", "mlPolicy")
	for _, policy := range []fuzz.Policy{fuzz.Torch, fuzz.JAX, fuzz.XGBoost, fuzz.MPI, fuzz.Flux} {
		if _, ok := ml[string(policy)]; ok {
			policies = append(policies, policy)
		}
	}
	if len(policies) == 0 {
		policies = append(policies, fuzz.Plain)
	}
	group := dig(runtime, "spec", "podGroupPolicy")
	for _, policy := range []fuzz.Policy{fuzz.Coscheduling, fuzz.Volcano} {
		if _, ok := group[string(policy)]; ok {
			policies = append(policies, policy)
		}
	}
	return policies
}
