package diff

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/blameview"
	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/diff"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// This file finds the causes of the differences between the files and a cluster. In this order, it asks:
//
//  1. Does the rendering of the live TrainJob have the live value? Its patch, its field or its runtime is the cause.
//  2. Do the managed fields name a client other than the controller that made the object? That client is.
//  3. Does another release render the live value? It is.
//  4. Does no manager own the field? An admission webhook is the cause. The same holds if the dump has the object of which the
//     controller makes this one, since the controller copies its fields.

// The causes outside of a merge.
const (
	webhookLayer merge.Layer = "webhook"
	missingLayer merge.Layer = "missing"
	unknownLayer merge.Layer = "unknown"
	removedLayer merge.Layer = "unrecorded"

	editPrefix       = "edit/"       // a person's client
	applyPrefix      = "apply/"      // kubectl apply of other files
	writerPrefix     = "writer/"     // another client
	controllerPrefix = "controller/" // the controller that made the object
	releasePrefix    = "release/"
)

// attribute returns the cause of each change.
func (c *familyRun) attribute(at objectRef, o *live.Object, changes diff.Changes) map[string]causedField {
	causes := map[string]causedField{}
	add := func(change diff.Change, claim merge.Claim) {
		if claim.Value = any(merge.Presence{}); change.Kind == diff.Removed {
			claim.Value = nil
		}
		c.causes[claim.Layer] = true
		causes[change.Path.String()] = causedField{change.Path, claim}
	}
	rest := changes
	if r := c.liveRendering(); r != nil && at.kind != trainer.TrainJobKind {
		var yes diff.Changes
		yes, rest = explained(rest, r.object(at), o)
		for _, change := range yes {
			add(change, c.liveClaim(r, at, change))
		}
	}
	var open diff.Changes
	for _, change := range rest {
		if claim, ok := foreignWriter(o, change); ok {
			add(change, claim)
		} else {
			open = append(open, change)
		}
	}
	if at.kind != trainer.TrainJobKind && len(open) > 0 {
		var yes diff.Changes
		var of *release.Release
		yes, open, of = c.byRelease(at, o, open)
		for _, change := range yes {
			add(change, merge.Claim{Layer: merge.Layer(releasePrefix + of.Version)})
		}
	}
	for _, change := range open {
		add(change, c.remaining(at, o, change))
	}
	return causes
}

// liveRendering returns the rendering of the live TrainJob, or nil.
func (c *familyRun) liveRendering() *renderedTrainJob {
	if c.triedLive || c.family.TrainJob == nil {
		return c.ofLive
	}
	c.triedLive = true
	job, ok := c.family.TrainJob.Value.(*trainer.TrainJob)
	if !ok || c.family.TrainJob.Broken {
		return nil
	}
	j := workspace.Job{TrainJob: job, Document: c.family.TrainJob.Document}
	in, of := c.dump.Input, j
	if source := in.SourceOf(j); source == nil || source.Stock {
		in, of = c.liveRun.files.in, workspace.Job{TrainJob: job, Document: c.files.job.Document}
	} else {
		c.knowsRuntime = true
	}
	spec, _ := in.RuntimeOf(of)
	if spec == nil {
		return nil
	}
	opts := c.opts
	opts.OnConflict, opts.ForceManagers = render.Last, nil
	opts.Release = cmp.Or(opts.Release, c.files.job.Release())
	out, _ := render.JobSet(render.Input{TrainJob: job, Runtime: spec, Layers: j.Layers(), Earlier: in.Earlier(of)}, opts)
	if out == nil || out.JobSet == nil {
		return nil
	}
	c.ofLive = &renderedTrainJob{job: j, out: pipeline.Made{JobSet: out.JobSet, Companions: out.Companions, Owners: out.Owners}, opts: c.files.opts}
	c.ofLive.locate = func(claim merge.Claim) merge.Claim {
		if runtimepatch.FromRuntime(claim) {
			return in.Claim(of, claim)
		}
		return c.dump.Input.Claim(j, claim)
	}
	return c.ofLive
}

// liveClaim returns the claim of the live TrainJob, or of its runtime, on a changed field. If the live TrainJob leaves the field
// out, it returns the claim of the files.
func (c *familyRun) liveClaim(r *renderedTrainJob, at objectRef, change diff.Change) merge.Claim {
	if change.Kind == diff.Removed {
		r = c.files
	}
	owners, err := r.ownersOf(at, r.object(at))
	if err != nil {
		return merge.Claim{Layer: runtimepatch.TrainJobLayer}
	}
	claims := owners.Of(change.Path)
	if len(claims) == 0 {
		return merge.Claim{Layer: runtimepatch.TrainJobLayer}
	}
	claim := claims[len(claims)-1]
	for _, other := range claims {
		if _, isManager := other.Layer.Manager(); isManager {
			claim = other
		}
	}
	if claim.Position = (fieldpath.Position{}); change.Kind != diff.Removed {
		claim = r.locate(claim)
	}
	return claim
}

