package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// Edit is a change that somebody makes of an object that a controller or a user created.
type Edit struct {
	Kind    string
	Path    []string // of the field
	Value   any
	Manager string // the field manager of the request
	Cause   string // the cause that the program must name
}

// Edits are changes by hand and by programs, of all kinds of objects that can be changed while they run.
func Edits() (all []Edit) {
	for _, of := range []struct {
		kind  string
		path  []string
		value any
	}{
		{"TrainJob", []string{"metadata", "labels", "edited"}, "x"},
		{"TrainJob", []string{"metadata", "annotations", "edited"}, "x"},
		{"JobSet", []string{"metadata", "labels", "edited"}, "x"},
		{"JobSet", []string{"metadata", "annotations", "edited"}, "x"},
		{"JobSet", []string{"spec", "ttlSecondsAfterFinished"}, 86399},
		{"Job", []string{"metadata", "labels", "edited"}, "x"},
		{"Job", []string{"metadata", "annotations", "edited"}, "x"},
		{"Job", []string{"spec", "ttlSecondsAfterFinished"}, 86399},
		{"Job", []string{"spec", "activeDeadlineSeconds"}, 86399},
		{"Pod", []string{"metadata", "labels", "edited"}, "x"},
		{"Pod", []string{"metadata", "annotations", "edited"}, "x"},
		{"Pod", []string{"spec", "activeDeadlineSeconds"}, 86399},
	} {
		for _, by := range [][2]string{{"kubectl-edit", "edit/kubectl-edit"}, {"k9s", "edit/k9s"}, {"quota-controller", "writer/quota-controller"}} {
			all = append(all, Edit{of.kind, of.path, of.value, by[0], by[1]})
		}
	}
	return all
}

// isIn reports whether an object has the edited value.
func (e Edit) isIn(object Object) bool {
	last := len(e.Path) - 1
	for _, name := range e.Path[:last] {
		object, _ = object[name].(Object)
	}
	return fmt.Sprint(object[e.Path[last]]) == fmt.Sprint(e.Value)
}

// Touch creates the objects, waits until the controllers have come to rest, and makes the edit. It returns the objects of the
// cluster after the controllers have come to rest again. It returns nil if there is nothing to edit, or if the edit does not stay.
func (c *ControlPlane) Touch(ctx context.Context, objects []Object, edit Edit) ([]Object, error) {
	defer c.reserve(objects)()
	r, err := c.record()
	if err != nil {
		return nil, err
	}
	defer r.clean(objects)
	if err := r.play(ctx, objects); err != nil || r.out.Outcome != Accepted && r.out.Outcome != Suspended || r.out.Finished {
		return nil, err
	}
	var body any = edit.Value
	for i := range edit.Path {
		body = Object{edit.Path[len(edit.Path)-1-i]: body}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		items := r.out.Objects[k.plural]
		if k.kind != edit.Kind || len(items) == 0 {
			continue
		}
		answer, err := r.c.send("", http.MethodPatch, k.path(r.namespace)+"/"+text(items[0], "metadata", "name")+"?fieldManager="+edit.Manager, "application/merge-patch+json", data)
		if err != nil || answer.Status != http.StatusOK {
			return nil, err
		}
		if err := r.rest(ctx); err != nil {
			return nil, err
		}
		if err := r.read(); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(r.out.Objects[k.plural], edit.isIn) {
			return nil, nil // the object was deleted, or its controller has undone the edit
		}
		return r.live(nil)
	}
	return nil, nil
}
