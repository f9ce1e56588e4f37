package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	configapi "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	trainerruntime "github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	"github.com/kubeflow/trainer/v2/pkg/webhooks"

	"github.com/trainweld/trainweld/fuzz"
	checked "github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/schema"
)

// apiServer does with TrainJobs and runtimes what an API server does that has the Trainer's definitions, as
// the module ships them, and its webhooks, which run in process.
type apiServer struct {
	t      *testing.T
	scheme *runtime.Scheme
	kinds  map[string]*storedKind
	hooks  map[string]*admission.Webhook
	held   client.Client
}

type storedKind struct {
	schema    *structural.Structural
	validator validation.SchemaValidator
	rules     *cel.Validator
	scoped    bool
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	s := &apiServer{t: t, scheme: runtime.NewScheme(), kinds: map[string]*storedKind{}}
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, trainer.AddToScheme, jobset.AddToScheme, schedulingv1.AddToScheme} {
		if err := add(s.scheme); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/trainer/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "manifests/base/crds/trainer.kubeflow.org_*.yaml"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, crd); err != nil {
			t.Fatal(err)
		}
		internal := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil); err != nil {
			t.Fatal(err)
		}
		k := &storedKind{scoped: crd.Spec.Scope == apiextensionsv1.NamespaceScoped}
		if k.schema, err = structural.NewStructural(internal); err != nil {
			t.Fatal(err)
		}
		if k.validator, _, err = validation.NewSchemaValidator(internal); err != nil {
			t.Fatal(err)
		}
		k.rules = cel.NewValidator(k.schema, true, celconfig.PerCallLimit)
		s.kinds[crd.Spec.Names.Kind] = k
	}
	return s
}

// hold makes the server hold the objects, and sets the webhooks up over it.
func (s *apiServer) hold(objects ...client.Object) {
	s.t.Helper()
	builder := fake.NewClientBuilder().WithScheme(s.scheme).WithObjects(objects...)
	s.held = builder.Build()
	runtimes, err := core.New(context.Background(), s.held, fakeIndexer{builder}, &configapi.Configuration{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.hooks = map[string]*admission.Webhook{}
	if what, err := webhooks.Setup(&trainerManager{server: s}, map[string]trainerruntime.Runtime(runtimes)); err != nil {
		s.t.Fatal(what, err)
	}
}

// apply creates an object, or updates old; it returns what is stored, or why nothing is.
func (s *apiServer) apply(object, old map[string]any) (stored map[string]any, refused []string) {
	kind, _ := object["kind"].(string)
	k := s.kinds[kind]
	decoded, errs := s.decode(k, object)
	if len(errs) > 0 {
		return nil, errs
	}
	plural := strings.ToLower(kind)
	if kind == "TrainJob" {
		mutated, err := s.hook("/mutate-trainer-kubeflow-org-v1alpha1-"+plural, decoded, old)
		if err != "" {
			return nil, []string{err}
		}
		if decoded, errs = s.decode(k, mutated); len(errs) > 0 {
			return nil, errs
		}
	}
	if errs := s.validate(k, decoded, old); len(errs) > 0 {
		for _, err := range errs {
			refused = append(refused, err.Error())
		}
		return nil, refused
	}
	labelled := func(o map[string]any) bool {
		u := unstructured.Unstructured{Object: o}
		return u.GetLabels()["trainer.kubeflow.org/webhook-validation"] == "disabled"
	}
	if kind != "TrainJob" && labelled(decoded) && (old == nil || labelled(old)) {
		return decoded, nil
	}
	if _, err := s.hook("/validate-trainer-kubeflow-org-v1alpha1-"+plural, decoded, old); err != "" {
		return nil, []string{err}
	}
	return decoded, nil
}

func (s *apiServer) decode(k *storedKind, object map[string]any) (map[string]any, []string) {
	o := asJSON(object)
	metadata, _, unknown, err := objectmeta.GetObjectMetaWithOptions(o, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, []string{err.Error()}
	}
	unknown = append(unknown, pruning.PruneWithOptions(o, k.schema, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	if len(unknown) > 0 {
		return nil, []string{"unknown fields " + strings.Join(unknown, ", ")}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(o, k.schema)
	if err, _ := objectmeta.CoerceWithOptions(nil, o, k.schema, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true}); err != nil {
		return nil, []string{err.Error()}
	}
	if metadata != nil {
		metadata.Namespace = ""
		if k.scoped {
			metadata.Namespace = "ns"
		}
		_ = objectmeta.SetObjectMeta(o, metadata)
	}
	defaulting.Default(o, k.schema)
	return o, nil
}

func (s *apiServer) hook(path string, object, old map[string]any) (map[string]any, string) {
	raw, _ := json.Marshal(object)
	request := admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw}}
	if old != nil {
		before, _ := json.Marshal(old)
		request.Operation, request.OldObject = admissionv1.Update, runtime.RawExtension{Raw: before}
	}
	response := func() (r admission.Response) {
		defer func() {
			if p := recover(); p != nil {
				r = admission.Denied(fmt.Sprintf("panic: %v", p))
			}
		}()
		return s.hooks[path].Handle(context.Background(), admission.Request{AdmissionRequest: request})
	}()
	if !response.Allowed {
		return nil, path + ": " + response.Result.Message
	}
	if len(response.Patches) > 0 {
		data, _ := json.Marshal(response.Patches)
		patch, err := jsonpatch.DecodePatch(data)
		if err != nil {
			s.t.Fatal(err)
		}
		if raw, err = patch.Apply(raw); err != nil {
			s.t.Fatal(err)
		}
	}
	var out map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &out); err != nil {
		s.t.Fatal(err)
	}
	return out, ""
}

func (s *apiServer) validate(k *storedKind, o, old map[string]any) field.ErrorList {
	at := field.NewPath("metadata")
	var errs field.ErrorList
	var rules []cel.Option
	var before any
	if old == nil {
		errs = apivalidation.ValidateObjectMetaAccessor(&unstructured.Unstructured{Object: o}, k.scoped, apivalidation.NameIsDNSSubdomain, at)
		errs = append(errs, validation.ValidateCustomResource(nil, o, k.validator)...)
	} else {
		before = old
		correlated := common.NewCorrelatedObject(o, old, &model.Structural{Structural: k.schema})
		rules = append(rules, cel.WithRatcheting(correlated))
		a, b := &unstructured.Unstructured{Object: asJSON(o)}, &unstructured.Unstructured{Object: asJSON(old)}
		a.SetResourceVersion("1")
		b.SetResourceVersion("1")
		errs = apivalidation.ValidateObjectMetaAccessorUpdate(a, b, at)
		errs = append(errs, validation.ValidateCustomResourceUpdate(nil, o, old, k.validator, validation.WithRatcheting(correlated))...)
	}
	errs = append(errs, objectmeta.Validate(nil, o, k.schema, false)...)
	if old == nil || len(listtype.ValidateListSetsAndMaps(nil, k.schema, old)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.schema, o)...)
	}
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return errs
		}
	}
	broken, _ := k.rules.Validate(context.Background(), nil, k.schema, o, before, celconfig.RuntimeCELCostBudget, rules...)
	return append(errs, broken...)
}

