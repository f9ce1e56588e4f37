package schema

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Defaults are the values of fields that nobody sets: see PodRules. They never change, and many
// goroutines may use them. A nil one has none.
type Defaults struct{ of map[reflect.Type]*defaulter }

// defaulter holds the defaults of a struct type, and of the structs within it.
type defaulter struct {
	own     []fieldDefault
	structs []int // the fields that hold structs with defaults
}

// fieldDefault is the default of one field, as JSON. An empty object is map[string]any{}.
type fieldDefault struct {
	name  string
	value any
	// for a value that depends on the structs around the field, the last of which holds it
	of    func(around []reflect.Value) any
	index int
}

// Fill sets the fields without a value in an object, a pointer to a struct. As in the API server, a
// zero counts as no value unless a pointer leads to it. Objects of other types stay as they are.
func (d *Defaults) Fill(object any) { d.each(object, fieldDefault.fill, nil) }

// Clear removes the values that Fill would set, so that a live object compares equal to one that
// nobody filled. Of a volume without a source, Fill makes an empty directory, which Clear keeps.
func (d *Defaults) Clear(object any) { d.each(object, nil, fieldDefault.clear) }

// each calls before on each field with a default, outside in, and after, inside out.
func (d *Defaults) each(object any, before, after func(fieldDefault, []reflect.Value)) {
	if v := reflect.ValueOf(object); d != nil && v.Kind() == reflect.Pointer {
		var structs [16]reflect.Value
		d.walk(v, structs[:0], before, after)
	}
}

func (d *Defaults) walk(v reflect.Value, around []reflect.Value, before,
	after func(fieldDefault, []reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			d.walk(v.Elem(), around, before, after)
		}
	case reflect.Slice:
		for i := range v.Len() {
			d.walk(v.Index(i), around, before, after)
		}
	case reflect.Struct:
		t := d.of[v.Type()]
		if t == nil {
			return
		}
		around = append(around, v)
		for i := range t.own {
			if before != nil {
				before(t.own[i], around)
			}
		}
		for _, i := range t.structs {
			d.walk(v.Field(i), around, before, after)
		}
		for i := range t.own {
			if after != nil {
				after(t.own[i], around)
			}
		}
	}
}

// at returns the field of a default in the innermost struct, and its value there, nil for none.
func (f fieldDefault) at(around []reflect.Value) (field reflect.Value, value any) {
	field, value = around[len(around)-1].Field(f.index), f.value
	if f.of != nil {
		value = f.of(around)
	}
	return field, value
}

func (f fieldDefault) fill(around []reflect.Value) {
	field, value := f.at(around)
	if value == nil || !field.IsZero() {
		return
	}
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch value := value.(type) {
	case string:
		field.SetString(value)
	case int:
		if field.CanInt() { // an empty quantity is zero
			field.SetInt(int64(value))
		}
	case bool:
		field.SetBool(value)
	}
}

func (f fieldDefault) clear(around []reflect.Value) {
	field, value := f.at(around)
	has := reflect.Indirect(field)
	if !has.IsValid() || value == nil {
		return
	}
	same := false
	switch value := value.(type) {
	case string:
		same = has.String() == value
	case int:
		same = has.CanInt() && has.Int() == int64(value)
		if q, ok := has.Addr().Interface().(*resource.Quantity); ok {
			same = q.IsZero() && value == 0 // in any format
		}
	case bool:
		same = has.Bool() == value
	default:
		same = has.IsZero()
	}
	if same {
		field.SetZero()
	}
}

// defaultsOf returns the defaults of the visited struct types, and of those within them; nil for
// none.
func defaultsOf(visited []reflect.Type) *Defaults {
	d := &Defaults{map[reflect.Type]*defaulter{}}
	for _, t := range visited {
		own := podDefaults(t)
		for i := range own {
			own[i].index = -1
			for at := range t.NumField() {
				if name, _, _ := strings.Cut(t.Field(at).Tag.Get("json"),
					","); name == own[i].name {
					own[i].index = at
				}
			}
		}
		d.of[t] = &defaulter{own: slices.DeleteFunc(own, func(f fieldDefault) bool {
			return f.index < 0
		})}
	}
	for changed := true; changed; {
		changed = false
		for _, t := range visited {
			for i := range t.NumField() {
				f, inner := t.Field(i), t.Field(i).Type
				if !f.IsExported() && !f.Anonymous {
					continue // nobody else can set it
				}
				for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
					inner = inner.Elem()
				}
				if in := d.of[inner]; in != nil && len(in.own)+len(in.structs) > 0 &&
					!slices.Contains(d.of[t].structs, i) {
					d.of[t].structs, changed = append(d.of[t].structs, i), true
				}
			}
		}
	}
	maps.DeleteFunc(d.of, func(_ reflect.Type, in *defaulter) bool {
		return len(in.own)+len(in.structs) == 0
	})
	if len(d.of) == 0 {
		return nil
	}
	return d
}

