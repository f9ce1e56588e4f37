package upstream_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
)

// rejections are the rules by which the cluster's admission rejects. Each has a pattern of the message, and
// the codes that stand for it here. The API server's rejections by the definitions come first, then the
// webhooks'. The list omits two rules of the webhooks, since nothing breaks them. One is about patches for
// jobs and containers that the runtime lacks. Upstream looks for them after adding them. The other is
// volcano's rule about PriorityClasses, all of which exist.
var rejections = []rejection{
	{"unknown fields", regexp.MustCompile(`(?m)^unknown fields `), []finding.Code{finding.CodeUnknownField}},
	{"wrong types", regexp.MustCompile(`must be of type |cannot unmarshal|Checked value must be of type|parsing time|unable to parse`), []finding.Code{finding.CodeWrongType}},
	{"required fields", regexp.MustCompile(`: Required value`), []finding.Code{finding.CodeMissingField, finding.CodeWrongType, finding.CodeBadMetadata, finding.CodeBadManager}},
	{"enumerations", regexp.MustCompile(`: Unsupported value: `), []finding.Code{finding.CodeBadValue}},
	{"limits", regexp.MustCompile(`: Too (long|many): |should be (at least|greater than|less than)`), []finding.Code{finding.CodeBadValue, finding.CodeBadMetadata, finding.CodeBadManager}},
	{"patterns", regexp.MustCompile(`should match '`), []finding.Code{finding.CodeBadValue}},
	{"keys of lists", regexp.MustCompile(`: Duplicate value: `), []finding.Code{finding.CodeDuplicateItem, finding.CodeDuplicateManager}},
	{"managers twice", regexp.MustCompile(`runtimePatches\[\d+\]: Duplicate value: `), []finding.Code{finding.CodeDuplicateManager}},
	{"names' form", regexp.MustCompile(`metadata\.name must match RFC 1035`), []finding.Code{finding.CodeBrokenRule}},
	{"names' length", regexp.MustCompile(`metadata\.name must be no more than 63`), []finding.Code{finding.CodeBrokenRule}},
	{"names of any object", regexp.MustCompile(`(?m)^metadata\.name: Invalid value: .*RFC 1123`), []finding.Code{finding.CodeBadMetadata, finding.CodeBrokenRule}},
	{"labels", regexp.MustCompile(`(?m)^metadata\.(labels|annotations): Invalid value`), []finding.Code{finding.CodeBadMetadata}},
	{"managedBy", regexp.MustCompile(`ManagedBy must be`), []finding.Code{finding.CodeBrokenRule}},
	{"storageUri", regexp.MustCompile(`storageUri may be empty`), []finding.Code{finding.CodeBrokenRule}},
	{"one policy", regexp.MustCompile(`Only one of the policy`), []finding.Code{finding.CodeBrokenRule}},
	{"a runtime's flux processes", regexp.MustCompile(`NumProcPerNode in fluxPolicy`), []finding.Code{finding.CodeBrokenRule}},
	{"targets of variables", regexp.MustCompile(`must not include the main node container`), []finding.Code{finding.CodeBrokenRule}},
	{"JobSet's order", regexp.MustCompile(`StartupPolicy and DependsOn APIs are mutually exclusive`), []finding.Code{finding.CodeBrokenRule}},
	{"claims' namespaces", regexp.MustCompile(`namespace cannot be set for VolumeClaimPolicies`), []finding.Code{finding.CodeBrokenRule}},
	{"unchangeable fields of runtimes", regexp.MustCompile(`Value is immutable`), []finding.Code{finding.CodeImmutable}},
	{"unchangeable fields", regexp.MustCompile(`field is immutable`), []finding.Code{finding.CodeImmutable, finding.CodeBadMetadata, finding.CodeUnknownOldObject}},
	{"the runtime's kind", regexp.MustCompile(`unsupported runtime: \S`), []finding.Code{finding.CodeUnknownRuntime}},
	{"no runtime's kind", regexp.MustCompile(`(?m)unsupported runtime: $`), []finding.Code{finding.CodeUnknownRuntime, finding.CodeMissingField}},
	{"the runtime", regexp.MustCompile(`must be created before the TrainJob`), []finding.Code{finding.CodeNoRuntime, finding.CodeRuntimeRejected}},
	{"merges", regexp.MustCompile(`panic: `), []finding.Code{finding.CodeNoMerge}},
	{"the dataset's job", regexp.MustCompile(`must have dataset-initializer job when`), []finding.Code{finding.CodeNoInitializer}},
	{"the dataset's container", regexp.MustCompile(`must have container with name - dataset-initializer in`), []finding.Code{finding.CodeNoInitializer}},
	{"the dataset's volume", regexp.MustCompile(`must have volumeMount with name - initializer in container dataset-`), []finding.Code{finding.CodeNoInitializer}},
	{"the model's job", regexp.MustCompile(`must have model-initializer job when`), []finding.Code{finding.CodeNoInitializer}},
	{"the model's container", regexp.MustCompile(`must have container with name - model-initializer in`), []finding.Code{finding.CodeNoInitializer}},
	{"the model's volume", regexp.MustCompile(`must have volumeMount with name - initializer in container model-`), []finding.Code{finding.CodeNoInitializer}},
	{"managers", regexp.MustCompile(`spec\.runtimePatches.*manager: Invalid value`), []finding.Code{finding.CodeBadManager, finding.CodeBadValue}},
	{"variables of main containers", regexp.MustCompile(`must not have envs for the`), []finding.Code{finding.CodeEnvOnMain}},
	{"patches of running jobs", regexp.MustCompile(`can only be modified when the TrainJob is suspended`), []finding.Code{finding.CodePatchedRunning}},
	{"flux's processes", regexp.MustCompile(`must be greater than or equal to 1 for Flux`), []finding.Code{finding.CodeFlux}},
	{"flux's installer", regexp.MustCompile(`'flux-installer' is reserved`), []finding.Code{finding.CodeFlux}},
	{"xgboost's variables", regexp.MustCompile(`DMLC_\w+ is reserved|reserved.*DMLC_`), []finding.Code{finding.CodeReservedEnv}},
	{"mpi's variables", regexp.MustCompile(`must not have reserved envs, invalid envs configured: \[OMPI_`), []finding.Code{finding.CodeReservedEnv}},
	{"torch's variables", regexp.MustCompile(`must not have reserved envs, invalid envs configured: \[PET_`), []finding.Code{finding.CodeReservedEnv}},
	{"mpi's launcher", regexp.MustCompile(`does not have either launcher and node`), []finding.Code{finding.CodeNoLauncher}},
	{"injected variables", regexp.MustCompile(`envInjection target `), []finding.Code{finding.CodeEnvInjection}},
	{"torchtune's models", regexp.MustCompile(`must have a supported pretrained model`), []finding.Code{finding.CodeTorchTune}},
	{"torchtune's nodes", regexp.MustCompile(`must be 1 for \S+ model`), []finding.Code{finding.CodeTorchTune}},
	{"torchtune's QLoRA", regexp.MustCompile(`QLoRA is not supported for`), []finding.Code{finding.CodeTorchTune}},
	{"torchtune's devices", regexp.MustCompile(`model when using QLoRA`), []finding.Code{finding.CodeTorchTune}},
	{"torchtune's LoRA", regexp.MustCompile(`LoRA fine-tuning is not supported for multi-node`), []finding.Code{finding.CodeTorchTune}},
	{"torchtune's arguments", regexp.MustCompile(`must not set immutable config`), []finding.Code{finding.CodeTorchTune}},
	{"volcano's queue", regexp.MustCompile(`spec\.annotations\[scheduling\.volcano\.sh/queue-name\]`), []finding.Code{finding.CodeNoQueue}},
	{"runtimes' replicas", regexp.MustCompile(`always must be 1`), []finding.Code{finding.CodeRuntimeReplicas}},
	{"runtimes' containers", regexp.MustCompile(`must contain the required container for the ancestor`), []finding.Code{finding.CodeRuntimeContainer}},
}

// rejection is a rule of the cluster's admission.
type rejection struct {
	rule  string
	says  *regexp.Regexp
	codes []finding.Code
}

// coverage counts for each rule the objects that both upstream and this project reject by it.
type coverage struct{ seen map[string]int }

// count records the rejections of both sides. It returns the rules by which upstream rejects the object
// without a finding here.
func (c *coverage) count(rejections []rejection, rejected []string, found finding.List) (missing []string) {
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
			t.Errorf("no object of this run breaks the rule about %s: the generator misses it", r.rule)
		}
	}
}
