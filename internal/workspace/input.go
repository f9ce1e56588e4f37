// Package workspace reads the files of a command: TrainJobs, runtimes and their snapshots, JobSets and patches. It knows
// in which line each of their fields stands.
package workspace

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
	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/parallel"
	"github.com/trainweld/trainweld/internal/ports"
	"github.com/trainweld/trainweld/legacy"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render"
)

// Input is everything that a command read: the TrainJobs in the order of the files, the runtimes
// that they can name, further managers' patches, and what reading found.
type Input struct {
	Jobs     []Job
	JobSets  []JobSet
	Runtimes render.Runtimes
	Sources  map[fieldpath.Object]RuntimeSource // by the runtime, or by the TrainJob of a snapshot
	Patches  []manifest.Patch
	patchers []string                                // the managers of the TrainJobs' own patches
	Broken   map[fieldpath.Object]bool               // runtimes that are there and cannot be read
	ByName   map[fieldpath.Object]*manifest.Document // the TrainJobs
	read     map[string]bool                         // files of -f, which -r may name again
	Order    []string                                // the files, as they were read
	lines    map[string]fileLines
	Refused  []*manifest.Document // TrainJobs that cannot be decoded as a whole
	Files    []File               // the files of -f, for those who rewrite them
	Progress *host.Progress
	// Spelled leaves out the protocol of ports that the runtime does not spell out. The runtime's CRD
	// fills it in, so a JobSet shows it; in Jobs and Pods it is a plain default that says nothing.
	Spelled  bool
	Findings finding.List
	aliases  aliases
	// NoNotes leaves out what rendering finds worth a note. To say where a finding stands, its file is parsed
	// once more, which is too much for what nobody sees.
	NoNotes bool
}

// fileLines are the lines of a file: to be measured, and as far as they may be shown.
type fileLines struct {
	line  func(line int) string
	quote func(line int, values bool) (string, bool)
}

// File is one file and what it holds.
type File struct {
	Name      string
	Data      []byte
	Documents []*manifest.Document
}

// Job is a TrainJob and the document that it stands in.
type Job struct {
	*trainer.TrainJob
	Document *manifest.Document
}

