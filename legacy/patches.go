// Package legacy answers how a TrainJob was written before: what it says in the API of Trainer 2.1, in the
// terms of today's.
//
//	var old legacy.TrainJob
//	if err := yaml.UnmarshalStrict(data, &old); err != nil {
//		return err
//	}
//	job, overrides := old.Split()
//	out, err := render.JobSet(render.Input{TrainJob: job, Runtime: &runtime.Spec, Layers: overrides}, render.Options{})
//
// Trainer 2.0 and 2.1 had spec.labels, spec.annotations and, from 2.1 on, spec.podTemplateOverrides where
// 2.2 has spec.runtimePatches. The rules of the old API (Trainer v2.1.0 pkg/runtime/core/trainingruntime.go):
//
//   - spec.labels and spec.annotations are laid over those of the runtime's JobSet template, key by key.
//   - Every override is laid over the Pod templates of the jobs that it names, one after the other, as a
//     strategic merge patch by the struct tags of PodTemplateSpec. Of its metadata only labels and
//     annotations count.
//   - The policies and the TrainJob's own sections come after that, as they do after patches.
//
// So an override is a patch of today that names each of its jobs, and [Overrides.Patches] makes it one. A
// patch of a job that the runtime lacks would add it, where an override was left aside: the patches are for
// the jobs that there are.
package legacy

import (
	"slices"
	"strconv"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// The overrides' patches need managers' names of their own while they are merged; [Layer] and
// [Overrides.Source] call them by what they are.
const (
	managerPrefix   = "pod-template-overrides.trainer.kubeflow.org/"
	metadataManager = managerPrefix + "metadata"
)

func overrideManager(i int) string { return managerPrefix + strconv.Itoa(i) }

// Patches are the overrides as patches, in the order in which they are laid over the template: the labels
// and annotations, then each override. They share memory with the overrides. Their managers are names that no
// manager has; see [Layer].
func (o *Overrides) Patches() []trainer.RuntimePatch {
	return o.patches(func(string) bool { return true })
}

// PatchesOf are the patches without those of jobs that the template lacks, which Trainer 2.1 left aside.
func (o *Overrides) PatchesOf(jobs []jobset.ReplicatedJob) []trainer.RuntimePatch {
	return o.patches(func(name string) bool {
		return slices.ContainsFunc(jobs, func(j jobset.ReplicatedJob) bool { return j.Name == name })
	})
}

func (o *Overrides) patches(has func(job string) bool) []trainer.RuntimePatch {
	var patches []trainer.RuntimePatch
	if o != nil && len(o.Labels)+len(o.Annotations) > 0 {
		patches = append(patches, patchOf(metadataManager, &trainer.JobSetTemplatePatch{
			Metadata: &metav1.ObjectMeta{Labels: o.Labels, Annotations: o.Annotations},
		}))
	}
	for i := range o.list() {
		override := &o.list()[i]
		var jobs []trainer.ReplicatedJobPatch
		for _, name := range override.targets() {
			if has(name) {
				jobs = append(jobs, trainer.ReplicatedJobPatch{
					Name: name, Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: override.patch()}},
				})
			}
		}
		patches = append(patches, patchOf(overrideManager(i), &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{ReplicatedJobs: jobs}}))
	}
	return patches
}

func patchOf(manager string, template *trainer.JobSetTemplatePatch) trainer.RuntimePatch {
	return trainer.RuntimePatch{Manager: manager, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: template}}
}

// targets are the names of the jobs, each once: an override that names one twice is laid over it once.
func (o *PodTemplateOverride) targets() []string {
	var names []string
	for _, job := range o.TargetJobs {
		if !slices.Contains(names, job.Name) {
			names = append(names, job.Name)
		}
	}
	return names
}

