package diff

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/owned"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/revision"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// version is one version of the inputs, with its rendered objects.
type version struct {
	comparison.Version
	side    revision.Side
	source  workspace.Source
	flags   workspace.Flags           // of the side, and those that the output needs
	root    string                    // OLD or NEW, or ""
	release *release.Release          // whose verdicts the version has, or nil
	accepts map[fieldpath.Object]bool // TrainJobs that need no verdict

	in          *workspace.Input
	to          string             // what the objects of a TrainJob are, as in --to
	opts        render.Options     // of the rendering
	podOpts     render.PodsOptions // of its children
	findings    finding.List
	otherErrors finding.List // the errors of no TrainJob
	admitter    *admitter    // of a release
}

// unreadVersion returns the version of a side, before it is read.
func unreadVersion(p *host.Program, side *revision.Side) *version {
	return &version{
		Version: comparison.Version{Name: printable.Name(side.Name), Prefix: side.Prefix,
			Commit: side.Commit()},
		side: *side, source: side.Program(p), flags: side.Flags,
	}
}

// read reads the version.
func (v *version) read(flags diffFlags, opts render.Options) {
	v.setOptions(flags, opts)
	v.in = workspace.Read(v.source, v.flags)
}

// dump returns the objects of the version as those of a cluster, or nil if none has a status or a
// uid.
func (v *version) dump() *live.Dump {
	if v.root == "" {
		return nil
	}
	isLive := func(d *manifest.Document) bool {
		return d.Sets(fieldpath.Fields("status")) || d.Sets(fieldpath.Fields("metadata", "uid"))
	}
	if !slices.ContainsFunc(v.in.Jobs, func(j workspace.Job) bool { return isLive(j.Document) }) &&
		!slices.ContainsFunc(v.in.JobSets, func(js workspace.JobSet) bool {
			return isLive(js.Document)
		}) {
		return nil
	}
	if slices.Contains(v.flags.Files, manifest.Stdin) {
		return nil // it can be read once
	}
	return live.Read(v.source, v.flags, v.flags.Files...)
}

// render renders the version, one broken TrainJob after the others: it hides none. A TrainJob has
// the errors of its rendering, and those of reading that are about it. The other errors are kept in
// otherErrors.
func (v *version) render(ctx context.Context) {
	v.findings = v.in.Findings
	if v.release != nil {
		v.findings = v.unjudged()
	}
	v.findings = v.labeled(v.findings)
	read, errsOf := v.findings.Where(isError), map[fieldpath.Object]finding.List{}
	for _, f := range read {
		errsOf[f.Object] = append(errsOf[f.Object], f)
	}
	isRejected := map[fieldpath.Object]bool{} // of each TrainJob
	var rejected []comparison.Job
	add := func(j comparison.Job, found finding.List) {
		found = v.labeled(found)
		v.findings = append(v.findings, found...)
		errs := append(found.Where(isError), errsOf[j.ID]...)
		if len(errs) > 0 && !isRejected[j.ID] { // else there are two of its name
			rejected = append(rejected, v.rejected(j.ID, j.Source, errs))
		} else if len(errs) == 0 && j.Objects != nil {
			v.Jobs = append(v.Jobs, j)
		}
		isRejected[j.ID] = isRejected[j.ID] || len(errs) > 0
	}
	type made struct {
		found finding.List
		out   pipeline.Made
	}
	parallel.Ordered(len(v.in.Jobs), func(i int) made {
		found, out := v.judge(ctx, v.in.Jobs[i])
		return made{found, out}
	}, func(i int, m made) {
		if m.found.Err() != nil {
			m.out = pipeline.Made{}
		}
		add(v.newJob(v.in.Jobs[i], m.out, m.found))
	})
	for _, d := range v.in.Rejected {
		if id := v.in.ID(d); id.Name != "" { // else it cannot be told from others
			add(comparison.Job{ID: id, Source: workspace.Job{Document: d}}, nil)
		}
	}
	v.otherErrors = read.Where(func(f finding.Finding) bool {
		_, isTrainJob := isRejected[f.Object]
		return !isTrainJob
	})
	v.Jobs = append(v.Jobs, rejected...)
}

