package fuzz_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/check"
	policies "github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestHistory renders pairs of every policy. After every stage of the rendering it checks that
// ownership is complete and true. The claims alone, applied from scratch in their order, give the
// object as it is at that stage. The history of a field only ever grows at its end. So its first
// claims are its history at each earlier stage.
func TestHistory(t *testing.T) {
	t.Parallel()
	opts := fuzz.PairOptions{Policies: []fuzz.Policy{
		fuzz.Plain, fuzz.Torch, fuzz.JAX, fuzz.XGBoost, fuzz.MPI, fuzz.Flux, fuzz.Coscheduling,
		fuzz.Volcano,
	}}
	for seed := range pairSeeds(t, 1500) {
		p := fuzz.Render(seed, opts)
		broken := historyHolds(p)
		if broken == "" {
			continue
		}
		for next := fuzz.SmallerPair(p); ; {
			small, ok := next()
			if !ok {
				break
			}
			if check.Patches(&small.Runtime.Spec.Template,
				small.TrainJob.Spec.RuntimePatches).Err() != nil {
				continue
			}
			if text := historyHolds(small); text != "" {
				p, broken = small, text
				next = fuzz.SmallerPair(p)
			}
		}
		t.Fatalf("pair %d: %s\n\nthe smallest pair that still breaks it:\n%s\nrun it again: "+
			"GOWORK=off TRAINWELD_CASE=%d go test -C fuzz . -run '^%s$'",
			seed, broken, pairAsYAML(p), seed, t.Name())
	}
}

// pairSeeds returns at most n seeds, as testenv.Cases says, or as many as TRAINWELD_PAIRS says.
// Half of them are the same in every run, and half of them are new.
func pairSeeds(t *testing.T, n int) func(yield func(uint64) bool) {
	t.Helper()
	if seed, ok := testenv.Number(t, "TRAINWELD_CASE"); ok {
		return slices.Values([]uint64{seed})
	}
	n = int(testenv.NumberOr(t, "TRAINWELD_PAIRS", min(uint64(n), testenv.Cases(t, uint64(n)))))
	series := testenv.Seed(t)
	return func(yield func(uint64) bool) {
		fixed, fresh := rand.New(rand.NewPCG(1, 3)), rand.New(rand.NewPCG(series, 3))
		for i := range n {
			seed := fixed.Uint64
			if i%2 == 1 {
				seed = fresh.Uint64
			}
			if !yield(seed()) {
				return
			}
		}
	}
}

func pairAsYAML(p *fuzz.Pair) string {
	data, err := yaml.Marshal(
		map[string]any{"runtime": p.Runtime.Spec, "trainJob": p.TrainJob.Spec})
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// historyHolds is the law for one pair. It returns the fault and its stage, or "".
func historyHolds(p *fuzz.Pair) (broken string) {
	defer func() {
		if r := recover(); r != nil {
			broken = fmt.Sprintf("panic: %v", r)
		}
	}()
	p = p.Clone()
	render.DefaultTrainJob(p.TrainJob, nil)
	render.DefaultRuntime(&p.Runtime.Spec, nil)
	var past history
	sent := false
	stage := func(name string, owners *merge.History, template *trainer.JobSetTemplateSpec) bool {
		now := historyOf(owners.All())
		for _, text := range []string{now.broken(), now.replays(template, sent),
			now.continues(past)} {
			if text != "" {
				broken = name + ": " + text
				return false
			}
		}
		past = now
		return true
	}

	patches := prunedPatches(p.TrainJob.Spec.RuntimePatches)
	var merged *runtimepatch.Result
	for n := range len(patches) + 1 {
		var err error
		if merged, err = runtimepatch.Apply(&p.Runtime.Spec.Template, patches[:n],
			runtimepatch.Options{}); err != nil {
			return fmt.Sprintf("check.Patches passes it, and Apply refuses it: %v", err)
		}
		if !stage(fmt.Sprintf("after %d patches", n), merged.History, &merged.Template) {
			return broken
		}
	}
	j := policies.NewJob(policies.Input{
		TrainJob: p.TrainJob, Runtime: &p.Runtime.Spec, Template: &merged.Template,
		Record: func(layer merge.Owner, from merge.Origin, path fieldpath.Path, before, now any) {
			from.Always = true
			merged.History.Within(path).Record(layer, before, now, from.Within)
		},
	})
	if !stage("after the resources", merged.History, &merged.Template) {
		return broken
	}
	enforced := policies.Enforce(j)
	if !stage("after the policies", merged.History, &merged.Template) {
		return broken
	}
	if !enforced {
		return ""
	}
	for _, set := range j.Sets {
		j.SetCounts(set)
		j.Settle(set)
	}
	if !stage("after the counts", merged.History, &merged.Template) {
		return broken
	}
	// The metadata changes hands at the end: the JobSet's name is not the template's.
	past.without(fieldpath.Fields("metadata"))
	sent = true
	for _, view := range []render.View{render.Applied, render.Stored} {
		out, _ := render.JobSet(render.Input{TrainJob: p.TrainJob, Runtime: &p.Runtime.Spec},
			render.Options{OnConflict: render.Last, As: view})
		if out.JobSet == nil {
			return "the policies made a JobSet, and render.JobSet makes none"
		}
		jobSet := &trainer.JobSetTemplateSpec{ObjectMeta: out.JobSet.ObjectMeta,
			Spec: out.JobSet.Spec}
		if !stage(fmt.Sprintf("the JobSet, view %d", view), out.History, jobSet) {
			return broken
		}
		if text := past.comesFrom(p); text != "" {
			return text
		}
	}
	return ""
}

// prunedPatches drops the fields that the TrainJob's CRD lacks from the metadata within patches. A
// rendering does so first.
func prunedPatches(patches []trainer.RuntimePatch) []trainer.RuntimePatch {
	pruned := make([]trainer.RuntimePatch, len(patches))
	for i := range pruned {
		patches[i].DeepCopyInto(&pruned[i])
		spec := specOf(&pruned[i])
		if spec == nil {
			continue
		}
		for k := range spec.ReplicatedJobs {
			job := spec.ReplicatedJobs[k].Template
			if job == nil {
				continue
			}
			pruneMetadata(job.Metadata)
			if job.Spec != nil && job.Spec.Template != nil {
				pruneMetadata(job.Spec.Template.Metadata)
			}
		}
	}
	return pruned
}

func pruneMetadata(m *metav1.ObjectMeta) {
	if m != nil {
		*m = metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels,
			Annotations: m.Annotations, Finalizers: m.Finalizers}
	}
}

