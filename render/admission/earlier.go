package admission

import (
	"maps"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
)

// decodeJob decodes the TrainJob into today's Go types. The fields of an earlier release go to the
// input's layers and earlier fields, if its controller reads them.
func (c *checker) decodeJob(o *object) (*trainer.TrainJob, error) {
	today, processes, err := o.withoutProcesses("spec", "trainer", "numProcPerNode")
	if err != nil {
		return nil, err
	}
	typed := &trainer.TrainJob{}
	if err = today.as(typed); err != nil && o.release.Overrides != release.RuntimePatches {
		// The API server drops the status of a request before validating webhooks. Only the webhook
		// that stamps patches sees it.
		typed = &trainer.TrainJob{}
		err = today.withoutStatus().as(typed)
	}
	if err != nil {
		return nil, err
	}
	if o.asked {
		c.in.Earlier.NumProcPerNode = processes
	}
	if o.release.Claims.Gate {
		c.in.Earlier.NodeClaims, c.in.Earlier.Patched = nil, nil
		c.in.Earlier.Take(o.fields)
	}
	if o.release.Overrides == release.RuntimePatches {
		return typed, nil
	}
	typed.Spec.RuntimePatches = nil
	c.in.Layers, err = o.overrides()
	return typed, err
}

// overrides decodes the overrides of an earlier release, with the labels and annotations for the
// JobSet.
func (o *object) overrides() (*legacy.Overrides, error) {
	var fields struct {
		Spec struct {
			legacy.Overrides `json:",inline"`
		} `json:"spec"`
	}
	if err := o.as(&fields); err != nil {
		return nil, err
	}
	overrides := &fields.Spec.Overrides
	if o.release.Overrides == release.PodSpecOverrides {
		overrides.PodTemplateOverrides = nil
	} else {
		overrides.PodSpecOverrides = nil
	}
	return overrides, nil
}

// withoutProcesses returns the object without the field at a path, and the value of the field. It
// removes the field only if the definition allows an integer or a string. Today's Go types have an
// integer there, or no field.
func (o *object) withoutProcesses(path ...string) (*object, *intstr.IntOrString, error) {
	schema, fields := o.schema, o.fields
	last := len(path) - 1
	for _, name := range path[:last] {
		property, ok := schema.Properties[name]
		fields = mapOf(fields, name)
		if !ok || fields == nil {
			return o, nil, nil
		}
		schema = &property
	}
	value, set := fields[path[last]]
	if !set || !schema.Properties[path[last]].XIntOrString {
		return o, nil, nil
	}
	var processes struct{ Value *intstr.IntOrString }
	if err := (&object{fields: map[string]any{"Value": value}}).as(&processes); err != nil {
		return nil, nil, err
	}
	root := maps.Clone(o.fields)
	for at, name := root, path[:last]; len(name) > 0; name = name[1:] {
		inner := maps.Clone(mapOf(at, name[0]))
		at[name[0]] = inner
		at = inner
		if len(name) == 1 {
			delete(inner, path[last])
		}
	}
	return &object{definition: o.definition, id: o.id, fields: root}, processes.Value, nil
}

func (o *object) withoutStatus() *object {
	fields := maps.Clone(o.fields)
	delete(fields, "status")
	return &object{definition: o.definition, id: o.id, fields: fields}
}