type trainerManager struct {
	ctrl.Manager
	server *apiServer
}

func (m *trainerManager) GetScheme() *runtime.Scheme              { return m.server.scheme }
func (m *trainerManager) GetConfig() *rest.Config                 { return &rest.Config{} }
func (m *trainerManager) GetLogger() logr.Logger                  { return logr.Discard() }
func (m *trainerManager) GetRESTMapper() meta.RESTMapper          { return nil }
func (m *trainerManager) GetControllerOptions() config.Controller { return config.Controller{} }
func (m *trainerManager) GetWebhookServer() webhook.Server {
	return trainerHooks{hookServer{nil}, m.server.hooks}
}
func (m *trainerManager) GetClient() client.Client { return m.server.held }

type trainerHooks struct {
	hookServer
	into map[string]*admission.Webhook
}

func (s trainerHooks) Register(path string, hook http.Handler) {
	if hook, ok := hook.(*admission.Webhook); ok {
		s.into[path] = hook
	}
}

func asJSON(object map[string]any) map[string]any {
	data, _ := json.Marshal(object)
	var out map[string]any
	_ = kjson.UnmarshalCaseSensitivePreserveInts(data, &out)
	return out
}

// admissionCodes are those of findings on what admission refuses, as opposed to what is refused later or
// never, and to what only this program refuses.
func refusedAtAdmission(f schema.Finding) bool {
	if f.Severity != schema.Error || f.Code == schema.CodeRuntimeRefused {
		return false
	}
	switch f.Object.Kind {
	case "TrainJob", "TrainingRuntime", "ClusterTrainingRuntime", "":
	default:
		return false
	}
	switch f.Code {
	case schema.CodeNoRuntime, schema.CodeUnknownRuntime, schema.CodeUnknownField, schema.CodeWrongType, schema.CodeBadManager, schema.CodeDuplicateManager, schema.CodeEnvOnMain, schema.CodeEnvInjection, schema.CodePatchedRunning, schema.CodeImmutable, schema.CodeUnknownVersion:
		return true
	case schema.CodeDuplicateItem:
		return !strings.Contains(f.Message, "has no ")
	case schema.CodeDirective:
		return true
	}
	return f.Code >= "TW500" && f.Code < "TW530"
}

