package cluster

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/vap"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/policy"
)

// storedRuntime and storedJob are there before the policy is. The TrainJob is suspended, so that
// its patches may change.
const (
	storedRuntime = `{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{"name":"rt","labels":{"trainer.kubeflow.org/framework":"torch"}},"spec":{"template":{"spec":{"replicatedJobs":[
		{"name":"node","template":{"metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},"spec":{"template":{"spec":{"containers":[{"name":"node","image":"i"}]}}}}}]}}}}`
	storedJob = `{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"stored","labels":{"tier":"a"}},"spec":{"suspend":true,"runtimeRef":{"kind":"TrainingRuntime","name":"rt"},"runtimePatches":[
		{"manager":"example.com/m0","trainingRuntimeSpec":{"template":{"metadata":{"labels":{"a":"b"}}}}},
		{"manager":"example.com/m1","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":{"nodeSelector":{"pool":"a"}}}}}}]}}}}]}}`
)

// tryPolicies installs each policy in its own namespace and sends requests of several users. It
// compares each verdict of the API server with the one of the expressions without a cluster. What
// the API server admits, check must accept.
func (c *ControlPlane) tryPolicies(t *testing.T, policies, requests int) {
	counts := map[string]int{}
	for n := range policies {
		r := rand.New(rand.NewPCG(*seed, uint64(n)))
		text := fuzz.PolicyFile(r)
		namespace := c.stored(t)
		const tenth = 10 // to check types takes longer than all else
		p, expressions := c.enforce(t, text, namespace, n%tenth == 0)
		path := trainJobs(namespace)
		stored, err := c.Do(http.MethodGet, path+"/stored", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range requests {
			var job, before Object
			method, at := http.MethodPost, path
			if job = fuzz.PolicyRequest(r); i%2 == 0 {
				if err := json.Unmarshal(stored.Body, &before); err != nil {
					t.Fatal(err)
				}
				job, method, at = fuzz.PolicyUpdate(r, before), http.MethodPut, path+"/stored"
			}
			job["metadata"].(Object)["namespace"] = namespace
			user := fuzz.PolicyUsers[r.IntN(len(fuzz.PolicyUsers))]
			body, err := json.Marshal(job)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := c.send(user, method, at+"?dryRun=All", "application/json", body)
			if err != nil {
				t.Fatal(err)
			}
			said := string(answer.Body)
			denied := strings.Contains(said, "denied request: ")
			if !denied && answer.Status >= 300 && !strings.Contains(said, "admission webhook") {
				counts["invalid"]++
				continue
			}
			var plain Object
			if err := json.Unmarshal(body, &plain); err != nil {
				t.Fatal(err)
			}
			judged, err := admission.Mutated(nil, before, plain, namespace)
			if err != nil {
				t.Fatalf("%v\n%s", err, body)
			}
			verdict := expressions.Validate(t.Context(), judged, before, user)
			counts[fmt.Sprintf("%s refused %t", method, denied)]++
			named := false
			for _, one := range verdict.Rejected {
				quoted, _ := json.Marshal("denied request: " + one.Message)
				named = named || strings.Contains(said, strings.Trim(string(quoted), `"`))
			}
			if denied != (len(verdict.Rejected) > 0) || denied && !named {
				t.Errorf("%s by %s: the API server: %.600s\nthe expressions: %v\n%s\n%s", method,
					user, said, verdict.Rejected, text, body)
			}
			if denied || verdict.Skipped {
				continue
			}
			if found := violations(t, p, judged); found != nil {
				t.Errorf("%s by %s: the API server admits, and check reports %v\n%s\n%s", method,
					user, found, text, body)
			}
			counts[method+" admitted and accepted by check"]++
		}
	}
	t.Logf("%d policies, %d requests: %v", policies, policies*requests, counts)
	for _, want := range []string{"POST refused true", "POST refused false", "PUT refused true",
		"PUT refused false"} {
		if counts[want] == 0 {
			t.Errorf("no %s", want)
		}
	}
}

// violations returns what check reports of a TrainJob by the rules that expressions state.
func violations(t *testing.T, p *policy.Policy, object Object) finding.List {
	t.Helper()
	job := &trainer.TrainJob{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, job); err != nil {
		t.Fatal(err)
	}
	found := p.Check(job, job.Spec.RuntimePatches)
	found = append(
		found, render.Conflicts(render.Input{TrainJob: job}, render.Options{}).Of(codes.Overlap)...)
	return found.Where(func(f finding.Finding) bool { return p.Severity(f) == finding.Error })
}

// trainJobs returns the path of the TrainJobs of a namespace.
func trainJobs(namespace string) string {
	return "/apis/trainer.kubeflow.org/v1alpha1/namespaces/" + namespace + "/trainjobs"
}

// stored returns a new namespace that holds the stored objects.
func (c *ControlPlane) stored(t *testing.T) string {
	t.Helper()
	namespace, err := c.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []string{storedRuntime, storedJob} {
		var of Object
		if err := json.Unmarshal([]byte(object), &of); err != nil {
			t.Fatal(err)
		}
		for try := range 100 { // the webhook may not know the runtime yet
			answer, err := c.Create(of, namespace, "")
			if err == nil && answer.Status == http.StatusCreated {
				break
			}
			if err != nil || try == 99 {
				t.Fatalf("%v %s", err, answer.Body)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return namespace
}

// enforce puts a policy into force in a namespace, and may check the types of its expressions
// first.
func (c *ControlPlane) enforce(t *testing.T, text, namespace string,
	isTyped bool) (*policy.Policy, *vap.Expressions) {
	t.Helper()
	p, found := policy.Parse("trainweld.yaml", []byte(text))
	if found != nil {
		t.Fatalf("%s\n%v", text, found)
	}
	name := "policy-" + namespace
	objects := policy.AdmissionPolicies(p, name).Policies
	expressions, err := vap.Compile(objects...)
	if err != nil {
		t.Fatal(err)
	}
	scope := policy.Scope{
		Namespaces: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}}
	var checked time.Duration
	start := time.Now()
	for _, object := range objects {
		if isTyped {
			if warnings := c.typeWarnings(t, object); len(warnings) > 0 {
				t.Errorf("%s\n%v", text, warnings)
			}
		}
		checked += time.Since(start)
		start = time.Now()
		c.post(t, "validatingadmissionpolicies", object)
		c.post(t, "validatingadmissionpolicybindings", policy.AdmissionBinding(scope, object))
	}
	c.waitForPolicy(t, trainJobs(namespace))
	t.Logf("the types are checked in %v, the policy is in force after %v", checked,
		time.Since(start))
	return p, expressions
}

func (c *ControlPlane) post(t *testing.T, plural string, object any) {
	t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := c.Do(http.MethodPost, "/apis/admissionregistration.k8s.io/v1/"+plural,
		body); err != nil || answer.Status != http.StatusCreated {
		t.Fatalf("%v %s", err, answer.Body)
	}
}

// waitForPolicy waits until the API server enforces the policy of a namespace: it knows no manager
// x.
func (c *ControlPlane) waitForPolicy(t *testing.T, path string) {
	t.Helper()
	probe := `{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"probe"},"spec":{"runtimeRef":{"kind":"TrainingRuntime","name":"rt"},"runtimePatches":[{"manager":"x.example.com/x"}]}}`
	for range 600 {
		answer, err := c.Do(http.MethodPost, path+"?dryRun=All", []byte(probe))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(answer.Body), "denied request: ") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the policy is not enforced after 30 seconds")
}

// typeWarnings returns the warnings that the controller of policies writes to their status.
func (c *ControlPlane) typeWarnings(t *testing.T,
	object Object) []admissionregistration.ExpressionWarning {
	t.Helper()
	var of admissionregistration.ValidatingAdmissionPolicy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &of); err != nil {
		t.Fatal(err)
	}
	client := discovery.NewDiscoveryClientForConfigOrDie(c.rest)
	checker := validating.TypeChecker{
		SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: client},
		RestMapper:     restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client)),
	}
	return checker.Check(&of)
}
