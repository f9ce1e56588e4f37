package manifest

import (
	"bytes"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// MayHoldRuntime reports whether a file may hold a runtime's source: a TrainingRuntime, a
// ClusterTrainingRuntime or a ConfigMap. It also reports claims of devices, which decide about
// objects as a runtime does. A false is certain: Decode returns no such document. A true may be
// wrong, but usual TrainJobs give a false, even if they name the kind of their runtime. It is much
// faster than Decode, for callers that need the runtimes first.
func MayHoldRuntime(data []byte) bool {
	switch {
	case bytes.Contains(data, []byte("ConfigMap")),
		bytes.Contains(data, []byte("kind: ResourceClaim")),
		bytes.Contains(data, []byte("\"ResourceClaim")):
		return true
	case bytes.Contains(data, []byte("<<")), bytes.Contains(data, []byte("!!")):
		// A merge key could take the kind from a runtimeRef, and a tag could encode it.
		return true
	case bytes.IndexByte(data, '"') >= 0 && bytes.IndexByte(data, '\\') >= 0:
		return true // an escape could spell it
	}
	for at := 0; ; {
		// ClusterTrainingRuntime ends in this name, and the Lists' kinds start with one of the two.
		i := bytes.Index(data[at:], []byte(trainer.TrainingRuntimeKind))
		if i < 0 {
			return false
		}
		if at += i; !isReference(data, at) {
			return true
		}
		at += len(trainer.TrainingRuntimeKind)
	}
}

// isReference reports whether the kind at the offset is the value of "kind" in a runtimeRef, in
// YAML's block style. Then no object has this kind. If the line that ends in "runtimeRef:" is not a
// key, only text can follow below it.
func isReference(data []byte, at int) bool {
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	end := len(data)
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		end = at + i
	}
	key, value, ok := bytes.Cut(data[start:end], []byte("kind: "))
	if !ok || len(bytes.Trim(key, " ")) > 0 {
		return false
	}
	switch string(bytes.TrimSpace(value)) {
	case trainer.TrainingRuntimeKind, trainer.ClusterTrainingRuntimeKind:
	default:
		return false
	}
	for start > 0 {
		next := start - 1
		start = bytes.LastIndexByte(data[:next], '\n') + 1
		line := data[start:next]
		text := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if len(line)-len(text) < len(key) {
			return string(bytes.TrimSpace(text)) == "runtimeRef:"
		}
	}
	return false
}
