package render

import (
	"fmt"
	"reflect"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/check"
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/legacy"
	"github.com/trainweld/trainweld/merge"
)

// Migration is what a TrainJob of Trainer 2.1 says in today's API.
type Migration struct {
	// TrainJob is the TrainJob of today, nil where there is none that says the same. It shares memory with
	// the one that was given, but for its patches.
	TrainJob *trainer.TrainJob
	// Proved says that both forms were rendered, and give the same JobSet.
	Proved bool
	// Findings are what is wrong with the old form, what today's API cannot say, and every field in which
	// the two JobSets differ.
	Findings finding.List
}

// Migrate says with one manager's patch what overrides say. The patch names each job once, in the
// order in which the overrides first name them, with what all of them make of it together; what had no
// effect is left out. The overrides are those of the TrainJob as they are written, without the API
// server's defaults.
//
// Where the input has a runtime, both forms are rendered and compared, and lists are put into the order in which
// they come out the same: Trainer 2.1 laid one override after the other over the runtime, each with its new
// items in front, and a patch comes at once. Without a runtime there is no proof, and lists are in the
// order in which they come out over a runtime that has none of their items.
//
// It refuses overrides that Trainer 2.1 refuses or that could not run, and those that take two patches to
// say: two mounts of one volume in one container. It changes none of its input.
func Migrate(in Input, overrides *legacy.Overrides, manager string) *Migration {
	if in.TrainJob == nil {
		in.TrainJob = &trainer.TrainJob{}
	}
	m := &Migration{}
	if len(in.TrainJob.Spec.RuntimePatches)+len(in.Patches) > 0 {
		f := overrides.Beside(len(in.TrainJob.Spec.RuntimePatches) > 0)
		f.Object = ObjectOf(in.TrainJob)
		m.Findings = finding.List{f}
		return m
	}
	stored := overrides.DeepCopy()
	DefaultPatches(stored.Patches())
	in.Layers = stored
	before := m.renderOld(in, stored)
	in.Layers = nil
	if m.Findings.Err() != nil {
		return m
	}
	// What a default of the API server says over an earlier override is lost where it is not written out.
	for _, said := range []*legacy.Overrides{overrides, stored} {
		job, found := migrated(in, said, manager)
		if found.Err() != nil {
			m.Findings = append(m.Findings, found...)
			return m
		}
		if in.Runtime == nil {
			m.TrainJob = job
			return m
		}
		after := renderNew(in, job)
		if found = worse(before, after); found != nil {
			m.refuse(overrides, found)
			return m
		}
		if found = differences(ObjectOf(in.TrainJob), before.JobSet, after.JobSet, manager); found == nil {
			m.TrainJob, m.Proved = job, true
			return m
		}
		if said == stored {
			m.Findings = append(m.Findings, found...)
		}
	}
	return m
}

// renderOld renders the old form where there is a runtime, and else only looks at the overrides. It reports
// what is wrong with the overrides, and why there is nothing to compare with; what else is wrong with the
// TrainJob is so in both forms.
func (m *Migration) renderOld(in Input, overrides *legacy.Overrides) *Output {
	var out *Output
	if in.Runtime != nil {
		out, _ = JobSet(in, Options{})
	} else {
		patches := overrides.Patches()
		out = &Output{Findings: append(overrides.Check(), check.Patches(skeleton(patches), patches)...)}
		for i := range out.Findings {
			f := &out.Findings[i]
			f.Object = ObjectOf(in.TrainJob)
			*f = overrides.Finding(*f)
		}
	}
	for _, f := range out.Findings {
		of := isOfOverrides(f)
		if f.Severity >= finding.Error && (of || in.Runtime != nil && out.JobSet == nil) || of && f.Severity >= finding.Warning && saidNothing(f) {
			m.Findings = append(m.Findings, f)
		}
	}
	return out
}

// isOfOverrides reports whether a finding is about the overrides: it stands at one, or says that one clashes.
func isOfOverrides(f finding.Finding) bool {
	for _, name := range legacy.Fields() {
		if f.Path.HasPrefix(fieldpath.Fields("spec", name)) {
			return true
		}
	}
	return slices.ContainsFunc(f.Claims, func(c engine.Claim) bool { _, ok := merge.OverrideOf(c.Layer); return ok })
}

// saidNothing reports whether a finding is about something that had no effect.
func saidNothing(f finding.Finding) bool {
	return f.Code == finding.CodeSaidNothing || f.Code == finding.CodeIgnoredMetadata
}

