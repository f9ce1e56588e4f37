// This file finds runtimes by the names that they had before kustomize changed them.

package fn

import (
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/resourcelist"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
)

// formerNames is the annotation in which kustomize lists the former names of an object, between
// commas.
const formerNames = "internal.config.kubernetes.io/previousNames"

// former are runtimes by their former names.
type former map[fieldpath.Object][]fieldpath.Object

// add records the former names of a runtime.
func (known former) add(id fieldpath.Object, item *resourcelist.Item) {
	for name := range strings.SplitSeq(item.Annotation(formerNames), ",") {
		was := id
		if was.Name = name; name != "" && name != id.Name && !slices.Contains(known[was], id) {
			known[was] = append(known[was], id)
		}
	}
}

// updateReference gives a TrainJob the present name of its runtime if the TrainJob refers to a
// former name that no runtime has now. This is needed because kustomize changes a reference only
// after all functions have run.
func (known former) updateReference(j workspace.Job, in *workspace.Input) {
	if len(known) == 0 || in.SourceOf(j) != nil {
		return
	}
	if now := known[render.RuntimeOf(j.TrainJob)]; len(now) == 1 {
		j.Spec.RuntimeRef.Name = now[0].Name
	}
}

// formerOf returns the former names of the runtimes among the items.
func formerOf(in *workspace.Input, items map[*manifest.Document]*resourcelist.Item) former {
	known := former{}
	for d, item := range items {
		if id := in.ID(d); workspace.IsRuntime(id) {
			known.add(id, item)
		}
	}
	return known
}
