package render_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render"
)

// TestChildrenEqualTheCluster renders the children of every recorded JobSet. It compares them
// with the Service, Jobs, claims and Pods that a real control plane made.
func TestChildrenEqualTheCluster(t *testing.T) {
	count := tally{}
	for _, dir := range caseFolders(t, casefile.Shared(t, cluster), recordedFile) {
		compareWithCluster(t, dir, count)
	}
	count.log(t)
	for kind, total := range map[string]int{"service": 141, "jobs": 141, "pvcs": 134, "pods": 134} {
		if count[kind].total != total {
			t.Errorf("%d cases of %s were compared, want %d", count[kind].total, kind, total)
		}
	}
}

func compareWithCluster(t *testing.T, dir string, count tally) {
	text, err := os.ReadFile(filepath.Join(dir, "want/outcome.txt"))
	if err != nil {
		t.Fatal(err)
	}
	outcome := strings.Fields(string(text))[0]
	if outcome != "accepted" && outcome != "suspended" {
		return
	}
	name := filepath.Base(dir)
	recorded := readRecording(t, dir)
	js := recorded.jobSet(t)
	options := render.JobsOptions{Stored: true, JobSetUID: "UID"}
	out, err := render.Jobs(js, options)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	want := func(key string) []object { return levelAll(recorded.objects(key)) }

	var services []*corev1.Service
	if out.Service != nil {
		services = append(services, out.Service)
	}
	count.add(t, "service", name, differences(want("service"), levelAll(asObjects(t, services))))
	var jobs []*batchv1.Job
	for _, child := range out.Jobs {
		jobs = append(jobs, child.Job)
	}
	count.add(t, "jobs", name, differences(want("jobs"), levelAll(asObjects(t, jobs))))
	if outcome == "suspended" {
		return
	}
	var pods []*corev1.Pod
	claims := out.Claims
	for pod, err := range render.Pods(js, render.PodsOptions{JobsOptions: options}) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		pods = append(pods, pod)
		claims = append(claims, render.EphemeralClaims(pod, "RAND")...) // as the recorder masks it
	}
	count.add(t, "pvcs", name,
		differences(ofKind(want("others"), "PersistentVolumeClaim"),
			levelAll(asObjects(t, claims))))
	wantPods, gotPods := want("pods"), levelAll(asObjects(t, pods))
	count.add(t, "pods", name, differences(wantPods, recordable(wantPods, gotPods)))
}

// recordable returns the rendered Pods that the recorder could see. The followers of an exclusive
// leader wait for a scheduler, and it ran none.
func recordable(recorded, rendered []object) []object {
	if !slices.ContainsFunc(recorded, exclusive) {
		return rendered
	}
	var made []any
	for _, pod := range recorded {
		made = append(made, meta(pod)["generateName"])
	}
	return slices.DeleteFunc(rendered, func(pod object) bool {
		return !slices.Contains(made, meta(pod)["generateName"])
	})
}

func exclusive(pod object) bool {
	annotations, _ := meta(pod)["annotations"].(object)
	_, ok := annotations[jobset.ExclusiveKey]
	return ok
}

// TestChildrenEqualUpstreamInProcess compares with what JobSet's reconciler and Kubernetes' own Job
// code made in process. These Pods never met the JobSet's Pod webhook.
func TestChildrenEqualUpstreamInProcess(t *testing.T) {
	count := tally{}
	for _, dir := range caseFolders(t, casefile.Shared(t, probes), recordedFile) {
		if recorded := readRecording(t, dir); recorded["jobset"] != nil {
			compareInProcess(t, recorded, filepath.Base(dir), count)
		}
	}
	count.log(t)
	for kind, total := range map[string]int{"children": 175, "admitted jobs": 172, "pods": 172} {
		if count[kind].total != total {
			t.Errorf("%d cases of %s were compared, want %d", count[kind].total, kind, total)
		}
	}
}

