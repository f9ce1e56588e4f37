// Package legacy converts TrainJobs of the API of Trainer 2.1 to today's API. It also holds what
// Trainer 2.0 reads.
//
//	var old legacy.TrainJob
//	if err := yaml.UnmarshalStrict(data, &old); err != nil {
//		return err
//	}
//	job, overrides := old.Split()
//	out, err := render.JobSet(render.Input{TrainJob: job, Runtime: &runtime.Spec, Layers: overrides}, render.Options{})
//
// Trainer 2.0 and 2.1 had spec.labels and spec.annotations. Trainer 2.0 also had
// spec.podSpecOverrides, and 2.1 spec.podTemplateOverrides. Trainer 2.2 replaced them by
// spec.runtimePatches. The old API has these rules (Trainer v2.0.1 and v2.1.0
// pkg/runtime/core/trainingruntime.go):
//
//   - The entries of spec.labels and spec.annotations override those of the runtime's JobSet
//     template, key by key.
//   - Overrides merge into the Pod templates of their jobs in order, as strategic merge patches by
//     the struct tags of PodTemplateSpec. Only labels and annotations of their metadata count.
//     Overrides of 2.0 merge into the Pod's spec alone, by the struct tags of PodSpec, which are
//     the same.
//   - The policies and the TrainJob's own sections follow, as they do after patches.
//
// So [Overrides.Patches] converts an override to a patch that names each of its jobs. A patch would
// add a job that the runtime lacks, where the earlier releases ignored the override. Therefore
// [Overrides.PatchesOf] omits such jobs.
//
// Its first file to read is patches.go.
package legacy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// The overrides' patches need unique managers during the merge. [Layer] and [Overrides.Source]
// convert these back.
const (
	managerPrefix   = "pod-template-overrides.trainer.kubeflow.org/"
	metadataManager = managerPrefix + "metadata"
)

// Patches returns the overrides as patches, in the order of the merge: the labels and annotations,
// then each override. They share memory with the overrides. Their managers are reserved names; see
// [Layer].
func (o *Overrides) Patches() []trainer.RuntimePatch {
	return o.patches(func(string) bool { return true })
}

// PatchesOf returns the patches without jobs that the template lacks, which earlier releases
// ignored.
func (o *Overrides) PatchesOf(jobs []jobset.ReplicatedJob) []trainer.RuntimePatch {
	names := make(map[string]bool, len(jobs))
	for i := range jobs {
		names[jobs[i].Name] = true
	}
	return o.patches(func(name string) bool { return names[name] })
}

func (o *Overrides) patches(has func(job string) bool) []trainer.RuntimePatch {
	var patches []trainer.RuntimePatch
	if o != nil && len(o.Labels)+len(o.Annotations) > 0 {
		patches = append(patches, patchOf(metadataManager, &trainer.JobSetTemplatePatch{
			Metadata: &metav1.ObjectMeta{Labels: o.Labels, Annotations: o.Annotations},
		}))
	}
	list := o.list()
	for i := range list {
		override := &list[i]
		var jobs []trainer.ReplicatedJobPatch
		for _, name := range override.targets() {
			if has(name) {
				jobs = append(jobs, trainer.ReplicatedJobPatch{
					Name: name, Template: &trainer.JobTemplatePatch{
						Spec: &trainer.JobSpecPatch{Template: override.patch()}},
				})
			}
		}
		patches = append(
			patches, patchOf(managerPrefix+strconv.Itoa(i),
				&trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{ReplicatedJobs: jobs}}))
	}
	return patches
}

func patchOf(manager string, template *trainer.JobSetTemplatePatch) trainer.RuntimePatch {
	return trainer.RuntimePatch{
		Manager: manager, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: template}}
}

// targets returns the distinct names of the jobs. Earlier releases applied an override to a
// duplicate target once.
func (o *PodTemplateOverride) targets() []string {
	names := make([]string, len(o.TargetJobs))
	for i, job := range o.TargetJobs {
		names[i] = job.Name
	}
	return distinct(names)
}

// distinct keeps the first of equal names.
func distinct(names []string) []string {
	seen := make(map[string]bool, len(names))
	return slices.DeleteFunc(names, func(name string) bool {
		isDuplicate := seen[name]
		seen[name] = true
		return isDuplicate
	})
}

// Targets returns the distinct names of all target jobs, in the order of their first use.
func (o *Overrides) Targets() []string {
	var names []string
	list := o.list()
	for i := range list {
		names = append(names, list[i].targets()...)
	}
	return distinct(names)
}

// ServiceAccountNames returns the name that the last override sets for each job. A name may be
// empty. A job without one is missing.
func (o *Overrides) ServiceAccountNames() map[string]*string {
	names := map[string]*string{}
	for _, override := range o.list() {
		if override.Spec == nil || override.Spec.ServiceAccountName == nil {
			continue
		}
		for _, job := range override.TargetJobs {
			names[job.Name] = override.Spec.ServiceAccountName
		}
	}
	return names
}

// Layer converts the layer of an override's patch. It returns override/0 for the first override of
// Pods, and override/metadata for spec.labels and spec.annotations. It returns other layers
// unchanged.
func Layer(l merge.Owner) merge.Owner {
	if manager, ok := l.Manager(); ok {
		if name, ok := strings.CutPrefix(manager, managerPrefix); ok {
			return runtimepatch.OverrideLayer(name)
		}
	}
	return l
}

