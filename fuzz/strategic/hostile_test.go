package strategic

import (
	"math"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/merge"
)

// TestBadPatches checks that an error names the field and the problem.
func TestBadPatches(t *testing.T) {
	base := &appsv1.Deployment{}
	base.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "a"}}
	for _, c := range []struct {
		patch any
		want  string
	}{
		{object{"spec": object{"replicas": math.NaN()}},
			`.spec.replicas: is no JSON: json: unsupported value: NaN`},
		{object{"spec": object{"replicas": "3"}},
			`.spec.replicas: must be a number, and is a string`},
		{object{"spec": object{"replicas": int64(1 << 40)}},
			`.spec.replicas: must be a number, and is number 1099511627776`},
		{object{"spec": "x"}, `.spec: must be an object, and is a string`},
		{object{"spec": object{
			"template": object{"spec": object{"containers": []any{object{"image": "b"}}}}}},
			`.spec.template.spec.containers[0]: an item without its merge key cannot be merged; give it a "name"`},
		{object{"spec": object{"template": object{"spec": object{"containers": []any{nil}}}}},
			`.spec.template.spec.containers[0]: must be an object`},
		{object{"spec": object{
			"template": object{
				"spec": object{"containers": []any{object{"name": "main", "image": int64(1)}}}}}},
			`.spec.template.spec.containers[name="main"].image: must be a string, and is a number`},
		{object{"spec": object{
			"template": object{
				"spec": object{"containers": []any{object{"name": "main", "$patch": "remove"}}}}}},
			`.spec.template.spec.containers[0]: $patch: unknown directive "remove" for an item`},
		{object{"spec": object{"$patch": "remove"}}, `.spec: $patch: unknown directive "remove"`},
		{object{"spec": object{"$retainKeys": []any{"paused"}, "replicas": int64(1)}},
			`.spec: $retainKeys does not name "replicas", which the patch sets`},
		{object{"metadata": object{"labels": object{"a": object{}}}},
			`.metadata.labels["a"]: must be a string, and is an object`},
		{&corev1.Pod{}, `is *v1.Pod, and must be v1.Deployment or an object`},
	} {
		_, err := apply(
			&Case{Type: reflect.TypeFor[appsv1.Deployment](), Base: base, Patches: []any{c.patch}})
		if err == nil || strings.TrimPrefix(err.Error(), "patch of manager/0: ") != c.want {
			t.Errorf("%v: %v, want %s", c.patch, err, c.want)
		}
	}
	for _, base := range []any{nil, corev1.Pod{}, object{}} {
		if _, err := merge.Strategic(&base, nil); err == nil {
			t.Errorf("a base that is %T is taken for a pointer", base)
		}
	}
}

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
