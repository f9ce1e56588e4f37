package legacy

import (
	"encoding/json"
	"reflect"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/release"
)

// Earlier holds fields of releases that the Go types of the Trainer lack. Each release reads only
// the ones that its definitions have.
type Earlier struct {
	// NumProcPerNode is spec.trainer.numProcPerNode of Trainer 2.0 and 2.1: an integer, or auto,
	// cpu or gpu. If it is set, the field of the Go type is nil.
	NumProcPerNode *intstr.IntOrString
	// TorchNumProcPerNode is spec.mlPolicy.torch.numProcPerNode of the runtime, with its default,
	// in Trainer 2.0 and 2.1.
	TorchNumProcPerNode *intstr.IntOrString

	// NodeClaims are spec.trainer.resourceClaimsPerNode of Trainer 2.4.
	NodeClaims []NodeClaim
	// Patched are the fields that Trainer 2.4 adds to patches, by their managers: the
	// resourceClaims of Pods, and the resources of containers. A value is a JobSet template with
	// these fields and the names that lead to them.
	Patched map[string]map[string]any
	// Devices are the GPUs that ResourceClaims and ResourceClaimTemplates request, by their kinds,
	// namespaces and names.
	Devices map[fieldpath.Object]int
}

// NodeClaim is an item of spec.trainer.resourceClaimsPerNode.
type NodeClaim struct {
	Name                      string `json:"name"`
	ResourceClaimTemplateName string `json:"resourceClaimTemplateName"`
}

// TypeOf returns the type of a field that an Earlier holds, or nil for another field. The Go type
// around it has no such field, or one that takes no word.
func TypeOf(around reflect.Type, name string) reflect.Type {
	switch around {
	case reflect.TypeFor[trainer.Trainer]():
		switch name {
		case numProcPerNode: // of Trainer 2.0 and 2.1
			return reflect.TypeFor[intstr.IntOrString]()
		case "resourceClaimsPerNode": // of Trainer 2.4, as those of patches
			return reflect.TypeFor[[]NodeClaim]()
		}
	case reflect.TypeFor[trainer.TorchMLPolicySource]():
		switch name {
		case numProcPerNode: // of Trainer 2.0 and 2.1
			return reflect.TypeFor[intstr.IntOrString]()
		case "elasticPolicy": // which no controller read
			return reflect.TypeFor[map[string]any]()
		}
	case reflect.TypeFor[trainer.PodSpecPatch]():
		if name == "resourceClaims" {
			return reflect.TypeFor[[]corev1.PodResourceClaim]()
		}
	case reflect.TypeFor[trainer.ContainerPatch]():
		if name == "resources" {
			return reflect.TypeFor[corev1.ResourceRequirements]()
		}
	}
	return nil
}

const numProcPerNode = "numProcPerNode"

// TakeNumbers reads the numbers of processes in a TrainJob or a runtime, as decoded JSON, if the
// definition with these fields takes words there. A torch policy gets the definition's default.
func (e *Earlier) TakeNumbers(object map[string]any, definition *release.Field) {
	spec, _ := object["spec"].(map[string]any)
	take := func(into **intstr.IntOrString, path ...string) {
		around, at := spec, definition.Find("spec")
		for _, name := range path {
			if around, _ = around[name].(map[string]any); around == nil {
				return
			}
			at = at.Below(name)
		}
		if at = at.Below(numProcPerNode); at == nil || !at.IntOrString {
			return
		}
		text, err := json.Marshal(around[numProcPerNode])
		if around[numProcPerNode] == nil {
			text = at.Default
		}
		if err == nil && text != nil {
			_ = json.Unmarshal(text, into) // decoding reports a value of another type
		}
	}
	take(&e.NumProcPerNode, "trainer")
	take(&e.TorchNumProcPerNode, "mlPolicy", "torch")
}

// Take reads the fields of Trainer 2.4 in a TrainJob, as decoded JSON. It skips values of other
// types: decoding reports these.
func (e *Earlier) Take(job map[string]any) {
	spec, _ := job["spec"].(map[string]any)
	node, _ := spec["trainer"].(map[string]any)
	for _, claim := range objects(node["resourceClaimsPerNode"]) {
		name, _ := claim["name"].(string)
		template, _ := claim["resourceClaimTemplateName"].(string)
		e.NodeClaims = append(e.NodeClaims, NodeClaim{name, template})
	}
	for _, patch := range objects(spec["runtimePatches"]) {
		e.TakePatch(patch)
	}
}

// TakePatch reads the fields of Trainer 2.4 in a manager's patch. Of several patches of one
// manager, the last one counts. It changes the map of Patched, which e must not share.
func (e *Earlier) TakePatch(patch map[string]any) {
	manager, _ := patch["manager"].(string)
	spec, _ := patch["trainingRuntimeSpec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	if added := added(template); added != nil {
		if e.Patched == nil {
			e.Patched = map[string]map[string]any{}
		}
		e.Patched[manager] = added
	}
}

// added returns the fields that Trainer 2.4 adds to a part of a patch, with the names that lead to
// them, or nil. A container has resources and a Pod has claims; nothing else of a patch has fields
// of these names.
func added(part map[string]any) map[string]any {
	var out map[string]any
	set := func(name string, value any) {
		if out == nil {
			out = map[string]any{}
			if own, ok := part["name"]; ok {
				out["name"] = own
			}
		}
		out[name] = value
	}
	for _, name := range []string{"spec", "template"} {
		if below, ok := part[name].(map[string]any); ok {
			if below = added(below); below != nil {
				set(name, below)
			}
		}
	}
	for _, name := range []string{"replicatedJobs", "containers", "initContainers"} {
		var items []any
		for _, item := range objects(part[name]) {
			if item = added(item); item != nil {
				items = append(items, item)
			}
		}
		if items != nil {
			set(name, items)
		}
	}
	for _, name := range []string{"resourceClaims", "resources"} {
		if value, ok := part[name]; ok {
			set(name, value)
		}
	}
	return out
}

// objects returns the items of a list that are objects.
func objects(list any) []map[string]any {
	items, _ := list.([]any)
	var all []map[string]any
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			all = append(all, object)
		}
	}
	return all
}

// AddDevices reads a ResourceClaim or a ResourceClaimTemplate, as decoded JSON. It counts GPUs as
// Trainer 2.4 does (KEP-2782): the devices of each request with gpu in its name that asks for an
// exact count.
func (e *Earlier) AddDevices(id fieldpath.Object, claim map[string]any) {
	spec, _ := claim["spec"].(map[string]any)
	if inner, ok := spec["spec"].(map[string]any); ok {
		spec = inner // of a template
	}
	devices, _ := spec["devices"].(map[string]any)
	count := 0
	for _, request := range objects(devices["requests"]) {
		exactly, ok := request["exactly"].(map[string]any)
		name, _ := request["name"].(string)
		mode := exactly["allocationMode"]
		if !ok || !strings.Contains(strings.ToLower(name), "gpu") ||
			mode != nil && mode != "ExactCount" || exactly["adminAccess"] == true {
			continue
		}
		switch n := exactly["count"].(type) {
		case nil:
			count++ // the API's default
		case int64:
			count += int(max(n, 0))
		}
	}
	if e.Devices == nil {
		e.Devices = map[fieldpath.Object]int{}
	}
	e.Devices[id] = count
}