// rejected returns a TrainJob that the version does not render.
func (v *version) rejected(id fieldpath.Object, source workspace.Job,
	errs finding.List) comparison.Job {
	errs = codes.Distinct(errs)
	by := merge.Claim{Owner: runtimepatch.TrainJobLayer, Value: merge.Presence{},
		Position: errs[0].Position}
	return comparison.Job{
		ID: id, Build: v.in.Build(), Rejected: errs,
		RejectedBy: slices.Repeat([]merge.Claim{by}, len(errs)), Input: v.in, Source: source,
	}
}

// fileLayer is the cause of an error that belongs to a file, and to no object in it.
const fileLayer merge.Owner = "file"

// addHidden adds the TrainJobs of the other version that errors hide in this one: they are not
// removed. An unreadable file hides its TrainJobs, and an unreadable OLD or NEW or a failed build
// hides all. A document of another kind hides none.
func (v *version) addHidden(other *version) {
	known := map[fieldpath.Object]bool{}
	for _, j := range v.Jobs {
		known[j.ID] = true
	}
	unread := v.otherErrors.Where(func(f finding.Finding) bool {
		return f.Object == (fieldpath.Object{}) && f.Code != codes.NotAnObject
	})
	isBuilt := v.in.Build() != "" && len(v.Jobs) == 0
	for _, j := range other.Jobs {
		if known[j.ID] || j.Source.Document == nil {
			continue
		}
		file := other.relativePath(j.Source.Document.File)
		errs := unread.Where(func(f finding.Finding) bool {
			at := v.relativePath(strings.TrimPrefix(f.Position.File, v.side.Prefix))
			return isBuilt || at == "" || at == file
		})
		if len(errs) > 0 {
			hidden := v.rejected(j.ID, workspace.Job{}, errs)
			for i := range hidden.RejectedBy {
				hidden.RejectedBy[i] = merge.Claim{Owner: fileLayer, Value: merge.Presence{},
					Position: errs[i].Position}
			}
			v.Jobs = append(v.Jobs, hidden)
		}
	}
}

// relativePath returns the path of a file below OLD or NEW, or the path itself.
func (v *version) relativePath(file string) string {
	file = filepath.ToSlash(filepath.Clean(file))
	root := filepath.ToSlash(filepath.Clean(v.side.Name))
	if file == root {
		return ""
	}
	return strings.TrimPrefix(file, root+"/")
}

// setOptions sets the options for a JobSet and for its children in the form that the flags ask for.
func (v *version) setOptions(flags diffFlags, opts render.Options) {
	if v.release != nil {
		opts.Release = v.release
		v.admitter = &admitter{release: v.release, opts: opts, namespace: v.flags.Namespace}
	}
	v.podOpts = render.PodsOptions{
		JobsOptions: render.JobsOptions{Release: opts.Release, Stored: opts.As == render.Stored}}
	if flags.to != "jobset" {
		v.flags.Spelled, opts.As = true, render.Applied
	}
	v.opts, v.to = opts, flags.to
}

// newJob returns a TrainJob with the objects that the flags ask for, and what rendering it reports.
// A release makes no object of a TrainJob that it leaves to another controller. The objects are nil
// if it is not rendered.
func (v *version) newJob(j workspace.Job, out pipeline.Made,
	found finding.List) (comparison.Job, finding.List) {
	job := comparison.Job{
		ID: render.ObjectOf(j.TrainJob), Build: v.in.Build(), Runtime: render.RuntimeOf(j.TrainJob),
		JobSet: out.JobSet, Queue: j.Labels[render.QueueLabel], Input: v.in, Source: j,
	}
	switch {
	case out.JobSet == nil:
	case v.release != nil && v.release.ManagedBy && found.Of(codes.ManagedByOther) != nil:
		job.Objects = []comparison.Object{}
	default:
		objects, more := v.objectsOf(j, out)
		job.Objects, found = append([]comparison.Object{}, objects...), append(found, more...)
	}
	return job, found
}

