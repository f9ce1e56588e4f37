package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/schema"
)

func (r *resolved) rule() Rule {
	rule := Rule{Path: r.path, Kind: r.typ.String(), Merge: r.merge(), Union: r.union()}
	rule.Patchable, rule.Set = r.set()
	t := r.typ
	for t.Kind != schema.Map && t.Elem != nil {
		t = t.Elem
	}
	if t.Kind != schema.Struct {
		return rule
	}
	for _, f := range t.Fields {
		rule.Fields = append(
			rule.Fields, Member{Name: f.Name, Kind: f.Type.String(), Patchable: rule.Patchable &&
				f.IsPatchable() && !isPruned(r.path, f)})
	}
	return rule
}

// merge returns the merge rule in a sentence (Kubernetes' strategic merge by the tags of the Go
// types).
func (r *resolved) merge() string {
	if !r.patchable {
		return "not at all: no patch of a TrainJob reaches it"
	}
	if r.atomic != nil {
		return fmt.Sprintf("with all of %s, which is replaced whole", r.atomic)
	}
	if r.in.Kind == schema.ListMap {
		return fmt.Sprintf(
			"with the item of the same %s, field by field; an item that the runtime lacks goes "+
				"in front", r.in.Key)
	}
	switch r.typ.Kind {
	case schema.Scalar:
		return "replaced: the last patch that sets it wins in the cluster, and managers that set " +
			"different values are in conflict"
	case schema.Struct:
		return "field by field"
	case schema.Map:
		return "key by key: what several managers set is united, and different values of one key " +
			"are a conflict"
	case schema.ListMap:
		return fmt.Sprintf(
			"item by item, by %s: new items go in front, and what no patch names is kept",
			r.typ.Key)
	case schema.Set:
		return "united: every patch adds its elements, and none takes any away"
	default:
		return "replaced whole: a patch that sets it drops what the runtime and the patches " +
			"before it have"
	}
}

// union describes the fields that exclude this one.
func (r *resolved) union() string {
	if r.parent == nil || r.field == nil {
		return ""
	}
	if last := r.path[len(r.path)-1]; last != fieldpath.Field(r.field.Name) {
		return ""
	}
	for _, u := range r.parent.Unions {
		others := slices.DeleteFunc(slices.Clone(u.Members), func(member string) bool {
			return member == r.field.Name
		})
		switch {
		case r.field.Name == u.Discriminator:
			return fmt.Sprintf("says which of the fields counts: %s only with %s",
				strings.Join(u.Members, ", "), u.When)
		case !u.Has(r.field.Name):
			continue
		case u.Discriminator != "":
			return fmt.Sprintf("only where %s is %s", u.Discriminator, u.When)
		default:
			return fmt.Sprintf(
				"excludes %s: the merge keeps what every patch sets, and the cluster rejects two",
				strings.Join(others, ", "))
		}
	}
	return ""
}

// set returns whether a manager may set the field in a patch, and describes how to set it.
func (r *resolved) set() (patchable bool, text string) {
	inPatch := "spec.runtimePatches[*].trainingRuntimeSpec.template" + r.path.String()
	names := fieldsOf(r.path)
	last := names[len(names)-1]
	container := r.container()
	switch {
	case r.path[0] == fieldpath.Field("metadata") && last == "name":
		return false, "metadata.name of the TrainJob"
	case r.path[0] == fieldpath.Field("metadata") && last == "namespace":
		return false, "metadata.namespace of the TrainJob"
	case r.pruned:
		return false, "no one: the API server prunes it from TrainJobs and runtimes"
	case slices.Equal(names, []string{"spec", "suspend"}):
		return false, "spec.suspend of the TrainJob; the runtime's is overwritten"
	case r.patchable && container != "" && slices.Contains(names, "env") &&
		check.EnvFields()[container] != "":
		return false,
			check.EnvFields()[container] +
				" of the TrainJob: no patch may set variables of a container called " + container
	case r.patchable && r.inContainer("env"):
		return true, "any manager, in " + inPatch +
			"; not of containers called node, dataset-initializer or model-initializer, whose " +
			"variables are in spec.trainer.env and spec.initializer of the TrainJob"
	case r.patchable:
		return true, "any manager, in " + inPatch
	}
	fromTrainer := ""
	switch {
	case r.inContainer("image"), r.inContainer("command"), r.inContainer("args"):
		fromTrainer = "spec.trainer." + last
	case r.inContainer("resources"):
		fromTrainer = "spec.trainer.resourcesPerNode"
	case last == "replicas" || last == "parallelism" || last == "completions":
		return false,
			"spec.trainer.numNodes of the TrainJob, for the trainer's job; for others the " +
				"runtime's template"
	}
	switch {
	case fromTrainer == "" || container != "" && container != mlpolicy.Node:
		return false, "the runtime's template only"
	case container == mlpolicy.Node:
		return false, fromTrainer + " of the TrainJob, or the runtime's template"
	default:
		return false,
			fromTrainer +
				" of the TrainJob, for the container node; for others the runtime's template"
	}
}

// container returns the name of the container on the path, or "".
func (r *resolved) container() string {
	for i, step := range r.path {
		if name, ok := step.Field(); ok && name == "containers" && i+1 < len(r.path) {
			_, value, _ := r.path[i+1].Item()
			return value
		}
	}
	return ""
}

// inContainer reports whether the path is the given field of a container, or within it.
func (r *resolved) inContainer(field string) bool {
	for i, step := range r.path {
		if name, ok := step.Field(); ok && name == "containers" {
			return i+2 < len(r.path) && r.path[i+2] == fieldpath.Field(field)
		}
	}
	return false
}
