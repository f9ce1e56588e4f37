// Package explain describes how a field of a JobSet merges. It names the rule for patches, the
// managers that may patch the field, and the layers that override it. It also names the times when
// the field may change.
//
//	rule, err := explain.Field("spec.replicatedJobs.template.spec.template.spec.nodeSelector")
//	if err != nil {
//		return err
//	}
//	fmt.Println(rule.Merge) // key by key: …
//
// The rules come from the compiled merge schema of package schema, as in package merge. This
// package has tables for the writes of the policies and the TrainJob's own sections. Another table
// has the mutable fields of an existing JobSet. Tests compare the tables with package render and
// package render/admission.
//
// Its first file to read is explain.go.
package explain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// Rule is the description of one field of a JobSet.
type Rule struct {
	// Path is the requested field, with [*] for any item.
	Path fieldpath.Path
	// Kind is the merge rule in a word: "scalar", "struct", "map", "list-map by name", "set",
	// "atomic".
	Kind string
	// Merge is the merge rule in a sentence.
	Merge string
	// Union describes the union that the field belongs to. It is empty without one.
	Union string
	// Patchable means that a manager may set the field in a patch. Set describes how to set it.
	Patchable bool
	Set       string
	// Fields are the fields of a struct, or of the items of a list.
	Fields []Member
}

// Member is a field within another.
type Member struct {
	Name string
	// Kind is its merge rule in a word.
	Kind string
	// Patchable means that a manager may set it, or a field within it.
	Patchable bool
}

// Field explains the field of a JobSet at a path, in any form that schema.Type.Resolve reads. A
// path that does not start at the root names the only field whose path ends with it.
//
// The error suggests a field, or lists the fields that the path may name.
func Field(text string) (Rule, error) {
	path, err := fieldpath.ParsePath(strings.TrimSpace(text))
	if err != nil {
		return Rule{}, err
	}
	if len(path) == 0 {
		return Rule{}, fmt.Errorf("name a field, such as %s", example)
	}
	root := runtimepatch.JobSetTemplate()
	if name, ok := path[0].Field(); ok && root.Field(name) == nil {
		return bySuffix(text, path)
	}
	r, err := resolve(root, path)
	if err != nil {
		return Rule{}, fmt.Errorf("%s: %w", text, err)
	}
	return r.rule(), nil
}

const example = "spec.replicatedJobs.template.spec.template.spec.nodeSelector"

// bySuffix finds the only field whose path ends with the given one.
func bySuffix(text string, end fieldpath.Path) (Rule, error) {
	names := fieldsOf(end)
	var found []fieldpath.Path
	var last []string
	walk(runtimepatch.JobSetTemplate(), nil, func(path fieldpath.Path, _ *schema.Type) bool {
		fields := fieldsOf(path)
		last = append(last, fields[len(fields)-1])
		if len(fields) > len(names) && slices.Equal(fields[len(fields)-len(names):], names) {
			found = append(found, path)
		}
		return true
	})
	switch len(found) {
	case 0:
		if near := nearest.To(names[len(names)-1], last); near != "" {
			return Rule{},
				fmt.Errorf("no field of a JobSet is called %s; did you mean %s?", text, near)
		}
		return Rule{},
			fmt.Errorf("no field of a JobSet is called %s; name it from the root, such as %s", text,
				example)
	case 1:
		missing := fieldsOf(found[0])
		full := fieldpath.Fields(missing[:len(missing)-len(names)]...)
		r, err := resolve(runtimepatch.JobSetTemplate(), full.Append(end...))
		if err != nil {
			return Rule{}, fmt.Errorf("%s: %w", text, err)
		}
		return r.rule(), nil
	}
	slices.SortStableFunc(found, func(a, b fieldpath.Path) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a.String(), b.String()))
	})
	const most = 12
	lines := []error{fmt.Errorf("%d fields are called %s; name one of these", len(found), text)}
	for i, path := range found {
		if i == most {
			lines = append(lines, fmt.Errorf("  and %d more", len(found)-most))
			break
		}
		lines = append(lines, errors.New("  "+path.String()))
	}
	return Rule{}, errors.Join(lines...)
}

// fieldsOf returns the names of the fields on a path.
func fieldsOf(path fieldpath.Path) []string {
	var names []string
	for _, step := range path {
		if name, ok := step.Field(); ok {
			names = append(names, name)
		}
	}
	return names
}

// Paths returns every field of a JobSet that Field explains, sorted, for completion. The paths have
// no leading dot. Paths omits fields within lists that merge as a whole.
func Paths() []string {
	var paths []string
	walk(runtimepatch.JobSetTemplate(), nil, func(path fieldpath.Path, _ *schema.Type) bool {
		paths = append(paths, strings.TrimPrefix(path.String(), "."))
		return true
	})
	slices.Sort(paths)
	return paths
}

// walk visits every field below a type. In a list it visits any item.
func walk(t *schema.Type, path fieldpath.Path, visit func(fieldpath.Path, *schema.Type) bool) bool {
	for t.KeyField() != nil {
		path, t = path.Append(fieldpath.Any()), t.Elem
	}
	for _, f := range t.Fields {
		at := path.Append(fieldpath.Field(f.Name))
		if !visit(at, f.Type) || !walk(f.Type, at, visit) {
			return false
		}
	}
	return true
}
