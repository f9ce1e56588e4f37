package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/ports"
	"github.com/trainweld/trainweld/legacy"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render"
)

// input is everything that a command read: the TrainJobs in the order of the files, the runtimes
// that they can name, further managers' patches, and what reading found.
type input struct {
	jobs     []job
	jobSets  []jobSet
	runtimes render.Runtimes
	sources  map[fieldpath.Object]runtimeSource // by the runtime, or by the TrainJob of a snapshot
	patches  []manifest.Patch
	patchers []string                                // the managers of the TrainJobs' own patches
	broken   map[fieldpath.Object]bool               // runtimes that are there and cannot be read
	byName   map[fieldpath.Object]*manifest.Document // the TrainJobs
	read     map[string]bool                         // files of -f, which -r may name again
	order    []string                                // the files, as they were read
	lines    map[string]fileLines
	refused  []*manifest.Document // TrainJobs that cannot be decoded as a whole
	own      []text               // the files of -f, for those who rewrite them
	progress *progress
	// spelled leaves out the protocol of ports that the runtime does not spell out. The runtime's CRD
	// fills it in, so a JobSet shows it; in Jobs and Pods it is a plain default that says nothing.
	spelled  bool
	findings finding.List
	aliases  aliases
	// noNotes leaves out what rendering finds worth a note. To say where a finding stands, its file is parsed
	// once more, which is too much for what nobody sees.
	noNotes bool
}

// fileLines are the lines of a file: to be measured, and as far as they may be shown.
type fileLines struct {
	line  func(line int) string
	quote func(line int, values bool) (string, bool)
}

// text is one file and what it holds.
type text struct {
	name      string
	data      []byte
	documents []*manifest.Document
}

type job struct {
	*trainer.TrainJob
	document *manifest.Document
}

// overrides are what the TrainJob says in the fields of Trainer 2.1, as the API server stores it; nil for one of
// today's.
func (j job) overrides() *legacy.Overrides {
	overrides := j.document.Overrides.DeepCopy()
	render.DefaultOverrides(overrides)
	return overrides
}

// jobSet is a JobSet that was given itself, for a rendering of its Jobs and Pods.
type jobSet struct {
	*jobset.JobSet
	document *manifest.Document
}

// asTrainJob gives the JobSet's file the name that a TrainJob of its name has.
func (js jobSet) asTrainJob() *trainer.TrainJob {
	return &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: js.Name, Namespace: js.Namespace}}
}

// runtimeSource is where a runtime stands. A snapshot stands inside a ConfigMap as text, so only the
// ConfigMap has a place.
type runtimeSource struct {
	document *manifest.Document
	snapshot bool
}

// inputFlags are the flags that say what to read.
type inputFlags struct {
	files, runtimes, patches []string
	recursive                bool
	namespace                string
	spelled                  bool            // see input.spelled
	kinds                    []manifest.Kind // to read besides those of the Trainer
}

// checkPaths refuses paths that can only be mistakes.
func (flags inputFlags) checkPaths() error {
	stdin := 0
	for _, path := range slices.Concat(flags.files, flags.runtimes, flags.patchFiles()) {
		switch path {
		case manifest.Stdin:
			stdin++
		case "":
			return errors.New("an empty path: give -f, -r and --patch a file, a directory, a glob or -")
		}
	}
	if stdin > 1 {
		return errors.New("standard input can be read once: give - to one flag only")
	}
	return checkNamespace(flags.namespace)
}

// managerOf reads a [NAME=]FILE: a manager, or "", and where its patch stands.
func managerOf(patch string) (manager, file string) {
	if manager, file, named := strings.Cut(patch, "="); named {
		return manager, file
	}
	return "", patch
}

// patchFiles are the files of the patches.
func (flags inputFlags) patchFiles() []string {
	files := make([]string, len(flags.patches))
	for i := range files {
		_, files[i] = managerOf(flags.patches[i])
	}
	return files
}

// checkNamespace refuses what cannot be the name of a namespace.
func checkNamespace(name string) error {
	if name == "" || len(validation.IsDNS1123Label(name)) == 0 {
		return nil
	}
	return fmt.Errorf("-n: invalid value %q: must be a lower-case RFC 1123 label", name)
}

// read reads all inputs. It returns findings for all that it cannot read, and an error never: one
// unreadable file is no reason to be silent about the next one.
func (p *program) read(flags inputFlags) *input {
	in := newInput(flags, &progress{})
	for _, d := range p.documents(in, flags.files, flags) {
		in.add(d, flags.namespace, true)
	}
	own := len(in.own)
	for _, d := range p.documents(in, flags.runtimes, flags) {
		in.add(d, flags.namespace, false)
	}
	in.own = in.own[:own]
	p.readPatches(in, flags)
	return in
}

