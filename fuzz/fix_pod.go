package fuzz

import (
	"fmt"
	"slices"
	"strings"
)

// whole makes values whose parts depend on each other beyond one object: jobs, containers, volumes
// and patches.
func (g *generator) whole(n *node) (value any, made bool) {
	switch n.key {
	case "v1alpha2.JobSetSpec.replicatedJobs":
		return g.replicatedJobs(n.item), true
	case "PodSpec.containers":
		return g.containers(n.item, &g.job.containers, g.mainContainers()), true
	case "PodSpec.initContainers":
		return g.containers(n.item, &g.job.init, []string{"init-a", "init-b"}[:1+g.rng.IntN(2)]),
			true
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

// someOf returns up to n of the names, in any order.
func (g *generator) someOf(names []string, n int) []string {
	names = slices.Clone(names)
	g.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:min(len(names), 1+g.rng.IntN(n))]
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
			container["volumeMounts"] = append(
				mounts, object{"name": "initializer", "mountPath": "/workspace"})
		}
		out = append(out, container)
		*made = append(*made, name)
	}
	return out
}

// volume makes a volume. A name mostly keeps one source throughout a case.
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
		common := []string{"emptyDir", "configMap", "persistentVolumeClaim", "projected",
			"ephemeral", "hostPath", "secret"}
		common = common[:1+g.hint("common")%len(common)]
		sources = slices.DeleteFunc(sources, func(f *node) bool {
			return !slices.Contains(common, f.name)
		})
	}
	if len(about) > 0 {
		sources = about
	}
	source := sources[g.hint("volume "+g.job.name+name)%len(sources)]
	if have := g.job.sources[name]; have != "" && g.chance(0.97) {
		source = n.child(have)
	}
	if name == "v1" && g.job.name != "node" || name == "v1" && g.hint("v1")%2 == 0 {
		source = n.child("emptyDir") // variables from files are read from it
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

// remember records a volume's name and source for the patches of the job.
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
		if slices.ContainsFunc(handlers, func(f string) bool { return o[f] != nil }) ||
			o["resizePolicy"] != nil || o["restartPolicy"] != nil && g.chance(0.6) {
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
			if i > 0 { // upstream treats two ports without a name as one
				p["name"] = fmt.Sprintf("port-%d", i)
			}
		}
	}
}

// namedPort keeps the port name of a probe only if a container's port may have it.
func (g *generator) namedPort(probe, container object) {
	for _, handler := range []string{"httpGet", "tcpSocket"} {
		if h, ok := probe[handler].(object); ok && h["port"] == "http" && g.chance(0.8) {
			h["port"] = int64(8080)
		}
	}
}

// pod makes a Pod's spec acceptable, with the objects that its containers refer to.
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
				o["volumes"] = append(
					list, object{"name": name, "persistentVolumeClaim": object{"claimName": "raw"}})
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

// volumeItems fixes the references of a volume to containers and keys.
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
				for _, field := range []string{"credentialBundlePath", "keyPath",
					"certificateChainPath"} {
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

// claimsOf declares the resource claims of a container.
func (g *generator) claimsOf(container, pod object) {
	resources, _ := container["resources"].(object)
	for _, c := range items(resources, "claims") {
		if !slices.ContainsFunc(items(pod, "resourceClaims"), func(have object) bool {
			return have["name"] == c["name"]
		}) {
			list, _ := pod["resourceClaims"].([]any)
			pod["resourceClaims"] = append(
				list, object{"name": c["name"], "resourceClaimName": "shared"})
		}
	}
}

// podWide fixes the rules between the fields of a Pod's spec.
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
		if slices.ContainsFunc(containers, func(c object) bool {
			return c["volumeDevices"] != nil
		}) {
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
			return strings.HasPrefix(name, "net.") && o["hostNetwork"] == true ||
				strings.HasPrefix(name, "kernel.") && o["hostIPC"] == true
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

// windows limits a security context to the fields of one operating system.
func (g *generator) windows(s object) {
	if w, ok := s["windowsOptions"].(object); ok {
		delete(w, "hostProcess")
	}
}

func anyList(v any) []any {
	list, _ := v.([]any)
	return list
}

func strings2any(names []string) (out []any) {
	for _, name := range names {
		out = append(out, name)
	}
	return out
}
