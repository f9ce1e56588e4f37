package merge_test

import (
	"errors"
	"reflect"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// A plan is a way to merge, for tests that try several.
type plan[T any] struct {
	merging func(base *T, patches []merge.Patch, options ...merge.Option) (*merge.Result[T], error)
	typ     *schema.Type
}

func (p plan[T]) Apply(base *T, patches []merge.Patch,
	options ...merge.Option) (*merge.Result[T], error) {
	return p.merging(base, patches, options...)
}

// Check returns the error of options.
func (p plan[T]) Check(o options) error {
	_, err := p.merging(nil, nil, o.list()...)
	return err
}

// Type returns how the values merge.
func (p plan[T]) Type() *schema.Type { return p.typ }

// planFor merges values of a struct by rules.
func planFor[T any](r schema.Rules) (plan[T], error) {
	rules := merge.Rules(r)
	empty, err := merge.Strategic[T](nil, nil, rules)
	if err != nil {
		return plan[T]{}, err
	}
	return plan[T]{
		func(base *T, patches []merge.Patch, options ...merge.Option) (*merge.Result[T], error) {
			return merge.Strategic(base, patches, append(options, rules)...)
		}, empty.History.Type()}, nil
}

// planForAny merges pointers to a struct.
func planForAny(t reflect.Type, r schema.Rules) (plan[any], error) {
	rules := merge.Rules(r)
	merging := func(base *any, patches []merge.Patch,
		options ...merge.Option) (*merge.Result[any], error) {
		if base == nil {
			empty := reflect.New(t).Interface()
			base = &empty
		}
		return merge.Strategic(base, patches, append(options, rules)...)
	}
	empty, err := merging(nil, nil)
	if err != nil {
		return plan[any]{}, err
	}
	return plan[any]{merging, empty.History.Type()}, nil
}

// planForType merges objects by a struct.
func planForType(t reflect.Type, r schema.Rules) (plan[merge.Object], error) {
	typ, err := schema.Compile(t, t, r)
	if err != nil {
		return plan[merge.Object]{}, err
	}
	rules := merge.Rules(r)
	return plan[merge.Object]{
		func(base *merge.Object, patches []merge.Patch,
			options ...merge.Option) (*merge.Result[merge.Object], error) {
			return merge.StrategicObject(typ, valueOf(base), patches, append(options, rules)...)
		}, typ}, nil
}

// planForObject merges objects of a definition.
func planForObject(t *schema.Type) plan[merge.Object] {
	return plan[merge.Object]{
		func(base *merge.Object, patches []merge.Patch,
			options ...merge.Option) (*merge.Result[merge.Object], error) {
			return merge.Apply(t, valueOf(base), patches, options...)
		}, t}
}

// planForJSON merges objects without a type.
func planForJSON() plan[merge.Object] {
	return plan[merge.Object]{
		func(base *merge.Object, patches []merge.Patch,
			options ...merge.Option) (*merge.Result[merge.Object], error) {
			return merge.StrategicObject(nil, valueOf(base), patches, options...)
		}, schema.Open()}
}

// operationsOf reads a JSON patch.
func operationsOf(text []byte) (merge.JSONPatch, error) {
	patch, err := merge.ReadPatch("m", text)
	operations, is := patch.Value.(merge.JSONPatch)
	if err == nil && !is {
		err = errors.New("an object")
	}
	return operations, err
}

// notePaths returns the paths of the notes of a kind.
func notePaths(notes []merge.Note, kind merge.NoteKind) (paths []fieldpath.Path) {
	for _, note := range notesOf(notes, kind) {
		paths = append(paths, note.Path)
	}
	return paths
}

// notesOf returns the notes of a kind.
func notesOf(notes []merge.Note, kind merge.NoteKind) (of []merge.Note) {
	for _, note := range notes {
		if note.Kind == kind {
			of = append(of, note)
		}
	}
	return of
}

// options are the options of a merge as data.
type options struct {
	Managed                                    bool
	Order, Unions, Empty, Precedence, Defaults string
	Managers                                   []string
	Protected                                  []fieldpath.Path
	ProtectedError                             bool
}

func (o options) list() (all []merge.Option) {
	add := func(is bool, option merge.Option) {
		if is {
			all = append(all, option)
		}
	}
	add(o.Managed, merge.Live())
	add(o.Order == "base", merge.KeepOrder())
	add(o.Unions != "", merge.Unions(merge.UnionPolicy(o.Unions)))
	add(o.Empty == "skip", merge.SkipEmpty())
	add(o.Empty == "zero", merge.SkipZero())
	add(o.Precedence == "first", merge.First())
	add(o.Precedence == "base", merge.BaseWins())
	add(o.Defaults != "", merge.Defaults())
	add(len(o.Managers) > 0, merge.Prefer(o.Managers...))
	add(len(o.Protected) > 0, merge.Protect(o.Protected...))
	add(o.ProtectedError, merge.ProtectError())
	return all
}

func valueOf(base *merge.Object) merge.Object {
	if base == nil {
		return nil
	}
	return *base
}
