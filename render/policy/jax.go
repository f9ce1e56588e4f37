package policy

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// jax gives every process the coordinator's address and the number of processes (Trainer v2.3.0
// pkg/runtime/framework/plugins/jax). Unlike torch, it reserves no names. spec.trainer.env comes last and may
// override its variables.
func jax(j *Job) bool {
	if j.source().JAX == nil {
		return true
	}
	set := j.trainerSet()
	j.setNumNodes(set)
	c, found := j.trainerNode()
	if !found {
		j.nothingInjected()
		return true
	}
	by := policyWriter("jax")
	j.UpsertEnv(by.counting(set), c, corev1.EnvVar{Name: "JAX_NUM_PROCESSES", Value: strconv.Itoa(int(set.Count))})
	j.UpsertEnv(by, c,
		corev1.EnvVar{Name: "JAX_PROCESS_ID", ValueFrom: indexEnv()},
		corev1.EnvVar{Name: "JAX_COORDINATOR_ADDRESS", Value: fmt.Sprintf("%s:%d", j.master(), port)},
	)
	j.upsertPort(by, c, port)
	j.checkMaster(set)
	return true
}
