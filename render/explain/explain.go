// Package explain answers how a field merges: what becomes of it when managers patch it, who may patch
// it, who writes over it afterwards, and when it can be changed.
//
//	rule, err := explain.Field("spec.replicatedJobs.template.spec.template.spec.nodeSelector")
//	if err != nil {
//		return err
//	}
//	fmt.Println(rule.Merge) // key by key: …
//
// The rules come from the compiled merge schema of package schema, so that they are those by which
// package merge merges. What the policies and the TrainJob's own sections write over, and what an existing
// JobSet lets be changed, are tables here; tests hold them against package render and package
// render/admission.
package explain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// Rule is what there is to know of one field of a JobSet.
type Rule struct {
	// Path is the field as it was asked for. An item or key that was not named is empty: Format writes it
	// as [name].
	Path fieldpath.Path
	// Kind is the merge rule in a word: "scalar", "struct", "map", "list-map by name", "set", "atomic".
	Kind string
	// Merge is the merge rule in a sentence.
	Merge string
	// Union says which fields exclude each other, where the field is one of them; else it is empty.
	Union string
	// Patchable says whether a manager may set the field in a patch, and Set who sets it and where.
	Patchable bool
	Set       string
	// Change says when the field can be changed.
	Change string
	// Writers are the layers that write the field, or part of it, after the patches, and so win.
	Writers []Writer
	// Fields are the names of the fields of a struct, or of the items of a list.
	Fields []Member
}

// Member is a field within another.
type Member struct {
	Name string
	// Kind is its merge rule in a word.
	Kind string
	// Patchable says whether a manager may set it, or something in it.
	Patchable bool
}

// Field explains the field of a JobSet that the text names. It reads paths as findings show them,
// and such as a person writes from memory: without the leading dot, without the items of lists, with
// [name], [name=node] or [name="node"], with the keys of maps behind a dot. A text that does not begin
// at the root names every field whose path ends so, if there is only one. The error says what was
// meant, or lists the fields that the text may name.
func Field(text string) (Rule, error) {
	path, err := parse(text)
	if err != nil {
		return Rule{}, err
	}
	if len(path) == 0 {
		return Rule{}, fmt.Errorf("name a field, such as %s", example)
	}
	root := merge.JobSetTemplate()
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

// bySuffix finds the one field whose path ends as the text does.
func bySuffix(text string, end fieldpath.Path) (Rule, error) {
	names := fieldsOf(end)
	var found []fieldpath.Path
	var last []string
	walk(merge.JobSetTemplate(), nil, func(path fieldpath.Path, _ *schema.Type) bool {
		fields := fieldsOf(path)
		last = append(last, fields[len(fields)-1])
		if len(fields) > len(names) && slices.Equal(fields[len(fields)-len(names):], names) {
			found = append(found, path)
		}
		return true
	})
	switch len(found) {
	case 0:
		if near := finding.Nearest(names[len(names)-1], last); near != "" {
			return Rule{}, fmt.Errorf("no field of a JobSet is called %s; did you mean %s?", text, near)
		}
		return Rule{}, fmt.Errorf("no field of a JobSet is called %s; name it from the root, such as %s", text, example)
	case 1:
		missing := fieldsOf(found[0])
		full := fieldpath.Fields(missing[:len(missing)-len(names)]...)
		r, err := resolve(merge.JobSetTemplate(), full.Append(end...))
		if err != nil {
			return Rule{}, fmt.Errorf("%s: %w", text, err)
		}
		return r.rule(), nil
	}
	slices.SortStableFunc(found, func(a, b fieldpath.Path) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(Format(a), Format(b)))
	})
	const most = 12
	lines := []error{fmt.Errorf("%d fields are called %s; name one of these", len(found), text)}
	for i, path := range found {
		if i == most {
			lines = append(lines, fmt.Errorf("  and %d more", len(found)-most))
			break
		}
		lines = append(lines, errors.New("  "+Format(path)))
	}
	return Rule{}, errors.Join(lines...)
}

// fieldsOf are the names of the fields on a path.
func fieldsOf(path fieldpath.Path) []string {
	var names []string
	for _, step := range path {
		if name, ok := step.Field(); ok {
			names = append(names, name)
		}
	}
	return names
}

// Paths returns every field of a JobSet that Field explains, sorted, in the form of Format without the
// leading dot: for completion. Fields within lists that merge as a whole are left out.
func Paths() []string {
	var paths []string
	walk(merge.JobSetTemplate(), nil, func(path fieldpath.Path, _ *schema.Type) bool {
		paths = append(paths, strings.TrimPrefix(Format(path), "."))
		return true
	})
	slices.Sort(paths)
	return paths
}

// walk visits every field below a type. Of lists and maps it visits any item: one with an empty name.
func walk(t *schema.Type, path fieldpath.Path, visit func(fieldpath.Path, *schema.Type) bool) bool {
	for t.Kind == schema.ListMap {
		path, t = path.Append(fieldpath.Item(t.Key, "")), t.Elem
	}
	for _, f := range t.Fields {
		at := path.Append(fieldpath.Field(f.Name))
		if !visit(at, f.Type) || !walk(f.Type, at, visit) {
			return false
		}
	}
	return true
}

// Format writes a path as Path.String does, and an item or key that is not named as [name], [key] or [].
func Format(path fieldpath.Path) string {
	var b strings.Builder
	for _, step := range path {
		key, value, isItem := step.Item()
		mapKey, isKey := step.Key()
		_, isIndex := step.Index()
		switch {
		case isItem && value == "":
			b.WriteString("[" + key + "]")
		case isKey && mapKey == "":
			b.WriteString("[key]")
		case isIndex:
			b.WriteString("[]")
		default:
			b.WriteString(step.String())
		}
	}
	return b.String()
}