// foreignWriter returns the client that owns a field, if it is not the controller that made the object.
func foreignWriter(o *live.Object, change diff.Change) (merge.Claim, bool) {
	m := o.Managed()
	if m == nil || change.Kind == diff.Removed {
		return merge.Claim{}, false
	}
	for _, e := range slices.Backward(m.OwnersOf(change.Path)) {
		if !isCreator(m, e) {
			return merge.Claim{Layer: writerLayer(o, e), Position: e.Position}, true
		}
	}
	return merge.Claim{}, false
}

// ownerReferences are set by the controller that makes an object.
var ownerReferences = fieldpath.Fields("metadata", "ownerReferences")

// isCreator reports whether an entry belongs to the controller that made the object.
func isCreator(m *blameview.Managed, e blameview.Entry) bool {
	return slices.ContainsFunc(m.OwnersOf(ownerReferences), func(c blameview.Entry) bool { return c.Manager == e.Manager && c.Operation == e.Operation })
}

// writerLayer names the client of an entry.
func writerLayer(o *live.Object, e blameview.Entry) merge.Layer {
	applies := e.Manager == "kubectl-client-side-apply" || e.Manager == "kubectl" || e.Manager == "kubectl-create" || e.Manager == "kubectl-replace"
	switch {
	case len(o.Value.GetOwnerReferences()) == 0 && applies:
		return merge.Layer(applyPrefix + e.Manager)
	case isPersonal(e.Manager):
		return merge.Layer(editPrefix + e.Manager)
	default:
		return merge.Layer(writerPrefix + e.Manager)
	}
}

// isPersonal reports whether a manager is a program with which people change objects by hand.
func isPersonal(manager string) bool {
	name, _, _ := strings.Cut(manager, "/")
	name, _, _ = strings.Cut(strings.ToLower(name), "-")
	return slices.Contains([]string{"kubectl", "oc", "k9s", "lens", "headlamp", "dashboard", "rancher", "mozilla", "curl"}, name)
}

// remaining returns the cause of a change that no patch, no client and no release explains.
func (c *familyRun) remaining(at objectRef, o *live.Object, change diff.Change) merge.Claim {
	m := o.Managed()
	position := o.Position(change.Path)
	manager := managerOfChange(change)
	switch {
	case m == nil && manager != "" && at.kind == trainer.TrainJobKind:
		return merge.Claim{Layer: merge.Manager(manager), Position: position}
	case m == nil:
		return merge.Claim{Layer: unknownLayer}
	case change.Kind == diff.Removed:
		return merge.Claim{Layer: removedLayer}
	case len(m.OwnersOf(change.Path)) == 0, c.parentOf(at) != nil, at.kind == workspace.JobSetKind && c.knowsRuntime:
		return merge.Claim{Layer: webhookLayer, Position: position}
	}
	entries := m.OwnersOf(change.Path)
	return merge.Claim{Layer: merge.Layer(controllerPrefix + entries[0].Manager), Position: position}
}

// managerOfChange returns the manager of the only patch that a change of a TrainJob is about, or "".
func managerOfChange(change diff.Change) string {
	for _, step := range change.Path {
		if key, value, ok := step.Item(); ok && key == "manager" {
			return value
		}
	}
	list, _ := change.New.([]any)
	if last, _ := change.Path[len(change.Path)-1].Field(); last != "runtimePatches" || len(list) != 1 {
		return ""
	}
	patch, _ := list[0].(map[string]any)
	manager, _ := patch["manager"].(string)
	return manager
}

// creator returns the client that created an object.
func (run *liveRun) creator(o *live.Object) merge.Claim {
	m := o.Managed()
	if m == nil || len(m.Entries) == 0 {
		return merge.Claim{Layer: unknownLayer}
	}
	for _, e := range m.Entries {
		if isCreator(m, e) {
			return merge.Claim{Layer: merge.Layer(controllerPrefix + e.Manager), Position: e.Position}
		}
	}
	return merge.Claim{Layer: writerLayer(o, m.Entries[0]), Position: m.Entries[0].Position}
}

// releaseRun is the rendering of the files by one release.
type releaseRun struct {
	release release.Release
	in      *workspace.Input // nil before the first use
	inputs  map[fieldpath.Object]workspace.Job
	jobs    map[fieldpath.Object]*renderedTrainJob
}

