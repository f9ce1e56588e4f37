package fn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/resourcelist"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/minor"
)

// fnOptions are the options of a function.
type fnOptions struct {
	option.Render
	conflict render.OnConflict
	as       render.View
	add      bool   // keep the TrainJobs, and add their JobSets next to them
	patches  string // the text of inline patches, in addition to files
	version  *string
	minor    *string // of Kubernetes
	gates    string
	at       string   // the path of the options in the functionConfig, before their names
	former   []misuse // options that the next release does not read
}

// renderKind is the kind of a functionConfig with the options of a rendering.
const renderKind = "RenderTrainJobs"

// fnOption is an option of the functionConfig.
type fnOption struct {
	name   string
	values []string // the allowed values; nil allows any
	set    func(o *fnOptions, value string)
}

// fnOptionList returns the options in the order of the help.
func fnOptionList() []fnOption {
	lines := func(set func(o *fnOptions, all []string)) func(*fnOptions, string) {
		return func(o *fnOptions, value string) {
			var all []string
			for line := range strings.Lines(value) {
				if line = strings.TrimSpace(line); line != "" {
					all = append(all, line)
				}
			}
			set(o, all)
		}
	}
	return []fnOption{
		{"to", []string{"jobset", "jobs", "pods"}, func(o *fnOptions, value string) {
			o.To = value
		}},
		{"as", []string{"applied", "stored"}, func(o *fnOptions, value string) {
			if value == "stored" {
				o.as = render.Stored
			}
		}},
		{"for", []string{option.ForReview, option.ForApply}, func(o *fnOptions, value string) {
			o.For = value
		}},
		{"onConflict", []string{"fail", "last"}, func(o *fnOptions, value string) {
			if value == "last" {
				o.conflict = render.Last
			}
		}},
		{"forceManagers", nil, lines(func(o *fnOptions, managers []string) { o.Force = managers })},
		{"mode", []string{"replace", "add"}, func(o *fnOptions, value string) {
			o.add = value == "add"
		}},
		{"trainerVersion", nil, func(o *fnOptions, value string) { o.version = &value }},
		{"kubernetesVersion", nil, func(o *fnOptions, value string) { o.minor = &value }},
		{"featureGates", nil, func(o *fnOptions, value string) { o.gates = value }},
		{"namespace", nil, func(o *fnOptions, value string) { o.Namespace = value }},
		{"patches", nil, func(o *fnOptions, value string) { o.patches = value }},
		{"files", nil, lines(func(o *fnOptions, paths []string) { o.Files = paths })},
		{"runtimeFiles", nil, lines(func(o *fnOptions, paths []string) { o.Runtimes = paths })},
		{"patchFiles", nil, lines(func(o *fnOptions, paths []string) { o.Flags.Patches = paths })},
		{"policy", nil, func(o *fnOptions, value string) { o.Policy = value }},
		{"recursive", []string{"false", "true"}, func(o *fnOptions, value string) {
			o.Recursive = value == "true"
		}},
		{"strict", []string{"false", "true"}, func(o *fnOptions, value string) {
			o.Strict = value == "true"
		}},
		{"all", []string{"false", "true"}, func(o *fnOptions, value string) {
			o.All = value == "true"
		}},
	}
}

// misuse is an error in a field of the functionConfig.
type misuse struct{ path, message string }

func (m misuse) Error() string { return fmt.Sprintf("functionConfig: %s: %s", m.path, m.message) }

