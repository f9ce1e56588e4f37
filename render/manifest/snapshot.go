package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

const (
	snapshotSuffix = "-runtime-snapshot"
	snapshotKey    = "runtime"
)

// Snapshot returns the runtime that the Trainer saved in a ConfigMap when it first saw a TrainJob.
// The Trainer uses it for that job from then on (Trainer v2.3.0 pkg/runtime/core/snapshot.go). The
// results are the name of the TrainJob, in the ConfigMap's namespace, and a
// *trainer.TrainingRuntime or *trainer.ClusterTrainingRuntime.
//
// For a ConfigMap without the name of a snapshot, the results are empty. Like the controller,
// Snapshot ignores unknown fields, which a newer Trainer may have written. It returns an error for
// a snapshot that the controller rejects.
func Snapshot(cm *corev1.ConfigMap) (trainJob string, runtime any, err error) {
	if cm == nil {
		return "", nil, nil
	}
	trainJob, ok := strings.CutSuffix(cm.Name, snapshotSuffix)
	if !ok || trainJob == "" {
		return "", nil, nil
	}
	runtime, err = snapshot(cm)
	if err != nil {
		return trainJob, nil,
			fmt.Errorf("ConfigMap %s: .data[%q]: %w; delete the ConfigMap: the Trainer writes it "+
				"again", cm.Name, snapshotKey, err)
	}
	return trainJob, runtime, nil
}

func snapshot(cm *corev1.ConfigMap) (any, error) {
	text, ok := cm.Data[snapshotKey]
	switch {
	case !ok:
		return nil, errors.New("the key is missing")
	case len(text) > source.MaxDocument:
		return nil, source.ErrTooLarge
	}
	s := &source.Source{File: &source.File{}, Text: []byte(text), Line: 1, Column: 1}
	root, err := s.Nodes()
	var j bytes.Buffer
	r := source.NewReading(s)
	if err == nil && root != nil {
		if _, _, err = r.Tree(root); err == nil {
			err = r.Convert(&j, root)
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be parsed: %s", source.Unquoted(err.Error()))
	case root == nil || source.KindOf(root, r) != "object":
		return nil, errors.New("is not an object")
	}
	id := identityOf(r, source.Target(root))
	kind, f := recognize(identity{apiVersion: id.apiVersion, kind: id.kind}, nil)
	if kind == nil && f != nil {
		return nil, fmt.Errorf("%s; %s", f.Message, f.Remedy.Text)
	}
	if kind != nil {
		object := kind.make()
		switch object.(type) {
		case *trainer.TrainingRuntime, *trainer.ClusterTrainingRuntime:
			if err := tree.UnmarshalBounded(j.Bytes(), object,
				kjson.UnmarshalCaseSensitivePreserveInts); err != nil {
				return nil, fmt.Errorf("cannot be decoded: %s", source.Unquoted(err.Error()))
			}
			kind.name(object)
			return object, nil
		}
	}
	return nil, fmt.Errorf("is a %s of %q, not a TrainingRuntime or ClusterTrainingRuntime",
		id.kind, id.apiVersion)
}
