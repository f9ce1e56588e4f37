package runtimepatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
)

// OrderConflicts returns every field whose value depends on the order of the patches of a TrainJob, as
// [conflict.OrderConflicts] does. An empty list means that all orders give the same template, up to the order inside list-maps
// and sets. SequenceWarnings shows where that order carries meaning.
//
// OrderConflicts returns the error of Apply.
func OrderConflicts(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) ([]conflict.OrderConflict, error) {
	if template == nil {
		template = &trainer.JobSetTemplateSpec{}
	}
	found, err := conflict.OrderConflicts(plan(), template, layersOf(patches, true))
	if err != nil {
		return nil, patchError(patches, err)
	}
	return found, nil
}

// SequenceWarnings returns a warning for each list whose order carries meaning and depends on the order of the patches. It covers
// init containers, which run one after the other, and variables that refer to others. It tries the orders of conflict.Orders, and
// skips one that cannot be merged. The caller sets the object of the findings.
func SequenceWarnings(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) finding.List {
	if template == nil {
		template = &trainer.JobSetTemplateSpec{}
	}
	if !hasSequence(template, patches) {
		return nil
	}
	var given *trainer.JobSetTemplateSpec
	var first []string
	var found finding.List
	var seen codes.Set
	for _, order := range conflict.Orders(layersOf(patches, true)) {
		merged, writers := &trainer.JobSetTemplateSpec{}, conflict.ManagersOf(order)
		if _, err := plan().ApplyInto(merged, template, order, merge.Options{}); err != nil {
			continue
		}
		if given == nil {
			given, first = merged, writers
			continue
		}
		for _, f := range slices.Concat(initOrders(given, merged, first, writers), earlyIn(given, merged, first, writers)) {
			if !seen.Has(codes.KeyOf(f)) {
				seen.Add(f)
				found = append(found, f)
			}
		}
	}
	return found
}

// hasSequence reports whether a patch names init containers, or whether a variable may refer to another one.
func hasSequence(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) bool {
	for _, pod := range podsOf(template) {
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return strings.Contains(v.Value, "$(") }) {
				return true
			}
		}
	}
	return slices.ContainsFunc(patches, func(p trainer.RuntimePatch) bool {
		text, err := json.Marshal(p)
		return err != nil || bytes.Contains(text, []byte(`"initContainers"`)) || bytes.Contains(text, []byte("$("))
	})
}

// podsOf yields the Pods of the replicated jobs with the names of the jobs.
func podsOf(template *trainer.JobSetTemplateSpec) iter.Seq2[string, *corev1.PodSpec] {
	return func(yield func(string, *corev1.PodSpec) bool) {
		for i := range template.Spec.ReplicatedJobs {
			job := &template.Spec.ReplicatedJobs[i]
			if !yield(job.Name, &job.Template.Spec.Template.Spec) {
				return
			}
		}
	}
}

// inPod returns the path of a list of containers in the Pods of a replicated job.
func inPod(job, list string) fieldpath.Path {
	return fieldpath.Fields("spec", "replicatedJobs").Append(fieldpath.Item("name", job)).Append(fieldpath.Fields("template", "spec", "template", "spec", list)...)
}

// initOrders returns a warning for each job whose init containers two orders of the writers put into different sequences.
func initOrders(one, other *trainer.JobSetTemplateSpec, first, second []string) finding.List {
	var found finding.List
	for job, pod := range podsOf(one) {
		for name, with := range podsOf(other) {
			x, y := namesIn(pod.InitContainers), namesIn(with.InitContainers)
			if name != job || len(x) < 2 || slices.Equal(x, y) || !slices.Equal(slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))) {
				continue
			}
			list := inPod(job, "initContainers")
			found = append(found, finding.Finding{
				Code: codes.InitOrder, Severity: finding.Warning, Path: list,
				Message: "the order of the patches decides in which order the init containers run",
				Remedy:  finding.Remedy{Text: "name the init containers in one patch, or in the runtime"},
				Orders: []finding.Order{
					{Writers: first, Path: list, Effect: strings.Join(x, ", then ")},
					{Writers: second, Path: list, Effect: strings.Join(y, ", then ")},
				},
			})
		}
	}
	return found
}

func namesIn(containers []corev1.Container) []string {
	names := make([]string, len(containers))
	for i := range containers {
		names[i] = containers[i].Name
	}
	return names
}

// earlyIn returns a warning for each variable whose expansion differs between two orders of the patches.
func earlyIn(one, other *trainer.JobSetTemplateSpec, first, second []string) finding.List {
	var found finding.List
	for _, e := range Expansions(one, other, first, second) {
		found = append(found, finding.Finding{
			Code: codes.EnvOrder, Severity: finding.Warning, Path: e.Path, Orders: e.Orders,
			Message: fmt.Sprintf("%s refers to $(%s), which the cluster expands in one order of the patches only", e.From, e.To),
			Remedy:  finding.Remedy{Text: fmt.Sprintf("define %s before %s in one patch, or both in the runtime", e.To, e.From)},
		})
	}
	return found
}

// Expansion is a reference of a variable to another one of its container. The cluster expands it only in one of two orders.
type Expansion struct {
	// Path is the value of the variable From, which refers to the variable To.
	Path     fieldpath.Path
	From, To string
	// Orders are the two orders of the writers. Their effects state whether the cluster expands the reference.
	Orders []finding.Order
}

// Expansions returns the references that the cluster expands in one of two templates only. The templates are the results of two
// orders of the writers, first and second.
func Expansions(one, other *trainer.JobSetTemplateSpec, first, second []string) []Expansion {
	var found []Expansion
	after := expansionsIn(other)
	for _, e := range expansionsIn(one) {
		i := slices.IndexFunc(after, func(o templateExpansion) bool { return o.To == e.To && slices.Equal(o.Path, e.Path) })
		if i >= 0 && after[i].expands != e.expands {
			e.Orders = []finding.Order{{Writers: first, Path: e.Path, Effect: e.effect()}, {Writers: second, Path: e.Path, Effect: after[i].effect()}}
			found = append(found, e.Expansion)
		}
	}
	return found
}

// templateExpansion is a reference in one template.
type templateExpansion struct {
	Expansion
	expands bool
}

func (e templateExpansion) effect() string {
	if e.expands {
		return fmt.Sprintf("$(%s) is expanded", e.To)
	}
	return fmt.Sprintf("$(%s) stays as written", e.To)
}

func expansionsIn(template *trainer.JobSetTemplateSpec) []templateExpansion {
	var found []templateExpansion
	if template == nil {
		return nil
	}
	in := func(job, list string, containers []corev1.Container) {
		for i := range containers {
			at := variablesAt(containers[i].Env)
			for j, e := range containers[i].Env {
				for to, expands := range references(containers[i].Env, at, j) {
					path := inPod(job, list).Append(fieldpath.Item("name", containers[i].Name), fieldpath.Field("env"), fieldpath.Item("name", e.Name), fieldpath.Field("value"))
					found = append(found, templateExpansion{Expansion{Path: path, From: e.Name, To: to}, expands})
				}
			}
		}
	}
	for job, pod := range podsOf(template) {
		in(job, "initContainers", pod.InitContainers)
		in(job, "containers", pod.Containers)
	}
	return found
}
