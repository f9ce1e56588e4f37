package check

import (
	"fmt"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/internal/items"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

type objectChecker struct {
	object   fieldpath.Object
	findings finding.List
	steps    []step // memory for the walks

	trees   *runtimepatch.Trees
	patches []trainer.RuntimePatch
	named   map[string]int // the number of each manager's patches
	jobs    map[string]int // the places of the template's jobs
	// jobNames are the names of the jobs, once a patch names another one.
	jobNames *choice
	trainer  string         // the job that alone gets spec.trainer, or ""
	patched  map[string]int // the jobs of the current patch, once it has an unknown one
	current  int            // the patch that the path and the layer of a finding name
}

// report adds an error. Its caller may change it, to a warning for example.
func (c *objectChecker) report(code finding.Code, path fieldpath.Path, help, message string,
	args ...any) *finding.Finding {
	c.findings = append(c.findings, finding.Finding{
		Code: code, Severity: finding.Error, Object: c.object, Path: path,
		Message: fmt.Sprintf(message, args...), Remedy: finding.Remedy{Text: help},
	})
	return &c.findings[len(c.findings)-1]
}

// inTemplate returns the path from a runtime to the spec of its template.
func inTemplate() fieldpath.Path { return fieldpath.Fields("spec", "template", "spec") }

// duplicateClaims returns one presence claim for each of two duplicates of a layer.
func duplicateClaims(layer merge.Owner, first, second fieldpath.Path) []merge.Claim {
	return []merge.Claim{{Owner: layer, Value: merge.Presence{}, At: first},
		{Owner: layer, Value: merge.Presence{}, At: second}}
}

// at returns the path to a field of the current patch. It uses the manager's name, or the position
// if the name is empty or duplicate.
func (c *objectChecker) at(names ...string) fieldpath.Path {
	manager := c.patches[c.current].Manager
	path := runtimepatch.PatchPath(manager)
	if manager == "" || c.named[manager] > 1 {
		path[2] = fieldpath.Index(c.current)
	}
	return path.Append(fieldpath.Fields(names...)...)
}

// layer returns the layer of the current patch.
func (c *objectChecker) layer() merge.Owner { return merge.Manager(c.patches[c.current].Manager) }

// choice are the names of which a patch must use one.
type choice struct {
	list  []string
	names nearest.Names
}

func newChoice(n int, name func(i int) string) *choice {
	list := make([]string, n)
	for i := range list {
		list[i] = name(i)
	}
	return &choice{list, nearest.NewNames(list)}
}

// mostNamed is the number of names that a help text lists.
const mostNamed = 10

// among lists names for a help text, after the name that was probably meant.
func (c *choice) among(name string) string {
	if len(c.list) == 0 {
		return "; it has none"
	}
	around, named := c.names.Around(name), c.list
	if len(named) > mostNamed {
		named = around[:mostNamed]
	}
	list := joinFirst(named, len(c.list))
	if near := nearest.To(name, around); near != "" {
		return fmt.Sprintf(": did you mean %q? It has %s", near, list)
	}
	return ": it has " + list
}

// joinFirst lists the names of the first of n items.
func joinFirst(names []string, n int) string {
	list := strings.Join(names, ", ")
	if n > len(names) {
		list += fmt.Sprintf(" and %d more", n-len(names))
	}
	return list
}

// rename makes a remedy the renaming of an item to the near name. The repair is certain if the name
// is clear, and the patch has no item of it.
func (c *choice) rename(r *finding.Remedy, name string, patched map[string]int) {
	around := c.names.Around(name)
	near := nearest.To(name, around)
	if near == "" {
		return
	}
	r.Do, r.Options = finding.Rename, []string{near}
	_, isPatched := patched[near]
	r.IsCertain = !isPatched && !c.names.IsLong() && nearest.IsClear(name, near, around)
}

// walker goes through the JSON of a patch and of the runtime's template at once, along the compiled
// plan. Both have the same steps, since the items of a list are found by their merge keys.
type walker struct {
	*objectChecker
	alone bool // there is no patch
}

// step is a step of the walk. A path is put together only when there is something to report.
type step struct {
	field *schema.StructField // nil for an item
	list  *schema.Type        // of an item
	key   string
	index int // of an item that its key does not tell from the others, -1 otherwise
}

// operand is one of the two structs. It is absent if its object is nil.
type operand struct {
	object  merge.Object
	inPatch bool
	depth   int // of the struct, in steps
}

// has reports whether the struct has the field with a value other than null.
func (s operand) has(f *schema.StructField) bool { return s.object[f.Name] != nil }

// within returns the object in nested fields of an object, or nil.
func within(object merge.Object, names ...string) merge.Object {
	for _, name := range names {
		object, _ = object[name].(merge.Object)
	}
	return object
}

// at returns a struct in a field of the struct.
func (s operand) at(field string) merge.Object { return within(s.object, field) }

// items returns a list in a field of the struct.
func (s operand) items(f part) items.List { return items.Of(f.Type, s.object[f.Name]) }

// path returns the path to a side, and some steps on. Only the patch, or a template alone, shows
// items by position.
func (w *walker) path(s operand, steps ...fieldpath.Step) fieldpath.Path {
	path := inTemplate()
	if s.inPatch {
		path = w.at("spec")
	}
	for _, c := range w.steps[:s.depth] {
		switch {
		case c.field != nil:
			path = append(path, fieldpath.Field(c.field.Name))
		case c.index >= 0 && (s.inPatch || w.alone):
			path = append(path, fieldpath.Index(c.index))
		default:
			path = append(path, fieldpath.Item(c.list.Key, c.key))
		}
	}
	return append(path, steps...)
}

func (w *walker) layerOf(s operand) merge.Owner {
	if s.inPatch {
		return w.layer()
	}
	return runtimepatch.RuntimeLayer
}

// pathAt returns a function that gives the patch's path to a depth, as long as the walk is within
// it.
func (w *walker) pathAt(depth int) func() fieldpath.Path {
	return func() fieldpath.Path { return w.path(operand{inPatch: true, depth: depth}) }
}

// claim returns the claim of a side on a field.
func (w *walker) claim(s operand, f *schema.StructField) merge.Claim {
	return merge.Claim{Owner: w.layerOf(s), Value: s.object[f.Name],
		At: w.path(s, fieldpath.Field(f.Name))}
}