// objectsOf returns the objects of a TrainJob that the flags ask for, and what creating them reports.
func (v *version) objectsOf(j workspace.Job,
	out pipeline.Made) ([]comparison.Object, finding.List) {
	if v.to == "jobset" {
		return v.jobSetOf(j, out), nil
	}
	return v.childrenOf(j, out)
}

// labeled returns findings that name the build, and the revision in file names.
func (v *version) labeled(found finding.List) finding.List {
	found = slices.Clone(found)
	v.in.Label(found)
	for i := range found {
		f := &found[i]
		f.Position, f.Claims = v.at(f.Position), slices.Clone(f.Claims)
		for c := range f.Claims {
			f.Claims[c].Position = v.at(f.Claims[c].Position)
		}
	}
	return found
}

func (v *version) at(p fieldpath.Position) fieldpath.Position {
	p.File = v.side.Label(p.File)
	return p
}

// located returns a function that returns owners of a TrainJob's object, whose claims have their
// positions.
func (v *version) located(j workspace.Job,
	owners func() (*diff.Owners, error)) func() (*diff.Owners, error) {
	return func() (*diff.Owners, error) {
		of, err := owners()
		if err == nil {
			of.Locate = func(c merge.Claim) merge.Claim {
				c = v.in.Claim(j, c)
				c.Position = v.at(c.Position)
				return c
			}
		}
		return of, err
	}
}

// jobSetOf returns the JobSet and its companions.
func (v *version) jobSetOf(j workspace.Job, out pipeline.Made) []comparison.Object {
	objects := []comparison.Object{{Key: keyOf(out.JobSet), Object: out.JobSet,
		Owners: v.located(j, func() (*diff.Owners, error) {
			return diff.OwnersOf(out.History), nil
		})}}
	for _, companion := range out.Companions {
		objects = append(objects, comparison.Object{Key: keyOf(companion), Object: companion,
			Owners: v.located(j, func() (*diff.Owners, error) {
				return diff.OwnedBy(v.companionClaim(j, companion)), nil
			})})
	}
	return objects
}

// companionClaim returns the claim of the runtime's policy that creates a companion of the JobSet.
func (v *version) companionClaim(j workspace.Job, companion runtime.Object) merge.Claim {
	spec, _ := v.in.RuntimeOf(j)
	layer, at := owned.Companion(spec, companion)
	return merge.Claim{Owner: layer, Position: v.in.RuntimePosition(j, at)}
}

// childrenOf returns the Jobs or the Pods of the JobSet.
func (v *version) childrenOf(j workspace.Job,
	out pipeline.Made) ([]comparison.Object, finding.List) {
	opts := v.podOpts
	opts.Release = cmp.Or(opts.Release, j.Release())
	f := pipeline.Children(out.History, out.JobSet, out.Companions, option.Render{To: v.to}, opts)
	f.Findings = v.in.Locate(j, f.Findings)
	if f.Objects == nil {
		return nil, f.Findings
	}
	owners := owned.Children(out.JobSet, out.History, opts.JobsOptions)
	var objects []comparison.Object
	seen := map[comparison.Key]int{}
	for object, err := range f.Objects {
		if err != nil {
			return nil, append(f.Findings, finding.Finding{
				Code: codes.NoName, Severity: finding.Error, Object: render.ObjectOf(j.TrainJob),
				Position: j.Document.Position(nil), Message: err.Error(),
				Remedy: finding.Remedy{Text: "fix the JobSet"},
			})
		}
		key := keyOf(object)
		seen[key]++
		key.Number = seen[key] - 1
		objects = append(objects, comparison.Object{Key: key, Object: object,
			Owners: v.located(j, func() (*diff.Owners, error) { return owners(object) })})
	}
	return objects, f.Findings
}

// keyOf returns the kind and the name of an object, or its generateName.
func keyOf(object any) comparison.Key {
	var key comparison.Key
	if o, ok := object.(runtime.Object); ok {
		gvk := o.GetObjectKind().GroupVersionKind()
		key.Group, key.Kind = gvk.Group, gvk.Kind
	}
	if m, ok := object.(metav1.Object); ok {
		if key.Name = m.GetName(); key.Name == "" {
			key.Name = m.GetGenerateName()
		}
	}
	return key
}
