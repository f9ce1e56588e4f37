package trainjob

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// strip removes the empty parts of a patch, like the SDK, and also empty metadata. It keeps other empty structs, such as a
// security context that is set. It changes p, in which empty lists and maps are nil.
func strip(p *TrainingRuntimeSpecPatch) *TrainingRuntimeSpecPatch {
	if p == nil || p.Template == nil {
		return nil
	}
	t := p.Template
	stripMetadata(&t.Metadata)
	if t.Spec != nil {
		for i := range t.Spec.ReplicatedJobs {
			job := &t.Spec.ReplicatedJobs[i]
			job.Template = stripJob(job.Template)
		}
		if len(t.Spec.ReplicatedJobs) == 0 {
			t.Spec = nil
		}
	}
	if t.Metadata == nil && t.Spec == nil {
		return nil
	}
	return p
}

func stripMetadata(m **metav1.ObjectMeta) {
	if *m != nil && reflect.ValueOf(**m).IsZero() {
		*m = nil
	}
}

func stripJob(t *JobTemplatePatch) *JobTemplatePatch {
	if t == nil {
		return nil
	}
	stripMetadata(&t.Metadata)
	if t.Spec != nil {
		t.Spec.Template = stripPod(t.Spec.Template)
		if t.Spec.Template == nil {
			t.Spec = nil
		}
	}
	if t.Metadata == nil && t.Spec == nil {
		return nil
	}
	return t
}

func stripPod(t *PodTemplatePatch) *PodTemplatePatch {
	if t == nil {
		return nil
	}
	stripMetadata(&t.Metadata)
	if t.Spec != nil && reflect.ValueOf(*t.Spec).IsZero() {
		t.Spec = nil
	}
	if t.Metadata == nil && t.Spec == nil {
		return nil
	}
	return t
}
