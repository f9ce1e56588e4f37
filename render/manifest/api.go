package manifest

import (
	"encoding/json"
	"reflect"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
)

// API is the API of one release of the Trainer, with its JobSet. Decoding by it reports the fields
// that the release lacks, as an API server does under strict field validation. Then it drops them,
// as any API server does. So a document with such a field has an Object.
//
// A nil API decodes as Decode does: by the latest release, with the fields of Trainer 2.1 that 2.2
// removed. The zero value is the API of the latest release alone. An API is safe for concurrent
// use.
type API struct {
	release     *release.Release
	definitions *release.Definitions // nil if no other API shares it

	mu     sync.Mutex
	shapes map[string]*shape
}

// NewAPI returns the API of a release. definitions reads its definitions. Other APIs may share it,
// and it may be nil.
func NewAPI(r *release.Release, definitions *release.Definitions) *API {
	return &API{release: r, definitions: definitions}
}

// Release returns the release, or nil for a nil API.
func (a *API) Release() *release.Release {
	if a == nil {
		return nil
	}
	return a.release.Or()
}

// having returns the releases that have a field of a kind.
func (a *API) having(kind string, names ...string) []release.Release {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known().Having(kind, names...)
}

func (a *API) known() *release.Definitions {
	if a.definitions == nil {
		a.definitions = &release.Definitions{}
	}
	return a.definitions
}

// shape is a kind as a release defines it.
type shape struct {
	// kind is the kind of the definition, and in the path from its root to the fields. It is empty
	// for an object.
	kind   string
	in     []string
	fields *release.Field
	// ignored are fields of the definition that no Go type has: no controller that runs on today's
	// Kubernetes reads them.
	ignored map[*release.Field]bool
	// beside are the types of fields that legacy.Earlier holds, or would.
	beside map[*release.Field]reflect.Type
	make   func() any
}

// pruning says which fields of a value prune removes.
type pruning int

const (
	nothing   pruning = iota // it only looks for them
	unstored                 // the fields that the API server drops
	undecoded                // and the fields that the Go type lacks
)

// shapeOf returns the shape of a kind, or nil for a kind that the releases do not define.
func (a *API) shapeOf(kind *readable) *shape {
	if a == nil || kind.group != trainerGroup && kind.group != jobsetGroup &&
		kind.kind != patchKind {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s, known := a.shapes[kind.kind]; known {
		return s
	}
	if a.shapes == nil {
		a.shapes = map[string]*shape{}
	}
	s := a.compile(kind)
	a.shapes[kind.kind] = s
	return s
}

func (a *API) compile(kind *readable) *shape {
	s := &shape{kind: kind.kind, make: kind.make, ignored: map[*release.Field]bool{},
		beside: map[*release.Field]reflect.Type{}}
	if kind.kind == patchKind {
		s.kind, s.in = trainer.TrainJobKind, []string{"spec", "runtimePatches"}
	}
	root, err := a.known().Fields(a.release, s.kind)
	if err != nil {
		return nil // a further kind of the same group
	}
	if s.fields = root.Find(s.in...); len(s.in) > 0 {
		if s.fields == nil {
			return nil // DecodePatches reports it
		}
		s.fields = s.fields.Items
		s.ignore(tree.Structs{}, reflect.TypeOf(s.make()), s.fields)
		return s
	}
	switch kind.make().(type) {
	case *trainer.TrainJob:
		if a.release.Or().Overrides != release.RuntimePatches {
			s.make = func() any { return new(legacy.TrainJob) }
		}
	case *trainer.TrainingRuntime, *trainer.ClusterTrainingRuntime, *jobset.JobSet:
	default:
		return nil // a further kind of this name
	}
	s.ignore(tree.Structs{}, reflect.TypeOf(s.make()), s.fields)
	return s
}

// ignore collects the fields below f that the type lacks.
func (s *shape) ignore(structs tree.Structs, t reflect.Type, f *release.Field) {
	t = tree.Concrete(t)
	switch {
	case f == nil || f.Open || tree.DecodesItself(t):
	case t.Kind() == reflect.Struct:
		for name, child := range f.Fields {
			field, ok := structs.Field(t, name)
			if of := legacy.TypeOf(t, name); of != nil && (!ok || child.IntOrString) {
				s.beside[child] = of
			} else if ok {
				s.ignore(structs, field.Type, child)
			} else {
				s.ignored[child] = true
			}
		}
	case t.Kind() == reflect.Slice:
		s.ignore(structs, t.Elem(), f.Items)
	case t.Kind() == reflect.Map:
		s.ignore(structs, t.Elem(), f.Values)
	}
}

// prune reports whether a JSON value has fields that the shape lacks, ignores, or holds beside its
// Go type. It removes some of them.
func (s *shape) prune(value any, f *release.Field, removes pruning) bool {
	if f == nil || f.Open {
		return false
	}
	pruned := false
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			below := f.Values
			if below == nil {
				below = f.Fields[name]
				isBeside := s.beside[below] != nil
				if below == nil || s.ignored[below] || isBeside {
					pruned = true
					if removes == undecoded || removes == unstored && !isBeside {
						delete(v, name)
					}
				}
			}
			pruned = s.prune(field, below, removes) || pruned
		}
	case []any:
		for _, item := range v {
			pruned = s.prune(item, f.Items, removes) || pruned
		}
	}
	return pruned
}

// pruned returns an object in JSON without these fields.
func (s *shape) pruned(j []byte) ([]byte, error) {
	value, err := untyped(j)
	if err != nil || !s.prune(value, s.fields, undecoded) {
		return j, err
	}
	return json.Marshal(value)
}
