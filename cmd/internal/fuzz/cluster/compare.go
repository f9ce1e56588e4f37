package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Program is the path of the program to compare with the cluster.
type Program string

// Finding is a finding of the program.
type Finding struct{ Code, Severity, Object, Path, Message string }

// Verdict reports whether the program accepts a case, and returns its findings.
func (p Program) Verdict(file string, flags ...string) (taken bool, found []Finding, err error) {
	out, err := p.run(
		append([]string{"check", file, "--on-conflict=last", "-o", "json"}, flags...)...)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return false, nil, fmt.Errorf("%w: %s", err, out)
	}
	var report struct{ Findings []Finding }
	if failure := json.Unmarshal([]byte(out), &report); failure != nil {
		return false, nil, fmt.Errorf("%w: %s", failure, out)
	}
	return err == nil, report.Findings, nil
}

// Names reports whether the cluster names the field of an error of the program, or names no field.
// The paths of Pods and Jobs are ends of JobSet paths.
func (c *Case) Names(found []Finding) bool {
	var named []string
	for _, rejection := range c.Rejections {
		named = append(named, rejection.Fields...)
	}
	for _, line := range c.said() {
		for _, path := range pathInText.FindAllStringSubmatch(line, -1) {
			named = append(named, path[1])
		}
	}
	for _, name := range named {
		name = plainPath(name)
		for _, f := range found {
			at := plainPath(f.Path)
			if f.Severity == "error" && (inside(at, name) || inside(name, at)) {
				return true
			}
		}
	}
	return len(named) == 0
}

var (
	pathInText = regexp.MustCompile(
		`(?:^|[\s:,\[(])((?:spec|metadata)(?:\.[A-Za-z][A-Za-z0-9]*(?:\[[^\]]*\])*)+)`)
	brackets = regexp.MustCompile(`\[[^\]]*\]`)
)

// plainPath returns a path without its items' keys, in lower case, since the API server spells some
// fields differently.
func plainPath(path string) string {
	return strings.ToLower(strings.Trim(brackets.ReplaceAllString(path, ""), "."))
}

// inside reports whether a path lies within the other, or ends with it.
func inside(a, b string) bool {
	return a == b ||
		a != "" && b != "" && (strings.HasPrefix(a, b+".") || strings.HasSuffix(a, "."+b))
}

// dump returns the objects of a case that a user dumps. It lacks the runtime, which is for the
// whole cluster.
func (c *Case) dump() (objects []Object) {
	for _, plural := range []string{"trainingruntimes", "trainjobs", "jobsets", "jobs", "pods",
		"configmaps"} {
		objects = append(objects, c.Objects[plural]...)
	}
	return objects
}

// Objects returns the program's rendering, as stored: the JobSet and its companions, Jobs with
// their Service and claims, and Pods.
func (p Program) Objects(file string) ([]Object, error) {
	var all []Object
	for _, to := range []struct {
		flags []string
		kinds []string
	}{
		{[]string{"--generate-secrets"}, []string{"JobSet", "ConfigMap", "Secret", "PodGroup"}},
		{[]string{"--to=jobs"}, []string{"Job", "Service", "PersistentVolumeClaim"}},
		{[]string{"--to=pods", "--jobset-uid=UID"}, []string{"Pod"}},
	} {
		out, err := p.run(
			append([]string{"render", "-f", file, "--on-conflict=last", "--as=stored"},
				to.flags...)...)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(out), 4096)
		for {
			var raw json.RawMessage
			if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			var object Object
			if err := exact(raw, &object); err != nil {
				return nil, err
			}
			if slices.Contains(to.kinds, text(object, "kind")) {
				all = append(all, object)
			}
		}
	}
	return all, nil
}

func (p Program) run(arguments ...string) (string, error) {
	var out, failure strings.Builder
	command := exec.Command(string(p), arguments...)
	command.Stdout, command.Stderr = &out, &failure
	err := command.Run()
	if err != nil && out.Len() == 0 {
		return failure.String(), err
	}
	return out.String(), err
}

