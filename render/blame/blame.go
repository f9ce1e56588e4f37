// Package blame answers who set each line of what the cluster will create.
//
//	out, err := render.JobSet(input, render.Options{Owners: true, OnConflict: render.Last})
//	if out.JobSet == nil {
//		return err
//	}
//	object, err := blame.New(out.JobSet, merge.JobSetTemplate(), out.Owners.All(), blame.Options{})
//	if err != nil {
//		return err
//	}
//	for _, line := range object.Lines() {
//		fmt.Printf("%-20s %s\n", line.Layer, line.Text)
//	}
//
// An [Object] is the encoded object, line by line, each line with the layer that set it and with the
// history of its field; and the same as a tree of fields, for those who ask about one of them
// ([Object.Find]). Lines belong to fields and not to positions: an item that a patch moved to the
// front of its list carries its own history along.
//
// Literal values of environment variables are masked in the lines, unless Options.ShowValues is set: what
// such an Object writes is a report and no manifest.
package blame

import (
	"iter"
	"slices"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// Options says how an object is shown. The zero value masks values and knows no places.
type Options struct {
	// ShowValues shows the literal values of environment variables.
	ShowValues bool
	// Locate tells where a claim stands in a file: the Position of every claim. Nil leaves them empty.
	Locate func(engine.Claim) fieldpath.Position
	// Disputed are fields on which managers are in conflict in a way that their claims alone do not
	// show, such as a volume to which two managers give two sources.
	Disputed []fieldpath.Path
}

// Object is one object of which every field tells who set it.
type Object struct {
	root  *Field
	typ   *schema.Type
	lines []Line
}

// Field is a field of an object with everything within it.
type Field struct {
	// Path is where it stands in the object.
	Path fieldpath.Path
	// Claims are who claimed the field itself, in the order in which they wrote; nil where only fields
	// within it are claimed. The last one is in force. Where its value is nil the field is not in the
	// object any more.
	Claims []engine.Claim
	// Disputed says that managers claim the field with different values.
	Disputed bool
	// Children are the fields directly within it, in the order of the object.
	Children []*Field

	step  fieldpath.Step
	index map[fieldpath.Step]*Field // of Children, where they are many
}

// New blames an object. history yields its fields with their claims: merge.Ownership.All for a JobSet,
// render.ChildOwners.Job and Pod for what is made of one; t is the merge schema of the object's
// metadata and spec, and JobType and PodType are those of Jobs and Pods. It reads the object and keeps
// the claims; the error says why the object cannot be encoded.
func New(object any, t *schema.Type, history iter.Seq2[fieldpath.Path, []engine.Claim], opts Options) (*Object, error) {
	o := &Object{root: &Field{}, typ: t}
	if history == nil {
		history = func(func(fieldpath.Path, []engine.Claim) bool) {}
	}
	for path, claims := range history {
		if opts.Locate != nil {
			claims = slices.Clone(claims)
			for i := range claims {
				claims[i].Position = opts.Locate(claims[i])
			}
		}
		claims = withoutRepeated(claims)
		f := o.root.within(path)
		f.Claims, f.Disputed = claims, contested(claims)
	}
	for _, path := range opts.Disputed {
		o.root.within(path).Disputed = true
	}
	return o, o.write(object, opts)
}

// withoutRepeated drops claims on a presence that a layer makes again from the same field.
func withoutRepeated(claims []engine.Claim) []engine.Claim {
	repeats := func(a, b engine.Claim) bool {
		return a.Layer == b.Layer && a.Value == any(engine.Presence{}) && b.Value == a.Value && slices.Equal(a.Source, b.Source)
	}
	for i := 1; i < len(claims); i++ {
		if repeats(claims[i-1], claims[i]) {
			return slices.CompactFunc(slices.Clone(claims), repeats)
		}
	}
	return claims
}

// JobType and PodType are the merge schemas of Jobs and Pods, as far as a JobSet holds them.
func JobType() *schema.Type { return merge.JobSetTemplate().Lookup(jobTemplate) }

// PodType is the merge schema of Pods.
func PodType() *schema.Type { return JobType().Lookup(fieldpath.Fields("spec", "template")) }

var jobTemplate = fieldpath.Path{fieldpath.Field("spec"), fieldpath.Field("replicatedJobs"), fieldpath.Item("name", ""), fieldpath.Field("template")}

// within returns the field at a path within f, made where it is missing.
func (f *Field) within(path fieldpath.Path) *Field {
	for i := range path {
		child := f.child(path[i])
		if child == nil {
			child = &Field{Path: path[: i+1 : i+1], step: path[i]}
			f.add(child)
		}
		f = child
	}
	return f
}

// at returns the field at a path within f, nil where there is none.
func (f *Field) at(path fieldpath.Path) *Field {
	for i := 0; i < len(path) && f != nil; i++ {
		f = f.child(path[i])
	}
	return f
}

// fewest is the number of children from which an index of them pays.
const fewest = 8

func (f *Field) add(child *Field) {
	f.Children = append(f.Children, child)
	switch {
	case f.index != nil:
		f.index[child.step] = child
	case len(f.Children) == fewest:
		f.index = make(map[fieldpath.Step]*Field, 2*fewest)
		for _, c := range f.Children {
			f.index[c.step] = c
		}
	}
}

// child returns the child at the step, nil if there is none.
func (f *Field) child(step fieldpath.Step) *Field {
	if f.index != nil {
		return f.index[step]
	}
	for _, child := range f.Children {
		if child.step == step {
			return child
		}
	}
	return nil
}

// contested reports whether two managers claim different values.
func contested(claims []engine.Claim) bool {
	var first *engine.Claim
	for i := range claims {
		if _, ok := claims[i].Layer.Manager(); !ok {
			continue
		}
		if first == nil {
			first = &claims[i]
		} else if first.Layer != claims[i].Layer && !engine.SameValue(first.Value, claims[i].Value) {
			return true
		}
	}
	return false
}

// IsPresence reports whether the claims are on the presence of an item or an empty struct, and not on a
// value.
func (f *Field) IsPresence() bool {
	if f == nil {
		return false
	}
	return slices.ContainsFunc(f.Claims, func(c engine.Claim) bool { return c.Value == any(engine.Presence{}) })
}

// InForce is the number of the claim that says who set the field: of a value the last one, since it
// would win over all others; of the presence of an item the first, which brought the item, since the
// others only name it. It is -1 where the field itself is not claimed.
func (f *Field) InForce() int {
	if f == nil {
		return -1
	}
	last := len(f.Claims) - 1
	if last < 0 || f.Claims[last].Value == nil || !f.IsPresence() {
		return last
	}
	for last > 0 && f.Claims[last-1].Value != nil {
		last--
	}
	return last
}

// Agree counts the other layers that claim the field with the value in force.
func (f *Field) Agree() int {
	at := f.InForce()
	if at < 0 {
		return 0
	}
	var agree []engine.Layer
	for i := len(f.Claims) - 1; i >= 0 && engine.SameValue(f.Claims[i].Value, f.Claims[at].Value); i-- {
		if layer := f.Claims[i].Layer; layer != f.Claims[at].Layer && !slices.Contains(agree, layer) {
			agree = append(agree, layer)
		}
	}
	return len(agree)
}

// Overrides reports whether the value in force replaced another one.
func (f *Field) Overrides() bool {
	at := f.InForce()
	if at < 0 {
		return false
	}
	return slices.ContainsFunc(f.Claims, func(c engine.Claim) bool { return !engine.SameValue(c.Value, f.Claims[at].Value) })
}

// All yields the field and every field within it that is claimed, in the order of the object.
func (f *Field) All() iter.Seq[*Field] {
	return func(yield func(*Field) bool) { f.all(yield) }
}

func (f *Field) all(yield func(*Field) bool) bool {
	if f == nil {
		return true
	}
	if f.Claims != nil && !yield(f) {
		return false
	}
	for _, child := range f.Children {
		if !child.all(yield) {
			return false
		}
	}
	return true
}

// Fields yields every claimed field of the object.
func (o *Object) Fields() iter.Seq[*Field] { return o.top().All() }

// top is the field that holds all others; an object that New did not make has none of them.
func (o *Object) top() *Field {
	if o == nil || o.root == nil {
		return &Field{}
	}
	return o.root
}

// Lines returns the object as YAML, line by line. They are shared and to be read only.
func (o *Object) Lines() []Line {
	if o == nil {
		return nil
	}
	return o.lines
}
