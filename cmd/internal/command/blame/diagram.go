package blame

import (
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/cmd/internal/blameview"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/render"
)

// diagramOf returns how a TrainJob became an object of a kind, and a JobSet its Pods.
func diagramOf(in *workspace.Input, j workspace.Job, kind string,
	out pipeline.Made) *blameview.Diagram {
	diagram := &blameview.Diagram{Runtime: render.RuntimeOf(j.TrainJob)}
	if source := in.SourceOf(j); source.Base() != nil {
		diagram.Managers = source.Managers()
	}
	for _, patch := range j.TrainJob.Spec.RuntimePatches {
		diagram.Managers = append(diagram.Managers, patch.Manager)
	}
	for _, patch := range in.PatchesFor(j) {
		diagram.Managers = append(diagram.Managers, patch.Manager)
	}
	if kind != workspace.JobSetKind {
		return diagram
	}
	for i := range out.JobSet.Spec.ReplicatedJobs {
		replicated := &out.JobSet.Spec.ReplicatedJobs[i]
		diagram.Jobs = append(diagram.Jobs, blameview.Jobs{
			Name: replicated.Name, Replicas: int(replicated.Replicas),
			Pods: int(ptr.Deref(replicated.Template.Spec.Parallelism, 1)),
		})
	}
	return diagram
}
