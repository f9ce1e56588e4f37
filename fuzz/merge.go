package fuzz

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/render/check"
)

// Options select the generated values. The zero value allows every value of the Go types, except
// directives.
type Options struct {
	// Checked allows only patches and templates in which check.Patches finds no error.
	Checked bool
	// Tidy allows only lists in which every item has a unique merge key, and only patches of
	// different managers. Checked implies Tidy.
	Tidy bool
	// Directives puts strategic merge's directives ($patch, $retainKeys, …) into some of the maps
	// of strings. Checked inputs never hold any.
	Directives bool
	// Least and Most bound the number of patches: 0 to 5 when both are zero.
	Least, Most int
}

// Case is the input of one merge.
type Case struct {
	// Seed is the argument of Merge.
	Seed uint64
	// Rejected counts the earlier candidates that check.Patches rejected.
	Rejected int

	Template *trainer.JobSetTemplateSpec
	Patches  []trainer.RuntimePatch
}

// String returns the seed, not the values.
func (c *Case) String() string { return fmt.Sprintf("case %d", c.Seed) }

// Clone returns a copy that shares no memory with c.
func (c *Case) Clone() *Case {
	return &Case{Seed: c.Seed, Rejected: c.Rejected, Template: c.Template.DeepCopy(),
		Patches: clonePatches(c.Patches)}
}

func clonePatches(patches []trainer.RuntimePatch) []trainer.RuntimePatch {
	out := slices.Clone(patches)
	for i := range patches {
		patches[i].DeepCopyInto(&out[i])
	}
	return out
}

// mostAttempts limits the candidates for a checked case, far above any real need. A test watches
// the share of rejected candidates.
const mostAttempts = 1000

// Merge generates the input of one merge. It panics if check.Patches rejects a thousand candidates
// in a row: the generator and the check have then drifted apart.
func Merge(seed uint64, opts Options) *Case {
	for attempt := range uint64(mostAttempts) {
		c := mergeFrom(rand.NewPCG(seed, attempt), opts)
		c.Seed, c.Rejected = seed, int(attempt)
		if !opts.Checked || check.Patches(c.Template, c.Patches).Err() == nil {
			return c
		}
	}
	panic(fmt.Sprintf("fuzz: check.Patches refused %d candidates of seed %d in a row", mostAttempts,
		seed))
}

// MergeFrom generates the input of one merge from external choices. A fuzzer that looks for new
// paths through the code can make them. MergeFrom ignores Options.Checked, because it cannot retry.
func MergeFrom(choices rand.Source, opts Options) *Case {
	opts.Checked = false
	return mergeFrom(choices, opts)
}

// meetings are fields of Pods in which the managers of a case meet. There are so many fields that
// without one two managers rarely reach the same deep field.
var meetings = []string{"volumes[]", "volumes[].scaleIO.secretRef", "volumes[].rbd",
	"volumes[].ephemeral.volumeClaimTemplate.spec.dataSource", "containers[].env[].valueFrom",
	"containers[].env[].value", "containers[].volumeMounts[].subPath",
	"containers[].volumeMounts[].subPathExpr", "securityContext.seccompProfile",
	"securityContext.appArmorProfile", "containers[].securityContext.seccompProfile",
	"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
	"volumes[].ephemeral.volumeClaimTemplate.metadata.finalizers", "imagePullSecrets[]",
	"schedulingGates[]", "nodeSelector", "tolerations[]", "volumes[].emptyDir.sizeLimit"}

// fieldsByPath finds a field by its path.
var fieldsByPath = sync.OnceValue(func() map[string]*node {
	fields := map[string]*node{}
	for _, n := range fieldsOfTypes().all {
		fields[n.path] = n
	}
	return fields
})

// mergedFields are the fields of templates and of patches, also those that clusters reject.
var mergedFields = sync.OnceValue(func() (fields [2][]*node) {
	for _, n := range fieldsOfTypes().all {
		for i, within := range []string{"runtime:spec.template.", "trainJob:spec.runtimePatches[]."} {
			if strings.HasPrefix(n.path, within) {
				fields[i] = append(fields[i], n)
			}
		}
	}
	return fields
})

const (
	podsOfRuntime = "runtime:spec.template.spec.replicatedJobs[].template.spec.template.spec."
	podsOfPatch   = "trainJob:spec.runtimePatches[].trainingRuntimeSpec.template.spec." +
		"replicatedJobs[].template.spec.template.spec."
)

