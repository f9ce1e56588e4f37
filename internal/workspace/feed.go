package workspace

import (
	"io"
	"io/fs"
	"iter"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/parallel"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render"
)

// Feed reads the inputs of a rendering in two passes, and holds few files at a time. A TrainJob needs all runtimes, and one
// may stand in the last file. The first pass collects runtimes: it skips the parsing of files that show none. The second pass
// reads the TrainJobs in order.
type Feed struct {
	fsys  fs.FS
	stdin io.Reader
	in    *Input
	files []feedFile
	Jobs  int // the number of files that may hold TrainJobs; they come first
	held  int // the size of the data that the first pass keeps, in bytes
	first map[fieldpath.Object]place
	again []again
	// The findings, in the order of the report: for the files of TrainJobs, the files of runtimes, and the patches.
	listed, decoded, added [2]finding.List
	patches                finding.List
}

// feedFile is a file between the two passes.
type feedFile struct {
	name    string
	named   bool     // the command line names the file itself, not only its directory
	once    bool     // the file cannot be read again
	decoded *Decoded // the result of the first pass; nil to read the file again
}

// place is the position of an object: the number of its file, and of the document in that file.
type place struct{ file, document int }

// again is a TrainJob with the name of an earlier one.
type again struct {
	finding *finding.Finding
	first   place
}

// feedLimit is the most data, in bytes, that the first pass keeps for the second. One large stream is then parsed only once.
const feedLimit = 8 << 20

// NewFeed runs the first pass. Then in is complete except for the TrainJobs.
func NewFeed(s Source, in *Input) *Feed {
	f := &Feed{in: in, first: map[fieldpath.Object]place{}}
	f.fsys, f.stdin = s.Inputs()
	for i, paths := range [][]string{in.flags.Files, in.flags.Runtimes} {
		for _, name := range in.listFiles(f.fsys, paths) {
			f.files = append(f.files, feedFile{name: name, named: slices.Contains(paths, name)})
		}
		if i == 0 {
			f.Jobs = len(f.files)
		}
		f.listed[i], in.Findings = in.Findings, nil
	}
	parallel.Ordered(len(f.files), f.look, func(i int, l look) {
		in.progress("looked at", i+1, len(f.files))
		f.take(i, l)
	})
	in.ReadPatches(s)
	in.DefaultPatches()
	f.patches, in.Findings = in.Findings, nil
	return f
}

// look is the result of the first pass. It is empty for a file without a runtime that can be read again.
type look struct {
	*Decoded
	once bool // the file cannot be read again
}

func (f *Feed) look(i int) look {
	file := f.files[i]
	once := file.name == manifest.Stdin
	if !once {
		info, err := fs.Stat(f.fsys, file.name)
		once = err == nil && !info.Mode().IsRegular() // such as a pipe
	}
	data, unreadable := f.in.load(f.fsys, f.stdin, file.name)
	switch {
	case unreadable != nil:
		return look{&Decoded{Findings: finding.List{*unreadable}}, true}
	case i < f.Jobs && !once && !manifest.MayHoldRuntime(data):
		return look{}
	}
	d := f.in.aliases.decode(f.in.Documents, file.name, data, file.named)
	return look{&d, once}
}

// take adds the runtimes of a file to the input.
func (f *Feed) take(i int, l look) {
	if l.Decoded == nil {
		return
	}
	*l.Decoded = f.in.Documents.take(*l.Decoded)
	group := 0
	if i >= f.Jobs {
		group = 1
	}
	jobs := false
	for _, d := range l.Documents {
		f.in.Add(d, false)
		switch d.Object.(type) {
		case *trainer.TrainJob, *jobset.JobSet:
			jobs = true
		}
	}
	f.added[group] = append(f.added[group], f.in.Findings...)
	f.in.Findings = nil
	switch {
	case group == 1:
		f.decoded[group] = append(f.decoded[group], l.Findings...)
	case !jobs:
		f.files[i].decoded = &Decoded{Findings: l.Findings}
	case l.once || f.held+len(l.data) <= feedLimit:
		f.held += len(l.data)
		f.files[i].once, f.files[i].decoded = l.once, l.Decoded
	}
}

// Fed is a TrainJob or a JobSet, with the number of its file.
type Fed struct {
	Job    Job
	JobSet *JobSet // instead of a TrainJob
	File   int
}

// Objects runs the second pass. It yields the TrainJobs with their defaults, and the JobSets if jobSets is true.
func (f *Feed) Objects(jobSets bool) iter.Seq[Fed] {
	return func(yield func(Fed) bool) {
		parallel.Ordered(f.Jobs, f.read, func(i int, d Decoded) {
			if f.files[i].decoded == nil {
				d = f.in.Documents.take(d)
			}
			f.decoded[0] = append(f.decoded[0], d.Findings...)
			if !f.files[i].once {
				f.files[i].decoded = nil
			}
			for n, document := range d.Documents {
				switch o := document.Object.(type) {
				case *trainer.TrainJob:
					if f.admit(o, document, place{i, n}) {
						yield(Fed{Job: Job{TrainJob: o, Document: document}, File: i})
					}
				case *jobset.JobSet:
					if jobSets {
						o.Namespace = f.in.flags.NamespaceOf(o.Namespace)
						yield(Fed{JobSet: &JobSet{o, document}, File: i})
					}
				}
			}
		})
		f.sayTwice()
	}
}

func (f *Feed) read(i int) Decoded {
	file := f.files[i]
	if file.decoded != nil {
		return *file.decoded
	}
	data, unreadable := f.in.load(f.fsys, f.stdin, file.name)
	if unreadable != nil {
		return Decoded{Findings: finding.List{*unreadable}}
	}
	return f.in.aliases.decode(f.in.Documents, file.name, data, file.named)
}

// admit prepares a TrainJob for rendering. It reports a missing or duplicate name, and then returns false.
func (f *Feed) admit(o *trainer.TrainJob, d *manifest.Document, at place) bool {
	o.Namespace = f.in.flags.NamespaceOf(o.Namespace)
	if o.Name == "" {
		f.added[0] = append(f.added[0], noName(d))
		return false
	}
	id := render.ObjectOf(o)
	if first, found := f.first[id]; found {
		finding := f.in.flags.duplicate(id, d, nil)
		f.again = append(f.again, again{&finding, first})
		return false
	}
	f.first[id] = at
	f.in.patchedBy(o)
	render.DefaultTrainJob(o, d.Sets)
	return true
}

// sayTwice reports the duplicate TrainJobs. Feed does not keep the positions of the first ones, so sayTwice reads their files
// again, each once.
func (f *Feed) sayTwice() {
	found := slices.Clone(f.again)
	slices.SortStableFunc(found, func(a, b again) int { return a.first.file - b.first.file })
	var documents []*manifest.Document
	for i, a := range found {
		if i == 0 || found[i-1].first.file != a.first.file {
			documents = f.read(a.first.file).Documents
		}
		if n := a.first.document; n < len(documents) {
			*a.finding = f.in.flags.sayOther(*a.finding, documents[n])
		}
	}
	for _, a := range f.again {
		f.added[0] = append(f.added[0], *a.finding)
	}
}

// Findings returns the findings of both passes.
func (f *Feed) Findings() finding.List {
	return f.in.Rate(f.in.WithoutPatchFiles(slices.Concat(
		f.listed[0], f.decoded[0], f.added[0],
		f.listed[1], f.decoded[1], f.added[1], f.patches,
	)))
}
