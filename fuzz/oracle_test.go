package fuzz_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// upstream merges the patches into the template as Trainer v2.3.0 pkg/runtime/core does. It merges
// each patch's spec as a strategic merge patch over JSON, and labels and annotations key by key.
// Then it puts the replicated jobs back into the template's order.
func upstream(template *trainer.JobSetTemplateSpec,
	patches []trainer.RuntimePatch) (*trainer.JobSetTemplateSpec, error) {
	merged := &trainer.JobSetTemplateSpec{ObjectMeta: *template.ObjectMeta.DeepCopy(),
		Spec: template.Spec}
	for i := range patches {
		if metadata := metadataOf(&patches[i]); metadata != nil {
			merged.Labels = overlay(merged.Labels, metadata.Labels)
			merged.Annotations = overlay(merged.Annotations, metadata.Annotations)
		}
	}
	for i := range patches {
		spec, err := upstreamStep(&merged.Spec, &patches[i])
		if err != nil {
			return nil, err
		}
		merged.Spec = *spec
	}
	merged.Spec = *merged.Spec.DeepCopy()
	upstreamOrder(template, &merged.Spec)
	return merged, nil
}

func metadataOf(p *trainer.RuntimePatch) *metav1.ObjectMeta {
	if p.TrainingRuntimeSpec == nil || p.TrainingRuntimeSpec.Template == nil {
		return nil
	}
	return p.TrainingRuntimeSpec.Template.Metadata
}

func specOf(p *trainer.RuntimePatch) *trainer.JobSetSpecPatch {
	if p.TrainingRuntimeSpec == nil || p.TrainingRuntimeSpec.Template == nil {
		return nil
	}
	return p.TrainingRuntimeSpec.Template.Spec
}

func overlay(base, over map[string]string) map[string]string {
	if len(over) == 0 {
		return base
	}
	out := maps.Clone(base)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, over)
	return out
}

// upstreamStep lays one patch over the spec. It changes neither.
func upstreamStep(spec *jobset.JobSetSpec, p *trainer.RuntimePatch) (*jobset.JobSetSpec, error) {
	patch := specOf(p)
	if patch == nil {
		return spec, nil
	}
	before, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	change, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, change, jobset.JobSetSpec{})
	if err != nil {
		return nil, err
	}
	out := &jobset.JobSetSpec{}
	return out, json.Unmarshal(after, out)
}

// upstreamOrder puts the jobs into the template's order. A job that the template lacks counts as
// its first.
func upstreamOrder(template *trainer.JobSetTemplateSpec, spec *jobset.JobSetSpec) {
	position := map[string]int{}
	for i, job := range template.Spec.ReplicatedJobs {
		position[job.Name] = i
	}
	slices.SortStableFunc(spec.ReplicatedJobs, func(a, b jobset.ReplicatedJob) int {
		return position[a.Name] - position[b.Name]
	})
}

// typed is the template's encoding after it went through the typed API, which is what equal to
// upstream means.
func typed(template *trainer.JobSetTemplateSpec) []byte {
	var out trainer.JobSetTemplateSpec
	must(json.Unmarshal(encode(template), &out))
	return encode(&out)
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	must(err)
	return data
}

func decode(data []byte) any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	must(d.Decode(&v))
	return v
}

// canonical is the encoding of a value with its keys sorted.
func canonical(v any) string {
	data := encode(v)
	if !bytes.ContainsAny(data, `{[\\`) {
		return string(data) // scalar: it has one encoding
	}
	return string(encode(decode(data)))
}

func must(err error) {
	if err != nil {
		panic(fmt.Errorf("the oracle cannot encode its own values: %w", err))
	}
}
