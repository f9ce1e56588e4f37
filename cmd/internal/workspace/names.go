// This file lists the runtimes that TrainJobs of a release may name.

package workspace

import (
	"cmp"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/release"
)

// NamedRuntime is a runtime that a TrainJob may name.
type NamedRuntime struct {
	fieldpath.Object
	Spec     *trainer.TrainingRuntimeSpec
	Position fieldpath.Position // empty for a runtime that the release ships
}

// KnownManagers returns the managers that the policies of the input list, in their order. Then come the other managers with a patch.
func (st *Settings) KnownManagers() []string {
	var names []string
	for _, file := range st.configOrder {
		if r := st.configs[file].rules; r != nil {
			names = append(names, r.Managers()...)
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(append(names, st.Managers()...), func(name string) bool {
		isSeen := seen[name]
		seen[name] = true
		return isSeen || name == ""
	})
}

// NamedRuntimes returns the runtimes of the input, and the runtimes that a release ships and the input lacks. Of several runtimes of one
// name it returns the one that a TrainJob of the release gets. They have the order of their kinds, names and namespaces.
func (c *Catalog) NamedRuntimes(r *release.Release) []NamedRuntime {
	r = r.Or()
	known := map[fieldpath.Object]bool{}
	var all []NamedRuntime
	for _, version := range c.versions(r.Version) {
		for at, source := range c.sources {
			if at.version == version && IsRuntime(at.Object) && source.spec != nil && !known[at.Object] {
				known[at.Object] = true
				all = append(all, NamedRuntime{at.Object, source.spec, source.Position(fieldpath.Fields("metadata", "name"))})
			}
		}
	}
	c.lock.Lock()
	for name, source := range c.shipped(r) {
		id := fieldpath.Object{Kind: trainer.ClusterTrainingRuntimeKind, Name: name}
		if !known[id] && !c.Broken[id] {
			all = append(all, NamedRuntime{Object: id, Spec: source.spec})
		}
	}
	c.lock.Unlock()
	slices.SortFunc(all, func(a, b NamedRuntime) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
	return all
}
