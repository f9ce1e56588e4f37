package fuzz

// patches makes the patches of up to five managers, which are about the same fields.
func (g *generator) patches(n *node) []any {
	managers := []string{"kueue.x-k8s.io/manager", "acme.io/user", "b.example.org/x",
		"z.example.com/late", "example.com/platform"}
	count := max(g.opts.Managers, 1+g.rng.IntN(len(managers)))
	out := []any{}
	for _, i := range g.rng.Perm(len(managers))[:min(count, len(managers))] {
		patch := g.structure(n)
		patch["manager"] = managers[i]
		out = append(out, patch)
	}
	return out
}

func (g *generator) jobPatches(n *node) []any {
	out := []any{}
	defer func(job *madeJob) { g.job = job }(g.job)
	for _, i := range g.rng.Perm(len(g.jobs))[:min(len(g.jobs), 1+g.rng.IntN(2))] {
		g.job = g.jobs[i]
		job := g.structure(n)
		job["name"] = g.job.name
		g.mountsOfPatch(job)
		out = append(out, job)
	}
	return out
}

// mountsOfPatch points a patch's mounts at existing volumes.
func (g *generator) mountsOfPatch(job object) {
	template, _ := job["template"].(object)
	spec, _ := template["spec"].(object)
	pod, _ := spec["template"].(object)
	inPod, ok := pod["spec"].(object)
	if !ok {
		return
	}
	for _, v := range items(inPod, "volumes") {
		g.volumeItems(v, []object{{"name": g.job.containers[0]}})
		if name := v["name"].(string); g.job.sources[name] == "" {
			g.job.remember(v)
		}
	}
	volumes := g.job.volumes
	for _, list := range []string{"containers", "initContainers"} {
		for _, c := range items(inPod, list) {
			seen := map[string]bool{}
			kept := []any{}
			for _, m := range items(c, "volumeMounts") {
				if len(volumes) == 0 {
					continue
				}
				name := pickOf(g.rng, volumes...)
				if !seen[name] { // the definition identifies a patch's mounts by their volumes
					m["name"], seen[name] = name, true
					kept = append(kept, m)
				}
			}
			if c["volumeMounts"] != nil {
				c["volumeMounts"] = kept
			}
			for _, e := range items(c, "env") {
				if from, ok := e["valueFrom"].(object); ok {
					if ref, ok := from["fileKeyRef"].(object); ok {
						ref["volumeName"] = "files"
						if g.job.sources["files"] == "" {
							list, _ := inPod["volumes"].([]any)
							inPod["volumes"] = append(
								list, object{"name": "files", "emptyDir": object{}})
						}
					}
					if ref, ok := from["resourceFieldRef"].(object); ok {
						delete(ref, "containerName")
					}
				}
			}
		}
	}
}

func (g *generator) containerPatches(n *node, names []string) []any {
	out := []any{}
	if len(names) == 0 {
		return out
	}
	for _, name := range g.someOf(names, 3) {
		c := g.structure(n)
		c["name"] = name
		if reserved(name) && n.up.name == "containers" {
			delete(c, "env")
		}
		out = append(out, c)
	}
	return out
}
