package render_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

// A policyCase is one oddity of the controller: the input, the result and the findings.
type policyCase struct {
	name, reason string
	// runtime is the rest of a TrainingRuntimeSpec, before the jobs.
	runtime string
	// jobs are its replicated jobs; "" is one job called node with the trainer's label.
	jobs string
	// job is a TrainJobSpec without its runtimeRef.
	job  string
	opts render.Options
	// findings are the findings that matter for the case, in order, as "severity code path".
	findings []string
	// got reads the result, and want is what it is to read.
	got  func(out *render.Objects) any
	want any
}

const trainerLabel = `metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}`

// replicatedJob writes one job. It puts rest next to its name, spec next to its Pod template, and
// pod within its Pod spec.
func replicatedJob(name, rest, label, spec, pod string) string {
	return fmt.Sprintf(`
- name: %s
  %s
  template:
    %s
    spec:
      %s
      template:
        spec: {%s}
`, name, rest, label, spec, pod)
}

const nodeContainer = `containers: [{name: node, image: i}]`

var nodeJob = replicatedJob("node", "", trainerLabel, "", nodeContainer)

// mpiJobs are a launcher, which carries the trainer's label, and the nodes.
var mpiJobs = replicatedJob("launcher", "", trainerLabel, "", nodeContainer) +
	replicatedJob("node", "", "", "", nodeContainer)

func (s policyCase) input(t *testing.T) render.Input {
	t.Helper()
	job := &trainer.TrainJob{}
	job.Name, job.Namespace = "tj", "ns"
	if err := yaml.UnmarshalStrict([]byte(s.job), &job.Spec); err != nil {
		t.Fatal(err)
	}
	job.Spec.RuntimeRef.Name = "rt"
	runtime := &trainer.TrainingRuntimeSpec{}
	if err := yaml.UnmarshalStrict([]byte(s.runtime), runtime); err != nil {
		t.Fatal(err)
	}
	jobs := s.jobs
	if jobs == "" {
		jobs = nodeJob
	}
	raw := []any{}
	for _, into := range []any{&runtime.Template.Spec.ReplicatedJobs, &raw} {
		if err := yaml.UnmarshalStrict([]byte(jobs), into); err != nil {
			t.Fatal(err)
		}
	}
	render.DefaultTrainJob(job, nil)
	render.DefaultRuntime(runtime, writtenIn(raw))
	return render.Input{TrainJob: job, Runtime: runtime}
}

func TestPolicy_Cases(t *testing.T) {
	for _, s := range slices.Concat(countCases, portCases, envCases, mpiCases, fluxCases, gangCases,
		otherCases) {
		t.Run(s.name, func(t *testing.T) {
			out, _ := render.JobSet(s.input(t), s.opts)
			var found []string
			for _, f := range out.Findings {
				if f.Code == codes.Shadowed || f.Severity == finding.Note {
					continue // these have tests of their own
				}
				found = append(found, fmt.Sprintf("%s %s %s", f.Severity, f.Code, f.Path))
				if f.Remedy.Text == "" || strings.HasSuffix(f.Message, ".") {
					t.Errorf("a finding without help, or with a final stop: %v", f)
				}
			}
			left := slices.DeleteFunc(slices.Clone(found), func(f string) bool {
				return !slices.Contains(s.findings, f) && strings.Contains(f, string(codes.LeftOut))
			})
			if !slices.Equal(left, s.findings) {
				t.Errorf("%s\nfindings:\n  %s\nwant:\n  %s", s.reason, strings.Join(left, "\n  "),
					strings.Join(s.findings, "\n  "))
			}
			if s.got == nil {
				return
			}
			if got, want := mustJSON(t, s.got(out)), mustJSON(t, s.want); got != want {
				t.Errorf("%s\ngot  %s\nwant %s", s.reason, got, want)
			}
		})
	}
}

// These functions read the results of cases.

func rjob(out *render.Objects, name string) *jobset.ReplicatedJob {
	jobs := out.JobSet.Spec.ReplicatedJobs
	return &jobs[slices.IndexFunc(jobs, func(rj jobset.ReplicatedJob) bool {
		return rj.Name == name
	})]
}

// counts are parallelism, completions and replicas of a job.
func counts(name string) func(*render.Objects) any {
	return func(out *render.Objects) any {
		rj := rjob(out, name)
		return []int32{*rj.Template.Spec.Parallelism, *rj.Template.Spec.Completions, rj.Replicas}
	}
}

func containerOf(out *render.Objects, name string) *corev1.Container {
	return &rjob(out, name).Template.Spec.Template.Spec.Containers[0]
}

func envNames(out *render.Objects) any {
	var names []string
	for _, e := range containerOf(out, "node").Env {
		names = append(names, e.Name)
	}
	return names
}

