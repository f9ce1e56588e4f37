package fuzz

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/trainweld/trainweld/render/release"
)

// Released is Document for a release of the Trainer. Its TrainJob has overrides where the release
// reads these, and both have what releases treat differently. They may have fields that the release
// lacks: its API server prunes them.
func Released(seed uint64, r *release.Release, opts DocumentOptions) *Documents {
	d := Document(seed, opts)
	s := &switcher{rng: rand.New(rand.NewPCG(seed, 31)), release: r.Or(), d: d}
	s.mpi, _ = child(d.Runtime, "spec", "mlPolicy")["mpi"].(object)
	for range s.rng.IntN(4) {
		if len(jobsOf(d)) == 0 {
			break // a change took them
		}
		switchTwists[s.rng.IntN(len(switchTwists))](s)
	}
	if s.release.Overrides != release.RuntimePatches {
		s.override()
	}
	return d
}

// switcher adds what releases treat differently.
type switcher struct {
	rng     *rand.Rand
	release *release.Release
	d       *Documents
	mpi     object
}

func (s *switcher) chance(p float64) bool { return s.rng.Float64() < p }

func (s *switcher) trainer() object { return child(s.d.TrainJob, "spec", "trainer") }

// containers returns the containers of the runtime's jobs with a name.
func (s *switcher) containers(name string) (found []object) {
	for _, job := range jobsOf(s.d) {
		for _, c := range items(child(job, "template", "spec", "template", "spec"), "containers") {
			if c["name"] == name {
				found = append(found, c)
			}
		}
	}
	return found
}

// resources makes lists on which releases differ: one of them alone, none, or devices in one only.
func (s *switcher) resources() any {
	list := func() object {
		o := object{}
		for _, amount := range []object{{"cpu": pickOf(s.rng, "1", "8", "1500m", "500m")},
			{"memory": "1Gi"}, {"nvidia.com/gpu": pickOf(s.rng, "1", "2", "4")},
			{"example.com/mig-gpu": "3"}} {
			for name, value := range amount {
				if s.chance(0.45) &&
					(name != "example.com/mig-gpu" || o["nvidia.com/gpu"] == nil && s.chance(0.2)) {
					o[name] = value
				}
			}
		}
		return o
	}
	switch s.rng.IntN(6) {
	case 0:
		return object{}
	case 1, 2:
		return object{"limits": list()}
	case 3:
		return object{"requests": list()}
	}
	both := object{"limits": list(), "requests": list()}
	for name, value := range both["limits"].(object) {
		if r := both["requests"].(object); r[name] != nil {
			r[name] = value
		}
	}
	return both
}