// Targets are the names of all jobs that overrides name, in the order in which they first do.
func (o *Overrides) Targets() []string {
	var names []string
	for i := range o.list() {
		for _, name := range o.list()[i].targets() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// ServiceAccountName is the name that the overrides set for a job: the last one, which may be empty; nil where none
// does.
func (o *Overrides) ServiceAccountName(job string) *string {
	for _, override := range slices.Backward(o.list()) {
		if override.Spec != nil && override.Spec.ServiceAccountName != nil && slices.Contains(override.targets(), job) {
			return override.Spec.ServiceAccountName
		}
	}
	return nil
}

// Layer is the layer that an override's patch stands for: override/0 for the first of
// spec.podTemplateOverrides, override/metadata for spec.labels and spec.annotations. Any other layer is itself.
func Layer(l engine.Layer) engine.Layer {
	if manager, ok := l.Manager(); ok {
		if name, ok := strings.CutPrefix(manager, managerPrefix); ok {
			return merge.OverrideLayer(name)
		}
	}
	return l
}

// Where steps stand in the path of a field of a patch: .spec.runtimePatches[manager=""], then, from
// templateAt on, the path in the template, such as .spec.replicatedJobs[name=""].template.spec.template.spec.
const (
	managerAt  = 2
	templateAt = 5
	jobAt      = templateAt + 2
	podAt      = jobAt + 4
)

// Source is where the TrainJob says what a patch of [Overrides.Patches] says at the path. Any other path is
// itself.
func (o *Overrides) Source(path fieldpath.Path) fieldpath.Path {
	if len(path) <= managerAt || !path.HasPrefix(fieldpath.Fields("spec", "runtimePatches")) {
		return path
	}
	_, manager, _ := path[managerAt].Item()
	name, ok := strings.CutPrefix(manager, managerPrefix)
	if !ok {
		return path
	}
	if manager == metadataManager {
		return fieldpath.Fields("spec").Append(path[min(len(path), templateAt+1):]...)
	}
	i, err := strconv.Atoi(name)
	if err != nil || i >= len(o.list()) {
		return path
	}
	source := fieldpath.Fields("spec", "podTemplateOverrides").Append(fieldpath.Index(i))
	if len(path) > podAt {
		return source.Append(path[podAt:]...)
	}
	if len(path) > jobAt {
		_, job, _ := path[jobAt].Item()
		at := slices.IndexFunc(o.list()[i].TargetJobs, func(t TargetJob) bool { return t.Name == job })
		return source.Append(fieldpath.Field("targetJobs"), fieldpath.Index(max(at, 0)))
	}
	return source
}

// Claim is a claim of a patch of [Overrides.Patches], as the override's. Any other claim is itself.
func (o *Overrides) Claim(c engine.Claim) engine.Claim {
	c.Layer, c.Source = Layer(c.Layer), o.Source(c.Source)
	return c
}

// SourcesOf are the places where the TrainJob may set a field of the JobSet's template, the one that wins
// first. Whether it sets the field there is for a reader of the file to see.
func (o *Overrides) SourcesOf(path fieldpath.Path) []fieldpath.Path {
	var sources []fieldpath.Path
	for _, p := range slices.Backward(o.Patches()) {
		if len(path) > 0 && (path[0] == fieldpath.Field("metadata")) != (p.Manager == metadataManager) {
			continue
		}
		if len(path) > jobAt-templateAt && p.Manager != metadataManager {
			_, job, _ := path[jobAt-templateAt].Item()
			jobs := p.TrainingRuntimeSpec.Template.Spec
			if jobs == nil || !slices.ContainsFunc(jobs.ReplicatedJobs, func(j trainer.ReplicatedJobPatch) bool { return j.Name == job }) {
				continue
			}
		}
		sources = append(sources, o.Source(merge.PatchPath(p.Manager).Append(path...)))
	}
	return sources
}

// Reach is where in the template an override acts that says something at a path of the TrainJob: in each of its
// jobs. It is nil for a path that is no override's.
func (o *Overrides) Reach(path fieldpath.Path) []fieldpath.Path {
	const field = 3 // .spec.podTemplateOverrides[0].spec
	if len(path) < field || !path.HasPrefix(fieldpath.Fields("spec", "podTemplateOverrides")) {
		return nil
	}
	i, ok := path[field-1].Index()
	if !ok || i >= len(o.list()) {
		return nil
	}
	at := func(job string) fieldpath.Path {
		return fieldpath.Fields("spec", "replicatedJobs").Append(fieldpath.Item("name", job))
	}
	var reached []fieldpath.Path
	for j, target := range o.list()[i].TargetJobs {
		switch name, _ := step(path, field).Field(); name {
		case "metadata", "spec":
			reached = append(reached, at(target.Name).Append(fieldpath.Fields("template", "spec", "template")...).Append(path[field:]...))
		case "targetJobs":
			if k, ok := step(path, field+1).Index(); !ok || k == j {
				reached = append(reached, at(target.Name))
			}
		}
	}
	return reached
}

// step is a step of a path, or none behind its end.
func step(path fieldpath.Path, i int) fieldpath.Step {
	if i < len(path) {
		return path[i]
	}
	return fieldpath.Step{}
}

// Origins are the places where overrides said what one manager's patch says at a path of the TrainJob, once it says it
// for all of them: for a field of the patch the fields, the one that wins first; for a job, in the order of the list,
// the overrides that are for it, with their targetJobs and the target. What only a patch has, has none.
func (o *Overrides) Origins(path fieldpath.Path) []fieldpath.Path {
	if len(path) <= templateAt {
		return nil
	}
	in := path[templateAt:]
	isMetadata := in[0] == fieldpath.Field("metadata")
	const job = jobAt - templateAt
	switch {
	case isMetadata && len(in) > 1, !isMetadata && len(in) > podAt-templateAt:
		return o.SourcesOf(in)
	case !isMetadata && len(in) == job+1:
		var places []fieldpath.Path
		for _, target := range slices.Backward(o.SourcesOf(in)) {
			places = append(places, target[:len(target)-2], target[:len(target)-1], target)
		}
		return places
	}
	return nil
}

// Text is a text of a finding with the names of the overrides' patches replaced by what they are.
func (o *Overrides) Text(text string) string {
	pairs := []string{string(engine.Manager(metadataManager)), string(merge.OverrideLayer("metadata")), metadataManager, "spec.labels and spec.annotations"}
	for i := range slices.Backward(o.list()) {
		pairs = append(pairs, string(engine.Manager(overrideManager(i))), string(merge.OverrideLayer(strconv.Itoa(i))),
			overrideManager(i), "podTemplateOverrides["+strconv.Itoa(i)+"]")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
