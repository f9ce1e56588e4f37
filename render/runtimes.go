package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/nearest"
)

// Runtimes holds runtimes and snapshots by kind, namespace and name. The zero value is empty and
// ready for use. It keeps the added specs and does not change them.
type Runtimes struct {
	known     map[fieldpath.Object]*trainer.TrainingRuntimeSpec
	snapshots map[fieldpath.Object]*trainer.TrainingRuntimeSpec // by the TrainJob
	index     *runtimeIndex                                     // of known
}

// runtimeIndex finds the names of runtimes that are near to another name. It is made for the first
// missing runtime.
type runtimeIndex struct {
	once sync.Once
	all  nearest.Names // as kind, namespace and name
	// the names by kind and namespace, which are objects without a name
	of  map[fieldpath.Object]nearest.Names
	has map[string]fieldpath.Object // a runtime of each name, the first in order
}

// Add adds a runtime. It returns a finding for a duplicate kind, namespace and name, since the
// choice is ambiguous.
func (r *Runtimes) Add(id fieldpath.Object, spec *trainer.TrainingRuntimeSpec) *finding.Finding {
	if r == nil {
		r = &Runtimes{}
	}
	r.index = &runtimeIndex{}
	return add(&r.known, id, spec)
}

// AddSnapshot adds the runtime that the controller keeps for a TrainJob since its creation. Find
// prefers it to the runtime itself, whose later changes do not reach the job (Trainer v2.3.0
// pkg/runtime/core snapshot.go). AddSnapshot returns a finding for a second snapshot of one
// TrainJob.
func (r *Runtimes) AddSnapshot(trainJob fieldpath.Object,
	spec *trainer.TrainingRuntimeSpec) *finding.Finding {
	if r == nil {
		r = &Runtimes{}
	}
	return add(&r.snapshots, trainJob, spec)
}

func add(to *map[fieldpath.Object]*trainer.TrainingRuntimeSpec, id fieldpath.Object,
	spec *trainer.TrainingRuntimeSpec) *finding.Finding {
	if (*to)[id] != nil {
		return &finding.Finding{
			Code: codes.DuplicateObject, Severity: finding.Error, Object: id,
			Path:    fieldpath.Fields("metadata", "name"),
			Message: fmt.Sprintf("Duplicate value: %s", id),
			Remedy:  finding.Remedy{Text: "rename one of the two"},
		}
	}
	if *to == nil {
		*to = map[fieldpath.Object]*trainer.TrainingRuntimeSpec{}
	}
	(*to)[id] = spec
	return nil
}

// Find returns the runtime of a TrainJob: its snapshot, or else the runtime of that kind, namespace
// and name. If the runtime is missing, the finding lists the known runtimes. Another finding
// reports a reference to an object of another kind.
func (r *Runtimes) Find(job *trainer.TrainJob) (*trainer.TrainingRuntimeSpec, *finding.Finding) {
	if r == nil {
		r = &Runtimes{}
	}
	if job == nil {
		job = &trainer.TrainJob{}
	}
	ref := job.Spec.RuntimeRef
	missing := &finding.Finding{
		Code: codes.NoRuntime, Severity: finding.Error, Object: ObjectOf(job),
		Path: fieldpath.Fields("spec", "runtimeRef", "name"),
	}
	id := RuntimeOf(job)
	group := trainerGroup
	if ref.APIGroup != nil {
		group = *ref.APIGroup
	}
	if group != trainerGroup || id.Kind != trainer.TrainingRuntimeKind &&
		id.Kind != trainer.ClusterTrainingRuntimeKind {
		missing.Code, missing.Path = codes.UnknownRuntime,
			fieldpath.Fields("spec", "runtimeRef", "kind")
		missing.Message = fmt.Sprintf("the Trainer has no runtimes of kind %q in group %q", id.Kind,
			group)
		missing.Remedy.Text = fmt.Sprintf(
			"use a TrainingRuntime or a ClusterTrainingRuntime of group %s", trainerGroup)
		kinds := []string{trainer.TrainingRuntimeKind, trainer.ClusterTrainingRuntimeKind}
		if near := nearest.To(id.Kind, kinds); near != "" && near != id.Kind &&
			group == trainerGroup {
			missing.Remedy.Do, missing.Remedy.Options, missing.Remedy.IsCertain = finding.SetValue,
				[]string{near}, nearest.IsClear(id.Kind, near, kinds)
		}
		return nil, missing
	}
	if spec := r.snapshots[ObjectOf(job)]; spec != nil {
		return spec, nil
	}
	if spec := r.known[id]; spec != nil {
		return spec, nil
	}
	if ref.Name == "" {
		missing.Code, missing.Message = codes.MissingField, "Required value"
		missing.Remedy.Text = "set spec.runtimeRef.name"
		if names := r.indexed().all; names.Len() > 0 {
			missing.Remedy.Text += " to a known runtime: " + listed(names.Around(""), names.Len())
		}
		return nil, missing
	}
	missing.Message = fmt.Sprintf("Not found: %s", id)
	missing.Remedy = finding.Remedy{Do: finding.Provide, Options: []string{id.Kind},
		Text: r.help(id)}
	if near := r.near(id); near != "" {
		missing.Remedy.Do, missing.Remedy.Options, missing.Remedy.IsCertain = finding.SetValue,
			[]string{near}, true
	}
	return nil, missing
}

