package trainjob

import "reflect"

// strip removes the empty parts of a patch, like the SDK, and also empty metadata. It keeps other
// empty structs, such as a security context that is set. It changes p, in which empty lists and
// maps are nil.
func strip(p *TrainingRuntimeSpecPatch) *TrainingRuntimeSpecPatch {
	if p == nil || p.Template == nil {
		return nil
	}
	t := p.Template
	stripEmpty(&t.Metadata)
	if t.Spec != nil {
		for i := range t.Spec.ReplicatedJobs {
			stripJob(&t.Spec.ReplicatedJobs[i].Template)
		}
	}
	stripEmpty(&t.Spec)
	stripEmpty(&p.Template)
	stripEmpty(&p)
	return p
}

func stripJob(t **JobTemplatePatch) {
	if *t == nil {
		return
	}
	stripEmpty(&(*t).Metadata)
	if spec := (*t).Spec; spec != nil {
		if pod := spec.Template; pod != nil {
			stripEmpty(&pod.Metadata)
			stripEmpty(&pod.Spec)
		}
		stripEmpty(&spec.Template)
	}
	stripEmpty(&(*t).Spec)
	stripEmpty(t)
}

// stripEmpty removes a part without fields.
func stripEmpty[T any](part **T) {
	if *part != nil && reflect.ValueOf(**part).IsZero() {
		*part = nil
	}
}
