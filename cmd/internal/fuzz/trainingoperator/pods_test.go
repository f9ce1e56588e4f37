package trainingoperator_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/control"
	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/fuzz/trainingoperator"
	"github.com/trainweld/trainweld/cmd/internal/trainingjob"
	"github.com/trainweld/trainweld/render"
)

// examples are the folder of the training operator's own examples.
var examples = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/kubeflow/training-operator").Output()
	return filepath.Join(strings.TrimSpace(string(out)), "examples"), err
})

// outcomes reads the table of variables of docs/migrate.md.
var outcomes = sync.OnceValues(func() (map[string]map[string]trainingoperator.Outcome, error) {
	text, err := os.ReadFile("../../../../docs/migrate.md")
	if err != nil {
		return nil, err
	}
	_, table, found := strings.Cut(string(text), "### Variables\n")
	table, _, _ = strings.Cut(table, "\n### ")
	rows := regexp.MustCompile(
		`(?m)^\| (\w+Job) \| (\w+(?:, \w+)*) \| (\w+) \|`).FindAllStringSubmatch(table, -1)
	if !found || len(rows) == 0 {
		return nil, fmt.Errorf("docs/migrate.md has no table of variables")
	}
	all := map[string]map[string]trainingoperator.Outcome{}
	for _, row := range rows {
		outcome := trainingoperator.Outcome(row[3])
		switch outcome {
		case trainingoperator.Carried, trainingoperator.Mapped, trainingoperator.Gone:
		default:
			return nil, fmt.Errorf("variable %s of %s is %q", row[2], row[1], outcome)
		}
		if all[row[1]] == nil {
			all[row[1]] = map[string]trainingoperator.Outcome{}
		}
		for _, variable := range strings.Split(row[2], ", ") {
			all[row[1]][variable] = outcome
		}
	}
	return all, nil
})

// added are the variables of Trainer's policies and of the Job controller.
var added = map[string][]string{
	kubeflow.PyTorchJobKind: {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK",
		"PET_MASTER_ADDR", "PET_MASTER_PORT"},
	kubeflow.MPIJobKind: {"OMPI_MCA_orte_keep_fqdn_hostnames",
		"OMPI_MCA_orte_set_default_slots", "OMPI_MCA_plm_rsh_args"},
	kubeflow.XGBoostJobKind: {"DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID",
		"DMLC_NUM_WORKER"},
	kubeflow.JAXJobKind: {"JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"},
}

// mainOf is the container that trains, which for MPI the job decides.
func mainOf(job apiruntime.Object) func(kubeflow.ReplicaType) string {
	switch job := job.(type) {
	case *kubeflow.MPIJob:
		return func(t kubeflow.ReplicaType) string {
			if t == kubeflow.MPIJobReplicaTypeWorker && job.Spec.MainContainer != "" {
				return job.Spec.MainContainer
			}
			return job.Spec.MPIReplicaSpecs[t].Template.Spec.Containers[0].Name
		}
	case *kubeflow.PyTorchJob:
		return always(kubeflow.PyTorchJobDefaultContainerName)
	case *kubeflow.XGBoostJob:
		return always(kubeflow.XGBoostJobDefaultContainerName)
	case *kubeflow.JAXJob:
		return always(kubeflow.JAXJobDefaultContainerName)
	case *kubeflow.TFJob:
		return always(kubeflow.TFJobDefaultContainerName)
	default:
		return always(kubeflow.PaddleJobDefaultContainerName)
	}
}

func always(name string) func(kubeflow.ReplicaType) string {
	return func(kubeflow.ReplicaType) string { return name }
}

// gang is the gang scheduler that a job with a schedulingPolicy was written for, by the rule of
// docs/migrate.md.
func gang(job apiruntime.Object) control.PodGroupControlInterface {
	var run *kubeflow.RunPolicy
	switch job := job.(type) {
	case *kubeflow.MPIJob:
		run = &job.Spec.RunPolicy
	case *kubeflow.PyTorchJob:
		run = &job.Spec.RunPolicy
	case *kubeflow.XGBoostJob:
		run = &job.Spec.RunPolicy
	case *kubeflow.JAXJob:
		run = &job.Spec.RunPolicy
	case *kubeflow.TFJob:
		run = &job.Spec.RunPolicy
	case *kubeflow.PaddleJob:
		run = &job.Spec.RunPolicy
	}
	switch policy := run.SchedulingPolicy; {
	case policy == nil:
		return nil
	case policy.Queue != "" || policy.PriorityClass != "":
		return control.NewVolcanoControl(nil)
	default:
		return control.NewSchedulerPluginsControl(nil, "")
	}
}

