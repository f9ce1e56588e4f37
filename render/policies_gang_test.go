package render_test

import (
	"crypto/rand"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/mlpolicy"
)

var mpiCases = []policyCase{{
	name: "the runtime's numNodes goes to the launcher",
	reason: "the launcher carries the trainer's label, so two launchers each run mpirun over " +
		"one node",
	runtime: `mlPolicy: {numNodes: 2, mpi: {}}`, jobs: mpiJobs,
	findings: []string{"warning TW444 .spec.mlPolicy.numNodes"},
	got:      counts("launcher"), want: []int{2, 2, 1},
}, {
	name: "the TrainJob's numNodes goes to node", reason: "a job of that name, whatever its label",
	runtime: `mlPolicy: {mpi: {}}`, job: `trainer: {numNodes: 3}`, jobs: mpiJobs,
	got: hostfile, want: "tj-node-0-0.tj slots=1\ntj-node-0-1.tj slots=1\ntj-node-0-2.tj slots=1\n",
}, {
	name:    "the launcher as a node",
	reason:  "it comes out of numNodes and stands first in the hostfile",
	runtime: `mlPolicy: {mpi: {runLauncherAsNode: true, numProcPerNode: 2}}`,
	job:     `trainer: {numNodes: 3}`, jobs: mpiJobs,
	got:  hostfile,
	want: "tj-launcher-0-0.tj slots=2\ntj-node-0-0.tj slots=2\ntj-node-0-1.tj slots=2\n",
}, {
	name:    "one node is two",
	reason:  "the launcher counts, and the job called node keeps at least one Pod",
	runtime: `mlPolicy: {mpi: {runLauncherAsNode: true}}`, job: `trainer: {numNodes: 1}`,
	jobs:     mpiJobs,
	findings: []string{"warning TW444 .spec.trainer.numNodes"},
	got:      hostfile, want: "tj-launcher-0-0.tj slots=1\ntj-node-0-0.tj slots=1\n",
}, {
	name: "an empty hostfile", reason: "zero nodes are admitted",
	runtime: `mlPolicy: {mpi: {}}`, job: `trainer: {numNodes: 0}`, jobs: mpiJobs,
	findings: []string{"warning TW423 .spec.trainer.numNodes"}, got: hostfile, want: "",
}, {
	name: "no job called node", reason: "MPI looks for the name",
	runtime: `mlPolicy: {mpi: {}}`, job: `trainer: {numNodes: 2}`,
	jobs:     replicatedJob("launcher", "", trainerLabel, "", nodeContainer),
	findings: []string{"warning TW437 .spec.trainer.numNodes", "warning TW446 .spec.mlPolicy.mpi"},
	got:      hostfile, want: "",
}, {
	name: "more hosts than a ConfigMap holds", reason: "the API server takes 1 MiB",
	runtime: `mlPolicy: {mpi: {}}`, job: `trainer: {numNodes: 2000000000}`, jobs: mpiJobs,
	findings: []string{"error TW446 .spec.trainer.numNodes"}, got: companionNames, want: []string{},
}, {
	name:    "more hosts of the runtime than a ConfigMap holds",
	reason:  "the policy counts the Pods of the job with the trainer's label",
	runtime: `mlPolicy: {numNodes: 2000000000, mpi: {runLauncherAsNode: true}}`, jobs: mpiJobs,
	findings: []string{"warning TW444 .spec.mlPolicy.numNodes",
		"error TW446 .spec.mlPolicy.numNodes"}, got: companionNames, want: []string{},
}, {
	name: "the hostfile counts the template's replicas", reason: "they are made one only later",
	runtime:  `mlPolicy: {mpi: {}}`,
	jobs:     replicatedJob("node", "replicas: 2", trainerLabel, "", nodeContainer),
	findings: []string{"warning TW434 " + inNode + ".replicas"},
	got:      hostfile, want: "tj-node-0-0.tj slots=1\ntj-node-1-0.tj slots=1\n",
}, {
	name:    "the hostfile honours the subdomain",
	reason:  "unlike the addresses of the other policies",
	runtime: `{mlPolicy: {mpi: {}}, template: {spec: {network: {subdomain: net}}}}`, jobs: mpiJobs,
	got: hostfile, want: "tj-node-0-0.net slots=1\n",
}, {
	name:    "one process in the runtime means one per GPU",
	reason:  "a runtime cannot ask for one process with several GPUs",
	runtime: `mlPolicy: {mpi: {numProcPerNode: 1}}`, jobs: mpiJobs,
	job:      `trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}`,
	findings: []string{"warning TW437 .spec.trainer.resourcesPerNode"},
	got:      envValue("launcher", "OMPI_MCA_orte_set_default_slots"), want: "4",
}, {
	name:    "an unknown implementation",
	reason:  "the enum admits the empty one, and the controller fails on it forever",
	runtime: `mlPolicy: {mpi: {mpiImplementation: ""}}`, jobs: mpiJobs,
	findings: []string{"error TW445 .spec.mlPolicy.mpi.mpiImplementation"}, got: noJobSet,
	want: true,
}, {
	name:     "an unknown implementation without a launcher",
	reason:   "nothing fails, and the hostfile stays empty",
	runtime:  `mlPolicy: {mpi: {mpiImplementation: ""}}`,
	findings: []string{"warning TW445 .spec.mlPolicy.mpi.mpiImplementation"}, got: hostfile,
	want: "",
}, {
	name: "the key pair is left out", reason: "a secret is never made up in silence",
	runtime: `mlPolicy: {mpi: {}}`, jobs: mpiJobs,
	findings: []string{"warning TW452 .spec.mlPolicy.mpi"}, got: companionNames,
	want: []string{"ConfigMap  tj-mpi-hostfile"},
}, {
	name: "the key pair is made", reason: "where there is a source of random bytes",
	opts:    render.Options{Secrets: rand.Reader},
	runtime: `mlPolicy: {mpi: {}}`, jobs: mpiJobs,
	got: companionNames, want: []string{"ConfigMap  tj-mpi-hostfile", "Secret  tj-mpi-ssh-auth"},
}, {
	name: "the random bytes run out", reason: "no Secret is better than a weak one",
	opts:    render.Options{Secrets: noBytes()},
	runtime: `mlPolicy: {mpi: {}}`, jobs: mpiJobs,
	findings: []string{"error TW453 .spec.mlPolicy.mpi"}, got: companionNames,
	want: []string{"ConfigMap  tj-mpi-hostfile"},
}}

