package check

import (
	"context"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/objectmerge"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/manifest"
)

// furtherKinds are the kinds that --crd defines, by their apiVersion and kind.
type furtherKinds map[[2]string]*furtherKind

type furtherKind struct {
	kind       *admission.Kind
	definition objectmerge.Definition
	unusable   sync.Once // reports an invalid definition once
}

// readFurther reads the definitions of --crd, and returns the flags that read their kinds. The
// kinds of the Trainer and of JobSet keep the definitions of the release.
func readFurther(p *host.Program, flags checkFlags) (checkFlags, *workspace.Input, finding.List) {
	in := workspace.New(flags.Flags)
	definitions, found := objectmerge.ReadDefinitions(p, in, flags.definitions)
	flags.further = furtherKinds{}
	for _, d := range definitions {
		if d.Group == trainer.GroupVersion.Group || d.Group == jobset.SchemeGroupVersion.Group {
			continue
		}
		kinds, err := admission.Kinds(d.Fields)
		if err != nil {
			found = append(found, d.Unusable(err)...)
		}
		for _, k := range kinds {
			flags.further[[2]string{k.Group + "/" + k.Version, k.Kind}] = &furtherKind{
				kind: k, definition: d}
			flags.Kinds = append(
				flags.Kinds, manifest.Kind{Group: k.Group, Version: k.Version, Kind: k.Kind,
					New: func() any { return new(merge.Object) }})
		}
	}
	return flags, in, found
}

// furtherKind returns the kind of a document that --crd defines, or nil.
func (j *runner) furtherKind(d *manifest.Document) *furtherKind {
	return j.flags.further[[2]string{d.APIVersion, d.ID.Kind}]
}

// unscoped removes the namespace of objects that have none. Decoding knows the scope of no further
// kind.
func (kinds furtherKinds) unscoped(found finding.List) finding.List {
	clusterScoped := map[string]bool{}
	for _, k := range kinds {
		clusterScoped[k.kind.Kind] = !k.kind.Namespaced
	}
	for i := range found {
		if clusterScoped[found[i].Object.Kind] {
			found[i].Object.Namespace = ""
		}
	}
	return found
}

// furtherObject judges an object of such a kind.
func (j *runner) furtherObject(ctx context.Context, k *furtherKind,
	d *manifest.Document) finding.List {
	defer d.Release()
	fields, err := d.ReadFields()
	if err != nil {
		return nil // decoding has reported the error
	}
	found, err := k.kind.Admit(ctx, fields, j.flags.NamespaceOf(""))
	if err != nil {
		k.unusable.Do(func() { found = k.definition.Unusable(err) })
		return found
	}
	for i := range found {
		found[i].Position = d.Position(found[i].Path)
	}
	further := d.Report()
	further.Add(found...)
	return j.in.Rate(further.List())
}
