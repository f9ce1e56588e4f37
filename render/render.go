// Package render computes the objects that the cluster creates from a TrainJob and its runtime.
//
//	render.DefaultTrainJob(job, nil)
//	render.DefaultRuntime(&runtime.Spec, nil)
//	out, err := render.JobSet(render.Input{TrainJob: job, Runtime: &runtime.Spec}, render.Options{})
//	if err != nil {
//		return err // every reason why the cluster would reject it, and every conflict
//	}
//	fmt.Println(out.JobSet.Name)
//
// The stages, each in a file of its own:
//
//	check.Patches        checks of the patches before the merge
//	runtimepatch.Apply          the runtime's template and the managers' patches
//	conflict.Find        conflicts between managers
//	render/mlpolicy        counts, and the writes of the runtime's policies
//	build.go             the writes of the TrainJob's own sections: the JobSet
//	companions.go        the ConfigMaps, Secrets and PodGroups of the JobSet
//	internal/defaults    the API server's defaults
//	jobs.go              the JobSet controller's Jobs and Service
//	pods.go              the Job controller's Pods
//	owners.go            the layers that set the fields of Jobs and Pods
//
// A TrainJob of Trainer 2.1 comes with its layers. Migrate converts it to today's API (migrate.go).
//
// Package internal/children makes the Jobs, the Service and the Pods. Package internal/migration
// makes the patch of Migrate. Package internal/patched finds the parts of a runtime that patches
// name.
//
// Every function is pure: it uses no clock, no randomness and no environment.
//
// Its first file to read is render.go.
package render

