package policy

import (
	"path"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"
)

func (s selector) matches(job *trainer.TrainJob) bool {
	if job == nil {
		job = &trainer.TrainJob{}
	}
	return isAny(s.namespaces, job.Namespace) && isAny(s.names, job.Name) &&
		isAny(s.runtimes, job.Spec.RuntimeRef.Name) &&
		(s.labels == nil || s.labels.Matches(labels.Set(job.Labels)))
}

// isAny reports whether a name matches one of the patterns. It is true without patterns.
func isAny(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		matches, err := path.Match(pattern, name)
		return err == nil && matches
	})
}
