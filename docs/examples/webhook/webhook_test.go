package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render/policy"
)

// TestWebhook sends TrainJobs over HTTPS, as the API server does, to the webhook as it is
// registered.
func TestWebhook(t *testing.T) {
	const selector = `trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.nodeSelector["pool"]`
	for _, tc := range []struct {
		name     string
		old, job func(*trainer.TrainJob)
		allowed  bool
		code     int32
		fields   []string
		says     []string
		warns    string
		reason   string
	}{
		{
			name: "conflict", code: http.StatusUnprocessableEntity,
			fields: []string{"spec.runtimePatches[kueue.x-k8s.io/manager]." + selector},
			says: []string{
				"managers set different values",
				`trainer.kubeflow.org/kubeflow-sdk sets "a100-reserved"`,
				`kueue.x-k8s.io/manager sets "a100-spot"`},
			reason: "the answer names the field, both managers and both values",
		},
		{name: "agreement", job: agree, allowed: true, reason: "one value is shared, not disputed"},
		{name: "no patches", job: func(j *trainer.TrainJob) {
			j.Spec.RuntimePatches = nil
		}, allowed: true, reason: "nobody disagrees"},
		{
			name: "unknown job", code: http.StatusUnprocessableEntity,
			fields: []string{"spec.runtimePatches"},
			job: func(j *trainer.TrainJob) {
				agree(j)
				j.Spec.RuntimePatches[0].TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Name = "nod"
			},
			says:   []string{`"nod"`, `did you mean`},
			reason: "a patch for a job that the runtime lacks never takes effect",
		},
		{
			name: "no such runtime", code: http.StatusUnprocessableEntity,
			fields: []string{"spec.runtimeRef"},
			job:    func(j *trainer.TrainJob) { j.Spec.RuntimeRef.Name = "missing" },
			says:   []string{`ClusterTrainingRuntime missing`},
			reason: "there is nothing to lay patches over",
		},
		{
			name: "no such kind", code: http.StatusUnprocessableEntity,
			fields: []string{"spec.runtimeRef.kind"},
			job:    func(j *trainer.TrainJob) { j.Spec.RuntimeRef.Kind = ptr("Runtime") },
			says:   []string{`TrainingRuntime`}, reason: "the kinds are told",
		},
		{
			name: "namespaced runtime", allowed: true,
			reason: "a TrainingRuntime is in the namespace of the TrainJob",
			job: func(j *trainer.TrainJob) {
				agree(j)
				j.Spec.RuntimeRef.Kind = ptr(trainer.TrainingRuntimeKind)
			},
		},
		{
			name: "unreachable", code: http.StatusInternalServerError,
			says: []string{"the connection is lost"},
			job: func(j *trainer.TrainJob) {
				j.Spec.RuntimeRef.Name = "unreachable"
			}, reason: "a failed read says nothing about the TrainJob",
		},
		{
			name: "update of something else", old: func(*trainer.TrainJob) {}, allowed: true,
			job: func(j *trainer.TrainJob) {
				j.Finalizers = []string{"example.com/hold"}
			}, reason: "who was admitted before can go on",
		},
		{
			name: "update of a patch", old: agree, code: http.StatusUnprocessableEntity,
			fields: []string{"spec.runtimePatches[kueue.x-k8s.io/manager]." + selector},
			says:   []string{"a100-spot"}, reason: "a later patch may start to disagree",
		},
		{
			name: "update of a label", old: func(*trainer.TrainJob) {},
			code: http.StatusUnprocessableEntity,
			job: func(j *trainer.TrainJob) {
				j.Labels = map[string]string{"region": "eu"}
			}, says: []string{"a100-spot"},
			fields: []string{"spec.runtimePatches[kueue.x-k8s.io/manager]." + selector},
			reason: "a policy selects TrainJobs by labels",
		},
		{
			name: "a long name", code: http.StatusUnprocessableEntity,
			fields: []string{"spec.runtimePatches[0].manager"},
			job: func(j *trainer.TrainJob) {
				j.Spec.RuntimePatches[0].Manager = "a.b/" + strings.Repeat("c", 6<<20)
			},
			says:   []string{"Too long"},
			reason: "no work begins for a name that the API server rejects",
		},
		{
			name: "warning", job: later, allowed: true, warns: "TW",
			reason: "a warning returns to the user who applied the TrainJob",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			job := trainJob(t)
			if tc.job != nil {
				tc.job(job)
			}
			request := &admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, Object: raw(t, job)}
			if tc.old != nil {
				old := trainJob(t)
				tc.old(old)
				request.Operation, request.OldObject = admissionv1.Update, raw(t, old)
			}
			response := ask(t, request)
			if response.Allowed != tc.allowed || !tc.allowed && response.Result.Code != tc.code {
				t.Fatalf("%s: allowed %v, %+v", tc.reason, response.Allowed, response.Result)
			}
			if warnings := strings.Join(response.Warnings, "\n"); (tc.warns == "") != (warnings == "") || !strings.Contains(warnings, tc.warns) {
				t.Errorf("%s: warnings %q", tc.reason, warnings)
			}
			if tc.allowed {
				return
			}
			for _, part := range tc.says {
				if !strings.Contains(response.Result.Message, part) {
					t.Errorf("%s: the answer lacks %q:\n%s", tc.reason, part,
						response.Result.Message)
				}
			}
			var fields []string
			if tc.fields != nil {
				for _, cause := range response.Result.Details.Causes {
					fields = append(fields, cause.Field)
				}
			}
			if strings.Join(fields, "\n") != strings.Join(tc.fields, "\n") {
				t.Errorf("%s: fields %q, want %q", tc.reason, fields, tc.fields)
			}
		})
	}
}

