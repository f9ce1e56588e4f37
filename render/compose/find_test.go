package compose_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/compose"
	"github.com/trainweld/trainweld/schema"
)

// ownersOf merges Pods of managers over one of the runtime, and returns the owners of the fields.
func ownersOf(t *testing.T, runtime corev1.PodSpec, patches ...corev1.PodSpec) *merge.Ownership {
	t.Helper()
	plan, err := merge.For[corev1.PodSpec, corev1.PodSpec](schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	var layers []merge.Layered[corev1.PodSpec]
	for i := range patches {
		layers = append(layers, merge.Layered[corev1.PodSpec]{Layer: merge.Manager(string(rune('a' + i))), Patch: &patches[i]})
	}
	result, err := plan.Apply(&runtime, layers, merge.Options{Owners: true, Base: "runtime"})
	if err != nil {
		t.Fatal(err)
	}
	return result.Owners
}

func TestFind(t *testing.T) {
	tolerates := func(keys ...string) corev1.PodSpec {
		var pod corev1.PodSpec
		for _, key := range keys {
			pod.Tolerations = append(pod.Tolerations, corev1.Toleration{Key: key})
		}
		return pod
	}
	union := compose.Rules{{Path: fieldpath.Fields("tolerations"), Kind: compose.KindUnion, Position: fieldpath.Position{File: "trainweld.yaml", Line: 2, Column: 5}}}
	owner := compose.Rules{{Path: fieldpath.Fields("tolerations"), Kind: compose.KindOwner, Owner: "b"}}
	for _, tc := range []struct {
		name    string
		rules   compose.Rules
		patches []corev1.PodSpec
		code    finding.Code
		message string
	}{
		{"no rule", nil, []corev1.PodSpec{tolerates("a")}, "", ""},
		{"no patch", union, nil, "", ""},
		{"a patch drops the runtime's", union, []corev1.PodSpec{tolerates("a")}, codes.NotComposed, "the last patch does not set the union of all values (trainweld.yaml:2:5): a"},
		{"the last patch drops the others'", union, []corev1.PodSpec{tolerates("a", "runtime"), tolerates("b")}, codes.NotComposed, "the last patch does not set the union of all values (trainweld.yaml:2:5): a, b"},
		{"the last patch holds all", union, []corev1.PodSpec{tolerates("a"), tolerates("runtime", "b", "a")}, codes.Composed, "the last patch sets the union of all values (trainweld.yaml:2:5): a, b"},
		{"the owner is the last", owner, []corev1.PodSpec{tolerates("a"), tolerates("b")}, codes.Composed, "the last patch sets the value of b: a, b"},
		{"the owner is not the last", owner, []corev1.PodSpec{{}, tolerates("b"), tolerates("c")}, codes.NotComposed, "the last patch does not set the value of b: b, c"},
		{"no owner", owner, []corev1.PodSpec{tolerates("a")}, codes.NoComposition, "only b may set the field: a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found := compose.Find(ownersOf(t, tolerates("runtime"), tc.patches...), tc.rules)
			if tc.code == "" {
				if found != nil {
					t.Errorf("Find() = %v, want nothing", found)
				}
				return
			}
			if len(found) != 1 {
				t.Fatalf("Find() = %v, want one composition", found)
			}
			f := found[0].Finding(fieldpath.Object{})
			if f.Code != tc.code || f.Message != tc.message || found[0].IsHeld() != (tc.code == codes.Composed) {
				t.Errorf("the finding is %v, want %s %s", f, tc.code, tc.message)
			}
			if last := f.Claims[len(f.Claims)-1]; compose.IsRule(last) != (tc.code == codes.NotComposed) {
				t.Errorf("the last claim is %v", last)
			}
		})
	}
}
