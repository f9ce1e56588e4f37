// Package workspace holds the input of a command, a KRM function or a golden case: TrainJobs,
// runtimes and their snapshots, JobSets and patches. It has four parts. Documents reads each file
// once. Settings holds the settings for the objects of a file. Catalog finds the runtime of a
// TrainJob. Locator finds the line of a field.
//
// Its first file to read is config.go.
package workspace

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
)

// Input holds the objects of a run and its findings. The TrainJobs have the order of the files. The
// embedded parts answer the rest. None of them knows a part that follows it here.
type Input struct {
	*Lines     // the text of a position
	*Settings  // what a directory's policy says of a file: the release, patches and severities
	*Documents // the files of the flags
	*Catalog   // the runtimes
	*Locator   // the position of a field

	Jobs     []Job
	JobSets  []JobSet
	ByName   map[fieldpath.Object]*manifest.Document // the TrainJobs
	Rejected []*manifest.Document                    // TrainJobs that cannot be decoded as a whole
	Findings finding.List
	flags    Flags
}

// New returns an empty input.
func New(flags Flags) *Input {
	in := &Input{flags: flags, ByName: map[fieldpath.Object]*manifest.Document{}}
	to := reporter{&in.Findings}
	in.Lines = &Lines{known: map[string]func(int) string{}}
	in.Settings = newSettings(flags, in.Lines, to)
	in.Documents = &Documents{reporter: to, flags: flags, lines: in.Lines, settings: in.Settings,
		read: map[string]bool{}, Step: func(string, int, int) {}}
	in.Catalog = newCatalog(flags, in.Settings, to)
	in.Locator = &Locator{settings: in.Settings, catalog: in.Catalog}
	return in
}

// Read reads all inputs. It reports each unreadable file as a finding and continues with the next
// one.
func Read(s Source, flags Flags) *Input {
	in := New(flags)
	for _, d := range in.ReadDocuments(s, flags.Files) {
		in.Add(d, true)
	}
	own := len(in.Files)
	runtimes := in.ReadDocuments(s, flags.Runtimes)
	if flags.PrefersFiles {
		runtimes = slices.DeleteFunc(runtimes, func(d *manifest.Document) bool {
			return in.Named(in.ID(d)) != nil
		})
	}
	for _, d := range runtimes {
		in.Add(d, false)
	}
	in.Files = in.Files[:own]
	in.ReadPatches(s)
	in.DefaultPatches()
	in.Findings = in.Rate(in.WithoutPatchFiles(in.Findings))
	return in
}

// Add adds the object of a document. Without jobs, it skips TrainJobs and JobSets: the file was
// named for its runtimes.
func (in *Input) Add(d *manifest.Document, jobs bool) {
	switch o := d.Object.(type) {
	case *trainer.TrainJob:
		if jobs {
			in.addJob(o, d)
		}
	case *jobset.JobSet:
		if jobs {
			o.Namespace = in.flags.NamespaceOf(o.Namespace)
			in.JobSets = append(in.JobSets, JobSet{o, d})
		}
	case *trainer.TrainingRuntime, *trainer.ClusterTrainingRuntime, *corev1.ConfigMap:
		in.AddRuntime(d, false)
	case nil:
		if !in.AddClaim(d) && d.Broken {
			if jobs && d.ID.Kind == trainer.TrainJobKind {
				in.Rejected = append(in.Rejected, d)
			}
			in.Broken[in.ID(d)] = true
		}
	}
}

func (in *Input) addJob(o *trainer.TrainJob, d *manifest.Document) {
	o.Namespace = in.flags.NamespaceOf(o.Namespace)
	if o.Name == "" {
		in.Findings = append(in.Findings, noName(d))
		return
	}
	if in.AddName(d) {
		render.DefaultTrainJob(o, d.Sets)
		in.Jobs = append(in.Jobs, Job{TrainJob: o, Document: d})
	}
}

// AddName records the name of a TrainJob and the managers of its patches. It returns false without
// a name, and for a duplicate, which it reports.
func (in *Input) AddName(d *manifest.Document) bool {
	if o, ok := d.Object.(*trainer.TrainJob); ok {
		in.patchedBy(o)
	}
	id := in.ID(d)
	if id.Name == "" {
		return false
	}
	if other, found := in.ByName[id]; found {
		in.Findings = append(in.Findings, in.flags.duplicate(id, d, other))
		return false
	}
	in.ByName[id] = d
	return true
}

// ID returns the kind, the namespace and the name of a document's object.
func (in *Input) ID(d *manifest.Document) fieldpath.Object { return in.flags.idOf(d) }

// AddPart adds the lines and the releases of a part, so that the input describes the whole run.
func (in *Input) AddPart(part *Input) {
	in.AddLines(part.Lines)
	for _, r := range part.Releases() {
		in.API(&r)
	}
}

// ReleaseFindings returns the findings on a TrainJob's runtime and further patches that depend on
// the TrainJob's release. It also returns the violations of the TrainJob's policy.
func (in *Input) ReleaseFindings(j Job, rule render.OnConflict) finding.List {
	found := in.runtimeFindings(j, rule)
	for _, p := range in.patchesFor(j) {
		if d := p.Document.As(j.Document.API()); d != p.Document {
			found = append(found, d.Findings...)
		}
	}
	return append(found, in.violations(j)...)
}

// Build returns the built directory of the part, or "" for a part without a build.
func (in *Input) Build() string {
	if in.flags.Built == nil {
		return ""
	}
	return in.flags.Built.Dir
}

// Label names the build in findings, and records the lines of the sources that they name. A finding
// on a shared runtime names no build, so that it is the same in each part. Without a build, Label
// does nothing.
func (in *Input) Label(found finding.List) {
	b := in.flags.Built
	if b == nil {
		return
	}
	for i := range found {
		f := &found[i]
		if f.Object.Name != "" && (!IsRuntime(f.Object) || in.built[f.Object]) {
			f.Build = b.Dir
		}
		f.Position = in.sourceOf(f.Position)
		f.Claims = slices.Clone(f.Claims)
		for c := range f.Claims {
			f.Claims[c].Position = in.sourceOf(f.Claims[c].Position)
		}
	}
}

// sourceOf returns a position that the user knows, and records the lines of its file.
func (in *Input) sourceOf(p fieldpath.Position) fieldpath.Position {
	b := in.flags.Built
	if b.Text != nil && p.File == b.Name() {
		p = fieldpath.Position{File: b.File}
	}
	if _, known := in.Lines.known[p.File]; !known && p.Line > 0 && b.Source != nil {
		if data, ok := b.Source(p.File); ok {
			in.opened(p.File, data)
		}
	}
	return p
}
