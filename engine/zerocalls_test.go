package engine_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/internal/testenv"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		engine.For[corev1.Pod, corev1.Pod], engine.ForObject, engine.ForJSON, engine.ForType, engine.ForAny, engine.FieldsV1Paths, engine.Manager, engine.SameValue,
		new(engine.Plan[corev1.Pod, corev1.Pod]), new(engine.Ownership), new(engine.PatchError), new(engine.PatchedField), new(engine.FieldsV1Error),
		new(engine.Layer), new(engine.Presence),
	)
}
