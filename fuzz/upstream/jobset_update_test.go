package upstream_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/admission/serverside"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// TestJobSetUpdates compares verdicts on changed JobSets, applied server-side twice by one manager.
// One verdict comes from the JobSet module's definition and webhook, the other from package
// admission. One part of a generated JobSet is changed, removed or added, most often in a Pod
// template. The JobSet is suspended, running or changing between the two.
func TestJobSetUpdates(t *testing.T) {
	server := latest(t)
	definition, err := release.Latest().Definition("JobSet")
	if err != nil {
		t.Fatal(err)
	}
	applier, err := serverside.New(definition)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := updateVerdicts{counts: map[string]int{}}
	for seed := range uint64(*jobSets / 2) {
		old, changed, what := changedJobSet(t, seed)
		stored, rejected, err := server.Apply(old, nil)
		if err != nil {
			t.Fatal(err)
		}
		if rejected != nil {
			verdicts.counts["not created"]++
			continue
		}
		rejected = reapply(t, server, states{stored, old, changed}, applier)
		var errs finding.List
		for _, f := range admission.UpdateJobSet(t.Context(), nil, old, changed, serverNamespace) {
			early := f.Code < "TW400" || f.Code >= "TW500" && f.Code < "TW540" ||
				f.Code == codes.Immutable
			if f.Severity == finding.Error && f.Object.Kind == "JobSet" && early {
				errs = append(errs, f)
			}
		}
		if verdicts.judge(t, update{seed, what, old, changed}, rejected, errs) >= mostWrong {
			break
		}
	}
	verdicts.log(t)
}

// update is a change of a JobSet that a seed makes.
type update struct {
	seed         uint64
	what         string
	old, changed any
}

// updateVerdicts counts the verdicts on updates, and those that differ.
type updateVerdicts struct {
	counts map[string]int
	wrong  int
}

// judge compares two verdicts on an update, and returns how many have differed.
func (v *updateVerdicts) judge(t *testing.T, u update, upstream []string, here finding.List) int {
	t.Helper()
	isRejected := len(upstream) > 0
	v.counts[fmt.Sprintf("%s: upstream refuses %v, here %v", u.what, isRejected, len(here) > 0)]++
	if isRejected != (len(here) > 0) {
		v.wrong++
		was, _ := yaml.Marshal(u.old)
		is, err := yaml.Marshal(u.changed)
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("seed %d (%s): upstream %q\nfound %v\n%s---\n%s", u.seed, u.what, upstream, here,
			was, is)
	}
	return v.wrong
}

func (v *updateVerdicts) log(t *testing.T) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(v.counts)) {
		t.Logf("%7d  %s", v.counts[key], key)
	}
}

// TestJobSetReplacements compares verdicts on stored JobSets that a client replaces whole, in each
// release.
func TestJobSetReplacements(t *testing.T) {
	server := newAPIServer(t)
	verdicts := updateVerdicts{counts: map[string]int{}}
	for seed := range uint64(*jobSets / 2) {
		old, _, _ := changedJobSet(t, seed)
		old, err := server.Prune(old)
		server.must(err)
		stored, rejected := server.apply(old, nil)
		if rejected != nil {
			verdicts.counts["not created"]++
			continue
		}
		stored, err = server.Prune(stored) // of what the webhook's Go types write
		server.must(err)
		r := rand.New(rand.NewPCG(seed, 23))
		changed, what := changeJobSet(t, mutator{r}, stored)
		replaced := asJSON(t, changed)
		if created, rejected := server.apply(changed, nil); rejected == nil {
			keepDefaults(replaced["spec"], stored["spec"], created["spec"])
		}
		_, rejected = server.apply(replaced, stored)
		var errs finding.List
		for _, f := range admission.UpdateJobSet(t.Context(), server.Release, stored, changed,
			serverNamespace) {
			early := f.Code < "TW400" || f.Code >= "TW500" && f.Code < "TW540" ||
				f.Code == codes.Immutable || f.Code == codes.UnknownOldObject
			if f.Code == codes.WrongType && strings.HasSuffix(f.Message, "not null") &&
				!endsInItem(f.Path) {
				continue // server-side apply leaves the null of a field, and a replacement does not
			}
			if f.Severity == finding.Error && f.Object.Kind == "JobSet" && early {
				errs = append(errs, f)
			}
		}
		if verdicts.judge(t, update{seed, what, stored, changed}, rejected, errs) >= mostWrong {
			break
		}
	}
	verdicts.log(t)
}

