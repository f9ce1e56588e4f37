package children

import jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

// presence is whether and when a JobSet has the Jobs of one of its replicated jobs.
type presence int

const (
	present presence = iota
	afterResume
	never
)

// IsPresent reports whether the JobSet has the Jobs in its present state.
func (m *Members) IsPresent() bool { return m.presence == present }

// resolveWaits finds the dependencies of each replicated job, and whether the controller creates
// its Jobs. It creates a job with dependencies only when their Jobs are ready or complete. That
// never happens while the JobSet is suspended. A job that depends on itself, or on an unknown job,
// is never created. The same holds for its dependents. A job that depends on a later one does not
// wait. The controller counts only the Jobs that it has seen so far, and finds none missing (JobSet
// v0.12.0 pkg/controllers/depends_on.go).
func (f *Family) resolveWaits() {
	inOrder := f.Spec.StartupPolicy.StartupPolicyOrder == jobset.InOrder
	before := map[string]*Members{}
	known := map[string]bool{}
	for _, members := range f.Members {
		known[members.Name] = true
	}
	for i, members := range f.Members {
		for _, dependency := range members.DependsOn {
			target, earlier := before[dependency.Name]
			switch {
			case !known[dependency.Name], dependency.Name == members.Name,
				earlier && target.presence == never:
				members.presence = never
			case earlier:
				members.presence = max(members.presence, f.afterDependencies())
			default:
				continue
			}
			members.WaitsFor = append(members.WaitsFor, dependency)
		}
		if inOrder && i > 0 {
			previous := f.Members[i-1]
			members.WaitsFor = append(members.WaitsFor,
				jobset.DependsOn{Name: previous.Name, Status: jobset.DependencyReady})
		}
		before[members.Name] = members
	}
}

func (f *Family) afterDependencies() presence {
	if f.suspended() {
		return afterResume
	}
	return present
}
