package fuzz

import "fmt"

func (g *generator) replicatedJobs(n *node) []any {
	names := []string{"node"}
	spec := fieldsOfTypes().trainJob.child("spec").child("initializer")
	for _, section := range []string{"dataset", "model"} {
		if g.wanted[spec.child(section)] || g.chance(0.15) {
			names = append(names, section+"-initializer")
		}
	}
	if g.policy == MPI && g.chance(0.9) {
		names = append([]string{"launcher"}, names...)
	}
	if g.chance(0.3) || g.wanted[n.child("dependsOn")] {
		names = append(names, "worker")
	}
	if g.chance(0.3) {
		g.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	out := []any{}
	defer func(job *madeJob) { g.job = job }(g.job)
	for _, name := range names {
		g.job = &madeJob{name: name}
		job := g.structure(n)
		job["name"] = name
		g.role(job)
		out = append(out, job)
		g.jobs = append(g.jobs, g.job)
	}
	return out
}

// role sets a job's label and number of replicas, as its step requires.
func (g *generator) role(job object) {
	step := ""
	switch g.job.name {
	case "node":
		if g.policy != MPI || g.hint("mpi trainer")%2 == 0 {
			step = "trainer"
		}
	case "launcher":
		if g.hint("mpi trainer")%2 == 1 {
			step = "trainer"
		}
	case "dataset-initializer", "model-initializer":
		step = g.job.name
	}
	if step != "" {
		child(job, "template", "metadata", "labels")[ancestorLabel] = step
		delete(job, "replicas")
	}
}

// mainContainers returns the names of a job's containers: the container that its step requires, and
// others.
func (g *generator) mainContainers() []string {
	first := g.job.name
	if first == "launcher" || first == "worker" {
		first = "node"
	}
	return append([]string{first}, []string{"side", "log"}[:g.rng.IntN(3)]...)
}

// jobSpec makes a Job's spec acceptable.
func (g *generator) jobSpec(o object) {
	indexed := false
	if o["maxFailedIndexes"] != nil && o["backoffLimitPerIndex"] == nil {
		o["backoffLimitPerIndex"] = int64(1)
	}
	rules, _ := o["podFailurePolicy"].(object)
	for _, r := range items(rules, "rules") {
		if r["action"] == "FailIndex" {
			o["backoffLimitPerIndex"] = int64(1)
		}
		if codes, ok := r["onExitCodes"].(object); ok && codes["containerName"] != nil {
			codes["containerName"] = g.job.containers[0]
		}
	}
	if o["backoffLimitPerIndex"] != nil || o["successPolicy"] != nil {
		indexed = true
	}
	if indexed {
		o["completionMode"] = "Indexed"
	}
	if o["podFailurePolicy"] != nil {
		child(o, "template", "spec")["restartPolicy"] = "Never"
		if o["podReplacementPolicy"] != nil {
			o["podReplacementPolicy"] = "Failed"
		}
		for _, c := range items(child(o, "template", "spec"), "containers") {
			for _, r := range items(c, "resizePolicy") {
				r["restartPolicy"] = "NotRequired"
			}
		}
		for _, c := range items(child(o, "template", "spec"), "initContainers") {
			for _, r := range items(c, "resizePolicy") {
				r["restartPolicy"] = "NotRequired"
			}
		}
	}
}

// jobSet makes a JobSet's spec acceptable to the webhook.
func (g *generator) jobSet(o object) {
	names := []string{}
	for _, job := range items(o, "replicatedJobs") {
		names = append(names, job["name"].(string))
	}
	if startup, ok := o["startupPolicy"].(object); ok {
		for _, job := range items(o, "replicatedJobs") {
			if job["dependsOn"] != nil {
				startup["startupPolicyOrder"] = "AnyOrder"
			}
		}
	}
	for i, job := range items(o, "replicatedJobs") {
		if i == 0 {
			delete(job, "dependsOn")
		}
		for j, d := range items(job, "dependsOn") {
			d["name"] = names[j%i]
		}
		if i == 1 && len(anyList(job["dependsOn"])) > 1 {
			job["dependsOn"] = anyList(job["dependsOn"])[:1]
		}
	}
	if s, ok := o["successPolicy"].(object); ok && s["targetReplicatedJobs"] != nil {
		s["targetReplicatedJobs"] = strings2any(g.someOf(names, 2))
	}
	policy, _ := o["failurePolicy"].(object)
	for i, r := range items(policy, "rules") {
		r["name"] = fmt.Sprintf("rule%d", i)
		if r["targetReplicatedJobs"] != nil {
			r["targetReplicatedJobs"] = strings2any(g.someOf(names, 2))
		}
	}
	if c, ok := o["coordinator"].(object); ok {
		job := pickOf(g.rng, items(o, "replicatedJobs")...)
		c["replicatedJob"] = job["name"]
		delete(child(job, "template", "spec"), "completionMode")
	}
	g.useClaims(o)
}

// claims makes the templates of volume claims.
func (g *generator) claims(n *node) []any {
	out := []any{}
	for range 1 + g.rng.IntN(2) {
		claim := g.structure(n)
		name := fmt.Sprintf("claim-%d", g.hints["claims"])
		g.hints["claims"]++
		m := child(claim, "metadata")
		m["name"] = name
		delete(m, "namespace")
		out = append(out, claim)
	}
	return out
}

// useClaims mounts each claim somewhere, as the webhook requires.
func (g *generator) useClaims(o object) {
	jobs := items(o, "replicatedJobs")
	for _, policy := range items(o, "volumeClaimPolicies") {
		for _, claim := range items(policy, "templates") {
			name := claim["metadata"].(object)["name"]
			containers := items(
				child(pickOf(g.rng, jobs...), "template", "spec", "template", "spec"), "containers")
			c := pickOf(g.rng, containers...)
			c["volumeMounts"] = append(anyList(c["volumeMounts"]),
				object{"name": name, "mountPath": fmt.Sprint("/", name)})
		}
	}
}
