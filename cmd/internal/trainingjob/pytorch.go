package trainingjob

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/fieldpath"
)

// pyTorch converts a PyTorchJob (training-operator v1.9.3 pkg/controller.v1/pytorch).
func (c *conversion) pyTorch(job *kubeflow.PyTorchJob) {
	c.read(framework{
		kind: kubeflow.PyTorchJobKind, label: "torch", specs: "pytorchReplicaSpecs",
		types: []kubeflow.ReplicaType{kubeflow.PyTorchJobReplicaTypeMaster,
			kubeflow.PyTorchJobReplicaTypeWorker},
		container: kubeflow.PyTorchJobDefaultContainerName,
		portName:  kubeflow.PyTorchJobDefaultPortName, port: kubeflow.PyTorchJobDefaultPort,
		restart: kubeflow.PyTorchJobDefaultRestartPolicy,
	}, job.ObjectMeta, job.Spec.RunPolicy, job.Spec.PyTorchReplicaSpecs)
	c.exactlyOne(kubeflow.PyTorchJobReplicaTypeMaster)
	if w := c.replica(kubeflow.PyTorchJobReplicaTypeWorker); w != nil {
		c.reportIf(w.count() < 1, "noWorker", within(w.path, "replicas"))
	}
	p := &pyTorch{
		conversion: c, spec: &job.Spec, master: c.replica(kubeflow.PyTorchJobReplicaTypeMaster)}
	p.checkProcs()
	p.checkElastic()
	if c.findings.Err() != nil {
		return
	}
	p.layout()
}

type pyTorch struct {
	*conversion
	spec   *kubeflow.PyTorchJobSpec
	master *replica // nil without a master
}

// layout sets one job if master and worker agree, otherwise two.
func (p *pyTorch) layout() {
	if p.agree() {
		r := p.one()
		r.firstDecides, r.anyDecides = p.master != nil, p.spec.ElasticPolicy != nil
		p.roles = []*role{r}
		if p.fitsPolicy(r) {
			p.ml.Torch = &trainer.TorchMLPolicySource{EnvInjection: injection(r)}
			p.procs = p.numProcs()
			p.checkAuto(r)
			r.env = func(string) []corev1.EnvVar { return p.basics(r) }
			return
		}
		r.env = func(string) []corev1.EnvVar { return p.allVariables(r) }
		return
	}
	p.roles = p.each()
	for _, r := range p.roles {
		r.jobPerPod = r.replica != p.master
		r.env = func(string) []corev1.EnvVar { return p.allVariables(r) }
	}
	p.targets = []string{p.roles[0].name}
}

// basics returns the variables that Trainer's policy lacks. The policy sets the others under names
// with the prefix PET_.
func (p *pyTorch) basics(r *role) []corev1.EnvVar {
	env := []corev1.EnvVar{unbuffered()}
	if p.master == nil {
		return env
	}
	return append(env,
		number("MASTER_PORT", p.portOf(p.master)),
		envVar("MASTER_ADDR", p.hostOf(p.master, 0)),
		number("WORLD_SIZE", int(p.total())*p.procsForWorld()),
		p.rank(r, "RANK"),
	)
}

// allVariables returns all variables of the old controller, for Pods without a policy.
func (p *pyTorch) allVariables(r *role) []corev1.EnvVar {
	env := p.basics(r)
	if p.master != nil {
		env = append(env,
			number("PET_MASTER_PORT", p.portOf(p.master)),
			envVar("PET_MASTER_ADDR", p.hostOf(p.master, 0)),
			p.rank(r, "PET_NODE_RANK"),
		)
	}
	if procs := p.procsPerNode(); procs != "" {
		env = append(env, envVar("PET_NPROC_PER_NODE", procs))
	}
	if p.spec.ElasticPolicy == nil {
		return append(env, number("PET_NNODES", p.total()))
	}
	return append(env, p.elastic()...)
}

// elastic returns the variables of an elasticPolicy.
func (p *pyTorch) elastic() []corev1.EnvVar {
	policy := p.spec.ElasticPolicy
	worker := p.replica(kubeflow.PyTorchJobReplicaTypeWorker)
	host, port := p.hostOf(worker, 0), ptr.Deref(policy.RDZVPort, p.portOf(worker))
	if policy.RDZVHost != nil {
		host = p.replaceHosts(*policy.RDZVHost)
	}
	backend := ptr.Deref(policy.RDZVBackend, kubeflow.BackendC10D)
	least, most := p.elasticRange()
	env := []corev1.EnvVar{
		envVar("PET_RDZV_ENDPOINT", fmt.Sprintf("%s:%d", host, port)),
		envVar("PET_RDZV_BACKEND", string(backend)),
		envVar("PET_NNODES", fmt.Sprintf("%d:%d", least, most)),
	}
	if policy.MaxRestarts != nil {
		env = append(env, number("PET_MAX_RESTARTS", *policy.MaxRestarts))
	}
	if policy.RDZVID != nil {
		env = append(env, envVar("PET_RDZV_ID", *policy.RDZVID))
	}
	if len(policy.RDZVConf) > 0 {
		var settings []string
		for _, s := range policy.RDZVConf {
			settings = append(settings, s.Key+"="+s.Value)
		}
		env = append(env, envVar("PET_RDZV_CONF", strings.Join(settings, ",")))
	}
	if policy.Standalone != nil && *policy.Standalone {
		env = append(env, envVar("PET_STANDALONE", ""))
	}
	return env
}