func newInput(flags inputFlags, progress *progress) *input {
	return &input{
		spelled:  flags.spelled,
		sources:  map[fieldpath.Object]runtimeSource{},
		broken:   map[fieldpath.Object]bool{},
		byName:   map[fieldpath.Object]*manifest.Document{},
		read:     map[string]bool{},
		lines:    map[string]fileLines{},
		progress: progress,
	}
}

func (p *program) readPatches(in *input, flags inputFlags) {
	read := map[string]bool{}
	for _, patch := range flags.patches {
		manager, path := managerOf(patch)
		files, findings := manifest.Files(p.files, []string{path}, false)
		in.findings = append(in.findings, findings...)
		for _, file := range files {
			if key := manager + "=" + file; !read[key] {
				read[key] = true
				p.readPatchFile(in, flags, manager, file)
			}
		}
	}
}

// readPatchFile reads the patches of a file, which are all of the manager that is named for it, if one is.
func (p *program) readPatchFile(in *input, flags inputFlags, manager, file string) {
	data, unreadable := manifest.Read(p.files, p.stdin, file)
	if unreadable != nil {
		in.findings = append(in.findings, *unreadable)
		return
	}
	in.opened(file, data)
	patches, findings := manifest.DecodePatches(file, data)
	if len(patches) == 0 && len(findings) == 0 {
		findings = finding.List{{
			Code: finding.CodeNotAnObject, Severity: finding.Error, Position: fieldpath.Position{File: file},
			Message: "has no patch", Remedy: finding.Remedy{Text: "write a RuntimePatch, a list of them, or a TrainJob with patches, or leave --patch out"},
		}}
	}
	for i := range findings {
		findings[i].Object = flags.inNamespace(findings[i].Object)
	}
	for i := range patches {
		switch is := patches[i].Patch.Manager; {
		case manager == "" || is == manager:
		case is == "":
			patches[i].Patch.Manager = manager
		default:
			at := fieldpath.Fields("manager")
			findings = append(findings, finding.Finding{
				Code: finding.CodeBadManager, Severity: finding.Error, Object: flags.inNamespace(patches[i].Document.ID), Path: patches[i].Base.Append(at...),
				Position: patches[i].Document.Position(patches[i].Base.Append(at...)),
				Message:  fmt.Sprintf("invalid value %q: must be %q, as the patch is named on the command line", is, manager),
				Remedy:   finding.Remedy{Text: "remove the manager from the patch, or name the patch by it"},
			})
		}
	}
	in.patches = append(in.patches, patches...)
	in.findings = append(in.findings, findings...)
}

// opened notes a file whose text is there.
func (in *input) opened(file string, data []byte) {
	if _, known := in.lines[file]; !known {
		in.order = append(in.order, file)
		in.lines[file] = fileLines{manifest.Lines(data), manifest.Quotes(data)}
	}
}

// decoded is what one file holds.
type decoded struct {
	file      string
	data      []byte
	documents []*manifest.Document
	findings  finding.List
	expanded  int // see manifest.DecodeExpanded
}

// aliases limits what the YAML aliases of all files of a run stand for, as manifest limits those of one.
type aliases struct {
	expanded  int
	exhausted atomic.Bool // by a file that was taken: those after it that have aliases need not be decoded
}

// decode decodes a file, unless the files before it have exhausted the limit.
func (a *aliases) decode(flags inputFlags, file string, data []byte, named bool) decoded {
	if a.exhausted.Load() && manifest.HasAliases(data) {
		return decoded{file: file, data: data, expanded: 1}
	}
	return flags.decode(file, data, named)
}

// take counts a decoded file, in the order of the files, and refuses it beyond the limit.
func (a *aliases) take(d decoded) decoded {
	if d.expanded == 0 {
		return d
	}
	if a.expanded += d.expanded; a.expanded <= manifest.MaxExpanded {
		return d
	}
	a.exhausted.Store(true)
	return decoded{file: d.file, data: d.data, findings: finding.List{{
		Code: finding.CodeSyntax, Severity: finding.Error, Position: fieldpath.Position{File: d.file},
		Message: fmt.Sprintf("the YAML aliases of this run expand its files to more than %d MiB", manifest.MaxExpanded>>20),
		Remedy:  finding.Remedy{Text: "write the values out instead of using YAML aliases"},
	}}}
}

// line is the line of a file in which a position is.
func (in *input) line(p fieldpath.Position) string {
	if lines, ok := in.lines[p.File]; ok {
		return lines.line(p.Line)
	}
	return ""
}

// quote is as much of that line as a report may show.
func (in *input) quote(p fieldpath.Position, values bool) (string, bool) {
	if lines, ok := in.lines[p.File]; ok {
		return lines.quote(p.Line, values)
	}
	return "", false
}

