package main

// A chart has horizontal bars in groups.
type chart struct {
	file, title string
	unit        string // behind each value
	log         bool   // each step of the axis is ten times the last one
	groups      []group
	targets     []target
}

type group struct {
	label string
	bars  []bar
}

// A bar shows a value of the results.
type bar struct {
	label, value string
	other        bool // not this project's
}

// A target is a line across the bars: the value times the factor.
type target struct {
	label, value string
	factor       float64
}

// The charts of docs/performance.md.
var charts = []chart{
	{
		file: "performance-check.svg", title: "Processor time to check a TrainJob", unit: " ms",
		groups: []group{{bars: []bar{
			{label: "decode and encode", value: "BenchmarkCheck yaml-cpu-ms", other: true},
			{label: "trainweld check", value: "BenchmarkCheck check-cpu-ms"},
			{label: "kubeconform", value: "BenchmarkCheck kubeconform-cpu-ms", other: true},
		}}},
		targets: []target{
			{label: "2 × YAML", value: "BenchmarkCheck yaml-cpu-ms", factor: 2},
		},
	},
	{
		file: "performance-render.svg", title: "Processor time to render files, YAML = 1", unit: " ×",
		groups: []group{{bars: []bar{
			{label: "1,000 TrainJobs", value: "BenchmarkRender/jobs=1000 times-yaml-cpu"},
			{label: "5,000 TrainJobs", value: "BenchmarkRender/jobs=5000 times-yaml-cpu"},
		}}},
		targets: []target{{label: "target 0.8", factor: 0.8}, {label: "YAML", factor: 1}},
	},
	{
		file: "performance-merge.svg", title: "Merge, copy of the result = 1, logarithmic", unit: " ×", log: true,
		groups: []group{merges("1 manager", "1"), merges("4 managers", "4"), merges("16 managers", "16")},
	},
	{
		file: "performance-size.svg", title: "Parts of the program", unit: " MB",
		groups: []group{{bars: []bar{
			{label: "Go", value: "BenchmarkFeatures MB/go"},
			{label: "manifests, types", value: "BenchmarkFeatures MB/manifests"},
			{label: "merge, conflicts", value: "BenchmarkFeatures MB/merge"},
			{label: "render, blame, diff", value: "BenchmarkFeatures MB/render"},
			{label: "training jobs", value: "BenchmarkFeatures MB/training-jobs"},
			{label: "built-in kinds", value: "BenchmarkFeatures MB/builtin-kinds"},
			{label: "verdicts", value: "BenchmarkFeatures MB/verdicts"},
			{label: "kustomize", value: "BenchmarkFeatures MB/kustomize"},
			{label: "commands", value: "BenchmarkFeatures MB/commands"},
		}}},
	},
}

// merges compares the ways to merge the patches of some managers.
func merges(label, managers string) group {
	of := func(side string) string {
		return "BenchmarkApply/jobs=3/managers=" + managers + " " + side + "/DeepCopy"
	}
	return group{label, []bar{
		{label: "Apply", value: of("Apply")},
		{label: "with owners", value: of("Apply+owners")},
		{label: "upstream", value: of("upstream"), other: true},
		{label: "smd", value: of("smd"), other: true},
	}}
}
