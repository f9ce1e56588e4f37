package editor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/render/release"
)

// pathToJobs returns the path from a patch to the list of its jobs. Names of lists end in [].
func (b *builder) pathToJobs() []string {
	switch b.release.Overrides {
	case release.RuntimePatches:
		return []string{"trainingRuntimeSpec", "template", "spec", "replicatedJobs[]"}
	default:
		return []string{"targetJobs[]"}
	}
}

// pathToPods returns the path from an item of pathToJobs, or from an override, to the spec of a Pod.
func (b *builder) pathToPods() []string {
	switch b.release.Overrides {
	case release.RuntimePatches:
		return []string{"template", "spec", "template", "spec"}
	case release.PodTemplateOverrides:
		return []string{"spec"}
	default:
		return nil
	}
}

// pathToContainers returns the path from a patch to the list of its containers.
func (b *builder) pathToContainers() []string {
	path := append(b.pathToPods(), "containers[]")
	if b.release.Overrides == release.RuntimePatches {
		path = append(b.pathToJobs(), path...)
	}
	return path
}

// fieldName returns a name of a path without its mark of a list.
func fieldName(name string) string { return strings.TrimSuffix(name, "[]") }

// nameRuntimes restricts the names in a TrainJob to the names of the runtimes.
func (b *builder) nameRuntimes(root object) {
	ref := schemaAt(root, "spec", "runtimeRef")
	schemaAt(ref, "kind")["enum"] = []any{trainer.ClusterTrainingRuntimeKind, trainer.TrainingRuntimeKind}
	isNamespaced := objectWithField("kind", trainer.TrainingRuntimeKind)
	add(ref, object{
		"if":   isNamespaced,
		"then": b.runtimeNames(trainer.TrainingRuntimeKind), "else": b.runtimeNames(trainer.ClusterTrainingRuntimeKind),
	})
	var cases []any
	for _, g := range b.groups() {
		isNamed := objectWithField("name", g.names...)
		if g.kind == trainer.TrainingRuntimeKind {
			add(isNamed, isNamespaced)
		} else {
			isNamed["properties"].(object)["kind"] = is(g.kind) // or none
		}
		cases = append(cases, object{"if": required(isNamed, "spec", "runtimeRef"), "then": b.inOverrides(g.jobs, "the runtime")})
	}
	isNamed := required(object{"required": []any{"name"}}, "spec", "runtimeRef")
	add(root, object{"if": isNamed, "then": object{"allOf": cases}, "else": b.inOverrides(b.unionOfJobs(), "no runtime")})
}

// is returns a schema of words. It is for conditions: a language server takes the beginning of a const for the whole while one types.
func is(words ...string) object {
	quoted := make([]string, len(words))
	for i := range words {
		quoted[i] = regexp.QuoteMeta(words[i])
	}
	return object{"type": "string", "pattern": "^(" + strings.Join(quoted, "|") + ")$"}
}

// objectWithField returns a schema of objects that have a field with one of these words.
func objectWithField(field string, words ...string) object {
	return object{"required": []any{field}, "properties": object{field: is(words...)}}
}

// required returns a schema of objects that have the fields of a path, the last one with the schema s.
func required(s object, path ...string) object {
	for _, name := range slices.Backward(path) {
		s = object{"required": []any{name}, "properties": object{name: s}}
	}
	return s
}

// runtimeNames returns the schema of a reference to a runtime of a kind.
func (b *builder) runtimeNames(kind string) object {
	var names, origins []string
	for _, r := range b.names.Runtimes {
		if r.Kind == kind && !slices.Contains(names, r.Name) {
			names, origins = append(names, r.Name), append(origins, r.Origin)
		}
	}
	return oneOf(names, origins, fmt.Sprintf("no %s of this name is known: %s", kind, cmp.Or(nameList(names), "there is none")))
}

// oneOf returns the schema of objects whose name is one of these. hints describe the names, and may be nil.
func oneOf(names, hints []string, message string) object {
	if len(names) == 0 { // an enum needs a value
		return object{"properties": object{"name": false}, "errorMessage": message}
	}
	s := object{"enum": anyOf(names), "errorMessage": message, "doNotSuggest": true}
	if hints != nil {
		s["enumDescriptions"] = anyOf(hints)
	}
	return object{"properties": object{"name": s}}
}

// runtimeGroup is the runtimes of a kind with equal jobs.
type runtimeGroup struct {
	kind  string
	names []string
	jobs  []Job
}

