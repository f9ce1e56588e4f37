package golden

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/ownfile"
	"github.com/trainweld/trainweld/internal/ports"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
)

// mentionsTrainJob says whether a file holds a TrainJob, or what would be one if it could be read.
func mentionsTrainJob(fsys fs.FS, file string) (bool, error) {
	if info, err := fs.Stat(fsys, file); err == nil && info.Size() > ownfile.Limit {
		return false, nil
	}
	data, err := ownfile.ReadInput(fsys, file)
	if err != nil || !bytes.Contains(data, []byte(trainer.TrainJobKind)) {
		return false, err
	}
	documents, findings := manifest.Decode(file, data)
	for _, d := range documents {
		if d.ID.Kind == trainer.TrainJobKind {
			return true, nil
		}
	}
	return len(documents) == 0 && findings.Err() != nil && bytes.Contains(data, []byte("kind: "+trainer.TrainJobKind)), nil
}

// input is what a case is made of.
type input struct {
	opts     options
	jobs     []job
	runtimes render.Runtimes
	sources  map[fieldpath.Object]source // by the runtime, or by the TrainJob of a snapshot
	broken   map[fieldpath.Object]bool   // runtimes that are there and cannot be read
	patches  []manifest.Patch
	// findings are those of the case's own files, above those of the files above.
	findings, above finding.List
}

type job struct {
	*trainer.TrainJob
	document *manifest.Document
}

// source is where a runtime stands. A snapshot stands inside a ConfigMap as text.
type source struct {
	document *manifest.Document
	snapshot bool
}

// load reads the files of a case.
func (c *Case) load(opts options) (*input, error) {
	in := &input{opts: opts, sources: map[fieldpath.Object]source{}, broken: map[fieldpath.Object]bool{}}
	for _, file := range c.above {
		if !slices.Contains(opts.patches, file) {
			if err := in.readFile(c, file, false); err != nil {
				return nil, err
			}
		}
	}
	for _, file := range c.inputs {
		if !slices.Contains(opts.patches, file) {
			if err := in.readFile(c, file, true); err != nil {
				return nil, err
			}
		}
	}
	for _, file := range opts.patches {
		data, err := read(c.fsys, file)
		if err != nil {
			return nil, err
		}
		patches, findings := manifest.DecodePatches(c.at(file), data)
		in.patches = append(in.patches, patches...)
		in.findings = append(in.findings, findings...)
	}
	for i := range in.findings {
		f := &in.findings[i]
		if f.Object.Name != "" && (f.Object.Kind == trainer.TrainJobKind || f.Object.Kind == trainer.TrainingRuntimeKind) {
			f.Object.Namespace = in.namespace(f.Object.Namespace)
		}
	}
	return in, nil
}

func (in *input) namespace(own string) string { return cmp.Or(own, in.opts.namespace, "default") }

func (in *input) readFile(c *Case, file string, own bool) error {
	data, err := read(c.fsys, file)
	if err != nil {
		return err
	}
	documents, findings := manifest.Decode(c.at(file), data)
	findings = manifest.Tolerate(findings, finding.CodeNotAnObject)
	if own {
		in.findings = append(in.findings, findings...)
	} else {
		in.above = append(in.above, findings...)
	}
	for _, d := range documents {
		in.add(d, own)
	}
	return nil
}

// add takes what one document holds.
func (in *input) add(d *manifest.Document, own bool) {
	switch o := d.Object.(type) {
	case *trainer.TrainJob:
		if own {
			in.addJob(o, d)
		}
	case *trainer.TrainingRuntime:
		in.addRuntime(fieldpath.Object{Kind: trainer.TrainingRuntimeKind, Namespace: in.namespace(o.Namespace), Name: o.Name}, &o.Spec, d)
	case *trainer.ClusterTrainingRuntime:
		in.addRuntime(fieldpath.Object{Kind: trainer.ClusterTrainingRuntimeKind, Name: o.Name}, &o.Spec, d)
	case *corev1.ConfigMap:
		in.addSnapshot(o, d)
	case nil:
		if d.Broken {
			id := d.ID
			if id.Kind != trainer.ClusterTrainingRuntimeKind {
				id.Namespace = in.namespace(id.Namespace)
			}
			in.broken[id] = true
		}
	}
}