// TestAdmission compares verdicts: of the shipped definitions with the Trainer's own webhooks, and of
// package admission.
func TestAdmission(t *testing.T) {
	n, ok := number(t, "TRAINWELD_ADMISSIONS")
	if !ok {
		n = 1000
	}
	series, _ := number(t, "TRAINWELD_SEED")
	s := newAPIServer(t)
	stats := map[string]int{}
	bad := 0
	recorded := recordedPairs(t)
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(series), uint64(i)))
		pair := fuzz.Render(uint64(series)*1_000_000+uint64(i), fuzz.PairOptions{Policies: []fuzz.Policy{fuzz.Plain, fuzz.Torch, fuzz.JAX, fuzz.XGBoost, fuzz.MPI, fuzz.Flux, fuzz.Coscheduling, fuzz.Volcano}})
		job, _ := checked.Encode(pair.TrainJob)
		rt, _ := checked.Encode(pair.Runtime)
		pruning.Prune(job, s.kinds["TrainJob"].schema, true)
		pruning.Prune(rt, s.kinds["TrainingRuntime"].schema, true)
		if r.IntN(10) > 0 {
			pick := recorded[r.IntN(len(recorded))]
			job, rt = asJSON(pick[0]), asJSON(pick[1])
		} else if r.IntN(3) == 0 {
			rt["kind"] = "TrainingRuntime"
			job["spec"].(map[string]any)["runtimeRef"].(map[string]any)["kind"] = "TrainingRuntime"
		}
		m := mutator{r}
		if r.IntN(3) == 0 {
			m.mutate(rt)
		}
		changed := job
		if r.IntN(3) > 0 {
			changed = asJSON(job)
			m.mutate(changed)
		}
		update := r.IntN(2) == 0
		want, why, got, found := s.compare(t, rt, job, changed, update)
		key := fmt.Sprintf("upstream refused=%v ours=%v update=%v", want, got, update)
		stats[key]++
		if want != got {
			bad++
			if bad < 25 {
				t.Errorf("case %d (%s): upstream %v\n%v\nours %v\n%v", i, key, want, why, got, found)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(stats)) {
		t.Logf("%6d %s", stats[key], key)
	}
}

// TestRuntimeUpdates compares verdicts on changed runtimes.
func TestRuntimeUpdates(t *testing.T) {
	n, ok := number(t, "TRAINWELD_ADMISSIONS")
	if !ok {
		n = 1000
	}
	series, _ := number(t, "TRAINWELD_SEED")
	s := newAPIServer(t)
	s.hold()
	recorded := recordedPairs(t)
	stats := map[string]int{}
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(series)+77, uint64(i)))
		rt := asJSON(recorded[r.IntN(len(recorded))][1])
		if r.IntN(4) == 0 {
			m := rt["metadata"].(map[string]any)
			m["labels"] = map[string]any{"trainer.kubeflow.org/webhook-validation": "disabled"}
		}
		changed := asJSON(rt)
		mutator{r}.mutate(changed)
		old, refused := s.apply(rt, nil)
		if old == nil {
			continue
		}
		_, refused = s.apply(changed, old)
		_, found := checked.UpdateRuntime(t.Context(), rt, changed, "ns")
		got := slices.ContainsFunc(found, refusedAtAdmission)
		stats[fmt.Sprintf("upstream refused=%v ours=%v", len(refused) > 0, got)]++
		if got != (len(refused) > 0) {
			t.Errorf("case %d: upstream %v\n%v\nours %v\n%v", i, len(refused) > 0, refused, got, found)
		}
	}
	t.Log(stats)
}