// parseFnOptions parses the functionConfig, which may be nil. It returns all errors in it.
func parseFnOptions(config *resourcelist.Item) (*fnOptions, []misuse) {
	o := &fnOptions{Render: option.Render{To: "jobset", Global: &option.Global{}}, at: "."}
	if config == nil {
		return o, nil
	}
	var wrong []misuse
	var data map[string]string
	switch id := config.ID(); {
	case id.APIVersion == configVersion && id.Kind == renderKind:
		var err error
		if data, err = config.Fields(); err != nil {
			return o, []misuse{{".", err.Error()}}
		}
	case id.APIVersion == "v1" && id.Kind == "ConfigMap":
		var bad []string
		data, bad = config.Data()
		o.at = ".data."
		for _, key := range bad {
			wrong = append(
				wrong, misuse{
					o.at + key, "must be a string: write several lines as a block, after |"})
		}
		if len(data) > 0 { // kpt gives an empty one
			o.former = append(o.former, gone(".kind", "ConfigMap",
				fmt.Sprintf("use %s of %s, whose fields are the options", renderKind,
					configVersion)))
		}
	default:
		return o, []misuse{
			{".kind", fmt.Sprintf(
				"must be %s, which has options, or %s, which has patches, of %s; got apiVersion "+
					"%q and kind %q", renderKind, mergeKind, configVersion, id.APIVersion, id.Kind)}}
	}
	options := fnOptionList()
	names := make([]string, len(options))
	for i, known := range options {
		names[i] = known.name
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		value := data[key]
		if key == "showNotes" {
			o.former = append(o.former, gone(o.at+key, key, "use all"))
			key = "all"
		}
		i := slices.Index(names, key)
		if i < 0 {
			wrong = append(
				wrong, misuse{
					o.at + key, "no such option" + option.DidYouMean(key, names) +
						"; the options are " + strings.Join(names, ", ")})
			continue
		}
		known := options[i]
		if known.values != nil && !slices.Contains(known.values, value) {
			wrong = append(
				wrong, misuse{
					o.at + key,
					fmt.Sprintf("unsupported value %q: supported values: %s%s", value,
						strings.Join(known.values, ", "), option.DidYouMean(value, known.values))})
			continue
		}
		known.set(o, value)
	}
	for name, paths := range map[string][]string{"files": o.Files, "runtimeFiles": o.Runtimes,
		"patchFiles": o.Flags.PatchFiles()} {
		if slices.Contains(paths, "-") {
			wrong = append(
				wrong, misuse{
					o.at + name,
					"standard input is the ResourceList itself; name files or directories"})
		}
	}
	if o.Policy == manifest.Stdin {
		wrong = append(
			wrong, misuse{o.at + "policy", "standard input is the ResourceList itself; name a file"})
	}
	if err := workspace.CheckNamespace(o.Namespace); err != nil {
		wrong = append(wrong, misuse{o.at + "namespace", strings.TrimPrefix(err.Error(), "-n: ")})
	}
	var err error
	if o.version != nil {
		if o.Release, err = release.Parse(*o.version); err != nil {
			wrong = append(wrong, misuse{o.at + "trainerVersion", err.Error()})
		}
	}
	if o.minor != nil {
		if o.Kubernetes, err = minor.Parse(*o.minor); err != nil {
			wrong = append(wrong, misuse{o.at + "kubernetesVersion", err.Error()})
		}
	}
	if o.FeatureGates, err = render.ParseFeatureGates(o.gates); err != nil {
		wrong = append(wrong, misuse{o.at + "featureGates", err.Error()})
	}
	if o.For == option.ForApply && (o.add || o.To != "jobset") {
		wrong = append(
			wrong, misuse{
				o.at + "for", "apply renders JobSets in place of their TrainJobs: remove mode and to"})
	}
	if o.add && o.To == "pods" && o.as == render.Stored {
		wrong = append(
			wrong, misuse{
				o.at + "mode",
				"the cluster names stored Pods, so the next run would not find them: remove " +
					"mode: add, or set as: applied"})
	}
	slices.SortFunc(wrong, func(a, b misuse) int { return strings.Compare(a.path, b.path) })
	return o, wrong
}

// fnHelp returns the remedy of a finding, with the option that applies it.
func fnHelp(f finding.Finding) string {
	switch r := f.Remedy; {
	case r.Do == finding.LetOneWin && f.Code == codes.Union:
		return r.Text + "; to render with one manager's member, set forceManagers: NAME"
	case r.Do == finding.LetOneWin:
		return r.Text +
			"; to let the last patch win, as in the cluster, set onConflict: last; to let " +
			"another manager win, set forceManagers: NAME"
	case codes.AssumesRuntime(f):
		return "set trainerVersion, or stock: true in trainweld.yaml, to " + r.Text
	case f.Code == codes.NoRuntime && r.Do != finding.Edit:
		return r.Text + " as an item or in runtimeFiles"
	case r.Do == finding.Provide && f.Code == codes.NotAnObject:
		return r.Text + "; if it is a manager's patch, add it to patchFiles"
	case r.Do == finding.Migrate:
		return r.Text + " with trainweld migrate"
	default:
		return r.Text
	}
}
