package trainingjob

import (
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
)

// xgBoost converts an XGBoostJob (training-operator v1.9.3 pkg/controller.v1/xgboost).
func (c *conversion) xgBoost(job *kubeflow.XGBoostJob) {
	master, worker := kubeflow.XGBoostJobReplicaTypeMaster, kubeflow.XGBoostJobReplicaTypeWorker
	c.read(framework{
		kind: kubeflow.XGBoostJobKind, label: "xgboost", specs: "xgbReplicaSpecs",
		types:     []kubeflow.ReplicaType{master, worker},
		container: kubeflow.XGBoostJobDefaultContainerName,
		portName:  kubeflow.XGBoostJobDefaultPortName, port: kubeflow.XGBoostJobDefaultPort,
		restart: kubeflow.XGBoostJobDefaultRestartPolicy,
	}, job.ObjectMeta, job.Spec.RunPolicy, job.Spec.XGBReplicaSpecs)
	c.exactlyOne(master)
	c.reportIf(c.replica(master) == nil, "noMaster", fieldpath.Fields("spec", "xgbReplicaSpecs"))
	if c.findings.Err() != nil {
		return
	}
	if c.agree() {
		r := c.one()
		r.firstDecides = true
		c.roles = []*role{r}
		c.ml.XGBoost = &trainer.XGBoostMLPolicySource{}
	} else {
		c.roles = c.each()
		c.targets = []string{c.roles[0].name}
		for _, r := range c.roles[1:] {
			r.jobPerPod = true
		}
	}
	for _, r := range c.roles {
		r.env = func(string) []corev1.EnvVar {
			return c.xgBoostEnv(r, c.replica(master), c.replica(worker))
		}
	}
}

// xgBoostEnv returns the variables of the Rabit tracker and, for LightGBM, of the workers.
// Trainer's policy sets the variables of the DMLC tracker instead, which have other names.
func (c *conversion) xgBoostEnv(r *role, master, worker *replica) []corev1.EnvVar {
	env := []corev1.EnvVar{
		number("MASTER_PORT", c.portOf(master)),
		envVar("MASTER_ADDR", c.hostOf(master, 0)),
		number("WORLD_SIZE", c.total()),
		c.rank(r, "RANK"),
		unbuffered(),
	}
	if c.total() == 1 {
		return env
	}
	var hosts []string
	for i := range worker.count() {
		hosts = append(hosts, c.hostOf(worker, i))
	}
	return append(env, number("WORKER_PORT", c.portOf(worker)),
		envVar("WORKER_ADDRS", strings.Join(hosts, ",")))
}