// documents are the objects of the files that paths name; what reading finds goes to the input.
func (p *program) documents(in *input, paths []string, flags inputFlags) []*manifest.Document {
	var documents []*manifest.Document
	p.readFiles(in, paths, flags, func(d decoded) {
		documents = append(documents, d.documents...)
		in.own = append(in.own, text{d.file, d.data, d.documents})
		in.findings = append(in.findings, d.findings...)
	})
	return documents
}

// readFiles reads the files that paths name, on all cores, and hands them on in order. In a directory
// there may well be files of another kind; in a file that is named itself, a document that is no object
// is a mistake.
func (p *program) readFiles(in *input, paths []string, flags inputFlags, take func(decoded)) {
	files := p.list(in, paths, flags)
	ordered(len(files), func(i int) decoded {
		data, unreadable := manifest.Read(p.files, p.stdin, files[i])
		if unreadable != nil {
			return decoded{file: files[i], findings: finding.List{*unreadable}}
		}
		return in.aliases.decode(flags, files[i], data, slices.Contains(paths, files[i]))
	}, func(i int, d decoded) {
		in.progress.step("read", i+1, len(files))
		if d.data != nil {
			in.opened(files[i], d.data)
		}
		take(in.aliases.take(d))
	})
}

// list are the files that paths name and that were not listed before.
func (p *program) list(in *input, paths []string, flags inputFlags) []string {
	files, findings := manifest.Files(p.files, paths, flags.recursive)
	in.findings = append(in.findings, findings...)
	return slices.DeleteFunc(files, func(file string) bool {
		key := filepath.Clean(file)
		seen := in.read[key]
		in.read[key] = true
		return seen
	})
}

// decode decodes a file. One that a path names itself should hold objects only.
func (flags inputFlags) decode(file string, data []byte, named bool) decoded {
	d := decoded{file: file, data: data}
	d.documents, d.findings, d.expanded = manifest.DecodeExpanded(file, data, flags.kinds)
	if !named {
		d.findings = manifest.Tolerate(d.findings, finding.CodeNotAnObject)
	}
	for i := range d.findings {
		d.findings[i].Object = flags.inNamespace(d.findings[i].Object)
	}
	return d
}

// inNamespace gives an object of the Trainer, or of a further kind, the namespace that it is in when it names none, so that
// all findings call it by one name.
func (flags inputFlags) inNamespace(o fieldpath.Object) fieldpath.Object {
	further := slices.ContainsFunc(flags.kinds, func(k manifest.Kind) bool { return k.Kind == o.Kind })
	if o.Name != "" && (further || o.Kind == trainer.TrainJobKind || o.Kind == trainer.TrainingRuntimeKind) {
		o.Namespace = flags.namespaceOf(o.Namespace)
	}
	return o
}

// namespaceOf is the namespace of an object that is in one.
func (flags inputFlags) namespaceOf(namespace string) string {
	return cmp.Or(namespace, flags.namespace, "default")
}

// add takes what one document holds. TrainJobs of files that were named for their runtimes are left
// aside.
func (in *input) add(d *manifest.Document, namespace string, jobs bool) {
	namespace = cmp.Or(namespace, "default")
	switch o := d.Object.(type) {
	case *trainer.TrainJob:
		if jobs {
			o.Namespace = cmp.Or(o.Namespace, namespace)
			in.addJob(o, d)
		}
	case *trainer.TrainingRuntime:
		id := fieldpath.Object{Kind: trainer.TrainingRuntimeKind, Namespace: cmp.Or(o.Namespace, namespace), Name: o.Name}
		in.addRuntime(id, &o.Spec, d)
	case *trainer.ClusterTrainingRuntime:
		in.addRuntime(fieldpath.Object{Kind: trainer.ClusterTrainingRuntimeKind, Name: o.Name}, &o.Spec, d)
	case *jobset.JobSet:
		if jobs {
			o.Namespace = cmp.Or(o.Namespace, namespace)
			in.jobSets = append(in.jobSets, jobSet{o, d})
		}
	case *corev1.ConfigMap:
		in.addSnapshot(o, cmp.Or(o.Namespace, namespace), d)
	case nil:
		if d.Broken {
			if jobs && d.ID.Kind == trainer.TrainJobKind {
				in.refused = append(in.refused, d)
			}
			id := d.ID
			if id.Kind != trainer.ClusterTrainingRuntimeKind {
				id.Namespace = cmp.Or(id.Namespace, namespace)
			}
			in.broken[id] = true
		}
	}
}