// Overrides are what the TrainJob says in the fields of Trainer 2.1, as the API server stores it; nil for one of
// today's.
func (j Job) Overrides() *legacy.Overrides {
	overrides := j.Document.Overrides.DeepCopy()
	render.DefaultOverrides(overrides)
	return overrides
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

// RuntimeSource is where a runtime stands. A snapshot stands inside a ConfigMap as text, so only the
// ConfigMap has a place.
type RuntimeSource struct {
	Document *manifest.Document
	Snapshot bool
}

// Flags are the flags that say what to read.
type Flags struct {
	Files, Runtimes, Patches []string
	Recursive                bool
	Namespace                string
	Spelled                  bool            // see Input.Spelled
	Kinds                    []manifest.Kind // to read besides those of the Trainer
}

// CheckPaths refuses paths that can only be mistakes.
func (flags Flags) CheckPaths() error {
	stdin := 0
	for _, path := range slices.Concat(flags.Files, flags.Runtimes, flags.PatchFiles()) {
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
	return CheckNamespace(flags.Namespace)
}

// ManagerOf reads a [NAME=]FILE: a manager, or "", and where its patch stands.
func ManagerOf(patch string) (manager, file string) {
	if manager, file, named := strings.Cut(patch, "="); named {
		return manager, file
	}
	return "", patch
}

// PatchFiles are the files of the patches.
func (flags Flags) PatchFiles() []string {
	files := make([]string, len(flags.Patches))
	for i := range files {
		_, files[i] = ManagerOf(flags.Patches[i])
	}
	return files
}

// CheckNamespace refuses what cannot be the name of a namespace.
func CheckNamespace(name string) error {
	if name == "" || len(validation.IsDNS1123Label(name)) == 0 {
		return nil
	}
	return fmt.Errorf("-n: invalid value %q: must be a lower-case RFC 1123 label", name)
}

// Read reads all inputs. It returns findings for all that it cannot read, and an error never: one
// unreadable file is no reason to be silent about the next one.
func Read(p *host.Program, flags Flags) *Input {
	in := New(flags, &host.Progress{})
	for _, d := range ReadDocuments(p, in, flags.Files, flags) {
		in.Add(d, flags.Namespace, true)
	}
	own := len(in.Files)
	for _, d := range ReadDocuments(p, in, flags.Runtimes, flags) {
		in.Add(d, flags.Namespace, false)
	}
	in.Files = in.Files[:own]
	ReadPatches(p, in, flags)
	return in
}

// New returns an input into which nothing was read yet.
func New(flags Flags, progress *host.Progress) *Input {
	return &Input{
		Spelled:  flags.Spelled,
		Sources:  map[fieldpath.Object]RuntimeSource{},
		Broken:   map[fieldpath.Object]bool{},
		ByName:   map[fieldpath.Object]*manifest.Document{},
		read:     map[string]bool{},
		lines:    map[string]fileLines{},
		Progress: progress,
	}
}

// ReadPatches reads the files of --patch.
func ReadPatches(p *host.Program, in *Input, flags Flags) {
	read := map[string]bool{}
	for _, patch := range flags.Patches {
		manager, path := ManagerOf(patch)
		files, findings := manifest.Files(p.Files, []string{path}, false)
		in.Findings = append(in.Findings, findings...)
		for _, file := range files {
			if key := manager + "=" + file; !read[key] {
				read[key] = true
				readPatchFile(p, in, flags, manager, file)
			}
		}
	}
}

// readPatchFile reads the patches of a file, which are all of the manager that is named for it, if one is.
func readPatchFile(p *host.Program, in *Input, flags Flags, manager, file string) {
	data, unreadable := manifest.Read(p.Files, p.Stdin, file)
	if unreadable != nil {
		in.Findings = append(in.Findings, *unreadable)
		return
	}
	in.Opened(file, data)
	patches, findings := manifest.DecodePatches(file, data)
	if len(patches) == 0 && len(findings) == 0 {
		findings = finding.List{{
			Code: finding.CodeNotAnObject, Severity: finding.Error, Position: fieldpath.Position{File: file},
			Message: "has no patch", Remedy: finding.Remedy{Text: "write a RuntimePatch, a list of them, or a TrainJob with patches, or leave --patch out"},
		}}
	}
	for i := range findings {
		findings[i].Object = flags.InNamespace(findings[i].Object)
	}
	for i := range patches {
		switch is := patches[i].Patch.Manager; {
		case manager == "" || is == manager:
		case is == "":
			patches[i].Patch.Manager = manager
		default:
			at := fieldpath.Fields("manager")
			findings = append(findings, finding.Finding{
				Code: finding.CodeBadManager, Severity: finding.Error, Object: flags.InNamespace(patches[i].Document.ID), Path: patches[i].Base.Append(at...),
				Position: patches[i].Document.Position(patches[i].Base.Append(at...)),
				Message:  fmt.Sprintf("invalid value %q: must be %q, as the patch is named on the command line", is, manager),
				Remedy:   finding.Remedy{Text: "remove the manager from the patch, or name the patch by it"},
			})
		}
	}
	in.Patches = append(in.Patches, patches...)
	in.Findings = append(in.Findings, findings...)
}

// Opened notes a file whose text is there.
func (in *Input) Opened(file string, data []byte) {
	if _, known := in.lines[file]; !known {
		in.Order = append(in.Order, file)
		in.lines[file] = fileLines{manifest.Lines(data), manifest.Quotes(data)}
	}
}

// Decoded is what one file holds.
type Decoded struct {
	file      string
	data      []byte
	Documents []*manifest.Document
	Findings  finding.List
	expanded  int // see manifest.DecodeExpanded
}

// aliases limits what the YAML aliases of all files of a run stand for, as manifest limits those of one.
type aliases struct {
	expanded  int
	exhausted atomic.Bool // by a file that was taken: those after it that have aliases need not be decoded
}

// decode decodes a file, unless the files before it have exhausted the limit.
func (a *aliases) decode(flags Flags, file string, data []byte, named bool) Decoded {
	if a.exhausted.Load() && manifest.HasAliases(data) {
		return Decoded{file: file, data: data, expanded: 1}
	}
	return flags.decode(file, data, named)
}

// take counts a decoded file, in the order of the files, and refuses it beyond the limit.
func (a *aliases) take(d Decoded) Decoded {
	if d.expanded == 0 {
		return d
	}
	if a.expanded += d.expanded; a.expanded <= manifest.MaxExpanded {
		return d
	}
	a.exhausted.Store(true)
	return Decoded{file: d.file, data: d.data, Findings: finding.List{{
		Code: finding.CodeSyntax, Severity: finding.Error, Position: fieldpath.Position{File: d.file},
		Message: fmt.Sprintf("the YAML aliases of this run expand its files to more than %d MiB", manifest.MaxExpanded>>20),
		Remedy:  finding.Remedy{Text: "write the values out instead of using YAML aliases"},
	}}}
}

// Learn takes over the lines of the files that another input has read.
func (in *Input) Learn(other *Input) {
	for _, file := range other.Order {
		if _, known := in.lines[file]; !known {
			in.Order = append(in.Order, file)
			in.lines[file] = other.lines[file]
		}
	}
}

// Line is the line of a file in which a position is.
func (in *Input) Line(p fieldpath.Position) string {
	if lines, ok := in.lines[p.File]; ok {
		return lines.line(p.Line)
	}
	return ""
}

// Quote is as much of that line as a report may show.
func (in *Input) Quote(p fieldpath.Position, values bool) (string, bool) {
	if lines, ok := in.lines[p.File]; ok {
		return lines.quote(p.Line, values)
	}
	return "", false
}

// ReadDocuments are the objects of the files that paths name; what reading finds goes to the input.
func ReadDocuments(p *host.Program, in *Input, paths []string, flags Flags) []*manifest.Document {
	var documents []*manifest.Document
	ReadFiles(p, in, paths, flags, func(d Decoded) {
		documents = append(documents, d.Documents...)
		in.Files = append(in.Files, File{d.file, d.data, d.Documents})
		in.Findings = append(in.Findings, d.Findings...)
	})
	return documents
}

// ReadFiles reads the files that paths name, on all cores, and hands them on in order. In a directory
// there may well be files of another kind; in a file that is named itself, a document that is no object
// is a mistake.
func ReadFiles(p *host.Program, in *Input, paths []string, flags Flags, take func(Decoded)) {
	files := listFiles(p, in, paths, flags)
	parallel.Ordered(len(files), func(i int) Decoded {
		data, unreadable := manifest.Read(p.Files, p.Stdin, files[i])
		if unreadable != nil {
			return Decoded{file: files[i], Findings: finding.List{*unreadable}}
		}
		return in.aliases.decode(flags, files[i], data, slices.Contains(paths, files[i]))
	}, func(i int, d Decoded) {
		in.Progress.Step("read", i+1, len(files))
		if d.data != nil {
			in.Opened(files[i], d.data)
		}
		take(in.aliases.take(d))
	})
}

// listFiles are the files that paths name and that were not listed before.
func listFiles(p *host.Program, in *Input, paths []string, flags Flags) []string {
	files, findings := manifest.Files(p.Files, paths, flags.Recursive)
	in.Findings = append(in.Findings, findings...)
	return slices.DeleteFunc(files, func(file string) bool {
		key := filepath.Clean(file)
		seen := in.read[key]
		in.read[key] = true
		return seen
	})
}

// decode decodes a file. One that a path names itself should hold objects only.
func (flags Flags) decode(file string, data []byte, named bool) Decoded {
	d := Decoded{file: file, data: data}
	d.Documents, d.Findings, d.expanded = manifest.DecodeExpanded(file, data, flags.Kinds)
	if !named {
		d.Findings = manifest.Tolerate(d.Findings, finding.CodeNotAnObject)
	}
	for i := range d.Findings {
		d.Findings[i].Object = flags.InNamespace(d.Findings[i].Object)
	}
	return d
}

// InNamespace gives an object of the Trainer, or of a further kind, the namespace that it is in when it names none, so that
// all findings call it by one name.
func (flags Flags) InNamespace(o fieldpath.Object) fieldpath.Object {
	further := slices.ContainsFunc(flags.Kinds, func(k manifest.Kind) bool { return k.Kind == o.Kind })
	if o.Name != "" && (further || o.Kind == trainer.TrainJobKind || o.Kind == trainer.TrainingRuntimeKind) {
		o.Namespace = flags.NamespaceOf(o.Namespace)
	}
	return o
}

// NamespaceOf is the namespace of an object that is in one.
func (flags Flags) NamespaceOf(namespace string) string {
	return cmp.Or(namespace, flags.Namespace, "default")
}

// Add takes what one document holds. TrainJobs of files that were named for their runtimes are left
// aside.
func (in *Input) Add(d *manifest.Document, namespace string, jobs bool) {
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
			in.JobSets = append(in.JobSets, JobSet{o, d})
		}
	case *corev1.ConfigMap:
		in.addSnapshot(o, cmp.Or(o.Namespace, namespace), d)
	case nil:
		if d.Broken {
			if jobs && d.ID.Kind == trainer.TrainJobKind {
				in.Refused = append(in.Refused, d)
			}
			id := d.ID
			if id.Kind != trainer.ClusterTrainingRuntimeKind {
				id.Namespace = cmp.Or(id.Namespace, namespace)
			}
			in.Broken[id] = true
		}
	}
}

