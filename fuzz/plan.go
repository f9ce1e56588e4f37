package fuzz

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// fieldPlan describes one field of a struct type for the generator.
type fieldPlan struct {
	name  string // the name in JSON; "" for an inlined struct
	index int
	spine bool // whether it leads to the fields in which patches meet
	key   bool // whether it identifies the items of a list
	// likely is the probability that a case is about the field.
	likely float64
	// partner is the patch's field for a template's field, or the reverse.
	partner *fieldPlan
}

// plans hold the fields of every struct type that can be generated.
var plans = sync.OnceValue(func() map[reflect.Type][]fieldPlan {
	known := map[reflect.Type][]fieldPlan{}
	for _, root := range []reflect.Type{
		reflect.TypeFor[trainer.JobSetTemplateSpec](),
		reflect.TypeFor[trainer.RuntimePatch](),
	} {
		plan(root, known)
	}
	for template, patch := range patchOf {
		for i := range known[template] {
			if f := &known[template][i]; f.name != "" {
				if other := find(known[patch], f.name); other != nil {
					f.partner, other.partner = other, f
				}
			}
		}
	}
	return known
})

func plan(t reflect.Type, known map[reflect.Type][]fieldPlan) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		plan(t.Elem(), known)
	}
	if _, done := known[t]; done || t.Kind() != reflect.Struct {
		return
	}
	var fields []fieldPlan
	patch, partly := patchOf[t]
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() || name == "" && !f.Anonymous {
			continue
		}
		p := fieldPlan{
			name: name, index: i,
			spine:  slices.Contains(spine[t], name),
			key:    mergeKeys[t] == name,
			likely: math.Min(0.6, 4/float64(t.NumField())),
		}
		switch {
		case partly && !hasField(patch, name):
			p.likely = 0.03
		case name == "metadata", name == "labels", name == "annotations":
			p.likely = 0.5
		case name == "sizeLimit": // a quantity that a patch can set
			p.likely = 0.9
		}
		fields = append(fields, p)
	}
	known[t] = fields
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			plan(t.Field(i).Type, known)
		}
	}
}

func find(fields []fieldPlan, name string) *fieldPlan {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

func hasField(t reflect.Type, name string) bool {
	for i := range t.NumField() {
		if have, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); have == name {
			return true
		}
	}
	return false
}

// The fields that lead to the patches' meeting places are nearly always set.
var spine = map[reflect.Type][]string{
	reflect.TypeFor[trainer.RuntimePatch]():             {"trainingRuntimeSpec"},
	reflect.TypeFor[trainer.TrainingRuntimeSpecPatch](): {"template"},
	reflect.TypeFor[trainer.JobSetTemplatePatch]():      {"spec"},
	reflect.TypeFor[trainer.JobSetSpecPatch]():          {"replicatedJobs"},
	reflect.TypeFor[trainer.ReplicatedJobPatch]():       {"name", "template"},
	reflect.TypeFor[trainer.JobTemplatePatch]():         {"spec"},
	reflect.TypeFor[trainer.JobSpecPatch]():             {"template"},
	reflect.TypeFor[trainer.PodTemplatePatch]():         {"spec"},
	reflect.TypeFor[trainer.PodSpecPatch]():             {"containers"},
	reflect.TypeFor[trainer.ContainerPatch]():           {"name"},
	reflect.TypeFor[jobset.JobSetSpec]():                {"replicatedJobs"},
	reflect.TypeFor[jobset.ReplicatedJob]():             {"name", "template"},
	reflect.TypeFor[batchv1.JobTemplateSpec]():          {"spec"},
	reflect.TypeFor[batchv1.JobSpec]():                  {"template"},
	reflect.TypeFor[corev1.PodTemplateSpec]():           {"spec"},
	reflect.TypeFor[corev1.PodSpec]():                   {"containers"},
	reflect.TypeFor[corev1.Container]():                 {"name", "image"},
}

// A template's type and the matching type of patches. The template's other fields cannot be
// patched, and are rarely generated.
var patchOf = map[reflect.Type]reflect.Type{
	reflect.TypeFor[jobset.JobSetSpec]():       reflect.TypeFor[trainer.JobSetSpecPatch](),
	reflect.TypeFor[jobset.ReplicatedJob]():    reflect.TypeFor[trainer.ReplicatedJobPatch](),
	reflect.TypeFor[batchv1.JobTemplateSpec](): reflect.TypeFor[trainer.JobTemplatePatch](),
	reflect.TypeFor[batchv1.JobSpec]():         reflect.TypeFor[trainer.JobSpecPatch](),
	reflect.TypeFor[corev1.PodTemplateSpec]():  reflect.TypeFor[trainer.PodTemplatePatch](),
	reflect.TypeFor[corev1.PodSpec]():          reflect.TypeFor[trainer.PodSpecPatch](),
	reflect.TypeFor[corev1.Container]():        reflect.TypeFor[trainer.ContainerPatch](),
}

// mergeKeys are the fields by which strategic merge identifies the items of lists.
var mergeKeys = map[reflect.Type]string{
	reflect.TypeFor[trainer.ReplicatedJobPatch]():      "name",
	reflect.TypeFor[jobset.ReplicatedJob]():            "name",
	reflect.TypeFor[trainer.ContainerPatch]():          "name",
	reflect.TypeFor[corev1.Container]():                "name",
	reflect.TypeFor[corev1.Volume]():                   "name",
	reflect.TypeFor[corev1.EnvVar]():                   "name",
	reflect.TypeFor[corev1.VolumeMount]():              "mountPath",
	reflect.TypeFor[corev1.VolumeDevice]():             "devicePath",
	reflect.TypeFor[corev1.LocalObjectReference]():     "name",
	reflect.TypeFor[corev1.PodSchedulingGate]():        "name",
	reflect.TypeFor[metav1.OwnerReference]():           "uid",
	reflect.TypeFor[corev1.ContainerPort]():            "containerPort",
	reflect.TypeFor[jobset.DependsOn]():                "name",
	reflect.TypeFor[corev1.HostAlias]():                "ip",
	reflect.TypeFor[corev1.TopologySpreadConstraint](): "topologyKey",
	reflect.TypeFor[corev1.PodResourceClaim]():         "name",
	reflect.TypeFor[corev1.ResourceClaim]():            "name",
	reflect.TypeFor[corev1.EphemeralContainer]():       "name",
	reflect.TypeFor[trainer.RuntimePatch]():            "manager",
	reflect.TypeFor[corev1.PodReadinessGate]():         "conditionType",
	reflect.TypeFor[jobset.FailurePolicyRule]():        "name",
	reflect.TypeFor[trainer.EnvInjectionTarget]():      "jobName",
	reflect.TypeFor[corev1.ContainerResizePolicy]():    "resourceName",
}
