package minors

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Object is a drawn object as JSON.
type Object map[string]any

// Draw returns the object of a number: a Pod, a Job or a claim. The same number draws the same
// object in every run: it starts as a plain valid object, and some of its fields get wild values,
// also fields that only some versions have.
func Draw(number uint64) Object {
	d := &drawer{rand.New(rand.NewPCG(number, 37))}
	kind := []string{"Pod", "Job", "Pod", "Job", "PersistentVolumeClaim"}[number%5]
	if kind == "PersistentVolumeClaim" && number%2 == 0 {
		kind = "Pod"
	}
	metadata := Object{"name": "a", "namespace": "b"}
	switch kind {
	case "Job":
		spec := Object{"template": Object{"metadata": d.metadata(), "spec": d.pod(true)}}
		d.wild(spec, reflect.TypeFor[batchv1.JobSpec](), d.IntN(3))
		if d.one(30) {
			spec["scheduling"] = d.scheduling()
		}
		return Object{"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": spec}
	case "Pod":
		for key, value := range d.metadata() {
			metadata[key] = value
		}
		return Object{"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": d.pod(false)}
	}
	spec := Object{"accessModes": []any{"ReadWriteOnce"},
		"resources": Object{"requests": Object{"storage": "1Gi"}}}
	d.wild(spec, reflect.TypeFor[corev1.PersistentVolumeClaimSpec](), 1+d.IntN(3))
	return Object{"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}
}

type drawer struct{ *rand.Rand }

// one is true once in n times.
func (d *drawer) one(n int) bool { return d.IntN(n) == 0 }

func (d *drawer) of(values ...any) any { return values[d.IntN(len(values))] }

func (d *drawer) metadata() Object {
	m := Object{}
	if d.one(3) {
		m["labels"] = Object{d.word(): d.word()}
	}
	if d.one(6) {
		m["annotations"] = Object{d.word(): d.word()}
	}
	return m
}

// pod draws a spec of a Pod, valid but for some fields.
func (d *drawer) pod(ofJob bool) Object {
	spec := Object{"containers": []any{Object{"name": "a", "image": "b"}}}
	if ofJob {
		spec["restartPolicy"] = "Never"
	}
	if d.one(3) {
		spec["volumes"] = []any{d.volume("v"), d.volume("w")}
	}
	for range d.IntN(3) {
		d.special(spec)
	}
	if d.one(3) {
		d.latest(spec)
	}
	if d.one(2) {
		d.wild(spec, reflect.TypeFor[corev1.PodSpec](), 1+d.IntN(3))
	}
	if containers, ok := spec["containers"].([]any); ok {
		for _, c := range containers {
			if c, ok := c.(Object); ok && d.one(4) {
				d.wild(c, reflect.TypeFor[corev1.Container](), 1+d.IntN(3))
			}
		}
	}
	return spec
}

func (d *drawer) volume(name string) Object {
	user := func(o Object) Object {
		if d.one(3) {
			o[d.of("defaultUser", "defaultMode").(string)] = d.of(0, 1, 511, -1, 5000000000)
		}
		return o
	}
	v := Object{"name": name}
	switch d.IntN(7) {
	case 0:
		v["emptyDir"] = Object{}
		if d.one(2) {
			v["emptyDir"] = Object{"mode": d.of(0, 511, 1023, 1024, -1)}
		}
	case 1:
		v["configMap"] = user(Object{"name": "a"})
	case 2:
		v["secret"] = user(Object{"secretName": "a"})
	case 3:
		v["image"] = Object{"reference": d.of("a", "")}
	case 4:
		v["projected"] = Object{"sources": []any{d.of(
			Object{"serviceAccountToken": Object{"path": "a", "expirationSeconds": d.of(600, 1)}},
			Object{"clusterTrustBundle": Object{"name": "a", "path": "b"}},
			Object{"podCertificate": Object{"signerName": "a.example.com/b", "keyType": "ED25519",
				"credentialBundlePath": "c"}},
			Object{"configMap": Object{"name": "a"}})}}
	case 5:
		v["ephemeral"] = Object{"volumeClaimTemplate": Object{"spec": Object{
			"accessModes": []any{"ReadWriteOnce"}, "volumeAttributesClassName": d.of("a", "", nil),
			"resources": Object{"requests": Object{"storage": "1Gi"}}}}}
	default:
		v["hostPath"] = Object{"path": "/a"}
	}
	return v
}

// special sets fields whose treatment changed between the versions.
func (d *drawer) special(spec Object) {
	c := spec["containers"].([]any)[0].(Object)
	switch d.IntN(24) {
	case 0:
		spec["hostnameOverride"] = d.of("a", "A", "", "a.b")
	case 1:
		spec["evictionResponders"] = []any{Object{"name": d.of("a.example.com/b", "b"),
			"priority": d.of(1000, 1)}}
	case 2:
		spec["schedulingGroup"] = Object{"podGroupName": d.of("a", "")}
	case 3:
		spec["workloadRef"] = Object{"name": "a", "podGroup": "b"}
	case 4:
		spec["resources"] = Object{d.of("requests", "limits").(string): Object{
			d.of("cpu", "memory", "hugepages-2Mi", "a.b/c").(string): d.of("1", "2Gi", "4Mi")}}
		if d.one(2) {
			c["resources"] = Object{"limits": Object{"cpu": "1", "memory": "1Gi"}}
		}
	case 5:
		spec["hostUsers"] = false
		spec[d.of("hostNetwork", "hostPID", "hostIPC").(string)] = d.of(true, false)
	case 6:
		spec["hostPID"], spec["shareProcessNamespace"] = true, true
	case 7:
		spec["securityContext"] = Object{d.of("seLinuxChangePolicy", "supplementalGroupsPolicy").(string): d.of(
			"Recursive", "MountOption", "Strict", "Merge", "a")}
	case 8:
		c["lifecycle"] = Object{"stopSignal": d.of("SIGTERM", "a")}
		spec["os"] = Object{"name": d.of("linux", "windows")}
	case 9:
		c["lifecycle"] = Object{"preStop": Object{"sleep": Object{"seconds": d.of(0, 1, 60, -1)}}}
	case 10:
		c["livenessProbe"] = Object{"httpGet": Object{"port": 80,
			"protocol": d.of("HTTP1", "HTTP2", "a"), "scheme": d.of("HTTP", "HTTPS")}}
	case 11:
		c["readinessProbe"] = Object{"grpc": Object{"port": 80, "mode": d.of("TLS", "a")}}
	case 12:
		c["restartPolicy"] = d.of("Always", "Never", "OnFailure", "a")
		if d.one(2) {
			c["restartPolicyRules"] = []any{Object{"action": d.of("Restart", "RestartAllContainers",
				"a"), "exitCodes": Object{"operator": d.of("In", "NotIn"), "values": []any{1}}}}
		}
	case 13:
		c["env"] = []any{Object{"name": d.of("a", "a=b", "a b", "1", "", "a\u00e9"), "value": "b"}}
	case 14:
		c["env"] = []any{Object{"name": "a", "valueFrom": Object{"fileKeyRef": Object{
			"volumeName": "v", "path": d.of("a", "/a", "../a"), "key": d.of("a", "a b")}}}}
		spec["volumes"] = []any{Object{"name": "v", "emptyDir": Object{}}}
	case 15:
		c["securityContext"] = Object{"procMount": d.of("Unmasked", "Default", "a")}
		spec["hostUsers"] = d.of(true, false)
	case 16:
		c["securityContext"] = Object{"allowPrivilegeEscalation": false,
			"capabilities": Object{"add": []any{d.of("CAP_SYS_ADMIN", "SYS_ADMIN")}}}
	case 17:
		c["resizePolicy"] = []any{Object{"resourceName": d.of("cpu", "memory", "a"),
			"restartPolicy": d.of("NotRequired", "RestartContainer", "a")}}
	case 18:
		spec["resourceClaims"] = []any{Object{"name": "a", "resourceClaimName": "b"}}
		c["resources"] = Object{"claims": []any{Object{"name": d.of("a", "b"),
			"request": d.of("a", "a/b")}}}
	case 19:
		spec["dnsConfig"] = Object{"searches": []any{d.of("a", ".", "a_b.c", "a.", "_a", "A")}}
	case 20:
		spec["tolerations"] = []any{Object{"key": d.of("a", "a b"), "operator": d.of("Exists",
			"Lt", "Gt", "Equal", "a"), "value": d.of("1", "a", ""), "effect": d.of("NoSchedule",
			"a")}}
	case 21:
		spec["topologySpreadConstraints"] = []any{Object{"maxSkew": 1, "topologyKey": "a",
			"whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": []any{d.of("c", "b c")},
			"labelSelector": Object{"matchLabels": Object{"c": "b"}}}}
	case 22:
		spec["volumes"] = []any{d.volume("v")}
		c["volumeMounts"] = []any{Object{"name": "v", "mountPath": "/a",
			"readOnly": d.of(true, false), "recursiveReadOnly": d.of("Enabled", "IfPossible", nil),
			"bindMountOptions": d.of([]any{"noexec"}, []any{"a", "a"}, nil)}}
	default:
		spec["initContainers"] = []any{Object{"name": "i", "image": "b",
			"restartPolicy": d.of("Always", "Never", nil),
			"resizePolicy": []any{Object{"resourceName": "cpu",
				"restartPolicy": d.of("NotRequired", "RestartContainer")}}}}
	}
}

// word returns a word that is mostly a valid name.
func (d *drawer) word() string {
	return d.of("a", "b", "a", "v", "a-b", "a.b", "A", "a_b", "a b", "", "/a", "1",
		"example.com/a", "kubernetes.io/a", "None", "$(A)", "..", "é",
		strings.Repeat("a", 64)).(string)
}

// wild sets up to n fields of an object of a type to drawn values.
func (d *drawer) wild(o Object, t reflect.Type, n int) {
	fields := reflect.VisibleFields(t)
	for range n {
		f := fields[d.IntN(len(fields))]
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "template" || name == "containers" && !d.one(4) {
			continue
		}
		o[name] = d.value(f.Type, 0)
	}
}

// deepest is how deep drawn values go.
const deepest = 5

// value draws a value of a type.
func (d *drawer) value(t reflect.Type, depth int) any {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return d.of("1", "500m", "1Gi", "0", "-1", "1.5", 2)
	case reflect.TypeFor[intstr.IntOrString]():
		return d.of(80, 0, "http", "A", 70000)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.value(t.Elem(), depth)
	case reflect.Bool:
		return d.one(2)
	case reflect.String:
		if words := enumOf(t); words != nil && !d.one(6) {
			return words[d.IntN(len(words))]
		}
		return d.word()
	case reflect.Int32, reflect.Int64, reflect.Int:
		return d.of(0, 1, 1, 2, 5, -1, 80, 1000, 100000, 420)
	case reflect.Slice:
		list := []any{}
		if t.Elem().Kind() == reflect.Uint8 {
			return "YQ=="
		}
		for range d.IntN(3) {
			list = append(list, d.value(t.Elem(), depth+1))
		}
		return list
	case reflect.Map:
		o := Object{}
		for range d.IntN(3) {
			key := d.word()
			if t.Elem() == reflect.TypeFor[resource.Quantity]() {
				key = d.of("cpu", "memory", "storage", "a.b/c", "x", "ephemeral-storage").(string)
			}
			o[key] = d.value(t.Elem(), depth+1)
		}
		return o
	case reflect.Struct:
		o := Object{}
		if depth >= deepest {
			return o
		}
		fields := reflect.VisibleFields(t)
		for range 1 + d.IntN(3) {
			f := fields[d.IntN(len(fields))]
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && f.IsExported() {
				o[name] = d.value(f.Type, depth+1)
			}
		}
		return o
	}
	return nil
}