func (in *Input) addJob(o *trainer.TrainJob, d *manifest.Document) {
	id := render.ObjectOf(o)
	if o.Name == "" {
		in.Findings = append(in.Findings, noName(d))
		return
	}
	if other, found := in.ByName[id]; found {
		in.Findings = append(in.Findings, Duplicate(id, d, other))
		return
	}
	in.ByName[id] = d
	in.PatchedBy(o)
	render.DefaultTrainJob(o)
	in.Jobs = append(in.Jobs, Job{o, d})
}

// noName reports a TrainJob without a name.
func noName(d *manifest.Document) finding.Finding {
	return finding.Finding{
		Code: finding.CodeNoName, Severity: finding.Error, Object: fieldpath.Object{Kind: trainer.TrainJobKind}, Path: fieldpath.Fields("metadata", "name"), Position: d.Position(fieldpath.Fields("metadata")),
		Message: "the TrainJob has no name", Remedy: finding.Remedy{Text: "set metadata.name; names of Jobs, Pods and addresses are made from it"},
	}
}

// Duplicate reports the second object of one kind, namespace and name. The other one may be told later.
func Duplicate(id fieldpath.Object, d, other *manifest.Document) finding.Finding {
	at := fieldpath.Fields("metadata", "name")
	f := finding.Finding{
		Code: finding.CodeDuplicateObject, Severity: finding.Error, Object: id, Path: at, Position: d.Position(at),
		Message: fmt.Sprintf("%s is among the inputs twice", id),
		Remedy:  finding.Remedy{Text: "remove or rename one of the two"},
	}
	return sayOther(f, other)
}

