package commandline

import "fmt"

// Removal is a verb, or a flag of a verb, that the last release had.
type Removal struct {
	Verb    string // a verb below another one has both names: "policy test"
	Flag    string // without dashes, or a letter; empty for the verb itself
	Instead string // what to use now, without a full stop
}

// Removals returns what is gone, sorted. A row goes with the release after the one that removes its
// flag.
func Removals() []Removal {
	return []Removal{
		{"blame", "build",
			"render the chart, and pass its output: helm template . | trainweld blame -"},
		{"blame", "index", "use --job=JOB/INDEX, or --job=/INDEX for every Job"},
		{"check", "build",
			"render the chart, and pass its output: helm template . | trainweld check -"},
		{"check", "d", "change what the help of each finding says; -o json has its remedy"},
		{"check", "fix", "change what the help of each finding says; -o json has its remedy"},
		{"check", "observed", "use --old DUMP"},
		{"check", "prefer", "change what the help of each finding says; -o json has its remedy"},
		{"check", "show-notes", "use --all"},
		{"completion bash", "no-descriptions", "leave it out"},
		{"completion fish", "no-descriptions", "leave it out"},
		{"completion powershell", "no-descriptions", "leave it out"},
		{"completion zsh", "no-descriptions", "leave it out"},
		{"conflicts", "build",
			"render the chart, and pass its output: helm template . | trainweld conflicts -"},
		{"conflicts", "d", "change one patch, or decide with --force-manager"},
		{"conflicts", "fix", "change one patch, or decide with --force-manager"},
		{"conflicts", "permute",
			"leave it out: conflicts lists the fields for which the order of the patches decides"},
		{"conflicts", "prefer", "decide with --force-manager"},
		{"create", "", "write the TrainJob as YAML, or send it with the Kubeflow SDK"},
		{"diff", "build",
			"render both versions of the chart to folders, and use trainweld diff OLD NEW"},
		{"diff", "crd",
			"merge both versions, and compare the results: trainweld merge -f FILE --patch FILE"},
		{"diff", "live",
			"use kubectl diff; trainweld blame shows who set each field of a live object"},
		{"diff", "observed", "use --old DUMP"},
		{"diff", "openapi",
			"merge both versions, and compare the results: trainweld merge -f FILE --patch FILE"},
		{"diff", "type",
			"merge both versions, and compare the results: trainweld merge -f FILE --patch FILE"},
		{"merge", "defaults", "use --option=defaults"},
		{"merge", "empty", "leave empty strings out of the patches"},
		{"merge", "managers", "use --force-manager"},
		{"merge", "order", "use --option=keep-order"},
		{"merge", "precedence", "use --on-conflict=first or --on-conflict=base"},
		{"merge", "protected-error", "use --option=protect-error"},
		{"merge", "unions", "use --option=unions=last or --option=unions=error"},
		{"migrate", "runtime",
			"leave it out: a training job gets a runtime of its own"},
		{"migrate", "runtime-kind", "leave it out: a training job gets a runtime of its own"},
		{"migrate", "show-notes", "use --all"},
		{"render", "all-indexes", "use --job=JOB/all, or --job=/all for every Job"},
		{"render", "build",
			"render the chart, and pass its output: helm template . | trainweld render -f -"},
		{"render", "compose-as",
			"agree on a value, or decide with --force-manager or --on-conflict=last"},
		{"render", "explain",
			"use trainweld render --to=pods -o table: it shows what each Job waits for"},
		{"render", "index", "use --job=JOB/INDEX, or --job=/INDEX for every Job"},
		{"render", "max-pods", "leave it out: a run has at most 1000000 Pods"},
		{"render", "observed", "use --old DUMP"},
		{"render", "show-notes", "use --all"},
		{"schema", "", "give the editor the schemas of the custom resource definitions"},
		{"test", "init", "write a TrainJob to a folder of its own below that of the runtime, and " +
			"record its rendering: trainweld test DIR --update"},
		{"test", "k", "render the build to a folder with trainweld render, and test that"},
		{"test", "kustomize", "render the build to a folder with trainweld render, and test that"},
		{"test", "output-dir", "name the folder of the cases"},
	}
}

// Removed returns an error that says what to use instead of a verb or a flag that is gone. It
// returns nil for others. An empty flag asks for the verb.
func Removed(verb, flag string) error {
	for _, r := range Removals() {
		if r.Verb == verb && r.Flag == flag {
			return fmt.Errorf("%s is gone: %s", r.Name(), r.Instead)
		}
	}
	return nil
}

// Name returns the words on the command line, such as "diff --live".
func (r Removal) Name() string {
	switch len(r.Flag) {
	case 0:
		return r.Verb
	case 1:
		return r.Verb + " -" + r.Flag
	default:
		return r.Verb + " --" + r.Flag
	}
}

// Elsewhere returns an error for a verb of another program: it names the command that does its
// work. It returns nil for other words.
func Elsewhere(verb string) error {
	instead := map[string]string{
		"build": "use trainweld render, with -k for kustomizations",
		"fix": "use trainweld check: the help of each finding says what to change; migrate " +
			"rewrites old versions",
		"lint":     "use trainweld check",
		"template": "use trainweld render",
		"validate": "use trainweld check",
	}[verb]
	if instead == "" {
		return nil
	}
	return fmt.Errorf("there is no command %q: %s", verb, instead)
}