// keepDefaults adds to a changed part of a JobSet the stored values that it lacks and that a
// creation fills in alike. A replacement loses what only the webhook for new JobSets fills in.
// UpdateJobSet assumes an apply, which keeps it.
func keepDefaults(changed, stored, created any) {
	switch stored := stored.(type) {
	case upstream.Object:
		now, isObject := changed.(upstream.Object)
		filled, isFilled := created.(upstream.Object)
		if !isObject || !isFilled {
			return
		}
		for name, value := range stored {
			if next, isSet := now[name]; isSet {
				keepDefaults(next, value, filled[name])
			} else if filled[name] != nil && reflect.DeepEqual(value, filled[name]) {
				now[name] = value
			}
		}
	case []any:
		now, _ := changed.([]any)
		filled, _ := created.([]any)
		for i, item := range stored {
			if i >= min(len(now), len(filled)) {
				return
			}
			if name := itemName(item); itemName(now[i]) == name && itemName(filled[i]) == name {
				keepDefaults(now[i], item, filled[i])
			}
		}
	}
}

func itemName(item any) any {
	fields, _ := item.(upstream.Object)
	return fields["name"]
}

func endsInItem(path fieldpath.Path) bool {
	if len(path) == 0 {
		return false
	}
	_, isItem := path[len(path)-1].Index()
	return isItem
}

// states are those of a JobSet: as stored, as its manager applied it before, and as it applies it
// now.
type states struct{ stored, old, changed upstream.Object }

// reapply applies a changed JobSet over the one that its manager applied before, and returns why it
// is rejected.
func reapply(t *testing.T, o *oracle.Oracle, of states, applier *serverside.Server) []string {
	t.Helper()
	stored, old, changed := of.stored, of.old, of.changed
	schema := o.Schema("JobSet")
	decoded, rejected, err := o.Decode(changed, serverNamespace)
	if err != nil {
		t.Fatal(err)
	}
	if rejected != nil {
		return rejected
	}
	created := asJSON(t, old)
	// an apply over an object that exists keeps its nulls
	defaulting.PruneNonNullableNullsWithoutDefaults(created, schema)
	said := func(o upstream.Object) upstream.Object {
		o = asJSON(t, o)
		metadata, _ := o["metadata"].(upstream.Object)
		kept := upstream.Object{}
		for _, key := range []string{"labels", "annotations"} {
			if metadata[key] != nil {
				kept[key] = metadata[key]
			}
		}
		return upstream.Object{"metadata": kept, "spec": o["spec"]}
	}
	fields, err := applier.Reapply(said(stored), said(created), said(changed))
	if err != nil {
		return []string{err.Error()}
	}
	defaulting.Default(fields, schema)
	metadata, _ := decoded["metadata"].(upstream.Object)
	delete(metadata, "labels")
	delete(metadata, "annotations")
	if entries, ok := fields["metadata"].(upstream.Object); ok {
		maps.Copy(metadata, entries)
	}
	decoded["spec"] = fields["spec"]
	if rejected, err = o.Validate(decoded, stored); err != nil {
		t.Fatal(err)
	}
	if rejected != nil {
		return rejected
	}
	denied, err := o.AdmitJobSet(decoded, stored)
	if err != nil {
		t.Fatal(err)
	}
	if denied != "" {
		return []string{denied}
	}
	return nil
}

// changedJobSet makes a JobSet and one change of it.
func changedJobSet(t *testing.T, seed uint64) (old, changed upstream.Object, what string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 19))
	fields, err := admission.Encode(generateJobSet(t, r))
	if err != nil {
		t.Fatal(err)
	}
	fields["apiVersion"], fields["kind"] = "jobset.x-k8s.io/v1alpha2", "JobSet"
	old = asJSON(t, fields)
	set(old, serverNamespace, "metadata", "namespace")
	for _, policy := range list(old, "spec", "volumeClaimPolicies") {
		if p, ok := policy.(upstream.Object); ok && p["templates"] == nil {
			set(old, nil, "spec", "volumeClaimPolicies")
		}
	}
	changed, what = changeJobSet(t, mutator{r}, old)
	return old, changed, what
}

// changeJobSet makes one change of a JobSet.
func changeJobSet(t *testing.T, m mutator,
	old upstream.Object) (changed upstream.Object, what string) {
	t.Helper()
	changed = asJSON(t, old)
	switch what = pick(m, "nothing", "a value", "a value", "Pods", "Pods", "Pods", "a rule",
		"jobs"); what {
	case "a value":
		m.change(changed)
	case "Pods":
		for range 1 + m.IntN(2) {
			if jobs := list(changed, "spec", "replicatedJobs"); len(jobs) > 0 {
				fuzz.Overlay(pick(m, jobs...).(upstream.Object), m.expand("pods"))
			}
		}
	case "a rule":
		m.editJobSet(changed)
		set(changed, old["metadata"].(upstream.Object)["name"], "metadata", "name")
	case "jobs":
		jobs := list(changed, "spec", "replicatedJobs")
		switch m.IntN(3) {
		case 0:
			jobs = jobs[1:]
		case 1:
			more := asJSON(t, jobs[0].(upstream.Object))
			more["name"] = "more"
			jobs = append(jobs, more)
		default:
			slices.Reverse(jobs)
		}
		set(changed, jobs, "spec", "replicatedJobs")
	}
	if m.IntN(3) == 0 {
		set(changed, pick[any](m, nil, true, false), "spec", "suspend")
	}
	return asJSON(t, changed), what
}
