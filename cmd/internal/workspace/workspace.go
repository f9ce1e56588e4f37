// Package workspace holds the input of a command, a KRM function or a golden case: TrainJobs, runtimes and their snapshots, JobSets and
// patches. It has four parts. Documents reads each file once. Settings holds the settings for the objects of a file. Catalog finds the
// runtime of a TrainJob. Locator finds the line of a field.
package workspace

import (
	"fmt"
	"path"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// Input holds the objects of a run and its findings. The TrainJobs have the order of the files. The embedded parts answer the rest.
// None of them knows a part that follows it here.
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

// reporter adds findings to the findings of an input, in the order of reading.
type reporter struct{ found *finding.List }

func (r reporter) report(found ...finding.Finding) { *r.found = append(*r.found, found...) }

// Job is a TrainJob with its document.
type Job struct {
	*trainer.TrainJob
	Document *manifest.Document
	// Migrated reports that a migration made the TrainJob from the document. Such a TrainJob has no fields of earlier
	// releases.
	Migrated bool
	// Written holds the fields of a TrainJob that is only an Outline, or nil.
	Written map[string]any
}

// Release returns the release that decoded the TrainJob, or nil if the input names none.
func (j Job) Release() *release.Release { return j.Document.API().Release() }

// Layers returns the TrainJob's overrides in the fields of Trainer 2.0 or 2.1, as the API server stores them. It returns nil
// for a TrainJob without any.
func (j Job) Layers() render.Layers {
	if j.Migrated || j.Document.Overrides == nil {
		return nil
	}
	layers := j.Document.Overrides.DeepCopy()
	render.DefaultPatches(layers.Patches(), nil) // they share the values with the overrides
	return layers
}

// JobSet is a JobSet of the input, for a rendering of its Jobs and Pods.
type JobSet struct {
	*jobset.JobSet
	Document *manifest.Document
}

// AsTrainJob returns a TrainJob with the JobSet's name, from which the output file gets its name.
func (js JobSet) AsTrainJob() *trainer.TrainJob {
	return &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: js.Name, Namespace: js.Namespace}}
}

// New returns an empty input.
func New(flags Flags) *Input {
	in := &Input{flags: flags, ByName: map[fieldpath.Object]*manifest.Document{}}
	to := reporter{&in.Findings}
	in.Lines = &Lines{known: map[string]fileLines{}}
	in.Settings = newSettings(flags, in.Lines, to)
	in.Documents = &Documents{reporter: to, flags: flags, lines: in.Lines, settings: in.Settings, read: map[string]bool{}}
	in.Catalog = newCatalog(flags, in.Settings, to)
	in.Locator = &Locator{settings: in.Settings, catalog: in.Catalog}
	return in
}

// Add adds the object of a document. Without jobs, it skips TrainJobs and JobSets: the file was named for its runtimes.
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
		in.AddRuntime(d)
	case nil:
		if d.Broken {
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

// AddName records the name of a TrainJob and the managers of its patches. It returns false without a name, and for a
// duplicate, which it reports.
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

func (flags Flags) idOf(d *manifest.Document) fieldpath.Object {
	id := flags.InNamespace(d.ID)
	switch id.Kind {
	case trainer.ClusterTrainingRuntimeKind:
		id.Namespace = ""
	case trainer.TrainingRuntimeKind:
		id.Namespace = flags.NamespaceOf(id.Namespace)
	}
	return id
}

// noName reports a TrainJob without a name.
func noName(d *manifest.Document) finding.Finding {
	return finding.Finding{
		Code: codes.NoName, Severity: finding.Error, Object: fieldpath.Object{Kind: trainer.TrainJobKind}, Path: fieldpath.Fields("metadata", "name"), Position: d.Position(fieldpath.Fields("metadata")),
		Message: "Required value: names of Jobs, Pods and addresses contain it", Remedy: finding.Remedy{Text: "set metadata.name"},
	}
}

// duplicate reports an object with the identity of another one. Pass nil as other to add its position later.
func (flags Flags) duplicate(id fieldpath.Object, d, other *manifest.Document) finding.Finding {
	at := fieldpath.Fields("metadata", "name")
	f := finding.Finding{
		Code: codes.DuplicateObject, Severity: finding.Error, Object: id, Path: at, Position: d.Position(at),
		Message: fmt.Sprintf("duplicate object: %s", id),
		Remedy:  finding.Remedy{Text: "remove or rename one of the two"},
	}
	return flags.reportOther(f, other)
}

// reportOther adds the position of the first object to a finding of duplicate.
func (flags Flags) reportOther(f finding.Finding, other *manifest.Document) finding.Finding {
	if other == nil {
		return f
	}
	objectIndex := other.Position(f.Path)
	if flags.Steady {
		objectIndex = fieldpath.Position{File: path.Base(objectIndex.File)}
	}
	f.Message += fmt.Sprintf("; the other one is at %s", objectIndex)
	return f
}
