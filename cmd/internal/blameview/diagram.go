package blameview

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/cmd/internal/page"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Diagram describes how a TrainJob becomes Pods.
type Diagram struct {
	Runtime  fieldpath.Object
	Managers []string // of the patches, in their order
	Jobs     []Jobs
}

// Jobs are the Jobs of one replicated job, and the Pods that each of them runs at once.
type Jobs struct {
	Name           string
	Replicas, Pods int
}

// mostJobs is the number of replicated jobs that a drawing shows.
const mostJobs = 8

// The classes of boxes without a layer.
const (
	resultClass = "result"
	podsClass   = "pods"
)

// node is a box of a drawing.
type node struct {
	class, label, detail, file string
	isDisputed                 bool
}

// diagram draws the steps from the runtime through patches and policies to Pods.
func (b *blamePage) diagram(o *pageObject) {
	b.Open("ol", page.Class("way"), page.Attr{Name: "aria-label", Value: "The way to the Pods"})
	for _, s := range b.nodes(o) {
		b.Open("li", page.Class(strings.TrimSpace("stop "+s.class)),
			page.If(s.file != o.file, attr("data-file", printable.Name(s.file))))
		b.Add("b", s.label)
		if s.detail != "" {
			b.Add("span", s.detail, page.If(s.isDisputed, page.Class("error")))
		}
		b.Close()
	}
	b.Close()
}

// nodes returns the boxes of a drawing: the layers in the order of writing, the object, and its
// Jobs.
func (b *blamePage) nodes(o *pageObject) []node {
	var nodes []node
	var managers, before, after []lineCount
	for _, of := range o.layers {
		switch _, isManager := of.layer.Manager(); {
		case isManager:
			managers = append(managers, of)
		case of.layer == runtimepatch.RuntimeLayer:
			before = append(before, of)
		default:
			after = append(after, of)
		}
	}
	slices.SortStableFunc(after, func(a, b lineCount) int {
		return writeOrder(a.layer) - writeOrder(b.layer)
	})
	way := ptr.Deref(o.Way, Diagram{})
	if way.Runtime.Name != "" && before == nil {
		before = append(before, lineCount{layer: runtimepatch.RuntimeLayer})
	}
	for _, of := range before {
		nodes = append(nodes, b.layerNode(o, of, strings.TrimSpace("runtime "+way.Runtime.Name)))
	}
	for i, of := range inOrder(managers, way.Managers) {
		name, _ := of.layer.Manager()
		nodes = append(nodes, b.layerNode(o, of, fmt.Sprintf("%d. %s", i+1, name)))
	}
	for _, of := range after {
		nodes = append(nodes, b.layerNode(o, of, string(of.layer)))
	}
	lines := len(o.Object.Lines())
	nodes = append(
		nodes, node{class: resultClass, label: o.ID.Kind + " " + o.ID.Name,
			detail: report.Count(lines, "line")})
	for i, jobs := range way.Jobs {
		if i == mostJobs {
			rest := report.Count(len(way.Jobs)-i, "more replicated job")
			nodes = append(nodes, node{class: podsClass, label: rest})
			break
		}
		nodes = append(nodes, node{
			class: podsClass, label: jobs.Name,
			detail: fmt.Sprintf("%s with %s", report.Count(jobs.Replicas, "Job"),
				report.Count(jobs.Pods, "Pod")),
		})
	}
	return nodes
}

// writeOrder returns the place of a layer in the order of writing, behind the managers.
func writeOrder(layer merge.Owner) int {
	order := []string{string(runtimepatch.TrainJobLayer), "policy", "scheduler",
		string(runtimepatch.DefaultLayer), string(runtimepatch.JobSetLayer),
		string(runtimepatch.JobLayer)}
	kind, _, _ := strings.Cut(string(layer), "/")
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}

// layerNode returns the box of a layer.
func (b *blamePage) layerNode(o *pageObject, of lineCount, label string) node {
	s := node{class: b.layers.Class(string(of.layer)), label: label,
		detail: report.Count(of.lines, "line"), isDisputed: of.disputed > 0}
	if s.isDisputed {
		s.detail += fmt.Sprintf(", %d disputed", of.disputed)
	}
	if file := o.files[of.layer]; file != "" {
		s.file = file
		s.detail += ", " + printable.Name(file[strings.LastIndexByte(file, '/')+1:])
	}
	return s
}

// inOrder returns the managers of patches in the order of the patches, and those without a line.
func inOrder(managers []lineCount, order []string) []lineCount {
	var all []lineCount
	for _, name := range order {
		layer := merge.Manager(name)
		i := slices.IndexFunc(managers, func(o lineCount) bool { return o.layer == layer })
		switch {
		case slices.ContainsFunc(all, func(o lineCount) bool { return o.layer == layer }):
		case i < 0:
			all = append(all, lineCount{layer: layer})
		default:
			all = append(all, managers[i])
		}
	}
	for _, of := range managers {
		if !slices.ContainsFunc(all, func(o lineCount) bool { return o.layer == of.layer }) {
			all = append(all, of)
		}
	}
	return all
}
