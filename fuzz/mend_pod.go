package fuzz

import (
	"fmt"
	"slices"
	"strings"
)

// whole makes the values whose parts hang together beyond one object: jobs, containers, volumes and patches.
func (g *generator) whole(n *node) (value any, made bool) {
	switch n.key {
	case "v1alpha2.JobSetSpec.replicatedJobs":
		return g.replicatedJobs(n.item), true
	case "PodSpec.containers":
		return g.containers(n.item, &g.job.containers, g.mainContainers()), true
	case "PodSpec.initContainers":
		return g.containers(n.item, &g.job.init, []string{"init-a", "init-b"}[:1+g.rng.IntN(2)]), true
	case "PodSpec.volumes":
		out := []any{}
		for i := range 1 + g.rng.IntN(4) {
			out = append(out, g.volume(n.item, fmt.Sprintf("v%d", i+1)))
		}
		return out, true
	case "PodSpecPatch.volumes":
		out := []any{}
		names := append(slices.Clone(g.job.volumes), "p1", "p2")
		slices.Sort(names)
		for _, name := range g.someOf(slices.Compact(names), 3) {
			out = append(out, g.volume(n.item, name))
		}
		return out, true
	case "TrainJobSpec.runtimePatches":
		return g.patches(n.item), true
	case "JobSetSpecPatch.replicatedJobs":
		return g.jobPatches(n.item), true
	case "PodSpecPatch.containers":
		return g.containerPatches(n.item, g.job.containers), true
	case "PodSpecPatch.initContainers":
		return g.containerPatches(n.item, g.job.init), true
	case "EnvVar.name":
		if g.chance(0.03) {
			return pickOf(g.rng, policyEnv...), true
		}
		return pickOf(g.rng, "E1", "E2", "E1", "E2", "E3", "dotted.name", "A_B"), true
	case "v1alpha2.VolumeClaimPolicy.templates":
		return g.claims(n.item), true
	}
	return nil, false
}

// someOf are up to n of the names, in any order.
func (g *generator) someOf(names []string, n int) []string {
	names = slices.Clone(names)
	g.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:min(len(names), 1+g.rng.IntN(n))]
}

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

// role gives a job the label and the number of replicas that its step asks for.
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

// mainContainers are the names of a job's containers: the one that its step asks for, and others.
func (g *generator) mainContainers() []string {
	first := g.job.name
	if first == "launcher" || first == "worker" {
		first = "node"
	}
	return append([]string{first}, []string{"side", "log"}[:g.rng.IntN(3)]...)
}