func (s *apiServer) compare(t *testing.T, rt, job, changed map[string]any, update bool) (want bool, why []string, got bool, found schema.Findings) {
	s.hold()
	stored, refused := s.apply(rt, nil)
	why = append(why, refused...)
	r, f := checked.AdmitRuntime(t.Context(), rt, "ns")
	found = append(found, f...)
	in := func(o map[string]any) checked.Input {
		return checked.Input{TrainJob: o, Runtime: r, Namespace: "ns", PriorityClasses: []string{"x"}}
	}
	if stored == nil {
		return true, why, slices.ContainsFunc(found, refusedAtAdmission), found
	}
	var held client.Object = &trainer.TrainingRuntime{}
	if stored["kind"] == "ClusterTrainingRuntime" {
		held = &trainer.ClusterTrainingRuntime{}
	}
	data, _ := json.Marshal(stored)
	if err := json.Unmarshal(data, held); err != nil {
		return true, []string{err.Error()}, true, nil
	}
	objects := []client.Object{held}
	for _, class := range priorityClasses(stored) {
		pc := &schedulingv1.PriorityClass{}
		pc.Name = class
		objects = append(objects, pc)
	}
	func() {
		defer func() { _ = recover() }()
		s.hold(objects...)
	}()
	if update {
		old, refused := s.apply(job, nil)
		if old == nil {
			found = append(found, checked.Check(t.Context(), in(job))...)
			return true, append(why, refused...), slices.ContainsFunc(found, refusedAtAdmission), found
		}
		_, refused = s.apply(changed, old)
		found = append(found, checked.Update(t.Context(), in(job), in(changed))...)
		return len(refused) > 0, append(why, refused...), slices.ContainsFunc(found, refusedAtAdmission), found
	}
	_, refused = s.apply(changed, nil)
	found = append(found, checked.Check(t.Context(), in(changed))...)
	return len(refused) > 0, append(why, refused...), slices.ContainsFunc(found, refusedAtAdmission), found
}

func priorityClasses(o map[string]any) []string {
	var names []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if name, ok := v["priorityClassName"].(string); ok && name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(o)
	return names
}

// mutator breaks JSON objects.
type mutator struct{ *rand.Rand }

type spot struct {
	parent any
	key    any
}

func (m mutator) spots(v any, out *[]spot) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			*out = append(*out, spot{v, key})
			m.spots(v[key], out)
		}
	case []any:
		for i := range v {
			*out = append(*out, spot{v, i})
			m.spots(v[i], out)
		}
	}
}

func (m mutator) junk() any {
	values := []any{nil, "", "x", "Bad_Name", "a b", strings.Repeat("y", 300), int64(0), int64(-1), int64(3_000_000_000), 2.5, true, []any{}, map[string]any{}, []any{"a", "a"}, "example.com/m", "s3://b", "tune", "2024-01-02T03:04:05Z", "trainer", "node", "PET_NNODES", "DMLC_TASK_ID", "OMPI_MCA_plm_rsh_args", "flux-installer", "kueue.x-k8s.io/multikueue", "500m", "$patch"}
	return values[m.IntN(len(values))]
}

func (m mutator) mutate(o map[string]any) {
	for range 1 + m.IntN(2) {
		var all []spot
		m.spots(o["spec"], &all)
		if m.IntN(12) == 0 {
			m.spots(o["metadata"], &all)
		}
		if len(all) == 0 {
			return
		}
		at := all[m.IntN(len(all))]
		switch parent := at.parent.(type) {
		case map[string]any:
			key := at.key.(string)
			switch m.IntN(7) {
			case 0:
				delete(parent, key)
			case 1:
				parent[key+"x"] = parent[key]
			case 2:
				if list, ok := parent[key].([]any); ok && len(list) > 0 {
					parent[key] = append(slices.Clone(list), list[0])
				}
			case 3, 4:
				fields := []string{"suspend", "managedBy", "trainer", "activeDeadlineSeconds", "numNodes", "numProcPerNode", "replicas", "env", "time", "labels", "finalizers", "command", "args", "image", "storageUri", "initializer", "initContainers", "priorityClassName", "dependsOn", "startupPolicy", "replicatedJobs", "generateName", "coordinator", "network", "terminationGracePeriodSeconds"}
				parent[fields[m.IntN(len(fields))]] = m.junk()
			default:
				parent[key] = m.junk()
			}
		case []any:
			parent[at.key.(int)] = m.junk()
		}
	}
}

func recordedPairs(t *testing.T) (pairs [][2]map[string]any) {
	files, _ := filepath.Glob("../../testdata/cluster/*/input.yaml")
	for _, file := range files {
		outcome, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "want/outcome.txt"))
		if strings.HasPrefix(string(outcome), "rejected") || strings.HasPrefix(string(outcome), "blocked") {
			continue
		}
		data, _ := os.ReadFile(file)
		var job, rt map[string]any
		for _, text := range regexp.MustCompile(`(?m)^---\s*$`).Split(string(data), -1) {
			var o map[string]any
			if err := yaml.Unmarshal([]byte(text), &o); err != nil {
				t.Fatal(err)
			}
			if o["kind"] == "TrainJob" {
				job = o
			} else if o != nil {
				rt = o
			}
			if m, ok := o["metadata"].(map[string]any); ok {
				delete(m, "namespace")
			}
		}
		if job != nil && rt != nil {
			pairs = append(pairs, [2]map[string]any{job, rt})
		}
	}
	return pairs
}
