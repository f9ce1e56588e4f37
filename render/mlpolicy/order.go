package mlpolicy

// The names of the policies that act without a member of the runtime's policy.
const (
	plainName  = "plain"
	statusName = "trainjobstatus"
)

// policy is a policy of the controller.
type policy struct {
	name     string
	isActive bool
	write    func(*Job) bool // returns false if the controller would fail on every retry
}

// policies returns the policies in the order in which Enforce runs them. An array needs no memory
// of its own.
func (j *Job) policies() [7]policy {
	p := j.source()
	return [...]policy{
		{plainName, p.Torch == nil && p.MPI == nil && p.JAX == nil, plain},
		{"torch", p.Torch != nil, torch},
		{"mpi", p.MPI != nil, mpi},
		{"jax", p.JAX != nil, jax},
		{"xgboost", p.XGBoost != nil, xgboost},
		{"flux", p.Flux != nil, flux},
		{statusName, j.StatusServer != nil, status},
	}
}

// Acting returns the names of the policies that write to a JobSet, in the order in which Enforce
// runs them. The controller runs them in a random order, which each start changes.
func Acting(in Input) []string {
	var names []string
	for _, p := range (&Job{Input: in}).policies() {
		if p.isActive {
			names = append(names, p.name)
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
