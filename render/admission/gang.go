package admission

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// deadline reports a deadline that overflows a duration. The Trainer then finds it exceeded at once
// (Trainer v2.3.0 pkg/controller), or when the TrainJob resumes: the deadline is immutable.
func (c *checker) deadline() {
	seconds := c.typed.Spec.ActiveDeadlineSeconds
	if seconds <= 0 || time.Duration(seconds)*time.Second > 0 {
		return
	}
	c.report(codes.NeverCreated, finding.Error, fieldpath.Fields("spec", "activeDeadlineSeconds"),
		fmt.Sprintf("the TrainJob exceeds its deadline of %d seconds at once", seconds),
		fmt.Sprintf("set 1 to %d seconds", int64(math.MaxInt64/time.Second)))
}

// podGroups reports a gang that the definition of its PodGroup rejects. The Trainer then fails on
// each reconcile, and makes nothing.
func (c *checker) podGroups(ctx context.Context) {
	c.Add(PodGroups(ctx, c.in.Release, c.typed, c.output.Companions, c.origin)...)
}

// isMembers reports whether a path of a PodGroup leads to the number of its Pods.
func isMembers(path fieldpath.Path) bool {
	return slices.Equal(path, fieldpath.Fields("spec", "minMember"))
}

// PodGroups returns what the definitions of the PodGroups among the objects of a TrainJob reject,
// each with the claim that causes it. The function origin returns the claim in force on a field of
// the JobSet.
func PodGroups(
	ctx context.Context, r *release.Release, job *trainer.TrainJob, companions []runtime.Object,
	origin func(fieldpath.Path) merge.Claim,
) (rejected finding.List) {
	for _, companion := range companions {
		group := companion.GetObjectKind().GroupVersionKind()
		if group.Kind != podGroupKind {
			continue
		}
		d := podGroupOf(r, group.Group)
		fields, err := tree.Fields(companion)
		if d == nil || err != nil {
			continue
		}
		found := &findings{}
		d.decode(fields, job.Namespace, found).validate(ctx, nil, found)
		for _, f := range found.List() {
			if !f.Path.HasPrefix(fieldpath.Fields("spec")) {
				continue // its name is that of the TrainJob
			}
			if t := job.Spec.Trainer; isMembers(f.Path) {
				f.Remedy = finding.Remedy{Text: "set numNodes to 1 or more"}
				if t != nil && t.NumNodes != nil {
					f.Claims = []merge.Claim{
						{Owner: runtimepatch.TrainJobLayer, Value: *t.NumNodes,
							At: fieldpath.Fields("spec", "trainer", "numNodes")}}
				}
			} else if claim, ok := originOfGang(f.Path, origin); ok {
				f.Claims = []merge.Claim{claim}
			}
			rejected = append(rejected, f)
		}
	}
	return rejected
}

// originOfGang returns the origin of a field of Volcano's PodGroup.
func originOfGang(path fieldpath.Path,
	origin func(fieldpath.Path) merge.Claim) (merge.Claim, bool) {
	spec := len(fieldpath.Fields("spec"))
	switch {
	case slices.Equal(path, fieldpath.Fields("spec", "queue")):
		return origin(
			fieldpath.Fields("metadata", "annotations").Append(fieldpath.Key(volcanoQueue))), true
	case path.HasPrefix(fieldpath.Fields("spec", "networkTopology")):
		source := fieldpath.Fields("spec", "podGroupPolicy", "volcano").Append(path[spec:]...)
		return merge.Claim{Owner: runtimepatch.RuntimeLayer, Value: merge.Presence{},
			At: source}, true
	}
	return merge.Claim{}, false
}