func compareInProcess(t *testing.T, recorded recording, name string, count tally) {
	js := recorded.jobSet(t)
	if js.Spec.ManagedBy != nil && *js.Spec.ManagedBy != jobset.JobSetControllerName {
		return // upstream ignores it; this package shows what it would make, and warns
	}
	children := recorded.objects("children")
	if len(children) == 0 {
		return
	}
	out, err := render.Jobs(js, render.JobsOptions{OwnerReferences: true})
	if err != nil && len(out.Later) == 0 {
		t.Fatalf("%s: %v", name, err)
	}
	var got []any
	for _, child := range out.Jobs {
		got = append(got, child.Job)
	}
	if out.Service != nil {
		got = append(got, out.Service)
	}
	for _, claim := range out.Claims {
		got = append(got, claim)
	}
	gotObjects := asObjects(t, got)
	for _, o := range slices.Concat(children, gotObjects) {
		delete(o, "status")
		removeUnsayable(o, nil)
		removeEmpty(o)
	}
	count.add(t, "children", name, differences(children, gotObjects))
	comparePodsInProcess(t, js, recorded, name, count)
}

// comparePodsInProcess compares the Jobs as admitted, and the Pods of index 0, 1 and last, ids and
// owners included.
func comparePodsInProcess(t *testing.T, js *jobset.JobSet, recorded recording, name string,
	count tally) {
	uids := map[string]types.UID{}
	var jobs, pods []object
	for _, o := range recorded.objects("pods") {
		m := meta(o)
		if o["kind"] == "Job" {
			uids[m["name"].(string)] = types.UID(m["uid"].(string))
			jobs = append(jobs, o)
			continue
		}
		pods = append(pods, o)
	}
	if len(uids) == 0 {
		return
	}
	options := render.JobsOptions{Stored: true, OwnerReferences: true,
		JobUID: func(job string) types.UID { return uids[job] }}
	out, err := render.Jobs(js, options)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	jobSet := asObjects(t, []*jobset.JobSet{js})[0]
	templates := map[string]object{} // of the Jobs, by their name
	var gotJobs []*batchv1.Job
	for _, child := range slices.Concat(out.Jobs, out.Later) {
		gotJobs = append(gotJobs, child.Job)
	}
	got := asObjects(t, gotJobs)
	for _, o := range jobs {
		stripJobSpec(field(o, "spec"), replicatedJobSpec(jobSet, meta(o)))
		templates[meta(o)["name"].(string)] = field(o, "spec", "template", "spec")
	}
	for _, o := range slices.Concat(jobs, got) {
		delete(meta(o), "generation")
		delete(meta(o), "uid")
		delete(o, "status")
		removeUnsayable(o, nil)
		removeEmpty(o)
	}
	count.add(t, "admitted jobs", name, differences(jobs, got))

	made := map[string]float64{}
	var gotPods []object
	for pod, err := range render.Pods(js, render.PodsOptions{JobsOptions: options}) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		made[pod.Labels[batchv1.JobNameLabel]]++
		if !slices.ContainsFunc(pods, func(o object) bool {
			return meta(o)["generateName"] == pod.GenerateName
		}) {
			continue // neither the first, nor the second, nor the last
		}
		delete(pod.Labels, "jobset.sigs.k8s.io/priority")
		if exclusive := pod.Annotations[jobset.ExclusiveKey] != ""; exclusive {
			pod = pod.DeepCopy()
			pod.Spec.Affinity = nil
		}
		gotPods = append(gotPods, asObjects(t, []*corev1.Pod{pod})...)
	}
	for _, o := range pods {
		job := field(o, "metadata", "labels")[batchv1.JobNameLabel].(string)
		stripPodSpec(field(o, "spec"), templates[job])
		delete(meta(o), "generation")
		delete(meta(o), "name")
	}
	for _, o := range slices.Concat(pods, gotPods) {
		removeUnsayable(o, nil)
		removeEmpty(o)
	}
	diff := differences(pods, gotPods)
	for _, result := range recorded.objects("counts") {
		if n, ok := result["pods"].(float64); ok && n != made[result["job"].(string)] {
			diff = append(diff, "another number of Pods")
		}
	}
	count.add(t, "pods", name, diff)
}

func field(o object, path ...string) object {
	for _, key := range path {
		o, _ = o[key].(object)
	}
	return o
}

// replicatedJobSpec is the Job spec in the JobSet that a child Job was made of.
func replicatedJobSpec(jobSet object, child object) object {
	labels, _ := child["labels"].(object)
	jobs, _ := field(jobSet, "spec")["replicatedJobs"].([]any)
	for _, item := range jobs {
		if rjob := item.(object); rjob["name"] == labels[jobset.ReplicatedJobNameKey] {
			return field(rjob, "template", "spec")
		}
	}
	return nil
}
