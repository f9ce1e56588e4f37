package render

import (
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Runtimes holds runtimes and snapshots by kind, namespace and name. The zero value is empty and ready for use. It
// keeps the added specs and does not change them.
type Runtimes struct {
	known     map[fieldpath.Object]*trainer.TrainingRuntimeSpec
	snapshots map[fieldpath.Object]*trainer.TrainingRuntimeSpec // by the TrainJob
}

// Add adds a runtime. It returns a finding for a duplicate kind, namespace and name, since the choice is ambiguous.
func (r *Runtimes) Add(id fieldpath.Object, spec *trainer.TrainingRuntimeSpec) *finding.Finding {
	if r == nil {
		r = &Runtimes{}
	}
	return add(&r.known, id, spec)
}

// AddSnapshot adds the runtime that the controller keeps for a TrainJob since its creation. Find prefers it to the
// runtime itself, whose later changes do not reach the job (Trainer v2.3.0 pkg/runtime/core snapshot.go). AddSnapshot
// returns a finding for a second snapshot of one TrainJob.
func (r *Runtimes) AddSnapshot(trainJob fieldpath.Object, spec *trainer.TrainingRuntimeSpec) *finding.Finding {
	if r == nil {
		r = &Runtimes{}
	}
	return add(&r.snapshots, trainJob, spec)
}

func add(to *map[fieldpath.Object]*trainer.TrainingRuntimeSpec, id fieldpath.Object, spec *trainer.TrainingRuntimeSpec) *finding.Finding {
	if (*to)[id] != nil {
		return &finding.Finding{
			Code: finding.CodeDuplicateObject, Severity: finding.Error, Object: id, Path: fieldpath.Fields("metadata", "name"),
			Message: fmt.Sprintf("%s is among the inputs twice", id),
			Remedy:  finding.Remedy{Text: "remove or rename one of the two, or leave one of the files out"},
		}
	}
	if *to == nil {
		*to = map[fieldpath.Object]*trainer.TrainingRuntimeSpec{}
	}
	(*to)[id] = spec
	return nil
}

// Find returns the runtime of a TrainJob: its snapshot, or else the runtime of that kind, namespace and name. If the
// runtime is missing, the finding lists the known runtimes. Another finding reports a reference to an object of
// another kind.
func (r *Runtimes) Find(job *trainer.TrainJob) (*trainer.TrainingRuntimeSpec, *finding.Finding) {
	if r == nil {
		r = &Runtimes{}
	}
	if job == nil {
		job = &trainer.TrainJob{}
	}
	ref := job.Spec.RuntimeRef
	missing := &finding.Finding{
		Code: finding.CodeNoRuntime, Severity: finding.Error, Object: ObjectOf(job),
		Path: fieldpath.Fields("spec", "runtimeRef", "name"),
	}
	id := RuntimeOf(job)
	group := trainerGroup
	if ref.APIGroup != nil {
		group = *ref.APIGroup
	}
	if group != trainerGroup || id.Kind != trainer.TrainingRuntimeKind && id.Kind != trainer.ClusterTrainingRuntimeKind {
		missing.Code, missing.Path = finding.CodeUnknownRuntime, fieldpath.Fields("spec", "runtimeRef", "kind")
		missing.Message = fmt.Sprintf("the Trainer has no runtimes of kind %q in group %q", id.Kind, group)
		missing.Remedy.Text = fmt.Sprintf("name a TrainingRuntime or a ClusterTrainingRuntime of group %s", trainerGroup)
		kinds := []string{trainer.TrainingRuntimeKind, trainer.ClusterTrainingRuntimeKind}
		if near := finding.Nearest(id.Kind, kinds); near != "" && near != id.Kind && group == trainerGroup {
			missing.Remedy.Do, missing.Remedy.Options, missing.Remedy.IsCertain = finding.SetValue, []string{near}, finding.IsClear(id.Kind, near, kinds)
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
		missing.Code, missing.Message = finding.CodeMissingField, "required: the cluster rejects a TrainJob that names no runtime"
		missing.Remedy.Text = "set spec.runtimeRef.name"
		if names := r.names(); len(names) > 0 {
			missing.Remedy.Text += " to a runtime, such as one that is there: " + strings.Join(names, ", ")
		}
		return nil, missing
	}
	missing.Message = fmt.Sprintf("the inputs hold no %s", id)
	missing.Remedy = finding.Remedy{Do: finding.Provide, Options: []string{id.Kind}, Text: r.help(id)}
	if near := r.near(id); near != "" {
		missing.Remedy.Do, missing.Remedy.Options, missing.Remedy.IsCertain = finding.SetValue, []string{near}, true
	}
	return nil, missing
}

// near returns the name of the known runtime of the same kind and namespace that a name clearly means, or "".
func (r *Runtimes) near(id fieldpath.Object) string {
	var names []string
	for known := range r.known {
		if known.Name == id.Name {
			return "" // probably of another kind
		}
		if known.Kind == id.Kind && known.Namespace == id.Namespace {
			names = append(names, known.Name)
		}
	}
	slices.Sort(names)
	near := finding.Nearest(id.Name, names)
	if near == "" || !finding.IsClear(id.Name, near, names) {
		return ""
	}
	return near
}

// names returns the known runtimes, sorted.
func (r *Runtimes) names() []string {
	names := make([]string, 0, len(r.known))
	for known := range r.known {
		names = append(names, known.String())
	}
	slices.Sort(names)
	return names
}

// help lists the known runtimes, the most likely one first. A program may add how to provide one.
func (r *Runtimes) help(id fieldpath.Object) string {
	names := r.names()
	if len(names) == 0 {
		return "give the runtime"
	}
	help := "name one that is there: " + strings.Join(names, ", ") + "; or give the runtime"
	near := finding.Nearest(id.String(), names)
	for _, name := range names {
		// Authors often forget the kind, and it becomes ClusterTrainingRuntime. So a runtime of the same name
		// precedes one of the same kind.
		if _, after, _ := strings.Cut(name, " "); after == id.Name || strings.HasSuffix(after, "/"+id.Name) {
			near = name
			break
		}
	}
	if near != "" {
		help = fmt.Sprintf("did you mean %s? %s", near, help)
	}
	return help
}