// elasticRange returns the range of nodes for torchrun. A missing bound defaults to the other one,
// and both default to the number of workers.
func (p *pyTorch) elasticRange() (least, most int32) {
	policy := p.spec.ElasticPolicy
	workers := p.replica(kubeflow.PyTorchJobReplicaTypeWorker).count()
	least = *cmp.Or(policy.MinReplicas, policy.MaxReplicas, &workers)
	return least, ptr.Deref(policy.MaxReplicas, least)
}

// checkElastic reports the parts of an elasticPolicy that the Trainer lacks.
func (p *pyTorch) checkElastic() {
	policy := p.spec.ElasticPolicy
	if policy == nil {
		return
	}
	path := fieldpath.Fields("spec", "elasticPolicy")
	worker := p.replica(kubeflow.PyTorchJobReplicaTypeWorker)
	if p.reportIf(worker == nil, "elasticWorkers", path) {
		return
	}
	p.reportIf(len(policy.Metrics) > 0, "autoscaler", within(path, "metrics"))
	p.reportIf(policy.NProcPerNode != nil && p.spec.NprocPerNode != nil, "elasticProcesses",
		within(path, "nProcPerNode"))
	least, most := p.elasticRange()
	p.reportIf(least != most || most != worker.count(), "elasticRange", path, least, most, p.total())
}

// procsPerNode returns the old controller's value of PET_NPROC_PER_NODE, or "".
func (p *pyTorch) procsPerNode() string {
	switch {
	case p.spec.NprocPerNode != nil:
		return *p.spec.NprocPerNode
	case p.spec.ElasticPolicy != nil && p.spec.ElasticPolicy.NProcPerNode != nil:
		return strconv.Itoa(int(*p.spec.ElasticPolicy.NProcPerNode))
	}
	return kubeflow.DefaultNprocPerNode
}

// numProcs returns the number of processes on a node, or nil if the node determines it.
func (p *pyTorch) numProcs() *int32 {
	n, err := strconv.ParseInt(p.procsPerNode(), 10, 32)
	if err != nil {
		return nil
	}
	return new(int32(n))
}

// procsForWorld returns the old controller's factor from nodes to WORLD_SIZE. The old controller
// ignored the field of the elasticPolicy.
func (p *pyTorch) procsForWorld() int {
	if p.spec.NprocPerNode == nil {
		return 1
	}
	if n, err := strconv.Atoi(*p.spec.NprocPerNode); err == nil {
		return n
	}
	return 1
}

func (p *pyTorch) checkProcs() {
	words := []string{"auto", "cpu", "gpu"}
	p.reportIf(p.numProcs() == nil && !slices.Contains(words, p.procsPerNode()), "nprocPerNode",
		fieldpath.Fields("spec", "nprocPerNode"), p.procsPerNode())
}

// reserved returns the variables that Trainer's torch policy sets and a TrainJob must not set.
func reserved() []string {
	return append(always(), "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")
}

// always returns the reserved variables that the old controller also sets in jobs without a master.
func always() []string { return []string{"PET_NNODES", "PET_NPROC_PER_NODE"} }

// fitsPolicy reports whether the torch policy acts like the old controller. It requires a fixed
// number of nodes and a supported number of processes. The policy must not overwrite the job's own
// variables.
func (p *pyTorch) fitsPolicy(r *role) bool {
	if p.spec.ElasticPolicy != nil ||
		p.numProcs() == nil && p.procsPerNode() != kubeflow.DefaultNprocPerNode ||
		len(r.replica.pod().Containers) > maxTargets+1 {
		return false
	}
	if p.master != nil {
		return true // the old controller overwrites them all
	}
	for _, container := range r.replica.pod().Containers {
		for _, e := range container.Env {
			if slices.Contains(reserved(), e.Name) && !slices.Contains(always(), e.Name) {
				return false
			}
		}
	}
	return true
}

// checkAuto warns if the old controller left the number of processes to torchrun and Trainer 2.3
// counts it.
func (p *pyTorch) checkAuto(r *role) {
	of := containerOf(r.replica.pod(), r.main).Resources
	p.reportIf(p.procs == nil && !hasGPU(of.Requests) && !hasGPU(of.Limits), "autoProcesses",
		fieldpath.Fields("spec", "nprocPerNode"))
}

// hasGPU reports whether the Trainer sees a GPU: a resource with gpu in its name.
func hasGPU(resources corev1.ResourceList) bool {
	for name := range resources {
		if strings.Contains(string(name), "gpu") {
			return true
		}
	}
	return false
}

// maxTargets is the largest number of containers in an injection target.
const maxTargets = 8

// injection makes the policy set its variables in the other containers as well, like the old
// controller.
func injection(r *role) *trainer.EnvInjection {
	var others []string
	for _, container := range r.replica.pod().Containers {
		if container.Name != r.main {
			others = append(others, container.Name)
		}
	}
	if others == nil {
		return nil
	}
	return &trainer.EnvInjection{
		Targets: []trainer.EnvInjectionTarget{{JobName: r.name, ContainerNames: others}}}
}
