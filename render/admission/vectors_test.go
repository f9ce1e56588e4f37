package admission_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
)

func TestMain(m *testing.M) { os.Exit(testenv.Tests{M: m}.Run()) }

// cluster holds cases that a real control plane was given: c1-* are generated, r7-* each break one
// rule.
const cluster = "../../testdata/cluster"

// recordedCase is one of them: what was applied, and what became of it.
type recordedCase struct {
	name    string
	objects []map[string]any
	// outcome is accepted, suspended, partial, ignored, rejected or blocked.
	outcome string
	// text is the message with which the cluster rejected.
	text string
	// failsAgain says that the Trainer failed to apply the JobSet a second time.
	failsAgain bool
}

func (c recordedCase) rejected() bool { return c.outcome == "rejected" || c.outcome == "blocked" }

// readCases reads the cases of the folders that match. It skips cases whose verdict depends on
// objects that only a cluster has.
func readCases(t *testing.T, pattern string) []recordedCase {
	t.Helper()
	inputs, err := filepath.Glob(filepath.Join(casefile.Shared(t, cluster), pattern, "input.yaml"))
	if err != nil || len(inputs) == 0 {
		t.Fatalf("%s has no %s: %v", cluster, pattern, err)
	}
	skip, err := os.ReadFile(filepath.Join(cluster, "needs-cluster.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []recordedCase
	for _, input := range inputs {
		folder := filepath.Dir(input)
		c := recordedCase{name: filepath.Base(folder), objects: readObjects(t, input)}
		if slices.Contains(strings.Fields(string(skip)), c.name) {
			continue
		}
		want := func(file string) string {
			text, _ := os.ReadFile(filepath.Join(folder, "want", file))
			return string(text)
		}
		c.outcome = strings.Fields(want("outcome.txt"))[0]
		c.text = want("rejected.txt") + want("blocked.txt")
		c.failsAgain = want("controller-errors.txt") != ""
		if c.outcome != "none" {
			cases = append(cases, c)
		}
	}
	return cases
}

// recordedCases are the generated ones, and the stock runtimes that a TrainJob names which stands
// alone.
func recordedCases(t *testing.T) ([]recordedCase, runtimes) {
	t.Helper()
	return readCases(t, "c1-*"), stockRuntimes(t)
}

func readObjects(t *testing.T, file string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	for _, document := range regexp.MustCompile(`(?m)^---\s*$`).Split(string(text), -1) {
		j, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var fields map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(j, &fields); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if fields != nil {
			objects = append(objects, fields)
		}
	}
	return objects
}

// runtimes holds the admitted runtimes that TrainJobs can name.
type runtimes map[fieldpath.Object]*admission.Runtime

// stockRuntimes returns the runtimes that the trainer module ships.
func stockRuntimes(t *testing.T) runtimes {
	t.Helper()
	known := runtimes{}
	root := filepath.Join(testenv.ModuleDir(t, "github.com/kubeflow/trainer/v2"),
		"manifests/base/runtimes")
	err := filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".yaml" {
			return err
		}
		for _, object := range readObjects(t, file) {
			if r, _ := admission.AdmitRuntime(t.Context(), nil, object, "default"); r != nil {
				known[r.ID()] = r
			}
		}
		return nil
	})
	if err != nil || len(known) == 0 {
		t.Fatalf("%s has %d runtimes: %v", root, len(known), err)
	}
	return known
}

// caseFindings holds the findings of the recorded cases by name: several tests read them.
var caseFindings = map[string]finding.List{}

// check returns the findings of a case. The tests do not run in parallel.
func (c recordedCase) check(t *testing.T, stock runtimes) finding.List {
	t.Helper()
	if _, ok := caseFindings[c.name]; !ok {
		caseFindings[c.name] = check(t, c.objects, stock)
	}
	return caseFindings[c.name]
}

// check judges the objects of a case as a program judges the objects of a file. The objects stay as
// they are.
func check(t *testing.T, objects []map[string]any, stock runtimes) finding.List {
	t.Helper()
	var found finding.List
	before := fmt.Sprint(objects)
	own := runtimes{}
	for _, object := range objects {
		if kind, _ := object["kind"].(string); strings.HasSuffix(kind, "TrainingRuntime") {
			r, f := admission.AdmitRuntime(t.Context(), nil, object, "default")
			found = append(found, f...)
			if r != nil {
				own[r.ID()] = r
			}
		}
	}
	for _, object := range objects {
		kind, _ := object["kind"].(string)
		switch {
		case strings.HasSuffix(kind, "TrainingRuntime"):
		case kind != "TrainJob":
			found = append(
				found, finding.Finding{Code: codes.UnknownKind, Severity: finding.Error,
					Message: kind})
		default:
			in := admission.Input{TrainJob: object, OnConflict: render.Last}
			id, known := refersTo(object)
			if in.Runtime = own[id]; in.Runtime == nil {
				in.Runtime = stock[id]
			}
			if in.Runtime == nil || !known {
				found = append(
					found, finding.Finding{Code: codes.NoRuntime, Severity: finding.Error,
						Path: fieldpath.Fields("spec", "runtimeRef"), Message: id.String()})
				in.Runtime = nil
			}
			found = append(found, admission.Check(t.Context(), in)...)
		}
	}
	if after := fmt.Sprint(objects); after != before {
		t.Errorf("the objects were\n%s\nand are now\n%s", before, after)
	}
	return found
}