// switchTwists change documents where a switch of the releases decides.
var switchTwists = []func(s *switcher){
	func(s *switcher) { s.trainer()["resourcesPerNode"] = s.resources() },
	func(s *switcher) { // the node's own resources
		for _, c := range s.containers("node") {
			c["resources"] = s.resources()
		}
		if s.chance(0.4) {
			s.trainer()["resourcesPerNode"] = s.resources()
		}
	},
	func(s *switcher) { // processes as a word
		s.trainer()["numProcPerNode"] = pickOf[any](s.rng, int64(1), int64(4), int64(8), "auto",
			"cpu", "gpu", "other", "4", int64(0))
		if s.chance(0.5) {
			s.trainer()["resourcesPerNode"] = s.resources()
		}
	},
	func(s *switcher) { // processes of the runtime
		if torch, ok := child(s.d.Runtime, "spec", "mlPolicy")["torch"].(object); ok {
			torch["numProcPerNode"] = pickOf[any](s.rng, int64(1), int64(4), "auto", "cpu",
				"gpu", "2")
		}
	},
	func(s *switcher) {
		if torch, ok := child(s.d.Runtime, "spec", "mlPolicy")["torch"].(object); ok {
			torch["elasticPolicy"] = object{"maxRestarts": int64(3), "minNodes": int64(1),
				"maxNodes": int64(2)}
		}
	},
	func(s *switcher) { // a job that the runtime lacks
		s.jobPatch("ghost")["template"] = object{
			"spec": object{"template": object{"spec": object{"nodeSelector": object{"zone": "a"}}}}}
	},
	func(s *switcher) { // one job by two managers, or by two overrides
		for range 2 {
			job := pickOf(s.rng, jobsOf(s.d)...)
			spec := child(s.jobPatch(job["name"]), "template", "spec", "template", "spec")
			spec["nodeSelector"] = object{"zone": pickOf(s.rng, "a", "b")}
			if s.chance(0.5) {
				spec["volumes"] = []any{object{"name": "more", "emptyDir": object{}}}
			}
		}
	},
	func(s *switcher) {
		child(s.d.TrainJob, "spec")["managedBy"] = pickOf(s.rng, "kueue.x-k8s.io/multikueue",
			"trainer.kubeflow.org/trainjob-controller")
	},
	func(s *switcher) { // a second job of the trainer, with counts of its own
		jobs := jobsOf(s.d)
		second := Copy(jobs[s.rng.IntN(len(jobs))]).(object)
		second["name"] = "second"
		delete(second, "dependsOn")
		child(second, "template", "metadata", "labels")[ancestorLabel] = "trainer"
		child(second, "template", "spec")["parallelism"] = int64(1 + s.rng.IntN(4))
		if containers := items(child(second, "template", "spec", "template", "spec"),
			"containers"); len(containers) > 0 {
			containers[0]["name"] = "node"
		}
		list := anyList(child(s.d.Runtime, "spec", "template", "spec")["replicatedJobs"])
		at := s.rng.IntN(len(list) + 1)
		child(s.d.Runtime, "spec", "template", "spec")["replicatedJobs"] = append(
			append(append([]any{}, list[:at]...), second), list[at:]...)
	},
	func(s *switcher) { // several replicas
		pickOf(s.rng, jobsOf(s.d)...)["replicas"] = int64(2 + s.rng.IntN(2))
	},
	func(s *switcher) { // the launcher is a node
		if s.mpi == nil {
			return
		}
		s.mpi["runLauncherAsNode"] = true
		s.trainer()["resourcesPerNode"] = s.resources()
		s.trainer()["env"] = []any{object{"name": "FROM_JOB", "value": "x"}}
	},
	func(s *switcher) {
		if s.mpi != nil {
			s.mpi["numProcPerNode"] = pickOf[any](s.rng, int64(1), int64(2))
			s.trainer()["numProcPerNode"] = pickOf[any](s.rng, nil, int64(1), int64(4), "auto")
		}
		s.trainer()["resourcesPerNode"] = s.resources()
	},
	func(s *switcher) { // a gang
		policy := child(s.d.Runtime, "spec", "podGroupPolicy")
		delete(policy, "coscheduling")
		delete(policy, "volcano")
		policy[pickOf(s.rng, "coscheduling", "volcano")] = object{}
		if s.chance(0.7) {
			s.trainer()["resourcesPerNode"] = s.resources()
		}
		for _, c := range s.containers("node") {
			if s.chance(0.7) {
				c["resources"] = s.resources()
			}
		}
	},
	func(s *switcher) { // torchtune
		if child(s.d.Runtime, "spec", "mlPolicy")["torch"] == nil {
			return
		}
		t := s.trainer()
		t["command"] = []any{"tune", "run"}
		args := []any{}
		for range s.rng.IntN(5) {
			args = append(
				args, pickOf[any](s.rng, "epochs=2", "model.quantize_base=True",
					"model.quantize_base=False", "model.lora_attn_modules=[q_proj]",
					"model.use_dora=True", "model.use_dora=False", "batch_size=4",
					"loss=torchtune.modules.loss.CEWithChunkedOutputLoss", "dataset.packed=True"))
		}
		t["args"] = args
		if s.chance(0.7) {
			t["numProcPerNode"] = pickOf[any](s.rng, int64(1), int64(2), "auto", "gpu")
		}
		if s.chance(0.7) {
			t["numNodes"] = int64(1 + s.rng.IntN(2))
		} else {
			delete(t, "numNodes")
		}
		if s.chance(0.6) {
			t["resourcesPerNode"] = s.resources()
		}
		name := pickOf(s.rng, "torchtune-llama3.2-1b", "torchtune-llama3.2-3b",
			"torchtune-llama3.2-7b", "torchtune-llama3.3-70b", "torchtune-qwen2.5-1.5b",
			"torchtune-qwen2.5-7b", "torch-distributed")
		child(s.d.Runtime, "metadata")["name"],
			child(s.d.TrainJob, "spec", "runtimeRef")["name"] = name, name
		for _, c := range s.containers("node") {
			c["command"] = []any{"tune", "run", "--rdzv_endpoint=localhost:29500",
				"output_dir=/out", "tokenizer.path=/t", "tokenizer.merges_file=/m", "epochs=1",
				"checkpointer.checkpoint_dir=/c"}[:2+s.rng.IntN(7)]
		}
	},
	func(s *switcher) { // a variable that a policy sets
		name := pickOf(s.rng, "PET_NNODES", "PET_NPROC_PER_NODE", "PET_MASTER_ADDR",
			"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_agent",
			"OMPI_MCA_orte_keep_fqdn_hostnames", "DMLC_NUM_WORKER", "JAX_PROCESS_ID")
		s.trainer()["env"] = append(anyList(s.trainer()["env"]), object{"name": name, "value": "x"})
	},
	func(s *switcher) { // metadata of the JobSet
		if s.release.Overrides == release.RuntimePatches {
			return
		}
		spec := child(s.d.TrainJob, "spec")
		child(spec, "labels")[pickOf(s.rng, "app", "team")] = pickOf(s.rng, "a", "b")
		child(spec, "annotations")[pickOf(s.rng, "note", "team")] = pickOf(s.rng, "a", "b")
		child(s.d.Runtime, "spec", "template", "metadata", "labels")["app"] = "runtime"
	},
	func(s *switcher) { // a runtime of JAX without a job of the trainer
		if child(s.d.Runtime, "spec", "mlPolicy")["jax"] == nil {
			return
		}
		for _, job := range jobsOf(s.d) {
			delete(child(job, "template", "metadata", "labels"), ancestorLabel)
		}
	},
	func(s *switcher) { delete(child(s.d.Runtime, "spec"), "mlPolicy") },
}

