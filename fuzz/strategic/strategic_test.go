package strategic

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// rules are the option of each merge: struct tags alone.
var rules = sync.OnceValue(func() merge.Option { return merge.Rules(schema.Rules{}) })

// types say how all kinds merge.
var types = sync.OnceValue(func() map[reflect.Type]*schema.Type {
	types := map[reflect.Type]*schema.Type{}
	for _, t := range kinds() {
		compiled, err := schema.Compile(t, t, schema.Rules{})
		if err != nil {
			panic(err)
		}
		types[t] = compiled
	}
	return types
})

// TestEqualsUpstream compares the engine with StrategicMergePatch, patch by patch.
func TestEqualsUpstream(t *testing.T) {
	var rejected, patches atomic.Int64
	n := ForCases(t, 7_000, NewCase, func(m *Case) string {
		differs, isRejected := compare(m)
		patches.Add(int64(len(m.Patches)))
		if isRejected {
			rejected.Add(1)
		}
		return differs
	})
	t.Logf("%d bases with %d patches, %d of them refused", n, patches.Load(), rejected.Load())
}

// TestEqualsUpstream_Cases are cases that random ones found, and few of them reach.
func TestEqualsUpstream_Cases(t *testing.T) {
	for reason, patches := range map[string][]any{
		"an empty patch drops twins": {
			object{"metadata": object{"finalizers": []any{"c", "c"}}},
			object{"metadata": object{"finalizers": []any{}}},
		},
		"a null $patch, in an order": {
			object{"status": object{"$setElementOrder/conditions": []any{},
				"conditions": []any{object{"$patch": nil}}}},
		},
		"a key that is empty": {
			object{"spec": object{"containers": []any{object{"name": ""}}}},
			object{"spec": object{"containers": []any{object{"name": "", "image": "a"}}}},
		},
	} {
		if differs, rejected := compare(
			&Case{Type: reflect.TypeFor[corev1.Pod](), Base: &corev1.Pod{},
				Patches: patches}); differs != "" || rejected {
			t.Errorf("%s: refused %v, %s", reason, rejected, differs)
		}
	}
	for reason, patch := range map[string]any{
		"an item without a key, in an order of none": object{
			"spec": object{"$setElementOrder/containers": []any{},
				"containers": []any{object{"image": "a"}}}},
		"an item without a key, in an order": object{
			"spec": object{"$setElementOrder/containers": []any{object{"name": "a"}},
				"containers": []any{object{"image": "a"}}}},
	} {
		if differs, rejected := compare(
			&Case{Type: reflect.TypeFor[corev1.Pod](), Base: &corev1.Pod{},
				Patches: []any{patch}}); differs != "" || !rejected {
			t.Errorf("%s: refused %v, %s", reason, rejected, differs)
		}
	}
}

// compare says how the engine differs from upstream, and whether upstream rejects the case.
func compare(m *Case) (differs string, rejected bool) {
	want, failedAt, wantErr := Upstream(m)
	var wanted []byte
	if wantErr == nil {
		wanted = Canonical(m.Type, want)
	}
	got, err := apply(m)
	switch failed := (*merge.PatchError)(nil); {
	case errors.Is(err, errPanic):
		return fmt.Sprintf("the engine: %v", err), wantErr != nil
	case wantErr != nil && err == nil:
		return fmt.Sprintf("upstream refuses patch %d (%v), and the engine does not", failedAt,
			wantErr), true
	case wantErr == nil && err != nil && IsStricter(m):
		return "", true
	case wantErr == nil && err != nil:
		return fmt.Sprintf("the engine refuses it (%v), and upstream does not", err), false
	case wantErr != nil && errors.As(err, &failed) && failed.Index != failedAt && !IsStricter(m):
		return fmt.Sprintf("upstream refuses patch %d (%v), and the engine %v", failedAt, wantErr,
			err), true
	case wantErr == nil:
		if made := Canonical(m.Type, got.Value); !bytes.Equal(made, wanted) &&
			!(IsStricter(m) && Directs(m)) {
			return fmt.Sprintf("the engine makes\n  %s\nand upstream\n  %s", made, wanted), false
		}
	}
	return "", wantErr != nil
}

var errPanic = errors.New("panic")

// apply is the engine's result.
func apply(m *Case) (result *merge.Result[any], err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p,
				strings.Join(
					regexp.MustCompile(`engine/\w+\.go:\d+`).FindAllString(string(debug.Stack()),
						5), " "))
		}
	}()
	return merge.Strategic(&m.Base, layered(m), rules())
}

// layered is each patch as the patch of a manager of its own.
func layered(m *Case) []merge.Patch {
	layers := make([]merge.Patch, len(m.Patches))
	for i := range m.Patches {
		layers[i] = merge.Patch{Manager: fmt.Sprint(i), Value: m.Patches[i]}
	}
	return layers
}
