package objectmerge

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// lateVariable is a variable of a container that refers to one defined after it.
type lateVariable struct {
	path     fieldpath.Path // of the list
	from, to string
}

func (v lateVariable) key() string { return v.path.String() + " " + v.from + " " + v.to }

// LateVariables warns of each variable that refers to one which the merge puts after it.
func (m *Object) LateVariables(merged *Result) (found finding.List) {
	late := lateVariables(merged.Type, merged.Fields, nil)
	if late == nil {
		return nil
	}
	before := map[string]bool{}
	if base, err := m.base.Fields(); err == nil {
		for _, v := range lateVariables(merged.Type, base, nil) {
			before[v.key()] = true
		}
	}
	for _, v := range late {
		if before[v.key()] {
			continue
		}
		f := finding.Finding{
			Code: codes.EnvOrder, Severity: finding.Warning, Object: m.ID,
			Path: v.path.Append(fieldpath.Item("name", v.from)),
			Message: fmt.Sprintf(
				"%s refers to $(%s), which the merge puts after it, so that it is not expanded",
				v.from, v.to),
			Remedy: finding.Remedy{
				Text: fmt.Sprintf("name %s before %s in one patch",
					v.to, v.from)},
		}
		for i := len(m.patches) - 1; i >= 0 && f.Position == (fieldpath.Position{}); i-- {
			for _, name := range []string{v.from, v.to} {
				path := v.path.Append(fieldpath.Item("name", name))
				if p := &m.patches[i]; p.json == nil && p.document.Has(path) {
					f.Position = p.document.Position(path)
					break
				}
			}
		}
		found = append(found, f)
	}
	return found
}

// lateVariables returns the late variables of all containers in a value.
func lateVariables(t *schema.Type, value any, path fieldpath.Path) (found []lateVariable) {
	fields, _ := value.(merge.Object)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		at, of := path.Append(t.Step(name)), t.Inner(name)
		list, ok := fields[name].([]any)
		if !ok {
			found = append(found, lateVariables(of, fields[name], at)...)
			continue
		}
		for i, item := range list {
			item, _ := item.(merge.Object)
			step, named := of.Item(item)
			if !named {
				if step = fieldpath.Index(i); item["name"] != nil {
					step = fieldpath.Item("name", fmt.Sprint(item["name"]))
				}
			}
			var within *schema.Type
			if of != nil {
				within = of.Elem
			}
			found = append(found, lateVariables(within, item, at.Append(step))...)
			if name == "containers" || name == "initContainers" {
				env := variables(item["env"])
				for late, to := range runtimepatch.LateReferences(env) {
					found = append(
						found, lateVariable{at.Append(step, fieldpath.Field("env")),
							env[late].Name, to})
				}
			}
		}
	}
	return found
}

// variables returns the names and the values of a list of variables.
func variables(list any) (env []corev1.EnvVar) {
	items, _ := list.([]any)
	for _, item := range items {
		fields, _ := item.(merge.Object)
		name, _ := fields["name"].(string)
		value, _ := fields["value"].(string)
		env = append(env, corev1.EnvVar{Name: name, Value: value})
	}
	return env
}