// mergeFrom makes a template, and patches of which most are another one with changes. So managers
// meet in many fields.
func mergeFrom(choices rand.Source, opts Options) *Case {
	g := &generator{rng: rand.New(choices), opts: DocumentOptions{Policies: []Policy{Plain}},
		wanted: map[*node]bool{}, sure: 0.98, hints: map[string]int{}, policy: Plain}
	for range 1 + g.rng.IntN(2) {
		for i, within := range []string{podsOfPatch, podsOfRuntime} {
			meeting := strings.TrimSuffix(meetings[g.hint("meeting")%len(meetings)], "[]")
			if n := fieldsByPath()[within+meeting]; n != nil && (i == 0 || g.chance(0.6)) {
				g.want(n)
			}
		}
		delete(g.hints, "meeting")
	}
	for range 8 {
		for _, fields := range mergedFields() {
			g.want(pickOf(g.rng, fields...))
		}
	}
	f := fieldsOfTypes()
	template := g.value(f.runtime.child("spec").child("template"))
	g.job = g.jobs[0]
	field := f.trainJob.child("spec").child("runtimePatches").item
	most := len(managerNames)
	if opts.Most > 0 {
		most = min(opts.Most, most)
	}
	n := min(most, max(opts.Least, pickOf(g.rng, 0, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5)))
	patches := []any{}
	for i := range n {
		var patch object
		if i == 0 || g.chance(0.1) {
			patch = g.structure(field)
		} else {
			patch = g.vary(field, Copy(patches[g.rng.IntN(i)])).(object)
		}
		patch["manager"] = managerNames[i]
		patches = append(patches, patch)
	}
	if !opts.Checked {
		w := &wrecker{generator: g, tidy: opts.Tidy, directs: opts.Directives && g.chance(0.4)}
		w.value(f.runtime.child("spec").child("template"), template)
		for i := range patches {
			w.value(field, patches[i])
		}
	}
	if opts.Checked || opts.Tidy {
		template, patches = tidy(template), tidy(patches).([]any)
	}
	g.rng.Shuffle(len(patches), func(i, j int) { patches[i], patches[j] = patches[j], patches[i] })
	c := &Case{Template: &trainer.JobSetTemplateSpec{}}
	decode(template, c.Template)
	decode(patches, &c.Patches)
	return c
}

var managerNames = [...]string{"b.example/sdk", "a.example/queue", "d.example/webhook",
	"c.example/platform", "e.example/late"}

// reserved reports whether the webhook rejects an env patch for a container of this name.
func reserved(container string) bool {
	return container == "node" || container == "dataset-initializer" ||
		container == "model-initializer"
}

// enter takes the facts about a job where an object is one, or a patch of one.
func (g *generator) enter(n *node, o object) {
	for _, job := range g.jobs {
		if strings.Contains(typeName(n.typ), "ReplicatedJob") && o["name"] == job.name {
			g.job = job
		}
	}
}

// encodesNull reports whether a Go value without the field encodes it as null.
func encodesNull(n *node) bool {
	return !n.optional && (!isScalar(n.typ) || n.name == "apiGroup")
}

// vary changes some of a value: it leaves parts out, and draws others again.
func (g *generator) vary(n *node, v any) any {
	switch v := v.(type) {
	case object:
		g.enter(n, v)
		for range g.rng.IntN(2*min(1, len(n.fields)) + 1) {
			f := pickOf(g.rng, n.fields...)
			if _, has := v[f.name]; !has && f.rejected == "" &&
				!strings.HasSuffix(f.name, "ontainers") && f.name != "replicatedJobs" {
				v[f.name] = g.value(f)
			}
		}
		for name := range sortedKeys(v) {
			f := n.child(name)
			switch {
			case f == nil && n.item != nil && g.chance(0.3):
				v[name] = g.value(n.item)
			case f == nil && g.chance(0.2), f != nil && !isIdentity(f) && g.chance(0.04),
				f != nil && encodesNull(f) && g.chance(0.5):
				delete(v, name)
			case f != nil && (!isIdentity(f) || g.chance(0.03)):
				v[name] = g.vary(f, v[name])
			}
		}
		if n.item == nil {
			g.fix(n, v)
		}
	case []any:
		v = slices.DeleteFunc(v, func(any) bool { return g.chance(0.08) })
		for i := range v {
			v[i] = g.vary(n.item, v[i])
		}
		return v
	case nil:
	default:
		if n.owner == "ObjectMeta" && typeName(n.typ) == "Time" && g.chance(0.5) {
			return "0001-01-01T00:00:00Z" // a Go pointer to it encodes as null
		}
		if g.chance(0.85) {
			return g.value(n)
		}
	}
	return v
}

