package fuzz

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/yaml"
)

// DocumentOptions select the documents.
type DocumentOptions struct {
	// Policies are the policies that a runtime may have. An empty list means all.
	Policies []Policy
	// Changes is the number of fields of valid documents that get another value, which may be
	// invalid. A cluster accepts about nine of ten cases without a change, three of ten with one,
	// and few with three.
	Changes int
	// Managers is the least number of managers. There are at most five.
	Managers int
}

// Documents are a TrainJob and its runtime as in files: a null and an empty value differ.
type Documents struct {
	// Seed is the argument of Document.
	Seed uint64

	Runtime, TrainJob map[string]any
	// Changes list the changes: a path and its new value.
	Changes []string
}

// String returns the seed, not the values.
func (d *Documents) String() string { return fmt.Sprintf("documents %d", d.Seed) }

// YAML returns both documents, the runtime first.
func (d *Documents) YAML() []byte {
	var out []byte
	for _, document := range []map[string]any{d.Runtime, d.TrainJob} {
		data, err := yaml.Marshal(document)
		if err != nil {
			panic(fmt.Errorf("fuzz: a generated document cannot be encoded: %w", err))
		}
		out = append(append(out, "---\n"...), data...)
	}
	return out
}

// Clone returns a copy that shares no memory with d.
func (d *Documents) Clone() *Documents {
	return &Documents{Seed: d.Seed, Runtime: Copy(d.Runtime).(object),
		TrainJob: Copy(d.TrainJob).(object), Changes: slices.Clone(d.Changes)}
}

type object = map[string]any

// generator makes the documents of one case.
type generator struct {
	rng  *rand.Rand
	opts DocumentOptions
	// wanted are the fields that this case is about, and the fields that contain them.
	wanted map[*node]bool
	sure   float64 // the probability of a wanted field
	hints  map[string]int
	policy Policy
	jobs   []*madeJob
	// job is set within a replicated job or its patch.
	job *madeJob
}

// madeJob records the facts about one of the runtime's jobs that patches need.
type madeJob struct {
	name             string
	containers, init []string
	volumes          []string
	sources          map[string]string // by volume name
}

// aims is the number of fields that a case is about. Chance adds others.
const aims = 6

// Document generates a runtime and a TrainJob. Each seed is about one field of the Go types, in
// turn, and about others by chance. A series of len(Fields()) seeds reaches every field.
func Document(seed uint64, opts DocumentOptions) *Documents {
	g := newGenerator(seed, opts)
	all := fieldsOfTypes().all
	var changed []*node
	for i := range opts.Changes {
		// The product of such a prime and the seed reaches every field in as many seeds as there
		// are fields.
		n := all[(seed*7919+uint64(i)*104729)%uint64(len(all))]
		changed = append(changed, n)
		g.want(n)
	}
	d := g.documents(seed)
	for _, n := range changed {
		// with another kind, the object is neither a runtime nor a TrainJob
		if n.up.up != nil || n.name != "kind" && n.name != "apiVersion" {
			g.change(d, n)
		}
	}
	return d
}

// Update generates documents that should be accepted, and a copy with another value at one field.
// The path of the field begins with within, such as trainJob:spec. In two of five cases both the
// TrainJob and the JobSet are suspended.
func Update(seed uint64, within string) (before, after *Documents) {
	g := newGenerator(seed, DocumentOptions{})
	fields := slices.DeleteFunc(slices.Clone(fieldsOfTypes().all), func(n *node) bool {
		return !strings.HasPrefix(n.path, within)
	})
	n := fields[seed*7919%uint64(len(fields))]
	if n.rejected == "" {
		g.want(n)
	}
	before = g.documents(seed)
	if g.chance(0.4) {
		child(before.TrainJob, "spec")["suspend"] = true
		child(before.Runtime, "spec", "template", "spec")["suspend"] = true
	}
	after = before.Clone()
	if places := g.places(after, n, true); g.chance(0.6) && len(places) > 0 && n.rejected == "" {
		pickOf(g.rng, places...)[n.name] = g.value(n)
		after.Changes = append(after.Changes, n.path)
		return before, after
	}
	g.change(after, n)
	return before, after
}

func newGenerator(seed uint64, opts DocumentOptions) *generator {
	if len(opts.Policies) == 0 {
		opts.Policies = []Policy{Plain, Torch, JAX, XGBoost, MPI, Flux, Coscheduling, Volcano}
	}
	g := &generator{rng: rand.New(rand.NewPCG(seed, 21)), opts: opts, wanted: map[*node]bool{},
		sure: 0.9, hints: map[string]int{}}
	acceptable := acceptableFields()
	g.want(acceptable[seed%uint64(len(acceptable))])
	for range aims - 1 {
		g.want(acceptable[g.rng.IntN(len(acceptable))])
	}
	return g
}

