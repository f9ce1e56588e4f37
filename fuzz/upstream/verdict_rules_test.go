package upstream_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// rejections are the rules by which the cluster's admission rejects. Each has a pattern of the
// message, and the codes that stand for it here. The API server's rejections by the definitions
// come first, then the webhooks'. The list omits two rules of the webhooks, since nothing breaks
// them. One is about patches for jobs and containers that the runtime lacks. Upstream looks for
// them after adding them. The other is volcano's rule about PriorityClasses, all of which exist.
var rejections = []rejection{
	{"unknown fields", regexp.MustCompile(`(?m)^unknown fields `),
		[]finding.Code{codes.UnknownField}},
	{"wrong types",
		regexp.MustCompile(
			`must be of type |cannot unmarshal|Checked value must be of type|parsing time|unable to parse`), []finding.Code{codes.WrongType}},
	{"required fields", regexp.MustCompile(`: Required value`),
		[]finding.Code{codes.MissingField, codes.WrongType, codes.BadMetadata, codes.BadManager}},
	{"enumerations", regexp.MustCompile(`: Unsupported value: `), []finding.Code{codes.BadValue}},
	{"limits", regexp.MustCompile(
		`: Too (long|many): |should be (at least|greater than|less than)`),
		[]finding.Code{codes.BadValue, codes.BadMetadata, codes.BadManager}},
	{"patterns", regexp.MustCompile(`should match '`), []finding.Code{codes.BadValue}},
	{"keys of lists", regexp.MustCompile(`: Duplicate value: `),
		[]finding.Code{codes.DuplicateItem, codes.DuplicateManager}},
	{"managers twice", regexp.MustCompile(`runtimePatches\[\d+\]: Duplicate value: `),
		[]finding.Code{codes.DuplicateManager}},
	{"names' form", regexp.MustCompile(`metadata\.name must match RFC 1035`),
		[]finding.Code{codes.BrokenRule}},
	{"names' length", regexp.MustCompile(`metadata\.name must be no more than 63`),
		[]finding.Code{codes.BrokenRule}},
	{"names of any object", regexp.MustCompile(`(?m)^metadata\.name: Invalid value: .*RFC 1123`),
		[]finding.Code{codes.BadMetadata, codes.BrokenRule}},
	{"labels", regexp.MustCompile(`(?m)^metadata\.(labels|annotations): Invalid value`),
		[]finding.Code{codes.BadMetadata}},
	{"managedBy", regexp.MustCompile(`ManagedBy must be`), []finding.Code{codes.BrokenRule}},
	{"storageUri", regexp.MustCompile(`storageUri may be empty`), []finding.Code{codes.BrokenRule}},
	{"one policy", regexp.MustCompile(`Only one of the policy`), []finding.Code{codes.BrokenRule}},
	{"a runtime's flux processes", regexp.MustCompile(`NumProcPerNode in fluxPolicy`),
		[]finding.Code{codes.BrokenRule}},
	{"targets of variables", regexp.MustCompile(`must not include the main node container`),
		[]finding.Code{codes.BrokenRule}},
	{"JobSet's order",
		regexp.MustCompile(`StartupPolicy and DependsOn APIs are mutually exclusive`),
		[]finding.Code{codes.BrokenRule}},
	{"claims' namespaces", regexp.MustCompile(`namespace cannot be set for VolumeClaimPolicies`),
		[]finding.Code{codes.BrokenRule}},
	{"unchangeable fields of runtimes", regexp.MustCompile(`Value is immutable`),
		[]finding.Code{codes.Immutable}},
	{"unchangeable fields", regexp.MustCompile(`field is immutable`),
		[]finding.Code{codes.Immutable, codes.BadMetadata, codes.UnknownOldObject}},
	{"the runtime's kind", regexp.MustCompile(`unsupported runtime: \S`),
		[]finding.Code{codes.UnknownRuntime}},
	{"no runtime's kind", regexp.MustCompile(`(?m)unsupported runtime: $`),
		[]finding.Code{codes.UnknownRuntime, codes.MissingField}},
	{"the runtime", regexp.MustCompile(`must be created before the TrainJob`),
		[]finding.Code{codes.NoRuntime, codes.RuntimeRejected}},
	{"merges", regexp.MustCompile(`panic: `), []finding.Code{codes.NoMerge}},
	{"the dataset's job", regexp.MustCompile(`must have dataset-initializer job when`),
		[]finding.Code{codes.NoInitializer}},
	{"the dataset's container",
		regexp.MustCompile(`must have container with name - dataset-initializer in`),
		[]finding.Code{codes.NoInitializer}},
	{"the dataset's volume",
		regexp.MustCompile(`must have volumeMount with name - initializer in container dataset-`),
		[]finding.Code{codes.NoInitializer}},
	{"the model's job", regexp.MustCompile(`must have model-initializer job when`),
		[]finding.Code{codes.NoInitializer}},
	{"the model's container",
		regexp.MustCompile(`must have container with name - model-initializer in`),
		[]finding.Code{codes.NoInitializer}},
	{"the model's volume",
		regexp.MustCompile(`must have volumeMount with name - initializer in container model-`),
		[]finding.Code{codes.NoInitializer}},
	{"managers", regexp.MustCompile(`spec\.runtimePatches.*manager: Invalid value`),
		[]finding.Code{codes.BadManager, codes.BadValue}},
	{"variables of main containers", regexp.MustCompile(`must not have envs for the`),
		[]finding.Code{codes.EnvOnMain}},
	{"patches of running jobs",
		regexp.MustCompile(`can only be modified when the TrainJob is suspended`),
		[]finding.Code{codes.PatchedRunning}},
	{"flux's processes", regexp.MustCompile(`must be greater than or equal to 1 for Flux`),
		[]finding.Code{codes.Flux}},
	{"flux's installer", regexp.MustCompile(`'flux-installer' is reserved`),
		[]finding.Code{codes.Flux}},
	{"xgboost's variables", regexp.MustCompile(`DMLC_\w+ is reserved|reserved.*DMLC_`),
		[]finding.Code{codes.ReservedEnv}},
	{"mpi's variables",
		regexp.MustCompile(`must not have reserved envs, invalid envs configured: \[OMPI_`),
		[]finding.Code{codes.ReservedEnv}},
	{"torch's variables",
		regexp.MustCompile(`must not have reserved envs, invalid envs configured: \[PET_`),
		[]finding.Code{codes.ReservedEnv}},
	{"mpi's launcher", regexp.MustCompile(`does not have either launcher and node`),
		[]finding.Code{codes.NoLauncher}},
	{"injected variables", regexp.MustCompile(`envInjection target `),
		[]finding.Code{codes.EnvInjection}},
	{"torchtune's models", regexp.MustCompile(`must have a supported pretrained model`),
		[]finding.Code{codes.TorchTune}},
	{"torchtune's nodes", regexp.MustCompile(`must be 1 for \S+ model`),
		[]finding.Code{codes.TorchTune}},
	{"torchtune's QLoRA", regexp.MustCompile(`QLoRA is not supported for`),
		[]finding.Code{codes.TorchTune}},
	{"torchtune's devices", regexp.MustCompile(`model when using QLoRA`),
		[]finding.Code{codes.TorchTune}},
	{"torchtune's LoRA", regexp.MustCompile(`LoRA fine-tuning is not supported for multi-node`),
		[]finding.Code{codes.TorchTune}},
	{"torchtune's arguments", regexp.MustCompile(`must not set immutable config`),
		[]finding.Code{codes.TorchTune}},
	{"volcano's queue",
		regexp.MustCompile(`spec\.annotations\[scheduling\.volcano\.sh/queue-name\]`),
		[]finding.Code{codes.NoQueue}},
	{"runtimes' replicas", regexp.MustCompile(`always must be 1`),
		[]finding.Code{codes.RuntimeReplicas}},
	{"runtimes' containers",
		regexp.MustCompile(`must contain the required container for the ancestor`),
		[]finding.Code{codes.RuntimeContainer}},
}

