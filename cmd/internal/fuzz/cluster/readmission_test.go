package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// Readmissions creates a suspended TrainJob with its runtime. It then writes each state of the
// TrainJob, as Kueue does when it admits and evicts it. Before each write, it lets the program
// predict the JobSet and the Jobs from a dump. It returns the numbers of the writes, and the first
// difference.
func (c *ControlPlane) Readmissions(ctx context.Context, program Program, dir string,
	objects []Object, states []Object) (writes int, difference string, err error) {
	defer c.reserve(objects)()
	r, err := c.record()
	if err != nil {
		return 0, "", err
	}
	defer r.clean(objects)
	if err := r.play(ctx, objects); err != nil || r.out.Outcome != Suspended {
		return 0, "the cluster: " + r.out.Words, err
	}
	for _, state := range states {
		if err := r.rest(ctx); err != nil {
			return writes, "", err
		}
		if err := r.read(); err != nil {
			return writes, "", err
		}
		want, err := program.predict(dir, []Object{objects[0], state}, r.plain().dump())
		if err != nil {
			return writes, "", err
		}
		answer, err := r.again(state)
		if err != nil {
			return writes, "", err
		}
		if answer.Status != http.StatusOK {
			return writes, "the cluster refuses the TrainJob: " + answer.Rejection(), nil
		}
		writes++
		// A controller that read an old state fails, and comes back later.
		for start := time.Now(); ; {
			if err := r.rest(ctx); err != nil {
				return writes, "", err
			}
			if err := r.read(); err != nil {
				return writes, "", err
			}
			difference := differs(
				"", comparables(
					slices.Concat(r.plain().Objects["jobsets"], r.plain().Objects["jobs"])), want)
			if difference == "" {
				break
			}
			if time.Since(start) > patience/4 {
				return writes, fmt.Sprintf("write %d: %s", writes, difference), nil
			}
		}
	}
	return writes, "", nil
}

// predict returns the JobSet and the Jobs that the program predicts, as comparables does.
func (p Program) predict(dir string, files, dump []Object) (Object, error) {
	var names []string
	for name, objects := range map[string][]Object{"files": files, "observed": dump} {
		file, _, err := write(dir, name, objects)
		if err != nil {
			return nil, err
		}
		names = append(names, file)
	}
	slices.Sort(names)
	var all []Object
	for _, to := range []string{"jobset", "jobs"} {
		out, err := p.run("render", "-f", names[0], "--old", names[1], "--on-conflict=last",
			"--to="+to)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(out), 4096)
		for {
			var raw json.RawMessage
			if decoder.Decode(&raw) != nil {
				break
			}
			var object Object
			if err := exact(raw, &object); err != nil {
				return nil, err
			}
			all = append(all, object)
		}
	}
	return comparables(all), nil
}

// comparables returns the objects by kind and name.
func comparables(objects []Object) Object {
	all := Object{}
	for _, object := range objects {
		all[text(object, "kind")+" "+text(object, "metadata", "name")] = comparable(object)
	}
	return all
}

// comparable returns the spec, the labels and the annotations. JobSet writes two lists of a Job in
// a random order.
func comparable(object Object) Object {
	metadata, _ := object["metadata"].(Object)
	out := Object{"spec": object["spec"], "labels": metadata["labels"],
		"annotations": metadata["annotations"]}
	data, _ := json.Marshal(out)
	var copied Object
	_ = exact(data, &copied)
	dropEmpty(copied)
	if pod, ok := at(copied, "spec", "template", "spec").(Object); ok {
		for _, name := range []string{"tolerations", "schedulingGates"} {
			if list, ok := pod[name].([]any); ok {
				slices.SortFunc(list, func(a, b any) int {
					return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
				})
			}
		}
	}
	return copied
}

// dropEmpty removes nulls, and maps without fields, which Go types omit.
func dropEmpty(value any) {
	switch v := value.(type) {
	case Object:
		for name, field := range v {
			dropEmpty(field)
			if inner, isMap := field.(Object); field == nil || isMap && len(inner) == 0 {
				delete(v, name)
			}
		}
	case []any:
		for _, item := range v {
			dropEmpty(item)
		}
	}
}

func at(value any, path ...string) any {
	for _, name := range path {
		fields, _ := value.(Object)
		value = fields[name]
	}
	return value
}

// differs names the first field in which two values differ.
func differs(path string, got, want any) string {
	g, isMap := got.(Object)
	w, isMapToo := want.(Object)
	if isMap && isMapToo {
		all := maps.Clone(g)
		maps.Copy(all, w)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if found := differs(path+"."+name, g[name], w[name]); found != "" {
				return found
			}
		}
		return ""
	}
	if g, isList := got.([]any); isList {
		if w, ok := want.([]any); ok && len(g) == len(w) {
			for i := range g {
				if found := differs(fmt.Sprintf("%s[%d]", path, i), g[i], w[i]); found != "" {
					return found
				}
			}
			return ""
		}
	}
	if reflect.DeepEqual(got, want) {
		return ""
	}
	return fmt.Sprintf("%s: the cluster has %v, predicted %v", path, got, want)
}

