// Package unions is the table of the API types in which an object may set one of several fields. Struct tags do not declare
// them. The rules come from the API server's validation (Kubernetes v1.36 pkg/apis).
package unions

import (
	"maps"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/schema"
)

// Pod returns the unions that a patch of a TrainJob can reach.
func Pod() map[reflect.Type][]schema.Union {
	profile := schema.Union{Name: "profile", Members: []string{"localhostProfile"}, Discriminator: "type", When: "Localhost"}
	return map[reflect.Type][]schema.Union{
		reflect.TypeFor[corev1.Volume]():          {{Name: "source", Members: schema.FieldNames(reflect.TypeFor[corev1.VolumeSource]())}},
		reflect.TypeFor[corev1.EnvVar]():          {{Name: "value", Members: []string{"value", "valueFrom"}}},
		reflect.TypeFor[corev1.EnvVarSource]():    {{Name: "source", Members: schema.FieldNames(reflect.TypeFor[corev1.EnvVarSource]())}},
		reflect.TypeFor[corev1.VolumeMount]():     {{Name: "sub-path", Members: []string{"subPath", "subPathExpr"}}},
		reflect.TypeFor[corev1.SeccompProfile]():  {profile},
		reflect.TypeFor[corev1.AppArmorProfile](): {profile},
	}
}

// All returns all unions of this table. It adds to Pod the handlers of probes and of the lifecycle, strategies of updates, and
// the metrics of autoscalers.
func All() map[reflect.Type][]schema.Union {
	all := Pod()
	handler := []schema.Union{{Name: "handler", Members: schema.FieldNames(reflect.TypeFor[corev1.ProbeHandler]())}}
	rolling := []schema.Union{chosen("RollingUpdate", "rollingUpdate")}
	metrics := []schema.Union{
		chosen("Object", "object"), chosen("Pods", "pods"), chosen("Resource", "resource"),
		chosen("ContainerResource", "containerResource"), chosen("External", "external"),
	}
	maps.Copy(all, map[reflect.Type][]schema.Union{
		reflect.TypeFor[corev1.Probe]():                     handler,
		reflect.TypeFor[corev1.LifecycleHandler]():          {{Name: "handler", Members: schema.FieldNames(reflect.TypeFor[corev1.LifecycleHandler]())}},
		reflect.TypeFor[corev1.PersistentVolumeSpec]():      {{Name: "source", Members: schema.FieldNames(reflect.TypeFor[corev1.PersistentVolumeSource]())}},
		reflect.TypeFor[appsv1.DeploymentStrategy]():        rolling,
		reflect.TypeFor[appsv1.DaemonSetUpdateStrategy]():   rolling,
		reflect.TypeFor[appsv1.StatefulSetUpdateStrategy](): rolling,
		reflect.TypeFor[autoscalingv2.MetricSpec]():         metrics,
	})
	return all
}

// chosen returns the union of a member that belongs to one value of the field type.
func chosen(when, member string) schema.Union {
	return schema.Union{Name: member, Members: []string{member}, Discriminator: "type", When: when}
}
