// Command conform answers the cases of cmd/internal/recorded with the code of each release of the
// Trainer:
//
//	make oracles
//	go test -run TestRecorded ./cmd/internal/recorded -program $PWD/bin/conform -record
//
// It runs in the root of the repository, with the programs of the earlier releases in bin/oracles.
// Without -record, the test compares.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/util/trainjob"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/render/release"
)

func main() {
	name := flag.String("release", "", "the release of the Trainer")
	flag.Parse()
	items, rejected, err := answer(*name, os.Stdin, os.Stderr)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "conform:", err)
		os.Exit(2)
	case rejected != nil:
		fmt.Fprintln(os.Stderr, strings.Join(rejected, "\n"))
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(
		map[string]any{"apiVersion": "v1", "kind": "List", "items": items}); err != nil {
		fmt.Fprintln(os.Stderr, "conform:", err)
		os.Exit(2)
	}
}

// answer applies the objects of a List. It returns the objects that the controllers of the release
// create, or the reasons of a rejection. It writes the warnings of the webhooks.
func answer(name string, in io.Reader,
	warnings io.Writer) (items []upstream.Object, rejected []string, err error) {
	var list struct{ Items []upstream.Object }
	if err := json.NewDecoder(in).Decode(&list); err != nil {
		return nil, nil, err
	}
	u, err := start(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, u.Stop()) }()
	c := &cluster{u: u, warnings: warnings}
	if list.Items, err = c.withStock(list.Items); err != nil {
		return nil, nil, err
	}
	for _, object := range list.Items {
		if rejected, err = c.apply(object); err != nil || rejected != nil {
			return nil, rejected, err
		}
	}
	if c.job == nil {
		return nil, nil, errors.New("the List holds no TrainJob")
	}
	return c.items, nil, nil
}

// start starts the code of a release.
func start(name string) (*upstream.Upstream, error) {
	if name != release.Latest().Name {
		return upstream.Start(name, ".", filepath.Join("bin", "oracles"))
	}
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/trainer/v2",
		"sigs.k8s.io/jobset")
	list.Env = append(list.Environ(), "GOWORK=off")
	list.Dir, list.Stderr = "fuzz/upstream", os.Stderr
	out, err := list.Output()
	folders := strings.Fields(string(out))
	if err != nil || len(folders) != 2 {
		return nil, fmt.Errorf(
			"the modules of the latest release are not in the module cache: %w", err)
	}
	return upstream.Latest(oracle.Modules{Trainer: folders[0], JobSet: folders[1]})
}

// cluster is a cluster of the release, with one TrainJob and its runtime.
type cluster struct {
	u        *upstream.Upstream
	warnings io.Writer

	// runtime is the stored runtime at the time of the first TrainJob, and later are its updates
	// since then.
	runtime, job upstream.Object
	later        []upstream.Object
	jobSet       upstream.Object
	items        []upstream.Object // of the last reconciliation
}

// withStock returns the objects with the stock runtime that the TrainJob names, if they hold no
// runtime.
func (c *cluster) withStock(objects []upstream.Object) ([]upstream.Object, error) {
	name := ""
	for _, object := range objects {
		if object["kind"] != trainer.TrainJobKind {
			return objects, nil
		}
		spec, _ := object["spec"].(upstream.Object)
		ref, _ := spec["runtimeRef"].(upstream.Object)
		name, _ = ref["name"].(string)
	}
	// the files of the release's module, as its overlay installs them
	text, err := c.u.Release.Runtimes()
	if err != nil {
		return nil, err
	}
	var stock struct{ Items []upstream.Object }
	if err := json.Unmarshal(text, &stock); err != nil {
		return nil, err
	}
	for _, runtime := range stock.Items {
		if metadata, _ := runtime["metadata"].(upstream.Object); metadata["name"] == name {
			return append([]upstream.Object{runtime}, objects...), nil
		}
	}
	return objects, nil
}

// apply creates or updates an object. It reconciles a TrainJob. It returns the reasons for which
// the cluster rejects the object, or one that a controller makes of it.
func (c *cluster) apply(object upstream.Object) (rejected []string, err error) {
	isJob := object["kind"] == trainer.TrainJobKind
	old := c.job
	if !isJob {
		if old = c.runtime; len(c.later) > 0 {
			old = c.later[len(c.later)-1]
		}
	}
	stored, rejected, err := c.u.Apply(object, old)
	if err != nil || rejected != nil {
		return rejected, err
	}
	for _, warning := range c.u.Warnings {
		fmt.Fprintln(c.warnings, "Warning:", warning)
	}
	switch {
	case isJob:
		c.job = stored
	case c.job == nil:
		c.runtime = stored
	default:
		c.later = append(c.later, stored)
	}
	if !isJob {
		if err := c.u.Hold(stored); err != nil {
			return nil, err
		}
	}
	if c.job == nil {
		return nil, nil
	}
	return c.reconcile()
}