// want makes the case be about the field.
func (g *generator) want(n *node) {
	for ; n != nil; n = n.up {
		g.wanted[n] = true
	}
}

func (g *generator) chance(p float64) bool { return g.rng.Float64() < p }

// hint returns a number that mostly stays the same throughout a case.
func (g *generator) hint(name string) int {
	if _, ok := g.hints[name]; !ok {
		g.hints[name] = g.rng.IntN(1 << 16)
	}
	if g.chance(0.04) {
		return g.rng.IntN(1 << 16)
	}
	return g.hints[name]
}

func (g *generator) documents(seed uint64) *Documents {
	f := fieldsOfTypes()
	g.choosePolicy()
	d := &Documents{Seed: seed, Runtime: g.structure(f.runtime)}
	d.Runtime["apiVersion"], d.Runtime["kind"] = trainer.GroupVersion.String(),
		trainer.ClusterTrainingRuntimeKind
	metadata := child(d.Runtime, "metadata")
	metadata["name"] = pickOf(g.rng, runtimeNames...)
	delete(metadata, "namespace")
	d.TrainJob = g.structure(f.trainJob)
	d.TrainJob["apiVersion"], d.TrainJob["kind"] = trainer.GroupVersion.String(),
		trainer.TrainJobKind
	child(d.TrainJob, "metadata")["name"] = pickOf(g.rng, "tj", "my-job")
	reference := child(d.TrainJob, "spec", "runtimeRef")
	reference["name"] = metadata["name"]
	if g.chance(0.3) {
		d.Runtime["kind"] = trainer.TrainingRuntimeKind
		reference["kind"] = trainer.TrainingRuntimeKind
	} else if reference["kind"] != nil {
		reference["kind"] = trainer.ClusterTrainingRuntimeKind
	}
	if g.chance(0.35) {
		twists[g.rng.IntN(len(twists))](g, d)
	}
	if g.chance(0.25) {
		g.contest(d)
	}
	g.sprinkle(d)
	return d
}

// choosePolicy picks the policy that the case is about, or else any policy of the options.
func (g *generator) choosePolicy() {
	var about, may []Policy
	policies := fieldsOfTypes().runtime.child("spec").child("mlPolicy")
	for _, p := range g.opts.Policies {
		if p == Coscheduling || p == Volcano {
			continue
		}
		may = append(may, p)
		if n := policies.child(string(p)); n != nil && g.wanted[n] {
			about = append(about, p)
		}
	}
	switch {
	case len(about) > 0:
		g.policy = pickOf(g.rng, about...)
	case len(may) > 0:
		g.policy = pickOf(g.rng, may...)
	default:
		g.policy = Plain
	}
}

// value makes the value of a field.
func (g *generator) value(n *node) any {
	if v, made := g.whole(n); made {
		return v
	}
	switch {
	case n.fields != nil || n.typ.Kind().String() == "struct" && !isScalar(n.typ):
		return g.structure(n)
	case n.typ.Kind().String() == "slice" && n.item != nil:
		return g.list(n)
	case n.item != nil:
		return g.mapping(n)
	}
	return g.scalar(n)
}

func (g *generator) structure(n *node) object {
	o := object{}
	for _, f := range n.fields {
		if g.includes(n, f) {
			o[f.name] = g.value(f)
		}
	}
	g.fix(n, o)
	return o
}

// includes decides whether an object has the field.
func (g *generator) includes(n, f *node) bool {
	switch {
	case known().Required.has(f), !f.optional && f.rejected == "" && !known().Rare.has(f):
		return true
	case f.key == "TrainJobSpec.runtimePatches" && g.opts.Managers > 0:
		return true
	case g.wanted[f]:
		return g.chance(g.sure)
	case f.rejected != "" || known().Rare.has(f):
		return false
	}
	if likely, ok := known().Likely[f.key]; ok {
		return g.chance(likely)
	}
	return g.chance(min(0.4, 2/float64(len(n.fields))))
}

func (g *generator) list(n *node) []any {
	most := 3
	if n.item.fields != nil && !g.wanted[n] {
		most = 2
	}
	out := []any{}
	seen := map[string]bool{}
	key := known().Keys[n.key]
	for range 1 + g.rng.IntN(most) {
		v := g.value(n.item)
		id := fmt.Sprint(v)
		if o, ok := v.(object); ok {
			id = ""
			for _, k := range key {
				id += fmt.Sprint(o[k], "/")
			}
			if key == nil {
				id = fmt.Sprint(len(out))
			}
		} else if known().Repeats.has(n) {
			id = fmt.Sprint(len(out))
		}
		if !seen[id] {
			seen[id] = true
			out = append(out, v)
		}
	}
	return out
}

