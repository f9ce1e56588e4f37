package manifest

import (
	"fmt"
	"reflect"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
)

// unpatchableMessage states that no patch may set a field of a type of the patch API.
func unpatchableMessage(t reflect.Type, name string) string {
	if t.PkgPath() == reflect.TypeFor[legacy.TrainJob]().PkgPath() {
		return fmt.Sprintf("no override may set %s", name)
	}
	return fmt.Sprintf("no patch may set %s", name)
}

// mirrored returns the type of the runtime that a type of the patch API restricts, or nil for other
// types.
func mirrored(t reflect.Type) reflect.Type {
	switch t {
	case reflect.TypeFor[trainer.TrainingRuntimeSpecPatch]():
		return reflect.TypeFor[trainer.TrainingRuntimeSpec]()
	case reflect.TypeFor[trainer.JobSetTemplatePatch]():
		return reflect.TypeFor[trainer.JobSetTemplateSpec]()
	case reflect.TypeFor[trainer.JobSetSpecPatch]():
		return reflect.TypeFor[jobset.JobSetSpec]()
	case reflect.TypeFor[trainer.ReplicatedJobPatch]():
		return reflect.TypeFor[jobset.ReplicatedJob]()
	case reflect.TypeFor[trainer.JobTemplatePatch]():
		return reflect.TypeFor[batchv1.JobTemplateSpec]()
	case reflect.TypeFor[trainer.JobSpecPatch]():
		return reflect.TypeFor[batchv1.JobSpec]()
	case reflect.TypeFor[trainer.PodTemplatePatch](), reflect.TypeFor[legacy.PodTemplateOverride]():
		return reflect.TypeFor[corev1.PodTemplateSpec]()
	case reflect.TypeFor[trainer.PodSpecPatch](), reflect.TypeFor[legacy.PodTemplateSpecOverride](),
		reflect.TypeFor[legacy.PodSpecOverride]():
		return reflect.TypeFor[corev1.PodSpec]()
	case reflect.TypeFor[trainer.ContainerPatch](), reflect.TypeFor[legacy.ContainerOverride]():
		return reflect.TypeFor[corev1.Container]()
	}
	return nil
}

// unpatchable completes a finding on a field of the runtime that the patch API omits. It reports
// whether name is such a field.
func (d *diagnosis) unpatchable(name string, t reflect.Type, f *finding.Finding) bool {
	mirror := mirrored(t)
	if mirror == nil {
		return false
	}
	if _, ok := d.structs.Field(mirror, name); !ok {
		return false
	}
	f.Code = codes.Unpatchable
	f.Message = unpatchableMessage(t, name)
	f.Remedy.Text = d.setter(name, mirror)
	return true
}

// ofTrainer returns the field of a TrainJob that sets a field of the trainer's container, or nil.
func ofTrainer(name string) fieldpath.Path {
	switch name {
	case "image", "command", "args":
		return fieldpath.Fields("spec", "trainer", name)
	case "resources":
		return fieldpath.Fields("spec", "trainer", "resourcesPerNode")
	}
	return nil
}

// setter returns the remedy for a field that patches cannot set: the API that sets it.
func (d *diagnosis) setter(name string, mirror reflect.Type) string {
	runtime := d.inRuntime(name)
	switch mirror {
	case reflect.TypeFor[corev1.Container]():
		fromTrainer := ofTrainer(name)
		if fromTrainer == nil {
			break
		}
		switch container, list := d.container(); {
		case container == trainerContainer && list == "containers":
			return fmt.Sprintf("set %s of the TrainJob", fromTrainer)
		case container == "" && list != "initContainers":
			return fmt.Sprintf("set %s of the TrainJob for the container %q; for any other, %s",
				fromTrainer, trainerContainer, runtime)
		}
	case reflect.TypeFor[batchv1.JobSpec]():
		if name == "parallelism" || name == "completions" {
			return fmt.Sprintf(
				"set .spec.trainer.numNodes of the TrainJob; for a job that is not the "+
					"trainer's, %s", runtime)
		}
	case reflect.TypeFor[jobset.ReplicatedJob]():
		if name == "replicas" {
			return fmt.Sprintf(
				"set .spec.trainer.numNodes of the TrainJob; for a job that is not the "+
					"trainer's, %s", runtime)
		}
	case reflect.TypeFor[trainer.TrainingRuntimeSpec]():
		if name == "mlPolicy" {
			return fmt.Sprintf(
				"set .spec.trainer.numNodes and .spec.trainer.numProcPerNode of the TrainJob; "+
					"for the rest, %s", runtime)
		}
	}
	return runtime
}

// trainerContainer is the container that gets the image, command, args and resources of
// spec.trainer (Trainer v2.3.0 pkg/constants).
const trainerContainer = "node"

// container returns the name of the current container, and the name of its list.
func (d *diagnosis) container() (name, list string) {
	current := d.around[len(d.around)-1]
	if _, v := d.Lookup(current.node, "name"); v != nil {
		name, _ = d.Text(v)
	}
	for _, step := range slices.Backward(d.path) {
		if field, ok := step.Field(); ok {
			return name, field
		}
	}
	return name, ""
}

// inRuntime returns the remedy to set a field in the runtime, with its path there.
func (d *diagnosis) inRuntime(name string) string {
	for i, step := range d.path {
		if field, ok := step.Field(); ok && field == "trainingRuntimeSpec" {
			p := fieldpath.Fields("spec").Append(d.path[i+1:]...).Append(fieldpath.Field(name))
			return fmt.Sprintf("set %s in the TrainingRuntime or ClusterTrainingRuntime", p)
		}
	}
	return fmt.Sprintf("set %s in the TrainingRuntime or ClusterTrainingRuntime", name)
}