func envValue(job, name string) func(*render.Objects) any {
	return func(out *render.Objects) any {
		for _, e := range containerOf(out, job).Env {
			if e.Name == name {
				return e.Value
			}
		}
		return nil
	}
}

func portNumbers(out *render.Objects) any {
	var numbers []int32
	for _, p := range containerOf(out, "node").Ports {
		numbers = append(numbers, p.ContainerPort)
	}
	return numbers
}

func companionNames(out *render.Objects) any {
	names := []string{}
	for _, o := range out.Companions {
		gvk := o.GetObjectKind().GroupVersionKind()
		names = append(
			names, gvk.Kind+" "+gvk.Group+" "+o.(interface{ GetName() string }).GetName())
	}
	return names
}

func hostfile(out *render.Objects) any {
	for _, o := range out.Companions {
		if cm, ok := o.(*corev1.ConfigMap); ok {
			return cm.Data["hostfile"]
		}
	}
	return nil
}

func groupSpec(out *render.Objects) any {
	for _, o := range out.Companions {
		if o.GetObjectKind().GroupVersionKind().Kind == "PodGroup" {
			data, _ := yaml.Marshal(o)
			group := object{}
			_ = yaml.Unmarshal(data, &group)
			return group["spec"]
		}
	}
	return nil
}

func noJobSet(out *render.Objects) any { return out.JobSet == nil && out.Companions == nil }

const (
	inJobs = `.spec.template.spec.replicatedJobs`
	inNode = inJobs + `[name="node"]`
	inPod  = inNode + `.template.spec.template.spec`
	inC    = inPod + `.containers[name="node"]`
)

var countCases = []policyCase{{
	name: "completions are overwritten", reason: "both counts of a job become its parallelism",
	jobs: nodeJob + replicatedJob("eval", "", "", "completions: 6\n      parallelism: 2",
		nodeContainer),
	findings: []string{"warning TW433 " + inJobs + `[name="eval"].template.spec.completions`},
	got:      counts("eval"), want: []int{2, 2, 1},
}, {
	name:    "the template's parallelism is ignored",
	reason:  "under a policy the trainer's job has mlPolicy.numNodes Pods, or one",
	runtime: `mlPolicy: {torch: {}}`, job: `trainer: {}`,
	jobs:     replicatedJob("node", "", trainerLabel, "parallelism: 3", nodeContainer),
	findings: []string{"warning TW433 " + inNode + ".template.spec.parallelism"},
	got:      counts("node"), want: []int{1, 1, 1},
}, {
	name:    "the TrainJob's numNodes goes without saying",
	reason:  "that is what it is for, so nothing is reported",
	runtime: `mlPolicy: {numNodes: 2, torch: {}}`, job: `trainer: {numNodes: 4}`,
	jobs: replicatedJob("node", "", trainerLabel, "parallelism: 3", nodeContainer),
	got:  counts("node"), want: []int{4, 4, 1},
}, {
	name: "replicas of the trainer's job become one", reason: "whatever the runtime says",
	jobs:     replicatedJob("node", "replicas: 2", trainerLabel, "", nodeContainer),
	findings: []string{"warning TW434 " + inNode + ".replicas"},
	got:      counts("node"), want: []int{1, 1, 1},
}, {
	name:     "zero replicas get lost",
	reason:   "the encoding omits the zero, and the JobSet API fills in a one",
	jobs:     nodeJob + replicatedJob("eval", "replicas: 0", "", "", nodeContainer),
	findings: []string{"warning TW434 " + inJobs + `[name="eval"].replicas`},
	got:      counts("eval"), want: []int{1, 1, 0},
	opts: render.Options{As: render.Applied},
}, {
	name: "zero replicas are one when stored", reason: "the JobSet's CRD fills it in",
	jobs:     nodeJob + replicatedJob("eval", "replicas: 0", "", "", nodeContainer),
	findings: []string{"warning TW434 " + inJobs + `[name="eval"].replicas`},
	got:      counts("eval"), want: []int{1, 1, 1},
	opts: render.Options{As: render.Stored},
}, {
	name:     "the runtime's suspend is ignored",
	reason:   "spec.suspend of the TrainJob is defaulted to false and always written",
	runtime:  `template: {spec: {suspend: true}}`,
	findings: []string{"warning TW432 .spec.template.spec.suspend"},
	got:      func(out *render.Objects) any { return out.JobSet.Spec.Suspend }, want: false,
}, {
	name: "a suspended job that can never be resumed",
	reason: "the webhook fills retentionPolicy in on create, and it is immutable on the next " +
		"apply",
	runtime:  `template: {spec: {volumeClaimPolicies: [{templates: [{metadata: {name: c}}]}]}}`,
	job:      `suspend: true`,
	findings: []string{"warning TW431 .spec.template.spec.volumeClaimPolicies[0].retentionPolicy"},
}, {
	name:     "resources need a policy",
	reason:   "without mlPolicy the controller ignores resourcesPerNode, nonsense included",
	job:      `trainer: {resourcesPerNode: {limits: {cpu: 2}}}`,
	findings: []string{"warning TW437 .spec.trainer.resourcesPerNode"},
	got: func(out *render.Objects) any {
		return containerOf(out, "node").Resources
	}, want: object{},
}, {
	name:    "resource claims are dropped",
	reason:  "the controller copies limits and requests only, the runtime's claims are lost too",
	runtime: `mlPolicy: {numNodes: 1}`,
	job:     `trainer: {resourcesPerNode: {limits: {cpu: 2}, claims: [{name: gpu}]}}`,
	jobs: replicatedJob("node", "", trainerLabel, "",
		`containers: [{name: node, image: i, resources: {claims: [{name: nic}]}}]`),
	findings: []string{
		"warning TW438 " + inC + ".resources.claims",
		"warning TW438 .spec.trainer.resourcesPerNode.claims",
	},
	got: func(out *render.Objects) any {
		return containerOf(out, "node").Resources
	}, want: object{"limits": object{"cpu": "2"}},
}}

