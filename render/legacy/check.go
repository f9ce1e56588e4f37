package legacy

import (
	"fmt"
	"reflect"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// Check returns the findings on the overrides that do not depend on the runtime. They report values
// that the CRD of the release rejects, and values without an effect. Trainer 2.0 also rejects a job
// that is a target twice. Paths start at the TrainJob's .spec. For the effect on a runtime's
// template, pass [Overrides.Patches] to check.Patches.
func (o *Overrides) Check() finding.List {
	var found finding.List
	report := func(f finding.Finding) {
		f.Object.Kind = trainer.TrainJobKind
		found = append(found, f)
	}
	if o.ofPodSpec() && len(o.PodTemplateOverrides) > 0 {
		report(finding.Finding{
			Code: codes.TwoAPIs, Severity: finding.Error,
			Path:    fieldpath.Fields("spec", "podTemplateOverrides"),
			Message: "no release reads both podSpecOverrides and podTemplateOverrides",
			Remedy:  finding.Remedy{Text: "rewrite all as podTemplateOverrides"},
		})
	}
	list, seen := o.list(), map[string]bool{}
	for i := range list {
		override := &list[i]
		at := fieldpath.Fields("spec", o.field()).Append(fieldpath.Index(i))
		targets := at.Append(fieldpath.Field("targetJobs"))
		switch {
		case override.TargetJobs == nil:
			report(finding.Finding{
				Code: codes.MissingField, Severity: finding.Error, Path: targets,
				Message: fmt.Sprintf("Required value: %s requires targetJobs", o.release()),
				Remedy:  finding.Remedy{Text: "set the replicated jobs"},
			})
		case len(override.TargetJobs) == 0:
			report(finding.Finding{
				Code: codes.SaidNothing, Severity: finding.Warning, Path: targets,
				Message: "the override names no job, and has no effect",
				Remedy:  finding.Remedy{Text: "set the replicated jobs"},
			})
		}
		for j, target := range override.TargetJobs {
			name := targets.Append(fieldpath.Index(j), fieldpath.Field("name"))
			switch {
			case target.Name == "":
				report(finding.Finding{
					Code: codes.MissingField, Severity: finding.Error, Path: name,
					Message: "Required value",
					Remedy:  finding.Remedy{Text: "set the name of a replicated job"},
				})
			case o.ofPodSpec() && seen[target.Name]:
				report(finding.Finding{
					Code: codes.DuplicateItem, Severity: finding.Error, Path: name,
					Message: fmt.Sprintf("Duplicate value: %q: %s rejects the TrainJob",
						target.Name, o.release()),
					Remedy: finding.Remedy{
						Do: finding.Merge, Text: "combine the overrides of the job"},
				})
			}
			seen[target.Name] = true
		}
		for _, name := range ignored(override.Metadata) {
			report(finding.Finding{
				Code: codes.IgnoredMetadata, Severity: finding.Warning,
				Path: at.Append(fieldpath.Field("metadata"), fieldpath.Field(name)),
				Message: fmt.Sprintf(
					"%s has no effect: an override sets labels and annotations only", name),
				Remedy: finding.Remedy{Do: finding.Remove, Text: "remove it"},
			})
		}
	}
	return found
}

// ignored returns the fields of an override's metadata that no controller read.
func ignored(m *metav1.ObjectMeta) []string {
	if m == nil {
		return nil
	}
	var names []string
	v := reflect.ValueOf(*m)
	for i := range v.NumField() {
		switch name := jsonName(v.Type().Field(i).Tag); name {
		case "labels", "annotations":
		default:
			if !v.Field(i).IsZero() {
				names = append(names, name)
			}
		}
	}
	return names
}

func jsonName(tag reflect.StructTag) string {
	name, _, _ := strings.Cut(tag.Get("json"), ",")
	return name
}
