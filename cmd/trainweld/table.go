package main

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/trainweld/internal/report"
	"github.com/trainweld/trainweld/render"
)

// podTable is the table of a JobSet's Pods. It goes over the Pods twice, once for the widths of the
// columns, and so holds one of them at a time.
type podTable struct {
	jobSet *jobset.JobSet
	opts   render.PodsOptions
	waits  map[string]string // by Job
	wide   bool
}

var podColumns = []string{"JOB", "INDEX", "HOSTNAME", "DNS NAME", "NODE SELECTOR", "REQUESTS", "GPUS", "WAITS FOR"}

// write writes the rows of every Pod and a line with the totals.
func (t podTable) write(w io.Writer) error {
	header := podColumns
	if t.wide {
		header = append(slices.Clone(header), "IMAGES", "VOLUMES")
	}
	widths := make([]int, len(header))
	measure := func(row []string) {
		for i, cell := range row {
			widths[i] = max(widths[i], report.Width(cell))
		}
	}
	measure(header)
	total := corev1.ResourceList{}
	pods, gpus := 0, int64(0)
	for pod, err := range t.pods() {
		if err != nil {
			return err
		}
		measure(t.row(pod))
		pods++
		for name, q := range requests(pod) {
			sum := total[name]
			sum.Add(q)
			total[name] = sum
		}
		gpus += podGPUs(pod)
	}
	out := bufio.NewWriter(w)
	writeRow(out, header, widths)
	for pod := range t.pods() {
		writeRow(out, t.row(pod), widths)
	}
	fmt.Fprintln(out, report.Line(fmt.Sprintf("%s/%s: %s, %s, requests %s", t.jobSet.Namespace, t.jobSet.Name,
		report.Count(pods, "Pod"), report.Count(int(gpus), "GPU"), orDash(resourcesText(total)))))
	return out.Flush()
}

func (t podTable) pods() iter.Seq2[*corev1.Pod, error] { return render.Pods(t.jobSet, t.opts) }

func writeRow(w io.Writer, row []string, widths []int) {
	var b strings.Builder
	for i, cell := range row {
		b.WriteString(cell)
		b.WriteString(strings.Repeat(" ", widths[i]-report.Width(cell)+3))
	}
	fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
}

func (t podTable) row(pod *corev1.Pod) []string {
	labels := pod.Labels
	job := fmt.Sprintf("%s-%s-%s", t.jobSet.Name, labels[jobset.ReplicatedJobNameKey], labels[jobset.JobIndexKey])
	dns := ""
	if pod.Spec.Hostname != "" && pod.Spec.Subdomain != "" {
		dns = pod.Spec.Hostname + "." + pod.Spec.Subdomain
	}
	row := []string{
		job, labels["batch.kubernetes.io/job-completion-index"], pod.Spec.Hostname, dns,
		pairs(pod.Spec.NodeSelector), resourcesText(requests(pod)), fmt.Sprint(podGPUs(pod)), t.waits[job],
	}
	if t.wide {
		var images, volumes []string
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			images = append(images, c.Image)
		}
		for _, v := range pod.Spec.Volumes {
			volumes = append(volumes, v.Name)
		}
		row = append(row, strings.Join(images, ","), strings.Join(volumes, ","))
	}
	for i := range row {
		row[i] = orDash(report.Printable(row[i]))
	}
	row[0] = report.Line(row[0])
	return row
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// requests are what the scheduler counts for the Pod. An API server copies limits that have no
// request, so they count here.
func requests(pod *corev1.Pod) corev1.ResourceList {
	counted := pod.DeepCopy()
	for _, list := range [][]corev1.Container{counted.Spec.InitContainers, counted.Spec.Containers} {
		for i := range list {
			r := &list[i].Resources
			for name, q := range r.Limits {
				if _, set := r.Requests[name]; !set {
					if r.Requests == nil {
						r.Requests = corev1.ResourceList{}
					}
					r.Requests[name] = q
				}
			}
		}
	}
	return resourcehelper.PodRequests(counted, resourcehelper.PodResourcesOptions{})
}

func podGPUs(pod *corev1.Pod) int64 {
	var n int64
	for name, q := range requests(pod) {
		if strings.Contains(strings.ToLower(string(name)), "gpu") {
			n += q.Value()
		}
	}
	return n
}

func resourcesText(list corev1.ResourceList) string {
	text := map[string]string{}
	for name, q := range list {
		text[string(name)] = quantity(q)
	}
	return pairs(text)
}

func quantity(q resource.Quantity) string { return q.String() }

// pairs writes a map as kubectl does: key=value, sorted.
func pairs(m map[string]string) string {
	list := make([]string, 0, len(m))
	for key, value := range m {
		list = append(list, key+"="+value)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// waitsFor says what each Job of the JobSet waits for.
func waitsFor(out *render.JobsOutput) map[string]string {
	waits := map[string]string{}
	for _, child := range slices.Concat(out.Jobs, out.Later) {
		waits[child.Job.Name] = waitsText(child)
	}
	return waits
}

func waitsText(child render.ChildJob) string {
	var parts []string
	for _, w := range child.WaitsFor {
		parts = append(parts, fmt.Sprintf("%s %s", w.Name, strings.ToLower(string(w.Status))))
	}
	return strings.Join(parts, ", ")
}
