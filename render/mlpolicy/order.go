package mlpolicy

// The names of the policies that act without a member of the runtime's policy.
const (
	plainName  = "plain"
	statusName = "trainjobstatus"
)

// enforcer returns the policy of a name, or nil.
func enforcer(name string) func(*Job) bool {
	switch name {
	case plainName:
		return plain
	case "torch":
		return torch
	case "mpi":
		return mpi
	case "jax":
		return jax
	case "xgboost":
		return xgboost
	case "flux":
		return flux
	case statusName:
		return status
	default:
		return nil
	}
}

// Acting returns the names of the policies that write to a JobSet, in the order in which Enforce runs them. The controller runs
// them in a random order, which each start changes.
func Acting(in Input) []string {
	j := (&Job{Input: in}).filled()
	p := j.source()
	var names []string
	for _, policy := range []struct {
		name string
		acts bool
	}{
		{plainName, p.Torch == nil && p.MPI == nil && p.JAX == nil},
		{"torch", p.Torch != nil}, {"mpi", p.MPI != nil}, {"jax", p.JAX != nil}, {"xgboost", p.XGBoost != nil}, {"flux", p.Flux != nil},
		{statusName, j.StatusServer != nil},
	} {
		if policy.acts {
			names = append(names, policy.name)
		}
	}
	return names
}

// order returns the names of the policies that act, in the order of the input.
func (j *Job) order() []string {
	if j.Order != nil {
		return j.Order
	}
	return Acting(j.Input)
}