// renderPods renders the Pods of a converted job, and the hostfile of MPI.
func renderPods(result *trainingjob.Result) (pods []*corev1.Pod, hostfile string, err error) {
	render.DefaultTrainJob(result.TrainJob, nil)
	render.DefaultRuntime(&result.Runtime.Spec, nil)
	out, err := render.JobSet(
		render.Input{TrainJob: result.TrainJob, Runtime: &result.Runtime.Spec}, render.Options{})
	if err != nil {
		return nil, "", err
	}
	for pod, err := range render.Pods(out.JobSet, render.PodsOptions{}) {
		if err != nil {
			return nil, "", err
		}
		pods = append(pods, pod)
	}
	for _, object := range out.Companions {
		if config, ok := object.(*corev1.ConfigMap); ok {
			hostfile = config.Data["hostfile"]
		}
	}
	return pods, hostfile, nil
}

// compare returns the differences of the converted job's Pods from the operator's Pods.
func compare(job apiruntime.Object, result *trainingjob.Result) (string, error) {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", job), "*v1.")
	all, err := outcomes()
	if err != nil {
		return "", err
	}
	old, err := trainingoperator.Run(job, gang(job))
	if err != nil {
		return "", fmt.Errorf("training operator: %w", err)
	}
	now, hostfile, err := renderPods(result)
	if err != nil {
		return "", fmt.Errorf("trainweld: %w", err)
	}
	c := trainingoperator.Comparison{Kind: kind, Main: mainOf(job), Outcomes: all[kind],
		Added: append(added[kind], "JOB_COMPLETION_INDEX")}
	if diff := c.Diff(old.Pods, now); diff != "" {
		return diff, nil
	}
	return hostfiles(old, now, hostfile), nil
}

// hostfiles compares the nodes and their slots.
func hostfiles(old *trainingoperator.Made, now []*corev1.Pod, hostfile string) string {
	hosts := map[string]string{}
	for i, pod := range old.Pods {
		hosts[pod.Name] = now[i].Spec.Hostname + "." + now[i].Spec.Subdomain
	}
	want := map[string]bool{}
	for line := range strings.Lines(old.Hostfile) {
		name, slots, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[hosts[name]+" "+slots] = true
	}
	for line := range strings.Lines(hostfile) {
		if line = strings.TrimSpace(line); !want[line] {
			return fmt.Sprintf("the hostfile has %q; the old one was\n%s", line, old.Hostfile)
		}
		delete(want, strings.TrimSpace(line))
	}
	if len(want) > 0 {
		return fmt.Sprintf("the hostfile lacks %v", want)
	}
	return ""
}

// TestExamples compares the Pods of every example that is migrated. It names the rejected examples.
func TestExamples(t *testing.T) {
	rejected := map[string]string{
		"mpi/tensorflow-mnist-elastic.yaml":                      "discover_hosts.sh",
		"pytorch/elastic/imagenet/imagenet.yaml":                 ".spec.elasticPolicy.metrics",
		"xgboost/smoke-dist/xgboostjob_v1alpha1_rabit_test.yaml": `unknown field "apiVersion"`,
	}
	dir, err := examples()
	if err != nil {
		t.Fatal(err)
	}
	jobs := 0
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		for i, document := range strings.Split(string(text), "\n---") {
			var head struct {
				APIVersion, Kind string
			}
			if err := yaml.Unmarshal([]byte(document), &head); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if head.APIVersion != trainingjob.Group+"/"+trainingjob.Version {
				continue
			}
			jobs++
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				example(t, document, head.Kind, rejected[name])
			})
			delete(rejected, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if jobs < 27 {
		t.Errorf("%d jobs in %s: want all 27", jobs, dir)
	}
	for name := range rejected {
		t.Errorf("%s is not there", name)
	}
}

func example(t *testing.T, document, kind, rejected string) {
	job := trainingjob.New(kind)
	if job == nil {
		t.Fatalf("no type for %s", kind)
	}
	err := yaml.UnmarshalStrict([]byte(document), job)
	var result *trainingjob.Result
	if err == nil {
		converted, findings := trainingjob.Convert(job, trainingjob.Options{})
		result, err = converted, findings.Err()
	}
	switch {
	case rejected != "" && (err == nil || !strings.Contains(err.Error(), rejected)):
		t.Fatalf("want it refused for %s, got %v", rejected, err)
	case rejected != "":
		return
	case err != nil:
		t.Fatal(err)
	}
	diff, err := compare(job, result)
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Error(diff)
	}
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }
