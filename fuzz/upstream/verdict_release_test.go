package upstream_test

import (
	"math/rand/v2"
	"regexp"
	"slices"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// earlierRejections are the rejections of earlier releases only, and the rejections with other
// codes there.
var earlierRejections = []rejection{
	{"names on create", regexp.MustCompile(`metadata\.name: Invalid value: .*DNS-1035`),
		[]finding.Code{codes.BrokenRule}},
	{"patched jobs",
		regexp.MustCompile(`must not have (targetJob|replicated job) that doesn't exist`),
		[]finding.Code{codes.UnknownJob}},
	{"patched containers",
		regexp.MustCompile(`must not have (initContainer|container) that doesn't exist`),
		[]finding.Code{codes.UnknownJob}},
	{"torch's processes", regexp.MustCompile(`must have an int value or`),
		[]finding.Code{codes.BadValue}},
	{"mpi's processes", regexp.MustCompile(`must have an int value for MPI`),
		[]finding.Code{codes.WrongType}},
	{"merges", regexp.MustCompile(`panic: `), []finding.Code{codes.NoMerge, codes.TorchTune}},
}

// rejectionsOf returns the rejections of a release.
func rejectionsOf(r *release.Release) []rejection {
	if r.Version == release.Latest().Version {
		return rejections
	}
	all := slices.Clone(earlierRejections)
	for _, known := range rejections {
		if !slices.ContainsFunc(earlierRejections, func(e rejection) bool {
			return e.rule == known.rule
		}) {
			all = append(all, known)
		}
	}
	return all
}

// earlierBreaks are changes that aim at what only earlier releases have. The objects have been
// translated before.
var earlierBreaks = []func(m mutator, job, runtime upstream.Object) bool{
	func(m mutator, job, runtime upstream.Object) bool {
		set(runtime, upstream.Object{pick(m, "torch", "mpi"): upstream.Object{}}, "spec",
			"mlPolicy")
		return set(job, pick[any](m, "auto", "cpu", "gpu", "many", "4", int64(1), int64(2), 1.5),
			"spec", "trainer", "numProcPerNode")
	},
	func(m mutator, _, runtime upstream.Object) bool {
		return set(runtime,
			upstream.Object{
				"numProcPerNode": pick[any](m, "auto", "cpu", "gpu", "many", "4", int64(1),
					int64(2), 1.5)}, "spec", "mlPolicy", "torch")
	},
	func(m mutator, job, runtime upstream.Object) bool {
		set(job, int64(1+m.IntN(2)), "spec", "trainer", "numProcPerNode")
		return breakTorchTune(m, job, runtime) &&
			set(job, pick[any](m, nil, int64(1), int64(2), "auto", "gpu"), "spec", "trainer",
				"numProcPerNode")
	},
	func(m mutator, job, runtime upstream.Object) bool {
		set(runtime, upstream.Object{pick(m, "torch", "mpi"): upstream.Object{}}, "spec",
			"mlPolicy")
		set(job, []any{variable(pick(m, "PET_NNODES", "OMPI_MCA_plm_rsh_args"))}, "spec", "trainer",
			"env")
		return set(job, pick[any](m, nil, int64(2)), "spec", "trainer", "numProcPerNode")
	},
	func(m mutator, job, _ upstream.Object) bool {
		return set(job, pick(m, "b", "a b"), "spec", pick(m, "labels", "annotations"), "a")
	},
	func(m mutator, _, runtime upstream.Object) bool {
		return eachJob(runtime, func(job upstream.Object) {
			job["name"], job["replicas"] = pick(m, "launcher", "node"), int64(1+m.IntN(2))
			set(job, pick[any](m, nil, "trainer"), "template", "metadata", "labels",
				"trainer.kubeflow.org/trainjob-ancestor-step")
		})
	},
	func(m mutator, job, _ upstream.Object) bool {
		for _, field := range []string{"podSpecOverrides", "podTemplateOverrides"} {
			overrides := list(job, "spec", field)
			if len(overrides) == 0 {
				continue
			}
			if m.IntN(2) == 0 {
				return set(job, append(slices.Clone(overrides), overrides[m.IntN(len(overrides))]),
					"spec", field)
			}
			targets := list(overrides[0], "targetJobs")
			return set(overrides[0],
				append(slices.Clone(targets),
					upstream.Object{"name": pick(m, "node", "ghost", "launcher")}), "targetJobs")
		}
		return false
	},
}

// translate turns a case of the latest release into one of the server's. Its patches become
// overrides. Most of the fields that the release lacks go, since little else would be met.
func (g *generator) translate(c *verdictCase, r *rand.Rand) {
	m := mutator{r}
	keep := r.IntN(8) == 0
	for _, part := range []*upstream.Object{&c.runtime, &c.changedRuntime, &c.job, &c.changedJob} {
		if *part == nil {
			continue
		}
		overridden(*part, g.server.Release.Overrides)
		if kind, _ := (*part)["kind"].(string); !keep &&
			slices.Contains([]string{"TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"},
				kind) {
			if pruned, err := g.server.Prune(*part); err == nil && pruned != nil {
				*part = pruned
			}
		}
	}
	if r.IntN(3) > 0 {
		return
	}
	job, runtime := c.job, c.runtime
	if c.changedJob != nil && r.IntN(2) == 0 {
		job = c.changedJob
	}
	if c.changedRuntime != nil && r.IntN(2) == 0 {
		runtime = c.changedRuntime
	}
	if earlierBreaks[r.IntN(len(earlierBreaks))](m, job, runtime) {
		c.aims = append(c.aims, "an earlier release")
	}
}

// overridden rewrites the patches of a TrainJob as the overrides of a release. Values of other
// types stay what they are.
func overridden(job upstream.Object, as release.Overrides) {
	spec, _ := job["spec"].(upstream.Object)
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
		fields, _ := patch.(upstream.Object)
		runtime, _ := fields["trainingRuntimeSpec"].(upstream.Object)
		template, isTemplate := runtime["template"].(upstream.Object)
		if !isTemplate {
			overrides = append(overrides, patch)
			continue
		}
		metadata, _ := template["metadata"].(upstream.Object)
		for _, field := range []string{"labels", "annotations"} {
			if entries, ok := metadata[field]; ok {
				spec[field] = entries
			}
		}
		for _, job := range list(template, "spec", "replicatedJobs") {
			overrides = append(overrides, override(job, as))
		}
	}
	if overrides != nil {
		spec[string(as)] = overrides
	}
}

func override(job any, as release.Overrides) any {
	fields, ok := job.(upstream.Object)
	if !ok {
		return job
	}
	template, _ := fields["template"].(upstream.Object)
	inJob, _ := template["spec"].(upstream.Object)
	pod, _ := inJob["template"].(upstream.Object)
	out := upstream.Object{"targetJobs": []any{upstream.Object{"name": fields["name"]}}}
	if as == release.PodTemplateOverrides {
		for _, field := range []string{"metadata", "spec"} {
			if value, ok := pod[field]; ok {
				out[field] = value
			}
		}
		return out
	}
	inPod, _ := pod["spec"].(upstream.Object)
	for name, value := range inPod {
		out[name] = value
	}
	return out
}
