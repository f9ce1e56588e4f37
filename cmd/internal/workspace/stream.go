package workspace

import (
	"io"
	"io/fs"
	"iter"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
)

// Stream reads the inputs of a rendering in two passes, and holds few files at a time. A TrainJob
// needs all runtimes, and one may stand in the last file. The first pass collects runtimes: it
// skips the parsing of files that show none. The second pass reads the TrainJobs in order.
type Stream struct {
	fsys       fs.FS
	stdin      io.Reader
	in         *Input
	files      []streamFile
	Jobs       int // the number of files that may hold TrainJobs; they come first
	buffered   int // the size of the data that the first pass keeps, in bytes
	first      map[fieldpath.Object]objectIndex
	duplicates []duplicate
	// The findings, in the order of the report: for the files of TrainJobs, the files of runtimes,
	// and the patches.
	listed, decoded, added [2]finding.List
	patches                finding.List
}

// streamFile is a file between the two passes.
type streamFile struct {
	name    string
	named   bool     // the command line names the file itself, not only its directory
	once    bool     // the file cannot be read again
	decoded *Decoded // the result of the first pass; nil to read the file again
}

// objectIndex is the position of an object: the number of its file, and of the document in that
// file.
type objectIndex struct{ file, document int }

// duplicate is a TrainJob with the name of an earlier one.
type duplicate struct {
	finding *finding.Finding
	first   objectIndex
}

// streamLimit is the most data, in bytes, that the first pass keeps for the second. One large
// stream is then parsed only once.
const streamLimit = 8 << 20

// NewStream runs the first pass. Then in is complete except for the TrainJobs.
func NewStream(s Source, in *Input) *Stream {
	f := &Stream{in: in, first: map[fieldpath.Object]objectIndex{}}
	f.fsys, f.stdin = s.Inputs()
	for i, paths := range [][]string{in.flags.Files, in.flags.Runtimes} {
		for _, name := range in.listFiles(f.fsys, paths) {
			f.files = append(f.files, streamFile{name: name, named: slices.Contains(paths, name)})
		}
		if i == 0 {
			f.Jobs = len(f.files)
		}
		f.listed[i], in.Findings = in.Findings, nil
	}
	parallel.Ordered(len(f.files), f.probe, func(i int, l probe) {
		in.Step("looked at", i+1, len(f.files))
		f.addRuntimes(i, l)
	})
	in.ReadPatches(s)
	in.DefaultPatches()
	f.patches, in.Findings = in.Findings, nil
	return f
}

// probe is the result of the first pass. It is empty for a file without a runtime that can be read
// again.
type probe struct {
	*Decoded
	once bool // the file cannot be read again
}

func (f *Stream) probe(i int) probe {
	file := f.files[i]
	once := file.name == manifest.Stdin
	if !once {
		info, err := fs.Stat(f.fsys, file.name)
		once = err == nil && !info.Mode().IsRegular() // such as a pipe
	}
	data, unreadable := f.in.load(f.fsys, f.stdin, file.name)
	switch {
	case unreadable != nil:
		return probe{&Decoded{Findings: finding.List{*unreadable}}, true}
	case i < f.Jobs && !once && !manifest.MayHoldRuntime(data):
		return probe{}
	}
	d := f.in.decode(file.name, data, file.named)
	return probe{&d, once}
}

// addRuntimes adds the runtimes of a file to the input.
func (f *Stream) addRuntimes(i int, l probe) {
	if l.Decoded == nil {
		return
	}
	*l.Decoded = f.in.count(*l.Decoded)
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
	case l.once || f.buffered+len(l.data) <= streamLimit:
		f.buffered += len(l.data)
		f.files[i].once, f.files[i].decoded = l.once, l.Decoded
	}
}

// Item is a TrainJob or a JobSet, with the number of its file.
type Item struct {
	Job    Job
	JobSet *JobSet // instead of a TrainJob
	File   int
}

// Objects runs the second pass. It yields the TrainJobs with their defaults, and the JobSets if
// jobSets is true.
func (f *Stream) Objects(jobSets bool) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		parallel.Ordered(f.Jobs, f.read, func(i int, d Decoded) {
			if f.files[i].decoded == nil {
				d = f.in.count(d)
			}
			f.decoded[0] = append(f.decoded[0], d.Findings...)
			if !f.files[i].once {
				f.files[i].decoded = nil
			}
			for n, document := range d.Documents {
				switch o := document.Object.(type) {
				case *trainer.TrainJob:
					if f.admit(o, document, objectIndex{i, n}) {
						yield(Item{Job: Job{TrainJob: o, Document: document}, File: i})
					}
				case *jobset.JobSet:
					if jobSets {
						o.Namespace = f.in.flags.NamespaceOf(o.Namespace)
						yield(Item{JobSet: &JobSet{o, document}, File: i})
					}
				}
			}
		})
		f.reportDuplicates()
	}
}

func (f *Stream) read(i int) Decoded {
	file := f.files[i]
	if file.decoded != nil {
		return *file.decoded
	}
	data, unreadable := f.in.load(f.fsys, f.stdin, file.name)
	if unreadable != nil {
		return Decoded{Findings: finding.List{*unreadable}}
	}
	return f.in.decode(file.name, data, file.named)
}

// admit prepares a TrainJob for rendering. It reports a missing or duplicate name, and then returns
// false.
func (f *Stream) admit(o *trainer.TrainJob, d *manifest.Document, at objectIndex) bool {
	o.Namespace = f.in.flags.NamespaceOf(o.Namespace)
	if o.Name == "" {
		f.added[0] = append(f.added[0], noName(d))
		return false
	}
	id := render.ObjectOf(o)
	if first, found := f.first[id]; found {
		finding := f.in.flags.duplicate(id, d, nil)
		f.duplicates = append(f.duplicates, duplicate{&finding, first})
		return false
	}
	f.first[id] = at
	f.in.patchedBy(o)
	render.DefaultTrainJob(o, d.Sets)
	return true
}

// reportDuplicates reports the duplicate TrainJobs. Stream does not keep the positions of the first
// ones, so reportDuplicates reads their files again, each once.
func (f *Stream) reportDuplicates() {
	found := slices.Clone(f.duplicates)
	slices.SortStableFunc(found, func(a, b duplicate) int { return a.first.file - b.first.file })
	var documents []*manifest.Document
	for i, a := range found {
		if i == 0 || found[i-1].first.file != a.first.file {
			documents = f.read(a.first.file).Documents
		}
		if n := a.first.document; n < len(documents) {
			*a.finding = f.in.flags.reportOther(*a.finding, documents[n])
		}
	}
	for _, a := range f.duplicates {
		f.added[0] = append(f.added[0], *a.finding)
	}
}

// Findings returns the findings of both passes.
func (f *Stream) Findings() finding.List {
	return f.in.Rate(f.in.WithoutPatchFiles(slices.Concat(
		f.listed[0], f.decoded[0], f.added[0],
		f.listed[1], f.decoded[1], f.added[1], f.patches,
	)))
}
