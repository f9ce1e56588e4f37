package strategic

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestStricter shows patches that the engine rejects and upstream accepts.
func TestStricter(t *testing.T) {
	pods := reflect.TypeFor[corev1.Pod]()
	base := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}}
	seconds := int64(5)
	ends := &corev1.Pod{Spec: corev1.PodSpec{ActiveDeadlineSeconds: &seconds}}
	containers := func(items ...any) any { return object{"spec": object{"containers": items}} }
	for name, m := range map[string]*Case{
		"a key that is null": {
			Type: pods, Base: base, Patches: []any{containers(object{"name": nil, "image": "x"})}},
		"two items of one key": {
			Type: pods, Base: base,
			Patches: []any{containers(object{"name": "b"}, object{"name": "b"})}},
		"two items, and no such list": {
			Type: pods, Base: &corev1.Pod{},
			Patches: []any{containers(object{"name": "b"}, object{"name": "b"})}},
		"two items of an empty key": {
			Type: pods, Base: base,
			Patches: []any{containers(object{"name": ""}, object{"name": ""})}},
		"a key that is an object": {
			Type: pods, Base: &corev1.Pod{},
			Patches: []any{containers(object{"name": object{"$patch": "delete"}})}},
		"a number as elements": {
			Type: pods, Base: ends,
			Patches: []any{
				object{"spec": object{"$deleteFromPrimitiveList/activeDeadlineSeconds": 1.5}}}},
		"two typed items": {
			Type: pods, Base: base,
			Patches: []any{copyOf(pods, containers(object{"name": "b"}, object{"name": "b"}))}},
	} {
		_, err := apply(m)
		if _, _, theirs := Upstream(m); err == nil || theirs != nil || !IsStricter(m) {
			t.Errorf("%s: %v, upstream %v", name, err, theirs)
		}
	}
}