// The indexes of steps in the path of a patch's field. The path starts with
// .spec.runtimePatches[manager=""]. From templateAt on, it is the path in the template, such as
// .spec.replicatedJobs[name=""].template.spec.template.spec.
const (
	managerAt  = 2
	templateAt = 5
	jobAt      = templateAt + 2
	podAt      = jobAt + 4
)

// Source returns the path in the TrainJob for a path in a patch of [Overrides.Patches]. It returns
// other paths unchanged.
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
	if err != nil || i >= o.count() {
		return path
	}
	source := fieldpath.Fields("spec", o.field()).Append(fieldpath.Index(i))
	switch {
	case len(path) > podAt && !o.ofPodSpec():
		return source.Append(path[podAt:]...)
	case len(path) > podAt+1:
		// an override of 2.0 has the fields of the Pod's spec itself
		return source.Append(path[podAt+1:]...)
	case len(path) > podAt:
		return source
	}
	if len(path) > jobAt {
		_, job, _ := path[jobAt].Item()
		at := slices.IndexFunc(o.targetsOf(i), func(t TargetJob) bool { return t.Name == job })
		return source.Append(fieldpath.Field("targetJobs"), fieldpath.Index(max(at, 0)))
	}
	return source
}

// Claim converts a claim of a patch of [Overrides.Patches] to one of the override. It returns other
// claims unchanged.
func (o *Overrides) Claim(c merge.Claim) merge.Claim {
	c.Owner, c.At = Layer(c.Owner), o.Source(c.At)
	return c
}

// SourcesOf returns the paths where the TrainJob may set a field of the JobSet's template, the
// winner first. Callers check in the file whether a path is set.
func (o *Overrides) SourcesOf(path fieldpath.Path) []fieldpath.Path {
	var sources []fieldpath.Path
	for _, p := range slices.Backward(o.Patches()) {
		isMetadata := len(path) > 0 && path[0] == fieldpath.Field("metadata")
		if len(path) > 0 && isMetadata != (p.Manager == metadataManager) {
			continue
		}
		if len(path) > jobAt-templateAt && p.Manager != metadataManager {
			_, job, _ := path[jobAt-templateAt].Item()
			jobs := p.TrainingRuntimeSpec.Template.Spec
			if jobs == nil ||
				!slices.ContainsFunc(jobs.ReplicatedJobs, func(j trainer.ReplicatedJobPatch) bool {
					return j.Name == job
				}) {
				continue
			}
		}
		sources = append(sources, o.Source(runtimepatch.PatchPath(p.Manager).Append(path...)))
	}
	return sources
}

// Reach returns the paths in the template, one for each target job, that an override's path
// affects. It returns nil for other paths.
func (o *Overrides) Reach(path fieldpath.Path) []fieldpath.Path {
	const field = 3 // .spec.podTemplateOverrides[0].spec
	if len(path) < field || !path.HasPrefix(fieldpath.Fields("spec", o.field())) {
		return nil
	}
	i, ok := path[field-1].Index()
	if !ok || i >= o.count() {
		return nil
	}
	pod := fieldpath.Fields("template", "spec", "template")
	if o.ofPodSpec() {
		pod = pod.Append(fieldpath.Field("spec"))
	}
	at := func(job string) fieldpath.Path {
		return fieldpath.Fields("spec", "replicatedJobs").Append(fieldpath.Item("name", job))
	}
	var reached []fieldpath.Path
	for j, target := range o.targetsOf(i) {
		switch name, isField := stepAt(path, field).Field(); {
		case name == "targetJobs":
			if k, ok := stepAt(path, field+1).Index(); !ok || k == j {
				reached = append(reached, at(target.Name))
			}
		case isField && (o.ofPodSpec() || name == "metadata" || name == "spec"):
			reached = append(reached, at(target.Name).Append(pod...).Append(path[field:]...))
		}
	}
	return reached
}

// stepAt returns a step of a path, or the zero step behind its end.
func stepAt(path fieldpath.Path, i int) fieldpath.Step {
	if i < len(path) {
		return path[i]
	}
	return fieldpath.Step{}
}

// reserved matches the manager of a patch of [Overrides.Patches], or its layer.
var reserved = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(` + regexp.QuoteMeta(string(merge.Manager(""))) + `)?` +
		regexp.QuoteMeta(managerPrefix) + `(metadata|\d+)`)
})

// Text replaces the managers and layers of the overrides' patches in a finding's string by the
// overrides' names.
func (o *Overrides) Text(text string) string {
	if !strings.Contains(text, managerPrefix) {
		return text
	}
	return reserved().ReplaceAllStringFunc(text, func(found string) string {
		_, name, _ := strings.Cut(found, managerPrefix)
		i, err := strconv.Atoi(name)
		switch isLayer := !strings.HasPrefix(found, managerPrefix); {
		case err == nil && i >= o.count():
			return found
		case isLayer:
			return string(runtimepatch.OverrideLayer(name))
		case err == nil:
			return o.field() + "[" + name + "]"
		default:
			return "spec.labels and spec.annotations"
		}
	})
}
