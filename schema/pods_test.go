package schema_test

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/schema"
)

// TestPodRules finds the unions within a type, each with members, and compiles them.
func TestPodRules(t *testing.T) {
	rules := schema.PodRules(reflect.TypeFor[appsv1.Deployment]())
	for of, member := range map[reflect.Type]string{
		reflect.TypeFor[corev1.Probe]():              "grpc",
		reflect.TypeFor[corev1.LifecycleHandler]():   "sleep",
		reflect.TypeFor[corev1.Volume]():             "emptyDir",
		reflect.TypeFor[corev1.EnvVar]():             "valueFrom",
		reflect.TypeFor[corev1.EnvVarSource]():       "secretKeyRef",
		reflect.TypeFor[corev1.VolumeMount]():        "subPathExpr",
		reflect.TypeFor[corev1.SeccompProfile]():     "localhostProfile",
		reflect.TypeFor[appsv1.DeploymentStrategy](): "rollingUpdate",
	} {
		if unions := rules.Unions[of]; len(unions) != 1 || !unions[0].Has(member) {
			t.Errorf("%v: unions %+v, want one with %s", of, unions, member)
		}
	}
	if _, err := schema.Compile(reflect.TypeFor[appsv1.Deployment](), nil, rules); err != nil {
		t.Error(err)
	}
	if rules := schema.PodRules(nil); len(rules.Unions) != 0 {
		t.Errorf("a nil type has unions: %v", rules.Unions)
	}
}

// TestDefaults fills a Pod and a template, and clears them again. Host ports are defaults of Pods
// only.
func TestDefaults(t *testing.T) {
	spec := corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{
		{Name: "a", Image: "b", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			ReadinessProbe: &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{}}}},
		{Name: "c", Image: "d:1", ImagePullPolicy: corev1.PullAlways},
	}}
	rules := schema.PodRules(reflect.TypeFor[struct {
		Pod      corev1.Pod
		Template corev1.PodTemplateSpec
	}]())
	pod, template := &corev1.Pod{Spec: *spec.DeepCopy()},
		&corev1.PodTemplateSpec{Spec: *spec.DeepCopy()}
	rules.Defaults.Fill(pod)
	rules.Defaults.Fill(template)
	for _, filled := range []struct {
		spec corev1.PodSpec
		host int32
	}{{pod.Spec, 80}, {template.Spec, 0}} {
		a, c := filled.spec.Containers[0], filled.spec.Containers[1]
		if a.Ports[0].HostPort != filled.host || a.ImagePullPolicy != corev1.PullAlways ||
			a.ReadinessProbe.PeriodSeconds != 10 || *a.ReadinessProbe.GRPC.Service != "" ||
			c.ImagePullPolicy != corev1.PullAlways ||
			filled.spec.DNSPolicy != corev1.DNSClusterFirst ||
			(filled.spec.EnableServiceLinks != nil) != (filled.host > 0) {
			t.Errorf("filled to %+v", filled.spec)
		}
	}
	rules.Defaults.Clear(pod)
	rules.Defaults.Clear(template)
	if !reflect.DeepEqual(pod.Spec, spec) || !reflect.DeepEqual(template.Spec, spec) {
		t.Errorf("cleared to %+v and %+v", pod.Spec, template.Spec)
	}
	type Pod struct {
		Inner struct{ corev1.PodTemplateSpec }
	} // of another package
	other := &struct {
		Pod    Pod
		hidden corev1.PodSpec
	}{hidden: *spec.DeepCopy()}
	other.Pod.Inner.Spec = *spec.DeepCopy()
	others := schema.PodRules(reflect.TypeOf(other))
	others.Defaults.Fill(other)
	if other.Pod.Inner.Spec.Containers[0].Ports[0].HostPort != 0 ||
		other.Pod.Inner.Spec.DNSPolicy != corev1.DNSClusterFirst ||
		!reflect.DeepEqual(other.hidden, spec) {
		t.Errorf("filled to %+v", other)
	}
	(*schema.Defaults)(nil).Fill(pod)
	if rules.Defaults.Fill(struct{}{}); schema.PodRules(
		reflect.TypeFor[corev1.Secret]()).Defaults != nil || !reflect.DeepEqual(pod.Spec, spec) {
		t.Error("a type without defaults has some")
	}
}

// TestCompile_Misnamed rejects rules for fields and types that are not there.
func TestCompile_Misnamed(t *testing.T) {
	env, probe := reflect.TypeFor[corev1.EnvVar](), reflect.TypeFor[corev1.Probe]()
	for want, rules := range map[string]schema.Rules{
		`rule for v1.EnvVar: union "u": there is no field "valu"`: {
			Unions: map[reflect.Type][]schema.Union{
				env: {{Name: "u", Members: []string{"value", "valu"}}}}},
		`rule for v1.EnvVar: union "u": there is no field "typ"`: {
			Unions: map[reflect.Type][]schema.Union{
				env: {{Name: "u", Members: []string{"value"}, Discriminator: "typ"}}}},
		`rule for v1.Probe: unions: there is no field of this type`: {
			Unions: map[reflect.Type][]schema.Union{probe: nil}},
	} {
		_, err := schema.Compile(reflect.TypeFor[struct {
			Env []corev1.EnvVar `json:"env"`
		}](), nil, rules)
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	type part struct{}
	_, err := schema.Compile(reflect.TypeFor[struct {
		Parts []part `patchStrategy:"merge" patchMergeKey:"name"`
	}](), nil, schema.Rules{})
	if want := `schema_test.part: patchMergeKey: there is no field "name"`; err == nil ||
		err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
