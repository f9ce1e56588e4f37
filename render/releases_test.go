package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
)

// A releaseCase is one TrainJob, and what each release makes of it. Its switch alone turns the
// latest release's rendering into the rendering of each other release.
type releaseCase struct {
	policyCase
	of        string // the switch
	overrides *legacy.Overrides
	earlier   legacy.Earlier
	got       func(*render.Objects, *release.Release) any
	// want are the values in the order of the releases. The comment names the source.
	want [4]any
	// says are parts of the findings, or "" for a release that must report nothing but notes.
	says *[4]string
}

func plainly(got func(*render.Objects) any) func(*render.Objects, *release.Release) any {
	return func(out *render.Objects, _ *release.Release) any { return got(out) }
}

func resourcesOf(job string) func(*render.Objects, *release.Release) any {
	return plainly(func(out *render.Objects) any {
		r := rjob(out, job).Template.Spec.Template.Spec.Containers[0].Resources
		return []any{r.Limits, r.Requests}
	})
}

const gpuNode = `containers: [{name: node, image: i, resources: {limits: {nvidia.com/gpu: 2}, requests: {cpu: 3}}}]`

var gpuJob = replicatedJob("node", "", trainerLabel, "", gpuNode)

const asANode = `mlPolicy: {mpi: {runLauncherAsNode: true}}`

func jobNames(out *render.Objects, _ *release.Release) any {
	names := []string{}
	for _, job := range out.JobSet.Spec.ReplicatedJobs {
		names = append(names, job.Name)
	}
	return names
}