// jobPatch returns the patch of a job of one of the managers, and adds one if there is none.
func (s *switcher) jobPatch(job any) object {
	spec := child(s.d.TrainJob, "spec")
	manager := pickOf(s.rng, "acme.io/user", "kueue.x-k8s.io/manager")
	for _, patch := range items(spec, "runtimePatches") {
		if patch["manager"] == manager {
			return named(child(patch, "trainingRuntimeSpec", "template", "spec"),
				"replicatedJobs", job)
		}
	}
	patch := object{"manager": manager}
	spec["runtimePatches"] = append(anyList(spec["runtimePatches"]), patch)
	return named(child(patch, "trainingRuntimeSpec", "template", "spec"), "replicatedJobs", job)
}

// override turns the patches into the overrides that the release reads, each for one or several
// jobs.
func (s *switcher) override() {
	spec := child(s.d.TrainJob, "spec")
	Overridden(s.d.TrainJob, s.release.Overrides)
	overrides, isList := spec[string(s.release.Overrides)].([]any)
	if !isList {
		return
	}
	once, seen := s.release.Rules.Has(release.PatchedOnce) && s.chance(0.8), map[any]bool{}
	overrides = slices.DeleteFunc(overrides, func(override any) bool {
		targets, _ := override.(object)["targetJobs"].([]any)
		if len(targets) == 0 {
			return false
		}
		name := targets[0].(object)["name"]
		again := once && seen[name]
		seen[name] = true
		return again
	})
	for _, override := range items(spec, string(s.release.Overrides)) {
		if once || s.chance(0.7) {
			continue
		}
		for _, job := range jobsOf(s.d) {
			if s.chance(0.6) && reaches(job, override) {
				override["targetJobs"] = append(anyList(override["targetJobs"]),
					object{"name": job["name"]})
			}
		}
	}
	s.rng.Shuffle(len(overrides), func(i, j int) {
		overrides[i], overrides[j] = overrides[j], overrides[i]
	})
	spec[string(s.release.Overrides)] = overrides
}

// reaches reports whether a job has the containers of an override.
func reaches(job, override object) bool {
	for _, list := range []string{"containers", "initContainers"} {
		in := override
		if spec, ok := override["spec"].(object); ok {
			in = spec
		}
		for _, c := range items(in, list) {
			if !slices.ContainsFunc(items(child(job, "template", "spec", "template", "spec"), list),
				func(has object) bool { return has["name"] == c["name"] }) {
				return false
			}
		}
	}
	return true
}

// Overridden rewrites the patches of a TrainJob as the overrides of a release. Values of other
// types stay what they are.
func Overridden(job object, as release.Overrides) {
	spec, _ := job["spec"].(object)
	value, has := spec["runtimePatches"]
	if !has || as == release.RuntimePatches {
		return
	}
	delete(spec, "runtimePatches")
	patches, isList := value.([]any)
	overrides, haveList := spec[string(as)].([]any)
	if !isList || !haveList && spec[string(as)] != nil {
		spec[string(as)] = value
		return
	}
	for _, patch := range patches {
		fields, _ := patch.(object)
		runtime, _ := fields["trainingRuntimeSpec"].(object)
		template, isTemplate := runtime["template"].(object)
		if !isTemplate {
			overrides = append(overrides, patch)
			continue
		}
		metadata, _ := template["metadata"].(object)
		for _, field := range []string{"labels", "annotations"} {
			if entries, ok := metadata[field]; ok {
				spec[field] = entries
			}
		}
		inSet, _ := template["spec"].(object)
		for _, job := range anyList(inSet["replicatedJobs"]) {
			overrides = append(overrides, override(job, as))
		}
	}
	if overrides != nil {
		spec[string(as)] = overrides
	}
}

func override(job any, as release.Overrides) any {
	fields, ok := job.(object)
	if !ok {
		return job
	}
	template, _ := fields["template"].(object)
	inJob, _ := template["spec"].(object)
	pod, _ := inJob["template"].(object)
	out := object{"targetJobs": []any{object{"name": fields["name"]}}}
	if as == release.PodTemplateOverrides {
		for _, field := range []string{"metadata", "spec"} {
			if value, ok := pod[field]; ok {
				out[field] = value
			}
		}
		return out
	}
	inPod, _ := pod["spec"].(object)
	maps.Copy(out, inPod)
	return out
}
