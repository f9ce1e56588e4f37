package runtimepatch_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// A testCase has a runtime, and managers that patch the Pod of one replicated job one after the
// other. It wants the Pod, the owners of the touched fields, and the managers that disagree. Paths
// start in the Pod's spec.
type testCase struct {
	name, reason string
	runtime      string
	patches      []says
	// want is the Pod's spec without the name and image of the container node. Empty means "as
	// runtime".
	want string
	// owners are the fields that managers touched, with their claims; the last claim is in force.
	owners []string
	// conflicts are "kind field: manager=value …".
	conflicts []string
	// findings are what check.Patches and runtimepatch.Warnings report: "code field".
	findings []string
}

// says is one manager's patch of the Pod's spec.
type says struct{ manager, patch string }

const (
	sdk   = "sdk.example/user"
	queue = "queue.example/admission"
	team  = "team.example/platform"
)

var cases = []testCase{
	{
		name: "rule 1: the result equals the Trainer's, new items in front",
		reason: "strategic merge puts items that the list lacks before all others, and a later " +
			"manager's before an earlier one's",
		runtime: `volumes: [{name: v1, emptyDir: {}}, {name: v2, emptyDir: {}}]`,
		patches: []says{
			{sdk, `volumes: [{name: n1, emptyDir: {}}, {name: v2, emptyDir: {medium: Memory}}, {name: n2, emptyDir: {}}]`},
			{queue, `volumes: [{name: n3, emptyDir: {}}]`},
		},
		want: `volumes: [{name: n3, emptyDir: {}}, {name: n1, emptyDir: {}}, {name: v1, emptyDir: {}}, {name: v2, emptyDir: {medium: Memory}}, {name: n2, emptyDir: {}}]`,
		owners: []string{
			`.volumes[name="n3"]: queue=present`,
			`.volumes[name="n3"].emptyDir: queue=present`,
			`.volumes[name="n1"]: sdk=present`,
			`.volumes[name="n1"].emptyDir: sdk=present`,
			`.volumes[name="v2"]: runtime=present sdk=present`,
			`.volumes[name="v2"].emptyDir.medium: sdk="Memory"`,
			`.volumes[name="n2"]: sdk=present`,
			`.volumes[name="n2"].emptyDir: sdk=present`,
		},
	},
	{
		name:    "rule 2: the encoding decides, empty with omitempty claims nothing",
		reason:  "a typed patch cannot say an empty list or an empty value",
		runtime: `{tolerations: [{key: a}], containers: [{name: side, env: [{name: A, value: x}]}]}`,
		patches: []says{
			{sdk, `{tolerations: [], containers: [{name: side, env: [{name: A, value: ""}]}]}`}},
		owners: []string{
			`.containers[name="side"]: runtime=present sdk=present`,
			`.containers[name="side"].env[name="A"]: runtime=present sdk=present`,
		},
	},
	{
		name:    "rule 2: the encoding decides, empty without omitempty is claimed",
		reason:  "a pointer to an empty value is encoded, and so are the fields of an nfs volume",
		runtime: `{serviceAccountName: x, volumes: [{name: v, nfs: {server: s, path: /a}}]}`,
		patches: []says{
			{sdk, `{serviceAccountName: "", volumes: [{name: v, nfs: {server: s, path: ""}}]}`}},
		want: `volumes: [{name: v, nfs: {server: s, path: ""}}]`,
		owners: []string{
			`.serviceAccountName: runtime="x" sdk=""`,
			`.volumes[name="v"]: runtime=present sdk=present`,
			`.volumes[name="v"].nfs.path: runtime="/a" sdk=""`,
			`.volumes[name="v"].nfs.server: runtime="s" sdk="s"`,
		},
		findings: []string{`TW302 .volumes[name="v"].nfs.path`, `TW302 .serviceAccountName`},
	},
	{
		name: "rule 2: the encoding decides, a null claims and empties",
		reason: "a list without omitempty that is nil reads null, and the struct around it " +
			"counts as empty",
		runtime: `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: a, operator: Exists}]}]}}}`,
		patches: []says{
			{sdk, `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}`}},
		want: `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: null}}}`,
		owners: []string{
			`.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution: sdk={}`,
			`.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: runtime=[{"matchFields":[{"key":"a","operator":"Exists"}]}] sdk=null`,
		},
		findings: []string{
			`TW302 .affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`,
			`TW313 .affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`,
		},
	},
	{
		name:    "rule 2: a claim is made on a leaf, an entry of a map",
		reason:  "labels and selectors are granular: two managers may set different keys",
		runtime: `nodeSelector: {zone: a}`,
		patches: []says{{sdk, `nodeSelector: {pool: x}`}, {queue, `nodeSelector: {zone: b}`}},
		want:    `nodeSelector: {zone: b, pool: x}`,
		owners: []string{
			`.nodeSelector["pool"]: sdk="x"`, `.nodeSelector["zone"]: runtime="a" queue="b"`},
		findings: []string{`TW302 .nodeSelector["zone"]`},
	},
	{
		name:    "rule 2: presence is shared",
		reason:  "two managers may name one container and one empty struct",
		runtime: `containers: [{name: side}]`,
		patches: []says{
			{sdk, `{securityContext: {}, containers: [{name: side}]}`},
			{queue, `{securityContext: {runAsUser: 1}, containers: [{name: side, volumeMounts: [{name: v, mountPath: /v}]}]}`},
		},
		want: `{securityContext: {runAsUser: 1}, containers: [{name: side, volumeMounts: [{name: v, mountPath: /v}]}]}`,
		owners: []string{
			`.containers[name="side"]: runtime=present sdk=present queue=present`,
			`.containers[name="side"].volumeMounts[mountPath="/v"]: queue=present`,
			`.containers[name="side"].volumeMounts[mountPath="/v"].name: queue="v"`,
			`.securityContext: sdk=present`,
			`.securityContext.runAsUser: queue=1`,
		},
	},
	{
		name:    "rule 2: values are equal when their encodings are",
		reason:  "1Gi and 1024Mi are one quantity",
		runtime: `volumes: [{name: v, emptyDir: {}}]`,
		patches: []says{
			{sdk, `volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}]`},
			{queue, `volumes: [{name: v, emptyDir: {sizeLimit: 1024Mi}}]`},
		},
		want: `volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}]`,
		owners: []string{
			`.volumes[name="v"]: runtime=present sdk=present queue=present`,
			`.volumes[name="v"].emptyDir.sizeLimit: sdk="1Gi" queue="1Gi"`,
		},
	},
	{
		name:    "rule 3: an overlap of an atomic list",
		reason:  "tolerations are replaced whole, so the order of the patches decides",
		runtime: ``,
		patches: []says{{sdk, `tolerations: [{key: a}]`}, {queue, `tolerations: [{key: b}]`}},
		want:    `tolerations: [{key: b}]`,
		owners:  []string{`.tolerations: sdk=[{"key":"a"}] queue=[{"key":"b"}]`},
		conflicts: []string{
			`overlap .tolerations: sdk=[{"key":"a"}] queue=[{"key":"b"}]`,
		},
	},
	{
		name:    "rule 3: an overlap of a null with what another sets in part",
		reason:  "the null empties the whole struct, whoever comes first",
		runtime: `volumes: [{name: v, scaleIO: {gateway: g, system: s}}]`,
		patches: []says{
			{sdk, `volumes: [{name: v, scaleIO: {gateway: g, system: s, secretRef: {name: x}}}]`},
			{queue, `volumes: [{name: v, scaleIO: {gateway: g, system: s}}]`},
		},
		want: `volumes: [{name: v, scaleIO: {gateway: g, system: s, secretRef: null}}]`,
		owners: []string{
			`.volumes[name="v"]: runtime=present sdk=present queue=present`,
			`.volumes[name="v"].scaleIO.gateway: runtime="g" sdk="g" queue="g"`,
			`.volumes[name="v"].scaleIO.secretRef: queue=null`,
			`.volumes[name="v"].scaleIO.secretRef.name: sdk="x" queue=null`,
			`.volumes[name="v"].scaleIO.system: runtime="s" sdk="s" queue="s"`,
		},
		conflicts: []string{`overlap .volumes[name="v"].scaleIO.secretRef: sdk="x" queue=null`},
		findings:  []string{`TW313 .volumes[name="v"].scaleIO.secretRef`},
	},
	{
		name:    "rule 3: two nulls agree",
		reason:  "both empty the struct, and nobody sets anything in it",
		runtime: `volumes: [{name: v, scaleIO: {gateway: g, system: s}}]`,
		patches: []says{
			{sdk, `volumes: [{name: v, scaleIO: {gateway: g, system: s}}]`},
			{queue, `volumes: [{name: v, scaleIO: {gateway: g, system: s}}]`},
		},
		owners: []string{
			`.volumes[name="v"]: runtime=present sdk=present queue=present`,
			`.volumes[name="v"].scaleIO.gateway: runtime="g" sdk="g" queue="g"`,
			`.volumes[name="v"].scaleIO.secretRef: sdk=null queue=null`,
			`.volumes[name="v"].scaleIO.system: runtime="s" sdk="s" queue="s"`,
		},
	},
	{
		name:    "rule 3: three managers, two of them agreed",
		reason:  "the one that disagrees makes it an overlap, and every claim is shown",
		runtime: ``,
		patches: []says{{sdk, `serviceAccountName: a`}, {queue, `serviceAccountName: a`},
			{team, `serviceAccountName: b`}},
		want:   `serviceAccountName: b`,
		owners: []string{`.serviceAccountName: sdk="a" queue="a" team="b"`},
		conflicts: []string{
			`overlap .serviceAccountName: sdk="a" queue="a" team="b"`,
		},
	},
	{
		name:    "rule 3: a union of a volume's sources",
		reason:  "the merge keeps both sources in any order, and the cluster rejects the Pod",
		runtime: ``,
		patches: []says{
			{sdk, `volumes: [{name: v, emptyDir: {}}]`},
			{queue, `volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]`},
		},
		want: `volumes: [{name: v, emptyDir: {}, persistentVolumeClaim: {claimName: c}}]`,
		owners: []string{
			`.volumes[name="v"]: sdk=present queue=present`,
			`.volumes[name="v"].emptyDir: sdk=present`,
			`.volumes[name="v"].persistentVolumeClaim.claimName: queue="c"`,
		},
		conflicts: []string{`union .volumes[name="v"]: sdk=present queue="c"`},
	},
	{
		name:    "rule 3: a union of an env's value and valueFrom",
		reason:  "one manager's literal and another's secret",
		runtime: `containers: [{name: side}]`,
		patches: []says{
			{sdk, `containers: [{name: side, env: [{name: A, value: x}]}]`},
			{queue, `containers: [{name: side, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]`},
		},
		want: `containers: [{name: side, env: [{name: A, value: x, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]`,
		owners: []string{
			`.containers[name="side"]: runtime=present sdk=present queue=present`,
			`.containers[name="side"].env[name="A"]: sdk=present queue=present`,
			`.containers[name="side"].env[name="A"].value: sdk=*** (1 characters)`,
			`.containers[name="side"].env[name="A"].valueFrom.secretKeyRef.key: queue="k"`,
			`.containers[name="side"].env[name="A"].valueFrom.secretKeyRef.name: queue="s"`,
		},
		conflicts: []string{
			`union .containers[name="side"].env[name="A"]: sdk=*** (1 characters) queue="s"`},
	},
	{
		name:    "rule 3: a union of a profile with its discriminating type",
		reason:  "both agree on a type that allows no localhostProfile, and only one sets it",
		runtime: ``,
		patches: []says{
			{sdk, `securityContext: {seccompProfile: {type: RuntimeDefault}}`},
			{queue, `securityContext: {seccompProfile: {type: RuntimeDefault, localhostProfile: p}}`},
		},
		want: `securityContext: {seccompProfile: {type: RuntimeDefault, localhostProfile: p}}`,
		owners: []string{
			`.securityContext.seccompProfile.localhostProfile: queue="p"`,
			`.securityContext.seccompProfile.type: sdk="RuntimeDefault" queue="RuntimeDefault"`,
		},
		conflicts: []string{
			`union .securityContext.seccompProfile: sdk="RuntimeDefault" queue="RuntimeDefault" queue="p"`},
		findings: []string{`TW207 .securityContext.seccompProfile`},
	},
	{
		name:    "rule 3: claims of equal value are shared",
		reason:  "agreement is no conflict",
		runtime: ``,
		patches: []says{{sdk, `terminationGracePeriodSeconds: 5`},
			{queue, `terminationGracePeriodSeconds: 5`}},
		want:   `terminationGracePeriodSeconds: 5`,
		owners: []string{`.terminationGracePeriodSeconds: sdk=5 queue=5`},
	},
	{
		name: "rule 4: an override is a note, and only of the one who changes something",
		reason: "the queue sets the runtime's value: with the SDK it overlaps, and only the SDK " +
			"overrides",
		runtime: `serviceAccountName: a`,
		patches: []says{{queue, `serviceAccountName: a`}, {sdk, `serviceAccountName: b`}},
		want:    `serviceAccountName: b`,
		owners:  []string{`.serviceAccountName: runtime="a" queue="a" sdk="b"`},
		conflicts: []string{
			`overlap .serviceAccountName: queue="a" sdk="b"`,
		},
		findings: []string{`TW302 .serviceAccountName`},
	},
	{
		name:    "rule 6: a union clash with the runtime is an error",
		reason:  "no patch can take the runtime's source away",
		runtime: `volumes: [{name: v, emptyDir: {}}]`,
		patches: []says{{sdk, `volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]`}},
		want:    `volumes: [{name: v, emptyDir: {}, persistentVolumeClaim: {claimName: c}}]`,
		owners: []string{
			`.volumes[name="v"]: runtime=present sdk=present`,
			`.volumes[name="v"].persistentVolumeClaim.claimName: sdk="c"`,
		},
		findings: []string{`TW207 .volumes[name="v"]`},
	},
	{
		name:    "rule 7: order that carries meaning, init containers",
		reason:  "named items take the patch's order, and init containers run in it",
		runtime: `initContainers: [{name: a}, {name: b}]`,
		patches: []says{{sdk, `initContainers: [{name: b}, {name: a}]`}},
		want:    `initContainers: [{name: b}, {name: a}]`,
		owners: []string{
			`.initContainers[name="b"]: runtime=present sdk=present`,
			`.initContainers[name="a"]: runtime=present sdk=present`,
		},
		findings: []string{`TW212 .initContainers[name="a"]`},
	},
	{
		name: "rule 7: order that carries meaning, a variable defined too late",
		reason: "a new variable goes in front of the variables that it refers to, and is not " +
			"expanded",
		runtime: `containers: [{name: side, env: [{name: BASE, value: /data}]}]`,
		patches: []says{{sdk, `containers: [{name: side, env: [{name: FULL, value: $(BASE)/x}]}]`}},
		want:    `containers: [{name: side, env: [{name: FULL, value: $(BASE)/x}, {name: BASE, value: /data}]}]`,
		owners: []string{
			`.containers[name="side"]: runtime=present sdk=present`,
			`.containers[name="side"].env[name="FULL"]: sdk=present`,
			`.containers[name="side"].env[name="FULL"].value: sdk=*** (9 characters)`,
		},
		findings: []string{`TW213 .containers[name="side"].env[name="FULL"]`},
	},
	{
		name:    "rule 1: the result equals the Trainer's, named items in the patch's place",
		reason:  "an item that the patch names without more stays where it is",
		runtime: `imagePullSecrets: [{name: a}]`,
		patches: []says{{sdk, `imagePullSecrets: [{name: b}]`},
			{queue, `imagePullSecrets: [{name: a}]`}},
		want: `imagePullSecrets: [{name: b}, {name: a}]`,
		owners: []string{
			`.imagePullSecrets[name="b"]: sdk=present`,
			`.imagePullSecrets[name="a"]: runtime=present queue=present`,
		},
	},
}

