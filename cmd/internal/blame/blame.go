// Package blame attributes each line of a rendered object to the layer that set it.
//
//	out, err := render.JobSet(input, render.Options{OnConflict: render.Last})
//	if out.JobSet == nil {
//		return err
//	}
//	object, err := blame.New(out.JobSet, runtimepatch.JobSetTemplate(), out.History.All(), blame.Options{})
//	if err != nil {
//		return err
//	}
//	for _, line := range object.Lines() {
//		fmt.Printf("%-20s %s\n", line.Layer, line.Text)
//	}
//
// An [Object] is the encoded object, line by line. Each line has the layer that set it and the
// history of its field. The Object is also a tree of fields, which [Object.Find] searches. Lines
// belong to fields and not to positions. An item that a patch moved to the front of its list keeps
// its history.
//
// Literal values of environment variables are masked, unless Options.ShowValues is set. Such an
// Object is a report and not a manifest.
//
// Its first file to read is blame.go.
package blame

import (
	"iter"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// Options configures an Object. The zero value masks values and leaves positions empty.
type Options struct {
	// ShowValues shows the literal values of environment variables.
	ShowValues bool
	// Locate returns a claim with its position in a file, behind the claims on the same field of
	// the input that it replaced there. The layer may be another one, such as that of the patch
	// that made the runtime. Nil leaves positions empty.
	Locate func(merge.Claim) []merge.Claim
	// Plain means that the object has no schema: each item of a list is a field. The paths of the
	// history have the steps of FieldStep and ItemSteps.
	Plain bool
	// Disputed are fields with conflicts between managers that their claims alone do not show. An
	// example is a volume with two sources from two managers.
	Disputed []fieldpath.Path
}

// Object is an object with the layers that set its fields.
type Object struct {
	root  *Field
	typ   *schema.Type
	lines []Line
}

// Field is a field of an object, with all fields within it.
type Field struct {
	// Path is the path of the field in the object.
	Path fieldpath.Path
	// Claims are the claims on the field itself, in the order of the writes. They are nil if only
	// fields within it have claims. The last claim is in force. If its value is nil, the object no
	// longer has the field.
	Claims []merge.Claim
	// Disputed means that managers claim the field with different values.
	Disputed bool
	// Children are the fields directly within it, in the order of the object.
	Children []*Field

	step   fieldpath.Step
	byStep map[fieldpath.Step]*Field // the Children
}

// New returns the Object of an API object. The argument history yields the object's fields with
// their claims. It is merge.History.All for a JobSet, and render.ChildOwners.Job and Pod for its
// children. The argument t is the merge schema of the object's metadata and spec. For Jobs and
// Pods, it is JobType and PodType. New keeps the claims. It returns an error if the object has no
// encoding.
func New(object any, t *schema.Type, history iter.Seq2[fieldpath.Path, []merge.Claim],
	opts Options) (*Object, error) {
	o := &Object{root: &Field{}, typ: t}
	for path, claims := range history {
		if opts.Locate != nil {
			var located []merge.Claim
			for _, c := range claims {
				located = append(located, opts.Locate(c)...)
			}
			claims = located
		}
		claims = withoutRepeated(claims)
		f := o.root.getOrCreate(path)
		f.Claims, f.Disputed = claims, contested(claims)
	}
	for _, path := range opts.Disputed {
		o.root.getOrCreate(path).Disputed = true
	}
	return o, o.write(object, opts)
}

// withoutRepeated removes a presence claim if the previous claim has the same layer and source.
func withoutRepeated(claims []merge.Claim) []merge.Claim {
	repeats := func(a, b merge.Claim) bool {
		return a.Owner == b.Owner && a.Value == any(merge.Presence{}) && b.Value == a.Value &&
			slices.Equal(a.At, b.At)
	}
	for i := 1; i < len(claims); i++ {
		if repeats(claims[i-1], claims[i]) {
			return slices.CompactFunc(slices.Clone(claims), repeats)
		}
	}
	return claims
}

// JobType returns the merge schema of Jobs, as far as a JobSet contains them.
func JobType() *schema.Type { return runtimepatch.JobSetTemplate().Lookup(jobTemplate) }

// PodType returns the merge schema of Pods.
func PodType() *schema.Type { return JobType().Lookup(fieldpath.Fields("spec", "template")) }

var jobTemplate = fieldpath.Path{fieldpath.Field("spec"), fieldpath.Field("replicatedJobs"),
	fieldpath.Item("name", ""), fieldpath.Field("template")}

// getOrCreate returns the field at a path within f, and creates a missing one.
func (f *Field) getOrCreate(path fieldpath.Path) *Field {
	for i := range path {
		child := f.byStep[path[i]]
		if child == nil {
			child = &Field{Path: path[: i+1 : i+1], step: path[i]}
			if f.Children = append(f.Children, child); f.byStep == nil {
				f.byStep = map[fieldpath.Step]*Field{}
			}
			f.byStep[child.step] = child
		}
		f = child
	}
	return f
}

// at returns the field at a path within f, or nil.
func (f *Field) at(path fieldpath.Path) *Field {
	for i := 0; i < len(path) && f != nil; i++ {
		f = f.byStep[path[i]]
	}
	return f
}

// contested reports whether two managers claim different values.
func contested(claims []merge.Claim) bool {
	var first *merge.Claim
	for i := range claims {
		if _, ok := claims[i].Owner.Manager(); !ok {
			continue
		}
		if first == nil {
			first = &claims[i]
		} else if first.Owner != claims[i].Owner && !merge.SameValue(first.Value, claims[i].Value) {
			return true
		}
	}
	return false
}

// IsPresence reports whether the claims concern the presence of an item or an empty struct, and not
// a value.
func (f *Field) IsPresence() bool {
	if f == nil {
		return false
	}
	return slices.ContainsFunc(f.Claims, isPresence)
}

func isPresence(c merge.Claim) bool { return c.Value == any(merge.Presence{}) }

// InForce returns the index of the claim that set the field, or -1 if the field itself has no
// claim. For a value it is the last claim, which wins over all others. For the presence of an item
// it is the first, which added the item: the others only name it.
func (f *Field) InForce() int {
	if f == nil {
		return -1
	}
	last := len(f.Claims) - 1
	for last > 0 && isPresence(f.Claims[last]) && isPresence(f.Claims[last-1]) {
		last--
	}
	return last
}

// Agree returns the number of other layers that claim the value in force.
func (f *Field) Agree() int {
	at := f.InForce()
	if at < 0 {
		return 0
	}
	var agree []merge.Owner
	for i := len(f.Claims) - 1; i >= 0 &&
		merge.SameValue(f.Claims[i].Value, f.Claims[at].Value); i-- {
		if layer := f.Claims[i].Owner; layer != f.Claims[at].Owner &&
			!slices.Contains(agree, layer) {
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
	return slices.ContainsFunc(f.Claims, func(c merge.Claim) bool {
		return !merge.SameValue(c.Value, f.Claims[at].Value)
	})
}

// All yields the field and every field within it that has claims, in the order of the object.
func (f *Field) All() iter.Seq[*Field] {
	return func(yield func(*Field) bool) {
		for field := range f.each() {
			if field.Claims != nil && !yield(field) {
				return
			}
		}
	}
}

// each yields the field and every field within it, in the order of the object.
func (f *Field) each() iter.Seq[*Field] {
	return func(yield func(*Field) bool) {
		if f == nil || !yield(f) {
			return
		}
		for _, child := range f.Children {
			for inner := range child.each() {
				if !yield(inner) {
					return
				}
			}
		}
	}
}

// Fields yields every field of the object that has claims.
func (o *Object) Fields() iter.Seq[*Field] { return o.root.All() }

// Lines returns the object as lines of YAML. Callers share them and must not change them.
func (o *Object) Lines() []Line { return o.lines }