// Compare returns the differences between the program's objects and the cluster's, or "". The API
// server itself adds the defaults to the program's objects, in a dry run.
func (c *ControlPlane) Compare(recorded *Case, objects []Object) (string, error) {
	pods := map[string]string{}
	for _, pod := range recorded.Objects["pods"] {
		pods[text(pod, "metadata", "name")] = text(pod, "metadata", "generateName") + suffix
	}
	var want, got []Object
	for _, k := range kinds {
		if k.kind == "TrainJob" || k.kind == "TrainingRuntime" {
			continue
		}
		for _, object := range recorded.Objects[k.plural] {
			name := text(object, "metadata", "name")
			if text(object, "apiVersion") == k.apiVersion &&
				!strings.HasSuffix(name, "-runtime-snapshot") && name != "kube-root-ca.crt" &&
				!strings.Contains(name, "-flux-") {
				nameOfPod(object, pods)
				want = append(want, object)
			}
		}
	}
	var differences []string
	for _, object := range objects {
		name := text(object, "metadata", "name")
		ofPod := object["kind"] == "Pod" || strings.Contains(name, suffix)
		if recorded.Outcome == Suspended && ofPod || strings.Contains(name, "-flux-") {
			continue
		}
		stored, err := c.defaulted(object)
		if err != nil {
			differences = append(differences, fmt.Sprintf("%s %s: %v", object["kind"], name, err))
			continue
		}
		got = append(got, stored)
	}
	wanted, gotten := byName(want), byName(got)
	for _, name := range slices.Sorted(keys(wanted, gotten)) {
		switch a, b := wanted[name], gotten[name]; {
		case b == nil:
			differences = append(differences, name+": the program does not have it")
		case a == nil && recorded.Waits && b["kind"] == "Pod":
		case a == nil:
			differences = append(differences, name+": the cluster does not have it")
		default:
			if difference := cmp.Diff(a, b); difference != "" {
				differences = append(differences, name+" (-cluster +program):\n"+difference)
			}
		}
	}
	return strings.Join(differences, "\n"), nil
}

func keys(of ...map[string]Object) func(func(string) bool) {
	seen := map[string]bool{}
	return func(yield func(string) bool) {
		for _, m := range of {
			for key := range m {
				if !seen[key] && !yield(key) {
					return
				}
				seen[key] = true
			}
		}
	}
}

// suffix stands for the API server's addition to the name of a Pod.
const suffix = "RAND"

// nameOfPod gives a claim of an ephemeral volume the program's name. The claim's own name contains
// the Pod's random name.
func nameOfPod(object Object, pods map[string]string) {
	metadata := object["metadata"].(Object)
	owners, _ := metadata["ownerReferences"].([]any)
	for _, owner := range owners {
		if o, isMap := owner.(Object); isMap && o["kind"] == "Pod" {
			pod, _ := o["name"].(string)
			metadata["name"] = strings.Replace(metadata["name"].(string), pod, pods[pod], 1)
		}
	}
}

// Labels and annotations that only the cluster knows.
var ids = []string{"jobset.sigs.k8s.io/jobset-uid", "batch.kubernetes.io/controller-uid",
	"controller-uid"}

// they lack ids
func (c *ControlPlane) defaulted(object Object) (Object, error) {
	metadata := object["metadata"].(Object)
	delete(metadata, "ownerReferences") // they would need ids
	name := text(object, "metadata", "name")
	if object["kind"] == "Pod" {
		dropLabelKeys(object)
	}
	if object["kind"] == "PersistentVolumeClaim" {
		metadata["name"] = strings.ReplaceAll(name, suffix, strings.ToLower(suffix))
	}
	answer, err := c.Create(object, "dry-run", "&dryRun=All")
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusCreated {
		return nil, errors.New(answer.Rejection())
	}
	var stored Object
	if err := exact(
		[]byte(strings.ReplaceAll(string(answer.Body), `"namespace":"dry-run"`,
			`"namespace":"default"`)), &stored); err != nil {
		return nil, err
	}
	stored["metadata"].(Object)["name"] = name
	return stored, nil
}

