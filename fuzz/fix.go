package fuzz

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// acceptableFields lists the fields that an accepted document may have.
var acceptableFields = sync.OnceValue(func() []*node {
	var out []*node
	for _, n := range fieldsOfTypes().all {
		if !slices.ContainsFunc(ways(n), func(at *node) bool { return at.rejected != "" }) {
			out = append(out, n)
		}
	}
	return out
})

// ways returns n and the fields that contain it.
func ways(n *node) (out []*node) {
	for ; n != nil; n = n.up {
		out = append(out, n)
	}
	return out
}

// embedded are the metadata fields that the definitions keep within an object.
var embedded = []string{"name", "namespace", "labels", "annotations", "finalizers"}

func rejectedReason(n *node, inTrainJob bool) string {
	if n.owner == "ObjectMeta" && n.up.up != nil && n.up.up.up != nil &&
		!slices.Contains(embedded, n.name) {
		return "the definitions drop it from embedded metadata"
	}
	if n.key == "EnvVarSource.fileKeyRef" && inTrainJob && n.up.up.up.owner != "ContainerPatch" {
		return "the controller loses it"
	}
	return known().Rejected[n.key]
}

// keepOne keeps one member of a union, preferably one that the case is about.
func (g *generator) keepOne(n *node, o object) {
	union, ok := known().Unions[typeName(n.typ)]
	if !ok {
		return
	}
	var there, about []string
	for _, name := range union.members(n) {
		if _, ok := o[name]; ok {
			there = append(there, name)
			if g.wanted[n.child(name)] {
				about = append(about, name)
			}
		}
	}
	if len(about) > 0 {
		there = about
	}
	if len(there) == 0 && union.Default != "" {
		o[union.Default] = g.value(n.child(union.Default))
		return
	}
	keep := ""
	if len(there) > 0 {
		keep = pickOf(g.rng, there...)
	}
	for _, name := range union.members(n) {
		if name != keep {
			delete(o, name)
		}
	}
}

// fix makes an object of a Go type acceptable, as far as the object itself decides.
func (g *generator) fix(n *node, o object) {
	g.keepOne(n, o)
	switch typeName(n.typ) {
	case "ObjectMeta":
		if n.up.up != nil { // only claims may have a name in embedded metadata
			delete(o, "generateName")
		}
	case "EnvVar":
		if o["valueFrom"] != nil {
			delete(o, "value")
			if g.hint(fmt.Sprint("env ", o["name"]))%3 > 0 && !g.wanted[n.child("valueFrom")] {
				delete(o, "valueFrom")
			}
		}
	case "ResourceRequirements":
		g.resources(o)
	case "ResourceFieldSelector":
		if o["divisor"] != nil {
			o["divisor"] = pickOf(g.rng, "1", "0")
			if o["resource"] == "limits.cpu" {
				o["divisor"] = pickOf(g.rng, "1", "1m", "0")
			}
		}
	case "ISCSIVolumeSource":
		if o["chapAuthDiscovery"] == true || o["chapAuthSession"] == true {
			o["secretRef"] = object{"name": "creds"}
		}
	case "FCVolumeSource":
		delete(o, "wwids")
		if g.chance(0.5) {
			o["wwids"] = []any{"3600508b400105e210000900000490000"}
			delete(o, "targetWWNs")
			delete(o, "lun")
			return
		}
		o["targetWWNs"], o["lun"] = []any{"50060e801049cfd1"}, int64(g.rng.IntN(256))
	case "AzureDiskVolumeSource":
		if o["kind"] == "Managed" {
			o["diskURI"] = "/subscriptions/1/disk"
		}
	case "ClusterTrustBundleProjection":
		if o["name"] != nil {
			delete(o, "signerName")
			delete(o, "labelSelector")
		}
	case "PersistentVolumeClaimSpec":
		if from := o["dataSource"]; from != nil {
			delete(o, "dataSourceRef")
		} else if from, ok := o["dataSourceRef"].(object); ok {
			delete(from, "namespace")
		}
	case "PersistentVolumeClaimTemplate":
		if m, ok := o["metadata"].(object); ok {
			delete(m, "name")
			delete(m, "namespace")
			delete(m, "finalizers")
		}
	case "Probe":
		if n.name == "readinessProbe" {
			delete(o, "terminationGracePeriodSeconds")
			if g.chance(0.3) {
				o["successThreshold"] = int64(2)
			}
		}
	case "VolumeMount":
		if o["subPath"] != nil && o["subPathExpr"] != nil {
			delete(o, pickOf(g.rng, "subPath", "subPathExpr"))
		}
		if o["recursiveReadOnly"] != nil {
			o["readOnly"] = true
			delete(o, "mountPropagation")
		}
		if o["mountPropagation"] == "Bidirectional" {
			o["mountPropagation"] = "HostToContainer"
		}
	case "ContainerRestartRuleOnExitCodes", "PodFailurePolicyOnExitCodesRequirement":
		sortNumbers(o, "values")
	case "SeccompProfile", "AppArmorProfile":
		if o["type"] != "Localhost" {
			delete(o, "localhostProfile")
		} else if o["localhostProfile"] == nil {
			o["localhostProfile"] = "p/a.json"
		}
	case "SecurityContext":
		if o["privileged"] == true {
			delete(o, "allowPrivilegeEscalation")
		}
		if o["procMount"] != nil {
			o["procMount"] = "Default"
		}
	case "LabelSelectorRequirement":
		withValues(g, o, "app")
	case "NodeSelectorRequirement":
		if n.up.name == "matchFields" {
			o["key"], o["operator"], o["values"] = "metadata.name", pickOf(g.rng, "In", "NotIn"),
				[]any{"n1"}
			return
		}
		withValues(g, o, "zone")
	case "PodAffinityTerm":
		if o["matchLabelKeys"] != nil || o["mismatchLabelKeys"] != nil {
			o["labelSelector"] = object{"matchLabels": object{"example.com/tier": "gold"}}
			if o["matchLabelKeys"] != nil && o["mismatchLabelKeys"] != nil && g.chance(0.5) {
				o["matchLabelKeys"] = []any{"zone"}
			}
		}
	case "TopologySpreadConstraint":
		if o["minDomains"] != nil {
			o["whenUnsatisfiable"] = "DoNotSchedule"
		}
		if o["matchLabelKeys"] != nil {
			o["labelSelector"] = object{"matchLabels": object{"team": "x"}}
		}
	case "Toleration":
		g.toleration(o)
	case "MLPolicy":
		for _, p := range []Policy{Torch, MPI, Flux, JAX, XGBoost} {
			if p != g.policy {
				delete(o, string(p))
			} else if o[string(p)] == nil {
				o[string(p)] = g.structure(n.child(string(p)))
			}
		}
	case "TrainingRuntimeSpec":
		if g.policy != Plain && o["mlPolicy"] == nil {
			o["mlPolicy"] = g.structure(n.child("mlPolicy"))
		}
		g.inject(o)
	case "PodGroupPolicy":
		for _, p := range []Policy{Coscheduling, Volcano} {
			if !slices.Contains(g.opts.Policies, p) {
				delete(o, string(p))
			}
		}
		if o["coscheduling"] != nil && o["volcano"] != nil && g.chance(0.8) {
			delete(o, pickOf(g.rng, "coscheduling", "volcano"))
		}
	case "Trainer":
		if g.policy == Flux && o["numNodes"] == nil {
			o["numNodes"] = int64(1 + g.rng.IntN(2))
		}
	case "TrainJobSpec":
		if g.policy == Flux && o["trainer"] == nil {
			o["trainer"] = object{"numNodes": int64(1)}
		}
	case "Initializer":
		for _, section := range []string{"dataset", "model"} {
			if !slices.ContainsFunc(g.jobs, func(j *madeJob) bool {
				return j.name == section+"-initializer"
			}) {
				delete(o, section)
			}
		}
	case "Container", "ContainerPatch":
		g.container(n, o)
	case "PodSpec":
		g.pod(o)
	case "JobSpec":
		g.jobSpec(o)
	case "v1alpha2.JobSetSpec":
		g.jobSet(o)
	}
}