func (in *input) addJob(o *trainer.TrainJob, d *manifest.Document) {
	id := render.ObjectOf(o)
	if o.Name == "" {
		in.findings = append(in.findings, noName(d))
		return
	}
	if other, found := in.byName[id]; found {
		in.findings = append(in.findings, twice(id, d, other))
		return
	}
	in.byName[id] = d
	in.patchedBy(o)
	render.DefaultTrainJob(o)
	in.jobs = append(in.jobs, job{o, d})
}

// noName reports a TrainJob without a name.
func noName(d *manifest.Document) finding.Finding {
	return finding.Finding{
		Code: finding.CodeNoName, Severity: finding.Error, Object: fieldpath.Object{Kind: trainer.TrainJobKind}, Path: fieldpath.Fields("metadata", "name"), Position: d.Position(fieldpath.Fields("metadata")),
		Message: "the TrainJob has no name", Remedy: finding.Remedy{Text: "set metadata.name; names of Jobs, Pods and addresses are made from it"},
	}
}

// twice reports the second object of one kind, namespace and name. The other one may be told later.
func twice(id fieldpath.Object, d, other *manifest.Document) finding.Finding {
	at := fieldpath.Fields("metadata", "name")
	f := finding.Finding{
		Code: finding.CodeDuplicateObject, Severity: finding.Error, Object: id, Path: at, Position: d.Position(at),
		Message: fmt.Sprintf("%s is among the inputs twice", id),
		Remedy:  finding.Remedy{Text: "remove or rename one of the two"},
	}
	return sayOther(f, other)
}

// sayOther adds where the first one stands to what twice found of the second.
func sayOther(f finding.Finding, other *manifest.Document) finding.Finding {
	if other != nil {
		f.Message += fmt.Sprintf("; the other one is at %s", other.Position(f.Path))
	}
	return f
}

func (in *input) addRuntime(id fieldpath.Object, spec *trainer.TrainingRuntimeSpec, d *manifest.Document) {
	plain := ports.Plain(spec)
	render.DefaultRuntime(spec, d.Sets)
	if in.spelled {
		for _, p := range plain {
			p.Protocol = ""
		}
	}
	in.keep(id, in.runtimes.Add(id, spec), runtimeSource{document: d})
}

func (in *input) addSnapshot(cm *corev1.ConfigMap, namespace string, d *manifest.Document) {
	id, runtime := in.snapshotOf(cm, namespace, d)
	var spec *trainer.TrainingRuntimeSpec
	switch r := runtime.(type) {
	case *trainer.TrainingRuntime:
		spec = &r.Spec
	case *trainer.ClusterTrainingRuntime:
		spec = &r.Spec
	default:
		return
	}
	in.keep(id, in.runtimes.AddSnapshot(id, spec), runtimeSource{document: d, snapshot: true})
}

// snapshotOf is the runtime that a ConfigMap holds, and the TrainJob for which the Trainer has kept it;
// nil for any other ConfigMap, and for one that cannot be read, which is reported.
func (in *input) snapshotOf(cm *corev1.ConfigMap, namespace string, d *manifest.Document) (fieldpath.Object, any) {
	name, runtime, err := manifest.Snapshot(cm)
	if err != nil {
		in.findings = append(in.findings, finding.Finding{
			Code: finding.CodeWrongType, Severity: finding.Error, Object: d.ID, Path: fieldpath.Fields("data", "runtime"), Position: d.Position(fieldpath.Fields("data", "runtime")),
			Message: err.Error(), Remedy: finding.Remedy{Text: "take the ConfigMap from the cluster as it is, or leave it out to use the runtime itself"},
		})
		return fieldpath.Object{}, nil
	}
	if name == "" {
		return fieldpath.Object{}, nil
	}
	return fieldpath.Object{Kind: trainer.TrainJobKind, Namespace: namespace, Name: name}, runtime
}

// keep notes where a runtime stands, or reports why it was refused.
func (in *input) keep(id fieldpath.Object, refused *finding.Finding, source runtimeSource) {
	if refused == nil {
		in.sources[id] = source
		return
	}
	if source.snapshot {
		refused.Message = fmt.Sprintf("the inputs hold two snapshots of the runtime of %s", id)
		refused.Object = source.document.ID
	}
	refused.Position = source.document.Position(refused.Path)
	refused.Message += fmt.Sprintf("; the other one is at %s", in.sources[id].document.Position(refused.Path))
	in.findings = append(in.findings, *refused)
}

// furtherPatches are the patches of the --patch files, for the library.
func (in *input) furtherPatches() []trainer.RuntimePatch {
	patches := make([]trainer.RuntimePatch, len(in.patches))
	for i := range in.patches {
		patches[i] = in.patches[i].Patch
	}
	render.DefaultPatches(patches)
	return patches
}