// renderNew renders the new form.
func renderNew(in Input, job *trainer.TrainJob) *Output {
	job = job.DeepCopy()
	DefaultPatches(job.Spec.RuntimePatches)
	out, _ := JobSet(Input{TrainJob: job, Runtime: in.Runtime}, Options{})
	return out
}

// worse are the errors of the new form that the old one does not have.
func worse(before, after *Output) finding.List {
	var found finding.List
	for _, f := range after.Findings {
		same := func(old finding.Finding) bool {
			return old.Code == f.Code && old.Message == f.Message && slices.Equal(old.Path, f.Path)
		}
		if f.Severity >= finding.Error && !slices.ContainsFunc(before.Findings, same) {
			found = append(found, f)
		}
	}
	return found
}

// refuse reports what is wrong with the new form alone, where the old one says it.
func (m *Migration) refuse(overrides *legacy.Overrides, found finding.List) {
	for _, f := range found {
		if f.Severity < finding.Error {
			continue
		}
		f.Path = sourceOf(overrides, f.Path)
		f.Claims = nil // they are the patch's, which is in no file
		f.Code, f.Message = finding.CodeNotMigrated, "one patch cannot say this: "+f.Message
		m.Findings = append(m.Findings, f)
	}
}

// sourceOf is where the last override says what the patch says at a path, or in the list that holds it: a
// position in the patch's list is none in an override's.
func sourceOf(overrides *legacy.Overrides, path fieldpath.Path) fieldpath.Path {
	depth := len(merge.PatchPath(""))
	if len(path) <= depth {
		return path
	}
	in := path[depth:]
	if at := slices.IndexFunc(in, func(s fieldpath.Step) bool { _, ok := s.Index(); return ok }); at >= 0 {
		in = in[:at]
	}
	if sources := overrides.SourcesOf(in); len(sources) > 0 {
		return sources[0]
	}
	return path
}

// migrated is the TrainJob with the patch.
func migrated(in Input, overrides *legacy.Overrides, manager string) (*trainer.TrainJob, finding.List) {
	job := *in.TrainJob
	patch, err := fold(in, overrides)
	if err != nil {
		// check.Patches reports what makes a merge fail; this is for what it may have missed.
		return nil, finding.List{{
			Code: finding.CodeNotMigrated, Severity: finding.Error, Object: ObjectOf(in.TrainJob), Path: fieldpath.Fields("spec", "podTemplateOverrides"),
			Message: overrides.Text(err.Error()), Remedy: finding.Remedy{Text: "mend the override that is named"},
		}}
	}
	if patch == nil {
		return &job, nil
	}
	job.Spec.RuntimePatches = []trainer.RuntimePatch{{
		Manager: manager, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: patch},
	}}
	if in.Runtime != nil {
		return &job, nil
	}
	// The patch must stand on its own: over a runtime that has just the jobs and containers that it names.
	var found finding.List
	for _, f := range check.Patches(skeleton(job.Spec.RuntimePatches), job.Spec.RuntimePatches) {
		if f.Severity >= finding.Error {
			f.Object = ObjectOf(in.TrainJob)
			found = append(found, f)
		}
	}
	m := &Migration{}
	m.refuse(overrides, found)
	return &job, m.Findings
}

// fold is the patch that says what the overrides say one after the other; nil where they say nothing.
func fold(in Input, overrides *legacy.Overrides) (*trainer.JobSetTemplatePatch, error) {
	// What the overrides make of jobs in which nothing is set is what they say.
	var bare, base trainer.JobSetTemplateSpec
	for _, name := range overrides.Targets() {
		bare.Spec.ReplicatedJobs = append(bare.Spec.ReplicatedJobs, jobset.ReplicatedJob{Name: name})
	}
	said, err := merge.Apply(&bare, overrides.PatchesOf(bare.Spec.ReplicatedJobs), merge.Options{})
	if err != nil {
		return nil, err
	}
	patch := &trainer.JobSetTemplatePatch{}
	if m := metadataOf(&said.Template.ObjectMeta); m != nil {
		patch.Metadata = m
	}
	if in.Runtime != nil {
		base = in.Runtime.Template
	} else {
		base = bare
	}
	over, err := merge.Apply(&base, overrides.PatchesOf(base.Spec.ReplicatedJobs), merge.Options{})
	if err != nil {
		return nil, err
	}
	for i := range said.Template.Spec.ReplicatedJobs {
		job := &said.Template.Spec.ReplicatedJobs[i]
		pod := podPatch(&job.Template.Spec.Template)
		if name := overrides.ServiceAccountName(job.Name); name != nil { // an empty one takes the runtime's away
			if pod.Spec == nil {
				pod.Spec = &trainer.PodSpecPatch{}
			}
			pod.Spec.ServiceAccountName = name
		}
		if reflect.DeepEqual(pod, &trainer.PodTemplatePatch{}) {
			continue
		}
		at := slices.IndexFunc(over.Template.Spec.ReplicatedJobs, func(j jobset.ReplicatedJob) bool { return j.Name == job.Name })
		if at >= 0 {
			order(pod, &base.Spec.ReplicatedJobs[at].Template.Spec.Template, &over.Template.Spec.ReplicatedJobs[at].Template.Spec.Template)
		}
		if patch.Spec == nil {
			patch.Spec = &trainer.JobSetSpecPatch{}
		}
		patch.Spec.ReplicatedJobs = append(patch.Spec.ReplicatedJobs, trainer.ReplicatedJobPatch{
			Name: job.Name, Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: pod}},
		})
	}
	if patch.Metadata == nil && patch.Spec == nil {
		return nil, nil
	}
	return patch, nil
}

