package release

// before says what to do before an upgrade to a release, by the switch or its part, for changes
// that break what runs or is suspended.
var before = []struct{ in, id, do string }{
	{"2.4", "mpi-prte",
		"finish suspended TrainJobs of MPI, or delete them and create them again after it: they " +
			"never resume"},
	{"2.4", "mpi-image",
		"check that the image of spec.trainer also runs the nodes (sshd), or remove it from " +
			"suspended TrainJobs of MPI: they never resume"},
	{"2.4", "claims-kept",
		"remove claims that the nodes should not get from the runtime, and finish its suspended " +
			"TrainJobs"},
	{"2.4", "claims-torch",
		"set numProcPerNode to keep the number of processes, and finish suspended TrainJobs"},
	{"2.4", "claims-mpi",
		"set numProcPerNode to keep the number of slots, and finish suspended TrainJobs"},
	{"2.4", "claims-xgboost", "finish suspended TrainJobs: the number of workers changes"},
	{"2.4", "claims-torchtune",
		"set numProcPerNode to keep the recipe, and finish suspended TrainJobs"},
	{"2.4", "claims-flux", "finish suspended TrainJobs: Flux counts other GPUs"},
	{"2.4", string(ShortJobNames),
		"shorten the names, in the runtimes and in the patches of their TrainJobs"},
	{"2.4", string(MPIPrteEnv),
		"remove the variables from spec.trainer.env, or set them in the command"},
	{"2.4", string(ClaimsExist), "add the claims to the Pods of the runtime"},
	{"2.4", "claims-in-resources", "name the claims in the runtime"},
	{"2.4", "num-nodes", "set numNodes to 0 or more"},
	{"2.4", "num-proc-per-node", "set numProcPerNode to 1 or more"},
}

// Before returns what to do before an upgrade to a release because of a switch or its part, or "".
func Before(in, id string) string {
	for _, b := range before {
		if b.in == in && b.id == id {
			return b.do
		}
	}
	return ""
}
