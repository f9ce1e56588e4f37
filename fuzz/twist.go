package fuzz

// twists change documents in ways that the Trainer has a rule for. Most are accepted, and render
// differently.
var twists = []func(g *generator, d *Documents){
	func(g *generator, d *Documents) { // torchtune
		child(d.TrainJob, "spec", "trainer")["command"] = []any{"tune", "run"}
		args := []any{}
		for range g.rng.IntN(4) {
			args = append(
				args, pickOf[any](g.rng, "epochs=2", "model.quantize_base=True",
					"model.quantize_base=false", "model.lora_attn_modules=[q_proj]",
					"model.use_dora=true", ""))
		}
		child(d.TrainJob, "spec", "trainer")["args"] = args
		for _, c := range g.containersOf(d, "node") {
			c["command"] = []any{"tune", "run", "output_dir=/out", "tokenizer.path=/t", "epochs=1",
				"checkpointer.checkpoint_dir"}[:2+g.rng.IntN(5)]
		}
	},
	func(g *generator, d *Documents) { // a patch moves the label of a step
		for _, patch := range items(child(d.TrainJob, "spec"), "runtimePatches") {
			for _, job := range items(child(patch, "trainingRuntimeSpec", "template", "spec"),
				"replicatedJobs") {
				child(job, "template", "metadata", "labels")[ancestorLabel] = pickOf(
					g.rng, "trainer", "dataset-initializer", "none", "")
				return
			}
		}
	},
	func(g *generator, d *Documents) { // another job gets the label of a step
		job := pickOf(g.rng, jobsOf(d)...)
		child(job, "template", "metadata", "labels")[ancestorLabel] = pickOf(g.rng, "trainer",
			"dataset-initializer", "other", "")
	},
	func(g *generator, d *Documents) { // rename a job to an unusual name, also in the patches
		for _, job := range jobsOf(d) {
			if job["name"] == "node" {
				job["name"] = "train"
			}
		}
		for _, patch := range items(child(d.TrainJob, "spec"), "runtimePatches") {
			for _, job := range items(child(patch, "trainingRuntimeSpec", "template", "spec"),
				"replicatedJobs") {
				if job["name"] == "node" {
					job["name"] = "train"
				}
			}
		}
	},
	func(g *generator, d *Documents) {
		child(d.TrainJob, "spec", "trainer")["numNodes"] = pickOf[any](g.rng, int64(0), int64(-2))
	},
	func(g *generator, d *Documents) {
		child(d.TrainJob, "spec", "trainer")["numProcPerNode"] = int64(0)
	},
	func(g *generator, d *Documents) {
		child(d.TrainJob, "spec", "trainer")[pickOf(g.rng, "command", "args")] = []any{}
	},
	// a variable without a name, or with both a value and a source
	func(g *generator, d *Documents) {
		t := child(d.TrainJob, "spec", "trainer")
		t["env"] = append(anyList(t["env"]),
			pickOf[any](g.rng, object{"value": "x"},
				object{"name": "BOTH", "value": "x",
					"valueFrom": object{"fieldRef": object{"fieldPath": "metadata.name"}}}))
	},
	func(g *generator, d *Documents) { // ports that the Trainer treats as its own, or as one
		for _, c := range g.containersOf(d, "node") {
			c["ports"] = pickOf(g.rng, []any{object{"containerPort": int64(29500)}},
				[]any{object{"containerPort": int64(22)}},
				[]any{object{"containerPort": int64(80)}, object{"containerPort": int64(81)}},
				[]any{object{"containerPort": int64(29500), "name": "rdzv"}},
				[]any{object{"containerPort": int64(53), "name": "a"},
					object{"containerPort": int64(53), "name": "b", "protocol": "UDP"}})
		}
	},
	func(g *generator, d *Documents) {
		if g.policy != Flux {
			delete(child(d.TrainJob, "spec"), "trainer")
		}
	},
	func(g *generator, d *Documents) { // containers that only a policy looks for
		for _, c := range g.containersOf(d, "side") {
			c["name"] = pickOf(g.rng, "flux-installer", "trainer")
		}
	},
	func(g *generator, d *Documents) {
		if mpi, ok := child(d.Runtime, "spec", "mlPolicy")["mpi"].(object); ok {
			mpi["mpiImplementation"] = ""
		}
	},
	func(g *generator, d *Documents) { child(d.TrainJob, "spec")["suspend"] = true },
}

func jobsOf(d *Documents) []object {
	return items(child(d.Runtime, "spec", "template", "spec"), "replicatedJobs")
}

// containersOf returns the runtime's containers with that name.
func (g *generator) containersOf(d *Documents, name string) (found []object) {
	for _, job := range jobsOf(d) {
		for _, c := range items(child(job, "template", "spec", "template", "spec"), "containers") {
			if c["name"] == name {
				found = append(found, c)
			}
		}
	}
	return found
}
