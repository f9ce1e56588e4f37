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
		codes.OldAPI:           {"overrides"},
		codes.TwoAPIs:          {"overrides"},
		codes.UnknownJob:       {string(release.PatchedJobsExist), "merge-root"},
		codes.ManagedByOther:   {"managed-by"},
		codes.GPUsUnseen:       {"nproc"},
		codes.SecondTrainer:    {"second-trainer"},
		codes.Hostfile:         {"endpoints"},
		codes.GangCount:        {"gang-requests"},
		codes.RuntimeReplicas:  {string(release.RuntimeLauncher)},
		codes.RuntimeContainer: {string(release.RuntimeContainers)},
		codes.NoInitializer:    {string(release.InitializerMount)},
		codes.ReservedEnv: {string(release.TorchAlways), string(release.MPIEnv),
			string(release.MPIPrteEnv)},
		codes.TorchTune: {"torchtune", string(release.TorchTuneNodes),
			string(release.TorchTuneQLoRA), string(release.TorchTuneOneNode),
			string(release.TorchTuneArgs)},
		codes.Flux: {"flux", string(release.FluxProcesses),
			string(release.FluxUnchecked)},
		codes.Deprecated: {string(release.RuntimeDeprecated),
			string(release.RuntimesDeprecated)},
		codes.LongJobName:   {string(release.ShortJobNames)},
		codes.ClaimsDropped: {"claims-kept"},
		codes.ClaimUncounted: {"claims-counted", "claims-torch", "claims-torchtune",
			"claims-mpi", "claims-xgboost", "claims-flux"},
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
	slices.SortStableFunc(changes, func(a, b release.Change) int {
		return strings.Compare(a.In, b.In)
	})
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

	names []string
}

// definedKind is the kind of a field in consecutive releases.
type definedKind struct {
	Kind     string   `json:"kind"`
	Releases []string `json:"releases"`

	in []release.Release
}

// define returns the fields at a path from the root of a TrainJob or of a runtime.
func define(path fieldpath.Path) []definedField {
	names := namesOf(path)
	if len(names) == 0 {
		return nil
	}
	var known release.Definitions
	var found []definedField
	for _, kind := range []string{trainer.TrainJobKind, "ClusterTrainingRuntime"} {
		defined := definedField{Object: kind, names: names}
		for _, r := range known.Having(kind, names...) {
			root, err := known.Fields(&r, kind)
			if err != nil {
				continue // Having has read it
			}
			f, at := find(root, path)
			if f == nil {
				continue
			}
			defined.Path = at.String()
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

// namesOf returns the names of the fields on a path.
func namesOf(path fieldpath.Path) (names []string) {
	for _, step := range path {
		if name, ok := step.Field(); ok {
			names = append(names, name)
		}
	}
	return names
}

// find returns the field at a path, and the path with [*] for each list. It returns nil for no
// field.
func find(f *release.Field, path fieldpath.Path) (found *release.Field, at fieldpath.Path) {
	for _, step := range path {
		name, isField := step.Field()
		if isField && f.Items != nil {
			f, at = f.Items, at.Append(fieldpath.Any())
		}
		switch {
		case isField && f.Fields[name] != nil:
			f, at = f.Fields[name], at.Append(step)
		case isField && f.Values != nil:
			f, at = f.Values, at.Append(fieldpath.Key(name))
		case !isField && f.Items != nil:
			f, at = f.Items, at.Append(fieldpath.Any())
		case !isField && f.Values != nil:
			f, at = f.Values, at.Append(step)
		default:
			return nil, nil
		}
	}
	return f, at
}

// parentOf returns the field of a TrainJob or of a runtime that has this one, or nil.
func parentOf(path fieldpath.Path) fieldpath.Path {
	for _, parent := range []string{"", "trainer", "initializer", "mlPolicy", "podGroupPolicy"} {
		within := fieldpath.Fields("spec", parent)[:1+min(1, len(parent))]
		if define(within.Append(path...)) != nil {
			return within
		}
	}
	return nil
}

// misnamed returns an error for a path that begins with a field of a TrainJob or of a runtime and
// leads to none. It returns nil for a path that leaves spec at once: that is one of a JobSet.
func misnamed(path fieldpath.Path) error {
	for n := len(path) - 1; n > 1; n-- {
		defined := define(path[:n])
		if defined == nil {
			continue
		}
		at, fields := defined[0], defined[0].Fields
		name, _ := path[n].Name()
		if near := nearest.To(name, fields); near != "" {
			return fmt.Errorf("%s %s has no field %s: use %s", at.Object, at.Path, name,
				path[:n].Append(fieldpath.Field(near)))
		}
		if fields == nil {
			return fmt.Errorf("%s %s has no fields", at.Object, at.Path)
		}
		return fmt.Errorf("%s %s has no field %s; its fields are %s", at.Object, at.Path, name,
			strings.Join(fields, ", "))
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
				part, _ := release.Switches()[0].Part(k.in[0].Name,
					append([]string{strings.TrimPrefix(f.Object, "Cluster")}, f.names...)...)
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
	for _, step := range rule.Path {
		if _, isField := step.Field(); !isField && step.Keys() == nil && step != fieldpath.Any() {
			return "" // within a map or a set
		}
	}
	names := namesOf(rule.Path)
	var known release.Definitions
	having := known.Having("JobSet", names...)
	if len(having) == len(release.Known()) ||
		len(rule.Path) > 0 && rule.Path[0] == fieldpath.Field("metadata") {
		return ""
	}
	return release.Span(having)
}