func (in *input) addJob(o *trainer.TrainJob, d *manifest.Document) {
	o.Namespace = in.namespace(o.Namespace)
	at := fieldpath.Fields("metadata", "name")
	refuse := func(code finding.Code, message, help string) {
		in.findings = append(in.findings, finding.Finding{
			Code: code, Severity: finding.Error, Object: render.ObjectOf(o), Path: at, Position: d.Position(at), Message: message, Remedy: finding.Remedy{Text: help},
		})
	}
	if o.Name == "" {
		refuse(finding.CodeNoName, "the TrainJob has no name", "set metadata.name; names of Jobs, Pods and addresses are made from it")
		return
	}
	for _, other := range in.jobs {
		if render.ObjectOf(other.TrainJob) == render.ObjectOf(o) {
			refuse(finding.CodeDuplicateObject, fmt.Sprintf("%s is in the case twice", render.ObjectOf(o)), "remove or rename one of the two")
			return
		}
	}
	render.DefaultTrainJob(o)
	in.jobs = append(in.jobs, job{o, d})
}

func (in *input) addRuntime(id fieldpath.Object, spec *trainer.TrainingRuntimeSpec, d *manifest.Document) {
	plain := ports.Plain(spec)
	render.DefaultRuntime(spec, d.Sets)
	if in.opts.to != "jobset" {
		for _, p := range plain {
			p.Protocol = ""
		}
	}
	in.keep(id, in.runtimes.Add(id, spec), source{document: d})
}

func (in *input) addSnapshot(cm *corev1.ConfigMap, d *manifest.Document) {
	name, held, err := manifest.Snapshot(cm)
	at := fieldpath.Fields("data", "runtime")
	if err != nil {
		in.findings = append(in.findings, finding.Finding{
			Code: finding.CodeWrongType, Severity: finding.Error, Object: d.ID, Path: at, Position: d.Position(at),
			Message: err.Error(), Remedy: finding.Remedy{Text: "take the ConfigMap from the cluster as it is, or leave it out to use the runtime itself"},
		})
		return
	}
	id := fieldpath.Object{Kind: trainer.TrainJobKind, Namespace: in.namespace(cm.Namespace), Name: name}
	switch r := held.(type) {
	case *trainer.TrainingRuntime:
		in.keep(id, in.runtimes.AddSnapshot(id, &r.Spec), source{d, true})
	case *trainer.ClusterTrainingRuntime:
		in.keep(id, in.runtimes.AddSnapshot(id, &r.Spec), source{d, true})
	}
}

// keep notes where a runtime stands, or reports why it was refused.
func (in *input) keep(id fieldpath.Object, refused *finding.Finding, s source) {
	if refused == nil {
		in.sources[id] = s
		return
	}
	refused.Position = s.document.Position(refused.Path)
	refused.Message += fmt.Sprintf(", in %s and in %s", path.Base(in.sources[id].document.File), path.Base(s.document.File))
	in.findings = append(in.findings, *refused)
}

// unknownManager is a manager that is to win conflicts and patches nothing, and who may have been meant.
func (in *input) unknownManager() (name, hint string) {
	var known []string
	for _, j := range in.jobs {
		for _, p := range j.Spec.RuntimePatches {
			known = append(known, p.Manager)
		}
	}
	for _, p := range in.patches {
		known = append(known, p.Patch.Manager)
	}
	for _, name := range in.opts.jobSet.ForceManagers {
		if slices.Contains(known, name) || in.findings.Err() != nil {
			continue
		}
		if near := finding.Nearest(name, known); near != "" {
			return name, fmt.Sprintf("; did you mean %s?", near)
		}
		return name, fmt.Sprintf("; the managers are %q", known)
	}
	return "", ""
}

// runtimeOf is where the runtime of a TrainJob stands.
func (in *input) runtimeOf(j job) (source, bool) {
	s, ok := in.sources[render.ObjectOf(j.TrainJob)]
	if !ok {
		s, ok = in.sources[render.RuntimeOf(j.TrainJob)]
	}
	return s, ok
}

// patchDepth is the length of the path to an entry of .spec.runtimePatches.
const patchDepth = 3

// place is where a claim on a TrainJob's rendering stands.
func (in *input) place(j job, c engine.Claim) fieldpath.Position {
	if c.Position != (fieldpath.Position{}) || len(c.Source) == 0 {
		return c.Position
	}
	if c.Layer == merge.TrainJobLayer && !j.document.Has(c.Source) {
		return fieldpath.Position{} // a default
	}
	if merge.FromRuntime(c) {
		s, ok := in.runtimeOf(j)
		switch {
		case !ok:
			return fieldpath.Position{}
		case s.snapshot:
			return s.document.Position(fieldpath.Fields("data", "runtime"))
		default:
			return s.document.Position(c.Source)
		}
	}
	if manager, ok := c.Layer.Manager(); ok {
		for _, p := range in.patches {
			base := merge.PatchPath(manager)[:patchDepth]
			if p.Patch.Manager == manager && c.Source.HasPrefix(base) && !j.document.Has(base) {
				return p.Document.Position(p.Base.Append(c.Source[len(base):]...))
			}
		}
	}
	return j.document.Position(c.Source)
}
