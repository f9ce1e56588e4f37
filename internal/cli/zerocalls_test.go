package cli

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/check"
	"github.com/trainweld/trainweld/compose"
	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/docs"
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/legacy"
	"github.com/trainweld/trainweld/legacy/trainingjob"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/policy"
	"github.com/trainweld/trainweld/release"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/blame"
	"github.com/trainweld/trainweld/render/diff"
	"github.com/trainweld/trainweld/render/explain"
	"github.com/trainweld/trainweld/render/golden"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/schema"
	"github.com/trainweld/trainweld/trainjob"
)

// exported are the packages of the library, each with its exported functions, and a pointer to each exported type that
// has methods.
var exported = []struct {
	folder string
	except map[string]string // functions that are not called, with the reason
	all    []any
}{
	{folder: "check", all: []any{check.EnvFields, check.IgnoredMetadata, check.Patches}},
	{folder: "conflict", all: []any{
		conflict.Find, conflict.Force[corev1.Pod, corev1.Pod], conflict.ManagersOf[corev1.Pod], conflict.OrderConflicts[corev1.Pod, corev1.Pod], conflict.Orders[corev1.Pod],
		new(conflict.Conflict), new(conflict.Conflicts), new(conflict.Decision), new(conflict.OrderConflict), new(conflict.Kind),
	}},
	{folder: "compose", all: []any{compose.Find, compose.IsRule, compose.Kinds, compose.Union, new(compose.Composition), new(compose.Kind), new(compose.Rule), new(compose.Rules)}},
	{folder: "docs", all: []any{docs.Codes, docs.Of, docs.PolicySchema}},
	{folder: "engine", all: []any{
		engine.For[corev1.Pod, corev1.Pod], engine.ForObject, engine.ForJSON, engine.ForType, engine.ForAny, engine.FieldsV1Paths, engine.Manager, engine.SameValue,
		new(engine.Plan[corev1.Pod, corev1.Pod]), new(engine.Ownership), new(engine.PatchError), new(engine.OptionError), new(engine.PatchedField), new(engine.FieldsV1Error),
		new(engine.Layer), new(engine.Presence),
	}},
	{folder: "fieldpath", all: []any{
		fieldpath.Element, fieldpath.ElementOf, fieldpath.Field, fieldpath.Fields, fieldpath.Index, fieldpath.Item, fieldpath.ItemBy, fieldpath.Key, fieldpath.NewPatterns, fieldpath.ParsePath,
		new(fieldpath.Object), new(fieldpath.Path), new(fieldpath.Patterns), new(fieldpath.Position), new(fieldpath.Step),
	}},
	{folder: "finding", all: []any{
		finding.FormatValue, finding.HideSecrets, finding.IsClear, finding.IsSecret, finding.Nearest, finding.AnyNear, finding.NewNames, finding.StricterCodes, finding.ZeroNulls,
		new(finding.Code),
		new(finding.Finding), new(finding.List), new(finding.Names), new(finding.Order), new(finding.Set), new(finding.Severity),
	}},
	{folder: "legacy", all: []any{
		legacy.Fields, legacy.Layer,
		new(legacy.Overrides), new(legacy.TrainJob),
	}},
	{folder: "legacy/trainingjob", all: []any{
		trainingjob.Convert, trainingjob.Kinds, trainingjob.New,
		new(trainingjob.Result),
	}},
	{folder: "manifest", all: []any{
		manifest.ApplyEdits, manifest.Decode, manifest.DecodeAs, manifest.DecodeExpanded, manifest.DecodeKinds, manifest.DecodePatches, manifest.Encode,
		manifest.Files, manifest.HasAliases, manifest.Lines, manifest.Match, manifest.MayHoldRuntime, manifest.NewAPI, manifest.NewTexts, manifest.ParseFormat, manifest.Quotes, manifest.Read,
		manifest.Snapshot, manifest.Tolerate,
		new(manifest.API), new(manifest.Document), new(manifest.Encoder), new(manifest.Format), new(manifest.Texts),
	}},
	{folder: "merge", all: []any{
		merge.Apply, merge.Expansions, merge.Force, merge.JobSetTemplate, merge.ManagedFields, merge.OrderConflicts, merge.Warnings, merge.SequenceWarnings,
		merge.Compose, merge.Minimal, merge.Remove, merge.Upsert, merge.MinimalIn[[]byte], merge.RemoveIn[[]byte], merge.UpsertIn[[]byte],
		merge.FormatClaim, merge.FromRuntime, merge.InTemplate, merge.IsSecretOf, merge.OverrideLayer, merge.OverrideOf, merge.PatchPath, merge.PolicyLayer, merge.SchedulerLayer,
		new(merge.PatchError),
	}},
	{folder: "policy", all: []any{policy.IsManifest, policy.Parse, new(policy.Patch), new(policy.Policy)}},
	{folder: "release", all: []any{
		release.Known, release.Latest, release.Parse, release.PodGroup, release.Span, release.Switches,
		new(release.Definitions), new(release.Field), new(release.Release), new(release.Rules), new(release.Switch),
	}},
	{folder: "render", all: []any{
		render.Compose, render.Conflicts, render.DefaultJobSet, render.DefaultJobSetOf, render.DefaultPatches,
		render.DefaultRuntime, render.DefaultTrainJob, render.EphemeralClaims, render.JobSet, render.Jobs, render.Merge,
		render.Migrate, render.ObjectOf, render.OrderConflicts, render.OwnersOfChildren, render.ParseFeatureGates, render.ParseIndexRange, render.Pods, render.CountPods, render.HasEphemeralVolumes, render.Applicable,
		render.PodRanges, render.SystemPriority, render.TooManyPods,
		render.RuntimeOf,
		new(render.ChildOwners), new(render.Merging), new(render.Runtimes),
	}},
	{folder: "render/admission", all: []any{
		admission.AdmitJobSet, admission.AdmitRuntime, admission.Check, admission.Encode, admission.Kinds, admission.Stamp, admission.Stricter,
		admission.Update, admission.UpdateJobSet, admission.UpdateRuntime,
		new(admission.Kind), new(admission.Runtime),
	}},
	{folder: "render/blame", all: []any{
		blame.JobType, blame.New, blame.PodType,
		new(blame.Field), new(blame.Object), new(blame.UnknownField), new(blame.UnsetField),
	}},
	{folder: "render/diff", all: []any{
		diff.Compare, diff.Lines, diff.Mask, diff.OwnedBy, diff.OwnersOf, diff.OwnersOfFields,
		new(diff.Changes), new(diff.Kind), new(diff.Owners),
	}},
	{folder: "render/explain", all: []any{explain.Field, explain.Format, explain.Paths}},
	{folder: "render/golden", except: map[string]string{"Run": "it is given the running test"}, all: []any{
		golden.Find, golden.Run, golden.Settings, golden.Update, golden.UpdateFlag, golden.Walk,
		new(golden.Case), new(golden.Change), new(golden.Line), new(golden.Result),
	}},
	{folder: "render/mlpolicy", all: []any{
		mlpolicy.Acting, mlpolicy.Companions, mlpolicy.Computed, mlpolicy.Copied, mlpolicy.Enforce, mlpolicy.Env, mlpolicy.NewJob,
		mlpolicy.Schedule,
		new(mlpolicy.Job), new(mlpolicy.Place), new(mlpolicy.PodSet),
	}},
	{folder: "schema", all: []any{
		schema.Compile, schema.FieldNames, schema.Open, schema.ParseOpenAPI, schema.PodRules, schema.TypeOf,
		new(schema.Kind), new(schema.List), new(schema.Slot), new(schema.Type), new(schema.Union), new(schema.View),
	}},
	{folder: "trainjob", all: []any{trainjob.KnownSources, trainjob.New, trainjob.RuntimeKinds}},
}

// TestZeroCalls calls every exported function of the library with nil, zero and empty arguments.
func TestZeroCalls(t *testing.T) {
	var folders []string
	for _, pkg := range exported {
		folders = append(folders, pkg.folder)
		t.Run(pkg.folder, func(t *testing.T) {
			t.Chdir("../../" + pkg.folder)
			testenv.ZeroCalls(t, pkg.except, pkg.all...)
		})
	}
	for name := range packages(t) {
		root, _, _ := strings.Cut(name, "/")
		// No program can call the packages below a folder called internal, and nobody calls those of the tests.
		private := slices.Contains([]string{"cmd", "conformance", "examples", "fuzz"}, root) || strings.Contains("/"+name, "/internal/")
		if !private && name != "release/generate" && !slices.Contains(folders, name) {
			t.Errorf("%s is not among the packages of this test", name)
		}
	}
}
