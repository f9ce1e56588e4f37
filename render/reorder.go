package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render/internal/patched"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// mostReordered limits the policies whose orders are tried.
const mostReordered = 5

// Reordered returns the JobSet of a TrainJob with its variables in the order of the JobSet that
// exists, if the controller could emit them so: it runs its policies in a random order, which each
// start changes. Else it returns js, the JobSet of the usual order.
func Reordered(in Input, opts Options, js, existing *jobset.JobSet) *jobset.JobSet {
	if js == nil || existing == nil || sameOrder(js, existing) {
		return js
	}
	names := Merge(in, opts).acting()
	if len(names) > mostReordered {
		return js
	}
	for order := range permutations(names) {
		m := Merge(in, opts)
		m.order = order
		if out, _ := m.JobSet(); out.JobSet != nil && sameOrder(out.JobSet, existing) {
			return out.JobSet
		}
	}
	return js
}

// acting returns the names of the policies that act.
func (m *Merging) acting() []string {
	merged, err := runtimepatch.Apply(&m.in.Runtime.Template, m.reached, m.mergeOptions())
	if err != nil {
		return nil
	}
	aside := renderer{in: m.in, release: m.release, out: &Objects{}}
	j, _ := aside.enforce(merged, m.opts)
	return mlpolicy.Acting(j.Input)
}

// permutations yields each order of names.
func permutations(names []string) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		var permute func(done, left []string) bool
		permute = func(done, left []string) bool {
			if len(left) == 0 {
				return yield(slices.Clone(done))
			}
			for i, name := range left {
				if !permute(append(slices.Clip(done), name),
					slices.Delete(slices.Clone(left), i, i+1)) {
					return false
				}
			}
			return true
		}
		permute(nil, names)
	}
}

// sameOrder reports whether the variables that two JobSets have in common stand in one order in
// each container.
func sameOrder(a, b *jobset.JobSet) bool {
	others := map[[2]string][]corev1.EnvVar{}
	for c := range patched.Containers(b.Spec.ReplicatedJobs) {
		others[[2]string{c.Job.Name, c.Name}] = c.Env
	}
	for c := range patched.Containers(a.Spec.ReplicatedJobs) {
		if other := others[[2]string{c.Job.Name, c.Name}]; !slices.Equal(common(c.Env, other),
			common(other, c.Env)) {
			return false
		}
	}
	return true
}

// common returns the names of the variables that another list has as well, in their order.
func common(env, other []corev1.EnvVar) (names []string) {
	known := map[string]bool{}
	for _, v := range other {
		known[v.Name] = true
	}
	for _, v := range env {
		if known[v.Name] {
			names = append(names, v.Name)
		}
	}
	return names
}
