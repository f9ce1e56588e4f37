package trainingjob

import (
	"fmt"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
)

// paddle converts a PaddleJob (training-operator v1.9.3 pkg/controller.v1/paddlepaddle). Trainer
// 2.3 has no policy for it, so it becomes plain replicated jobs.
func (c *conversion) paddle(job *kubeflow.PaddleJob) {
	c.read(framework{
		kind: kubeflow.PaddleJobKind, label: "paddle", specs: "paddleReplicaSpecs",
		types: []kubeflow.ReplicaType{kubeflow.PaddleJobReplicaTypeMaster,
			kubeflow.PaddleJobReplicaTypeWorker},
		container: kubeflow.PaddleJobDefaultContainerName,
		portName:  kubeflow.PaddleJobDefaultPortName, port: kubeflow.PaddleJobDefaultPort,
		restart: kubeflow.PaddleJobDefaultRestartPolicy,
	}, job.ObjectMeta, job.Spec.RunPolicy, job.Spec.PaddleReplicaSpecs)
	c.paddleElastic(job.Spec.ElasticPolicy)
	if c.findings.Err() != nil {
		return
	}
	c.roles = c.paddleRoles()
	if master := c.replica(kubeflow.PaddleJobReplicaTypeMaster); master != nil {
		for _, r := range c.roles {
			if r.replica == master && len(c.roles) > 1 {
				c.targets = append(c.targets, r.name)
			}
		}
	}
	for _, r := range c.roles {
		r.env = func(string) []corev1.EnvVar { return c.paddleEnv(r) }
	}
}

// paddleRoles puts the first of several Pods into its own job. This Pod is the rendezvous. It uses
// its own IP, while the others use its name.
func (c *conversion) paddleRoles() []*role {
	if c.total() == 1 {
		return []*role{c.one()}
	}
	var roles []*role
	add := func(name string, replica *replica, first, count int32) {
		if count > 0 {
			roles = append(
				roles, &role{name: name, replica: replica, main: c.container, count: count,
					members: []member{{replica, first, count}}})
		}
	}
	first := c.replicas[0]
	add("master", first, 0, 1)
	rest := "worker"
	if len(c.replicas) > 1 {
		rest = "server"
	}
	add(rest, first, 1, first.count()-1)
	for _, replica := range c.replicas[1:] {
		add("worker", replica, 0, replica.count())
	}
	return roles
}

// paddleEnv returns the variables of Paddle's launcher. With a Master, these are for the mode with
// parameter servers, otherwise for the collective mode.
func (c *conversion) paddleEnv(r *role) []corev1.EnvVar {
	first := c.replicas[0]
	env := []corev1.EnvVar{unbuffered(), envVar("PADDLE_JOB_ID", c.meta.Name),
		number("PADDLE_NNODES", c.total())}
	if r == c.roles[0] {
		env = append(env,
			fieldEnv("POD_IP_DUMMY", "status.podIP"),
			envVar("PADDLE_MASTER", fmt.Sprintf("$(POD_IP_DUMMY):%d", c.portOf(first))),
		)
	} else {
		env = append(
			env, envVar("PADDLE_MASTER",
				fmt.Sprintf("%s:%d", c.hostOf(first, 0), c.portOf(first))))
	}
	switch {
	case c.replica(kubeflow.PaddleJobReplicaTypeMaster) == nil:
		return env
	case r.replica == first:
		return append(env, envVar("PADDLE_SERVER_NUM", "1"))
	default:
		return append(env, envVar("PADDLE_TRAINER_NUM", "1"))
	}
}

// paddleElastic reports the parts of an elasticPolicy that the Trainer lacks. The old controller
// ignored a policy without metrics.
func (c *conversion) paddleElastic(policy *kubeflow.PaddleElasticPolicy) {
	if policy == nil {
		return
	}
	path := fieldpath.Fields("spec", "elasticPolicy")
	if !c.reportIf(len(policy.Metrics) > 0, "autoscaler", within(path, "metrics")) {
		c.report("elasticPolicy", path)
	}
}
