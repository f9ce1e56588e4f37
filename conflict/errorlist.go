package conflict

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// ErrorList returns the conflicts as a validating webhook's errors, one for each. An error is on
// the field of the last patch that claims it, and states each manager's value. Values of
// environment variables are masked. The argument is the path of the list of patches; nil means
// .spec.runtimePatches, as in a TrainJob.
func (cs Conflicts) ErrorList(patches *field.Path) field.ErrorList {
	if patches == nil {
		patches = field.NewPath("spec", "runtimePatches")
	}
	var errs field.ErrorList
	for _, c := range cs {
		last := len(c.Claims) - 1
		name, _ := c.Claims[last].Owner.Manager()
		path := patches.Key(name).Child("trainingRuntimeSpec", "template")
		for _, step := range c.Fields[last] {
			path = child(path, step)
		}
		errs = append(
			errs, field.Invalid(path, badValue(c.Fields[last], c.Claims[last].Value), c.detail()))
	}
	return errs
}

// child returns the path with one more step. It names list items by their merge key. The paths of
// apimachinery have only positions and keys, and a position would refer to the merged list.
func child(path *field.Path, step fieldpath.Step) *field.Path {
	if name, ok := step.Field(); ok {
		return path.Child(name)
	}
	if key, value, ok := step.Item(); ok {
		return path.Key(key + "=" + value)
	}
	key, _ := step.Key() // or the element of a set
	return path.Key(key)
}

// badValue returns the value that an error shows. It omits a possible secret.
func badValue(path fieldpath.Path, value any) any {
	switch v := value.(type) {
	case merge.Presence:
		return v.String()
	case nil:
		return nil
	}
	if finding.IsSecret(path) {
		return field.OmitValueType{}
	}
	return value
}