func byName(objects []Object) map[string]Object {
	out := map[string]Object{}
	for _, object := range objects {
		metadata := object["metadata"].(Object)
		name := text(object, "metadata", "generateName")
		if name == "" {
			name = text(object, "metadata", "name")
		}
		if object["kind"] == "Pod" {
			delete(metadata, "name")
		}
		level(object)
		for ordinal := 1; ; ordinal++ {
			key := fmt.Sprintf("%s %s %s #%d", object["apiVersion"], object["kind"], name, ordinal)
			if out[key] == nil {
				out[key] = object
				break
			}
		}
	}
	return out
}

// level removes the fields that a render from files cannot know, and that the typed API cannot
// express.
func level(object Object) {
	metadata, _ := object["metadata"].(Object)
	for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "generation",
		"managedFields", "ownerReferences", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		delete(metadata, key)
	}
	delete(object, "status")
	if spec, isMap := object["spec"].(Object); isMap && object["kind"] == "Job" {
		delete(spec, "selector")
	}
	if object["kind"] == "Pod" {
		dropLabelKeys(object)
	}
	// A deadline may have passed since the Job was created. It deletes the Job's objects.
	finalizers, _ := metadata["finalizers"].([]any)
	finalizers = slices.DeleteFunc(finalizers, func(f any) bool {
		return f == batchv1.JobTrackingFinalizer || f == metav1.FinalizerDeleteDependents
	})
	if metadata["finalizers"] = finalizers; len(finalizers) == 0 {
		delete(metadata, "finalizers")
	}
	if object["kind"] == "Secret" {
		masked := Object{}
		for _, field := range []string{"data", "stringData"} {
			values, _ := object[field].(Object)
			for key := range values {
				masked[key] = ""
			}
		}
		object["data"] = masked
		delete(object, "stringData")
	}
	levelValue(object, object["kind"] == "JobSet")
}

func levelValue(value any, jobset bool) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			levelValue(element, jobset)
		}
	case Object:
		for _, field := range []string{"labels", "annotations", "matchLabels"} {
			if labels, isMap := value[field].(Object); isMap {
				for _, id := range ids {
					delete(labels, id)
				}
			}
		}
		for _, field := range []string{"value", "containerName", "status", "conditionStatus"} {
			if value[field] == "" {
				delete(value, field)
			}
		}
		if jobset && value["containerPort"] != nil && value["protocol"] == "TCP" {
			delete(value, "protocol")
		}
		if variables, isList := value["env"].([]any); isList &&
			slices.ContainsFunc(variables, isXGBoost) {
			// Their order changes when the trainer starts.
			slices.SortStableFunc(variables, func(a, b any) int { return rank(a) - rank(b) })
		}
		for key, inner := range value {
			levelValue(inner, jobset)
			if m, isMap := inner.(Object); isMap && len(m) == 0 &&
				slices.Contains(
					[]string{"metadata", "resources", "status", "labels", "annotations",
						"matchLabels"}, key) || inner == nil {
				delete(value, key)
			}
		}
	}
}

// dropLabelKeys removes the label keys for which a stored Pod's selectors already have expressions.
func dropLabelKeys(value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			dropLabelKeys(element)
		}
	case Object:
		delete(value, "matchLabelKeys")
		delete(value, "mismatchLabelKeys")
		for _, inner := range value {
			dropLabelKeys(inner)
		}
	}
}

func isXGBoost(variable any) bool {
	v, _ := variable.(Object)
	name, _ := v["name"].(string)
	return strings.HasPrefix(name, "DMLC_")
}

func rank(variable any) int {
	if isXGBoost(variable) {
		return 1
	}
	return 0
}

// needsCluster matches rejections that depend on missing parts of this control plane, and not on
// the case.
var needsCluster = regexp.MustCompile(
	`serviceAccountToken: Forbidden: must not be specified when|RuntimeClass "[^"]*" not found|no PriorityClass|PriorityClass "[^"]*" doesn't exist`)

// NeedsCluster reports whether files cannot decide the verdict of a case.
func (c *Case) NeedsCluster() bool {
	return slices.ContainsFunc(c.said(), needsCluster.MatchString)
}

// said returns every message of the cluster against a case.
func (c *Case) said() []string {
	lines := slices.Clone(c.Failures)
	for _, rejection := range c.Rejections {
		lines = append(lines, rejection.Kind+": "+rejection.Text)
	}
	for _, event := range c.Events {
		lines = append(lines, text(event, "message"))
	}
	return lines
}
