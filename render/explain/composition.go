package explain

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainweld/trainweld/render/compose"
	"github.com/trainweld/trainweld/schema"
)

// compositions returns the kinds of rules that a policy may set for the field.
func (r *resolved) compositions(patchable bool) []compose.Kind {
	if !patchable || r.atomic != nil && len(r.atomic) < len(r.path) {
		return nil
	}
	var kinds []compose.Kind
	switch {
	case r.isUnordered():
		kinds = append(kinds, compose.KindUnion)
	case r.isAmount():
		kinds = append(kinds, compose.KindMinimum, compose.KindMaximum)
	}
	return append(kinds, compose.KindAgree, compose.KindOwner)
}

// isUnordered reports whether the field is a list that patches replace whole, and whose order has no meaning.
func (r *resolved) isUnordered() bool {
	if r.typ.Kind != schema.Atomic || r.typ.Elem == nil {
		return false
	}
	unordered := []reflect.Type{
		reflect.TypeFor[corev1.Toleration](), reflect.TypeFor[corev1.Capability](), reflect.TypeFor[corev1.NodeSelectorTerm](),
		reflect.TypeFor[corev1.PreferredSchedulingTerm](), reflect.TypeFor[corev1.PodAffinityTerm](), reflect.TypeFor[corev1.WeightedPodAffinityTerm](),
	}
	return slices.Contains(unordered, r.typ.Elem.GoType()) || r.field != nil && r.field.Name == "supplementalGroups"
}

// isAmount reports whether the field is a period or an amount of a resource. Other numbers, such as users, have no order.
func (r *resolved) isAmount() bool {
	if r.typ.Kind != schema.Scalar || r.field == nil {
		return false
	}
	isQuantity := r.typ.GoType() == reflect.TypeFor[resource.Quantity]()
	return isQuantity && r.field.Name != "divisor" || r.typ.GoType() == reflect.TypeFor[int64]() && strings.HasSuffix(r.field.Name, "Seconds") && !slices.Contains(fieldsOf(r.path), "metadata")
}
