package explain

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/explain"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/render/release"
)

// SwitchesOf returns the switches between releases that decide about a code.
func SwitchesOf(code finding.Code) []string {
	return map[finding.Code][]string{
		codes.OldAPI:            {"overrides"},
		codes.TwoAPIs:           {"overrides"},
		codes.UnknownJob:        {string(release.PatchedJobsExist), "merge-root"},
		codes.ManagedByOther:    {"managed-by"},
		codes.GPUsUnseen:        {"nproc"},
		codes.SecondTrainer:     {"second-trainer"},
		codes.Hostfile:          {"endpoints"},
		codes.GangCount:         {"gang-requests"},
		codes.RuntimeReplicas:   {string(release.RuntimeLauncher)},
		codes.RuntimeContainer:  {string(release.RuntimeContainers)},
		codes.NoInitializer:     {string(release.InitializerMount)},
		codes.ReservedEnv:       {string(release.TorchAlways), string(release.MPIEnv), string(release.MPIPrteEnv)},
		codes.TorchTune:         {"torchtune", string(release.TorchTuneNodes), string(release.TorchTuneQLoRA), string(release.TorchTuneOneNode), string(release.TorchTuneArgs)},
		codes.Flux:              {"flux", string(release.FluxProcesses), string(release.FluxUnchecked)},
		codes.Deprecated:        {string(release.RuntimeDeprecated), string(release.RuntimesDeprecated)},
		codes.LongJobName:       {string(release.ShortJobNames)},
		codes.ClaimsDropped:     {"claims-kept"},
		codes.ClaimUncounted:    {"claims-counted", "claims-torch", "claims-torchtune", "claims-mpi", "claims-xgboost", "claims-flux"},
		codes.ClaimGate:         {"claims-gate", "claims-per-node"},
		codes.NoPodClaim:        {string(release.ClaimsExist)},
		codes.JobSetDependsOn:   {string(release.JobSetDependency)},
		codes.JobSetCoordinator: {string(release.JobSetCoordinator)},
		codes.PatchedRunning:    {string(release.PatchedOnResume)},
		codes.UpdateIgnored:     {"runtime-read", string(release.SnapshotUpdates)},
	}[code]
}

