package trainjob

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// strip leaves out the parts of a patch that are empty, as the SDK does, and empty metadata besides. Other
// empty structs stay: an empty security context is named. It changes the patch that it is given, in which
// lists and maps that are empty are nil.
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