func (g *generator) containers(n *node, made *[]string, names []string) []any {
	out := []any{}
	if g.chance(0.2) {
		g.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	for _, name := range names {
		container := g.structure(n)
		container["name"] = name
		if name == g.job.name && strings.HasSuffix(name, "-initializer") {
			mounts, _ := container["volumeMounts"].([]any)
			container["volumeMounts"] = append(mounts, object{"name": "initializer", "mountPath": "/workspace"})
		}
		out = append(out, container)
		*made = append(*made, name)
	}
	return out
}

// volume makes a volume. Of one name it mostly has one source throughout a case.
func (g *generator) volume(n *node, name string) object {
	v := g.structure(n)
	v["name"] = name
	var about []*node
	var sources []*node
	for _, f := range n.fields {
		if f.name == "name" {
			continue
		}
		sources = append(sources, f)
		if g.wanted[f] {
			about = append(about, f)
		}
	}
	if !g.chance(0.3) {
		common := []string{"emptyDir", "configMap", "persistentVolumeClaim", "projected", "ephemeral", "hostPath", "secret"}
		common = common[:1+g.hint("common")%len(common)]
		sources = slices.DeleteFunc(sources, func(f *node) bool { return !slices.Contains(common, f.name) })
	}
	if len(about) > 0 {
		sources = about
	}
	source := sources[g.hint("volume "+g.job.name+name)%len(sources)]
	if have := g.job.sources[name]; have != "" && g.chance(0.97) {
		source = n.child(have)
	}
	if name == "v1" && g.job.name != "node" || name == "v1" && g.hint("v1")%2 == 0 {
		source = n.child("emptyDir") // variables from files are read from there
	}
	for _, f := range n.fields {
		if f != source && f.name != "name" {
			delete(v, f.name)
		}
	}
	if v[source.name] == nil {
		v[source.name] = g.value(source)
	}
	return v
}

// remember notes a volume's name and source for the patches of the job.
func (j *madeJob) remember(v object) {
	name, _ := v["name"].(string)
	if strings.HasPrefix(name, "block-") {
		return
	}
	if j.sources == nil {
		j.sources = map[string]string{}
	}
	j.volumes = append(j.volumes, name)
	for field := range sortedKeys(v) {
		if field != "name" {
			j.sources[name] = field
		}
	}
}

// container makes one container acceptable.
func (g *generator) container(n *node, o object) {
	init := n.up.name == "initContainers"
	handlers := []string{"livenessProbe", "readinessProbe", "startupProbe", "lifecycle"}
	if n.up.name == "initContainers" && n.owner == "PodSpec" {
		if slices.ContainsFunc(handlers, func(f string) bool { return o[f] != nil }) || o["resizePolicy"] != nil || o["restartPolicy"] != nil && g.chance(0.6) {
			o["restartPolicy"] = "Always"
		}
	}
	if rules := o["restartPolicyRules"]; rules != nil {
		if init && o["restartPolicy"] == "Always" {
			delete(o, "restartPolicyRules")
		} else {
			o["restartPolicy"] = pickOf(g.rng, "Never", "OnFailure")
		}
	}
	if !init && o["restartPolicy"] == "Always" && g.chance(0.9) {
		o["restartPolicy"] = "Never"
	}
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p, ok := o[probe].(object); ok && n.owner == "PodSpec" {
			g.namedPort(p, o)
		}
	}
	if mounts := items(o, "volumeMounts"); mounts != nil {
		seen := map[any]bool{}
		o["volumeMounts"] = slices.DeleteFunc(o["volumeMounts"].([]any), func(m any) bool {
			path := m.(object)["mountPath"]
			again := seen[path] && !(n.typ.Name() == "ContainerPatch" && g.hint("same path")%8 == 0)
			seen[path] = true
			return again
		})
	}
	if ports := items(o, "ports"); ports != nil {
		numbers := map[any]bool{}
		o["ports"] = slices.DeleteFunc(anyList(o["ports"]), func(p any) bool {
			number := p.(object)["containerPort"]
			again := numbers[number] && !g.chance(0.1)
			numbers[number] = true
			return again
		})
		for i, p := range items(o, "ports") {
			delete(p, "hostIP")
			if g.wanted[n.child("ports").item.child("hostIP")] {
				p["hostIP"] = "10.0.0.1"
			}
			if i > 0 { // upstream takes two ports without a name for one
				p["name"] = fmt.Sprintf("port-%d", i)
			}
		}
	}
}

// namedPort leaves a port's name to a probe only where a container's port may have it.
func (g *generator) namedPort(probe, container object) {
	for _, handler := range []string{"httpGet", "tcpSocket"} {
		if h, ok := probe[handler].(object); ok && h["port"] == "http" && g.chance(0.8) {
			h["port"] = int64(8080)
		}
	}
}

