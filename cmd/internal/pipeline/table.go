package pipeline

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
)

// PodTable is the table of a JobSet's Pods. It generates them twice, first to measure the columns,
// and so holds one at a time. Beyond mostPodRows Pods, it has one row for each Job, because only
// their indexes differ.
type PodTable struct {
	jobSet *jobset.JobSet
	opts   render.PodsOptions
	waits  map[string]string // by Job
	wide   bool
}

var podColumns = []string{"JOB", "INDEX", "HOSTNAME", "DNS NAME", "NODE SELECTOR", "REQUESTS",
	"GPUS", "WAITS FOR"}

// mostPodRows is the largest number of Pods of a JobSet with a row each.
const mostPodRows = 1000

// podGap is the number of spaces between two columns.
const podGap = 3

// Write writes a row for every Pod and a line with the totals. The rows fit into width, if it is
// not 0. It returns the errors of w and of the Pods.
func (t PodTable) Write(w io.Writer, width int) error {
	header := podColumns
	if t.wide {
		header = append(slices.Clone(header), "IMAGES", "VOLUMES")
	}
	widths := report.Measure(nil, header)
	total := corev1.ResourceList{}
	count, err := render.CountPods(t.jobSet, t.opts)
	if err != nil {
		return err
	}
	rows := func() iter.Seq2[render.PodRange, error] { return render.PodRanges(t.jobSet, t.opts) }
	if count <= mostPodRows {
		rows = t.pods
	}
	gpus := new(big.Int)
	for r, err := range rows() {
		if err != nil {
			return err
		}
		widths = report.Measure(widths, t.row(r))
		pods := int64(r.Last-r.First) + 1
		for name, q := range render.Requests(&r.Pod.Spec) {
			sum := total[name]
			q.Mul(pods)
			sum.Add(q)
			total[name] = sum
		}
		gpus.Add(gpus, new(big.Int).Mul(big.NewInt(podGPUs(r.Pod)), big.NewInt(pods)))
	}
	report.Fit(widths, podGap, width) // nothing follows the last column
	out := bufio.NewWriter(w)
	writeRow(out, header, widths)
	for r := range rows() {
		writeRow(out, t.row(r), widths)
	}
	fmt.Fprintln(
		out, report.Line(
			fmt.Sprintf("%s/%s: %s, %s, requests %s", t.jobSet.Namespace, t.jobSet.Name,
				countOf(big.NewInt(count), "Pod"), countOf(gpus, "GPU"),
				cmp.Or(resourcesText(total), "-"))))
	return out.Flush()
}

func countOf(n *big.Int, what string) string {
	if n.IsInt64() && n.Int64() == 1 {
		return "1 " + what
	}
	return n.String() + " " + what + "s"
}

// pods yields each Pod as a range of one.
func (t PodTable) pods() iter.Seq2[render.PodRange, error] {
	return func(yield func(render.PodRange, error) bool) {
		for pod, err := range render.Pods(t.jobSet, t.opts) {
			if !yield(render.PodRange{Pod: pod}, err) {
				return
			}
		}
	}
}

func writeRow(w io.Writer, row []string, widths []int) {
	fmt.Fprintln(w, strings.TrimRight(report.Row(row, widths, podGap, nil), " "))
}

func (t PodTable) row(r render.PodRange) []string {
	pod := r.Pod
	labels := pod.Labels
	hostname, index := pod.Spec.Hostname, labels[batchv1.JobCompletionIndexAnnotation]
	if r.First < r.Last {
		first, all := "-"+strconv.Itoa(r.First), fmt.Sprintf("%d..%d", r.First, r.Last)
		if before, ok := strings.CutSuffix(hostname, first); ok {
			hostname = before + "-{" + all + "}"
		}
		if index != "" {
			index = all
		}
	}
	job := fmt.Sprintf("%s-%s-%s", t.jobSet.Name, labels[jobset.ReplicatedJobNameKey],
		labels[jobset.JobIndexKey])
	dns := ""
	if hostname != "" && pod.Spec.Subdomain != "" {
		dns = hostname + "." + pod.Spec.Subdomain
	}
	row := []string{
		job, index, hostname, dns,
		formatMap(pod.Spec.NodeSelector), resourcesText(render.Requests(&pod.Spec)),
		fmt.Sprint(podGPUs(pod)), t.waits[job],
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
		row[i] = cmp.Or(report.Printable(row[i]), "-")
	}
	row[0] = report.Line(row[0])
	return row
}

func resourcesText(list corev1.ResourceList) string {
	text := map[string]string{}
	for name, q := range list {
		text[string(name)] = q.String()
	}
	return formatMap(text)
}

