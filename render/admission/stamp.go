package admission

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// anyTime stands for the time of admission where only its presence matters.
var anyTime = time.Unix(0, 0)

// Stamp sets the time of a TrainJob's patches as the Trainer's mutating webhook does (Trainer v2.3.0
// pkg/webhooks). On creation, where old is nil, and for a manager that old does not have, an entry
// without a time gets now. On an update an entry whose content did not change keeps its old time, and one
// whose content did gets now, whatever time it brings. It changes job and never old, and tells whether it
// changed anything.
func Stamp(old, job *trainer.TrainJob, now time.Time) bool {
	if job == nil {
		return false
	}
	stamp := metav1.NewTime(now)
	byManager := map[string]*trainer.RuntimePatch{}
	if old != nil {
		for i := range old.Spec.RuntimePatches {
			byManager[old.Spec.RuntimePatches[i].Manager] = &old.Spec.RuntimePatches[i]
		}
	}
	changed := false
	for i := range job.Spec.RuntimePatches {
		patch := &job.Spec.RuntimePatches[i]
		at := patch.Time
		before, known := byManager[patch.Manager]
		switch {
		case known && sameContent(before, patch):
			at = before.Time.DeepCopy()
		case known || at == nil:
			at = stamp.DeepCopy()
		}
		changed = changed || !equality.Semantic.DeepEqual(patch.Time, at)
		patch.Time = at
	}
	return changed
}

func sameContent(a, b *trainer.RuntimePatch) bool {
	x, y := *a, *b
	x.Time, y.Time = nil, nil
	return equality.Semantic.DeepEqual(x, y)
}

// sameTemplate compares what two merges made.
func sameTemplate(a, b *trainer.JobSetTemplateSpec) bool {
	return equality.Semantic.DeepEqual(a, b)
}
