package trainingjob

import (
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// jax converts a JAXJob (training-operator v1.9.3 pkg/controller.v1/jax). It has workers only, and
// ends when all of them end. Trainer's policy adds variables of other names.
func (c *conversion) jax(job *kubeflow.JAXJob) {
	c.read(framework{
		kind: kubeflow.JAXJobKind, label: "jax", specs: "jaxReplicaSpecs",
		types:     []kubeflow.ReplicaType{kubeflow.JAXJobReplicaTypeWorker},
		container: kubeflow.JAXJobDefaultContainerName, portName: kubeflow.JAXJobDefaultPortName,
		port:    kubeflow.JAXJobDefaultPort,
		restart: kubeflow.JAXJobDefaultRestartPolicy,
	}, job.ObjectMeta, job.Spec.RunPolicy, job.Spec.JAXReplicaSpecs)
	if c.findings.Err() != nil {
		return
	}
	r := c.one()
	c.roles = []*role{r}
	c.ml.JAX = &trainer.JAXMLPolicySource{}
	r.env = func(string) []corev1.EnvVar {
		return []corev1.EnvVar{
			unbuffered(),
			number("COORDINATOR_PORT", c.portOf(r.replica)),
			envVar("COORDINATOR_ADDRESS", c.hostOf(r.replica, 0)),
			number("NUM_PROCESSES", c.total()),
			c.rank(r, "PROCESS_ID"),
		}
	}
}