// otherReleases yields the renderings of a TrainJob by other releases, the nearest release first.
func (c *familyRun) otherReleases() iter.Seq2[*release.Release, *renderedTrainJob] {
	own := c.files.opts.Release.Or().Index()
	if c.releases == nil {
		for _, r := range release.Known() {
			c.releases = append(c.releases, &releaseRun{release: r})
		}
	}
	return func(yield func(*release.Release, *renderedTrainJob) bool) {
		for distance := 1; distance < len(c.releases); distance++ {
			for _, i := range []int{own - distance, own + distance} {
				if i < 0 || i >= len(c.releases) {
					continue
				}
				if r := c.releases[i].render(c.liveRun, c.family.ID); r != nil && !yield(&c.releases[i].release, r) {
					return
				}
			}
		}
	}
}

// render renders a TrainJob of the files, or returns nil if the release rejects it.
func (s *releaseRun) render(run *liveRun, id fieldpath.Object) *renderedTrainJob {
	if s.in == nil {
		flags := run.flags.Flags
		flags.Release = &s.release
		s.in, s.jobs, s.inputs = workspace.Read(run.source, flags), map[fieldpath.Object]*renderedTrainJob{}, map[fieldpath.Object]workspace.Job{}
		for _, j := range s.in.Jobs {
			s.inputs[render.ObjectOf(j.TrainJob)] = j
		}
	}
	if r, known := s.jobs[id]; known {
		return r
	}
	s.jobs[id] = nil
	j, known := s.inputs[id]
	if !known || slices.ContainsFunc(j.Document.Findings, func(f finding.Finding) bool { return f.Severity >= finding.Error }) {
		return nil // the release loses fields of the TrainJob
	}
	opts := run.opts
	opts.Release = &s.release
	if _, out := pipeline.TrainJob(s.in, j, opts); out.JobSet != nil {
		s.jobs[id] = &renderedTrainJob{job: j, out: out, opts: render.PodsOptions{JobsOptions: render.JobsOptions{Release: &s.release, Stored: true}}}
	}
	return s.jobs[id]
}

// byRelease splits changes: another release explains the first ones, and not the others. It takes the release that explains most. Of a
// release that made the object, most differences are there: a few in common are an accident.
func (c *familyRun) byRelease(at objectRef, o *live.Object, changes diff.Changes) (yes, no diff.Changes, of *release.Release) {
	no = changes
	for r, rendering := range c.otherReleases() {
		made := rendering.object(at)
		explains, rest := explained(changes, made, o)
		if len(explains) <= len(yes) {
			continue
		}
		own, err := diff.Compare(live.Plain(c.files.object(at)), live.Plain(made), diff.Options{})
		if err == nil && 2*len(explains) >= len(own) {
			yes, no, of = explains, rest, r
		}
	}
	return yes, no, of
}

// writtenAt returns the places of changed fields in the TrainJob or the JobSet of the files.
func (c *familyRun) writtenAt(changes diff.Changes) *diff.Owners {
	document, layer := c.files.job.Document, runtimepatch.TrainJobLayer
	if c.files.job.TrainJob == nil {
		layer = runtimepatch.JobSetLayer
	}
	return diff.OwnersOfFields(func(yield func(fieldpath.Path, []merge.Claim) bool) {
		for _, change := range changes {
			claim := merge.Claim{Layer: layer, Value: merge.Presence{}, Position: document.Position(change.Path)}
			if !document.Has(change.Path) {
				claim.Position = fieldpath.Position{}
			}
			if !yield(change.Path, []merge.Claim{claim}) {
				return
			}
		}
	}, nil)
}

// reasons explains the causes.
func (run *liveRun) reasons() map[merge.Layer]comparison.Reason {
	reasons := map[merge.Layer]comparison.Reason{}
	for layer := range run.causes {
		reasons[layer] = comparison.Reason{Text: reasonOf(layer)}
	}
	return reasons
}

// reasonOf returns the reason of a cause.
func reasonOf(layer merge.Layer) string {
	name := string(layer)
	version, isRelease := strings.CutPrefix(name, releasePrefix)
	_, isManager := layer.Manager()
	switch {
	case isManager:
		return "its patch in the live TrainJob differs from the files"
	case layer == runtimepatch.TrainJobLayer:
		return "a field of the live TrainJob differs"
	case layer == runtimepatch.RuntimeLayer:
		return "the runtime of the cluster differs"
	case layer == webhookLayer:
		return "an admission webhook: no manager owns the value, or the controller sends another one"
	case layer == missingLayer:
		return "the cluster lacks the object"
	case layer == unknownLayer:
		return "no patch, manager or release explains it"
	case layer == removedLayer:
		return "managed fields do not record who removes a field"
	case isRelease:
		return "Trainer " + version + " renders this value"
	case strings.HasPrefix(name, editPrefix):
		return "edited by hand"
	case strings.HasPrefix(name, applyPrefix):
		return "applied from other files"
	case strings.HasPrefix(name, writerPrefix):
		return "the managed fields name this client"
	case strings.HasPrefix(name, controllerPrefix):
		return "the controller sends it: a webhook, or a runtime that the dump lacks"
	default:
		return "follows from the live TrainJob"
	}
}