// rejection is a rule of the cluster's admission.
type rejection struct {
	rule  string
	says  *regexp.Regexp
	codes []finding.Code
}

// coverage counts for each rule the objects that both upstream and this project reject by it.
type coverage struct{ seen map[string]int }

// count records the rejections of both sides. It returns the rules by which upstream rejects the
// object without a finding here.
func (c *coverage) count(rejections []rejection, rejected []string,
	found finding.List) (missing []string) {
	text := strings.Join(rejected, "\n")
	for _, r := range rejections {
		if !r.says.MatchString(text) {
			continue
		}
		if hasCode(found, r.codes) {
			c.seen[r.rule]++
		} else {
			missing = append(missing, r.rule)
		}
	}
	return missing
}

func hasCode(found finding.List, codes []finding.Code) bool {
	for _, f := range found {
		for _, code := range codes {
			if f.Code == code && f.Severity == finding.Error {
				return true
			}
		}
	}
	return false
}

// report logs the table, and in a long run wants every rule to be in it.
func (c *coverage) report(t *testing.T, rejections []rejection, long bool) {
	t.Helper()
	for _, r := range rejections {
		t.Logf("%7d  %-30s %v", c.seen[r.rule], r.rule, r.codes)
		if long && c.seen[r.rule] == 0 {
			t.Errorf("no object of this run breaks the rule about %s: the generator misses it",
				r.rule)
		}
	}
}