func TestCases(t *testing.T) {
	for _, s := range cases {
		t.Run(s.name, func(t *testing.T) {
			template, patches := s.template(t), s.list(t)
			result := s.twice(t, template, patches)
			if diff := cmp.Diff(s.wanted(t), podText(&result.Template)); diff != "" {
				t.Errorf("the Pod, %s:\n%s", s.reason, diff)
			}
			if diff := cmp.Diff(s.owners, owners(result)); diff != "" {
				t.Errorf("the owners, %s:\n%s", s.reason, diff)
			}
			if diff := cmp.Diff(s.conflicts, conflicts(result)); diff != "" {
				t.Errorf("the conflicts, %s:\n%s", s.reason, diff)
			}
			found := append(check.Patches(template, patches),
				runtimepatch.Warnings(template, result)...)
			if diff := cmp.Diff(s.findings, codesOf(found)); diff != "" {
				t.Errorf("the findings, %s:\n%s", s.reason, diff)
			}
		})
	}
}

// twice merges in two goroutines that share the inputs, which the race detector watches.
func (s testCase) twice(t *testing.T, template *trainer.JobSetTemplateSpec,
	patches []trainer.RuntimePatch) *runtimepatch.Result {
	var results [2]*runtimepatch.Result
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			r, err := runtimepatch.Apply(template, patches, runtimepatch.Options{})
			if err != nil {
				t.Error(err)
			}
			results[i] = r
		})
	}
	wg.Wait()
	if diff := cmp.Diff(results[0].Template, results[1].Template); diff != "" {
		t.Errorf("two merges of one input differ:\n%s", diff)
	}
	return results[0]
}

