package children

import jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

// presence tells whether a JobSet, as it stands, has the Jobs of one of its replicated jobs.
type presence int

const (
	present presence = iota
	afterResume
	never
)

// IsPresent reports whether the JobSet has the Jobs as it stands.
func (m *Members) IsPresent() bool { return m.presence == present }

// resolveWaits works out what each replicated job waits for, and whether its Jobs come at all. A
// replicated job that depends on others is created only when theirs are ready or complete, which
// never happens while the JobSet is suspended. One that depends on itself, on an unknown one or on
// one that never comes, never comes itself. One that depends on a later one does not wait: the
// controller counts as it goes and finds none of none missing (JobSet v0.12.0
// pkg/controllers/depends_on.go).
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
			case !known[dependency.Name], dependency.Name == members.Name, earlier && target.presence == never:
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
			members.WaitsFor = append(members.WaitsFor, jobset.DependsOn{Name: previous.Name, Status: jobset.DependencyReady})
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