// TestAnswer_Bounded sends many variables on whose long values the managers disagree.
func TestAnswer_Bounded(t *testing.T) {
	job := trainJob(t)
	for i := range job.Spec.RuntimePatches[:2] {
		pod := job.Spec.RuntimePatches[i].TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
		pod.NodeSelector = map[string]string{}
		for n := range 2000 {
			pod.NodeSelector[fmt.Sprint("k", n)] = fmt.Sprint(i, strings.Repeat("v", 200))
		}
	}
	response := ask(
		t, &admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: raw(t, job)})
	if text, err := json.Marshal(response); err != nil || response.Allowed || len(text) > 1<<18 {
		t.Errorf("allowed %t, with an answer of %d bytes, %v", response.Allowed, len(text), err)
	}
}

// TestPolicy wants the webhook to answer by the file that the command line reads.
func TestPolicy(t *testing.T) {
	const managers = "managers:\n  - name: trainer.kubeflow.org/kubeflow-sdk\n  - name: " +
		"kueue.x-k8s.io/manager\n"
	for _, tc := range []struct {
		name, policy  string
		job           func(*trainer.TrainJob)
		allowed       bool
		answer, warns string
	}{
		{name: "known managers", policy: managers, job: agree, allowed: true},
		{name: "an unknown manager", policy: "managers: [{name: kueue.x-k8s.io/manager}]\n",
			job: agree, answer: `lists no manager "trainer.kubeflow.org/kubeflow-sdk"`},
		{name: "another order",
			policy: "managers: [{name: kueue.x-k8s.io/manager}, {name: " +
				"trainer.kubeflow.org/kubeflow-sdk}]\n", job: agree, answer: "must come before"},
		{name: "a missing manager",
			policy: managers + "  - {name: a.example.com/a, required: true}\n", job: agree,
			answer: "Required value: a patch of a.example.com/a"},
		{name: "a missing manager of other TrainJobs",
			policy: managers +
				"  - {name: a.example.com/a, required: true, for: {namespaces: [team-b]}}\n",
			job: agree, allowed: true},
		{name: "a forbidden field", policy: managers + "    paths: [.metadata.labels]\n",
			job: agree, answer: "does not let kueue.x-k8s.io/manager set this field"},
		{name: "a conflict as a warning", policy: "severities: {TW300: warning}\n", allowed: true,
			warns: "TW300"},
		{name: "a conflict that is off", policy: "severities: {TW300: off}\n", allowed: true},
		{name: "a violation as a warning",
			policy: "managers: [{name: kueue.x-k8s.io/manager}]\nseverities: {TW230: warning}\n",
			job:    agree, allowed: true, warns: "TW230"},
		{name: "a warning as an error", policy: "severities: {TW213: error}\n", job: later,
			answer: "TW213"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "trainweld.yaml")
			if err := os.WriteFile(file, []byte(tc.policy), 0o666); err != nil {
				t.Fatal(err)
			}
			job := trainJob(t)
			if tc.job != nil {
				tc.job(job)
			}
			response := askWith(
				t, file, &admissionv1.AdmissionRequest{
					Operation: admissionv1.Create, Object: raw(t, job)})
			if response.Allowed != tc.allowed {
				t.Fatalf("allowed: %t, want %t: %+v", response.Allowed, tc.allowed, response.Result)
			}
			if !tc.allowed && !strings.Contains(response.Result.Message, tc.answer) {
				t.Errorf("the answer is %q, want %q in it", response.Result.Message, tc.answer)
			}
			if warnings := strings.Join(response.Warnings, "\n"); (tc.warns == "") != (warnings == "") || !strings.Contains(warnings, tc.warns) {
				t.Errorf("the warnings are %q, want %q in them", warnings, tc.warns)
			}
		})
	}
}

