package admission

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// anyTime stands for the time of admission if only its presence matters.
var anyTime = time.Unix(0, 0)

// Stamp sets the times of a TrainJob's patches as the Trainer's mutating webhook does (Trainer
// v2.3.0 pkg/webhooks). On creation old is nil. A new patch without a time gets now, and a new
// patch with a time keeps it. On an update an unchanged patch keeps its old time, and a changed
// patch gets now in any case. Stamp changes only job, and reports whether it changed it.
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

// Invalid returns the errors for which the API server rejects a TrainJob by its definition, before
// admission policies see it. The arguments are those of [Mutated].
func Invalid(ctx context.Context, r *release.Release, old, fields map[string]any,
	namespace string) finding.List {
	found := &findings{}
	if d := found.definition(r, trainer.TrainJobKind); d != nil {
		var before *object
		if old != nil {
			before = d.decode(old, cmp.Or(namespace, "default"), &findings{})
		}
		d.decode(fields, cmp.Or(namespace, "default"), found).validate(ctx, before, found)
	}
	return found.List().Where(func(f finding.Finding) bool {
		return f.Severity == finding.Error && f.Code != codes.UnknownField
	})
}

// Mutated returns the fields of a TrainJob as the Trainer's mutating webhook leaves them, without
// metadata that the server maintains. On creation old is nil; else it has the fields of the stored
// TrainJob.
func Mutated(r *release.Release, old, job map[string]any,
	namespace string) (map[string]any, error) {
	found := &findings{}
	d := found.definition(r, trainer.TrainJobKind)
	if d == nil {
		return nil, found.List().Err()
	}
	c := &checker{in: Input{Release: r}}
	o := d.decode(job, cmp.Or(namespace, "default"), found)
	typed, err := c.decodeJob(o)
	if err != nil {
		return nil, err
	}
	var before *trainer.TrainJob
	if old != nil {
		if before, err = c.decodeJob(
			d.decode(old, cmp.Or(namespace, "default"), found)); err != nil {
			return nil, err
		}
	}
	if Stamp(before, typed, anyTime) {
		err = o.reencode(typed)
	}
	return o.fields, err
}

func sameContent(a, b *trainer.RuntimePatch) bool {
	x, y := *a, *b
	x.Time, y.Time = nil, nil
	return equality.Semantic.DeepEqual(x, y)
}