func (s testCase) template(t *testing.T) *trainer.JobSetTemplateSpec {
	t.Helper()
	template := &trainer.JobSetTemplateSpec{}
	template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}
	decode(t, s.runtime, &template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec)
	return template
}

func (s testCase) wanted(t *testing.T) string {
	t.Helper()
	text := s.want
	if text == "" {
		text = s.runtime
	}
	var pod corev1.PodSpec
	decode(t, text, &pod)
	return encode(pod)
}

func (s testCase) list(t *testing.T) []trainer.RuntimePatch {
	t.Helper()
	var patches []trainer.RuntimePatch
	for _, p := range s.patches {
		pod := &trainer.PodSpecPatch{}
		decode(t, p.patch, pod)
		patches = append(patches, trainer.RuntimePatch{
			Manager: p.manager,
			TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
				Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
					ReplicatedJobs: []trainer.ReplicatedJobPatch{{
						Name: "node",
						Template: &trainer.JobTemplatePatch{
							Spec: &trainer.JobSpecPatch{
								Template: &trainer.PodTemplatePatch{Spec: pod}}},
					}},
				}}},
		})
	}
	return patches
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

func encode(v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func podText(template *trainer.JobSetTemplateSpec) string {
	return encode(template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec)
}

const podPath = `.spec.replicatedJobs[name="node"].template.spec.template.spec`

// short is a path within the Pod's spec.
func short(path fieldpath.Path) string {
	text := path.String()
	for _, prefix := range []string{podPath, ".spec.template" + podPath} {
		text = strings.TrimPrefix(text, prefix)
	}
	if i := strings.Index(text, podPath); i >= 0 {
		text = text[i+len(podPath):]
	}
	return text
}

func claimsText(path fieldpath.Path, claims []merge.Claim) string {
	var parts []string
	for _, c := range claims {
		who := strings.TrimPrefix(string(c.Owner), "manager/")
		who, _, _ = strings.Cut(who, ".")
		parts = append(parts, who+"="+finding.FormatValue(path, c.Value, false))
	}
	return strings.Join(parts, " ")
}

// owners lists the fields within the Pod that a manager touched.
func owners(r *runtimepatch.Result) []string {
	var lines []string
	for path, claims := range r.History.All() {
		byManager := slices.ContainsFunc(claims, func(c merge.Claim) bool {
			return c.Owner != runtimepatch.RuntimeLayer
		})
		if text := short(path); byManager && text != path.String() {
			lines = append(lines, text+": "+claimsText(path, claims))
		}
	}
	return lines
}

func conflicts(r *runtimepatch.Result) []string {
	var lines []string
	for _, c := range conflict.Find(r.History) {
		parts := make([]string, len(c.Claims))
		for i := range c.Claims {
			parts[i] = claimsText(c.Fields[i], c.Claims[i:i+1])
		}
		lines = append(
			lines, fmt.Sprintf("%s %s: %s", c.Kind, short(c.Path), strings.Join(parts, " ")))
	}
	return lines
}

func codesOf(findings finding.List) []string {
	var lines []string
	for _, f := range findings {
		lines = append(lines, fmt.Sprintf("%s %s", f.Code, short(f.Path)))
	}
	return lines
}