// TestUsers lets a policy name the users of a manager's patch, as the objects of trainweld policy
// do.
func TestUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trainweld.yaml")
	const text = "managers:\n  - name: trainer.kubeflow.org/kubeflow-sdk\n  - {name: " +
		"kueue.x-k8s.io/manager, users: [ann], serviceAccounts: [kueue/manager]}\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	label := func(job *trainer.TrainJob) { agree(job); job.Labels = map[string]string{"a": "b"} }
	one := func(job *trainer.TrainJob) {
		agree(job)
		job.Spec.RuntimePatches = job.Spec.RuntimePatches[:1]
	}
	later := metav1.Unix(1, 0)
	timed := func(job *trainer.TrainJob) { label(job); job.Spec.RuntimePatches[1].Time = &later }
	for _, tc := range []struct {
		name, user string
		old, job   func(*trainer.TrainJob) // old is nil on create
		allowed    bool
	}{
		{"create", "bob", nil, agree, false},
		{"create by the user", "ann", nil, agree, true},
		{"create by the account", "system:serviceaccount:kueue:manager", nil, agree, true},
		{"create by nobody", "", nil, agree, false},
		{"create without the patch", "bob", nil, one, true},
		{"add", "bob", one, agree, false},
		{"remove", "bob", agree, one, false},
		{"remove by the user", "ann", agree, one, true},
		{"change", "bob", func(*trainer.TrainJob) {}, agree, false},
		{"change of a label", "bob", agree, label, true},
		{"change of a time", "bob", agree, timed, true},
	} {
		job := trainJob(t)
		tc.job(job)
		request := &admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: raw(t, job)}
		request.UserInfo.Username = tc.user
		if tc.old != nil {
			old := trainJob(t)
			tc.old(old)
			request.Operation, request.OldObject = admissionv1.Update, raw(t, old)
		}
		response := askWith(t, file, request)
		says := "does not let " + tc.user + " change the patch"
		if response.Allowed != tc.allowed ||
			!tc.allowed && !strings.Contains(response.Result.Message, says) {
			t.Errorf("%s: allowed %t, want %t: %+v", tc.name, response.Allowed, tc.allowed,
				response.Result)
		}
	}
}

// TestHostile sends objects that no user means. None makes the webhook panic, and each answer is
// short.
func TestHostile(t *testing.T) {
	const head = `{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"llm","namespace":"team-a"},"spec":`
	patched := func(patches string) string {
		return head + `{"runtimeRef":{"name":"torch-a100"},"runtimePatches":[` + patches + `]}}`
	}
	jobs := func(list string) string {
		return patched(
			`{"manager":"a.io/b","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[` +
				list + `]}}}}`)
	}
	pod := func(spec string) string {
		return jobs(`{"name":"node","template":{"spec":{"template":{"spec":` + spec + `}}}}`)
	}
	long := strings.Repeat("x", 1<<20)
	for _, text := range []string{
		`{}`, `null`, `[]`, `"x"`, head + `null}`, head + `{"runtimeRef":null}}`,
		head + `{"runtimeRef":{"name":"` + long + `"}}}`,
		patched(`null`), patched(`{}`), patched(`{"manager":"a.io/b","trainingRuntimeSpec":null}`),
		patched(`{"manager":"a.io/b","trainingRuntimeSpec":{"template":null}}`),
		patched(strings.Repeat(`{"manager":"a.io/b"},`, 5000) + `{}`), jobs(`null`),
		jobs(`{"name":"node"}`), jobs(`{"name":"node","template":null}`),
		pod(`{"containers":[null,{}]}`),
		pod(`{"containers":[{"name":"node","env":[null,{}]},{"name":"node"}]}`),
		pod(`{"containers":[{"name":"` + long + `"}]}`),
		pod(`{"volumes":[null,{}],"tolerations":[null],"imagePullSecrets":[{},null],"schedulingGates":[null],"securityContext":null}`),
		pod(`{"nodeSelector":{"$patch":"delete"}}`),
		pod(`{"nodeSelector":{"\u0000":"\ud800","` + long + `":""}}`), pod(`{"$patch":"delete"}`),
		pod(`{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[null]}}}}`),
	} {
		for _, old := range []string{"", `{}`, `null`, `{"kind":"Pod","apiVersion":"v1"}`,
			patched("")} {
			request := &admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte(text)}}
			if old != "" {
				request.Operation, request.OldObject = admissionv1.Update,
					runtime.RawExtension{Raw: []byte(old)}
			}
			response := ask(t, request)
			answer, err := json.Marshal(response)
			if err != nil || bytes.Contains(answer, []byte("panic")) || len(answer) > 1<<18 {
				t.Errorf("%.200s over %s: %v, %.500s", text, old, err, answer)
			}
		}
	}
}

