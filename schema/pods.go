package schema

import "reflect"

// PodRules returns the unions of the API types that a Go type holds. Examples are the handlers of a
// probe and the sources of a volume. It also returns the defaults of the type's Pod templates and
// Jobs. Struct tags declare neither. The rules come from the API server's validation and defaults
// (Kubernetes v1.36 pkg/apis). They are found by the names of the types, so they hold for each
// version of k8s.io/api. A merge that names no rules has these.
func PodRules(root reflect.Type) Rules {
	r := Rules{Unions: map[reflect.Type][]Union{}}
	seen, structs := map[reflect.Type]bool{}, []reflect.Type(nil)
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(t.Elem())
		case reflect.Struct:
			if encodesItself(t) {
				return
			}
			structs = append(structs, t)
			if unions := unionsOf(t); unions != nil {
				r.Unions[t] = unions
			}
			for i := range t.NumField() {
				visit(t.Field(i).Type)
			}
		}
	}
	visit(root)
	r.Defaults = defaultsOf(structs)
	return r
}

// goNames returns the JSON names of the fields of a Go struct type, with inlined structs in place.
func goNames(t reflect.Type) (names []string) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil // a version of the API lacks the field
	}
	for _, f := range fieldsOf(t) {
		names = append(names, f.Name)
	}
	return names
}

// unionsOf returns the unions of an API type.
func unionsOf(t reflect.Type) []Union {
	all := func(name string) []Union { return []Union{{Name: name, Members: goNames(t)}} }
	inlined := func(name, of string) []Union {
		f, _ := t.FieldByName(of)
		return []Union{{Name: name, Members: goNames(f.Type)}}
	}
	// chosen is the union of a member that belongs to one value of the field type.
	chosen := func(when, member string) Union {
		return Union{Name: member, Members: []string{member}, Discriminator: "type", When: when}
	}
	switch t.PkgPath() + "." + t.Name() {
	case "k8s.io/api/core/v1.Volume":
		return inlined("source", "VolumeSource")
	case "k8s.io/api/core/v1.PersistentVolumeSpec":
		return inlined("source", "PersistentVolumeSource")
	case "k8s.io/api/core/v1.Probe":
		return inlined("handler", "ProbeHandler")
	case "k8s.io/api/core/v1.LifecycleHandler":
		return all("handler")
	case "k8s.io/api/core/v1.EnvVar":
		return []Union{{Name: "value", Members: []string{"value", "valueFrom"}}}
	case "k8s.io/api/core/v1.EnvVarSource", "k8s.io/api/core/v1.VolumeProjection":
		return all("source")
	case "k8s.io/api/core/v1.EnvFromSource":
		return []Union{{Name: "source", Members: []string{"configMapRef", "secretRef"}}}
	case "k8s.io/api/core/v1.PodResourceClaim":
		return []Union{
			{Name: "source", Members: []string{"resourceClaimName", "resourceClaimTemplateName"}}}
	case "k8s.io/api/core/v1.VolumeMount":
		return []Union{{Name: "sub-path", Members: []string{"subPath", "subPathExpr"}}}
	case "k8s.io/api/core/v1.SeccompProfile", "k8s.io/api/core/v1.AppArmorProfile":
		return []Union{
			{Name: "profile", Members: []string{"localhostProfile"}, Discriminator: "type",
				When: "Localhost"}}
	case "k8s.io/api/apps/v1.DeploymentStrategy", "k8s.io/api/apps/v1.DaemonSetUpdateStrategy",
		"k8s.io/api/apps/v1.StatefulSetUpdateStrategy":
		return []Union{chosen("RollingUpdate", "rollingUpdate")}
	case "k8s.io/api/autoscaling/v2.MetricSpec":
		return []Union{
			chosen("Object", "object"), chosen("Pods", "pods"), chosen("Resource", "resource"),
			chosen("ContainerResource", "containerResource"), chosen("External", "external"),
		}
	}
	return nil
}