// pod makes a Pod's spec acceptable, with what its containers refer to.
func (g *generator) pod(o object) {
	volumes := g.volumeNames(o)
	hostPort := int64(8000)
	main := []object{}
	for _, list := range []string{"initContainers", "containers"} {
		main = append(main, items(o, list)...)
	}
	need := func(name string, source object) {
		if !slices.Contains(volumes, name) {
			list, _ := o["volumes"].([]any)
			o["volumes"] = append(list, object{"name": name})
			for k, v := range source {
				items(o, "volumes")[len(items(o, "volumes"))-1][k] = v
			}
			volumes = append(volumes, name)
		}
	}
	for _, c := range main {
		for _, m := range items(c, "volumeMounts") {
			switch {
			case m["name"] == "initializer":
				need("initializer", object{"emptyDir": object{}})
			case len(volumes) == 0:
				need("v1", object{"emptyDir": object{}})
				m["name"] = "v1"
			default:
				m["name"] = pickOf(g.rng, volumes...)
			}
		}
		for i, d := range items(c, "volumeDevices") {
			name := fmt.Sprintf("block-%d", i+1)
			d["name"] = name
			if !slices.Contains(volumes, name) {
				list, _ := o["volumes"].([]any)
				o["volumes"] = append(list, object{"name": name, "persistentVolumeClaim": object{"claimName": "raw"}})
			}
			volumes = append(volumes, name)
		}
		for _, e := range items(c, "env") {
			if from, ok := e["valueFrom"].(object); ok {
				if ref, ok := from["fileKeyRef"].(object); ok {
					need("files", object{"emptyDir": object{}})
					ref["volumeName"] = "files"
				}
				if ref, ok := from["resourceFieldRef"].(object); ok {
					delete(ref, "containerName")
					if g.chance(0.3) {
						ref["containerName"] = c["name"]
					}
				}
			}
		}
		g.claimsOf(c, o)
		for _, p := range items(c, "ports") {
			if p["hostPort"] != nil || o["hostNetwork"] == true {
				hostPort++
				p["hostPort"] = hostPort
				if o["hostNetwork"] == true {
					p["containerPort"] = hostPort
				}
			}
		}
	}
	for _, v := range items(o, "volumes") {
		g.volumeItems(v, main)
	}
	for _, v := range items(o, "volumes") {
		g.job.remember(v)
	}
	g.podWide(o, main)
}

// volumeItems mends what in a volume refers to containers and keys.
func (g *generator) volumeItems(v object, containers []object) {
	var files []object
	if d, ok := v["downwardAPI"].(object); ok {
		files = append(files, items(d, "items")...)
	}
	if p, ok := v["projected"].(object); ok {
		for i, s := range items(p, "sources") {
			for _, name := range []string{"secret", "configMap", "downwardAPI"} {
				if source, ok := s[name].(object); ok {
					for j, item := range items(source, "items") {
						item["path"] = fmt.Sprintf("s%d/%d", i, j)
					}
					files = append(files, items(source, "items")...)
				}
			}
			for _, name := range []string{"serviceAccountToken", "clusterTrustBundle"} {
				if source, ok := s[name].(object); ok {
					source["path"] = fmt.Sprintf("s%d/%s", i, name)
				}
			}
			if c, ok := s["podCertificate"].(object); ok {
				for _, field := range []string{"credentialBundlePath", "keyPath", "certificateChainPath"} {
					if c[field] != nil {
						c[field] = fmt.Sprintf("s%d/%s", i, field)
					}
				}
				if c["credentialBundlePath"] != nil && g.chance(0.5) {
					delete(c, "keyPath")
					delete(c, "certificateChainPath")
				}
			}
		}
	}
	for _, f := range files {
		if ref, ok := f["resourceFieldRef"].(object); ok {
			ref["containerName"] = containers[len(containers)-1]["name"]
		}
	}
}