// inject points torch's injection at existing containers.
func (g *generator) inject(spec object) {
	policy, _ := spec["mlPolicy"].(object)
	torch, _ := policy["torch"].(object)
	injection, ok := torch["envInjection"].(object)
	if !ok {
		return
	}
	targets := []any{}
	for _, job := range g.jobs {
		names := slices.DeleteFunc(append(slices.Clone(job.containers), job.init...),
			func(name string) bool { return name == "node" })
		if len(names) > 0 && g.chance(0.7) {
			targets = append(
				targets, object{
					"jobName": job.name, "containerNames": strings2any(g.someOf(names, 2))})
		}
	}
	injection["targets"] = targets
}

func withValues(g *generator, o object, key string) {
	switch o["operator"] {
	case "Exists", "DoesNotExist":
		delete(o, "values")
	case "Gt", "Lt":
		o["values"] = []any{strconv.Itoa(g.rng.IntN(9))}
	default:
		if o["values"] == nil {
			o["values"] = []any{"a"}
		}
	}
	if o["key"] == nil {
		o["key"] = key
	}
}

func (g *generator) toleration(o object) {
	if o["operator"] == "Gt" || o["operator"] == "Lt" {
		o["operator"] = "Exists" // Gt and Lt are behind a gate
	}
	if o["key"] == nil || o["operator"] == "Exists" {
		o["operator"] = "Exists"
		delete(o, "value")
	}
	if o["tolerationSeconds"] != nil {
		o["effect"] = "NoExecute"
	}
}

// sortNumbers sorts a list of numbers and removes duplicates, as the API requires.
func sortNumbers(o object, field string) {
	list, _ := o[field].([]any)
	slices.SortFunc(list, func(a, b any) int { return int(a.(int64) - b.(int64)) })
	o[field] = slices.Compact(list)
}

// resources makes requests below limits, with at most one kind of GPU. Of two kinds upstream counts
// an arbitrary one.
func (g *generator) resources(o object) {
	amounts := []struct {
		name         string
		small, large []string
	}{
		{"cpu", []string{"500m", "1", "0.5", "100m", "0"}, []string{"2", "2500m", "4"}},
		{"memory", []string{"1Gi", "1024Mi", "1e9", "64M"}, []string{"2Gi", "4096Mi"}},
		{"ephemeral-storage", []string{"1Gi"}, []string{"2Gi"}},
		{"nvidia.com/gpu", []string{"1"}, []string{"1"}},
	}
	limits, _ := o["limits"].(object)
	requests, _ := o["requests"].(object)
	for _, list := range []object{limits, requests} {
		clear(list)
	}
	for _, a := range amounts {
		if limits != nil && g.chance(0.5) {
			limits[a.name] = pickOf(g.rng, a.large...)
		}
		if requests != nil && g.chance(0.5) &&
			(a.name != "nvidia.com/gpu" || limits[a.name] != nil) {
			requests[a.name] = pickOf(g.rng, a.small...)
		}
	}
	if g.chance(0.1) && limits != nil {
		limits["hugepages-2Mi"], limits["memory"] = "4Mi", "4Gi"
		if requests != nil {
			requests["hugepages-2Mi"] = "4Mi"
		}
	}
}
