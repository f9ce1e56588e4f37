package upstream_test

import "github.com/trainweld/trainweld/fuzz/upstream"

// Edits of JSON objects by path. They do nothing and return false if the path does not exist.

// set sets a field, and makes the objects around it; nil takes it out.
func set(object any, value any, path ...string) bool {
	o, ok := object.(upstream.Object)
	for ; ok && len(path) > 1; path = path[1:] {
		next, isObject := o[path[0]].(upstream.Object)
		if !isObject {
			if o[path[0]] != nil {
				return false
			}
			next = upstream.Object{}
			o[path[0]] = next
		}
		o = next
	}
	if !ok {
		return false
	}
	if value == nil {
		delete(o, path[0])
	} else {
		o[path[0]] = value
	}
	return true
}

// list is the list at the path, nil where there is none.
func list(object any, path ...string) []any {
	for _, name := range path {
		o, _ := object.(upstream.Object)
		object = o[name]
	}
	items, _ := object.([]any)
	return items
}

// eachJob visits a runtime's replicated jobs, eachPod their Pods.
func eachJob(runtime upstream.Object, visit func(upstream.Object)) bool {
	found := false
	for _, job := range list(runtime, "spec", "template", "spec", "replicatedJobs") {
		if o, ok := job.(upstream.Object); ok {
			visit(o)
			found = true
		}
	}
	return found
}

func eachPod(runtime upstream.Object, visit func(upstream.Object)) {
	eachJob(runtime, func(job upstream.Object) {
		template, _ := job["template"].(upstream.Object)
		spec, _ := template["spec"].(upstream.Object)
		pod, _ := spec["template"].(upstream.Object)
		if o, ok := pod["spec"].(upstream.Object); ok {
			visit(o)
		}
	})
}

// addPatch adds a manager's patch of the JobSet template to a TrainJob.
func addPatch(m mutator, job upstream.Object, template upstream.Object) bool {
	patch := upstream.Object{
		"manager":             pick(m, "new.example.com/a", "new.example.com/b"),
		"trainingRuntimeSpec": upstream.Object{"template": template},
	}
	return set(job, append(list(job, "spec", "runtimePatches"), patch), "spec", "runtimePatches")
}

// patchPod adds a patch for the Pods of a job of the runtime, or of an unknown job.
func patchPod(m mutator, job, runtime upstream.Object, pod upstream.Object) bool {
	name := "ghost"
	if jobs := list(runtime, "spec", "template", "spec", "replicatedJobs"); len(jobs) > 0 &&
		m.IntN(8) > 0 {
		if o, ok := jobs[m.IntN(len(jobs))].(upstream.Object); ok {
			name, _ = o["name"].(string)
		}
	}
	inPod := upstream.Object{
		"template": upstream.Object{
			"spec": upstream.Object{"template": upstream.Object{"spec": pod}}}}
	inPod["name"] = name
	return addPatch(
		m, job, upstream.Object{"spec": upstream.Object{"replicatedJobs": []any{inPod}}})
}

// patchContainer adds a patch of a container.
func patchContainer(m mutator, job, runtime upstream.Object, container upstream.Object) bool {
	container["name"] = pick(m, "node", "other")
	return patchPod(m, job, runtime, upstream.Object{"containers": []any{container}})
}

func setManager(m mutator, job upstream.Object, manager any) bool {
	patches := list(job, "spec", "runtimePatches")
	return len(patches) > 0 && set(patches[m.IntN(len(patches))], manager, "manager")
}

func emptyDir(name string) upstream.Object {
	return upstream.Object{"name": name, "emptyDir": upstream.Object{}}
}

func variable(name string) upstream.Object { return upstream.Object{"name": name, "value": "x"} }

// pick is one of the values.
func pick[T any](m mutator, values ...T) T { return values[m.IntN(len(values))] }
