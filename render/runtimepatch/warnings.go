package runtimepatch

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/patched"
)

// Warnings returns findings about a merge other than conflicts between managers. It returns a note
// for each field in which a patch changed the runtime's value. It returns a warning for each field
// that a patch omits and so removes. It also warns of each variable that refers to another one that
// the merge put after it.
//
// The template is the base of the merge, and r its result; nil has no warnings. The caller sets the
// object of the findings.
func Warnings(template *trainer.JobSetTemplateSpec, r *Result) finding.List {
	if r == nil {
		return nil
	}
	if template == nil {
		template = &trainer.JobSetTemplateSpec{}
	}
	return slices.Concat(overrides(r), zeroNulls(r), envOrder(template, r))
}

func zeroNulls(r *Result) finding.List {
	found := finding.ZeroNulls(r.notes)
	for i := range found {
		claim := &found[i].Claims[0]
		if manager, ok := claim.Owner.Manager(); ok {
			claim.At = append(PatchPath(manager), claim.At...)
		}
	}
	return found
}

func overrides(r *Result) finding.List {
	var found finding.List
	for path, claims := range r.History.Changed() {
		last := claims[len(claims)-1]
		if claims[0].Owner != RuntimeLayer || merge.SameValue(claims[0].Value, last.Value) {
			continue
		}
		found = append(found, finding.Finding{
			Code: codes.Override, Severity: finding.Note, Path: path, Claims: claims,
			Message: "a patch changes what the runtime sets",
		})
	}
	return found
}

// reference matches $(NAME) in the value of a variable. Kubernetes expands it to a variable that is
// defined earlier. It does not expand $$(NAME).
var reference = regexp.MustCompile(`(^|[^$])((?:\$\$)*)\$\(([^()]+)\)`)

// envOrder compares the references of variables before and after the merge. The merge puts new
// variables in front, so an old or new reference may then come too early.
func envOrder(template *trainer.JobSetTemplateSpec, r *Result) finding.List {
	type place struct{ at, to string }
	wasEarly := map[place]bool{} // the runtime's own order
	for _, e := range expansionsIn(template) {
		if !e.expands {
			wasEarly[place{e.path.String(), e.to}] = true
		}
	}
	var found finding.List
	for _, e := range expansionsIn(&r.Template) {
		if e.expands || wasEarly[place{e.path.String(), e.to}] {
			continue
		}
		found = append(found, finding.Finding{
			Code: codes.EnvOrder, Severity: finding.Warning, Path: e.path,
			Message: fmt.Sprintf(
				"%s refers to $(%s), which the merge puts after it, so that it is not expanded: "+
					"new variables go in front", e.from, e.to),
			Remedy: finding.Remedy{
				Text: fmt.Sprintf("name %s before %s in the patch",
					e.to, e.from)},
		})
	}
	return found
}

// expansion is a reference of a variable to another one of its container.
type expansion struct {
	referral
	path fieldpath.Path // of the variable
	from string
}

// referral is the other variable of a list that a variable refers to.
type referral struct {
	to      string
	expands bool // the other one comes earlier
}

// expansionsIn returns the references in the Pods of a template.
func expansionsIn(template *trainer.JobSetTemplateSpec) []expansion {
	var found []expansion
	for c := range patched.Containers(template.Spec.ReplicatedJobs) {
		for i, r := range references(c.Env) {
			from := c.Env[i].Name
			path := c.Path().Append(fieldpath.Field("env"), fieldpath.Item("name", from))
			found = append(found, expansion{r, path, from})
		}
	}
	return found
}

// LateReferences yields the variables that refer to another one of their list which is defined
// after them, so that Kubernetes does not expand the reference. It yields the position of the
// variable and the name that it refers to.
func LateReferences(env []corev1.EnvVar) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i, r := range references(env) {
			if !r.expands && !yield(i, r.to) {
				return
			}
		}
	}
}

// variablesAt returns the first and the last place of each variable in a list.
func variablesAt(env []corev1.EnvVar) map[string][2]int {
	at := make(map[string][2]int, len(env))
	for i := range env {
		first, ok := at[env[i].Name]
		if !ok {
			first[0] = i
		}
		at[env[i].Name] = [2]int{first[0], i}
	}
	return at
}

// references yields the references within a list, each with the position of its variable.
func references(env []corev1.EnvVar) iter.Seq2[int, referral] {
	return func(yield func(int, referral) bool) {
		var at map[string][2]int
		for i := range env {
			if !strings.Contains(env[i].Value, "$(") {
				continue
			}
			if at == nil {
				at = variablesAt(env)
			}
			for _, match := range reference.FindAllStringSubmatch(env[i].Value, -1) {
				places, isKnown := at[match[3]]
				isEarlier := places[0] < i
				if isKnown && (isEarlier || places[1] > i) &&
					!yield(i, referral{match[3], isEarlier}) {
					return
				}
			}
		}
	}
}
