package blame

import (
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/blameview"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
)

// atomicAncestors returns the fields that are owned as one value and contain the field at a path.
func atomicAncestors(b blameview.Blamed, path fieldpath.Path) []*blame.Field {
	for n := len(path) - 1; n > 0; n-- {
		found, err := b.Object.Find(path[:n].String())
		if err != nil {
			continue
		}
		object, err := b.Document.Fields()
		if err != nil {
			return nil
		}
		m := blameview.Managed{Object: object}
		if slices.ContainsFunc(found, func(f *blame.Field) bool { return !m.IsWhole(f) }) {
			return nil
		}
		return found
	}
	return nil
}

// withoutManaged returns an error for flags that affect TrainJobs only.
func (flags blameFlags) withoutManaged() error {
	for _, f := range []struct {
		flag string
		set  bool
	}{
		{"--runtimes", flags.Runtimes != nil}, {"--patch", flags.Patches != nil},
		{"--namespace", flags.Namespace != ""},
		{"--to", flags.To != "jobset"}, {"--for", flags.For != option.ForReview},
		{"--as", flags.As != "applied"}, {"--on-conflict", flags.OnConflict != "last"},
		{"--force-manager", flags.Force != nil},
		{"--feature-gates", flags.FeatureGates != (render.FeatureGates{})},
		{"--job", flags.Children.IsSet()},
		{"--show-origin", flags.view.ShowOrigin}, {"--show-values", flags.ShowValues},
	} {
		if f.set {
			return fmt.Errorf(
				"%s has no effect on managed fields, and no TrainJob in the inputs: remove it",
				f.flag)
		}
	}
	return nil
}

// managedDocuments returns the objects of -f outside the Trainer's API, and its runtimes with
// managed fields. It returns none if the inputs hold a TrainJob, or if the command line selects
// TrainJobs. The result live reports whether an object has managed fields.
func managedDocuments(in *workspace.Input,
	selected bool) (documents []*manifest.Document, live bool) {
	if selected {
		return nil, false
	}
	for _, text := range in.Files {
		if slices.ContainsFunc(text.Documents, func(d *manifest.Document) bool {
			return workspace.IsTrainer(d) && d.ID.Kind == trainer.TrainJobKind
		}) {
			return nil, false
		}
	}
	for _, text := range in.Files {
		for i, d := range decodeAll(text) {
			if workspace.IsTrainer(d) && !d.Has(blameview.ManagedFields) {
				continue
			}
			if d != text.Documents[i] {
				in.Findings = append(in.Findings, d.Findings...)
			}
			has := d.Has(blameview.ManagedFields)
			if d.Broken {
				if _, err := d.Fields(); err != nil || !has {
					continue // a finding says why
				}
			}
			documents, live = append(documents, d), live || has
		}
	}
	return documents, live
}

// decodeAll decodes a file again, including objects of other kinds.
func decodeAll(t workspace.File) []*manifest.Document {
	var kinds []manifest.Kind
	seen := map[[2]string]bool{}
	for _, d := range t.Documents {
		of := [2]string{d.APIVersion, d.ID.Kind}
		if d.Object != nil || d.Broken || workspace.IsTrainer(d) || seen[of] {
			continue
		}
		seen[of] = true
		group, version := resid.ParseGroupVersion(d.APIVersion)
		kinds = append(kinds, manifest.Kind{Group: group, Version: version, Kind: d.ID.Kind,
			New: func() any { return new(blameview.AnyObject) }})
	}
	documents := slices.Clone(t.Documents)
	again, _ := manifest.DecodeKinds(t.Name, t.Data, kinds)
	for i, d := range again {
		if _, ok := d.Object.(*blameview.AnyObject); (ok || d.Broken) && i < len(documents) &&
			documents[i].ID == d.ID && documents[i].Object == nil {
			documents[i] = d
		}
	}
	return documents
}

// blameManaged blames the managed fields of objects.
func blameManaged(documents []*manifest.Document) ([]blameview.Blamed, finding.List, error) {
	var objects []blameview.Blamed
	var findings finding.List
	remaining := blameview.MaxManaged
	for _, d := range documents {
		m, ok := blameview.ReadManaged(d, &remaining)
		if ok {
			o, err := blame.New(struct{}{}, nil, m.History(), blame.Options{})
			if err != nil {
				return nil, nil, err
			}
			objects = append(
				objects, blameview.Blamed{ID: d.ID, Object: o, Document: d, Entries: m.Entries})
		}
		findings = append(findings, m.Findings...)
		d.Release()
		if remaining < 0 {
			break
		}
	}
	return objects, findings, nil
}
