// This file answers which runtimes there are, and where each stands.

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

// RuntimeSource is where a runtime stands. A snapshot stands inside a ConfigMap as text, so only the
// ConfigMap has a place.
type RuntimeSource struct {
	Document *manifest.Document
	Snapshot bool
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
