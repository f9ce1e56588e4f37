package merged

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
)

var updates = flag.Int("updates", 50, "how many updates of JobSets with Jobs are compared")

// TestUpdates_Job changes JobSets whose Jobs exist and are suspended. One verdict is that of
// JobSet's webhooks on the change, and of Kubernetes on the Jobs as JobSet's controller updates
// them when it resumes them, and on their Pods. The other one is that of package admission, by
// which check judges with --old.
func TestUpdates_Job(t *testing.T) {
	capabilities.Setup(true, 0)
	u := &updater{server: newServer(t), scheme: runtime.NewScheme()}
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, jobset.AddToScheme} {
		if err := add(u.scheme); err != nil {
			t.Fatal(err)
		}
	}
	var count [missed + 1]int
	resumed := 0
	for n := range uint64(*updates) {
		g := &generator{rand.New(rand.NewPCG(*seed+n, 400)), *seed + n}
		old, changed := u.change(t, g)
		rejected, ofJobs, err := u.rejections(old, changed)
		if err != nil {
			t.Fatalf("seed %d: %v", g.at, err)
		}
		if ofJobs {
			resumed++
		}
		hasNull := false // which hides what the cluster says after it
		found := admission.UpdateJobSet(t.Context(), nil, old, changed, oracle.Namespace).Where(
			func(f finding.Finding) bool {
				if f.Code == codes.WrongType && strings.HasSuffix(f.Message, "not null") {
					hasNull = true
					return false // server-side apply leaves a null, and a replacement does not
				}
				return f.Severity == finding.Error && f.Code != codes.NeverCreated &&
					f.Code != codes.NoSuchPod
			})
		result := bothAccept
		switch refuses := found.Err() != nil || hasNull && len(rejected) > 0; {
		case refuses && len(rejected) > 0:
			result = bothRefuse
		case refuses:
			result = falseRefusal
		case len(rejected) > 0:
			result = missed
		}
		if count[result]++; result >= falseRefusal && count[falseRefusal]+
			count[missed] <= mostShown {
			m := mergeCase{base: old, patches: []any{changed}}
			t.Errorf("seed %d: %s", g.at, m.describe(result, found, rejected))
		}
	}
	t.Logf("%d updates, of which %d reach Jobs: %d accepted, %d refused; only the program "+
		"refuses %d, only the API server %d",
		*updates, resumed, count[bothAccept], count[bothRefuse], count[falseRefusal], count[missed])
	if least := *updates / 20; resumed < least || count[bothAccept] < least ||
		count[bothRefuse] < least {
		t.Error("too few updates of one verdict: the comparison says little")
	}
}

// updater is a cluster in which JobSets change.
type updater struct {
	server
	scheme *runtime.Scheme
}

// change returns a suspended JobSet as stored, and a change of it. Most changes are of what a
// suspended JobSet permits.
func (u *updater) change(t *testing.T, g *generator) (old, changed map[string]any) {
	t.Helper()
	for {
		var fields map[string]any
		if err := json.Unmarshal([]byte(baseJobSet), &fields); err != nil {
			t.Fatal(err)
		}
		asFields(fields["spec"])["suspend"] = true
		if g.chance(2) {
			g.permitted(fields)
		}
		if len(u.server.rejections(fields, false)) > 0 {
			continue
		}
		stored, rejected, err := u.Apply(fields, nil)
		if err != nil || rejected != nil {
			t.Fatal(rejected, err)
		}
		if changed, err = oracle.Copy(stored); err != nil {
			t.Fatal(err)
		}
		for range 1 + g.IntN(2) {
			g.permitted(changed)
		}
		if g.chance(10) {
			overlay(changed, g.jobSet())
		}
		asFields(changed["spec"])["suspend"] = g.chance(6)
		if changed, err = oracle.Copy(changed); err != nil {
			t.Fatal(err)
		}
		return stored, changed
	}
}

