package workspace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// Job is a TrainJob with its document.
type Job struct {
	*trainer.TrainJob
	Document *manifest.Document
	// Written holds the fields of a TrainJob that is only an Outline, or nil.
	Written map[string]any
}

// Release returns the release that decoded the TrainJob, or nil if the input names none.
func (j Job) Release() *release.Release { return j.Document.API().Release() }

// Layers returns the TrainJob's overrides in the fields of Trainer 2.0 or 2.1, as the API server
// stores them. It returns nil for a TrainJob without any.
func (j Job) Layers() *legacy.Overrides {
	layers := j.Document.Overrides.DeepCopy()
	render.DefaultPatches(layers.Patches(), nil) // they share the values with the overrides
	return layers
}

// JobSet is a JobSet of the input, for a rendering of its Jobs and Pods.
type JobSet struct {
	*jobset.JobSet
	Document *manifest.Document
}

// AsTrainJob returns a TrainJob with the JobSet's name, from which the output file gets its name.
func (js JobSet) AsTrainJob() *trainer.TrainJob {
	return &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: js.Name, Namespace: js.Namespace}}
}

// JobSetKind is the kind in findings on the JobSet of a TrainJob.
const JobSetKind = "JobSet"

// IsRuntime reports whether an object is a runtime of either kind.
func IsRuntime(o fieldpath.Object) bool {
	return o.Kind == trainer.TrainingRuntimeKind || o.Kind == trainer.ClusterTrainingRuntimeKind
}

// reporter adds findings to the findings of an input, in the order of reading.
type reporter struct{ found *finding.List }

func (r reporter) report(found ...finding.Finding) { *r.found = append(*r.found, found...) }

func (flags Flags) idOf(d *manifest.Document) fieldpath.Object {
	id := flags.InNamespace(d.ID)
	switch id.Kind {
	case trainer.ClusterTrainingRuntimeKind:
		id.Namespace = ""
	case trainer.TrainingRuntimeKind:
		id.Namespace = flags.NamespaceOf(id.Namespace)
	}
	return id
}

// noName reports a TrainJob without a name.
func noName(d *manifest.Document) finding.Finding {
	return finding.Finding{
		Code: codes.NoName, Severity: finding.Error,
		Object:   fieldpath.Object{Kind: trainer.TrainJobKind},
		Path:     fieldpath.Fields("metadata", "name"),
		Position: d.Position(fieldpath.Fields("metadata")),
		Message:  "Required value: names of Jobs, Pods and addresses contain it",
		Remedy:   finding.Remedy{Text: "set metadata.name"},
	}
}

// duplicate reports an object with the identity of another one. Pass nil as other to add its
// position later.
func (flags Flags) duplicate(id fieldpath.Object, d, other *manifest.Document) finding.Finding {
	at := fieldpath.Fields("metadata", "name")
	f := finding.Finding{
		Code: codes.DuplicateObject, Severity: finding.Error, Object: id, Path: at,
		Position: d.Position(at),
		Message:  fmt.Sprintf("Duplicate value: %s", id),
		Remedy:   finding.Remedy{Text: "rename one of the two"},
	}
	return flags.reportOther(f, other)
}

// reportOther adds the position of the first object to a finding of duplicate.
func (flags Flags) reportOther(f finding.Finding, other *manifest.Document) finding.Finding {
	if other == nil {
		return f
	}
	objectIndex := other.Position(f.Path)
	if flags.Steady {
		objectIndex = fieldpath.Position{File: path.Base(objectIndex.File)}
	}
	f.Message += "; the other one is at " + printable.Position(objectIndex)
	return f
}

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
