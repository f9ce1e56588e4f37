package migrate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/trainingjob"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

func gangSchedulers() []string {
	return []string{string(trainingjob.Coscheduling), string(trainingjob.Volcano)}
}

// trainingJobKinds returns the kinds of kubeflow.org/v1.
func trainingJobKinds() []manifest.Kind {
	var kinds []manifest.Kind
	for _, kind := range trainingjob.Kinds() {
		k := manifest.Kind{Group: trainingjob.Group, Version: trainingjob.Version, Kind: kind,
			New: func() any { return trainingjob.New(kind) }}
		if kind == "MPIJob" {
			k.Others = map[string]string{
				"v2beta1": "rewrite the MPI Operator's job by hand, as a TrainJob of a runtime " +
					"with mlPolicy.mpi: v1 has other fields"}
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// unknownJob warns of a training job of a kind that Convert does not accept. The group has further
// kinds, such as Notebook.
func (m *migration) unknownJob(d *manifest.Document) {
	kinds := trainingjob.Kinds()
	group, _, _ := strings.Cut(d.APIVersion, "/")
	hint := option.DidYouMean(d.ID.Kind, kinds)
	if group != trainingjob.Group || slices.Contains(kinds, d.ID.Kind) ||
		hint == "" && !strings.HasSuffix(d.ID.Kind, "Job") {
		return
	}
	at := fieldpath.Fields("kind")
	m.findings = append(m.findings, finding.Finding{
		Code: codes.UnknownKind, Severity: finding.Warning, Object: m.flags.InNamespace(d.ID),
		Path: at, Position: d.Position(at),
		Message: fmt.Sprintf("no TrainJob for kind %s: the object stays as it is", d.ID.Kind),
		Remedy: finding.Remedy{
			Text: "use one of the kinds " + strings.Join(kinds, ", ") + hint},
	})
}

// trainingJobs returns the edits that replace the training jobs of kubeflow.org/v1 in a file.
func (m *migration) trainingJobs(file workspace.File) []manifest.Edit {
	var edits []manifest.Edit
	var all []any
	var items []*manifest.Document
	var rejected error
	for _, d := range file.Documents {
		objects := m.trainingJob(d)
		if objects == nil {
			continue
		}
		all = append(all, objects...)
		edit, err := replace(d, objects)
		if err != nil {
			items, rejected = append(items, d), err
			continue
		}
		edits = append(edits, edit)
	}
	switch {
	case len(items) == 0:
	case len(items) < len(file.Documents):
		for _, d := range items {
			m.notReplaced(d, rejected)
		}
	default:
		// A List with training jobs only, as kubectl get writes it, becomes a stream or a JSON
		// List.
		var text bytes.Buffer
		if err := manifest.Encode(&text, items[0].Format(), all...); err != nil {
			m.notReplaced(items[0], err)
			return nil
		}
		return []manifest.Edit{{Start: 0, End: len(file.Data), Text: text.Bytes()}}
	}
	return edits
}

// replace returns the edit that replaces a document by objects.
func replace(d *manifest.Document, objects []any) (manifest.Edit, error) {
	var text bytes.Buffer
	if err := manifest.Encode(&text, d.Format(), objects...); err != nil {
		return manifest.Edit{}, err
	}
	return d.Replace(text.Bytes())
}

// trainingJob converts a training job of kubeflow.org/v1. It returns nil for other objects, and
// after an error, which it reports.
func (m *migration) trainingJob(d *manifest.Document) []any {
	old, ok := d.Object.(runtime.Object)
	if !ok || trainingjob.New(d.ID.Kind) == nil ||
		!strings.HasPrefix(d.APIVersion, trainingjob.Group+"/") {
		return nil
	}
	result, findings := trainingjob.Convert(old,
		trainingjob.Options{Gang: trainingjob.GangScheduler(m.flags.gang)})
	if result != nil {
		findings = append(findings, m.rejected(d, result)...)
		findings = append(findings, m.nameConflicts(d, result)...)
	}
	for i := range findings {
		findings[i].Object.Namespace = m.flags.NamespaceOf(d.ID.Namespace)
		findings[i].Position = d.Position(findings[i].Path)
	}
	m.findings = append(m.findings, findings...)
	if findings.Err() != nil {
		return nil
	}
	return result.Objects()
}

func (m *migration) notReplaced(d *manifest.Document, err error) {
	namespace := m.flags.NamespaceOf(d.ID.Namespace)
	id := fieldpath.Object{Kind: d.ID.Kind, Namespace: namespace, Name: d.ID.Name}
	m.findings = append(m.findings, finding.Finding{
		Code: codes.NotMigrated, Severity: finding.Error, Object: id, Position: d.Position(nil),
		Message: fmt.Sprintf("it cannot be replaced in its file: %v", err),
		Remedy:  finding.Remedy{Text: "move it to a file of its own, and migrate again"},
	})
}

// nameConflicts reports new objects with the name of another object of the inputs. Jobs of several
// kinds may share a name, and all become TrainJobs.
func (m *migration) nameConflicts(d *manifest.Document, result *trainingjob.Result) finding.List {
	namespace := m.flags.NamespaceOf(d.ID.Namespace)
	ids := []fieldpath.Object{
		{Kind: trainer.TrainJobKind, Namespace: namespace, Name: result.TrainJob.Name},
		{Kind: trainer.TrainingRuntimeKind, Namespace: namespace, Name: result.Runtime.Name},
	}
	var findings finding.List
	for _, id := range ids {
		other := cmp.Or(m.sources[id], m.ByName[id])
		if source := m.Named(id); other == nil && source != nil {
			other = source.Document
		}
		if other == nil {
			m.sources[id] = d
			continue
		}
		path := fieldpath.Fields("metadata", "name")
		findings = append(findings, finding.Finding{
			Code: codes.DuplicateObject, Severity: finding.Error, Object: d.ID, Path: path,
			Message: fmt.Sprintf("it becomes %s, as does the object at %s", id,
				printable.Position(other.Position(path))),
			Remedy: finding.Remedy{Text: "rename one of the two"},
		})
	}
	return findings
}

// rejected returns the reasons why the cluster rejects the new objects. Most are errors in the old
// job's Pods.
func (m *migration) rejected(d *manifest.Document, result *trainingjob.Result) finding.List {
	ctx := context.Background()
	job, errJob := admission.Encode(result.TrainJob)
	fields, errRuntime := admission.Encode(result.Runtime)
	if err := cmp.Or(errJob, errRuntime); err != nil {
		return finding.List{{
			Code: codes.WrongType, Severity: finding.Error, Object: d.ID,
			Message: fmt.Sprintf("the result cannot be encoded: %v", err),
			Remedy:  finding.Remedy{Text: "fix the value"},
		}}
	}
	in := admission.Input{TrainJob: job, Namespace: m.flags.NamespaceOf(d.ID.Namespace)}
	var findings finding.List
	in.Runtime, findings = admission.AdmitRuntime(ctx, nil, fields, in.Namespace)
	var errs finding.List
	for _, f := range append(findings, admission.Check(ctx, in)...) {
		if f.Severity < finding.Error || f.Code == codes.RuntimeRejected {
			continue
		}
		errs = append(errs, finding.Finding{
			Code: f.Code, Severity: f.Severity, Object: d.ID,
			Path: fieldpath.Fields("metadata", "name"),
			Message: fmt.Sprintf("the cluster rejects the result: %s %s: %s", f.Object, f.Path,
				f.Message), Remedy: finding.Remedy{Text: cmp.Or(f.Remedy.Text, "fix the old job")},
		})
	}
	return errs
}