// changesOf returns the changes of releases that decide about a code, the oldest first.
func changesOf(code finding.Code) []release.Change {
	var changes []release.Change
	ids := SwitchesOf(code)
	for _, s := range release.Switches() {
		if slices.Contains(ids, s.ID) {
			for _, change := range s.Changes {
				change.Why = release.Marked(change.Why, change.In, s.ID)
				changes = append(changes, change)
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b release.Change) int { return strings.Compare(a.In, b.In) })
	return changes
}

// DefinitionsReport is the report on a path from the root of an object.
type DefinitionsReport struct {
	Definitions []definedField `json:"definitions" doc:"The fields at the path, one for each kind of object that has it."`
}

// definedField is a field of a TrainJob or a runtime, and the releases that have it.
type definedField struct {
	Object string        `json:"object" doc:"The kind of the object."`
	Path   string        `json:"path"`
	Kinds  []definedKind `json:"kinds" doc:"The types of the field, with the releases of the Trainer."`
	Fields []string      `json:"fields,omitempty" doc:"The names of the fields below it, in the latest release that has it."`
}

// definedKind is the kind of a field in consecutive releases.
type definedKind struct {
	Kind     string   `json:"kind"`
	Releases []string `json:"releases"`

	in []release.Release
}

// define returns the fields at a path from the root of a TrainJob or of a runtime.
func define(path string) []definedField {
	var names []string
	for _, step := range strings.Split(strings.TrimPrefix(path, "."), ".") {
		name, _, _ := strings.Cut(step, "[")
		names = append(names, name)
	}
	var known release.Definitions
	var found []definedField
	for _, kind := range []string{trainer.TrainJobKind, "ClusterTrainingRuntime"} {
		defined := definedField{Object: kind, Path: "." + strings.Join(names, ".")}
		for _, r := range known.Having(kind, names...) {
			root, err := known.Fields(&r, kind)
			if err != nil {
				continue // Having has read it
			}
			f := root.Find(names...)
			if n := len(defined.Kinds); n == 0 || defined.Kinds[n-1].Kind != typeOf(f) {
				defined.Kinds = append(defined.Kinds, definedKind{Kind: typeOf(f)})
			}
			last := &defined.Kinds[len(defined.Kinds)-1]
			last.Releases, last.in = append(last.Releases, r.Name), append(last.in, r)
			for f.Items != nil {
				f = f.Items
			}
			defined.Fields = slices.Sorted(maps.Keys(f.Fields))
		}
		if defined.Kinds != nil {
			found = append(found, defined)
		}
	}
	return found
}

// parentOf returns the field of a TrainJob or of a runtime that has a field of this name, or "".
func parentOf(name string) string {
	for _, parent := range []string{"spec", "spec.trainer", "spec.initializer", "spec.mlPolicy", "spec.podGroupPolicy"} {
		if define(parent+"."+name) != nil {
			return parent
		}
	}
	return ""
}

// misnamed returns an error for a path that begins with a field of a TrainJob or of a runtime and leads to none. It returns nil for a
// path that leaves spec at once: that is one of a JobSet.
func misnamed(path string) error {
	steps := strings.Split(strings.TrimPrefix(path, "."), ".")
	for n := len(steps) - 1; n > 1; n-- {
		defined := define(strings.Join(steps[:n], "."))
		if defined == nil {
			continue
		}
		at, fields := defined[0], defined[0].Fields
		if near := nearest.To(steps[n], fields); near != "" {
			return fmt.Errorf("%s %s has no field %s; did you mean %s.%s?", at.Object, at.Path, steps[n], strings.TrimPrefix(at.Path, "."), near)
		}
		if fields == nil {
			return fmt.Errorf("%s %s has no fields", at.Object, at.Path)
		}
		return fmt.Errorf("%s %s has no field %s; its fields are %s", at.Object, at.Path, steps[n], strings.Join(fields, ", "))
	}
	return nil
}

// typeOf returns the type of a field in words.
func typeOf(f *release.Field) string {
	switch {
	case f.IntOrString:
		return "integer or string"
	case f.Items != nil:
		return "list of " + typeOf(f.Items)
	case f.Values != nil:
		return "map of " + typeOf(f.Values)
	default:
		return f.Type
	}
}

func writeDefined(w io.Writer, fields []definedField) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, f := range fields {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s %s\n\n", f.Object, f.Path)
		for _, k := range f.Kinds {
			known := ""
			if k.in[0].Unread() {
				part, _ := release.Switches()[0].Part(k.in[0].Name, append([]string{strings.TrimPrefix(f.Object, "Cluster")}, strings.Split(f.Path[1:], ".")...)...)
				known = " (" + release.MarkOf(k.in[0].Name, part.ID).Text() + ")"
			}
			fmt.Fprintf(out, "  kind\t%s in %s%s\n", k.Kind, release.Span(k.in), known)
		}
		if len(f.Fields) > 0 {
			fmt.Fprintf(out, "  fields\t%s\n", strings.Join(f.Fields, ", "))
		}
	}
	return out.Flush()
}

func writeDefinedJSON(w io.Writer, fields []definedField) error {
	return report.EncodeReport(w, DefinitionsReport{fields})
}

// sinceOf returns the releases with a field of the JobSet, or "" if all have it.
func sinceOf(rule explain.Rule) string {
	var names []string
	for _, step := range rule.Path {
		if name, ok := step.Field(); ok {
			names = append(names, name)
		} else if _, _, ok := step.Item(); !ok {
			return "" // within a map
		}
	}
	var known release.Definitions
	having := known.Having("JobSet", names...)
	if len(having) == len(release.Known()) || len(rule.Path) > 0 && rule.Path[0] == fieldpath.Field("metadata") {
		return ""
	}
	return release.Span(having)
}
