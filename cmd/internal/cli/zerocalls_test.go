package cli

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/cmd/golden"
	"github.com/trainweld/trainweld/cmd/internal/trainingjob"
	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/admission/vap"
	"github.com/trainweld/trainweld/render/blame"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/compose"
	"github.com/trainweld/trainweld/render/diff"
	"github.com/trainweld/trainweld/render/explain"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/render/policy"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/render/trainjob"
	"github.com/trainweld/trainweld/schema"
)

// exported returns the packages of the library. Each has its exported functions, and a pointer to each exported type with
// methods.
func exported() []exportedPackage {
	return []exportedPackage{
		{folder: "render/check", all: []any{check.EnvFields, check.IgnoredMetadata, check.Patches}},
		{folder: "conflict", all: []any{
			conflict.Find, conflict.Force[corev1.Pod, corev1.Pod], conflict.ManagersOf[corev1.Pod], conflict.OrderConflicts[corev1.Pod, corev1.Pod], conflict.Orders[corev1.Pod],
			new(conflict.Conflict), new(conflict.Conflicts), new(conflict.Decision), new(conflict.OrderConflict), new(conflict.Kind),
		}},
		{folder: "render/compose", all: []any{compose.Find, compose.IsRule, compose.Kinds, compose.Union, new(compose.Composition), new(compose.Kind), new(compose.Rule), new(compose.Rules)}},
		{folder: "render/codes", all: []any{
			codes.AssumesRuntime, codes.Codes, codes.Distinct, codes.IsDispute, codes.JoinBuilds, codes.KeyOf, codes.Of,
			new(codes.Set),
		}},
		{folder: "render/nearest", all: []any{nearest.Any, nearest.Within, nearest.IsClear, nearest.NewNames, nearest.To, new(nearest.Names)}},
		{folder: "merge", all: []any{
			merge.For[corev1.Pod, corev1.Pod], merge.ForObject, merge.ForJSON, merge.ForType, merge.ForAny, merge.FieldsV1Paths, merge.Manager, merge.ParseJSONPatch, merge.SameValue,
			new(merge.Plan[corev1.Pod, corev1.Pod]), new(merge.Ownership), new(merge.PatchError), new(merge.OptionError), new(merge.PatchedField), new(merge.FieldsV1Error),
			new(merge.Layer), new(merge.Presence),
		}},
		{folder: "fieldpath", all: []any{
			fieldpath.Element, fieldpath.ElementOf, fieldpath.Field, fieldpath.Fields, fieldpath.Index, fieldpath.Item, fieldpath.ItemBy, fieldpath.Key, fieldpath.NewPatterns, fieldpath.ParsePath,
			new(fieldpath.Object), new(fieldpath.Path), new(fieldpath.Patterns), new(fieldpath.Position), new(fieldpath.Step),
		}},
		{folder: "finding", all: []any{
			finding.FormatValue, finding.HideSecrets, finding.IsSecret, finding.ZeroNulls,
			new(finding.Finding), new(finding.List), new(finding.Order), new(finding.Severity),
		}},
		{folder: "render/legacy", all: []any{
			legacy.Fields, legacy.Layer,
			new(legacy.Overrides), new(legacy.TrainJob),
		}},
		{folder: "cmd/internal/trainingjob", all: []any{
			trainingjob.Convert, trainingjob.Kinds, trainingjob.New,
			new(trainingjob.Result),
		}},
		{folder: "render/manifest", all: []any{
			manifest.ApplyEdits, manifest.Decode, manifest.DecodeAs, manifest.DecodeExpanded, manifest.DecodeKinds, manifest.DecodePatches, manifest.Encode,
			manifest.Files, manifest.HasAliases, manifest.IsBounded, manifest.Lines, manifest.Match, manifest.MayHoldRuntime, manifest.NewAPI, manifest.ParseFormat, manifest.Quotes, manifest.Read, manifest.Rewrite,
			manifest.Snapshot, manifest.Tolerate,
			new(manifest.API), new(manifest.Document), new(manifest.Encoder), new(manifest.Format),
		}},
		{folder: "render/runtimepatch", all: []any{
			runtimepatch.Apply, runtimepatch.Expansions, runtimepatch.Force, runtimepatch.JobSetTemplate, runtimepatch.ManagedFields, runtimepatch.OrderConflicts, runtimepatch.Warnings, runtimepatch.SequenceWarnings,
			runtimepatch.Compose, runtimepatch.Minimal, runtimepatch.Remove, runtimepatch.Upsert, runtimepatch.MinimalIn[[]byte], runtimepatch.RemoveIn[[]byte], runtimepatch.UpsertIn[[]byte],
			runtimepatch.FormatClaim, runtimepatch.FromRuntime, runtimepatch.InTemplate, runtimepatch.IsSecretOf, runtimepatch.OverrideLayer, runtimepatch.OverrideOf, runtimepatch.PatchPath, runtimepatch.PolicyLayer, runtimepatch.SchedulerLayer,
			new(runtimepatch.PatchError),
		}},
		{folder: "render/policy", all: []any{policy.AdmissionBinding, policy.AdmissionPolicy, policy.IsManifest, policy.IsOfUsers, policy.Overlaps, policy.Parse, policy.ParseSelector, new(policy.Patch), new(policy.Policy)}},
		{folder: "render/release", all: []any{
			release.Known, release.Kueue, release.Later, release.Latest, release.Parse, release.PodGroup, release.Span, release.Switches,
			new(release.Definitions), new(release.Field), new(release.Release), new(release.Rules), new(release.Switch),
		}},
		{folder: "render", all: []any{
			render.Compose, render.Conflicts, render.DefaultJobSet, render.DefaultJobSetOf, render.DefaultPatches,
			render.DefaultRuntime, render.DefaultTrainJob, render.EphemeralClaims, render.JobSet, render.Jobs, render.Merge,
			render.Migrate, render.ObjectOf, render.OrderConflicts, render.OwnersOfChildren, render.ParseFeatureGates, render.ParseIndexRange, render.Pods, render.PodSets, render.Admit, render.Assign, render.Requests, render.Totals, render.CountPods, render.HasEphemeralVolumes, render.Applicable,
			render.PodRanges, render.SystemPriority, render.TooManyPods,
			render.RuntimeOf,
			new(render.ChildOwners), new(render.Merging), new(render.Runtimes), new(render.Workload),
		}},
		{folder: "render/admission", all: []any{
			admission.AdmitJobSet, admission.AdmitRuntime, admission.Check, admission.CheckAlone, admission.Encode, admission.Kinds, admission.SecondWrite, admission.Stamp, admission.Stricter, admission.StricterCodes,
			admission.Update, admission.UpdateJobSet, admission.UpdateObserved, admission.UpdateRuntime, admission.StoredRuntime,
			new(admission.Kind), new(admission.Observed), new(admission.Runtime),
		}},
		{folder: "render/blame", all: []any{
			blame.JobType, blame.New, blame.PodType,
			new(blame.Field), new(blame.Object), new(blame.UnknownField), new(blame.UnsetField),
		}},
		{folder: "render/diff", all: []any{
			diff.Compare, diff.Lines, diff.Mask, diff.OwnedBy, diff.OwnersOf, diff.OwnersOfFields,
			new(diff.Changes), new(diff.Kind), new(diff.Owners),
		}},
		{folder: "render/admission/vap", all: []any{vap.Compile, new(vap.Expressions)}},
		{folder: "render/explain", all: []any{explain.Field, explain.Format, explain.Mutable, explain.Paths}},
		{folder: "cmd/golden", except: map[string]string{"Run": "it is given the running test"}, all: []any{
			golden.Find, golden.Run, golden.Settings, golden.Update, golden.UpdateFlag, golden.Walk,
			new(golden.Case), new(golden.Change), new(golden.Line), new(golden.Result),
		}},
		{folder: "render/mlpolicy", all: []any{
			mlpolicy.Acting, mlpolicy.Companions, mlpolicy.Computed, mlpolicy.Copied, mlpolicy.Enforce, mlpolicy.Env, mlpolicy.GPUs, mlpolicy.NewJob, mlpolicy.NodeResources,
			mlpolicy.Schedule, mlpolicy.TorchTuneLoRA, mlpolicy.TorchTuneModel,
			new(mlpolicy.Job), new(mlpolicy.Place), new(mlpolicy.PodSet),
		}},
		{folder: "schema", all: []any{
			schema.Compile, schema.FieldNames, schema.Open, schema.ParseOpenAPI, schema.PodRules, schema.TypeOf,
			new(schema.Defaults), new(schema.Kind), new(schema.Slot), new(schema.Type), new(schema.Union),
		}},
		{folder: "render/trainjob", all: []any{trainjob.KnownSources, trainjob.New, trainjob.RuntimeKinds}},
	}
}

