package explain

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// resolved is a field with the types on its path.
type resolved struct {
	path fieldpath.Path
	typ  *schema.Type
	// in is the type around the last step.
	in *schema.Type
	// field is the last struct field on the path, and parent its struct.
	field  *schema.StructField
	parent *schema.Type
	// patchable means that a patch can reach the field.
	patchable bool
	// pruned means that the definitions lack the field.
	pruned bool
	// atomic is the outermost list or value around the field that merges as a whole, or nil.
	atomic fieldpath.Path
}

func resolve(root *schema.Type, path fieldpath.Path) (*resolved, error) {
	path, err := root.Resolve(path)
	if err != nil {
		return nil, err
	}
	r := &resolved{path: path, typ: root, patchable: true, atomic: root.Replaced(path)}
	for i, step := range path {
		r.in = r.typ
		name, _ := step.Field()
		f := r.typ.Field(name)
		if f == nil {
			r.typ = r.typ.Elem
			continue
		}
		r.field, r.parent, r.typ = f, r.typ, f.Type
		r.pruned = r.pruned || isPruned(path[:i], f)
		r.patchable = r.patchable && f.IsPatchable() && !r.pruned
	}
	return r, nil
}

// kept are the fields of a template's metadata in the definitions of TrainJob and of the runtimes.
// The API server prunes the others.
var kept = []string{"annotations", "finalizers", "labels", "name", "namespace"}

// isPruned reports whether the API server prunes the field of the struct at a path.
func isPruned(path fieldpath.Path, f *schema.StructField) bool {
	return len(path) > 0 && path[len(path)-1] == fieldpath.Field("metadata") &&
		!slices.Contains(kept, f.Name)
}