// groups returns the runtimes in groups, in the order of their first runtimes.
func (b *builder) groups() []runtimeGroup {
	var merged []Runtime
	for _, r := range b.names.Runtimes {
		at := slices.IndexFunc(merged, func(known Runtime) bool { return known.Kind == r.Kind && known.Name == r.Name })
		if at < 0 {
			merged = append(merged, r)
		} else {
			merged[at].Jobs = union(append(slices.Clone(merged[at].Jobs), r.Jobs...))
		}
	}
	var groups []runtimeGroup
	places := map[string]int{}
	for _, r := range merged {
		key := r.Kind
		if j, err := json.Marshal(r.Jobs); err == nil {
			key += string(j)
		}
		at, known := places[key]
		if !known {
			at = len(groups)
			places[key] = at
			groups = append(groups, runtimeGroup{kind: r.Kind, jobs: r.Jobs})
		}
		groups[at].names = append(groups[at].names, r.Name)
	}
	return groups
}

// unionOfJobs returns the jobs of all runtimes, each name once.
func (b *builder) unionOfJobs() []Job {
	var all []Job
	for _, r := range b.names.Runtimes {
		all = append(all, r.Jobs...)
	}
	return union(all)
}

// union returns one job for each name, with the containers of all jobs of the name.
func union(jobs []Job) []Job {
	var all []Job
	for _, j := range jobs {
		at := slices.IndexFunc(all, func(known Job) bool { return known.Name == j.Name })
		if at < 0 {
			at = len(all)
			all = append(all, Job{Name: j.Name})
		}
		all[at].Containers = unionOfNames(all[at].Containers, j.Containers)
		all[at].InitContainers = unionOfNames(all[at].InitContainers, j.InitContainers)
	}
	return all
}

// unionOfNames returns the names of two lists, each once.
func unionOfNames(names, more []string) []string {
	names = slices.Clone(names)
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// inOverrides returns the schema of a TrainJob whose patches name these jobs.
func (b *builder) inOverrides(jobs []Job, owner string) object {
	list := string(b.release.Overrides) + "[]"
	s := nested(b.jobs(jobs, owner), append([]string{"spec", list}, b.pathToJobs()...)...)
	if b.release.Overrides == release.RuntimePatches {
		return s
	}
	// An override names its jobs and its containers side by side.
	var all Job
	for _, j := range jobs {
		all.Containers, all.InitContainers = unionOfNames(all.Containers, j.Containers), unionOfNames(all.InitContainers, j.InitContainers)
	}
	return object{"allOf": []any{s, nested(containers(all, owner), append([]string{"spec", list}, b.pathToPods()...)...)}}
}

// jobs returns the schema of an item that names one of these jobs.
func (b *builder) jobs(jobs []Job, owner string) object {
	var names, hints []string
	for _, j := range jobs {
		names, hints = append(names, j.Name), append(hints, "containers: "+strings.Join(append(slices.Clone(j.Containers), j.InitContainers...), ", "))
	}
	s := oneOf(names, hints, hasNone(owner, "replicated job", names))
	if b.release.Overrides != release.RuntimePatches {
		return s
	}
	for _, j := range jobs {
		add(s, object{
			"if":   objectWithField("name", j.Name),
			"then": nested(containers(j, owner), b.pathToPods()...),
		})
	}
	return s
}

// containers returns the schema of the spec of a Pod with the containers of a job.
func containers(j Job, owner string) object {
	return object{"allOf": []any{
		nested(oneOf(j.Containers, nil, hasNone(owner, "container", j.Containers)), "containers[]"),
		nested(oneOf(j.InitContainers, nil, hasNone(owner, "init container", j.InitContainers)), "initContainers[]"),
	}}
}

// hasNone returns the message on an unknown name.
func hasNone(owner, what string, names []string) string {
	verb, others := "has no", "it has "
	if owner == "no runtime" {
		verb, others = "has a", "there are "
	}
	if len(names) == 0 {
		return fmt.Sprintf("%s %s %s", owner, verb, what)
	}
	return fmt.Sprintf("%s %s %s of this name; %s%s", owner, verb, what, others, nameList(names))
}

// mostNames is the largest number of names in a message. The completion offers all.
const mostNames = 12

// nameList returns names for a message.
func nameList(names []string) string {
	if len(names) <= mostNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNames], ", "), len(names)-mostNames)
}