func (g *generator) mapping(n *node) object {
	out := object{}
	if strings.HasSuffix(n.typ.String(), "ResourceList") {
		names := []string{"cpu", "memory"}
		if n.owner != "ResourceRequirements" && n.owner != "PodSpec" {
			names = []string{"storage"}
		}
		for _, name := range names {
			out[name] = g.value(n.item)
		}
		return out
	}
	for range 1 + g.rng.IntN(3) {
		out[pickOf(g.rng, "app", "team", "example.com/tier")] = g.value(n.item)
	}
	return out
}

// scalar makes a string, number or boolean from the field's words, its enumeration, or its kind.
func (g *generator) scalar(n *node) any {
	named := n
	for named.name == "" && named.up != nil {
		named = named.up
	}
	if values, listed := known().Values[named.key]; listed {
		return g.draw(values)
	}
	if members := known().Enums[typeName(n.typ)]; members != nil {
		return pickOf(g.rng, members...)
	}
	switch kind := n.typ.Kind().String(); {
	case typeName(n.typ) == "Time":
		return pickOf(g.rng, "2026-01-02T03:04:05Z", "2026-02-02T03:04:05Z")
	case typeName(n.typ) == "resource.Quantity":
		return pickOf(g.rng, "1", "2", "500m")
	case kind == "bool":
		return g.chance(0.5)
	case strings.HasPrefix(kind, "int"):
		return int64(g.rng.IntN(4))
	}
	if strings.HasSuffix(strings.ToLower(named.name), "name") || named.name == "fsType" {
		return pickOf(g.rng, "a", "b-1", "c")
	}
	return pickOf(g.rng, "x", "y")
}

// sprinkle puts nulls and empty lists where they have no effect: at fields that the documents lack.
func (g *generator) sprinkle(d *Documents) {
	acceptable := acceptableFields()
	for range g.rng.IntN(3) {
		n := acceptable[g.rng.IntN(len(acceptable))]
		if !n.optional || !n.up.optional && n.up.up != nil && n.up.name == "" {
			continue
		}
		for _, at := range g.places(d, n, false) {
			if _, there := at[n.name]; there || g.chance(0.5) {
				continue
			}
			at[n.name] = nil
			if n.typ.Kind().String() == "slice" && g.chance(0.5) {
				at[n.name] = []any{}
			}
		}
	}
}

// places finds the objects that have, or could have, the field. With create it adds one if there is
// none.
func (g *generator) places(d *Documents, n *node, create bool) []object {
	var way []*node
	for at := n; at.up != nil; at = at.up {
		way = append(way, at)
	}
	slices.Reverse(way)
	if create {
		g.job = &madeJob{name: "node", containers: []string{"node"}, init: []string{"init-a"}}
	}
	root := d.TrainJob
	if n.within(fieldsOfTypes().runtime) {
		root = d.Runtime
	}
	level := []any{root}
	for _, step := range way[:len(way)-1] {
		var below []any
		for _, at := range level {
			below = append(below, g.descend(at, step, create)...)
		}
		level = below
	}
	var found []object
	for _, at := range level {
		if o, ok := at.(object); ok {
			found = append(found, o)
		}
	}
	return found
}

func (g *generator) descend(at any, step *node, create bool) []any {
	switch at := at.(type) {
	case object:
		if step.name == "" {
			return slices.Collect(sortedValues(at))
		}
		v, there := at[step.name]
		if create && (!there || isEmpty(v)) {
			v = g.value(step)
			if isEmpty(v) && step.item != nil && step.item.fields != nil {
				v = []any{g.structure(step.item)}
			}
			at[step.name] = v
			there = true
		}
		if there {
			return []any{v}
		}
	case []any:
		return at
	}
	return nil
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	}
	return false
}

func sortedValues(o object) func(func(any) bool) {
	return func(yield func(any) bool) {
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if !yield(o[key]) {
				return
			}
		}
	}
}

// child returns the object at the path, and adds it if it is missing.
func child(o object, path ...string) object {
	for _, name := range path {
		next, ok := o[name].(object)
		if !ok {
			next = object{}
			o[name] = next
		}
		o = next
	}
	return o
}

// items returns the objects of a list.
func items(o object, name string) (found []object) {
	list, _ := o[name].([]any)
	for _, item := range list {
		if o, ok := item.(object); ok {
			found = append(found, o)
		}
	}
	return found
}

func pickOf[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
