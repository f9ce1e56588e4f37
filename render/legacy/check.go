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

// Check returns the findings on the overrides that do not depend on the runtime. They report values that the CRD of the release
// rejects, and values without an effect. Trainer 2.0 also rejects a job that is a target twice. Paths start at the TrainJob's .spec. For the effect on a runtime's template, pass
// [Overrides.Patches] to check.Patches.
func (o *Overrides) Check() finding.List {
	var found finding.List
	report := func(f finding.Finding) {
		f.Object.Kind = trainer.TrainJobKind
		found = append(found, f)
	}
	if o.ofPodSpec() && len(o.PodTemplateOverrides) > 0 {
		report(finding.Finding{
			Code: codes.TwoAPIs, Severity: finding.Error, Path: fieldpath.Fields("spec", "podTemplateOverrides"),
			Message: "no release reads both podSpecOverrides and podTemplateOverrides", Remedy: finding.Remedy{Text: "write all of them as podTemplateOverrides"},
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
				Message: fmt.Sprintf("the override has no targetJobs, which %s requires", o.release()), Remedy: finding.Remedy{Text: "name the replicated jobs that it is for"},
			})
		case len(override.TargetJobs) == 0:
			report(finding.Finding{
				Code: codes.SaidNothing, Severity: finding.Warning, Path: targets,
				Message: "the override names no job, and does nothing", Remedy: finding.Remedy{Text: "name the replicated jobs that it is for, or take it out"},
			})
		}
		for j, target := range override.TargetJobs {
			name := targets.Append(fieldpath.Index(j), fieldpath.Field("name"))
			switch {
			case target.Name == "":
				report(finding.Finding{
					Code: codes.MissingField, Severity: finding.Error, Path: name,
					Message: "the target has no name", Remedy: finding.Remedy{Text: "name the replicated job"},
				})
			case o.ofPodSpec() && seen[target.Name]:
				report(finding.Finding{
					Code: codes.DuplicateItem, Severity: finding.Error, Path: name,
					Message: fmt.Sprintf("job %q is a target twice: %s rejects the TrainJob", target.Name, o.release()),
					Remedy:  finding.Remedy{Do: finding.Merge, Text: "write one override of the job"},
				})
			}
			seen[target.Name] = true
		}
		for _, name := range ignored(override.Metadata) {
			report(finding.Finding{
				Code: codes.IgnoredMetadata, Severity: finding.Warning, Path: at.Append(fieldpath.Field("metadata"), fieldpath.Field(name)),
				Message: fmt.Sprintf("%s of an override's metadata is ignored: only labels and annotations count", name),
				Remedy:  finding.Remedy{Do: finding.Remove, Text: "take it out"},
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