var releaseCases = []releaseCase{{
	// newRuntimeInfo of v2.3.0 merges by key; builder.go of v2.0.1 to v2.2.1 writes the two lists
	// over all.
	of: "resources",
	policyCase: policyCase{name: "other keys", runtime: `mlPolicy: {torch: {}}`, jobs: gpuJob,
		job: `trainer: {resourcesPerNode: {requests: {memory: 1Gi}}}`},
	got: resourcesOf("node"),
	want: [4]any{
		replaced, replaced, replaced,
		[]object{{"nvidia.com/gpu": "2"}, {"cpu": "3", "memory": "1Gi"}}},
	says: &[4]string{"loses the runtime's 2 GPUs", "loses the runtime's 2 GPUs",
		"loses the runtime's 2 GPUs", "keeps the runtime's 2 GPUs"},
}, {
	// builder.go asks for no mlPolicy, newRuntimeInfo of v2.3.0 does.
	of: "resources",
	policyCase: policyCase{name: "without an mlPolicy", jobs: gpuJob,
		job: `trainer: {resourcesPerNode: {requests: {memory: 1Gi}}}`},
	got: resourcesOf("node"),
	want: [4]any{
		replaced, replaced, replaced, []object{{"nvidia.com/gpu": "2"}, {"cpu": "3"}}},
	says: &[4]string{"loses", "loses", "loses", "ignores it without an mlPolicy"},
}, {
	of: "resources",
	policyCase: policyCase{name: "neither list", jobs: gpuJob,
		job: `trainer: {resourcesPerNode: {}}`},
	got:  resourcesOf("node"),
	want: all([]object{{"nvidia.com/gpu": "2"}, {"cpu": "3"}}),
	says: &[4]string{"neither limits nor requests", "neither limits nor requests",
		"neither limits nor requests", "ignores it without an mlPolicy"},
}, {
	// newRuntimeInfo makes SinglePodRequests: of the runtime up to v2.1.0, of resourcesPerNode in
	// v2.2.1, merged in v2.3.0.
	of: "gang-requests",
	policyCase: policyCase{
		name:    "requests of a gang",
		runtime: `{mlPolicy: {torch: {}}, podGroupPolicy: {coscheduling: {}}}`, jobs: gpuJob,
		job: `trainer: {numNodes: 2, resourcesPerNode: {requests: {memory: 1Gi}}}`,
	},
	got: plainly(func(out *render.Objects) any {
		return groupSpec(out).(map[string]any)["minResources"]
	}),
	want: [4]any{object{"cpu": "6"}, object{"cpu": "6"}, object{"memory": "2Gi"},
		object{"cpu": "6", "memory": "2Gi"}},
	says: &[4]string{"minResources count the runtime's requests",
		"minResources count the runtime's requests", "loses", `resources.limits["nvidia.com/gpu"]`},
}, {
	// builder.go of v2.1.0 isRunLauncherAsNode.
	of: "mpi-node-trainer",
	policyCase: policyCase{name: "the node's resources", runtime: asANode, jobs: mpiJobs,
		job: `trainer: {numNodes: 2, resourcesPerNode: {requests: {cpu: 1}}}`},
	got: resourcesOf("node"),
	want: [4]any{[]any{nil, nil}, []any{nil, object{"cpu": "1"}},
		[]any{nil, object{"cpu": "1"}}, []any{nil, object{"cpu": "1"}}},
	says: &[4]string{"only job launcher with the trainer's label gets it", "", "", ""},
}, {
	// jax.go of v2.2.1 reads the count of a missing job. No earlier release has the policy.
	of: "jax-needs-trainer",
	policyCase: policyCase{name: "JAX without a trainer's job", runtime: `mlPolicy: {jax: {}}`,
		jobs: replicatedJob("node", "", "", "", nodeContainer), job: `trainer: {}`},
	got: plainly(noJobSet), want: [4]any{true, true, true, false},
	says: &[4]string{"error TW423", "error TW423", "error TW423", "warning TW440"},
}, {
	// jobset.go Build of v2.3.0 goes over the init containers as well.
	of: "init-lists",
	policyCase: policyCase{name: "ports of an init container",
		jobs: replicatedJob("node", "", trainerLabel, "",
			`initContainers: [{name: s, image: i, ports: [{containerPort: 80}, {containerPort: 81}]}], `+nodeContainer)},
	got: plainly(func(out *render.Objects) any {
		ports := rjob(out, "node").Template.Spec.Template.Spec.InitContainers[0].Ports
		return []int32{ports[0].ContainerPort, ports[1].ContainerPort}
	}),
	want: [4]any{[]int{80, 81}, []int{80, 81}, []int{80, 81}, []int{81, 81}},
	says: &[4]string{"", "", "", "error TW436"},
}, {
	// runtime.go of v2.2.1 toPodSetContainer copies no command, so getOriginalCommand of flux.go
	// finds none.
	of: "flux",
	policyCase: policyCase{name: "Flux and the runtime's command", runtime: `mlPolicy: {flux: {}}`,
		job: `trainer: {numNodes: 1, args: [x]}`,
		jobs: replicatedJob("node", "", trainerLabel, "",
			`containers: [{name: node, image: i, command: [lmp]}]`)},
	got: plainly(func(out *render.Objects) any {
		return containerOf(out, "node").Command[2]
	}),
	want: [4]any{"x", "x", "x", "lmp x"},
	says: &[4]string{"uses the TrainJob's command only", "uses the TrainJob's command only",
		"uses the TrainJob's command only", ""},
}, {
	// builder.go of v2.0.1 Trainer takes the count of the first job for each.
	of: "second-trainer",
	policyCase: policyCase{name: "a second trainer's job", runtime: `mlPolicy: {torch: {}}`,
		job:  `trainer: {numNodes: 3}`,
		jobs: nodeJob + replicatedJob("more", "", trainerLabel, "", nodeContainer)},
	got:  plainly(counts("more")),
	want: [4]any{[]int{3, 3, 1}, []int{1, 1, 1}, []int{1, 1, 1}, []int{1, 1, 1}},
	says: &[4]string{"as many Pods as job node", "neither its numNodes", "neither its numNodes",
		"neither its numNodes"},
}, {
	// registry.go of v2.2.1 has the plugin for the gate.
	of: "status-gate",
	policyCase: policyCase{name: "progress", job: `trainer: {}`,
		opts: render.Options{FeatureGates: render.FeatureGates{TrainJobStatus: true}}},
	got:  plainly(func(out *render.Objects) any { return len(containerOf(out, "node").Env) }),
	want: [4]any{0, 0, 3, 3},
	says: &[4]string{"Trainer 2.0 does not have it", "Trainer 2.1 does not have it", "certificate",
		"certificate"},
}, {
	// The controller of v2.3.0 returns at once; earlier ones do not read managedBy.
	of:         "managed-by",
	policyCase: policyCase{name: "another manager", job: `managedBy: kueue.x-k8s.io/multikueue`},
	got:        plainly(counts("node")), want: all([]int{1, 1, 1}),
	says: &[4]string{"also creates its objects", "also creates its objects",
		"also creates its objects", "ignores it"},
}, {
	// mergeRuntimePatches of v2.2.1 skips a job that the runtime lacks, v2.3.0 merges it in as the
	// first one.
	of: "merge-root",
	policyCase: policyCase{name: "a patch of an unknown job",
		job: `runtimePatches: [{manager: x.io/y, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: other}]}}}}]`},
	got:  jobNames,
	want: [4]any{[]string{"node"}, []string{"node"}, []string{"node"}, []string{"other", "node"}},
	says: &[4]string{"", "", "Trainer 2.2 rejects the TrainJob", "the merge adds one"},
}}