// history is what a History says, in its order.
type history struct {
	paths  []fieldpath.Path
	texts  []string // of paths
	claims map[string][]merge.Claim
	twice  []string
}

func historyOf(fields iter.Seq2[fieldpath.Path, []merge.Claim]) history {
	h := history{claims: map[string][]merge.Claim{}}
	for path, claims := range fields {
		text := path.String()
		if _, again := h.claims[text]; again {
			h.twice = append(h.twice, text)
		}
		h.paths, h.texts = append(h.paths, path), append(h.texts, text)
		h.claims[text] = claims
	}
	return h
}

// broken says what no history may hold.
func (h history) broken() string {
	if h.twice != nil {
		return "yielded twice: " + strings.Join(h.twice, ", ")
	}
	for i, path := range h.paths {
		claims := h.claims[h.texts[i]]
		if len(claims) == 0 {
			return fmt.Sprintf("%v is yielded without a claim", path)
		}
		for _, c := range claims {
			if c.Owner == "" {
				return fmt.Sprintf("%v is claimed by nobody", path)
			}
		}
	}
	return ""
}

// without forgets the history of what stands below a path.
func (h history) without(prefix fieldpath.Path) {
	for i, path := range h.paths {
		if path.HasPrefix(prefix) {
			delete(h.claims, h.texts[i])
		}
	}
}

// continues says where the history does not begin as the earlier one does.
func (h history) continues(past history) string {
	for i, path := range past.paths {
		before, known := past.claims[past.texts[i]]
		isIndex := func(s fieldpath.Step) bool { _, ok := s.Index(); return ok }
		if !known || slices.ContainsFunc(path, isIndex) {
			continue // a position is not the same item's at every stage
		}
		now := h.claims[past.texts[i]]
		only := func(value string) bool {
			return !slices.ContainsFunc(before, func(c merge.Claim) bool {
				return valueOf(c) != value
			})
		}
		if now == nil && (only(present) && h.isWithin(path) || only("[]")) {
			// an empty struct has a field now; or an empty list, which says nothing, was dropped
			continue
		}
		if len(now) < len(before) {
			return fmt.Sprintf("%v: the history is %v, and was %v", path, said(now), said(before))
		}
		for i := range before {
			if !reflect.DeepEqual(now[i], before[i]) && said(now[i:i+1]) != said(before[i:i+1]) {
				return fmt.Sprintf("%v: the history is %v, and was %v", path, said(now),
					said(before))
			}
		}
	}
	return ""
}

// isWithin says whether any field stands below a path.
func (h history) isWithin(path fieldpath.Path) bool {
	return slices.ContainsFunc(h.paths, func(p fieldpath.Path) bool {
		return len(p) > len(path) && p.HasPrefix(path)
	})
}

// said writes claims for comparison.
func said(claims []merge.Claim) string {
	var parts []string
	for _, c := range claims {
		value := valueOf(c)
		if value[0] == '[' { // a list, whose empty lists get lost on the way to the cluster
			v := withoutEmptyLists(decode([]byte(value)))
			dropNulls(v)
			value = canonical(v)
		}
		parts = append(parts, fmt.Sprintf("%s=%s", c.Owner, value))
	}
	return strings.Join(parts, " ")
}

// replays applies every claim from scratch and compares the result with want, a pointer to a struct
// of the API. With sent, want is as the controller sends it.
func (h history) replays(want any, sent bool) string {
	built := document{map[string]any{}}
	for i, path := range h.paths {
		for _, c := range h.claims[h.texts[i]] {
			if !built.apply(path, c.Value) {
				return fmt.Sprintf("%v: there is no place for the claim of %s", path, c.Owner)
			}
		}
	}
	for i, path := range h.paths {
		if claims := h.claims[h.texts[i]]; claims[len(claims)-1].Value == nil {
			built.remove(path)
		}
	}
	data, err := json.Marshal(built.root)
	if err != nil {
		return err.Error()
	}
	t := reflect.TypeOf(want).Elem()
	got, again := reflect.New(t).Interface(), reflect.New(t).Interface()
	if err := json.Unmarshal(data, got); err != nil {
		return fmt.Sprintf("%v\n%s", err, data)
	}
	must(json.Unmarshal(encode(want), again))
	if !sent && reflect.DeepEqual(again, got) {
		return ""
	}
	x, y := decode(encode(again)), decode(encode(got))
	if sent {
		y = withoutEmptyLists(y) // the controller sends none
	}
	for _, v := range []any{x, y} {
		dropNulls(v)
		dropBareLists(v, t)
	}
	if reflect.DeepEqual(x, y) {
		return ""
	}
	return "the claims give another object (-object +claims):\n" + cmp.Diff(x, y)
}