// permitted changes a field of a Pod template that a suspended JobSet may change.
func (g *generator) permitted(fields map[string]any) {
	job := asFields(pick(g, listIn(fields, "spec", "replicatedJobs")))
	template := asFields(asFields(asFields(asFields(job["template"])["spec"])["template"]))
	spec := asFields(template["spec"])
	switch g.IntN(6) {
	case 0, 1:
		template["metadata"] = g.metadata()
	case 2:
		spec["nodeSelector"] = map[string]any{
			pick(g, []string{"zone", "example.com/a", "a b", "-a"}): pick(
				g, []string{"a", "b", "no space", ""})}
	case 3:
		spec["tolerations"] = g.of(reflect.TypeFor[[]corev1.Toleration](), "tolerations",
			reflect.TypeFor[corev1.PodSpec](), 1)
	case 4:
		spec["schedulingGates"] = []any{
			map[string]any{"name": pick(g, []string{"example.com/a", "b", "a b", ""})}}
	default:
		delete(spec, pick(g, []string{"nodeSelector", "tolerations", "schedulingGates"}))
	}
}

// rejections returns the errors on the change of a JobSet, or else on its Jobs and Pods when it
// resumes. It reports whether Jobs are updated.
func (u *updater) rejections(old,
	changed map[string]any) (rejected []string, ofJobs bool, err error) {
	stored, rejected, err := u.Apply(changed, old)
	if err != nil || rejected != nil {
		return rejected, false, err
	}
	asFields(stored["spec"])["suspend"] = false // a job that cannot be resumed is an error before
	asFields(old["metadata"])["uid"], asFields(stored["metadata"])["uid"] = "u", "u"
	children, err := u.Children(old)
	if err != nil {
		return nil, false, err
	}
	var existing []*batchv1.Job
	for _, child := range children.Created {
		if child["kind"] == "Job" {
			created, err := createdJob(child)
			if err != nil {
				return nil, false, err
			}
			existing = append(existing, created)
		}
	}
	updated, err := u.code.Resume(u.scheme, stored, existing)
	if err != nil {
		return nil, false, err
	}
	for _, next := range updated {
		i := slices.IndexFunc(existing, func(j *batchv1.Job) bool { return j.Name == next.Name })
		problems, err := updateErrors(next, existing[i])
		if err != nil {
			return nil, false, err
		}
		rejected = append(rejected, problems...)
	}
	return rejected, true, nil
}

// createdJob returns a Job as the API server stores it.
func createdJob(fields map[string]any) (*batchv1.Job, error) {
	k := kindOf("Job")
	hub, err := k.decode(fields)
	if err != nil {
		return nil, err
	}
	k.create.PrepareForCreate(k.request("create"), hub)
	created := &batchv1.Job{}
	if err := legacyscheme.Scheme.Convert(hub, created, nil); err != nil {
		return nil, err
	}
	created.Namespace = oracle.Namespace
	return created, nil
}

// updateErrors returns the errors of the API server on an updated Job, or else on its Pods.
func updateErrors(next, old *batchv1.Job) (rejected []string, err error) {
	k := kindOf("Job")
	var hubs [2]runtime.Object
	for i, from := range []*batchv1.Job{next, old} {
		var fields map[string]any
		if err := oracle.Convert(from, &fields); err != nil {
			return nil, err
		}
		if hubs[i], err = k.decode(fields); err != nil {
			return nil, err
		}
	}
	ctx := k.request("update")
	job.Strategy.PrepareForUpdate(ctx, hubs[0], hubs[1])
	for _, problem := range job.Strategy.ValidateUpdate(ctx, hubs[0], hubs[1]) {
		rejected = append(rejected, fmt.Sprintf("Job %s: %v", next.Name, problem))
	}
	if rejected != nil {
		return rejected, nil
	}
	pod := map[string]any{}
	if err := oracle.Convert(
		corev1.Pod{ObjectMeta: next.Spec.Template.ObjectMeta, Spec: next.Spec.Template.Spec},
		&pod); err != nil {
		return nil, err
	}
	asFields(pod["metadata"])["name"] = strings.ToLower(next.Name)
	return rejectedChild("Pod", pod), nil
}
