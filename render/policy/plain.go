package policy

// plain is what happens without a policy, and beside xgboost and flux: Trainer v2.3.0 runs its
// PlainML plugin wherever torch, mpi and jax are absent.
func plain(j *Job) bool {
	if p := j.source(); p.Torch != nil || p.MPI != nil || p.JAX != nil {
		return true
	}
	j.setNumNodes(j.trainerSet())
	j.trainerEnv()
	return true
}

// trainerEnv writes spec.trainer.env into the first trainer job's node container. A policy's own
// variables then come after it, and spec.trainer.env once more over both at the end.
func (j *Job) trainerEnv() (c Place, found bool) {
	if c, found = j.trainerNode(); found {
		j.UpsertEnv(Copied("spec", "trainer", "env"), c, Env(j.TrainJob.Spec.Trainer.Env)...)
	}
	return c, found
}