var fluxCases = []policyCase{{
	name: "flux without a trainer section", reason: "the controller crashes on it again and again",
	runtime: `mlPolicy: {flux: {}}`, findings: []string{"error TW447 .spec.trainer.numNodes"},
	got: noJobSet, want: true,
}, {
	name: "flux without numNodes", reason: "the runtime's own do not help",
	runtime: `mlPolicy: {numNodes: 2, flux: {}}`, job: `trainer: {}`,
	findings: []string{"error TW447 .spec.trainer.numNodes"}, got: noJobSet, want: true,
}, {
	name: "flux runs the job's command", reason: "as one string, without quotes around its words",
	runtime: `mlPolicy: {flux: {}}`,
	job:     `trainer: {numNodes: 2, command: [lmp, -v], args: ["x 2", z]}`,
	got:     func(out *render.Objects) any { return containerOf(out, "node").Command },
	want:    []string{"/bin/bash", "/etc/flux-config/entrypoint.sh", "lmp -v x 2 z"},
}, {
	name: "the runtime's args stay behind",
	reason: "they stand behind the script, which adds them to the command: the TrainJob's do " +
		"not replace them",
	runtime: `mlPolicy: {flux: {}}`, job: `trainer: {numNodes: 1, args: [mine]}`,
	jobs: replicatedJob("node", "", trainerLabel, "",
		`containers: [{name: node, image: i, command: [lmp], args: [theirs]}]`),
	findings: []string{"warning TW448 .spec.trainer.args"},
	got: func(out *render.Objects) any {
		return slices.Concat(containerOf(out, "node").Command, containerOf(out, "node").Args)
	},
	want: []string{"/bin/bash", "/etc/flux-config/entrypoint.sh", "lmp mine", "theirs"},
}, {
	name:    "flux in a job of another name",
	reason:  "the command is written, and the script it names is not mounted",
	runtime: `mlPolicy: {flux: {}}`, job: `trainer: {numNodes: 1}`,
	jobs:     replicatedJob("work", "", trainerLabel, "", nodeContainer),
	findings: []string{"warning TW448 " + inJobs + `[name="work"].name`},
	got: func(out *render.Objects) any {
		return containerOf(out, "work").VolumeMounts
	}, want: nil,
}, {
	name:     "a setting that Flux cannot read",
	reason:   "the controller reads value alone, and finds no image for the init container",
	runtime:  `mlPolicy: {flux: {}}`,
	job:      `trainer: {numNodes: 1, env: [{name: FLUX_VIEW_IMAGE, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}`,
	findings: []string{`error TW448 .spec.trainer.env[name="FLUX_VIEW_IMAGE"]`},
	got: func(out *render.Objects) any {
		return rjob(out, "node").Template.Spec.Template.Spec.InitContainers[0].Image
	}, want: "",
}, {
	name:    "settings that fill the ConfigMap",
	reason:  "the API server rejects it: the longest variable counts, that of the TrainJob first",
	runtime: `mlPolicy: {flux: {}}`,
	job: `trainer: {numNodes: 1, env: [{name: FLUX_NETWORK_DEVICE, value: ` +
		strings.Repeat("d", 1<<19) + `}, {name: OTHER, value: ` + strings.Repeat("o", 1<<20) + `}]}`,
	jobs: replicatedJob("node", "", trainerLabel, "",
		`containers: [{name: node, image: i, env: [{name: FLUX_QUEUE_POLICY, value: `+
			strings.Repeat("q", 1<<19+1)+`}, {name: FLUX_NETWORK_DEVICE, value: `+
			strings.Repeat("n", 1<<20)+`}]}]`),
	findings: []string{"error TW448 " + inJobs + `[name="node"].template.spec.template.spec.` +
		`containers[name="node"].env[name="FLUX_QUEUE_POLICY"]`},
}, {
	name: "Flux's texts and certificate are left out", reason: "all else of the job is rendered",
	runtime: `mlPolicy: {flux: {}}`, job: `trainer: {numNodes: 1}`,
	findings: []string{"warning TW452 .spec.mlPolicy.flux", "warning TW452 .spec.mlPolicy.flux"},
	got:      companionNames, want: []string{},
}, {
	name: "Flux's texts come from a folder", reason: "they are the Trainer's own",
	runtime: `mlPolicy: {flux: {numProcPerNode: 2}}`,
	job:     `trainer: {numNodes: 3, resourcesPerNode: {limits: {nvidia.com/gpu: 2}}}`,
	opts:    render.Options{FluxTemplates: texts("<%s|%s|%s|%s>", "[%s|%s|%s]", "(%s|%s|%s|%s)")},
	// -g is for each task, and gets the GPUs of the node
	findings: []string{"warning TW448 .spec.mlPolicy.flux.numProcPerNode"},
	got:      func(out *render.Objects) any { return fluxData(out) },
	want: object{
		"entrypoint.sh": "[--cores=0-1 --gpu=0-1|tj-node-0-0|-N 3 -n 6 -g 2]",
		"init.sh":       "(/opt/view|tj-0|tj-node-0-[0-2]|<tcp://eth0:%p|tcp://%h.tj.ns.svc.cluster.local:%p|tj-node-0-[0-2]|fcfs>)",
	},
}, {
	name: "texts of another version", reason: "other gaps would be filled with the wrong things",
	runtime: `mlPolicy: {flux: {}}`, job: `trainer: {numNodes: 1}`,
	opts:     render.Options{FluxTemplates: texts("%s", "%s", "%s")},
	findings: []string{"error TW453 .spec.mlPolicy.flux"}, got: companionNames, want: []string{},
}}

