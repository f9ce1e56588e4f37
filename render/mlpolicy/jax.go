package mlpolicy

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// jax gives every process the coordinator's address and the number of processes (Trainer v2.3.0
// pkg/runtime/framework/plugins/jax). Unlike torch, it reserves no names. spec.trainer.env comes
// last and may override its variables. Without a job with the trainer's label, Trainer 2.2 panics
// on every retry.
func jax(j *Job) bool {
	set := j.trainerSet()
	if set == nil && j.Release.JAXNeedsTrainer {
		j.reportRuntime(codes.NeverCreated, finding.Error,
			fieldpath.Fields("spec", "mlPolicy", "jax"),
			fmt.Sprintf("no job has the trainer's label: the controller of Trainer %s crashes on "+
				"every reconcile", j.Release.Name),
			fmt.Sprintf("add the label %s: %s to the job", Ancestor, Trainer))
		return false
	}
	j.setNumNodes(set)
	c, found := j.trainerNode()
	if !found {
		j.nothingInjected()
		return true
	}
	by := policyWriter("jax")
	j.UpsertEnv(by.counting(set), c,
		corev1.EnvVar{Name: "JAX_NUM_PROCESSES", Value: strconv.Itoa(int(set.Count))})
	j.UpsertEnv(by, c,
		corev1.EnvVar{Name: "JAX_PROCESS_ID", ValueFrom: indexEnv()},
		corev1.EnvVar{
			Name: "JAX_COORDINATOR_ADDRESS", Value: fmt.Sprintf("%s:%d", j.master(), port)},
	)
	j.upsertPort(by, c, port)
	j.checkMaster(set)
	return true
}