// refersTo is the runtime that a TrainJob names, and whether it can be one.
func refersTo(object map[string]any) (fieldpath.Object, bool) {
	spec, _ := object["spec"].(map[string]any)
	ref, _ := spec["runtimeRef"].(map[string]any)
	id := fieldpath.Object{Kind: "ClusterTrainingRuntime"}
	if kind, ok := ref["kind"].(string); ok {
		id.Kind = kind
	}
	id.Name, _ = ref["name"].(string)
	if id.Kind == "TrainingRuntime" {
		id.Namespace = "default"
	}
	group, ok := ref["apiGroup"].(string)
	return id, !ok || group == "trainer.kubeflow.org"
}

// namesField reports whether an error names a field that the cluster's text names as well. Brackets
// do not count. Either of the two paths may be longer at either end.
func namesField(text string, found finding.List) bool {
	plain := func(path string) string {
		return strings.ToLower(
			strings.Trim(regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(path, ""), "."))
	}
	var named []string
	for _, match := range regexp.MustCompile(
		`(?:^|[\s:,\[(])((?:spec|metadata)(?:\.[A-Za-z][A-Za-z0-9]*(?:\[[^\]]*\])*)+)`).FindAllStringSubmatch(text, -1) {
		named = append(named, plain(match[1]))
	}
	if len(named) == 0 {
		return true
	}
	for _, f := range found {
		b := plain(f.Path.String())
		if f.Severity != finding.Error || b == "" {
			continue
		}
		for _, a := range named {
			if a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".") ||
				strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a) {
				return true
			}
		}
	}
	return false
}

func report(found finding.List) string {
	var b strings.Builder
	for _, f := range found {
		if f.Severity == finding.Error {
			fmt.Fprintf(&b, "\n\t%v", f)
		}
	}
	return b.String()
}

// On the recorded cases, the verdict is the cluster's, and so is the field that it names.
func TestRecorded(t *testing.T) {
	cases, stock := recordedCases(t)
	verdicts, fields, rejected := 0, 0, 0
	for _, c := range cases {
		found := c.check(t, stock)
		if c.outcome == "suspended" {
			// The cluster rejects the resume, which comes after the end of the recording.
			found = slices.DeleteFunc(found, func(f finding.Finding) bool {
				return f.Code == codes.NeverResumed
			})
		}
		if (found.Err() != nil) != c.rejected() {
			t.Errorf("%s: the cluster says %s\n%s%s", c.name, c.outcome, c.text, report(found))
		} else {
			verdicts++
		}
		if !c.rejected() {
			continue
		}
		rejected++
		if !namesField(c.text, found) {
			t.Errorf("%s: another field\n%s%s", c.name, c.text, report(found))
		} else {
			fields++
		}
	}
	t.Logf("verdict %d/%d, field %d/%d", verdicts, len(cases), fields, rejected)
}

// On the cases of one rule each, the verdict is the cluster's as well. Nothing may pass that the
// cluster rejects or that is blocked later. If a case is rejected that the cluster runs,
// docs/findings.md must say why such a job never works as written.
func TestRules(t *testing.T) {
	stock := stockRuntimes(t)
	agree, stricter, fields, rejected := 0, 0, 0, 0
	cases := readCases(t, "r7-*")
	for _, c := range cases {
		found := c.check(t, stock)
		switch failed := found.Err() != nil; {
		case failed == c.rejected():
			agree++
		case failed:
			stricter++
			t.Errorf("%s: the cluster says %s\n%s%s", c.name, c.outcome, c.text, report(found))
		default:
			t.Errorf("%s: passes, and the cluster says %s\n%s", c.name, c.outcome, c.text)
		}
		if !c.rejected() {
			continue
		}
		rejected++
		if namesField(c.text, found) {
			fields++
		} else {
			t.Errorf("%s: another field\n%s%s", c.name, c.text, report(found))
		}
	}
	t.Logf("%d agree, %d stricter, of %d; field %d/%d", agree, stricter, len(cases), fields,
		rejected)
}
