package trainingjob

import (
	"encoding/json"
	"fmt"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/fieldpath"
)

// tensorFlow converts a TFJob (training-operator v1.9.3 pkg/controller.v1/tensorflow). Trainer 2.3
// has no policy for it, so each replica type becomes a plain replicated job.
func (c *conversion) tensorFlow(job *kubeflow.TFJob) {
	chief, master, worker := kubeflow.TFJobReplicaTypeChief, kubeflow.TFJobReplicaTypeMaster,
		kubeflow.TFJobReplicaTypeWorker
	c.read(framework{
		kind: kubeflow.TFJobKind, label: "tensorflow", specs: "tfReplicaSpecs",
		types: []kubeflow.ReplicaType{chief, master, worker, kubeflow.TFJobReplicaTypePS,
			kubeflow.TFJobReplicaTypeEval},
		container: kubeflow.TFJobDefaultContainerName, portName: kubeflow.TFJobDefaultPortName,
		port:    kubeflow.TFJobDefaultPort,
		restart: kubeflow.TFJobDefaultRestartPolicy,
	}, job.ObjectMeta, job.Spec.RunPolicy, job.Spec.TFReplicaSpecs)
	c.reportIf(c.replica(chief) != nil && c.replica(master) != nil, "chiefAndMaster",
		fieldpath.Fields("spec", "tfReplicaSpecs"))
	c.reportIf(job.Spec.EnableDynamicWorker, "dynamicWorkers",
		fieldpath.Fields("spec", "enableDynamicWorker"))
	end := ptr.Deref(job.Spec.SuccessPolicy, kubeflow.SuccessPolicyDefault)
	allWorkers := end == kubeflow.SuccessPolicyAllWorkers
	c.reportIf(!allWorkers && end != kubeflow.SuccessPolicyDefault, "successPolicy",
		fieldpath.Fields("spec", "successPolicy"), end)
	if c.findings.Err() != nil {
		return
	}
	if len(c.replicas) == 1 {
		c.roles = []*role{c.one()}
	} else {
		c.roles = c.each()
	}
	c.tensorFlowEnd(allWorkers)
	for _, r := range c.roles {
		r.env = func(container string) []corev1.EnvVar { return c.tensorFlowEnv(r, container) }
	}
}

// tensorFlowEnd selects the Pods that end the job: the chief, or without one the first worker or
// all workers.
func (c *conversion) tensorFlowEnd(allWorkers bool) {
	for _, t := range []kubeflow.ReplicaType{
		kubeflow.TFJobReplicaTypeChief, kubeflow.TFJobReplicaTypeMaster,
		kubeflow.TFJobReplicaTypeWorker} {
		for _, r := range c.roles {
			if r.replica.typ != t {
				continue
			}
			r.firstDecides = t == kubeflow.TFJobReplicaTypeWorker && !allWorkers
			if len(c.roles) > 1 {
				c.targets = []string{r.name}
			}
			return
		}
	}
}

// indexVariable holds the Pod's number in its job. By default, the Job controller adds it behind
// all others. A variable that refers to it must follow it, so the conversion adds it explicitly.
const indexVariable = "JOB_COMPLETION_INDEX"

// tensorFlowEnv returns TF_CONFIG for the training container in jobs of several Pods. It refers to
// another variable for the number of the task, in which Pods differ.
func (c *conversion) tensorFlowEnv(r *role, container string) []corev1.EnvVar {
	if container != r.main || c.total() == 1 {
		return nil
	}
	cluster := map[string][]string{}
	for _, replica := range c.replicas {
		hosts := []string{}
		for i := range replica.count() {
			hosts = append(hosts, fmt.Sprintf("%s:%d", c.hostOf(replica, i), c.portOf(replica)))
		}
		cluster[replica.lower()] = hosts
	}
	hosts, _ := json.Marshal(cluster) // a map of lists of strings
	task, _ := json.Marshal(r.replica.lower())
	return []corev1.EnvVar{
		fieldEnv(indexVariable, completionIndex),
		envVar("TF_CONFIG",
			fmt.Sprintf(`{"cluster":%s,"task":{"type":%s,"index":$(%s)},"environment":"cloud"}`,
				hosts, task, indexVariable)),
	}
}
