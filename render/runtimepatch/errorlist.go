package runtimepatch

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainweld/trainweld/conflict"
)

// ErrorList returns conflicts as a validating webhook's errors, one for each. An error is on the
// field of the last patch that claims it, and states each manager's value. Values of environment
// variables are masked. The argument at is the path of the list of patches; nil means
// .spec.runtimePatches, as in a TrainJob.
func ErrorList(conflicts conflict.Conflicts, at *field.Path) field.ErrorList {
	if at == nil {
		at = field.NewPath("spec", "runtimePatches")
	}
	var errs field.ErrorList
	for _, c := range conflicts {
		last := len(c.Claims) - 1
		name, _ := c.Claims[last].Owner.Manager()
		template := at.Key(name).Child("trainingRuntimeSpec", "template")
		errs = append(errs, field.Invalid(field.NewPath(template.String()+c.Fields[last].String()),
			field.OmitValueType{}, strings.TrimPrefix(c.Error(), c.Path.String()+": ")))
	}
	return errs
}