// TestReloading changes the policy file under a handler. With a broken or missing file, a request
// fails with the status 500. The API server then follows the failurePolicy.
func TestReloading(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trainweld.yaml")
	made := 0
	hook := &reloading{file: file, handler: func(rules *policy.Policy) (http.Handler, error) {
		made++
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, rules.Managers())
		}), nil
	}}
	for _, tc := range []struct {
		text   string // "" removes the file
		status int
		says   string
		made   int
	}{
		{"managers: [{name: a.example.com/a}]\n", http.StatusOK, "[a.example.com/a]", 1},
		{"managers: [{name: a.example.com/a}]\n", http.StatusOK, "[a.example.com/a]", 1},
		{"manager: []\n", http.StatusInternalServerError, `did you mean "managers"?`, 1},
		{"managers: [{name: a.example.com/a}]\n", http.StatusOK, "[a.example.com/a]", 1},
		{"managers: [{name: b.example.com/b}]\n", http.StatusOK, "[b.example.com/b]", 2},
		{"", http.StatusInternalServerError, "no such file", 2},
	} {
		err := os.WriteFile(file, []byte(tc.text), 0o666)
		if tc.text == "" {
			err = os.Remove(file)
		}
		if err != nil {
			t.Fatal(err)
		}
		answer := httptest.NewRecorder()
		hook.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, path, nil))
		if body := answer.Body.String(); answer.Code != tc.status ||
			!strings.Contains(body, tc.says) || made != tc.made {
			t.Errorf("%q: status %d after %d handlers, want %d after %d: %s", tc.text, answer.Code,
				made, tc.status, tc.made, body)
		}
	}
}

func TestDelete(t *testing.T) {
	if response := ask(
		t, &admissionv1.AdmissionRequest{
			Operation: admissionv1.Delete, OldObject: raw(t, trainJob(t))}); !response.Allowed {
		t.Errorf("what disagrees can be deleted: %+v", response.Result)
	}
}

// agree lets both managers say the same.
func agree(job *trainer.TrainJob) {
	for _, patch := range job.Spec.RuntimePatches {
		patch.TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector = map[string]string{"pool": "a100-reserved"}
	}
}

// later lets one manager's variable refer to one that the merge puts after it.
func later(job *trainer.TrainJob) {
	agree(job)
	pod := job.Spec.RuntimePatches[0].TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	pod.Containers = []trainer.ContainerPatch{
		{Name: "metrics", Env: []corev1.EnvVar{{Name: "DATA", Value: "$(ROOT)/data"}}}}
}

// ask sends a request over HTTPS and returns the answer to it.
func ask(t *testing.T, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	return askWith(t, "", request)
}

func askWith(t *testing.T, file string,
	request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	cluster := &trainer.ClusterTrainingRuntime{}
	decode(t, "testdata/runtime.yaml", cluster)
	namespaced := &trainer.TrainingRuntime{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: cluster.Name}, Spec: cluster.Spec}
	runtimes := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		cluster, namespaced).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object,
			opts ...client.GetOption) error {
			if key.Name == "unreachable" {
				return errors.New("the connection is lost")
			}
			return c.Get(ctx, key, into, opts...)
		},
	}).Build()
	mux := http.NewServeMux()
	mux.Handle(path,
		&reloading{file: file, handler: func(rules *policy.Policy) (http.Handler, error) {
			return admission.StandaloneWebhook(
				admission.WithValidator(scheme, validator{runtimes: runtimes, policy: rules}),
				admission.StandaloneOptions{})
		}})
	server := httptest.NewTLSServer(mux)
	defer server.Close()

	request.UID = "7f3c"
	request.Kind = metav1.GroupVersionKind{Group: trainer.GroupVersion.Group,
		Version: trainer.GroupVersion.Version, Kind: trainer.TrainJobKind}
	review := admissionv1.AdmissionReview{Request: request}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Post(server.URL+path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got admissionv1.AdmissionReview
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Response == nil || got.Response.UID != request.UID {
		t.Fatalf("the answer is none to this request: %+v", got)
	}
	return got.Response
}

// trainJob is the TrainJob of testdata, whose managers disagree.
func trainJob(t *testing.T) *trainer.TrainJob {
	t.Helper()
	job := &trainer.TrainJob{}
	decode(t, "testdata/job.yaml", job)
	return job
}

func decode(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func raw(t *testing.T, object any) runtime.RawExtension {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: text}
}

func ptr[T any](v T) *T { return &v }
