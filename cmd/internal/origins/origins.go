// Package origins finds the place that set each value of the output of a kustomization.
//
// A kustomization is a list of operations in a fixed order. The package builds it with its first
// operation, with its first two, and so on. What differs between two builds is what the operation
// wrote. So no value is searched for. Bases are built alone, before what uses them. A component
// is built within what uses it. Within a file or a patch, the place is that of the value.
//
// What the package cannot tell apart belongs to the kustomization as a whole, which is a place
// without a line.
//
// Its first file to read is origins.go.
package origins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
)

// Source builds kustomizations, and reads their files. Names are without links.
type Source struct {
	// Build returns the objects of a directory as JSON. Files in the map stand for those of the
	// same names.
	Build func(dir string, instead map[string][]byte) ([][]byte, error)
	Read  func(file string) ([]byte, error)
	// Dir returns a directory without links, or false for another file.
	Dir func(name string) (string, bool)
}

// Trace tells the origin of each value of the objects of a build, in the order of its output.
type Trace struct {
	Dir        string `json:"-"` // the built directory, as its user writes it
	Operations []Operation
	Objects    []*Node
}

// Operation is an operation of a kustomization.
type Operation struct {
	Dir  string // of the kustomization, relative to the built directory
	Name string // its key in the kustomization, such as images[0]
	At   fieldpath.Position
	// Component tells whether the kustomization is a component.
	Component bool `json:",omitempty"`
}

// New traces the build of a directory, which must succeed. Kustomize keeps a schema that the build
// sets for the whole process, and it is that of all bases: build the directory first.
func New(s Source, dir string) (*Trace, error) {
	t := &tracer{Source: s, dir: dir, layers: map[string]*layer{}, bases: map[string][]*object{}}
	objects, err := t.trace(dir)
	if err != nil {
		return nil, err
	}
	out := &Trace{Operations: t.operationsDone}
	for _, o := range objects {
		out.Objects = append(out.Objects, o.root)
	}
	return out, nil
}

// tracer traces the kustomizations of one build.
type tracer struct {
	Source
	dir            string
	layers         map[string]*layer
	bases          map[string][]*object
	operationsDone []Operation
}

// object is an object after some operations.
type object struct {
	text []byte // as JSON; nil before the build that adds it
	root *Node  // likewise
	// writes are the values of an object of a file.
	writes func(o *object, after any) map[string]write
	id     string // in a file
	made   string // the name that its generator gives it
}

// trace returns the objects of a directory after all its operations.
func (t *tracer) trace(dir string) ([]*object, error) {
	if done, ok := t.bases[dir]; ok {
		return done, nil
	}
	l, err := t.layer(dir)
	if err != nil {
		return nil, err
	}
	r := &run{tracer: t, top: dir, instead: map[string][]byte{}}
	if err := r.layer(l); err != nil {
		return nil, err
	}
	t.bases[dir] = r.objects
	return r.objects, nil
}

// run does the operations of one directory and of its components.
type run struct {
	*tracer
	top     string
	instead map[string][]byte // the kustomizations with the operations done so far
	objects []*object
	// failed are the operations after which no build succeeded. The next one stands for all.
	failed []*operation
	parts  []string // the components that are being done
}

// layer does the operations of a kustomization, one after the other. What it does besides is one
// operation more.
func (r *run) layer(l *layer) error {
	part := l.bare()
	if l.dir == r.tracer.dir {
		part.OpenAPI = l.OpenAPI // of others, only what they set in the build of that one counts
	}
	for _, op := range r.operations(l) {
		op.include(part)
		var err error
		if r.instead[l.file], err = yaml.Marshal(part); err != nil {
			return err
		}
		if inner := r.componentOf(op); inner != nil {
			err = r.layer(inner)
		} else {
			err = r.step(l, op)
		}
		if err != nil {
			return err
		}
	}
	delete(r.instead, l.file)
	rest := l.rest(part)
	op := &operation{name: strings.Join(rest, " "), at: fieldpath.Position{File: l.file}}
	switch {
	case l.dir == r.tracer.dir:
		if slices.Equal(rest, []string{"buildMetadata"}) {
			op.at = l.source.at(keyOf(l.root, "buildMetadata"))
		}
		return r.finish(l, op)
	case slices.Equal(rest, []string{"buildMetadata"}) && len(r.failed) == 0:
		return nil // kustomize takes only that of the built directory
	case len(rest) > 0 || len(r.failed) > 0:
		return r.step(l, op)
	}
	return nil
}

// componentOf returns the component that an operation stands for. It returns nil for one that the
// directory uses twice: then it is one operation.
func (r *run) componentOf(op *operation) *layer {
	dir, ok := r.Dir(op.component)
	if op.component == "" || !ok || slices.Contains(r.parts, dir) {
		return nil
	}
	inner, err := r.tracer.layer(dir)
	if err != nil || r.uses(r.top, dir) > 1 {
		return nil
	}
	return inner
}

// uses counts how often a directory is part of the build of another one.
func (t *tracer) uses(top, dir string) int {
	if top == dir {
		return 1
	}
	l, err := t.layer(top)
	if err != nil {
		return 0
	}
	n := 0
	for _, name := range slices.Concat(l.Resources, l.Components) {
		if inner, ok := t.Dir(filepath.Join(l.dir, name)); ok {
			n += t.uses(inner, dir)
		}
	}
	return n
}