func (g *generator) volumeNames(o object) (names []string) {
	for _, v := range items(o, "volumes") {
		if name, ok := v["name"].(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// claimsOf declares the resource claims that a container asks for.
func (g *generator) claimsOf(container, pod object) {
	resources, _ := container["resources"].(object)
	for _, c := range items(resources, "claims") {
		if !slices.ContainsFunc(items(pod, "resourceClaims"), func(have object) bool { return have["name"] == c["name"] }) {
			list, _ := pod["resourceClaims"].([]any)
			pod["resourceClaims"] = append(list, object{"name": c["name"], "resourceClaimName": "shared"})
		}
	}
}

// podWide mends what holds between the fields of a Pod's spec.
func (g *generator) podWide(o object, containers []object) {
	if o["restartPolicy"] == "Always" {
		o["restartPolicy"] = "Never"
	}
	for _, c := range containers {
		for _, r := range items(c, "resizePolicy") {
			if o["restartPolicy"] == "Never" {
				r["restartPolicy"] = "NotRequired"
			}
		}
		if s, ok := c["securityContext"].(object); ok {
			g.windows(s)
		}
	}
	if o["dnsPolicy"] == "None" {
		child(o, "dnsConfig")["nameservers"] = []any{"1.1.1.1"}
	}
	if o["hostUsers"] == false {
		for _, field := range []string{"hostNetwork", "hostPID", "hostIPC"} {
			delete(o, field)
		}
		if slices.ContainsFunc(containers, func(c object) bool { return c["volumeDevices"] != nil }) {
			delete(o, "hostUsers")
		}
	}
	if o["hostPID"] == true {
		delete(o, "shareProcessNamespace")
	}
	if o["hostNetwork"] == true || o["setHostnameAsFQDN"] == true {
		delete(o, "hostnameOverride")
	}
	if o["schedulingGates"] != nil {
		delete(o, "nodeName")
	}
	if o["priorityClassName"] != nil {
		delete(o, "priority")
		delete(o, "preemptionPolicy")
	}
	if s, ok := o["securityContext"].(object); ok {
		g.windows(s)
		s["sysctls"] = slices.DeleteFunc(anyList(s["sysctls"]), func(v any) bool {
			name, _ := v.(object)["name"].(string)
			return strings.HasPrefix(name, "net.") && o["hostNetwork"] == true || strings.HasPrefix(name, "kernel.") && o["hostIPC"] == true
		})
		if len(anyList(s["sysctls"])) == 0 {
			delete(s, "sysctls")
		}
	}
	if o["os"] != nil {
		child(o, "os")["name"] = "linux"
		for _, c := range append(slices.Clone(containers), o) {
			if s, ok := c["securityContext"].(object); ok {
				delete(s, "windowsOptions")
			}
		}
	}
	if r, ok := o["resources"].(object); ok {
		delete(r, "claims")
		r["limits"] = object{"cpu": "64", "memory": "256Gi"}
		if r["requests"] != nil {
			r["requests"] = object{"cpu": "32", "memory": "128Gi"}
		}
	}
	if o["serviceAccount"] != nil && o["serviceAccountName"] != nil && g.chance(0.5) {
		o["serviceAccount"] = o["serviceAccountName"]
	}
}

// windows keeps a security context to what one operating system has.
func (g *generator) windows(s object) {
	if w, ok := s["windowsOptions"].(object); ok {
		delete(w, "hostProcess")
	}
}

func anyList(v any) []any {
	list, _ := v.([]any)
	return list
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

func strings2any(names []string) (out []any) {
	for _, name := range names {
		out = append(out, name)
	}
	return out
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

// useClaims mounts each claim somewhere, as the webhook asks.
func (g *generator) useClaims(o object) {
	jobs := items(o, "replicatedJobs")
	for _, policy := range items(o, "volumeClaimPolicies") {
		for _, claim := range items(policy, "templates") {
			name := claim["metadata"].(object)["name"]
			containers := items(child(pickOf(g.rng, jobs...), "template", "spec", "template", "spec"), "containers")
			c := pickOf(g.rng, containers...)
			c["volumeMounts"] = append(anyList(c["volumeMounts"]), object{"name": name, "mountPath": fmt.Sprint("/", name)})
		}
	}
}

// patches makes the patches of up to five managers, which are about the same fields.
func (g *generator) patches(n *node) []any {
	managers := []string{"kueue.x-k8s.io/manager", "acme.io/user", "b.example.org/x", "z.example.com/late", "example.com/platform"}
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

// mountsOfPatch lets the mounts of a patch name volumes that there are.
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
				if !seen[name] { // the definition tells mounts of a patch apart by their volumes
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
							inPod["volumes"] = append(list, object{"name": "files", "emptyDir": object{}})
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