func metadataOf(m *metav1.ObjectMeta) *metav1.ObjectMeta {
	if len(m.Labels)+len(m.Annotations) == 0 {
		return nil
	}
	return &metav1.ObjectMeta{Labels: m.Labels, Annotations: m.Annotations}
}

// podPatch is a patch that sets what the template sets, but for the service account's name, of which a template
// cannot say that it is empty.
func podPatch(t *corev1.PodTemplateSpec) *trainer.PodTemplatePatch {
	spec := trainer.PodSpecPatch{
		NodeSelector:     t.Spec.NodeSelector,
		Affinity:         t.Spec.Affinity,
		Tolerations:      t.Spec.Tolerations,
		Volumes:          t.Spec.Volumes,
		InitContainers:   containerPatches(t.Spec.InitContainers),
		Containers:       containerPatches(t.Spec.Containers),
		SchedulingGates:  t.Spec.SchedulingGates,
		ImagePullSecrets: t.Spec.ImagePullSecrets,
	}
	patch := &trainer.PodTemplatePatch{Metadata: metadataOf(&t.ObjectMeta)}
	if !reflect.DeepEqual(spec, trainer.PodSpecPatch{}) {
		patch.Spec = &spec
	}
	return patch
}

func containerPatches(containers []corev1.Container) []trainer.ContainerPatch {
	var patches []trainer.ContainerPatch
	for _, c := range containers {
		patches = append(patches, trainer.ContainerPatch{Name: c.Name, Env: c.Env, VolumeMounts: c.VolumeMounts})
	}
	return patches
}

// skeleton is a template that has just the jobs and containers which the patches name.
func skeleton(patches []trainer.RuntimePatch) *trainer.JobSetTemplateSpec {
	template := &trainer.JobSetTemplateSpec{}
	jobs := &template.Spec.ReplicatedJobs
	for _, patch := range patches {
		spec := patch.TrainingRuntimeSpec.Template.Spec
		if spec == nil {
			continue
		}
		for _, p := range spec.ReplicatedJobs {
			at := slices.IndexFunc(*jobs, func(j jobset.ReplicatedJob) bool { return j.Name == p.Name })
			if at < 0 {
				at = len(*jobs)
				*jobs = append(*jobs, jobset.ReplicatedJob{Name: p.Name})
			}
			if named := p.Template.Spec.Template.Spec; named != nil {
				pod := &(*jobs)[at].Template.Spec.Template.Spec
				pod.Containers = withNames(pod.Containers, named.Containers)
				pod.InitContainers = withNames(pod.InitContainers, named.InitContainers)
			}
		}
	}
	return template
}

func withNames(containers []corev1.Container, patches []trainer.ContainerPatch) []corev1.Container {
	for _, p := range patches {
		if !slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == p.Name }) {
			containers = append(containers, corev1.Container{Name: p.Name})
		}
	}
	return containers
}

// notSame is a field in which the two forms' JobSets differ.
func notSame(object fieldpath.Object, path fieldpath.Path, before, after any, manager string) finding.Finding {
	return finding.Finding{
		Code: finding.CodeMigratesOther, Severity: finding.Error, Object: object, Path: path,
		Claims:  []engine.Claim{{Layer: merge.OverrideLayer("all"), Value: before}, {Layer: engine.Manager(manager), Value: after}},
		Message: fmt.Sprintf("the patch makes another JobSet than the overrides in %s", path),
		Remedy:  finding.Remedy{Text: "write this field by hand, in the patch or in the runtime"},
	}
}