// drawReadmissions returns a runtime, its suspended TrainJob, and the states that Kueue writes.
// They are: admitted to a flavor, evicted, admitted to another one.
func drawReadmissions(seed uint64, readmissions int) (objects, states []Object) {
	random := rand.New(rand.NewPCG(seed, 0))
	jobs := []any{}
	names := []string{"node", "driver", "init"}[:1+random.IntN(3)]
	for _, name := range names {
		pod := Object{"containers": []any{Object{"name": name, "image": "example.com/image:1"}}}
		if random.IntN(2) == 0 {
			pod["nodeSelector"] = Object{"disk": "ssd"}
		}
		if random.IntN(2) == 0 {
			pod["tolerations"] = []any{Object{"key": "base", "operator": "Exists"}}
		}
		job := Object{"name": name, "replicas": 1 + random.IntN(2),
			"template": Object{"spec": Object{"template": Object{"spec": pod}}}}
		if name == "node" {
			job["replicas"] = 1
			job["template"].(Object)["metadata"] = Object{
				"labels": Object{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
		}
		jobs = append(jobs, job)
	}
	runtime := Object{
		"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
		"metadata": Object{"name": "rt", "namespace": "default"},
		"spec": Object{"mlPolicy": Object{"numNodes": 1},
			"template": Object{"spec": Object{"replicatedJobs": jobs}}},
	}
	state := func(suspend bool, patches ...any) Object {
		spec := Object{
			"runtimeRef": Object{"kind": "TrainingRuntime", "apiGroup": "trainer.kubeflow.org",
				"name": "rt"}, "suspend": suspend}
		if len(patches) > 0 {
			spec["runtimePatches"] = patches
		}
		return Object{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
			"metadata": Object{"name": "job", "namespace": "default"}, "spec": spec}
	}
	admitted := func(flavor string) any {
		var patched []any
		for _, name := range names {
			if random.IntN(4) == 0 {
				continue
			}
			spec, metadata := Object{}, Object{}
			if random.IntN(4) > 0 {
				spec["nodeSelector"] = Object{"pool": flavor, "only-" + flavor: "yes"}
			}
			switch random.IntN(3) {
			case 0:
				spec["tolerations"] = []any{
					Object{"key": flavor, "operator": "Exists", "effect": "NoSchedule"},
					Object{"key": "both", "operator": "Exists"}}
			case 1:
				spec["tolerations"] = []any{
					Object{"key": flavor, "operator": "Exists", "effect": "NoExecute",
						"tolerationSeconds": 60}}
			}
			if random.IntN(3) == 0 {
				spec["schedulingGates"] = []any{Object{"name": "example.com/" + flavor}}
			}
			if random.IntN(2) == 0 {
				metadata["labels"] = Object{"flavor": flavor, "only-" + flavor: "yes"}
			}
			if random.IntN(2) == 0 {
				metadata["annotations"] = Object{"example.com/flavor": flavor}
			}
			template := Object{}
			if len(spec) > 0 {
				template["spec"] = spec
			}
			if len(metadata) > 0 {
				template["metadata"] = metadata
			}
			if len(template) > 0 {
				patched = append(
					patched, Object{
						"name": name, "template": Object{"spec": Object{"template": template}}})
			}
		}
		if patched == nil {
			patched = []any{
				Object{"name": names[0],
					"template": Object{
						"spec": Object{
							"template": Object{
								"spec": Object{"nodeSelector": Object{"pool": flavor}}}}}}}
		}
		return Object{"manager": "kueue.x-k8s.io/manager",
			"trainingRuntimeSpec": Object{
				"template": Object{"spec": Object{"replicatedJobs": patched}}}}
	}
	for i := range readmissions + 1 {
		patch := admitted([]string{"a", "b", "c"}[i%3])
		states = append(states, state(false, patch), state(true, patch))
		if random.IntN(2) == 0 {
			// Kueue takes its patch back before it admits the job again
			states = append(states, state(true))
		}
	}
	return []Object{runtime, state(true)}, states
}

// tryReadmissions compares the predictions of one TrainJob.
func (c *ControlPlane) tryReadmissions(ctx context.Context, program Program, dir string,
	seed uint64) result {
	objects, states := drawReadmissions(seed, 2)
	exactObjects, err := exactly(objects...)
	if err == nil {
		states, err = exactly(states...)
	}
	out := result{outcome: "predicted"}
	if err != nil {
		out.difference = err.Error()
		return out
	}
	writes, difference, err := c.Readmissions(ctx, program, dir, exactObjects, states)
	if out.difference = difference; err != nil {
		out.difference = err.Error()
	}
	out.words = fmt.Sprintf("%d writes", writes)
	if out.difference != "" {
		for _, name := range []string{"files.yaml", "observed.yaml"} {
			data, _ := os.ReadFile(filepath.Join(dir, name))
			out.documents += "# " + name + "\n" + string(data)
		}
	}
	return out
}
