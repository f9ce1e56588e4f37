package fn

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/resourcelist"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// fnOptions are the options of a function.
type fnOptions struct {
	option.Render
	mode    string   // replace the TrainJobs, or add their JobSets next to them
	patches string   // the text of inline patches, in addition to files
	at      string   // the path of the options in the functionConfig, before their names
	former  []misuse // options that the next release does not read
}

const addMode = "add"

// renderKind is the kind of a functionConfig with the options of a rendering.
const renderKind = "RenderTrainJobs"

// fnOption is an option of the functionConfig, with the flag that has the same meaning.
type fnOption struct{ name, flag string }

// fnOptionList returns the options in the order of the help.
func fnOptionList() []fnOption {
	return []fnOption{{"to", "to"}, {"as", "as"}, {"for", "for"}, {"onConflict", "on-conflict"},
		{"forceManagers", "force-manager"}, {"mode", "mode"}, {"trainerVersion", "trainer-version"},
		{"kubernetesVersion", "kubernetes-version"}, {"featureGates", "feature-gates"},
		{"namespace", "namespace"}, {"patches", "patches"}, {"files", "files"},
		{"runtimeFiles", "runtime-files"}, {"patchFiles", "patch-files"}, {"policy", "policy"},
		{"recursive", "recursive"}, {"strict", "strict"}, {"all", "all"}}
}

// command returns a command that has the options as flags: those of render, and a function's own.
func (o *fnOptions) command() *cobra.Command {
	cmd := &cobra.Command{}
	f := cmd.Flags()
	o.Global.Inputs(&o.Flags)
	o.Global.Add(cmd)
	o.AddResult(nil, cmd, "jobset", "jobs", "pods")
	option.AddWord(cmd, &o.For, "for", []string{option.ForReview, option.ForApply}, "")
	option.AddWord(cmd, &o.mode, "mode", []string{"replace", addMode}, "")
	option.AddPolicy(f, &o.Flags)
	option.AddRecursive(f, &o.Flags)
	f.BoolVar(&o.Strict, "strict", false, "")
	f.StringVar(&o.patches, "patches", "", "")
	f.Var((*option.Repeated)(&o.Files), "files", "")
	f.Var((*option.Repeated)(&o.Runtimes), "runtime-files", "")
	f.Var((*option.Repeated)(&o.Flags.Patches), "patch-files", "")
	return cmd
}

// set sets an option. One that may have several values has one a line.
func (of fnOption) set(cmd *cobra.Command, text string) error {
	if cmd.Flag(of.flag).Value.Type() != (*option.Repeated)(nil).Type() {
		return option.Set(cmd, of.flag, text)
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			if err := option.Set(cmd, of.flag, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// misuse is an error in a field of the functionConfig.
type misuse struct{ path, message string }

func (m misuse) Error() string { return fmt.Sprintf("functionConfig: %s: %s", m.path, m.message) }

// parseFnOptions parses the functionConfig, which may be nil. It returns all errors in it.
func parseFnOptions(config *resourcelist.Item) (*fnOptions, []misuse) {
	o := &fnOptions{Render: option.Render{Global: &option.Global{}}, at: "."}
	cmd := o.command()
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
		if err := options[i].set(cmd, value); err != nil {
			wrong = append(wrong, misuse{o.at + key, err.Error()})
		}
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
	if o.For == option.ForApply && (o.mode == addMode || o.To != "jobset") {
		wrong = append(
			wrong, misuse{
				o.at + "for", "apply renders JobSets in place of their TrainJobs: remove mode and to"})
	}
	if o.mode == addMode && o.To == "pods" && o.As == "stored" {
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
	case codes.AssumesRuntime(f):
		return "set stock: true in trainweld.yaml"
	case f.Code == codes.NoRuntime && r.Do != finding.Edit:
		return r.Text + " as an item or in runtimeFiles"
	case r.Do == finding.Provide && f.Code == codes.NotAnObject:
		return "add it to patchFiles"
	case r.Do == finding.Migrate:
		return r.Text + " with trainweld migrate"
	default:
		return r.Text
	}
}

// gone returns the warning on a field that the next release does not read.
func gone(path, name, instead string) misuse {
	return misuse{path, name + " is gone with the next release: " + instead}
}

// takeFormer moves the fields of the last release to those of today, and returns a warning for
// each.
func (o *mergeOptions) takeFormer() (used []misuse) {
	take := func(isSet bool, field, word, instead string) {
		if !isSet {
			return
		}
		if used = append(used, gone("."+field, field, "use "+instead)); word != "" {
			o.Option = append(o.Option, word)
		}
	}
	unions, defaults, order := "unions="+string(o.Unions), "defaults", "keep-order"
	if o.Defaults != "rules" {
		defaults += "=" + string(o.Defaults) // is rejected
	}
	if o.Order != "base" {
		order += "=" + string(o.Order)
	}
	take(o.Defaults != "", "defaults", defaults, "option: [defaults]")
	take(o.Managers != nil, "managers", "", "forceManagers")
	take(o.Order != "", "order", order, "option: [keep-order]")
	take(o.Precedence != "", "precedence", "", "onConflict: "+string(o.Precedence))
	take(o.ProtectedError, "protectedError", "protect-error", "option: [protect-error]")
	take(o.Unions != "", "unions", unions, "option: ["+unions+"]")
	if o.Empty != "" {
		used = append(used, gone(".empty", "empty", "leave empty strings out of the patches"))
	}
	if o.Precedence != "" {
		o.OnConflict = string(o.Precedence)
	}
	o.ForceManagers = append(o.ForceManagers, o.Managers...)
	return used
}

// warn reports fields that the next release does not read.
func warn(w io.Writer, list *resourcelist.List, former []misuse) {
	for _, m := range former {
		fmt.Fprintf(w, "trainweld: warning: %s\n", report.Printable(m.Error()))
		r := misuseResult(list.Config, m)
		r.Severity = finding.Warning.String()
		list.Results = append(list.Results, r)
	}
}
