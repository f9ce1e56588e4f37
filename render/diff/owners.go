package diff

import (
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// Owners says who set the fields of one rendered object.
type Owners struct {
	fields []owned
	exact  map[string]int
	rest   []schema.Claim // on fields that nobody is known to have set
}

type owned struct {
	path  schema.Path
	claim schema.Claim // the one in force
}

// OwnersOf are the owners of a rendered JobSet; nil gives nobody. They keep the claims in force.
func OwnersOf(o *merge.Ownership) *Owners {
	owners := &Owners{}
	if o != nil {
		for path, claims := range o.All() {
			owners.fields = append(owners.fields, owned{path, claims[len(claims)-1]})
		}
	}
	owners.index()
	return owners
}

// OwnedBy are the owners of an object that one layer made as a whole, such as the ConfigMap of a policy. The
// claim need not say a value.
func OwnedBy(claim schema.Claim) *Owners {
	if claim.Value == nil {
		claim.Value = schema.Presence{} // it says null nowhere
	}
	return &Owners{rest: []schema.Claim{claim}}
}

func (o *Owners) index() {
	o.exact = make(map[string]int, len(o.fields))
	for i, f := range o.fields {
		o.exact[f.path.String()] = i
	}
}

// Of are the claims in force on a field and on all within it, one a layer, in document order; where there
// is none, those on the nearest field that contains it.
func (o *Owners) Of(path schema.Path) []schema.Claim {
	if o == nil {
		return nil
	}
	var claims []schema.Claim
	add := func(c schema.Claim) {
		for _, known := range claims {
			if known.Layer == c.Layer {
				return
			}
		}
		claims = append(claims, c)
	}
	if i, ok := o.exact[path.String()]; ok {
		add(o.fields[i].claim)
	}
	for _, f := range o.fields {
		if len(f.path) > len(path) && f.path.HasPrefix(path) {
			add(f.claim)
		}
	}
	for n := len(path) - 1; n > 0 && claims == nil; n-- {
		if i, ok := o.exact[path[:n].String()]; ok {
			// The presence of an item says nothing of who set a field of it.
			if _, presence := o.fields[i].claim.Value.(schema.Presence); !presence {
				add(o.fields[i].claim)
			}
		}
	}
	if claims == nil {
		return o.rest
	}
	return claims
}

// Attribute fills in Before and After: who set, in the old and in the new object, what a change is about.
// A field that is not there has claims where a null emptied it. Either owners may be nil.
func (cs Changes) Attribute(old, new *Owners) {
	for i := range cs {
		c := &cs[i]
		c.Before, c.After = old.Of(c.Path), new.Of(c.Path)
		if c.Kind == Added {
			c.Before = emptied(c.Before)
		}
		if c.Kind == Removed {
			c.After = emptied(c.After)
		}
	}
}

// emptied are the claims that say null.
func emptied(claims []schema.Claim) []schema.Claim {
	var nulls []schema.Claim
	for _, c := range claims {
		if c.Value == nil {
			nulls = append(nulls, c)
		}
	}
	return nulls
}

// Job are the owners of a child Job of the JobSet that o describes: what the Job has from its replicated
// job belongs to who set it there, and all else to the JobSet controller.
func (o *Owners) Job(job *batchv1.Job) *Owners {
	template := templateOf(job.Labels)
	return o.child(schema.JobSet, job, template)
}

// Pod are the owners of a Pod of the JobSet that o describes: what the Pod has from its template in the
// JobSet belongs to who set it there, and all else to the Job controller and the webhooks of Pods.
func (o *Owners) Pod(pod *corev1.Pod) *Owners {
	template := templateOf(pod.Labels)
	return o.child(schema.Job, pod, template.Append(schema.Field("spec"), schema.Field("template")))
}

// templateOf is where the template of a Job stands in its JobSet.
func templateOf(labels map[string]string) schema.Path {
	return schema.Path{
		schema.Field("spec"), schema.Field("replicatedJobs"),
		schema.Item("name", labels[jobset.ReplicatedJobNameKey]), schema.Field("template"),
	}
}

func (o *Owners) child(rest schema.Layer, object any, template schema.Path) *Owners {
	controller := schema.Claim{Layer: rest, Value: schema.Presence{}}
	child := OwnedBy(controller)
	if o == nil {
		return child
	}
	value, err := decode(object, typeOf(object))
	if err != nil {
		value = nil // Compare reports it
	}
	for _, f := range o.fields {
		if !f.path.HasPrefix(template) {
			continue
		}
		path := schema.Path(f.path[len(template):])
		if len(path) == 0 {
			continue
		}
		claim := f.claim
		if _, presence := claim.Value.(schema.Presence); !presence && !holds(value, path, claim.Value) {
			claim = controller
		}
		child.fields = append(child.fields, owned{path, claim})
	}
	child.index()
	return child
}

// holds says whether the object has the claimed value at the path.
func holds(object any, path schema.Path, claimed any) bool {
	value, found := lookup(object, path)
	if claimed == nil || !found {
		return claimed == nil && !found
	}
	want, err := decodeValue(claimed)
	return err == nil && reflect.DeepEqual(value, want)
}

func lookup(value any, path schema.Path) (any, bool) {
	for _, step := range path {
		name, isName := step.Field()
		if !isName {
			name, isName = step.Key()
		}
		if isName {
			next, found := entries(value)[name]
			if !found {
				return nil, false
			}
			value = next
			continue
		}
		if i, isIndex := step.Index(); isIndex && i < len(list(value)) {
			value = list(value)[i]
			continue
		}
		t := &schema.Type{Kind: schema.Set}
		if key, _, isItem := step.Item(); isItem {
			t = &schema.Type{Kind: schema.ListMap, Key: key}
		}
		i, found := positions(keysOf(t, value))[keyOf(step)]
		if !found {
			return nil, false
		}
		value = list(value)[i]
	}
	return value, true
}
