package mlpolicy

// plain applies without a policy, and with xgboost and flux. Trainer v2.3.0 runs its PlainML plugin
// unless the runtime has torch, mpi or jax.
func plain(j *Job) bool {
	j.setNumNodes(j.trainerSet())
	j.trainerEnv()
	return true
}

// trainerEnv writes spec.trainer.env into the node container of the first trainer job. A policy's
// own variables come after it. At the end, spec.trainer.env overrides both.
func (j *Job) trainerEnv() (c Place, found bool) {
	if c, found = j.trainerNode(); found {
		j.UpsertEnv(Copied("spec", "trainer", "env"), c, Env(j.TrainJob.Spec.Trainer.Env)...)
	}
	return c, found
}
