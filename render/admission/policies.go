package admission

import (
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission/internal/kubeapi"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// policies checks the rules of the Trainer's plugins, each only if the runtime has its policy.
// Plain, jax and coscheduling have no rules.
func (c *checker) policies() {
	if p := c.in.Runtime.spec.MLPolicy; p != nil {
		if p.Torch != nil {
			c.torch(p.Torch)
		}
		if p.MPI != nil {
			c.mpi(p.MPI)
		}
		if p.XGBoost != nil {
			c.reserved(reservedForXGBoost, "DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID",
				"DMLC_NUM_WORKER")
		}
		if p.Flux != nil {
			c.flux(p.Flux)
		}
	}
	if p := c.in.Runtime.spec.PodGroupPolicy; p != nil && p.Volcano != nil {
		c.volcano()
	}
}

// reservedEnvs and reservedForXGBoost are the webhook's messages on a variable that the policy
// sets.
func reservedEnvs(name string) string {
	return kubeapi.InvalidObject(
		fmt.Sprintf("must not have reserved envs, invalid envs configured: [%s]", name))
}

func reservedForXGBoost(name string) string {
	return kubeapi.Forbidden(name + " is reserved for the XGBoost runtime")
}

// reserved reports variables in spec.trainer.env that the policy sets itself.
func (c *checker) reserved(message func(name string) string, names ...string) {
	t := c.typed.Spec.Trainer
	if t == nil {
		return
	}
	for _, env := range t.Env {
		if slices.Contains(names, env.Name) {
			c.report(codes.ReservedEnv, finding.Error,
				fieldpath.Fields("spec", "trainer", "env").Append(fieldpath.Item("name", env.Name)),
				message(env.Name), "remove the variable: the runtime's policy sets it")
		}
	}
}

func (c *checker) torch(p *trainer.TorchMLPolicySource) {
	if p.EnvInjection != nil {
		for _, target := range p.EnvInjection.Targets {
			for _, name := range target.ContainerNames {
				if !hasTarget(c.merged.Template.Spec.ReplicatedJobs, target.JobName, name) {
					c.Add(finding.Finding{
						Code: codes.EnvInjection, Severity: finding.Error, Object: c.job.id,
						Path: fieldpath.Fields("spec", "runtimeRef"),
						Message: kubeapi.InvalidObject(
							fmt.Sprintf("envInjection target podSet %q container %q not found in "+
								"runtime template", target.JobName, name)),
						Remedy: finding.Remedy{
							Text: "use a container of the runtime's template in mlPolicy.torch.envInjection"},
						Claims: []merge.Claim{{
							Owner: runtimepatch.RuntimeLayer, Value: merge.Presence{},
							At: fieldpath.Fields("spec", "mlPolicy", "torch", "envInjection",
								"targets").Append(fieldpath.Item("jobName", target.JobName)),
						}},
					})
				}
			}
		}
	}
	t := c.typed.Spec.Trainer
	processes := c.in.Earlier.NumProcPerNode
	if !c.job.has(release.TorchAlways) &&
		(t == nil || t.NumProcPerNode == nil && processes == nil) {
		return
	}
	if c.job.has(release.TorchProcesses) && processes != nil && processes.Type == intstr.String &&
		!slices.Contains([]string{"auto", "cpu", "gpu"}, processes.StrVal) {
		c.report(codes.BadValue, finding.Error,
			fieldpath.Fields("spec", "trainer", "numProcPerNode"),
			kubeapi.Invalid(processes.StrVal, "must have an int value or [auto cpu gpu]"),
			"use an integer, auto, cpu or gpu")
	}
	c.reserved(reservedEnvs, "PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR",
		"PET_MASTER_PORT")
	if t != nil && slices.Equal(t.Command, []string{"tune", "run"}) {
		c.torchTune(t)
	}
}

func hasTarget(jobs []jobset.ReplicatedJob, job, container string) bool {
	target := replicatedJob(jobs, job)
	if target == nil {
		return false
	}
	pod := &target.Template.Spec.Template.Spec
	return kubeapi.HasContainer(pod.Containers, container) ||
		kubeapi.HasContainer(pod.InitContainers, container)
}

// firstTorchTuneModels are the models with recipes in Trainer 2.0, and torchTuneModels those since
// 2.1. The name of a runtime contains its model.
var firstTorchTuneModels = []torchTuneRecipes{
	{model: "llama3_2/1B", suffix: "llama3.2-1b"},
	{model: "llama3_2/7B", suffix: "llama3.2-7b"},
	{model: "llama3_3/70B", suffix: "llama3.3-70b", nodes: true},
}

var torchTuneModels = []torchTuneRecipes{
	{model: "llama3_2/1B", suffix: "llama3.2-1b", qlora: oneDeviceOnly},
	{model: "llama3_2/3B", suffix: "llama3.2-3b", qlora: oneDeviceOnly},
	{model: "llama3_3/70B", suffix: "llama3.3-70b", nodes: true},
	{model: "qwen2_5/1.5B", suffix: "qwen2.5-1.5b", qlora: notAtAll},
}

type torchTuneRecipes struct {
	model, suffix string
	nodes         bool // there is a recipe for several nodes
	qlora         qlora
}

type qlora int

const (
	everywhere qlora = iota
	oneDeviceOnly
	notAtAll
)

// torchTune checks the rules for a trainer with exactly the command "tune run" (Trainer v2.3.0
// pkg/runtime/framework/plugins/torch torchtune.go).
func (c *checker) torchTune(t *trainer.Trainer) {
	reject := func(path fieldpath.Path, message, help string) {
		c.report(codes.TorchTune, finding.Error, path, message, help)
	}
	atName, atNodes := fieldpath.Fields("spec", "runtimeRef", "name"),
		fieldpath.Fields("spec", "trainer", "numNodes")
	model, models := mlpolicy.TorchTuneModel(c.typed.Spec.RuntimeRef.Name), torchTuneModels
	if c.job.release.TorchTune == release.TorchTune20 {
		models = firstTorchTuneModels
	}
	var recipes torchTuneRecipes
	var suffixes []string
	for _, r := range models {
		suffixes = append(suffixes, r.suffix)
		if r.model == model {
			recipes = r
		}
	}
	if recipes.model == "" {
		reject(atName,
			kubeapi.Invalid(c.typed.Spec.RuntimeRef.Name,
				"must have a supported pretrained model, invalid model configured: "+model),
			"use a runtime with a name <name>-<model>, without further dashes, and one of the "+
				"models "+strings.Join(suffixes, ", "))
	}
	nodes := int32(1)
	if t.NumNodes != nil {
		nodes = *t.NumNodes
	} else if c.job.has(release.TorchTuneNodes) {
		reject(atNodes, kubeapi.Missing("the webhook panics without it"), "set numNodes")
	}
	if nodes > 1 && !recipes.nodes {
		reject(atNodes, kubeapi.Invalid(nodes, fmt.Sprintf("must be 1 for %s model", model)),
			"set numNodes to 1")
	}
	lora, quantized := mlpolicy.TorchTuneLoRA(c.job.release.TorchTune, t.Args)
	switch {
	case nodes != 1 || !quantized || !c.job.has(release.TorchTuneQLoRA):
	case recipes.qlora == notAtAll:
		reject(atName,
			kubeapi.Invalid(c.typed.Spec.RuntimeRef.Name,
				fmt.Sprintf("QLoRA is not supported for %s model", model)),
			"remove model.quantize_base=True")
	case recipes.qlora == oneDeviceOnly && !c.oneDevice(t):
		reject(fieldpath.Fields("spec", "trainer", "numProcPerNode"),
			kubeapi.InvalidObject(
				fmt.Sprintf("must be auto or 1 for %s model when using QLoRA", model)),
			"set numProcPerNode to 1, or request one GPU in resourcesPerNode")
	}
	if nodes > 1 && (lora || quantized) && c.job.has(release.TorchTuneOneNode) {
		reject(atNodes,
			kubeapi.Invalid(
				nodes, "LoRA fine-tuning is not supported for multi-node training in TorchTune"),
			"set numNodes to 1")
	}
	for i, arg := range t.Args {
		if !c.job.has(release.TorchTuneArgs) {
			break
		}
		key, _, _ := strings.Cut(arg, "=")
		if slices.Contains(
			[]string{"output_dir", "tokenizer.path", "checkpointer.checkpoint_dir",
				"tokenizer.merges_file"}, key) {
			reject(fieldpath.Fields("spec", "trainer", "args").Append(fieldpath.Index(i)),
				kubeapi.Invalid(
					arg, fmt.Sprintf(
						"must not set immutable config %q in trainer args; it is managed by the "+
							"runtime", key)), "remove the argument")
		}
	}
}

// oneDevice reports whether torchtune takes its recipe for one device, for one process or one GPU.
// It reads the resources of spec.trainer, or else of the runtime.
func (c *checker) oneDevice(t *trainer.Trainer) bool {
	if t.NumProcPerNode != nil && *t.NumProcPerNode == 1 {
		return true
	}
	if n := c.in.Earlier.NumProcPerNode; n != nil && *n == intstr.FromInt32(1) {
		return true
	}
	resources := t.ResourcesPerNode
	if resources == nil {
		resources = mlpolicy.NodeResources(c.merged.Template.Spec.ReplicatedJobs)
	}
	return resources != nil && mlpolicy.GPUs(*resources) == 1
}

func (c *checker) mpi(p *trainer.MPIMLPolicySource) {
	t := c.typed.Spec.Trainer
	jobs := c.merged.Template.Spec.ReplicatedJobs
	if t != nil && t.NumNodes != nil && *t.NumNodes >= 2 && p.RunLauncherAsNode != nil &&
		*p.RunLauncherAsNode &&
		(replicatedJob(jobs, launcher) == nil || replicatedJob(jobs, mlpolicy.Node) == nil) {
		c.report(codes.NoLauncher, finding.Error, fieldpath.Fields("spec", "trainer", "numNodes"),
			kubeapi.Invalid(
				*t.NumNodes, "must have 1 when MPI trainingRuntime with enabled "+
					"runLauncherAsNode does not have either launcher and node"),
			"set numNodes to 1")
	}
	if n := c.in.Earlier.NumProcPerNode; n != nil && n.Type == intstr.String &&
		c.job.has(release.MPIProcesses) {
		c.report(codes.WrongType, finding.Error,
			fieldpath.Fields("spec", "trainer", "numProcPerNode"),
			kubeapi.Invalid(n.StrVal, "must have an int value for MPI TrainJob"), "use an integer")
	}
	if !c.job.has(release.MPIEnv) {
		return
	}
	c.reserved(reservedEnvs, "OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_args",
		"OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_orte_set_default_slots")
	if c.job.has(release.MPIPrteEnv) {
		c.reserved(func(name string) string {
			return c.job.resting(release.MPIPrteEnv, reservedEnvs(name))
		}, "PRTE_MCA_prte_default_hostfile", "PRTE_MCA_prte_keep_fqdn_hostnames",
			"PRTE_MCA_prte_set_default_slots", "PRTE_MCA_plm_ssh_args")
	}
}

// fluxInstaller is the init container that the policy adds.
const fluxInstaller = "flux-installer"

func (c *checker) flux(p *trainer.FluxMLPolicySource) {
	processes := p.NumProcPerNode
	if t := c.typed.Spec.Trainer; t != nil && t.NumProcPerNode != nil &&
		c.job.has(release.FluxProcesses) {
		processes = t.NumProcPerNode
	}
	if processes != nil && *processes < 1 && !c.job.has(release.FluxUnchecked) {
		c.report(codes.Flux, finding.Error, fieldpath.Fields("spec", "trainer", "numProcPerNode"),
			kubeapi.Invalid(*processes, "must be greater than or equal to 1 for Flux TrainJob"),
			"set numProcPerNode to 1 or more")
	}
	job := replicatedJob(c.merged.Template.Spec.ReplicatedJobs, mlpolicy.Node)
	if job == nil {
		return
	}
	pod := &job.Template.Spec.Template.Spec
	if kubeapi.HasContainer(pod.InitContainers, fluxInstaller) {
		path := jobPath(job.Name).Append(
			fieldpath.Fields("template", "spec", "template", "spec", "initContainers")...).Append(
			fieldpath.Item("name", fluxInstaller))
		c.Add(finding.Finding{
			Code: codes.Flux, Severity: finding.Error, Object: c.job.id,
			Path:    fieldpath.Fields("spec", "trainer", "initContainers"),
			Message: kubeapi.Invalid(fluxInstaller, "InitContainer 'flux-installer' is reserved"),
			Remedy:  finding.Remedy{Text: "rename the init container of the runtime"},
			Claims:  []merge.Claim{c.origin(path)},
		})
	}
}

// volcanoQueue is the annotation that names the queue (volcano.sh/apis
// pkg/apis/scheduling/v1beta1).
const volcanoQueue = "scheduling.volcano.sh/queue-name"

// volcano checks the only rule that needs no cluster. The other rule, that the PriorityClasses
// exist, is in children.go.
func (c *checker) volcano() {
	if queue, ok := c.merged.Template.Annotations[volcanoQueue]; ok && queue == "" {
		c.Add(finding.Finding{
			Code: codes.NoQueue, Severity: finding.Error, Object: c.job.id,
			Path:    fieldpath.Fields("spec", "annotations").Append(fieldpath.Key(volcanoQueue)),
			Message: kubeapi.Invalid("", "Volcano queue name must not be empty"),
			Remedy: finding.Remedy{
				Text: "set a queue"},
			Claims: []merge.Claim{
				c.origin(fieldpath.Fields("metadata", "annotations").Append(
					fieldpath.Key(volcanoQueue)))},
		})
	}
}

// replicatedJob returns the job of that name, or nil. Names are unique in an admitted runtime.
func replicatedJob(jobs []jobset.ReplicatedJob, name string) *jobset.ReplicatedJob {
	for i := range jobs {
		if jobs[i].Name == name {
			return &jobs[i]
		}
	}
	return nil
}

// jobPath returns the path of a replicated job in a JobSet.
func jobPath(name string) fieldpath.Path {
	return fieldpath.Fields("spec", "replicatedJobs").Append(fieldpath.Item("name", name))
}
