package fuzz

// Names that policies write. A document that uses one conflicts with the policy, or loses its own
// value.
var (
	policyEnv = []string{
		"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT",
		"STORAGE_URI",
		"JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "DMLC_NUM_WORKER", "DMLC_TRACKER_URI",
		"OMPI_MCA_orte_default_hostfile",
		"OMPI_MCA_plm_rsh_args", "FLUX_VIEW_IMAGE", "FLUX_NETWORK_DEVICE",
	}
	policyVolumes = []string{"mpi-ssh-auth", "mpi-hostfile", "flux-install", "flux-curve",
		"shared-memory", "spack-install", "initializer"}
	policyPaths = []string{"/root/.ssh", "/home/mpiuser/.ssh", "/etc/mpi", "/mnt/flux", "/curve",
		"/dev/shm", "/opt/software", "/workspace/dataset"}
	policyLabels = []string{"scheduling.x-k8s.io/pod-group", "jobset.sigs.k8s.io/jobset-name",
		"scheduling.k8s.io/group-name"}
)

// contest lets the runtime or a manager set fields of the policies, in one job.
func (g *generator) contest(d *Documents) {
	jobs := jobsOf(d)
	if len(jobs) == 0 {
		return
	}
	job := pickOf(g.rng, jobs...)
	own := child(job, "template", "spec", "template")
	template, inPatch := own, g.chance(0.6)
	if inPatch {
		template = child(g.jobPatch(d, job["name"]), "template", "spec", "template")
	}
	for range 1 + g.rng.IntN(3) {
		list := "containers"
		if g.chance(0.2) {
			list = "initContainers"
		}
		names := items(child(own, "spec"), list)
		var container object
		if len(names) > 0 {
			container = named(child(template, "spec"), list, pickOf(g.rng, names...)["name"])
		}
		switch kind := g.rng.IntN(4); {
		case kind == 0:
			child(template, "metadata",
				pickOf(g.rng, "labels", "labels", "annotations"))[pickOf(
				g.rng, policyLabels...)] = pickOf(g.rng, "other", "tj")
		case kind == 1:
			source := pickOf(g.rng, object{"emptyDir": object{}},
				object{"secret": object{"secretName": "creds"}},
				object{"configMap": object{"name": "settings"}})
			for field, value := range source {
				volume := named(child(template, "spec"), "volumes", pickOf(g.rng, policyVolumes...))
				if len(volume) == 1 {
					volume[field] = value
				}
			}
		case container == nil:
		case kind == 2:
			name, _ := container["name"].(string)
			if inPatch && list == "containers" && reserved(name) {
				// the policy sees its variables first
				container = child(d.TrainJob, "spec", "trainer")
			}
			variable := named(container, "env", pickOf(g.rng, policyEnv...))
			variable["value"] = pickOf(g.rng, "x", "2", "")
			delete(variable, "valueFrom")
		default:
			volume := named(child(template, "spec"), "volumes",
				pickOf(g.rng, append(policyVolumes[:2:2], "scratch")...))
			if len(volume) == 1 {
				volume["emptyDir"] = object{}
			}
			named(container, "volumeMounts", volume["name"])["mountPath"] = pickOf(
				g.rng, policyPaths...)
		}
	}
}

// jobPatch returns a manager's patch for the job, and adds one if there is none.
func (g *generator) jobPatch(d *Documents, job any) object {
	spec := child(d.TrainJob, "spec")
	patches := items(spec, "runtimePatches")
	if len(patches) == 0 {
		patches = []object{{"manager": "acme.io/user"}}
		spec["runtimePatches"] = []any{patches[0]}
	}
	return named(child(pickOf(g.rng, patches...), "trainingRuntimeSpec", "template", "spec"),
		"replicatedJobs", job)
}

// named returns the item with that name, and appends it if it is missing.
func named(o object, list string, name any) object {
	for _, item := range items(o, list) {
		if item["name"] == name {
			return item
		}
	}
	item := object{"name": name}
	o[list] = append(anyList(o[list]), item)
	return item
}
