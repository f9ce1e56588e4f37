package schema

import (
	"math"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Defaults are the values of fields that nobody sets: see PodRules. They never change, and many
// goroutines may use them. A nil one has none.
type Defaults struct {
	of map[reflect.Type][]fieldDefault // with each struct that may be on the way to one
}

// fieldDefault is the default of a field of a struct, as JSON or computed.
type fieldDefault struct {
	index int
	value any
}

// computed returns a default that depends on the struct with the field, or on the spec of the Pod
// around it, which is invalid within a template. There is no default for nil.
type computed func(in, pod reflect.Value) any

// Fill sets the fields without a value in an object, a pointer to a struct. As in the API server, a
// zero counts as no value unless a pointer leads to it. Objects of other types stay as they are.
func (d *Defaults) Fill(object any) { d.each(object, fill) }

// Clear removes the values that Fill would set, so that a live object compares equal to one that
// nobody filled. Of a volume without a source, Fill makes an empty directory, which Clear keeps.
func (d *Defaults) Clear(object any) { d.each(object, unset) }

// each changes each field with a default, outside in.
func (d *Defaults) each(object any, change func(field reflect.Value, value any)) {
	if v := reflect.ValueOf(object); d != nil && v.Kind() == reflect.Pointer {
		d.walk(v, reflect.Value{}, change)
	}
}

func (d *Defaults) walk(v, pod reflect.Value, change func(field reflect.Value, value any)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			d.walk(v.Elem(), pod, change)
		}
	case reflect.Slice:
		for i := range v.Len() {
			d.walk(v.Index(i), pod, change)
		}
	case reflect.Struct:
		t := v.Type()
		own, known := d.of[t]
		if !known {
			return
		}
		if t.Name() == "Pod" && t.PkgPath() == "k8s.io/api/core/v1" {
			pod = v.FieldByName("Spec")
		}
		for _, f := range own {
			value := f.value
			if of, ok := value.(computed); ok {
				value = of(v, pod)
			}
			if value != nil {
				change(v.Field(f.index), value)
			}
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() || f.Anonymous { // nobody else can set it
				d.walk(v.Field(i), pod, change)
			}
		}
	}
}

func fill(field reflect.Value, value any) {
	if !field.IsZero() {
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

func unset(field reflect.Value, value any) {
	has := reflect.Indirect(field)
	if !has.IsValid() {
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

// defaultsOf returns the defaults of struct types, nil for none.
func defaultsOf(structs []reflect.Type) *Defaults {
	d, some := &Defaults{map[reflect.Type][]fieldDefault{}}, false
	for _, t := range structs {
		d.of[t] = nil
		values := podDefaults(t)
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if value := values[name]; value != nil {
				d.of[t], some = append(d.of[t], fieldDefault{i, value}), true
			}
		}
	}
	if !some {
		return nil
	}
	return d
}

// values are the defaults of a struct by the names of its fields.
type values = map[string]any

// podDefaults returns the defaults of a type in Pod templates and specs of Jobs, by the type's
// name. The sources are Kubernetes v1.36.3 pkg/apis/core/v1/defaults.go and
// pkg/apis/batch/v1/defaults.go. It omits the requests of a Pod and the counts of a Job, because
// these follow from other fields.
func podDefaults(t reflect.Type) values {
	image := func(name string) computed {
		return func(in, _ reflect.Value) any { return pullPolicy(in.FieldByName(name).String()) }
	}
	ifSet := func(name string, then, otherwise any) computed {
		return func(in, _ reflect.Value) any {
			if f := in.FieldByName(name); f.IsValid() && !f.IsZero() {
				return then
			}
			return otherwise
		}
	}
	const fileMode = 0o644
	switch t.PkgPath() + "." + t.Name() {
	case "k8s.io/api/core/v1.PodSpec":
		return values{
			"dnsPolicy": "ClusterFirst", "restartPolicy": "Always",
			"schedulerName": "default-scheduler", "securityContext": values{},
			"terminationGracePeriodSeconds": 30,
			"serviceAccount": computed(func(in, _ reflect.Value) any {
				return in.FieldByName("ServiceAccountName").String()
			}),
			"enableServiceLinks": computed(func(_, pod reflect.Value) any {
				if pod.IsValid() {
					return true
				}
				return nil
			}),
		}
	case "k8s.io/api/core/v1.Container", "k8s.io/api/core/v1.EphemeralContainerCommon":
		return values{
			"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
			"imagePullPolicy": image("Image"),
		}
	case "k8s.io/api/core/v1.ImageVolumeSource":
		return values{"pullPolicy": image("Reference")}
	case "k8s.io/api/core/v1.ContainerPort":
		return values{"protocol": "TCP", "hostPort": computed(func(in, pod reflect.Value) any {
			if pod.IsValid() && pod.FieldByName("HostNetwork").Bool() {
				return int(in.FieldByName("ContainerPort").Int())
			}
			return nil
		})}
	case "k8s.io/api/core/v1.Probe":
		return values{
			"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
	case "k8s.io/api/core/v1.HTTPGetAction":
		return values{"path": "/", "scheme": "HTTP"}
	case "k8s.io/api/core/v1.GRPCAction":
		return values{"service": ""}
	case "k8s.io/api/core/v1.ObjectFieldSelector":
		return values{"apiVersion": "v1"}
	case "k8s.io/api/core/v1.ResourceFieldSelector":
		return values{"divisor": 0}
	case "k8s.io/api/core/v1.FileKeySelector":
		return values{"optional": false}
	case "k8s.io/api/core/v1.VolumeSource":
		return values{"emptyDir": computed(func(in, _ reflect.Value) any {
			if in.IsZero() {
				return values{}
			}
			return nil
		})}
	case "k8s.io/api/core/v1.ConfigMapVolumeSource", "k8s.io/api/core/v1.SecretVolumeSource",
		"k8s.io/api/core/v1.DownwardAPIVolumeSource", "k8s.io/api/core/v1.ProjectedVolumeSource":
		return values{"defaultMode": fileMode}
	case "k8s.io/api/core/v1.ServiceAccountTokenProjection":
		return values{"expirationSeconds": 3600}
	case "k8s.io/api/core/v1.HostPathVolumeSource":
		return values{"type": ""}
	case "k8s.io/api/core/v1.AzureDiskVolumeSource":
		return values{
			"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": false, "kind": "Shared"}
	case "k8s.io/api/core/v1.ISCSIVolumeSource":
		return values{"iscsiInterface": "default"}
	case "k8s.io/api/core/v1.RBDVolumeSource":
		return values{"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
	case "k8s.io/api/core/v1.ScaleIOVolumeSource":
		return values{"storageMode": "ThinProvisioned", "fsType": "xfs"}
	case "k8s.io/api/core/v1.PersistentVolumeClaimSpec":
		return values{"volumeMode": "Filesystem"}
	case "k8s.io/api/batch/v1.JobSpec":
		return values{
			"completionMode": "NonIndexed", "manualSelector": false, "suspend": false,
			"backoffLimit":         ifSet("BackoffLimitPerIndex", math.MaxInt32, 6),
			"podReplacementPolicy": ifSet("PodFailurePolicy", "Failed", "TerminatingOrFailed"),
		}
	case "k8s.io/api/batch/v1.PodFailurePolicyOnPodConditionsPattern":
		return values{"status": "True"}
	}
	return nil
}