var gangCases = []policyCase{{
	name: "a gang counts a job once", reason: "whatever its replicas",
	runtime: `podGroupPolicy: {coscheduling: {}}`,
	jobs: nodeJob +
		replicatedJob("eval", "replicas: 3", "", "parallelism: 2\n      completions: 2",
			`containers: [{name: e, image: i, resources: {requests: {cpu: 100m}}}]`),
	findings: []string{"warning TW449 " + inJobs + `[name="eval"].replicas`},
	got:      groupSpec,
	want: object{"minMember": 3, "minResources": object{"cpu": "200m"},
		"scheduleTimeoutSeconds": 60},
}, {
	name: "a gang without requests", reason: "the controller sends the empty resources",
	runtime: `podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 5}}`,
	got:     groupSpec,
	want:    object{"minMember": 1, "minResources": object{}, "scheduleTimeoutSeconds": 5},
}, {
	name:     "a gang leaves limits out",
	reason:   "a limit without a request is one for the API server, and none for the gang",
	runtime:  `{mlPolicy: {torch: {}}, podGroupPolicy: {volcano: {}}}`,
	job:      `trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}`,
	findings: []string{`warning TW449 .spec.trainer.resourcesPerNode.limits["nvidia.com/gpu"]`},
	got:      groupSpec, want: object{"minMember": 1, "minResources": object{}},
}, {
	name:    "a gang waits for Pods that come later",
	reason:  "the node's Pods are made when the initializer is done, which waits for them",
	runtime: `podGroupPolicy: {coscheduling: {}}`,
	jobs: replicatedJob("dataset-initializer", "", "", "", nodeContainer) +
		replicatedJob("node", "dependsOn: [{name: dataset-initializer, status: Complete}]",
			trainerLabel, "", nodeContainer),
	findings: []string{"warning TW449 " + inNode + ".dependsOn"},
}, {
	name: "two gangs", reason: "both schedulers' marks, and two PodGroups of one name",
	runtime:  `podGroupPolicy: {coscheduling: {}, volcano: {}}`,
	findings: []string{"warning TW450 .spec.podGroupPolicy"},
	got:      companionNames,
	want:     []string{"PodGroup scheduling.volcano.sh tj", "PodGroup scheduling.x-k8s.io tj"},
}, {
	name: "the last priority class wins", reason: "Volcano's group has one",
	runtime: `podGroupPolicy: {volcano: {}}`,
	jobs: replicatedJob("a", "", "", "", `priorityClassName: low, `+nodeContainer) +
		replicatedJob("node", "", trainerLabel, "", `priorityClassName: high, `+nodeContainer),
	findings: []string{"warning TW451 " + inPod + ".priorityClassName"},
	got:      groupSpec,
	want:     object{"minMember": 2, "minResources": object{}, "priorityClassName": "high"},
}, {
	name: "Volcano's queue is an annotation", reason: "which a manager's patch may set",
	runtime: `{podGroupPolicy: {volcano: {networkTopology: {}}}, template: {metadata: {annotations: {scheduling.volcano.sh/queue-name: a}}}}`,
	job:     `runtimePatches: [{manager: x.io/y, trainingRuntimeSpec: {template: {metadata: {annotations: {scheduling.volcano.sh/queue-name: b}}}}}]`,
	got:     groupSpec,
	want: object{"minMember": 1, "minResources": object{}, "queue": "b",
		"networkTopology": object{"mode": "hard", "highestTierAllowed": 1}},
}, {
	name: "Volcano's queue as stored", reason: "its CRD fills in the default one",
	opts:    render.Options{As: render.Stored},
	runtime: `podGroupPolicy: {volcano: {}}`, got: groupSpec,
	want: object{"minMember": 1, "minResources": object{}, "queue": "default"},
}, {
	name: "the gang's label wins", reason: "over a manager's patch",
	runtime: `podGroupPolicy: {coscheduling: {}}`, jobs: nodeJob,
	got:  func(out *render.Objects) any { return rjob(out, "node").Template.Spec.Template.Labels },
	want: object{"scheduling.x-k8s.io/pod-group": "tj"},
}}

