package main

import (
	"io/fs"
	"iter"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/parallel"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render"
)

// feed reads what render renders, however many files there are, and holds few of them at a time. A TrainJob
// can be rendered when all runtimes are known, and one may stand in the very last file. So each file is
// looked at twice: first all of them, for runtimes, of which most show none and are not parsed; then, for
// TrainJobs, one after the other.
type feed struct {
	p     *host.Program
	in    *input
	flags inputFlags
	files []feedFile
	jobs  int // how many of the files are looked at for TrainJobs: the first ones
	held  int // how much text the first look has kept
	first map[fieldpath.Object]place
	again []again
	// What was found, in the order in which it is reported: of the files for TrainJobs, of those for runtimes
	// only, and of the patches.
	listed, decoded, added [2]finding.List
	patches                finding.List
}

// feedFile is a file between the two looks.
type feedFile struct {
	name    string
	named   bool     // a path names it, and not only its directory
	once    bool     // it cannot be read again
	decoded *decoded // what the first look has kept; nil if the file is to be read anew
}

// place is where an object stands: the number of its file, and of the document within.
type place struct{ file, document int }

// again is a TrainJob whose name another one had before.
type again struct {
	finding *finding.Finding
	first   place
}

// feedLimit is how much text of files with runtimes and TrainJobs is kept from the first look to the second, so
// that one large stream is parsed once.
const feedLimit = 8 << 20

// newFeed takes the first look. The input is complete then, but for the TrainJobs.
func newFeed(p *host.Program, in *input, flags inputFlags) *feed {
	f := &feed{p: p, in: in, flags: flags, first: map[fieldpath.Object]place{}}
	for i, paths := range [][]string{flags.files, flags.runtimes} {
		for _, name := range listFiles(p, in, paths, flags) {
			f.files = append(f.files, feedFile{name: name, named: slices.Contains(paths, name)})
		}
		if i == 0 {
			f.jobs = len(f.files)
		}
		f.listed[i], in.findings = in.findings, nil
	}
	parallel.Ordered(len(f.files), f.look, func(i int, l look) {
		in.progress.Step("looked at", i+1, len(f.files))
		f.take(i, l)
	})
	readPatches(p, in, flags)
	f.patches, in.findings = in.findings, nil
	return f
}

// look is what the first look saw: nothing, if the file has no runtime and can be read again.
type look struct {
	*decoded
	once bool // the file cannot be read again
}

func (f *feed) look(i int) look {
	file := f.files[i]
	once := file.name == manifest.Stdin
	if !once {
		info, err := fs.Stat(f.p.Files, file.name)
		once = err == nil && !info.Mode().IsRegular() // such as a pipe
	}
	data, unreadable := manifest.Read(f.p.Files, f.p.Stdin, file.name)
	switch {
	case unreadable != nil:
		return look{&decoded{findings: finding.List{*unreadable}}, true}
	case i < f.jobs && !once && !manifest.MayHoldRuntime(data):
		return look{}
	}
	d := f.in.aliases.decode(f.flags, file.name, data, file.named)
	return look{&d, once}
}

// take takes in the runtimes of a file.
func (f *feed) take(i int, l look) {
	if l.decoded == nil {
		return
	}
	*l.decoded = f.in.aliases.take(*l.decoded)
	group := 0
	if i >= f.jobs {
		group = 1
	}
	jobs := false
	for _, d := range l.documents {
		f.in.add(d, f.flags.namespace, false)
		switch d.Object.(type) {
		case *trainer.TrainJob, *jobset.JobSet:
			jobs = true
		}
	}
	f.added[group] = append(f.added[group], f.in.findings...)
	f.in.findings = nil
	switch {
	case group == 1:
		f.decoded[group] = append(f.decoded[group], l.findings...)
	case !jobs:
		f.files[i].decoded = &decoded{findings: l.findings}
	case l.once || f.held+len(l.data) <= feedLimit:
		f.held += len(l.data)
		f.files[i].once, f.files[i].decoded = l.once, l.decoded
	}
}

// fed is a TrainJob or a JobSet on its way, and the number of its file.
type fed struct {
	job    job
	jobSet *jobSet // instead of a TrainJob
	file   int
}

// objects takes the second look, and yields the TrainJobs with their defaults filled in, and the JobSets if they
// are asked for.
func (f *feed) objects(jobSets bool) iter.Seq[fed] {
	return func(yield func(fed) bool) {
		parallel.Ordered(f.jobs, f.read, func(i int, d decoded) {
			if f.files[i].decoded == nil {
				d = f.in.aliases.take(d)
			}
			f.decoded[0] = append(f.decoded[0], d.findings...)
			if !f.files[i].once {
				f.files[i].decoded = nil
			}
			for n, document := range d.documents {
				switch o := document.Object.(type) {
				case *trainer.TrainJob:
					if f.admit(o, document, place{i, n}) {
						yield(fed{job: job{o, document}, file: i})
					}
				case *jobset.JobSet:
					if jobSets {
						o.Namespace = f.flags.namespaceOf(o.Namespace)
						yield(fed{jobSet: &jobSet{o, document}, file: i})
					}
				}
			}
		})
		f.sayTwice()
	}
}

func (f *feed) read(i int) decoded {
	file := f.files[i]
	if file.decoded != nil {
		return *file.decoded
	}
	data, unreadable := manifest.Read(f.p.Files, f.p.Stdin, file.name)
	if unreadable != nil {
		return decoded{findings: finding.List{*unreadable}}
	}
	return f.in.aliases.decode(f.flags, file.name, data, file.named)
}

// admit makes a TrainJob ready for rendering, or reports why it is none.
func (f *feed) admit(o *trainer.TrainJob, d *manifest.Document, at place) bool {
	o.Namespace = f.flags.namespaceOf(o.Namespace)
	if o.Name == "" {
		f.added[0] = append(f.added[0], noName(d))
		return false
	}
	id := render.ObjectOf(o)
	if first, found := f.first[id]; found {
		finding := twice(id, d, nil)
		f.again = append(f.again, again{&finding, first})
		return false
	}
	f.first[id] = at
	f.in.patchedBy(o)
	render.DefaultTrainJob(o)
	return true
}

// sayTwice reports the TrainJobs whose names others had before. Where those stand was not kept, and they are
// looked up together, file by file.
func (f *feed) sayTwice() {
	found := slices.Clone(f.again)
	slices.SortStableFunc(found, func(a, b again) int { return a.first.file - b.first.file })
	var documents []*manifest.Document
	for i, a := range found {
		if i == 0 || found[i-1].first.file != a.first.file {
			documents = f.read(a.first.file).documents
		}
		if n := a.first.document; n < len(documents) {
			*a.finding = sayOther(*a.finding, documents[n])
		}
	}
	for _, a := range f.again {
		f.added[0] = append(f.added[0], *a.finding)
	}
}

// findings are what reading found.
func (f *feed) findings() finding.List {
	return slices.Concat(
		f.listed[0], f.decoded[0], f.added[0],
		f.listed[1], f.decoded[1], f.added[1], f.patches,
	)
}
