package workspace

import (
	"cmp"
	"encoding/json"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/manifest"
)

// Outline returns the part of a TrainJob that locates its runtime and its findings. It has the
// labels, and the managers of the patches.
func Outline(fields map[string]any, namespace string) *trainer.TrainJob {
	job := &trainer.TrainJob{}
	meta, _ := fields["metadata"].(map[string]any)
	job.Name, _ = meta["name"].(string)
	job.Namespace, _ = meta["namespace"].(string)
	job.Namespace = cmp.Or(job.Namespace, namespace)
	labels, _ := meta["labels"].(map[string]any)
	for name, value := range labels {
		if text, ok := value.(string); ok {
			if job.Labels == nil {
				job.Labels = map[string]string{}
			}
			job.Labels[name] = text
		}
	}
	spec, _ := fields["spec"].(map[string]any)
	ref, _ := spec["runtimeRef"].(map[string]any)
	job.Spec.RuntimeRef.Name, _ = ref["name"].(string)
	if kind, ok := ref["kind"].(string); ok {
		job.Spec.RuntimeRef.Kind = &kind
	}
	if group, ok := ref["apiGroup"].(string); ok {
		job.Spec.RuntimeRef.APIGroup = &group
	}
	eachPatch(fields, func(manager string, _ map[string]any) {
		job.Spec.RuntimePatches = append(job.Spec.RuntimePatches,
			trainer.RuntimePatch{Manager: manager})
	})
	return job
}

func eachPatch(fields map[string]any, take func(manager string, entry map[string]any)) {
	spec, _ := fields["spec"].(map[string]any)
	patches, _ := spec["runtimePatches"].([]any)
	for _, patch := range patches {
		entry, _ := patch.(map[string]any)
		manager, _ := entry["manager"].(string)
		take(manager, entry)
	}
}

// Decodable returns the decodable parts of the patches of a TrainJob.
func Decodable(fields map[string]any) []trainer.RuntimePatch {
	var patches []trainer.RuntimePatch
	eachPatch(fields, func(manager string, entry map[string]any) {
		var decoded trainer.RuntimePatch
		entry, _ = withoutNulls(entry).(map[string]any)
		// Decoding has reported the error. The fields before it, and most behind it, are decoded.
		if !tree.Decode(entry, &decoded) {
			decoded.Manager = manager
			if data, err := json.Marshal(entry); err == nil {
				_ = tree.UnmarshalBounded(data, &decoded, kjson.UnmarshalCaseSensitivePreserveInts)
			}
		}
		patches = append(patches, decoded)
	})
	return patches
}

// withoutNulls returns a copy of a value without the nulls in objects. The API server drops these
// from a TrainJob, and Go's decoder would store an empty value in a map.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(v))
		for name, field := range v {
			if field != nil {
				kept[name] = withoutNulls(field)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, item := range v {
			kept[i] = withoutNulls(item)
		}
		return kept
	default:
		return value
	}
}

// IsTrainer reports whether a document belongs to the Trainer's API group.
func IsTrainer(d *manifest.Document) bool {
	group, _, _ := strings.Cut(d.APIVersion, "/")
	return group == trainer.GroupVersion.Group
}