// podDefaults returns the defaults of a type in Pod templates and specs of Jobs, by the type's
// name. The sources are Kubernetes v1.36.3 pkg/apis/core/v1/defaults.go and
// pkg/apis/batch/v1/defaults.go. It omits the requests of a Pod and the counts of a Job, because
// these follow from other fields.
func podDefaults(t reflect.Type) []fieldDefault {
	static := func(namesAndValues ...any) (all []fieldDefault) {
		for i := 0; i < len(namesAndValues); i += 2 {
			all = append(
				all, fieldDefault{name: namesAndValues[i].(string), value: namesAndValues[i+1]})
		}
		return all
	}
	last := func(around []reflect.Value, name string) reflect.Value {
		return around[len(around)-1].FieldByName(name)
	}
	has := func(around []reflect.Value, name string) bool {
		f := last(around, name)
		return f.IsValid() && !f.IsZero()
	}
	image := func(name string) func([]reflect.Value) any {
		return func(around []reflect.Value) any { return pullPolicy(last(around, name).String()) }
	}
	// podSpec returns the spec of the Pod around a field, or an invalid value within a template.
	podSpec := func(around []reflect.Value) reflect.Value {
		for i, v := range around[1:] {
			if of := around[i].Type(); of.PkgPath()+"."+of.Name() == "k8s.io/api/core/v1.Pod" {
				return v
			}
		}
		return reflect.Value{}
	}
	const fileMode = 0o644
	switch t.PkgPath() + "." + t.Name() {
	case "k8s.io/api/core/v1.PodSpec":
		return append(
			static("dnsPolicy", "ClusterFirst", "restartPolicy", "Always", "schedulerName",
				"default-scheduler", "securityContext", map[string]any{},
				"terminationGracePeriodSeconds", 30),
			fieldDefault{name: "serviceAccount", of: func(around []reflect.Value) any {
				return last(around, "ServiceAccountName").String()
			}},
			fieldDefault{name: "enableServiceLinks", of: func(around []reflect.Value) any {
				if podSpec(around).IsValid() {
					return true
				}
				return nil
			}})
	case "k8s.io/api/core/v1.Container", "k8s.io/api/core/v1.EphemeralContainerCommon":
		return append(
			static("terminationMessagePath", "/dev/termination-log", "terminationMessagePolicy",
				"File"),
			fieldDefault{name: "imagePullPolicy", of: image("Image")})
	case "k8s.io/api/core/v1.ImageVolumeSource":
		return []fieldDefault{{name: "pullPolicy", of: image("Reference")}}
	case "k8s.io/api/core/v1.ContainerPort":
		return append(static("protocol", "TCP"),
			fieldDefault{name: "hostPort", of: func(around []reflect.Value) any {
				if spec := podSpec(around); spec.IsValid() &&
					spec.FieldByName("HostNetwork").Bool() {
					return int(last(around, "ContainerPort").Int())
				}
				return nil
			}})
	case "k8s.io/api/core/v1.Probe":
		return static("timeoutSeconds", 1, "periodSeconds", 10, "successThreshold", 1,
			"failureThreshold", 3)
	case "k8s.io/api/core/v1.HTTPGetAction":
		return static("path", "/", "scheme", "HTTP")
	case "k8s.io/api/core/v1.GRPCAction":
		return static("service", "")
	case "k8s.io/api/core/v1.ObjectFieldSelector":
		return static("apiVersion", "v1")
	case "k8s.io/api/core/v1.ResourceFieldSelector":
		return static("divisor", 0)
	case "k8s.io/api/core/v1.FileKeySelector":
		return static("optional", false)
	case "k8s.io/api/core/v1.VolumeSource":
		return []fieldDefault{{name: "emptyDir", of: func(around []reflect.Value) any {
			for i, v := 0, around[len(around)-1]; i < v.NumField(); i++ {
				if !v.Field(i).IsZero() {
					return nil
				}
			}
			return map[string]any{}
		}}}
	case "k8s.io/api/core/v1.ConfigMapVolumeSource", "k8s.io/api/core/v1.SecretVolumeSource",
		"k8s.io/api/core/v1.DownwardAPIVolumeSource", "k8s.io/api/core/v1.ProjectedVolumeSource":
		return static("defaultMode", fileMode)
	case "k8s.io/api/core/v1.ServiceAccountTokenProjection":
		return static("expirationSeconds", 3600)
	case "k8s.io/api/core/v1.HostPathVolumeSource":
		return static("type", "")
	case "k8s.io/api/core/v1.AzureDiskVolumeSource":
		return static("cachingMode", "ReadWrite", "fsType", "ext4", "readOnly", false, "kind",
			"Shared")
	case "k8s.io/api/core/v1.ISCSIVolumeSource":
		return static("iscsiInterface", "default")
	case "k8s.io/api/core/v1.RBDVolumeSource":
		return static("pool", "rbd", "user", "admin", "keyring", "/etc/ceph/keyring")
	case "k8s.io/api/core/v1.ScaleIOVolumeSource":
		return static("storageMode", "ThinProvisioned", "fsType", "xfs")
	case "k8s.io/api/core/v1.PersistentVolumeClaimSpec":
		return static("volumeMode", "Filesystem")
	case "k8s.io/api/batch/v1.JobSpec":
		return append(
			static("completionMode", "NonIndexed", "manualSelector", false, "suspend", false),
			fieldDefault{name: "backoffLimit", of: func(around []reflect.Value) any {
				if has(around, "BackoffLimitPerIndex") {
					return math.MaxInt32
				}
				return 6
			}},
			fieldDefault{name: "podReplacementPolicy", of: func(around []reflect.Value) any {
				if has(around, "PodFailurePolicy") {
					return "Failed"
				}
				return "TerminatingOrFailed"
			}})
	case "k8s.io/api/batch/v1.PodFailurePolicyOnPodConditionsPattern":
		return static("status", "True")
	}
	return nil
}
