package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/explain"
)

func ExampleField() {
	rule, err := explain.Field("containers[node].command")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rule.Path)
	fmt.Println("set by:", rule.Set)
	// Output:
	// .spec.replicatedJobs[*].template.spec.template.spec.containers[name="node"].command
	// set by: spec.trainer.command of the TrainJob, or the runtime's template
}

// TestField explains paths as a person writes them. Each row wants a part of the rule.
func TestField(t *testing.T) {
	for _, c := range casefile.Table[struct {
		Reason, Text, Path, Says string
	}](t, "testdata/fields.yaml") {
		rule, err := explain.Field(c.Text)
		if err != nil {
			t.Errorf("%s: %v", c.Reason, err)
			continue
		}
		if got := rule.Path.String(); got != c.Path {
			t.Errorf("%s: %s is %s, want %s", c.Reason, c.Text, got, c.Path)
		}
		if all := fmt.Sprintf("%+v", rule); !strings.Contains(all, c.Says) {
			t.Errorf("%s: %s does not say %q:\n%s", c.Reason, c.Text, c.Says, all)
		}
	}
}

// TestField_Invalid explains paths of no field. Each row wants a part of the error.
func TestField_Invalid(t *testing.T) {
	for _, c := range []struct{ reason, text, says string }{
		{"nothing", "", "name a field"},
		{"a typo on the way", "spec.replicatedjobs.template",
			"use .spec.replicatedJobs[*].template"},
		{"a typo at the end of a path from the root",
			"spec.replicatedJobs.template.spec.template.spec.nodeselector",
			"template.spec.nodeSelector"},
		{"a typo in a short name", "nodeSelectr", "did you mean nodeSelector?"},
		{"a short name of several fields", "volumeMounts",
			"name one of these\n  " +
				".spec.replicatedJobs[*].template.spec.template.spec.containers[*].volumeMounts\n"},
		{"a key that is not the merge key", "spec.replicatedJobs[id=a]",
			"has items by their key name: use .spec.replicatedJobs[*]"},
		{"a field within a scalar", "spec.suspend.x", ".spec.suspend has no fields"},
		{"an item by its position", "spec.replicatedJobs[0].replicas",
			"use .spec.replicatedJobs[*].replicas"},
		{"a bracket without end", "spec.replicatedJobs[name", "character 21: expected"},
		{"a bracket behind a scalar", "spec.suspend[0]", "has no fields or items"},
		{"an empty step", "spec..suspend", "expected the name of a field"},
		{"a quote without end", `spec.replicatedJobs[name="a]`,
			"character 26: expected a value in double quotes"},
		{"a dot at the end", "spec.", "expected the name of a field"},
		{"a bracket at the root", "[a]", "its fields are metadata, spec"},
		{"an element of a list by key", `spec.replicatedJobs[="a"]`,
			`use .spec.replicatedJobs[name="a"]`},
		{"an item of a map", `nodeSelector[name="a"]`, `is a map: name a key, as in ["a"]: use `},
		{"an item of a set",
			`spec.replicatedJobs.template.spec.template.metadata.finalizers[name="a"]`,
			`is a set: name an element, as in [="a"]: use `},
	} {
		if _, err := explain.Field(c.text); err == nil {
			t.Errorf("%s: %q is taken", c.reason, c.text)
		} else if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q: %v, want %q", c.reason, c.text, err, c.says)
		}
	}
}

// TestPaths: every path that completion offers is explained, and is the field that it says.
func TestPaths(t *testing.T) {
	paths := explain.Paths()
	if len(paths) < 900 {
		t.Errorf("only %d fields", len(paths))
	}
	for i, path := range paths {
		rule, err := explain.Field(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := rule.Path.String(); got != "."+path {
			t.Errorf("%s is explained as %s", path, got)
		}
		if rule.Merge == "" || rule.Set == "" {
			t.Errorf("%s: %+v", path, rule)
		}
		if i > 0 && paths[i-1] >= path {
			t.Errorf("%s comes before %s", paths[i-1], path)
		}
	}
}
