package render_test

import (
	"reflect"
	"strings"
)

// The functions of this file remove the API server's plain defaults from a stored object. Fields
// that its template (ref) sets stay, also if they equal a default.

func drop(o, ref object, defaults object) {
	for key, value := range defaults {
		if _, spelled := ref[key]; spelled {
			continue
		}
		if got, ok := o[key]; ok && reflect.DeepEqual(got, value) {
			delete(o, key)
		}
	}
}

// item finds the item of a list that has the value under the key; an empty object when none has.
func item(list any, key string, value any) object {
	items, _ := list.([]any)
	for _, i := range items {
		if o, ok := i.(object); ok && o[key] == value {
			return o
		}
	}
	return object{}
}

func each(list any, f func(o object)) {
	items, _ := list.([]any)
	for _, i := range items {
		if o, ok := i.(object); ok {
			f(o)
		}
	}
}

func stripJobSpec(spec, ref object) {
	drop(spec, ref, object{"manualSelector": false})
	replacement, backoff := "TerminatingOrFailed", 6.0
	if _, ok := spec["podFailurePolicy"]; ok {
		replacement = "Failed"
	}
	if _, ok := spec["backoffLimitPerIndex"]; ok {
		backoff = 2147483647
	}
	drop(spec, ref, object{"podReplacementPolicy": replacement, "backoffLimit": backoff})
	stripPodSpec(field(spec, "template", "spec"), field(ref, "template", "spec"))
}

func stripPodSpec(spec, ref object) {
	drop(spec, ref, object{
		"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
		"securityContext":               object{},
		"terminationGracePeriodSeconds": 30.0, "enableServiceLinks": true,
		"preemptionPolicy": "PreemptLowerPriority", "priority": 0.0,
	})
	drop(spec, ref, object{"serviceAccount": spec["serviceAccountName"]})
	for _, key := range []string{"containers", "initContainers"} {
		each(spec[key], func(c object) {
			stripContainer(c, item(ref[key], "name", c["name"]), spec["hostNetwork"] == true)
		})
	}
	each(spec["volumes"], func(v object) {
		stripVolume(v, item(ref["volumes"], "name", v["name"]))
	})
}

func stripContainer(c, ref object, hostNetwork bool) {
	drop(c, ref, object{"terminationMessagePath": "/dev/termination-log",
		"terminationMessagePolicy": "File", "resources": object{}})
	image, _ := c["image"].(string)
	drop(c, ref, object{"imagePullPolicy": defaultPullPolicy(image)})
	each(c["ports"], func(p object) {
		of := item(ref["ports"], "containerPort", p["containerPort"])
		drop(p, of, object{"protocol": "TCP"})
		if hostNetwork {
			drop(p, of, object{"hostPort": p["containerPort"]})
		}
	})
	for _, key := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		if probe := field(c, key); probe != nil {
			drop(probe, field(ref, key),
				object{"timeoutSeconds": 1.0, "periodSeconds": 10.0, "successThreshold": 1.0,
					"failureThreshold": 3.0})
			stripHandler(probe, field(ref, key))
		}
	}
	for key := range field(c, "lifecycle") {
		if handler := field(c, "lifecycle", key); handler != nil {
			stripHandler(handler, field(ref, "lifecycle", key))
		}
	}
	each(c["env"], func(e object) {
		from, of := field(e, "valueFrom"), field(item(ref["env"], "name", e["name"]), "valueFrom")
		drop(field(from, "fieldRef"), field(of, "fieldRef"), object{"apiVersion": "v1"})
		drop(field(from, "resourceFieldRef"), field(of, "resourceFieldRef"), object{"divisor": "0"})
	})
	limits, requests := field(c, "resources", "limits"), field(c, "resources", "requests")
	asked := field(ref, "resources", "requests")
	drop(requests, asked, limits)
	if resources := field(c, "resources"); requests != nil && len(requests) == 0 &&
		field(ref, "resources")["requests"] == nil {
		delete(resources, "requests")
	}
}

func stripHandler(handler, ref object) {
	drop(field(handler, "httpGet"), field(ref, "httpGet"), object{"scheme": "HTTP", "path": "/"})
	drop(field(handler, "grpc"), field(ref, "grpc"), object{"service": ""})
}

func stripVolume(v, ref object) {
	for _, key := range []string{"configMap", "secret", "downwardAPI", "projected"} {
		drop(field(v, key), field(ref, key), object{"defaultMode": 420.0})
	}
	drop(field(v, "hostPath"), field(ref, "hostPath"), object{"type": ""})
	claim := []string{"ephemeral", "volumeClaimTemplate", "spec"}
	drop(field(v, claim...), field(ref, claim...), object{"volumeMode": "Filesystem"})
	stripItems := func(o object) {
		each(field(o, "downwardAPI")["items"], func(i object) {
			drop(field(i, "fieldRef"), nil, object{"apiVersion": "v1"})
		})
	}
	stripItems(v)
	each(field(v, "projected")["sources"], stripItems)
	if len(v) == 2 && len(ref) == 1 {
		drop(v, nil, object{"emptyDir": object{}})
	}
}

// defaultPullPolicy returns the API server's default for an image name: Always for the latest tag.
// A name without a tag means this tag. No name means no tag.
func defaultPullPolicy(image string) string {
	last := image[strings.LastIndex(image, "/")+1:]
	tag := ""
	if i := strings.LastIndex(last, ":"); i >= 0 {
		tag = last[i+1:]
	}
	if last == "" || strings.Contains(last, "@") || (tag != "" && tag != "latest") {
		return "IfNotPresent"
	}
	return "Always"
}
