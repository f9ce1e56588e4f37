// This file selects the replicated jobs that the items of an extended patch name.

package workspace

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/nearest"
)

// extension is an extended patch whose items of replicatedJobs name the jobs of a base.
type extension struct {
	manifest.Patch
	spec  map[string]any
	items map[string]int // in the list of the patch, by the name of the job
}

// jobsPath leads to the replicated jobs of a runtime.
func jobsPath() fieldpath.Path {
	return fieldpath.Fields("spec", "template", "spec", "replicatedJobs")
}

// extend returns a patch for the jobs of a runtime. It reports the items that select no job, and
// those whose job is not clear.
func extend(p manifest.Patch, runtime map[string]any, report func(finding.Finding)) extension {
	out := extension{Patch: p, spec: p.Extended, items: map[string]int{}}
	list, _, _ := unstructured.NestedFieldNoCopy(p.Extended, "template", "spec", "replicatedJobs")
	items, _ := list.([]any) // the merge reports another type
	jobs := jobsOf(runtime)
	var named []any
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return out
		}
		at := jobsPath().Append(fieldpath.Index(i))
		wrong := func(code finding.Code, name, help, message string, args ...any) {
			field := at
			if name != "" {
				field = at.Append(fieldpath.Field(name))
			}
			report(finding.Finding{Code: code, Path: field, Position: out.position(field),
				Message: fmt.Sprintf(message, args...), Remedy: finding.Remedy{Text: help}})
		}
		selected := selectJobs(fields, jobs, wrong)
		for _, name := range selected {
			if _, isDuplicate := out.items[name]; isDuplicate {
				wrong(codes.DuplicateItem, "", "combine the two items",
					"Duplicate value: two items of the patch select the job %q", name)
				break
			}
			out.items[name] = i
			fields := maps.Clone(fields)
			delete(fields, "select")
			fields["name"] = name
			named = append(named, fields)
		}
	}
	if len(items) > 0 {
		out.spec = kruntime.DeepCopyJSON(p.Extended)
		// the list is there
		_ = unstructured.SetNestedSlice(out.spec, named, "template", "spec", "replicatedJobs")
	}
	return out
}

// baseJobs are the replicated jobs of a runtime that patches select.
type baseJobs struct {
	list  []replicatedJob
	names nearest.Names
	known map[string]bool
}

// replicatedJob is the name of a job with the labels of its template.
type replicatedJob struct {
	name   string
	labels labels.Set
}

func jobsOf(runtime map[string]any) baseJobs {
	jobs := baseJobs{known: map[string]bool{}}
	list, _, _ := unstructured.NestedSlice(runtime, "spec", "template", "spec", "replicatedJobs")
	var names []string
	for _, item := range list {
		fields, _ := item.(map[string]any)
		name, _, _ := unstructured.NestedString(fields, "name")
		of, _, _ := unstructured.NestedStringMap(fields, "template", "metadata", "labels")
		jobs.list, names, jobs.known[name] = append(jobs.list, replicatedJob{name, of}),
			append(names, name), true
	}
	jobs.names = nearest.NewNames(names)
	return jobs
}

// mostJobs is the number of jobs that a help text lists.
const mostJobs = 10

// among lists the names of jobs for a help text, those like a name first.
func (j baseJobs) among(name string) string {
	near := j.names.Around(name)
	return "use a job of the runtime: " + quoted(near, j.names.Len())
}

// quoted lists the first of n names.
func quoted(names []string, n int) string {
	var list []string
	for _, name := range names[:min(len(names), mostJobs)] {
		list = append(list, strconv.Quote(name))
	}
	if more := n - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

// selectJobs returns the names of the jobs that an item selects. It selects by its name, or by
// labels or the ancestor of the field select.
func selectJobs(item map[string]any, jobs baseJobs,
	wrong func(code finding.Code, field, help, message string, args ...any)) (selected []string) {
	name, isNamed := item["name"].(string)
	by, isSelected := item["select"].(map[string]any)
	const form = "set one of ancestor and labels, such as ancestor: trainer"
	switch {
	case isNamed && item["select"] != nil:
		wrong(codes.BrokenRule, "name", "remove the name",
			"Forbidden: may not be set beside select, and a patch cannot rename a job")
		return nil
	case isNamed:
		if !jobs.known[name] {
			wrong(codes.UnknownJob, "name", jobs.among(name), "Not found: %q", name)
			return nil
		}
		return []string{name}
	case !isSelected || len(by) != 1:
		field := "select"
		if item["select"] == nil {
			field = ""
		}
		wrong(codes.MissingField, field, form,
			"Required value: must specify a name, or one of select.ancestor and select.labels")
		return nil
	}
	ancestor, isAncestor := by["ancestor"].(string)
	text, isLabels := by["labels"].(string)
	selector, err := labels.Parse(text)
	switch {
	case isAncestor:
		selector = labels.SelectorFromSet(labels.Set{mlpolicy.Ancestor: ancestor})
	case !isLabels || err != nil || text == "":
		wrong(codes.BadValue, "select", form,
			"Invalid value: must have an ancestor, or a label selector such as tier=gpu")
		return nil
	}
	for _, job := range jobs.list {
		if selector.Matches(job.labels) {
			selected = append(selected, job.name)
		}
	}
	switch {
	case len(selected) == 0:
		wrong(codes.UnknownJob, "select", jobs.among(ancestor),
			"selects no job of the runtime: no template has the labels %s", selector)
	case isAncestor && len(selected) > 1:
		wrong(codes.BadValue, "select", "select one of them by its name, or all with labels",
			"Invalid value: %q: selects several jobs: %s", ancestor,
			quoted(selected, len(selected)))
		return nil
	}
	return selected
}

// path returns the path in the patch's document of a field of the runtime.
func (e extension) path(path fieldpath.Path) fieldpath.Path {
	if len(path) > 0 {
		path = path[1:] // spec
	}
	at := e.Base.Append(fieldpath.Field("trainingRuntimeSpec")).Append(path...)
	if n := len(e.Base) + len(jobsPath()); len(at) > n {
		if key, name, ok := at[n].Item(); ok && key == "name" && path.HasPrefix(jobsPath()[1:]) {
			if i, ok := e.items[name]; ok {
				at[n] = fieldpath.Index(i)
			}
		}
	}
	return at
}

func (e extension) position(path fieldpath.Path) fieldpath.Position {
	return e.Document.Position(e.path(path))
}