// sayOther adds where the first one stands to what Duplicate found of the second.
func sayOther(f finding.Finding, other *manifest.Document) finding.Finding {
	if other != nil {
		f.Message += fmt.Sprintf("; the other one is at %s", other.Position(f.Path))
	}
	return f
}

func (in *Input) addRuntime(id fieldpath.Object, spec *trainer.TrainingRuntimeSpec, d *manifest.Document) {
	plain := ports.Plain(spec)
	render.DefaultRuntime(spec, d.Sets)
	if in.Spelled {
		for _, p := range plain {
			p.Protocol = ""
		}
	}
	in.KeepRuntime(id, in.Runtimes.Add(id, spec), RuntimeSource{Document: d})
}

func (in *Input) addSnapshot(cm *corev1.ConfigMap, namespace string, d *manifest.Document) {
	id, runtime := in.SnapshotOf(cm, namespace, d)
	var spec *trainer.TrainingRuntimeSpec
	switch r := runtime.(type) {
	case *trainer.TrainingRuntime:
		spec = &r.Spec
	case *trainer.ClusterTrainingRuntime:
		spec = &r.Spec
	default:
		return
	}
	in.KeepRuntime(id, in.Runtimes.AddSnapshot(id, spec), RuntimeSource{Document: d, Snapshot: true})
}

// SnapshotOf is the runtime that a ConfigMap holds, and the TrainJob for which the Trainer has kept it;
// nil for any other ConfigMap, and for one that cannot be read, which is reported.
func (in *Input) SnapshotOf(cm *corev1.ConfigMap, namespace string, d *manifest.Document) (fieldpath.Object, any) {
	name, runtime, err := manifest.Snapshot(cm)
	if err != nil {
		in.Findings = append(in.Findings, finding.Finding{
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

// KeepRuntime notes where a runtime stands, or reports why it was refused.
func (in *Input) KeepRuntime(id fieldpath.Object, refused *finding.Finding, source RuntimeSource) {
	if refused == nil {
		in.Sources[id] = source
		return
	}
	if source.Snapshot {
		refused.Message = fmt.Sprintf("the inputs hold two snapshots of the runtime of %s", id)
		refused.Object = source.Document.ID
	}
	refused.Position = source.Document.Position(refused.Path)
	refused.Message += fmt.Sprintf("; the other one is at %s", in.Sources[id].Document.Position(refused.Path))
	in.Findings = append(in.Findings, *refused)
}

// FurtherPatches are the patches of the --patch files, for the library.
func (in *Input) FurtherPatches() []trainer.RuntimePatch {
	patches := make([]trainer.RuntimePatch, len(in.Patches))
	for i := range in.Patches {
		patches[i] = in.Patches[i].Patch
	}
	render.DefaultPatches(patches)
	return patches
}

// Managers are the names of all managers with a patch, each once, in order.
func (in *Input) Managers() []string {
	names := slices.Clone(in.patchers)
	for i := range in.Patches {
		names = append(names, in.Patches[i].Patch.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// PatchedBy notes the managers of a TrainJob.
func (in *Input) PatchedBy(job *trainer.TrainJob) {
	for i := range job.Spec.RuntimePatches {
		in.patchers = append(in.patchers, job.Spec.RuntimePatches[i].Manager)
	}
}
