// This file collects the runtimes and their positions.

package workspace

import (
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/ports"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render"
)

// RuntimeSource is the source of a runtime. A ConfigMap holds a snapshot as a string, so fields of a snapshot have the
// position of that string.
type RuntimeSource struct {
	Document *manifest.Document
	Snapshot any // the runtime of a snapshot that the Trainer keeps for a TrainJob
}

// Position returns the position of a field of the runtime.
func (s *RuntimeSource) Position(path fieldpath.Path) fieldpath.Position {
	if s.Snapshot != nil {
		path = fieldpath.Fields("data", "runtime")
	}
	return s.Document.Position(path)
}

// RuntimeOf returns the runtime of a TrainJob, or a finding if it is missing. It returns nil for both if the runtime is
// broken: then the runtime has its own findings.
func (in *Input) RuntimeOf(job *trainer.TrainJob) (*trainer.TrainingRuntimeSpec, *finding.Finding) {
	spec, missing := in.Runtimes.Find(job)
	if missing != nil && in.Broken[render.RuntimeOf(job)] {
		return nil, nil
	}
	return spec, missing
}

// SourceOf returns the source of a TrainJob's runtime, preferring a snapshot. It returns nil without a runtime.
func (in *Input) SourceOf(job *trainer.TrainJob) *RuntimeSource {
	if snapshot := in.Sources[render.ObjectOf(job)]; snapshot != nil {
		return snapshot
	}
	return in.Sources[render.RuntimeOf(job)]
}

// AddRuntime adds a runtime or a snapshot and returns its source, or nil for any other object. It reports a duplicate and does
// not keep it.
func (in *Input) AddRuntime(d *manifest.Document) (source *RuntimeSource, kept bool) {
	source = &RuntimeSource{Document: d}
	id, runtime, add := in.ID(d), d.Object, in.Runtimes.Add
	if cm, ok := runtime.(*corev1.ConfigMap); ok {
		id, source.Snapshot = in.snapshotOf(cm, d)
		runtime, add = source.Snapshot, in.Runtimes.AddSnapshot
	}
	var spec *trainer.TrainingRuntimeSpec
	switch r := runtime.(type) {
	case *trainer.TrainingRuntime:
		spec = &r.Spec
	case *trainer.ClusterTrainingRuntime:
		spec = &r.Spec
	default:
		if !in.Texts || !IsRuntime(id) {
			return nil, false
		}
	}
	switch {
	case in.Texts && id.Name == "":
		return source, false // no TrainJob can reference it
	case in.Texts:
		spec = &trainer.TrainingRuntimeSpec{}
	case source.Snapshot == nil:
		in.setDefaults(spec, d)
	}
	if refused := add(id, spec); refused != nil && !in.Last {
		if source.Snapshot != nil {
			refused.Message = fmt.Sprintf("the inputs hold two snapshots of the runtime of %s", id)
			refused.Object = d.ID
		}
		refused.Position = d.Position(refused.Path)
		in.Findings = append(in.Findings, in.sayOther(*refused, in.Sources[id].Document))
		return source, false
	}
	in.Sources[id] = source
	return source, true
}

// setDefaults sets the API server's defaults in a runtime.
func (in *Input) setDefaults(spec *trainer.TrainingRuntimeSpec, d *manifest.Document) {
	plain := ports.Plain(spec)
	render.DefaultRuntime(spec, d.Sets)
	if in.Spelled {
		for _, p := range plain {
			p.Protocol = ""
		}
	}
}

// snapshotOf returns the runtime in a ConfigMap, and the TrainJob that the snapshot is for. It returns nil for any other
// ConfigMap, and for an invalid one, which it reports.
func (in *Input) snapshotOf(cm *corev1.ConfigMap, d *manifest.Document) (fieldpath.Object, any) {
	name, runtime, err := manifest.Snapshot(cm)
	if err != nil {
		at := fieldpath.Fields("data", "runtime")
		in.Findings = append(in.Findings, finding.Finding{
			Code: finding.CodeWrongType, Severity: finding.Error, Object: d.ID, Path: at, Position: d.Position(at),
			Message: err.Error(), Remedy: finding.Remedy{Text: "take the ConfigMap from the cluster as it is, or leave it out to use the runtime itself"},
		})
	}
	return fieldpath.Object{Kind: trainer.TrainJobKind, Namespace: in.flags.NamespaceOf(cm.Namespace), Name: name}, runtime
}
