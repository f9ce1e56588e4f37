package workspace

import (
	"encoding/json"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Locator finds the line of a field: in a TrainJob, a patch or a runtime.
type Locator struct {
	settings *Settings
	catalog  *Catalog
	// NoNotes omits the notes of rendering. A note's position needs another parse of its file,
	// which is too slow for notes that stay hidden.
	NoNotes bool
}

// Locate sets the severities of the findings of a TrainJob by its policy. It sets the positions of
// the findings and of their claims. It returns the findings that remain, in the given list.
func (l *Locator) Locate(j Job, findings finding.List) finding.List {
	rules := l.settings.rules[j.Document.File]
	for i := range findings {
		if findings[i].Code == codes.ImageName {
			l.settings.NoteImages(l.fileOf(j, findings[i]), findings[i:i+1])
		}
	}
	findings = l.settings.rate(rules, findings)
	if l.NoNotes {
		findings = slices.DeleteFunc(findings, func(f finding.Finding) bool {
			return f.Severity == finding.Note && !codes.AssumesRuntime(f)
		})
	}
	for i := range findings {
		f := &findings[i]
		if f.Code == codes.IdlePatch && rules != nil && len(f.Path) > 0 {
			_, manager, _ := f.Path[len(f.Path)-1].Item()
			f.Remedy.IsCertain = f.Remedy.IsCertain && !rules.Requires(j.TrainJob, manager)
		}
		for c := range f.Claims {
			// a rule and an extended patch have theirs
			if claim := &f.Claims[c]; claim.Position == (fieldpath.Position{}) {
				*claim = l.Claim(j, *claim)
			}
		}
		if f.Code == codes.Suspended && j.TrainJob.Labels[render.QueueLabel] != "" {
			f.Remedy.Text = "wait for the queue: Kueue resumes the job when it admits it"
		}
		if f.Position != (fieldpath.Position{}) {
			continue
		}
		f.Position = l.position(j, *f)
	}
	return findings
}

// fileOf returns the file that sets the value of a finding, as it was read: of the TrainJob, of its
// runtime, or of a further patch.
func (l *Locator) fileOf(j Job, f finding.Finding) string {
	if len(f.Claims) == 0 {
		return j.Document.File
	}
	claim := f.Claims[len(f.Claims)-1]
	if source := l.catalog.SourceOf(j); source != nil && runtimepatch.FromRuntime(claim) {
		return source.Document.File
	}
	name, isManager := claim.Owner.Manager()
	isOwn := func(p trainer.RuntimePatch) bool { return p.Manager == name }
	if isManager && !slices.ContainsFunc(j.Spec.RuntimePatches, isOwn) {
		for _, p := range l.settings.patchesFor(j) {
			if isOwn(p.Patch) {
				return p.Document.File
			}
		}
	}
	return j.Document.File
}

// position returns the position of a finding whose claims have positions. A finding on a generated
// object gets the position of the last claim, else the position of the TrainJob's name.
func (l *Locator) position(j Job, f finding.Finding) fieldpath.Position {
	if f.Code == codes.UnknownJob {
		f.Path = toReplicatedJob(f.Path) // the cluster reports a field that no file sets
	}
	if IsRuntime(f.Object) {
		return l.RuntimePosition(j, f.Path)
	}
	if at := LastPlace(disputed(f)); at != (fieldpath.Position{}) {
		return at
	}
	switch suspend := fieldpath.Fields("spec", "suspend"); {
	case f.Object.Kind == JobSetKind && f.Path.String() == suspend.String() &&
		j.Document.Has(suspend):
		return j.Document.Position(suspend) // which the JobSet copies
	case f.Object.Kind == JobSetKind ||
		f.Path.HasPrefix(fieldpath.Fields("spec", "replicatedJobs")):
		return l.resultPosition(j, f.Path)
	case f.Object.Kind == trainer.TrainJobKind:
		return l.jobPosition(j, f.Path)
	default:
		return j.Document.Position(fieldpath.Fields("metadata", "name"))
	}
}

// toReplicatedJob cuts a path behind the item of replicatedJobs.
func toReplicatedJob(path fieldpath.Path) fieldpath.Path {
	for i := range path {
		if path[i] == fieldpath.Field("replicatedJobs") && i+1 < len(path) {
			return path[:i+2]
		}
	}
	return path
}

// resultPosition returns the source of a JobSet's field: the last patch that sets it, or the
// runtime's template. Otherwise it returns the position of the TrainJob's name.
func (l *Locator) resultPosition(j Job, path fieldpath.Path) fieldpath.Position {
	for _, p := range slices.Backward(l.settings.patchesFor(j)) {
		if at := p.Base.Append(runtimepatch.PatchPath(p.Patch.Manager)[patchDepth:]...).Append(
			path...); p.Document.Has(at) {
			return p.Document.Position(at)
		}
	}
	for _, p := range slices.Backward(j.Spec.RuntimePatches) {
		if at := runtimepatch.PatchPath(p.Manager).Append(path...); j.Document.Has(at) {
			return j.Document.Position(at)
		}
	}
	if o := j.Document.Overrides; o != nil {
		for _, at := range o.SourcesOf(path) {
			if j.Document.Has(at) {
				return j.Document.Position(at)
			}
		}
	}
	if at := fieldpath.Fields("spec", "template").Append(path...); l.runtimeHas(j, at) {
		return l.RuntimePosition(j, at)
	}
	return j.Document.Position(fieldpath.Fields("metadata", "name"))
}

// disputed returns the claims that a finding is about. It omits the layer that shadows the others.
func disputed(f finding.Finding) []merge.Claim {
	if len(f.Claims) == 0 || f.Code != codes.Shadowed {
		return f.Claims
	}
	last := f.Claims[len(f.Claims)-1].Owner
	return slices.DeleteFunc(slices.Clone(f.Claims), func(c merge.Claim) bool {
		return c.Owner == last
	})
}

// Origin returns the result of Claim, but no position for a runtime's default from the API server.
// Claim would return the position of the nearest field in the file.
func (l *Locator) Origin(j Job, c merge.Claim) merge.Claim {
	if c.Owner == runtimepatch.RuntimeLayer && !l.runtimeHas(j, c.At) {
		return c
	}
	return l.Claim(j, c)
}

// History returns the result of Origin, behind the values that the field had in the sources of a
// build before, as claims of the same owner. A value that was computed has no earlier ones.
func (l *Locator) History(j Job, c merge.Claim) []merge.Claim {
	located := l.Origin(j, c)
	if len(c.At) == 0 || located.Position == c.Position {
		return []merge.Claim{located}
	}
	d, at := l.jobPlace(j, c.At)
	if source := l.catalog.SourceOf(j); runtimepatch.FromRuntime(c) && source != nil {
		d, at = source.place(c.At)
	}
	history := d.History(at)
	last := len(history) - 1
	if _, isPresence := located.Value.(merge.Presence); last < 1 || isPresence ||
		asText(history[last].Value) != asText(located.Value) {
		return []merge.Claim{located}
	}
	for i := range history {
		history[i].Owner, history[i].At = located.Owner, located.At
	}
	history[last] = located
	return history
}

// asText returns a value as JSON without quotes: a variable of the environment has a number as
// text.
func asText(value any) string {
	text, _ := json.Marshal(value)
	return strings.Trim(string(text), `"`)
}

// Claim returns a claim with the position of its source, unless it has one. A TrainJob's default
// from the API server has no position. A field that an extended patch set in the runtime is a claim
// of its manager.
func (l *Locator) Claim(j Job, c merge.Claim) merge.Claim {
	if len(c.At) == 0 || c.Position != (fieldpath.Position{}) ||
		c.Owner == runtimepatch.TrainJobLayer && !j.Document.Has(c.At) {
		return c
	}
	if !runtimepatch.FromRuntime(c) {
		c.Position = l.jobPosition(j, c.At)
		return c
	}
	if source := l.catalog.SourceOf(j); source.Base() != nil &&
		c.Owner == runtimepatch.RuntimeLayer {
		return source.derivation.origin(c)
	}
	c.Position = l.RuntimePosition(j, c.At)
	return c
}

func (l *Locator) runtimeHas(j Job, path fieldpath.Path) bool {
	source := l.catalog.SourceOf(j)
	return source != nil &&
		(source.derivation.patchOf(path) != nil ||
			!source.Stock && (source.Snapshot != nil || source.Document.Has(path)))
}

// RuntimePosition returns the position of a field in the TrainJob's runtime. Without a runtime, it
// returns the position of runtimeRef.
func (l *Locator) RuntimePosition(j Job, path fieldpath.Path) fieldpath.Position {
	if source := l.catalog.SourceOf(j); source != nil {
		if at := source.Position(path); at != (fieldpath.Position{}) {
			return at
		}
	}
	return j.Document.Position(fieldpath.Fields("spec", "runtimeRef"))
}

// patchDepth is the length of the path to an entry of .spec.runtimePatches.
const patchDepth = 3

// jobPosition returns the position of a TrainJob's field.
func (l *Locator) jobPosition(j Job, path fieldpath.Path) fieldpath.Position {
	d, at := l.jobPlace(j, path)
	return d.Position(at)
}

// jobPlace returns the document and the path of a TrainJob's field: in its own file, or in the file
// of a patch.
func (l *Locator) jobPlace(j Job, path fieldpath.Path) (*manifest.Document, fieldpath.Path) {
	if len(path) < patchDepth || !path.HasPrefix(fieldpath.Fields("spec", "runtimePatches")) {
		return j.Document, path
	}
	own := len(j.Spec.RuntimePatches)
	further := l.settings.patchesFor(j)
	at := -1
	if i, ok := path[2].Index(); ok {
		at = i - own
	} else if _, manager, ok := path[2].Item(); ok {
		isOwn := func(p trainer.RuntimePatch) bool { return p.Manager == manager }
		if slices.ContainsFunc(j.Spec.RuntimePatches, isOwn) {
			return j.Document, path
		}
		at = slices.IndexFunc(further, func(p manifest.Patch) bool { return isOwn(p.Patch) })
	}
	if at < 0 || at >= len(further) {
		return j.Document, path
	}
	patch := further[at]
	return patch.Document, patch.Base.Append(path[patchDepth:]...)
}