var portCases = []policyCase{{
	name:    "an unnamed port is replaced",
	reason:  "the controller takes ports without a name for one",
	runtime: `mlPolicy: {torch: {}}`, job: `trainer: {}`,
	jobs: replicatedJob("node", "", trainerLabel, "",
		`containers: [{name: node, image: i, ports: [{containerPort: 8080}]}]`),
	findings: []string{"warning TW435 " + inC + `.ports[containerPort="8080"]`},
	got:      portNumbers, want: []int{29500},
}, {
	name: "a port with a name stays", reason: "29500 is added behind it",
	runtime: `mlPolicy: {jax: {}}`, job: `trainer: {}`,
	jobs: replicatedJob("node", "", trainerLabel, "",
		`containers: [{name: node, image: i, ports: [{name: web, containerPort: 8080}]}]`),
	got: portNumbers, want: []int{8080, 29500},
}, {
	name: "the policy's port loses its name", reason: "it is replaced whole",
	runtime: `mlPolicy: {xgboost: {}}`, job: `trainer: {}`,
	jobs: replicatedJob("node", "", trainerLabel, "",
		`containers: [{name: node, image: i, ports: [{name: rdzv, containerPort: 29500}]}]`),
	findings: []string{"warning TW435 " + inC + `.ports[containerPort="29500"]`},
	got: func(out *render.Objects) any {
		return containerOf(out, "node").Ports
	}, want: []object{{"containerPort": 29500}},
}, {
	name: "two unnamed ports",
	reason: "the first is lost and the second doubled, also without any policy, and the JobSet " +
		"API rejects the pair",
	jobs: replicatedJob("node", "", trainerLabel, "",
		`containers: [{name: node, image: i, ports: [{containerPort: 80}, {containerPort: 81}]}]`),
	findings: []string{"error TW436 " + inC + `.ports[containerPort="80"]`},
	got:      portNumbers, want: []int{81, 81},
}, {
	name:   "one number for two protocols",
	reason: "the controller tells ports apart by number and name alone",
	jobs: replicatedJob("node", "", trainerLabel, "",
		`initContainers: [{name: a, image: i, ports: [{name: t, containerPort: 53}, {name: u, containerPort: 53, protocol: UDP}]}], `+nodeContainer),
	findings: []string{
		"error TW436 " + inPod + `.initContainers[name="a"].ports[containerPort="53"]`,
	},
}}