// step builds the directory with one operation more, and records what differs.
func (r *run) step(l *layer, op *operation) error {
	before := slices.Clone(r.objects)
	for _, name := range op.adds {
		added, err := r.added(l, name)
		if err != nil {
			return err
		}
		before = append(before, added...)
	}
	if l.dir == r.top && op.adds != nil && l.isOneBase(r) {
		r.operationsDone = append(r.operationsDone, r.describe(l, op))
		r.objects = before
		return nil
	}
	made, err := r.Build(r.top, r.instead)
	if err != nil {
		r.objects = before
		r.failed = append(r.failed, op)
		return nil // an operation after it may be what it needs
	}
	r.operationsDone = append(r.operationsDone, r.describe(l, op))
	failed := len(r.failed) > 0
	if failed {
		op = &operation{at: fieldpath.Position{File: l.file}}
		r.failed = nil
	}
	r.objects, err = r.record(op, before, made)
	return err
}

// describe returns an operation as the trace has it.
func (r *run) describe(l *layer, op *operation) Operation {
	if len(r.failed) > 0 {
		return Operation{Dir: r.relative(l.dir), At: fieldpath.Position{File: r.relative(l.file)}}
	}
	at := op.at
	at.File = r.relative(at.File)
	return Operation{Dir: r.relative(l.dir), Name: op.name, At: at,
		Component: l.Kind == types.ComponentKind}
}

// relative returns a path relative to the built directory.
func (t *tracer) relative(name string) string {
	if rel, err := filepath.Rel(t.dir, name); err == nil {
		return filepath.ToSlash(rel)
	}
	return name
}

// added returns the objects of a file or of a directory that a kustomization adds. Those of a file
// are not yet traced.
func (r *run) added(l *layer, name string) ([]*object, error) {
	path := filepath.Join(l.dir, name)
	if dir, ok := r.Dir(path); ok {
		return r.trace(dir)
	}
	data, err := r.Read(path)
	if err != nil {
		return nil, err
	}
	return fileObjects(newSource(path, data, nil)), nil
}

// record returns the objects after an operation.
func (r *run) record(op *operation, before []*object, made [][]byte) ([]*object, error) {
	after := make([]any, len(made))
	for i := range made {
		if i < len(before) && bytes.Equal(before[i].text, made[i]) {
			after[i] = before[i].root.value
		} else if err := json.Unmarshal(made[i], &after[i]); err != nil {
			return nil, err
		}
	}
	old := pairObjects(before, after)
	objects := make([]*object, len(made))
	for i := range made {
		o := &object{text: made[i]}
		w := writer{operation: len(r.operationsDone) - 1, at: op.at}
		if b := old[i]; b != nil {
			o.root, o.id, o.made = b.root, b.id, b.made
			if b.root == nil && b.writes != nil {
				w.writes = b.writes(b, after[i])
			}
		} else {
			o.made = op.makes
		}
		if w.writes == nil && op.writes != nil {
			w.writes = op.writes(o, after[i])
		}
		if o.root == nil || len(w.writes) > 0 || !bytes.Equal(old[i].text, made[i]) {
			r.place(&w)
			o.root = w.update(o.root, "", after[i])
		}
		objects[i] = o
	}
	return objects, nil
}

// place makes the positions of a writer relative to the built directory.
func (r *run) place(w *writer) {
	w.at.File = r.relative(w.at.File)
	for path, at := range w.writes {
		at.at.File = r.relative(at.at.File)
		w.writes[path] = at
	}
}

// pairObjects returns for each object its state before the operation, or nil for a new one. No
// operation changes the order.
func pairObjects(before []*object, after []any) []*object {
	old := make([]*object, len(after))
	if len(before) == len(after) {
		copy(old, before)
		return old
	}
	next := 0
	for i := range after {
		id := idOf(after[i])
		for j := next; j < len(before); j++ {
			if before[j].current() == id {
				old[i], next = before[j], j+1
				break
			}
		}
	}
	return old
}

// current returns what identifies an object.
func (o *object) current() string {
	if o.root == nil {
		return o.id
	}
	return idOf(o.root.value)
}

// idOf returns what identifies an object in a build.
func idOf(value any) string {
	fields, _ := value.(map[string]any)
	metadata, _ := fields["metadata"].(map[string]any)
	return fmt.Sprintf("%q", []any{fields["apiVersion"], fields["kind"], metadata["namespace"],
		metadata["name"]})
}

// finish builds the kustomization as it is: with the order of the output, and what it adds to
// objects at the end.
func (r *run) finish(l *layer, op *operation) error {
	if op.name == "" && l.SortOptions == nil && r.failed == nil {
		return nil // the last build was the whole one
	}
	made, err := r.Build(r.top, nil)
	if err != nil {
		return err
	}
	r.failed = nil
	r.operationsDone = append(r.operationsDone, r.describe(l, op))
	ids := map[string]*object{}
	for _, o := range r.objects {
		ids[o.current()] = o
	}
	sorted := make([]*object, len(made))
	for i := range made {
		var value any
		if err := json.Unmarshal(made[i], &value); err != nil {
			return err
		}
		if sorted[i] = ids[idOf(value)]; sorted[i] == nil {
			sorted[i] = &object{}
		}
	}
	r.objects, err = r.record(op, sorted, made)
	return err
}
