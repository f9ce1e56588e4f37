package merge_test

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// FuzzPolicies merges patches of any shape by policies of any kind. A merge never panics, never
// changes its input, and never shares memory with it.
func FuzzPolicies(f *testing.F) {
	for _, seed := range []struct {
		base, first, second, protected string
		choice                         uint16
	}{
		{`{"containers": [{"name": "a", "image": "x", "livenessProbe": {"exec": {}}}]}`,
			`{"containers": [{"name": "a", "livenessProbe": {"grpc": {"port": 1}}}]}`,
			`{"containers": null}`, "containers.image", 0xffff},
		{`{"volumes": [{"name": "v", "emptyDir": {}}], "nodeSelector": {"k": "l"}}`,
			`{"volumes": [{"name": "v", "$patch": "delete"}]}`,
			`{"nodeSelector": {"$patch": "replace"}, "volumes": [{"name": "v", "secret": {}}]}`,
			`nodeSelector["k"]`, 0x1234},
		{`{}`, `{"containers": [{"name": "", "ports": [{"containerPort": 1}]}, null, 3]}`,
			`{"tolerations": [{}], "schedulerName": ""}`, "a[0]", 7},
		{`{"imagePullSecrets": [{"name": "a"}, {"name": "a"}]}`,
			`{"imagePullSecrets": [{"name": "b"}], "$setElementOrder/imagePullSecrets": [{"name": "b"}]}`, `{"$retainKeys": ["hostname"], "hostname": "h"}`, "imagePullSecrets", 0x0f0f},
	} {
		f.Add(seed.base, seed.first, seed.second, seed.protected, seed.choice)
	}
	f.Fuzz(func(t *testing.T, base, first, second, protected string, choice uint16) {
		o := options{Order: pick(choice>>1, "", "base"),
			Unions: pick(choice>>2, "", "last", "error"),
			Empty:  pick(choice>>4, "", "skip"), Precedence: pick(choice>>5, "", "first", "base"),
			ProtectedError: choice&0x80 > 0}
		if choice&0x400 > 0 {
			o.Defaults = "rules"
		}
		if choice&0x100 > 0 {
			o.Managers = []string{"second", "first"}
		}
		if path, err := fieldpath.ParsePath(protected); err == nil && choice&0x200 > 0 {
			o.Protected = append(o.Protected, path)
		}
		var live merge.Object
		var patches []merge.Patch
		for _, name := range []string{"first", "second"} {
			var patch merge.Object
			if json.Unmarshal([]byte(map[string]string{"first": first, "second": second}[name]),
				&patch) == nil {
				patches = append(patches, merge.Patch{Manager: name, Value: &patch})
			}
		}
		if json.Unmarshal([]byte(base), &live) == nil {
			before := inJSON(live) + inJSON(patches)
			if result, err := planForJSON().Apply(&live, patches, o.list()...); err == nil {
				scribble(reflect.ValueOf(&result.Value))
			}
			if after := inJSON(live) + inJSON(patches); after != before {
				t.Errorf("the input of an object's merge is now %s, and was %s", after, before)
			}
		}
		var pod corev1.PodSpec
		if json.Unmarshal([]byte(base), &pod) != nil {
			return
		}
		before := inJSON(pod) + inJSON(patches)
		if result, err := podPlan(t).Apply(&pod, patches, o.list()...); err == nil {
			for range result.History.All() {
			}
			scribble(reflect.ValueOf(&result.Value))
		}
		if after := inJSON(pod) + inJSON(patches); after != before {
			t.Errorf("the input of a Pod's merge is now %s, and was %s", after, before)
		}
	})
}

func pick[T any](choice uint16, of ...T) T { return of[int(choice&3)%len(of)] }