var envCases = []policyCase{{
	name:    "no trainer section, no rendezvous",
	reason:  "the torch policy acts only with spec.trainer, even an empty one",
	runtime: `mlPolicy: {torch: {}}`, findings: []string{"warning TW440 .spec.trainer"},
	got: envNames, want: nil,
}, {
	name: "no trainer section, jax", reason: "as with torch", runtime: `mlPolicy: {jax: {}}`,
	findings: []string{"warning TW440 .spec.trainer"}, got: envNames, want: nil,
}, {
	name: "no trainer section, xgboost", reason: "as with torch",
	runtime:  `mlPolicy: {xgboost: {}}`,
	findings: []string{"warning TW440 .spec.trainer"}, got: envNames, want: nil,
}, {
	name: "no trainer job", reason: "a policy finds its job by the label",
	runtime: `mlPolicy: {jax: {}}`, job: `trainer: {numNodes: 2, image: j}`,
	jobs: replicatedJob("node", "", "", "", nodeContainer),
	findings: []string{
		"warning TW437 .spec.trainer.image", "warning TW437 .spec.trainer.numNodes",
		"warning TW440 .spec.mlPolicy.jax",
	},
}, {
	name:    "the master's address is fixed",
	reason:  "torch takes the job for node, and the subdomain for the TrainJob's name",
	runtime: `{mlPolicy: {torch: {}}, template: {spec: {network: {subdomain: net}}}}`,
	job:     `trainer: {}`,
	jobs:    replicatedJob("workers", "", trainerLabel, "", nodeContainer),
	findings: []string{
		"warning TW441 " + inJobs + `[name="workers"].name`,
		"warning TW441 .spec.template.spec.network.subdomain",
	},
	got: envValue("workers", "PET_MASTER_ADDR"), want: "tj-node-0-0.tj",
}, {
	name: "no host names", reason: "without them no Pod has an address",
	runtime:  `{mlPolicy: {jax: {}}, template: {spec: {network: {enableDNSHostnames: false}}}}`,
	job:      `trainer: {}`,
	findings: []string{"warning TW441 .spec.template.spec.network.enableDNSHostnames"},
}, {
	name:    "the TrainJob may override jax",
	reason:  "jax reserves no variable, and spec.trainer.env is written last",
	runtime: `mlPolicy: {jax: {}}`,
	job:     `trainer: {numNodes: 2, env: [{name: JAX_NUM_PROCESSES, value: "8"}]}`,
	got:     envValue("node", "JAX_NUM_PROCESSES"), want: "8",
}, {
	name: "xgboost counts a worker per GPU", reason: "two nodes of four GPUs",
	runtime: `mlPolicy: {xgboost: {}}`,
	job:     `trainer: {numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}`,
	got:     envValue("node", "DMLC_NUM_WORKER"), want: "8",
}, {
	name:    "the order beside xgboost is fixed",
	reason:  "upstream's changes with every start: spec.trainer.env comes first here",
	runtime: `mlPolicy: {xgboost: {}}`,
	job:     `trainer: {env: [{name: Z, value: "1"}, {name: A, value: "1"}]}`,
	got:     envNames,
	want: []string{"Z", "A", "DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID",
		"DMLC_NUM_WORKER"},
}, {
	name:    "GPUs that only the runtime names",
	reason:  "the container keeps them, and the policy does not count them",
	runtime: `mlPolicy: {torch: {}}`, job: `trainer: {resourcesPerNode: {requests: {cpu: 3}}}`,
	jobs: replicatedJob("node", "", trainerLabel, "",
		`containers: [{name: node, image: i, resources: {limits: {nvidia.com/gpu: 2}}}]`),
	findings: []string{"warning TW442 .spec.trainer.resourcesPerNode"},
	got:      envValue("node", "PET_NPROC_PER_NODE"), want: "3",
}, {
	name: "a second trainer job",
	reason: "it gets the TrainJob's image and env, and neither its numNodes nor the values of " +
		"the policy",
	runtime: `mlPolicy: {torch: {}}`, job: `trainer: {numNodes: 3}`,
	jobs: nodeJob + replicatedJob("more", "", trainerLabel, "", nodeContainer),
	findings: []string{
		"warning TW443 " + inJobs +
			`[name="more"].template.metadata.labels["trainer.kubeflow.org/trainjob-ancestor-step"]`},
	got: counts("more"), want: []int{1, 1, 1},
}, {
	name:     "a variable from a file",
	reason:   "the controller loses the fileKeyRef, and the Job API rejects valueFrom: {}",
	job:      `trainer: {env: [{name: F, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}}}]}`,
	findings: []string{`error TW439 .spec.trainer.env[name="F"]`},
	got: func(out *render.Objects) any {
		return containerOf(out, "node").Env
	}, want: []object{{"name": "F", "valueFrom": object{}}},
}, {
	name: "numProcPerNode that nothing reads", reason: "jax starts its processes itself",
	runtime: `mlPolicy: {jax: {}}`, job: `trainer: {numProcPerNode: 4}`,
	findings: []string{"warning TW437 .spec.trainer.numProcPerNode"},
}, {
	name: "an initializer without a job", reason: "the controller finds the job by its label",
	job:      `initializer: {dataset: {storageUri: "hf://d"}}`,
	findings: []string{"warning TW437 .spec.initializer.dataset"},
}}

// Sources of bytes and texts for cases.

func noBytes() io.Reader { return iotest.ErrReader(errors.New("no more")) }

func texts(broker, entrypoint, init string) fstest.MapFS {
	return fstest.MapFS{
		"broker.toml": {Data: []byte(broker)}, "entrypoint.sh": {Data: []byte(entrypoint)},
		"init.sh": {Data: []byte(init)},
	}
}

func fluxData(out *render.Objects) any { return out.Companions[0].(*corev1.ConfigMap).Data }

func envAndConfig(out *render.Objects) any {
	return []any{envValue("node", "KUBEFLOW_TRAINER_SERVER_URL")(out),
		out.Companions[0].(*corev1.ConfigMap).Data["ca.crt"]}
}
