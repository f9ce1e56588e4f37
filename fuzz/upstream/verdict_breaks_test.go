package upstream_test

import (
	"errors"
	"os"
	"slices"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/upstream"
)

// readTemplate reads a file with templates of package fuzz.
func readTemplate(file string) (template any) {
	text, err := os.ReadFile(file)
	var read any
	if err == nil {
		err = yaml.Unmarshal(text, &read)
	}
	if err = errors.Join(err, oracle.Convert(read, &template)); err != nil {
		panic(err)
	}
	return template
}

// breaks are the changes of testdata/breaks.yaml, by section.
var breaks = sync.OnceValue(func() upstream.Object {
	return readTemplate("testdata/breaks.yaml").(upstream.Object)
})

// edit makes a change of a section. It returns what the change aims at, and reports whether it
// found its places.
func (m mutator) edit(section string, job, runtime upstream.Object) (aim string, placed bool) {
	e := m.expand(section)
	aim, _ = e["aim"].(string)
	placed = true
	lay := func(at any, name string) {
		if fields, ok := e[name].(upstream.Object); ok {
			o, isObject := at.(upstream.Object)
			placed = isObject && fuzz.Overlay(o, fields) && placed
		}
	}
	if name := e["name"]; name != nil {
		set(runtime, name, "metadata", "name")
		set(job, name, "spec", "runtimeRef", "name")
	}
	lay(runtime, "runtime")
	lay(job, "job")
	jobs := list(runtime, "spec", "template", "spec", "replicatedJobs")
	for _, job := range jobs {
		lay(job, "eachJob")
		lay(within(job, "template", "spec", "template", "spec"), "eachPod")
	}
	patches := list(job, "spec", "runtimePatches")
	for _, patch := range patches {
		lay(patch, "eachPatch")
	}
	if len(patches) > 0 {
		lay(pick(m, patches...), "aPatch")
	}
	patch, isPatch := e["patch"].(upstream.Object)
	pod, isPod := e["pod"].(upstream.Object)
	if container, ok := e["container"].(upstream.Object); ok {
		container["name"] = pick(m, "node", "other")
		pod, isPod = upstream.Object{"containers": []any{container}}, true
	}
	if isPod {
		name := any("ghost") // a job that the runtime lacks
		if len(jobs) > 0 && m.IntN(8) > 0 {
			name = itemName(pick(m, jobs...))
		}
		of := upstream.Object{}
		set(of, pod, "template", "spec", "template", "spec")
		of["name"] = name
		patch, isPatch = upstream.Object{"spec": upstream.Object{"replicatedJobs": []any{of}}}, true
	}
	if isPatch {
		placed = set(job, append(slices.Clone(patches), upstream.Object{
			"manager":             pick(m, "new.example.com/a", "new.example.com/b"),
			"trainingRuntimeSpec": upstream.Object{"template": patch},
		}), "spec", "runtimePatches") && placed
	}
	switch e["do"] {
	case "initializer":
		return aim, breakInitializer(m, job, runtime)
	case "manager twice":
		return aim, len(patches) > 0 &&
			set(job, append(slices.Clone(patches), patches[0]), "spec", "runtimePatches")
	case "overrides":
		return aim, breakOverrides(m, job)
	}
	return aim, placed
}

func (m mutator) expand(section string) upstream.Object {
	return fuzz.Expand(m.Rand, pick(m, list(breaks(), section)...)).(upstream.Object)
}

// editJobSet makes a change that aims at a rule of JobSet's webhook.
func (m mutator) editJobSet(js upstream.Object) {
	e := m.expand("jobSet")
	jobs := list(js, "spec", "replicatedJobs")
	name := any(pick(m, "ghost", "a", ""))
	if len(jobs) > 0 && m.IntN(4) > 0 {
		name = itemName(pick(m, jobs...))
	}
	rename(e, name)
	lay := func(at any, name string) {
		o, _ := at.(upstream.Object)
		if fields, ok := e[name].(upstream.Object); ok && o != nil {
			fuzz.Overlay(o, fields)
		}
	}
	lay(js, "jobSet")
	if len(jobs) == 0 {
		return
	}
	lay(pick(m, jobs...), "aJob")
	for _, c := range list(pick(m, jobs...), "template", "spec", "template", "spec", "containers") {
		lay(c, "itsContainers")
	}
}

// rename replaces $job in a change.
func rename(value, name any) {
	switch v := value.(type) {
	case upstream.Object:
		for key, field := range v {
			if rename(field, name); field == "$job" {
				v[key] = name
			}
		}
	case []any:
		for _, item := range v {
			rename(item, name)
		}
	}
}

// breakInitializer asks for an initializer that the runtime may have no place for.
func breakInitializer(m mutator, job, runtime upstream.Object) bool {
	section := pick(m, "dataset", "model")
	name, asked := section+"-initializer",
		set(job, "hf://a/b", "spec", "initializer", section, "storageUri")
	jobs := list(runtime, "spec", "template", "spec", "replicatedJobs")
	if len(jobs) == 0 {
		return asked
	}
	if m.IntN(4) > 0 {
		set(jobs[0], name, "name")
	}
	containers := list(jobs[0], "template", "spec", "template", "spec", "containers")
	switch {
	case len(containers) == 0:
	case m.IntN(4) > 0:
		set(jobs[0], name, "template", "metadata", "labels",
			"trainer.kubeflow.org/trainjob-ancestor-step")
		set(containers[0], name, "name")
		set(containers[0], []any{upstream.Object{"name": pick(m, "initializer", "other"),
			"mountPath": "/x"}}, "volumeMounts")
	default: // and without its label: then the runtime's webhook has no say
		set(jobs[0], nil, "template", "metadata", "labels")
	}
	return asked
}

// breakOverrides repeats an override of an earlier release, or adds a target to one.
func breakOverrides(m mutator, job upstream.Object) bool {
	for _, field := range []string{"podSpecOverrides", "podTemplateOverrides"} {
		overrides := list(job, "spec", field)
		if len(overrides) == 0 {
			continue
		}
		if m.IntN(2) == 0 {
			return set(job, append(slices.Clone(overrides), pick(m, overrides...)), "spec", field)
		}
		return set(overrides[0], append(slices.Clone(list(overrides[0], "targetJobs")),
			upstream.Object{"name": pick(m, "node", "ghost", "launcher")}), "targetJobs")
	}
	return false
}