// identities are the fields by which strategic merge finds the items of lists.
// The name is one where there is no other.
var identities = []string{"mountPath", "devicePath", "uid", "containerPort", "ip", "topologyKey",
	"manager", "conditionType", "jobName", "resourceName", "name"}

func isIdentity(n *node) bool {
	return n.up != nil && n.up.name == "" && slices.Contains(identities, n.name)
}

// tidy drops the later of two items of a list with one identity.
func tidy(v any) any {
	switch v := v.(type) {
	case object:
		for name, field := range v {
			v[name] = tidy(field)
		}
	case []any:
		seen := map[any]bool{}
		return slices.DeleteFunc(v, func(item any) bool {
			o, _ := tidy(item).(object)
			for _, name := range identities {
				if id, has := o[name]; has {
					again := seen[id]
					seen[id] = true
					return again
				}
			}
			return false
		})
	}
	return v
}

// wrecker makes values that the checks reject, and directives. If tidy, items keep their identity.
type wrecker struct {
	*generator
	tidy, directs bool
}

func (w *wrecker) value(n *node, v any) {
	switch v := v.(type) {
	case object:
		w.enter(n, v)
		for name := range sortedKeys(v) {
			f := n.child(name)
			if f == nil {
				f = n.item
			}
			if f == nil {
				continue
			}
			w.value(f, v[name])
			if list, ok := v[name].([]any); ok && len(list) > 0 && !w.tidy && w.chance(0.04) {
				v[name] = append(list, Copy(pickOf(w.rng, list...)))
			}
			if odd, ok := w.odd(f); ok {
				v[name] = odd
			}
		}
		if len(n.fields) > 0 && w.chance(0.06) {
			if f := pickOf(w.rng, n.fields...); !isIdentity(f) && n.name != "spec" {
				v[f.name] = w.generator.value(f)
			}
		}
		if u, ok := known().Unions[typeName(n.typ)]; ok && w.chance(0.1) {
			name := pickOf(w.rng, u.members(n)...)
			v[name] = w.generator.value(n.child(name))
		}
		if w.directs && n.item != nil && n.item.typ.Kind().String() == "string" && w.chance(0.4) {
			w.direct(v)
		}
	case []any:
		for _, item := range v {
			w.value(n.item, item)
		}
	}
}

// odd returns another value of a scalar field, which few documents have.
func (w *wrecker) odd(n *node) (any, bool) {
	kind := n.typ.Kind().String()
	switch {
	case !isScalar(n.typ) || w.tidy && isIdentity(n) || !w.chance(0.04):
		return nil, false
	case kind == "string" && (n.name == "" || n.optional || isIdentity(n)):
		return pickOf(w.rng, "", "x", "ghost"), true
	case strings.HasPrefix(kind, "int"):
		return pickOf[any](w.rng, int64(0), int64(-1), int64(math.MaxInt32)), true
	}
	return nil, false
}

// direct puts a directive of strategic merge among the entries of a map.
func (w *wrecker) direct(m object) {
	key := "app"
	for name := range sortedKeys(m) {
		key = name
	}
	switch w.rng.IntN(7) {
	case 0, 1:
		m["$patch"] = "replace"
	case 2, 3:
		m["$patch"] = "delete"
	case 4:
		m["$patch"] = pickOf(w.rng, "merge", "", "x")
	case 5:
		name, value := "$retainKeys", key
		if w.chance(0.5) {
			name, value = pickOf(w.rng, "$setElementOrder/"+key, "$deleteFromPrimitiveList"), "x"
		}
		m[name] = value
	case 6:
		// Next to the key that it names, upstream's result would depend on the order of a Go map.
		delete(m, key)
		m["$deleteFromPrimitiveList/"+key] = pickOf(w.rng, "x", "y")
	}
}
