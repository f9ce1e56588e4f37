package main

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
)

// childFlags select among the Jobs and Pods of --to=jobs and --to=pods.
type childFlags struct {
	job        string
	index      string
	allIndexes bool
	jobSetUID  string
	explain    bool
	maxPods    podLimit
}

// podLimit is how many Pods a run may have, as a flag. Where the flag does not exist, it is 0 for render.MaxPods.
type podLimit int64

func (l *podLimit) count() int64 { return cmp.Or(int64(*l), render.MaxPods) }

func (l *podLimit) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && n < 1 {
		err = strconv.ErrRange
	}
	*l = podLimit(n)
	return err
}

func (l *podLimit) String() string { return strconv.FormatInt(l.count(), 10) }

func (*podLimit) Type() string { return "int" }

func (c *childFlags) add(f *pflag.FlagSet) {
	f.StringVar(&c.job, "job", "", "with --to=pods: only the Pods of this Job, or of this replicated job")
	f.StringVar(&c.index, "index", "", "with --to=pods: only the Pods of this completion index, or of these: N or N..M")
	f.BoolVar(&c.allIndexes, "all-indexes", false, "with --to=pods: also the Pods that a Job creates only as others finish")
	f.BoolVar(&c.explain, "explain", false, "with --to=jobs: say in a comment before each Job what it waits for")
	f.Var(&c.maxPods, "max-pods", "with --to=pods: refuse a run of more Pods")
	f.StringVar(&c.jobSetUID, "jobset-uid", "", "the uid of the JobSet, for the labels that carry it")
}

// check refuses flags that would have no effect on what is made.
func (c *childFlags) check(to, format string, jobs bool) error {
	for _, f := range []struct {
		flag string
		set  bool
		with []string
	}{
		{"--job", c.job != "" && jobs, []string{"jobs", "pods"}},
		{"--job", c.job != "" && !jobs, []string{"pods"}},
		{"--index", c.index != "", []string{"pods"}},
		{"--all-indexes", c.allIndexes, []string{"pods"}},
		{"--jobset-uid", c.jobSetUID != "", []string{"jobs", "pods"}},
		{"--max-pods", c.maxPods.count() != render.MaxPods, []string{"pods"}},
		{"--explain", c.explain, []string{"jobs"}},
	} {
		if f.set && !slices.Contains(f.with, to) {
			return fmt.Errorf("%s has no effect on --to=%s: add --to=%s, or leave it out", f.flag, to, strings.Join(f.with, " or --to="))
		}
	}
	if c.explain && format != "yaml" {
		return fmt.Errorf("--explain writes comments, and -o %s has none: leave one of the two out", format)
	}
	return nil
}

// options are the library's options for Pods, and so for Jobs.
func (c *childFlags) options(view render.View, owners bool) (render.PodsOptions, error) {
	opts := render.PodsOptions{
		JobsOptions: render.JobsOptions{
			Stored: view == render.Stored, JobSetUID: types.UID(c.jobSetUID), OwnerReferences: owners,
		},
		Job: c.job, AllIndexes: c.allIndexes,
	}
	if c.index == "" {
		return opts, nil
	}
	first, last, isRange := strings.Cut(c.index, "..")
	if !isRange {
		last = first
	}
	r := &render.IndexRange{}
	var errFirst, errLast error
	r.First, errFirst = strconv.Atoi(first)
	r.Last, errLast = strconv.Atoi(last)
	if errFirst != nil || errLast != nil || r.First < 0 || r.Last < r.First {
		return opts, fmt.Errorf("--index: %q is neither a number nor a range such as 0..7", c.index)
	}
	opts.Indexes = r
	return opts, nil
}

// family is what the controllers make of one JobSet, as it was asked for.
type family struct {
	findings finding.List
	objects  iter.Seq2[any, error]
	table    podTable
	pods     int64 // how many are made, to be written or for their claims
}

// children are the Jobs or the Pods of a JobSet as a stream, and what there is to say about them.
// Errors come as findings, and there is then no stream.
func children(js *jobset.JobSet, companions []runtime.Object, flags renderFlags, opts render.PodsOptions) family {
	opts.Companions = companions
	out, err := render.Jobs(js, opts.JobsOptions)
	if out == nil {
		return family{findings: finding.List{{Code: finding.CodeNoName, Severity: finding.Error, Message: err.Error(), Remedy: finding.Remedy{Text: "name the JobSet"}}}}
	}
	f := family{findings: out.Findings}
	if err != nil {
		return f
	}
	f.table = podTable{jobSet: js, opts: opts, waits: waitsFor(out), wide: flags.format == wideFormat}
	if flags.to == "pods" || opts.Stored && render.HasEphemeralVolumes(js) {
		if f.pods, err = render.CountPods(js, opts); err != nil {
			f.pods = 0 // the stream says why
		}
		if flags.asTable() {
			f.pods = 0 // it counts Pods that are alike
		}
		if found := render.TooManyPods(fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name}, f.pods, flags.children.maxPods.count()); found != nil {
			f.findings, f.pods = append(f.findings, found...), 0
			return f
		}
	}
	if flags.to == "pods" {
		f.objects = func(yield func(any, error) bool) {
			for pod, err := range render.Pods(js, opts) {
				if !yield(pod, err) {
					return
				}
			}
		}
		return f
	}
	var objects []any
	for _, child := range out.Jobs {
		objects = append(objects, explained(child, flags.children.explain))
	}
	if out.Service != nil {
		objects = append(objects, out.Service)
	}
	for _, claim := range out.Claims {
		objects = append(objects, claim)
	}
	if opts.Stored && f.pods > 0 {
		claims, found := ephemeralClaims(js, opts)
		objects = append(objects, claims...)
		f.findings = append(f.findings, found...)
	}
	f.objects = each(objects)
	return f
}

// explained is the Job, with a comment on what it waits for where that is asked for.
func explained(child render.ChildJob, explain bool) any {
	if !explain {
		return child.Job
	}
	text := "waits for nothing"
	if w := waitsText(child); w != "" {
		text = "waits for " + w
	}
	return commented{child.Job, text}
}

// randomSuffix stands for the suffix that a cluster gives to a Pod's name, and that nobody else can
// know. It is no valid name on purpose: an object that carries it cannot be applied by mistake.
const randomSuffix = "RAND"

// ephemeralClaims are the claims that the cluster makes of the Pods' ephemeral volumes. They belong to
// what is stored, though no controller of this chain applies them.
func ephemeralClaims(js *jobset.JobSet, opts render.PodsOptions) ([]any, finding.List) {
	var claims []any
	for pod, err := range render.Pods(js, opts) {
		if err != nil {
			break // Jobs has reported it
		}
		for _, claim := range render.EphemeralClaims(pod, randomSuffix) {
			claims = append(claims, claim)
		}
	}
	if claims == nil {
		return nil, nil
	}
	return claims, finding.List{{
		Code: finding.CodeRandomName, Severity: finding.Note, Object: fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name},
		Path:    fieldpath.Fields("spec", "replicatedJobs"),
		Message: fmt.Sprintf("claims of ephemeral volumes are named after their Pods; %s stands for the suffix that only the cluster knows", randomSuffix),
	}}
}