// indexed returns the index of the known runtimes.
func (r *Runtimes) indexed() *runtimeIndex {
	if r.index == nil {
		return &runtimeIndex{}
	}
	x := r.index
	x.once.Do(func() {
		var all []string
		of := map[fieldpath.Object][]string{}
		x.of, x.has = map[fieldpath.Object]nearest.Names{}, map[string]fieldpath.Object{}
		for _, known := range slices.SortedFunc(maps.Keys(r.known),
			func(a, b fieldpath.Object) int { return strings.Compare(a.String(), b.String()) }) {
			all = append(all, known.String())
			group := fieldpath.Object{Kind: known.Kind, Namespace: known.Namespace}
			of[group] = append(of[group], known.Name)
			if _, ok := x.has[known.Name]; !ok {
				x.has[known.Name] = known
			}
		}
		x.all = nearest.NewNames(all)
		for group, names := range of {
			x.of[group] = nearest.NewNames(names)
		}
	})
	return x
}

// near returns the name of the known runtime that a name clearly means, or "". The runtime has the
// same kind and namespace.
func (r *Runtimes) near(id fieldpath.Object) string {
	x := r.indexed()
	if _, ok := x.has[id.Name]; ok {
		return "" // probably of another kind
	}
	names := x.of[fieldpath.Object{Kind: id.Kind, Namespace: id.Namespace}]
	around := names.Around(id.Name)
	near := nearest.To(id.Name, around)
	if near == "" || !nearest.IsClear(id.Name, near, around) ||
		names.IsLong() && !strings.EqualFold(id.Name, near) {
		return ""
	}
	return near
}

// help names the known runtimes that are nearest, the most likely one first. A program may add how
// to provide one.
func (r *Runtimes) help(id fieldpath.Object) string {
	x := r.indexed()
	if x.all.Len() == 0 {
		return "add the runtime"
	}
	around := x.all.Around(id.String())
	near := ""
	if i := slices.IndexFunc(around, func(known string) bool {
		return nearest.To(id.Name, []string{known[strings.LastIndexAny(known, " /")+1:]}) != ""
	}); i >= 0 {
		near = around[i]
	}
	// Authors often forget the kind, and it becomes ClusterTrainingRuntime. So a runtime of the
	// same name precedes one of the same kind.
	if same, ok := x.has[id.Name]; ok {
		near = same.String()
		around = slices.Insert(slices.DeleteFunc(around, func(name string) bool {
			return name == near
		}), 0, near)
	}
	switch {
	case near == "":
		return fmt.Sprintf("reference a known one (%s), or add the runtime",
			listed(around, x.all.Len()))
	case x.all.Len() == 1:
		return fmt.Sprintf("did you mean %s? Otherwise add the runtime", near)
	}
	around = slices.DeleteFunc(around, func(name string) bool { return name == near })
	return fmt.Sprintf("did you mean %s? Otherwise reference another one (%s), or add the runtime",
		near, listed(around, x.all.Len()-1))
}

// listed joins the first of the names around another one. It says how many more of all there are.
func listed(around []string, all int) string {
	const most = 3
	named := around[:min(len(around), most)]
	if all == len(named) {
		return strings.Join(slices.Sorted(slices.Values(named)), ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(named, ", "), all-len(named))
}
