package admission_test

import (
	"testing"

	"github.com/trainweld/trainweld/render/admission"
)

// What one TrainJob with two patches takes, its definitions compiled and its runtime admitted.
func BenchmarkCheck(b *testing.B) {
	t := &testing.T{}
	runtime, _ := admission.AdmitRuntime(b.Context(), object(t, torchRuntime), "default")
	in := admission.Input{TrainJob: object(t, jobYAML("\ttrainer: {}\n"+patchYAML("{spec: {nodeSelector: {a: b}, volumes: [{name: v, emptyDir: {}}]}}"))), Runtime: runtime}
	admission.Check(b.Context(), in)
	b.ReportAllocs()
	for b.Loop() {
		admission.Check(b.Context(), in)
	}
}