// reconcile makes the objects of the TrainJob. The JobSet goes through its own API server, and so
// do the names of its Jobs.
func (c *cluster) reconcile() (rejected []string, err error) {
	c.items = []upstream.Object{}
	if managed, err := c.isManagedElsewhere(); err != nil || managed {
		return nil, err
	}
	outcome, err := c.u.Render(c.job, c.runtime, c.later...)
	if err != nil {
		return nil, err
	}
	if outcome.Failed != "" {
		return []string{outcome.Failed}, nil
	}
	for _, object := range outcome.Objects {
		typed, err := upstream.Typed(object)
		if err != nil {
			return nil, err
		}
		c.items = append(c.items, typed)
		if typed["kind"] != "JobSet" {
			continue
		}
		if rejected, err := c.applyJobSet(object); err != nil || rejected != nil {
			return rejected, err
		}
	}
	return nil, nil
}

// isManagedElsewhere reports whether the controller leaves the TrainJob alone, which only the code
// of the latest release does.
func (c *cluster) isManagedElsewhere() (bool, error) {
	if c.u.Release.Version != release.Latest().Version {
		return false, nil
	}
	job := &trainer.TrainJob{}
	return oracle.Convert(c.job, job) == nil && trainjob.IsManagedByExternalController(job), nil
}

func (c *cluster) applyJobSet(object upstream.Object) (rejected []string, err error) {
	applied, err := oracle.Copy(object)
	if err != nil {
		return nil, err
	}
	prune(applied)
	if c.jobSet == nil {
		if c.jobSet, rejected, err = c.u.Apply(applied, nil); err != nil || rejected != nil {
			return rejected, err
		}
	}
	children, err := c.u.Children(object)
	if err != nil {
		return nil, err
	}
	// An apply keeps the defaults that the mutating webhook has set.
	prune(children.JobSet)
	if c.jobSet, rejected, err = c.u.Apply(children.JobSet, c.jobSet); err != nil ||
		rejected != nil {
		return rejected, err
	}
	for _, child := range children.Created {
		child["apiVersion"] = versions[fmt.Sprint(child["kind"])]
		c.items = append(c.items, child)
		if child["kind"] != "Job" {
			continue
		}
		job := &batchv1.Job{}
		if err := oracle.Convert(child, job); err != nil {
			return nil, err
		}
		if errs := validation.ValidateLabels(job.Labels, field.NewPath("metadata", "labels")); len(
			errs) > 0 {
			return []string{errs.ToAggregate().Error()}, nil // the API server rejects the Job
		}
		pod, err := c.pod(job)
		if err != nil {
			return nil, err
		}
		if pod != nil {
			c.items = append(c.items, pod)
		}
	}
	return nil, nil
}

// prune drops the empty values that Go types write, which the controller's apply configurations
// omit.
func prune(value any) {
	object, _ := value.(upstream.Object)
	for key, entry := range object {
		if prune(entry); entry == nil {
			delete(object, key)
		}
	}
	list, _ := value.([]any)
	for _, item := range list {
		prune(item)
	}
}

// pod returns the first Pod of a Job as JobSet's webhook leaves it, under the name of the Job. It
// returns nil for a Job whose template names no PriorityClass of the system.
func (c *cluster) pod(job *batchv1.Job) (upstream.Object, error) {
	priorities := map[string]int32{"system-cluster-critical": 2000000000,
		"system-node-critical": 2000001000}
	priority, known := priorities[job.Spec.Template.Spec.PriorityClassName]
	if !known {
		return nil, nil
	}
	pod := &corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec}
	pod.APIVersion, pod.Kind, pod.Name, pod.Namespace = "v1", "Pod", job.Name, job.Namespace
	pod.Spec.Priority = &priority
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[batchv1.JobCompletionIndexAnnotation] = "0"
	object := upstream.Object{}
	if err := oracle.Convert(pod, &object); err != nil {
		return nil, err
	}
	return c.u.Pod(object)
}

// versions are the API versions of the objects that the JobSet controller creates.
var versions = map[string]string{"Job": "batch/v1", "Service": "v1", "PersistentVolumeClaim": "v1"}
