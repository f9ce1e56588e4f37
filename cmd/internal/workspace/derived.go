// This file holds the objects of a derived runtime, and the comparison with its base.

package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// Derived returns the runtime that a TrainJob's extended patches make. It also returns the TrainJob
// that refers to it, with all its other patches. It returns no runtime without extended patches.
func (in *Input) Derived(j Job) (runtime, job *unstructured.Unstructured, err error) {
	fields, err := j.Document.Fields()
	if err != nil {
		return nil, nil, err
	}
	_ = unstructured.SetNestedField(fields, j.Namespace, "metadata", "namespace")
	patches, _, _ := unstructured.NestedSlice(fields, "spec", "runtimePatches")
	for _, p := range in.patchesFor(j) {
		patch, err := tree.Fields(&p.Patch)
		if err != nil {
			return nil, nil, err
		}
		patches = append(patches, patch)
	}
	if len(patches) > 0 {
		_ = unstructured.SetNestedSlice(fields, patches, "spec", "runtimePatches")
	}
	source := in.SourceOf(j)
	if source.Base() == nil {
		return nil, &unstructured.Unstructured{Object: fields}, nil
	}
	d := source.derivation
	if err := unstructured.SetNestedMap(
		fields, map[string]any{"kind": trainer.TrainingRuntimeKind, "name": derivedName(j)}, "spec",
		"runtimeRef"); err != nil {
		return nil, nil, err
	}
	hash, err := in.hashOf(d.base.Document)
	if err != nil {
		return nil, nil, err
	}
	metadata := map[string]any{"name": derivedName(j), "namespace": j.Namespace,
		"annotations": map[string]any{
			fromAnnotation: d.base.Document.ID.Kind + "/" + d.base.Document.ID.Name,
			hashAnnotation: hash, managersAnnotation: strings.Join(source.Managers(), ","),
		}}
	if of := trainerLabels(d.fields); len(of) > 0 {
		metadata["labels"] = of
	}
	runtime = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": trainer.SchemeGroupVersion.String(), "kind": trainer.TrainingRuntimeKind,
		"metadata": metadata, "spec": kruntime.DeepCopyJSON(d.fields)["spec"],
	}}
	return runtime, &unstructured.Unstructured{Object: fields}, nil
}

// trainerLabels returns the labels of a runtime that the Trainer and its SDK read. Others may
// belong to the tool that applies it.
func trainerLabels(runtime map[string]any) map[string]any {
	all, _, _ := unstructured.NestedMap(runtime, "metadata", "labels")
	maps.DeleteFunc(all, func(key string, _ any) bool {
		return !strings.HasPrefix(key, trainer.GroupVersion.Group+"/")
	})
	return all
}

// Outdated returns a finding on a derived runtime whose base has changed or is not among the
// inputs, or nil.
func (c *Catalog) Outdated(derived *RuntimeSource) *finding.Finding {
	d := derived.Document
	if derived.from == "" || derived.Snapshot != nil {
		return nil
	}
	kind, name, _ := strings.Cut(derived.from, "/")
	of := fieldpath.Object{Kind: kind, Name: name}
	if kind == trainer.TrainingRuntimeKind {
		of.Namespace = c.flags.idOf(d).Namespace
	}
	base := c.Named(of)
	if base == nil && kind == trainer.ClusterTrainingRuntimeKind {
		c.lock.Lock()
		base = c.shipped(d.API().Release())[name]
		c.lock.Unlock()
	}
	at := fieldpath.Fields("metadata", "annotations").Append(fieldpath.Key(hashAnnotation))
	f := &finding.Finding{
		Code: codes.BaseMoved, Severity: finding.Warning, Object: c.flags.idOf(d), Path: at,
		Position: d.Position(at),
		Message:  fmt.Sprintf("Not found: its base %s", of),
		Remedy: finding.Remedy{
			Text: "run trainweld render --for=runtime again, or add the base with -r"},
	}
	if base != nil {
		if hash, err := c.hashOf(base.Document); err == nil && hash == derived.hash {
			return nil
		}
		f.Message = fmt.Sprintf("its base %s has changed since the rendering", of)
	}
	return f
}

// hashOf returns the hash of what derived runtimes take from their base, as the file has it. Many
// may have one base.
func (c *Catalog) hashOf(d *manifest.Document) (string, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if hash := c.hashes[d]; hash != "" {
		return hash, nil
	}
	fields, err := d.Content()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{trainerLabels(fields), fields["spec"]})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	c.hashes[d] = "sha256:" + hex.EncodeToString(sum[:])
	return c.hashes[d], nil
}
