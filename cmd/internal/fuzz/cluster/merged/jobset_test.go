package merged

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/capabilities"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/webhooks"

	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/oracle/jobs"
)

// TestVerdicts_JobSet is TestVerdicts for JobSets. The other verdict is that of JobSet's definition
// and webhooks on the JobSet, and of Kubernetes on the Jobs, Pods and claims that JobSet's
// controller creates.
func TestVerdicts_JobSet(t *testing.T) {
	capabilities.Setup(true, 0)
	server := newServer(t)
	c := comparison{name: "JobSet", stream: 100, rare: 2, random: func(g *generator) *mergeCase {
		return g.mergeCase(baseJobSet, g.jobSet, server.rejections)
	}}
	if c.isLeftOut() {
		return
	}
	definition := released(t, "JobSet")
	for _, typ := range []string{option.ApplyType, option.JSONType, operationsType} {
		c.run(t, typ, definition)
	}
}

var baseJobSet = `{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"set"},"spec":{"replicatedJobs":[` +
	`{"name":"a","replicas":1,"template":{"spec":{"template":` +
	templateOf(`,"restartPolicy":"Never"`) + `}}},` +
	`{"name":"b","replicas":2,"template":{"spec":{"template":` +
	templateOf(`,"restartPolicy":"OnFailure"`) + `}}}]}}`

// server is an API server with JobSet's webhooks and definitions.
type server struct {
	*oracle.Oracle
	code jobs.Code
}

func newServer(t *testing.T) server {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	dirs, err := moduleDirs()
	if err != nil {
		t.Fatal(err)
	}
	code := jobs.Code{
		Webhooks: webhooks.Setup,
		Reconciler: func(c client.Client, scheme *runtime.Scheme) reconcile.Reconciler {
			return controllers.NewJobSetReconciler(c, scheme, events.NewFakeRecorder(1000))
		},
	}
	o, err := oracle.New(nil, code, oracle.Modules{JobSet: dirs[1], Trainer: dirs[2]})
	if err != nil {
		t.Fatal(err)
	}
	return server{o, code}
}

// rejections returns the errors on a JobSet, and on what is created for it.
func (s server) rejections(fields map[string]any, applied bool) []string {
	if applied { // the webhook keeps nulls, and sets much that is missing
		ofNull := func(text string) bool { return strings.Contains(text, "null") }
		if rejected := refusedBy(s.Oracle, fields, true); slices.ContainsFunc(rejected, ofNull) {
			return rejected
		}
	}
	stored, rejected, err := s.Apply(fields, nil)
	if err != nil {
		return []string{err.Error()}
	}
	if rejected != nil {
		return rejected
	}
	asFields(stored["metadata"])["uid"] = "u"         // for the owner references
	delete(asFields(stored["spec"]), "startupPolicy") // else Jobs wait for others
	for _, job := range listIn(stored, "spec", "replicatedJobs") {
		delete(asFields(job), "dependsOn")
		if n, ok := asFields(job)["replicas"].(int64); ok && n > 1 { // one is enough
			asFields(job)["replicas"] = int64(1)
		}
	}
	children, err := s.Children(stored)
	if err != nil {
		return []string{err.Error()}
	}
	for _, child := range children.Created {
		switch child["kind"] {
		case "Job":
			template := asFields(asFields(child["spec"])["template"])
			metadata := maps.Clone(asFields(template["metadata"]))
			metadata["name"] = "pod"
			rejected = append(rejected, rejectedChild("Job", child)...)
			if by := asFields(child["spec"])["managedBy"]; by != nil &&
				by != batchv1.JobControllerName {
				continue // the cluster's own controller makes no Pods of it
			}
			rejected = append(
				rejected, rejectedChild(
					"Pod", map[string]any{"metadata": metadata, "spec": template["spec"]})...)
		case "PersistentVolumeClaim":
			rejected = append(rejected, rejectedChild("PersistentVolumeClaim", child)...)
		}
	}
	return rejected
}

// rejectedChild returns the errors on a whole object that a controller creates.
func rejectedChild(kind string, fields map[string]any) (rejected []string) {
	k := kindOf(kind)
	k.template = ""
	fields["apiVersion"], fields["kind"] = k.version.String(), kind
	for _, text := range k.rejections(fields) {
		rejected = append(rejected, kind+": "+text)
	}
	return rejected
}

// listIn returns a list within an object.
func listIn(fields map[string]any, path ...string) []any {
	last := len(path) - 1
	for _, name := range path[:last] {
		fields = asFields(fields[name])
	}
	list, _ := fields[path[last]].([]any)
	return list
}

// jobSet returns a patch of a JobSet: much in its Pod templates, and some of the rest.
func (g *generator) jobSet() map[string]any {
	spec := map[string]any{}
	if g.chance(3) {
		spec = g.object(reflect.TypeFor[jobset.JobSetSpec](), 0)
	}
	var all []any
	for _, name := range []string{"a", "b", "new"} {
		if name == "new" && !g.chance(10) || g.chance(2) {
			continue
		}
		job := map[string]any{"name": name}
		if g.chance(4) {
			job = g.object(reflect.TypeFor[jobset.ReplicatedJob](), 0)
		}
		jobSpec := map[string]any{}
		if g.chance(5) {
			jobSpec = g.object(reflect.TypeFor[batchv1.JobSpec](), 0)
		}
		spec := g.object(reflect.TypeFor[corev1.PodSpec](), 0)
		for _, name := range []string{"priority", "priorityClassName", "preemptionPolicy",
			"overhead", "runtimeClassName"} {
			delete(spec, name) // an admission plugin judges these of a Pod
		}
		pods := map[string]any{"spec": spec}
		if g.chance(12) {
			pods["metadata"] = g.metadata()
		}
		jobSpec["template"] = pods
		job["template"] = map[string]any{"spec": jobSpec}
		all = append(all, job)
	}
	if len(all) > 0 {
		spec["replicatedJobs"] = all
	}
	return map[string]any{"spec": spec}
}
