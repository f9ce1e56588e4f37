// Package workspace holds what a command, a KRM function or a golden case starts from: TrainJobs, runtimes and their
// snapshots, JobSets and patches. It finds the runtime of a TrainJob, and the line of each field.
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
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render"
)

// Input is everything that was read: the TrainJobs in the order of the files, the runtimes
// that they can name, further managers' patches, and what reading found.
type Input struct {
	Jobs     []Job
	JobSets  []JobSet
	Runtimes render.Runtimes
	Sources  map[fieldpath.Object]*RuntimeSource // by the runtime, or by the TrainJob of a snapshot
	Patches  []manifest.Patch
	patchers []string                                // the managers of the TrainJobs' own patches
	Broken   map[fieldpath.Object]bool               // runtimes that are there and cannot be read
	ByName   map[fieldpath.Object]*manifest.Document // the TrainJobs
	read     map[string]bool                         // files of -f, which -r may name again
	Order    []string                                // the files, as they were read
	lines    map[string]fileLines
	Refused  []*manifest.Document // TrainJobs that cannot be decoded as a whole
	Files    []File               // the files of -f, for those who rewrite them
	flags    Flags
	// Spelled leaves out the protocol of ports that the runtime does not spell out. The runtime's CRD
	// fills it in, so a JobSet shows it; in Jobs and Pods it is a plain default that says nothing.
	Spelled  bool
	Findings finding.List
	aliases  aliases
	// NoNotes leaves out what rendering finds worth a note. To say where a finding stands, its file is parsed
	// once more, which is too much for what nobody sees.
	NoNotes bool
	// Texts keeps places and no decoded objects: those are judged by their texts. Broken runtimes count then.
	Texts bool
	// Last lets the last text of a runtime count, as after kubectl apply. A second one is else reported.
	Last bool
	// Steady names files in messages without their folders and lines, so that the messages can be recorded.
	Steady bool
	// Step is told how many files are read; nil if nobody asks.
	Step func(verb string, done, total int)
}

// Job is a TrainJob and the document that it stands in.
type Job struct {
	*trainer.TrainJob
	Document *manifest.Document
}

// Layers are what the TrainJob says in the fields of Trainer 2.1, as the API server stores it; nil for one of
// today's.
func (j Job) Layers() render.Layers {
	if j.Document.Overrides == nil {
		return nil
	}
	layers := j.Document.Overrides.DeepCopy()
	render.DefaultPatches(layers.Patches()) // they share the values with the overrides
	return layers
}

// JobSet is a JobSet that was given itself, for a rendering of its Jobs and Pods.
type JobSet struct {
	*jobset.JobSet
	Document *manifest.Document
}

// AsTrainJob gives the JobSet's file the name that a TrainJob of its name has.
func (js JobSet) AsTrainJob() *trainer.TrainJob {
	return &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: js.Name, Namespace: js.Namespace}}
}

// New returns an input into which nothing was read yet.
func New(flags Flags) *Input {
	return &Input{
		flags:   flags,
		Spelled: flags.Spelled,
		Sources: map[fieldpath.Object]*RuntimeSource{},
		Broken:  map[fieldpath.Object]bool{},
		ByName:  map[fieldpath.Object]*manifest.Document{},
		read:    map[string]bool{},
		lines:   map[string]fileLines{},
	}
}

func (in *Input) progress(verb string, done, total int) {
	if in.Step != nil {
		in.Step(verb, done, total)
	}
}

// Add takes what one document holds. TrainJobs of files that were named for their runtimes are left
// aside.
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
				in.Refused = append(in.Refused, d)
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
		render.DefaultTrainJob(o)
		in.Jobs = append(in.Jobs, Job{o, d})
	}
}

// AddName notes the name of a TrainJob, if it has one, and the managers of its patches. It reports a second TrainJob of
// the name, and returns false.
func (in *Input) AddName(d *manifest.Document) bool {
	if o, ok := d.Object.(*trainer.TrainJob); ok {
		in.patchedBy(o)
	}
	id := in.ID(d)
	if id.Name == "" {
		return false
	}
	if other, found := in.ByName[id]; found {
		in.Findings = append(in.Findings, in.duplicate(id, d, other))
		return false
	}
	in.ByName[id] = d
	return true
}

// ID is the kind, the namespace and the name of a document's object.
func (in *Input) ID(d *manifest.Document) fieldpath.Object {
	id := in.flags.InNamespace(d.ID)
	switch id.Kind {
	case trainer.ClusterTrainingRuntimeKind:
		id.Namespace = ""
	case trainer.TrainingRuntimeKind:
		id.Namespace = in.flags.NamespaceOf(id.Namespace)
	}
	return id
}

// noName reports a TrainJob without a name.
func noName(d *manifest.Document) finding.Finding {
	return finding.Finding{
		Code: finding.CodeNoName, Severity: finding.Error, Object: fieldpath.Object{Kind: trainer.TrainJobKind}, Path: fieldpath.Fields("metadata", "name"), Position: d.Position(fieldpath.Fields("metadata")),
		Message: "the TrainJob has no name", Remedy: finding.Remedy{Text: "set metadata.name; names of Jobs, Pods and addresses are made from it"},
	}
}

// duplicate reports the second object of one kind, namespace and name. The other one may be told later.
func (in *Input) duplicate(id fieldpath.Object, d, other *manifest.Document) finding.Finding {
	at := fieldpath.Fields("metadata", "name")
	f := finding.Finding{
		Code: finding.CodeDuplicateObject, Severity: finding.Error, Object: id, Path: at, Position: d.Position(at),
		Message: fmt.Sprintf("%s is among the inputs twice", id),
		Remedy:  finding.Remedy{Text: "remove or rename one of the two"},
	}
	return in.sayOther(f, other)
}

// sayOther adds where the first one stands to what duplicate found of the second.
func (in *Input) sayOther(f finding.Finding, other *manifest.Document) finding.Finding {
	if other == nil {
		return f
	}
	place := other.Position(f.Path)
	if in.Steady {
		place = fieldpath.Position{File: path.Base(place.File)}
	}
	f.Message += fmt.Sprintf("; the other one is at %s", place)
	return f
}