// enumOf returns the words of some types of words.
func enumOf(t reflect.Type) []any {
	switch t.Name() {
	case "RestartPolicy", "ContainerRestartPolicy":
		return []any{"Always", "OnFailure", "Never"}
	case "Protocol":
		return []any{"TCP", "UDP", "SCTP"}
	case "PullPolicy":
		return []any{"Always", "IfNotPresent", "Never"}
	case "CompletionMode":
		return []any{"Indexed", "NonIndexed"}
	case "PodReplacementPolicy":
		return []any{"Failed", "TerminatingOrFailed"}
	case "DNSPolicy":
		return []any{"ClusterFirst", "Default", "None", "ClusterFirstWithHostNet"}
	case "TaintEffect":
		return []any{"NoSchedule", "NoExecute", "PreferNoSchedule"}
	case "TolerationOperator":
		return []any{"Exists", "Equal"}
	case "PersistentVolumeAccessMode":
		return []any{"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"}
	case "PreemptionPolicy":
		return []any{"Never", "PreemptLowerPriority"}
	case "NodeSelectorOperator", "LabelSelectorOperator":
		return []any{"In", "NotIn", "Exists", "DoesNotExist"}
	}
	return nil
}

// JSON returns the object as JSON.
func (o Object) JSON() []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprint("a drawn object is no JSON: ", err))
	}
	return text
}