type exportedPackage struct {
	folder string
	except map[string]string // functions that are not called, with the reason
	all    []any
}

// shared are packages whose callers are in this repository.
var shared = []string{
	"fieldpath/printable", "merge/jsonfields", "merge/quantity", "merge/tree", "schema/walk",
	"render/admission/serverside", "render/casefile", "render/fuzz", "render/release/definition",
}

// TestZeroCalls calls every exported function of the library with nil, zero and empty arguments.
func TestZeroCalls(t *testing.T) {
	var folders []string
	for _, pkg := range exported() {
		folders = append(folders, pkg.folder)
		t.Run(pkg.folder, func(t *testing.T) {
			t.Chdir("../../../" + pkg.folder)
			zeroCalls(t, pkg.except, pkg.all...)
		})
	}
	for name := range packages(t) {
		root, _, _ := strings.Cut(name, "/")
		// No program can call the packages below a folder called internal, and nobody calls packages of tests. Only this repository
		// calls the packages that its modules share.
		private := slices.Contains([]string{"cmd", "docs", "internal"}, root) || strings.Contains("/"+name, "/internal/") || slices.Contains(shared, name)
		if !private && name != "render/release/generate" && !slices.Contains(folders, name) {
			t.Errorf("%s is not among the packages of this test", name)
		}
	}
}
