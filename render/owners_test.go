package render_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

func TestMain(m *testing.M) { os.Exit(testenv.Tests{M: m}.Run()) }

// TestOwnersOfMetadata names no field of the runtime's metadata that the controller does not read.
func TestOwnersOfMetadata(t *testing.T) {
	in := render.Input{TrainJob: &trainer.TrainJob{}, Runtime: &trainer.TrainingRuntimeSpec{}}
	in.TrainJob.Name = "job"
	in.Runtime.Template.ObjectMeta = metav1.ObjectMeta{GenerateName: "a-",
		Finalizers: []string{"example.com/b"}, Labels: map[string]string{"a": "b"}}
	out, err := render.JobSet(in, render.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for path := range out.History.Within(fieldpath.Fields("metadata")).All() {
		got = append(got, path.String())
	}
	if want := []string{`.labels["a"]`, ".name", ".namespace"}; !slices.Equal(got, want) {
		t.Errorf("metadata has owners of %v, want %v", got, want)
	}
}

// TestOwnersOfEveryField checks the owners of every recorded input in both views. They name each
// leaf of the JobSet and nothing else. The last claim has the leaf's value.
func TestOwnersOfEveryField(t *testing.T) {
	layers := map[merge.Owner]int{}
	for _, dir := range caseFolders(
		t, casefile.Shared(t, cluster, "input.yaml", recordedFile), recordedFile) {
		in := readInput(t, filepath.Join(dir, "input.yaml"))
		for _, view := range []render.View{render.Applied, render.Stored} {
			out, _ := render.JobSet(in, render.Options{OnConflict: render.Last, As: view})
			if out.JobSet == nil {
				continue
			}
			js := asObjects(t, []any{out.JobSet})[0]
			delete(js, "status")
			delete(js, "apiVersion")
			delete(js, "kind")
			for path, claims := range out.History.All() {
				last := claims[len(claims)-1]
				layers[last.Owner]++
				got, found := take(js, path)
				switch {
				case last.Value == nil && found:
					t.Errorf("%s: %s is emptied by %s, and is %v", dir, path, last.Owner, got)
				case last.Value != nil && !found:
					t.Errorf("%s: %s is set by %s, and is not there", dir, path, last.Owner)
				case last.Value != nil && last.Value != any(merge.Presence{}):
					if want := throughJSON(t, last.Value); !reflect.DeepEqual(want, got) {
						t.Errorf("%s: %s is %v, and its last claim, by %s, %v", dir, path, got,
							last.Owner, want)
					}
				}
			}
			if left := leavesLeft(js); left != nil {
				t.Errorf("%s: fields without an owner: %v", dir, left)
			}
		}
	}
	for _, layer := range []merge.Owner{
		runtimepatch.RuntimeLayer, runtimepatch.TrainJobLayer, runtimepatch.DefaultLayer,
		runtimepatch.PolicyLayer("torch"), runtimepatch.PolicyLayer("mpi"),
		runtimepatch.PolicyLayer("jax"),
		runtimepatch.PolicyLayer("xgboost"), runtimepatch.PolicyLayer("flux"),
		runtimepatch.PolicyLayer("plain"), runtimepatch.SchedulerLayer("coscheduling"),
		runtimepatch.SchedulerLayer("volcano"),
	} {
		if layers[layer] == 0 {
			t.Errorf("no field of any case belongs to %s", layer)
		}
	}
}

// taken marks a leaf that an owner has named.
type taken struct{}

// take returns the value at a path and marks it as taken.
func take(value any, path fieldpath.Path) (any, bool) {
	for i, step := range path {
		last := i == len(path)-1
		name, isName := step.Field()
		if !isName {
			name, isName = step.Key()
		}
		if isName {
			fields, _ := value.(object)
			next, found := fields[name]
			if !found || next == nil {
				return nil, false
			}
			if _, isObject := next.(object); last && !isObject {
				fields[name] = taken{}
			}
			value = next
			continue
		}
		items, _ := value.([]any)
		key, want, isItem := step.Item()
		at := slices.IndexFunc(items, func(item any) bool {
			if !isItem {
				element, _ := step.Element()
				return item == element
			}
			fields, _ := item.(object)
			return fields != nil && text(fields[key]) == want
		})
		if at < 0 {
			return nil, false
		}
		value = items[at]
	}
	return value, true
}

func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	data, _ := json.Marshal(value)
	return string(data)
}

func throughJSON(t *testing.T, value any) any {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// leavesLeft lists the leaves that no owner named. Merge keys and empty structs are not leaves.
func leavesLeft(value any) []string {
	var left []string
	var walk func(value any, path string)
	walk = func(value any, path string) {
		switch v := value.(type) {
		case object:
			for name, field := range v {
				switch name {
				case "name", "mountPath", "containerPort", "topologyKey", "ip", "devicePath":
					continue
				}
				walk(field, path+"."+name)
			}
		case []any:
			for _, item := range v {
				walk(item, path+"[]")
			}
		case taken, nil:
		default:
			left = append(left, path)
		}
	}
	walk(value, "")
	slices.Sort(left)
	return left
}