// formatMap formats a map like kubectl: key=value, sorted.
func formatMap(m map[string]string) string {
	list := make([]string, 0, len(m))
	for key, value := range m {
		list = append(list, key+"="+value)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// waitsFor returns the dependencies of each Job of the JobSet.
func waitsFor(out *render.JobsOutput) map[string]string {
	waits := map[string]string{}
	for _, child := range slices.Concat(out.Jobs, out.Later) {
		var parts []string
		for _, w := range child.WaitsFor {
			parts = append(parts, w.Name+" "+strings.ToLower(string(w.Status)))
		}
		waits[child.Job.Name] = strings.Join(parts, ", ")
	}
	return waits
}

// IsDevice reports whether a resource counts accelerators. It is an extended resource with a part
// such as gpu, tpu, npu, gaudi or neuron in its name. Examples are nvidia.com/gpu,
// nvidia.com/mig-1g.5gb, gpu.intel.com/i915, google.com/tpu and aws.amazon.com/neuroncore.
func IsDevice(resource string) bool {
	domain, _, extended := strings.Cut(strings.ToLower(resource), "/")
	if !extended || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
		return false
	}
	parts := strings.FieldsFunc(strings.ToLower(resource), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return slices.ContainsFunc(parts, func(part string) bool {
		part = strings.TrimSuffix(part, "s")
		for _, end := range []string{"gpu", "tpu", "npu", "xpu"} {
			if strings.HasSuffix(part, end) {
				return true
			}
		}
		return slices.Contains(
			[]string{"mig", "gaudi", "gaudi2", "gaudi3", "neuron", "neuroncore", "neurondevice"},
			part)
	})
}

// podGPUs returns the number of accelerators that a Pod requests, of all resources.
func podGPUs(pod *corev1.Pod) int64 {
	sum := new(big.Int)
	for name, q := range render.Requests(&pod.Spec) {
		if IsDevice(string(name)) {
			sum.Add(sum, big.NewInt(q.Value()))
		}
	}
	if !sum.IsInt64() {
		return math.MaxInt64
	}
	return sum.Int64()
}

// Table is a table for a screen of some columns.
type Table interface {
	Write(w io.Writer, width int) error
}

// PodSetReport holds the Pod sets of one TrainJob.
type PodSetReport struct {
	SchemaVersion int                 `json:"schemaVersion"`
	Namespace     string              `json:"namespace" doc:"That of the TrainJob."`
	Name          string              `json:"name" doc:"That of the TrainJob."`
	PodSets       []render.PodSet     `json:"podSets" doc:"What Kueue counts, in the order of the replicated jobs."`
	Totals        corev1.ResourceList `json:"totals" doc:"The requests of all Pods."`
}

// PodSets returns the Pod sets of one TrainJob, or nil, and its findings with their positions.
func PodSets(in *workspace.Input, j workspace.Job,
	opts render.Options) (finding.List, *PodSetReport) {
	found, made := TrainJob(in, j, opts)
	if made.JobSet == nil {
		return found, nil
	}
	opts.Release = cmp.Or(opts.Release, j.Release())
	input, _ := inputOf(in, j)
	sets, err := render.PodSets(input, opts)
	own := noPodSets(err)
	for _, set := range sets {
		own = append(own, set.Findings...)
	}
	found = append(found, in.Locate(j, own)...)
	if sets == nil {
		return found, nil
	}
	return found,
		&PodSetReport{report.SchemaVersion, j.TrainJob.Namespace, j.TrainJob.Name, sets,
			render.Totals(sets)}
}

// Write writes a row for each Pod set, and a line with the totals.
func (r *PodSetReport) Write(w io.Writer, width int) error {
	rows := [][]string{{"POD SET", "PODS", "REQUESTS OF A POD", "TOPOLOGY"}}
	pods := new(big.Int)
	for _, set := range r.PodSets {
		pods.Add(pods, big.NewInt(int64(set.Count)))
		topology := ""
		if t := set.TopologyRequest; t.Required != nil {
			topology = "required " + *t.Required
		} else if t.Preferred != nil {
			topology = "preferred " + *t.Preferred
		} else if t.Unconstrained != nil {
			topology = fmt.Sprintf("unconstrained %t", *t.Unconstrained)
		}
		rows = append(
			rows, []string{set.Name, fmt.Sprint(set.Count), resourcesText(set.Requests), topology})
	}
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i] = cmp.Or(report.Printable(row[i]), "-")
		}
		widths = report.Measure(widths, row)
	}
	report.Fit(widths, podGap, width)
	out := bufio.NewWriter(w)
	for _, row := range rows {
		writeRow(out, row, widths)
	}
	fmt.Fprintln(
		out, report.Line(
			fmt.Sprintf("%s/%s: %s, requests %s", r.Namespace, r.Name, countOf(pods, "Pod"),
				cmp.Or(resourcesText(r.Totals), "-"))))
	return out.Flush()
}