// replaced are the lists of which resourcesPerNode {requests: {memory: 1Gi}} leaves nothing else.
var replaced = []any{nil, object{"memory": "1Gi"}}

func all(want any) [4]any { return [4]any{want, want, want, want} }

// TestRelease_Cases renders each case with each release. It also renders with the latest one, in
// which only the case's switch has the release's position.
func TestRelease_Cases(t *testing.T) {
	for _, s := range releaseCases {
		t.Run(s.of+"/"+s.name, func(t *testing.T) {
			for i, known := range release.Compared() {
				out := s.render(t, &known)
				if got, want := mustJSON(t, s.got(out, &known)),
					mustJSON(t, s.want[i]); got != want {
					t.Errorf("%s: got %s, want %s", known.Name, got, want)
				}
				s.checkFindings(t, known.Name, out, i)
			}
		})
	}
}

func (s releaseCase) render(t *testing.T, r *release.Release) *render.Objects {
	t.Helper()
	in, opts := s.input(t), s.opts
	in.Earlier, opts.Release = s.earlier, r
	if s.overrides != nil {
		in.Layers = s.overrides
	}
	out, _ := render.JobSet(in, opts)
	return out
}

func (s releaseCase) checkFindings(t *testing.T, name string, out *render.Objects, i int) {
	t.Helper()
	if s.says == nil {
		return
	}
	var found []string
	for _, f := range out.Findings {
		if f.Severity != finding.Note && f.Code != codes.Shadowed &&
			(f.Code != codes.LeftOut || s.of == "status-gate") {
			found = append(
				found, fmt.Sprintf("%s %s %s: %s", f.Severity, f.Code, f.Path, f.Message))
		}
	}
	if text := strings.Join(found, "\n"); s.says[i] == "" && text != "" ||
		!strings.Contains(text, s.says[i]) {
		t.Errorf("%s: got\n%s\nwant %q", name, text, s.says[i])
	}
}

// TestFictionalReleases adds releases: copies of the latest in which one switch has the position of
// an earlier release. Each renders the case of its switch as that release does, and nothing else
// decides about it.
func TestFictionalReleases(t *testing.T) {
	turns := 0
	for _, s := range releaseCases {
		for i, known := range release.Compared() {
			for _, sw := range release.Switches() {
				fictional := release.Latest()
				fictional.Name, fictional.Version = "9.9", "9.9.9"
				if sw.ID != s.of || !sw.Set(fictional, &known) {
					continue
				}
				turns++
				if got, want := mustJSON(t, s.got(s.render(t, fictional), fictional)),
					mustJSON(t, s.want[i]); got != want {
					t.Errorf("%s/%s: the latest with %s of %s: got %s, want %s", s.of, s.name,
						sw.ID, known.Name, got, want)
				}
			}
		}
	}
	if turns < len(releaseCases) {
		t.Errorf("%d stories have %d turns", len(releaseCases), turns)
	}
}

// TestTurnsEndInTheOtherRelease turns all switches of a release into another's, one at a time. The
// cases then have the JobSets and companions of the other release. Each one that differs has a
// switch whose turn changed it.
func TestTurnsEndInTheOtherRelease(t *testing.T) {
	objects := func(s releaseCase, r *release.Release) string {
		out := s.render(t, r)
		return mustJSON(t, []any{out.JobSet, out.Companions, s.got(out, r)})
	}
	known := release.Compared()
	for _, s := range releaseCases {
		for i, from := range known {
			to := known[(i+1)%len(known)] // also from the last one back to the first
			now, was, causes := from, objects(s, &from), 0
			moved := was != objects(s, &to)
			for _, sw := range release.Switches() {
				if !sw.Set(&now, &to) {
					continue
				}
				if is := objects(s, &now); is != was {
					was = is
					causes++
				}
			}
			if was != objects(s, &to) {
				t.Errorf("%s/%s: the turns from %s to %s end elsewhere", s.of, s.name, from.Name,
					to.Name)
			}
			if moved && causes == 0 {
				t.Errorf("%s/%s: from %s to %s no switch is the cause", s.of, s.name, from.Name,
					to.Name)
			}
		}
	}
}
