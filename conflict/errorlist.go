package conflict

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// ErrorList is the conflicts as a validating webhook returns them, one error for each: on the field of the
// last patch that claims it, with what each manager sets. Values of environment variables are masked. The
// path is that of the list of patches; nil is .spec.runtimePatches, where a TrainJob has it.
func (cs Conflicts) ErrorList(patches *field.Path) field.ErrorList {
	if patches == nil {
		patches = field.NewPath("spec", "runtimePatches")
	}
	var errs field.ErrorList
	for _, c := range cs {
		last := len(c.Claims) - 1
		name, _ := c.Claims[last].Layer.Manager()
		path := patches.Key(name).Child("trainingRuntimeSpec", "template")
		for _, step := range c.Fields[last] {
			path = child(path, step)
		}
		errs = append(errs, field.Invalid(path, badValue(c.Fields[last], c.Claims[last].Value), c.detail()))
	}
	return errs
}

// child is the path with one more step. List items are named by their merge key: apimachinery's paths know
// positions and keys only, and a position would be that in the merged list.
func child(path *field.Path, step fieldpath.Step) *field.Path {
	if name, ok := step.Field(); ok {
		return path.Child(name)
	}
	if key, value, ok := step.Item(); ok {
		return path.Key(key + "=" + value)
	}
	if element, ok := step.Element(); ok {
		return path.Key(element)
	}
	key, _ := step.Key()
	return path.Key(key)
}

// badValue is the value that an error shows, left out where it may be a secret.
func badValue(path fieldpath.Path, value any) any {
	switch v := value.(type) {
	case engine.Presence:
		return v.String()
	case nil:
		return nil
	}
	if finding.IsSecret(path) {
		return field.OmitValueType{}
	}
	return value
}
