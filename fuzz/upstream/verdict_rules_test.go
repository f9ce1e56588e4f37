package upstream_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/schema"
)

// refusals are what the cluster's admission refuses: what its message says, and the codes that stand for it
// here: first what the API server says by the definitions, then the webhooks. Two rules of the webhooks are
// left out, since nothing breaks them: that of patches for jobs and containers which the runtime lacks, which
// upstream looks for when it has added them, and volcano's of PriorityClasses, which are all there.
var refusals = []struct {
	rule  string
	says  *regexp.Regexp
	codes []schema.Code
}{
	{"unknown fields", regexp.MustCompile(`(?m)^unknown fields `), []schema.Code{schema.CodeUnknownField}},
	{"wrong types", regexp.MustCompile(`must be of type |cannot unmarshal|Checked value must be of type|parsing time|unable to parse`), []schema.Code{schema.CodeWrongType}},
	{"required fields", regexp.MustCompile(`: Required value`), []schema.Code{schema.CodeMissingField, schema.CodeWrongType, schema.CodeBadMetadata, schema.CodeBadManager}},
	{"enumerations", regexp.MustCompile(`: Unsupported value: `), []schema.Code{schema.CodeBadValue}},
	{"limits", regexp.MustCompile(`: Too (long|many): |should be (at least|greater than|less than)`), []schema.Code{schema.CodeBadValue, schema.CodeBadMetadata, schema.CodeBadManager}},
	{"patterns", regexp.MustCompile(`should match '`), []schema.Code{schema.CodeBadValue}},
	{"keys of lists", regexp.MustCompile(`: Duplicate value: `), []schema.Code{schema.CodeDuplicateItem, schema.CodeDuplicateManager}},
	{"managers twice", regexp.MustCompile(`runtimePatches\[\d+\]: Duplicate value: `), []schema.Code{schema.CodeDuplicateManager}},
	{"names' form", regexp.MustCompile(`metadata\.name must match RFC 1035`), []schema.Code{schema.CodeBrokenRule}},
	{"names' length", regexp.MustCompile(`metadata\.name must be no more than 63`), []schema.Code{schema.CodeBrokenRule}},
	{"names of any object", regexp.MustCompile(`(?m)^metadata\.name: Invalid value: .*RFC 1123`), []schema.Code{schema.CodeBadMetadata, schema.CodeBrokenRule}},
	{"labels", regexp.MustCompile(`(?m)^metadata\.(labels|annotations): Invalid value`), []schema.Code{schema.CodeBadMetadata}},
	{"managedBy", regexp.MustCompile(`ManagedBy must be`), []schema.Code{schema.CodeBrokenRule}},
	{"storageUri", regexp.MustCompile(`storageUri may be empty`), []schema.Code{schema.CodeBrokenRule}},
	{"one policy", regexp.MustCompile(`Only one of the policy`), []schema.Code{schema.CodeBrokenRule}},
	{"a runtime's flux processes", regexp.MustCompile(`NumProcPerNode in fluxPolicy`), []schema.Code{schema.CodeBrokenRule}},
	{"targets of variables", regexp.MustCompile(`must not include the main node container`), []schema.Code{schema.CodeBrokenRule}},
	{"JobSet's order", regexp.MustCompile(`StartupPolicy and DependsOn APIs are mutually exclusive`), []schema.Code{schema.CodeBrokenRule}},
	{"claims' namespaces", regexp.MustCompile(`namespace cannot be set for VolumeClaimPolicies`), []schema.Code{schema.CodeBrokenRule}},
	{"unchangeable fields of runtimes", regexp.MustCompile(`Value is immutable`), []schema.Code{schema.CodeImmutable}},
	{"unchangeable fields", regexp.MustCompile(`field is immutable`), []schema.Code{schema.CodeImmutable, schema.CodeBadMetadata, schema.CodeUnknownOldObject}},
	{"the runtime's kind", regexp.MustCompile(`unsupported runtime: \S`), []schema.Code{schema.CodeUnknownRuntime}},
	{"no runtime's kind", regexp.MustCompile(`(?m)unsupported runtime: $`), []schema.Code{schema.CodeUnknownRuntime, schema.CodeNoRuntime}},
	{"the runtime", regexp.MustCompile(`must be created before the TrainJob`), []schema.Code{schema.CodeNoRuntime, schema.CodeRuntimeRefused}},
	{"merges", regexp.MustCompile(`panic: `), []schema.Code{schema.CodeNoMerge}},
	{"the dataset's job", regexp.MustCompile(`must have dataset-initializer job when`), []schema.Code{schema.CodeNoInitializer}},
	{"the dataset's container", regexp.MustCompile(`must have container with name - dataset-initializer in`), []schema.Code{schema.CodeNoInitializer}},
	{"the dataset's volume", regexp.MustCompile(`must have volumeMount with name - initializer in container dataset-`), []schema.Code{schema.CodeNoInitializer}},
	{"the model's job", regexp.MustCompile(`must have model-initializer job when`), []schema.Code{schema.CodeNoInitializer}},
	{"the model's container", regexp.MustCompile(`must have container with name - model-initializer in`), []schema.Code{schema.CodeNoInitializer}},
	{"the model's volume", regexp.MustCompile(`must have volumeMount with name - initializer in container model-`), []schema.Code{schema.CodeNoInitializer}},
	{"managers", regexp.MustCompile(`spec\.runtimePatches.*manager: Invalid value`), []schema.Code{schema.CodeBadManager, schema.CodeBadValue}},
	{"variables of main containers", regexp.MustCompile(`must not have envs for the`), []schema.Code{schema.CodeEnvOnMain}},
	{"patches of running jobs", regexp.MustCompile(`can only be modified when the TrainJob is suspended`), []schema.Code{schema.CodePatchedRunning}},
	{"flux's processes", regexp.MustCompile(`must be greater than or equal to 1 for Flux`), []schema.Code{schema.CodeFlux}},
	{"flux's installer", regexp.MustCompile(`'flux-installer' is reserved`), []schema.Code{schema.CodeFlux}},
	{"xgboost's variables", regexp.MustCompile(`DMLC_\w+ is reserved|reserved.*DMLC_`), []schema.Code{schema.CodeReservedEnv}},
	{"mpi's variables", regexp.MustCompile(`must not have reserved envs, invalid envs configured: \[OMPI_`), []schema.Code{schema.CodeReservedEnv}},
	{"torch's variables", regexp.MustCompile(`must not have reserved envs, invalid envs configured: \[PET_`), []schema.Code{schema.CodeReservedEnv}},
	{"mpi's launcher", regexp.MustCompile(`does not have either launcher and node`), []schema.Code{schema.CodeNoLauncher}},
	{"injected variables", regexp.MustCompile(`envInjection target `), []schema.Code{schema.CodeEnvInjection}},
	{"torchtune's models", regexp.MustCompile(`must have a supported pretrained model`), []schema.Code{schema.CodeTorchTune}},
	{"torchtune's nodes", regexp.MustCompile(`must be 1 for \S+ model`), []schema.Code{schema.CodeTorchTune}},
	{"torchtune's QLoRA", regexp.MustCompile(`QLoRA is not supported for`), []schema.Code{schema.CodeTorchTune}},
	{"torchtune's devices", regexp.MustCompile(`model when using QLoRA`), []schema.Code{schema.CodeTorchTune}},
	{"torchtune's LoRA", regexp.MustCompile(`LoRA fine-tuning is not supported for multi-node`), []schema.Code{schema.CodeTorchTune}},
	{"torchtune's arguments", regexp.MustCompile(`must not set immutable config`), []schema.Code{schema.CodeTorchTune}},
	{"volcano's queue", regexp.MustCompile(`spec\.annotations\[scheduling\.volcano\.sh/queue-name\]`), []schema.Code{schema.CodeNoQueue}},
	{"runtimes' replicas", regexp.MustCompile(`always must be 1`), []schema.Code{schema.CodeRuntimeReplicas}},
	{"runtimes' containers", regexp.MustCompile(`must contain the required container for the ancestor`), []schema.Code{schema.CodeRuntimeContainer}},
}

// coverage counts, for each rule, the objects that upstream refuses by it and that are refused here for the
// same reason.
type coverage struct{ seen map[string]int }

// count notes a refusal of both sides. It returns the rules by which upstream refuses the object and for
// which there is no finding.
func (c *coverage) count(refused []string, found schema.Findings) (missing []string) {
	text := strings.Join(refused, "\n")
	for _, r := range refusals {
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

func hasCode(found schema.Findings, codes []schema.Code) bool {
	for _, f := range found {
		for _, code := range codes {
			if f.Code == code && f.Severity == schema.Error && !f.Stricter() {
				return true
			}
		}
	}
	return false
}

// report logs the table, and in a long run wants every rule to be in it.
func (c *coverage) report(t *testing.T, long bool) {
	t.Helper()
	for _, r := range refusals {
		t.Logf("%7d  %-30s %v", c.seen[r.rule], r.rule, r.codes)
		if long && c.seen[r.rule] == 0 {
			t.Errorf("no object of this run breaks the rule about %s: the generator misses it", r.rule)
		}
	}
}