var otherCases = []policyCase{{
	name:     "another controller's TrainJob",
	reason:   "MultiKueue sends it to another cluster, which renders it",
	job:      `managedBy: kueue.x-k8s.io/multikueue`,
	findings: []string{"warning TW430 .spec.managedBy"},
	got:      counts("node"), want: []int{1, 1, 1},
}, {
	name: "another controller's JobSet", reason: "a runtime may say so",
	runtime:  `template: {spec: {managedBy: x.io/y}}`,
	findings: []string{"warning TW421 .spec.template.spec.managedBy"},
}, {
	name: "owner references without a uid", reason: "a TrainJob from a file has none",
	opts:     render.Options{OwnerReferences: true},
	findings: []string{"warning TW454 .metadata.uid"},
	got: func(out *render.Objects) any {
		return out.JobSet.OwnerReferences[0].Name
	}, want: "tj",
}, {
	name: "progress is off by default", reason: "the gate is alpha", job: `trainer: {}`,
	got: envNames, want: nil,
}, {
	name: "progress comes last", reason: "upstream's order is random",
	job:      `trainer: {env: [{name: A, value: "1"}]}`,
	opts:     render.Options{FeatureGates: render.FeatureGates{TrainJobStatus: true}},
	findings: []string{"warning TW452 "},
	got:      envNames,
	want: []string{"A", "KUBEFLOW_TRAINER_SERVER_URL", "KUBEFLOW_TRAINER_SERVER_CA_CERT",
		"KUBEFLOW_TRAINER_SERVER_TOKEN"},
}, {
	name: "progress with the server's certificate", reason: "only the cluster knows it",
	opts: render.Options{
		FeatureGates: render.FeatureGates{TrainJobStatus: true},
		StatusServer: mlpolicy.StatusServer{URL: "https://s:1", CA: "pem"},
	},
	got: envAndConfig,
	want: []any{"https://s:1/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/tj/status",
		"pem"},
}}