import (
	"errors"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/defaults"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// JobSet renders a TrainJob to the JobSet that the controller of the release applies. It does not
// change its input. The error is a finding.List with every finding of severity Error. The output is
// never nil and holds all findings. If the controller would crash, or fail on every retry, a
// finding reports it and Objects.JobSet is nil.
func JobSet(in Input, opts Options) (*Objects, error) { return Merge(in, opts).JobSet() }

// Merging is a rendering whose patches are merged, and whose policies have not run yet. The
// Trainer's webhook judges this state.
type Merging struct {
	// Result is the merged template with its owners. It is nil if the cluster merges nothing.
	// JobSet takes it over.
	Result *runtimepatch.Result
	// Decisions are the conflicts that ForceManagers decided.
	Decisions []conflict.Decision

	renderer
	opts      Options
	all       []trainer.RuntimePatch // of all managers
	remaining []trainer.RuntimePatch // by the decisions
	reached   []trainer.RuntimePatch // by the merge
	rejected  bool                   // before the merge
	checked   finding.List           // of the patches
	err       error                  // of the merge
}

// Merge renders a TrainJob up to the merge of its patches. It does not change its input.
func Merge(in Input, opts Options) *Merging {
	m := &Merging{renderer: newRenderer(in, opts.Release), opts: opts}
	m.dropUnsupportedFields()
	var ok bool
	if m.all, m.remaining, m.Decisions, ok = m.resolvePatches(opts); !ok {
		m.rejected = true
		return m
	}
	template := &m.in.Runtime.Template
	trees := runtimepatch.ReadTrees(template, m.all)
	m.checked = check.Trees(trees, template, m.all)
	if m.Decisions != nil {
		trees = runtimepatch.ReadTrees(template, m.remaining)
		m.checked = still(m.checked, check.Trees(trees, template, m.remaining))
	}
	m.reached = Applicable(m.release, template, m.remaining)
	applied := m.mergeOptions()
	applied.Trees = trees
	m.Result, m.err = runtimepatch.Apply(template, m.reached, applied)
	return m
}

// JobSet goes on from the merge, once. It returns the same as the function JobSet for the input.
func (m *Merging) JobSet() (*Objects, error) {
	if m == nil || m.out == nil {
		return JobSet(Input{}, Options{})
	}
	if !m.rejected {
		m.render()
		var all codes.Report
		all.Add(m.out.Findings...)
		m.out.Findings = all.List()
	}
	return m.out, m.out.Findings.Err()
}

// dropUnsupportedFields removes fields from the runtime that the JobSet of the release lacks, so
// that nobody owns them.
func (r *renderer) dropUnsupportedFields() {
	if behaviour := r.release.JobSet; !behaviour.GroupLabels || !behaviour.Claims {
		runtime := *r.in.Runtime
		runtime.Template.Spec.ReplicatedJobs = slices.Clone(runtime.Template.Spec.ReplicatedJobs)
		defaults.Known(&runtime.Template.Spec, behaviour)
		r.in.Runtime = &runtime
	}
}

func (m *Merging) render() {
	merged, opts := m.Result, m.opts
	m.checkLayers()
	m.reportChecked(func(f finding.Finding) bool {
		return opts.OnConflict == Last && f.Code == codes.OneMountPath && m.err == nil &&
			keepsLastMount(&merged.Template, f.Path)
	})
	m.checkEnv()
	if m.err != nil {
		m.report(m.noMerge(m.err))
		return
	}
	m.conflicts(merged, opts.OnConflict)
	for _, f := range runtimepatch.Warnings(&m.in.Runtime.Template, merged) {
		f.Object = m.trainJob()
		m.report(f)
	}
	m.build(merged, opts)
	m.shadowed(merged.History)
	if m.out.JobSet != nil {
		m.setOwners(merged, opts.As)
	}
}

// noMerge returns the finding on a failed merge. The Trainer's webhook then crashes, and so rejects
// the TrainJob, whatever check.Patches reports on the patch.
func (r *renderer) noMerge(err error) finding.Finding {
	f := finding.Finding{
		Code: codes.NoMerge, Severity: finding.Error, Object: r.trainJob(),
		Path:    fieldpath.Fields("spec", "runtimePatches"),
		Message: err.Error(), Remedy: finding.Remedy{Text: "fix the manager's patch"},
	}
	if failed := (*runtimepatch.PatchError)(nil); errors.As(err, &failed) {
		f.Path = runtimepatch.PatchPath(failed.Manager).Append(failed.Path...)
		f.Message = fmt.Sprintf(
			"the cluster fails to merge this patch and rejects the TrainJob: %s", failed.Err)
		f.Remedy.Text = "fix this field of the patch"
	}
	return f
}

// patches returns all patches in the order of the merge. A release with overrides reads none of the
// TrainJob's.
func (r *renderer) patches() []trainer.RuntimePatch {
	own := r.in.TrainJob.Spec.RuntimePatches
	if r.release.Overrides != release.RuntimePatches && r.in.Layers == nil {
		own = nil
	}
	if len(r.in.Patches) == 0 {
		return own
	}
	return slices.Concat(own, r.in.Patches)
}

// resolvePatches returns all patches, the patches to merge, and the decisions of force. It returns
// false if the input has both patches and layers, or patches that the release does not read.
func (r *renderer) resolvePatches(opts Options) (patches, left []trainer.RuntimePatch,
	decisions []conflict.Decision, ok bool) {
	patches = r.patches()
	if l := r.in.Layers; l != nil {
		if len(patches) > 0 {
			f := l.Beside(len(r.in.TrainJob.Spec.RuntimePatches) > 0)
			f.Object = r.trainJob()
			r.report(f)
		}
		return l.Patches(), l.PatchesOf(r.in.Runtime.Template.Spec.ReplicatedJobs), nil,
			len(patches) == 0
	}
	if len(patches) > 0 && r.release.Overrides != release.RuntimePatches {
		r.report(finding.Finding{
			Code: codes.TwoAPIs, Severity: finding.Error, Object: r.trainJob(),
			Path: fieldpath.Fields("spec"),
			Message: fmt.Sprintf(
				"patches cannot be applied to the TrainJob: Trainer %s reads spec.%s instead",
				r.release.Name, r.release.Overrides),
			Remedy: finding.Remedy{
				Text: "remove the patches"},
		})
		return nil, nil, nil, false
	}
	left, decisions = r.force(prune(patches), opts.ForceManagers)
	return patches, left, decisions, true
}

// checkLayers reports the problems of the layers that do not depend on the runtime.
func (r *renderer) checkLayers() {
	if r.in.Layers == nil {
		return
	}
	for _, f := range r.in.Layers.Check() {
		if f.Code == codes.DuplicateItem && !r.release.Rules.Has(release.PatchedOnce) {
			continue // a job that is a target twice
		}
		f.Object = r.trainJob()
		r.report(f)
	}
}

// force lets managers win, and returns the remaining patches. If it fails, it returns the patches
// unchanged, and the merge reports the error.
func (r *renderer) force(patches []trainer.RuntimePatch,
	managers []string) ([]trainer.RuntimePatch, []conflict.Decision) {
	if len(managers) == 0 {
		return patches, nil
	}
	left, opts, decisions, err := runtimepatch.ForceIn(&r.in.Runtime.Template, patches,
		r.mergeOptions(), managers...)
	if err != nil {
		return patches, nil
	}
	r.merging = &opts
	return left, decisions
}

// still removes from the findings on all patches the errors of claims that gave way to a manager,
// which those on the remaining patches lack.
func still(found, remaining finding.List) finding.List {
	var left codes.Report
	left.Add(remaining...)
	return slices.DeleteFunc(found, func(f finding.Finding) bool {
		return f.Severity == finding.Error && !left.Has(codes.KeyOf(f))
	})
}

// reportChecked reports the problems of the patches, then the decisions of force. It lowers the
// severity to a warning if harmless accepts the finding.
func (m *Merging) reportChecked(harmless func(finding.Finding) bool) {
	r := &m.renderer
	for _, f := range m.checked {
		if harmless(f) {
			f.Severity = finding.Warning
		}
		if f.Object.Kind == trainer.TrainJobKind {
			f.Object = r.trainJob()
		} else {
			f.Object = r.runtime()
		}
		if f.Code == codes.UnknownJob && r.release.MergeRoot != release.JobSetRoot {
			f.Message = r.unreached(f.Path)
		}
		r.report(f)
	}
	r.decided(m.Decisions)
}

// unreached states how a release whose merge adds no jobs treats a patch of a job that the runtime
// lacks.
func (r *renderer) unreached(path fieldpath.Path) string {
	_, name, _ := path[len(path)-1].Item()
	effect := "does not merge the patch of it"
	if r.release.Rules.Has(release.PatchedJobsExist) {
		effect = "rejects the TrainJob"
	}
	return fmt.Sprintf("the runtime has no replicated job %q; Trainer %s %s", name, r.release.Name,
		effect)
}

// setOwners turns the owners of the merge into the owners of the JobSet.
func (r *renderer) setOwners(merged *runtimepatch.Result, as View) {
	owners, template, js := merged.History, &merged.Template, r.out.JobSet
	template.ObjectMeta = metav1.ObjectMeta{Name: js.Name, Namespace: js.Namespace,
		Labels: js.Labels, Annotations: js.Annotations}
	for _, field := range []string{"name", "namespace"} {
		path, value := fieldpath.Fields("metadata", field), js.Name
		if field == "namespace" {
			value = js.Namespace
		}
		r.record(runtimepatch.TrainJobLayer, merge.Origin{Path: path}, path, nil, value)
	}
	if as == Stored {
		owners.Within(fieldpath.Fields("spec")).Record(runtimepatch.DefaultLayer, template.Spec,
			js.Spec, nil)
	}
	template.Spec = js.Spec
	if r.in.Layers != nil {
		owners.Rename(r.in.Layers.Claim)
	}
	r.out.History = owners
}

// Conflicts returns the conflicts of a TrainJob's managers: overlaps, unions, and a warning for
// each conflict that Options.ForceManagers decided. Conflicts runs no other check of JobSet, and
// reads only Release, ForceManagers and OnConflict. If the patches of a manager fail to merge, it
// returns the error and compares the other managers. It does not change its input.
func Conflicts(in Input, opts Options) finding.List {
	r, merged, _ := patchesMerged(in, opts)
	if merged == nil {
		return r.out.Findings
	}
	r.conflicts(merged, opts.OnConflict)
	return r.out.Findings
}

// patchesMerged merges the patches of all managers. It returns the merge, nil if none succeeds, and
// the merged patches. The renderer has the findings.
func patchesMerged(in Input,
	opts Options) (*renderer, *runtimepatch.Result, []trainer.RuntimePatch) {
	made := newRenderer(in, opts.Release)
	r := &made
	r.dropUnsupportedFields()
	_, left, decisions, ok := r.resolvePatches(opts)
	if !ok {
		return r, nil, nil
	}
	merged, left, decisions := r.mergeable(left, decisions, opts)
	if merged != nil {
		r.decided(decisions)
	}
	return r, merged, left
}

// mostUnmergeable is the maximum number of managers whose patches Conflicts skips. Each costs one
// more merge.
const mostUnmergeable = 8

// mergeable skips and reports the patches that fail to merge, and merges the others. It returns the
// merge, nil if none succeeds, the merged patches, and the decisions of force.
func (r *renderer) mergeable(left []trainer.RuntimePatch, decisions []conflict.Decision,
	opts Options) (*runtimepatch.Result, []trainer.RuntimePatch, []conflict.Decision) {
	apply := func() (*runtimepatch.Result, error) {
		return runtimepatch.Apply(&r.in.Runtime.Template,
			Applicable(r.release, &r.in.Runtime.Template, left), r.mergeOptions())
	}
	merged, err := apply()
	for range mostUnmergeable {
		failed := (*runtimepatch.PatchError)(nil)
		if !errors.As(err, &failed) {
			break
		}
		r.report(r.noMerge(err))
		left, decisions = r.force(
			slices.DeleteFunc(slices.Clone(left), func(p trainer.RuntimePatch) bool {
				return p.Manager == failed.Manager
			}), opts.ForceManagers)
		merged, err = apply()
	}
	if err != nil {
		r.report(r.noMerge(err))
		return nil, nil, nil
	}
	return merged, left, decisions
}
