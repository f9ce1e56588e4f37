package trainjob

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/codes"
)

// mostAnnotations is the largest size of an object's annotations in bytes (Kubernetes v1.36).
const mostAnnotations = 256 << 10

// checkMetadata reports invalid labels and annotations.
func (b *builder) checkMetadata() {
	const help = "use a name, or a domain, a slash and a name, such as example.com/team"
	labels := fieldpath.Fields("metadata", "labels")
	for _, key := range slices.Sorted(maps.Keys(b.job.Labels)) {
		for _, problem := range validation.IsQualifiedName(key) {
			b.reject(codes.BadMetadata, labels.Append(fieldpath.Key(key)), help,
				"invalid label key %q: %s", key, problem)
		}
		for _, problem := range validation.IsValidLabelValue(b.job.Labels[key]) {
			b.reject(codes.BadMetadata, labels.Append(fieldpath.Key(key)),
				"use letters, digits, hyphens, dots and underscores, or an annotation",
				"invalid label value %q: %s", b.job.Labels[key], problem)
		}
	}
	annotations, size := fieldpath.Fields("metadata", "annotations"), 0
	for _, key := range slices.Sorted(maps.Keys(b.job.Annotations)) {
		for _, problem := range validation.IsQualifiedName(strings.ToLower(key)) {
			b.reject(codes.BadMetadata, annotations.Append(fieldpath.Key(key)), help,
				"invalid annotation key %q: %s", key, problem)
		}
		size += len(key) + len(b.job.Annotations[key])
	}
	if size > mostAnnotations {
		b.reject(codes.BadMetadata, annotations, "keep long values elsewhere",
			"the annotations have %d bytes: must have at most %d", size, mostAnnotations)
	}
}

// checkTrainer checks the rules of the SDK's trainers and of the TrainJob's definition.
func (b *builder) checkTrainer() {
	t := b.job.Spec.Trainer
	if t == nil {
		return
	}
	at := fieldpath.Fields("spec", "trainer")
	if t.Image != nil {
		switch n := len(*t.Image); {
		case n == 0:
			b.reject(codes.BadValue, at.Append(fieldpath.Field("image")),
				"set an image, or remove the field", "the image is empty")
		case n > longestImage:
			b.reject(codes.BadValue, at.Append(fieldpath.Field("image")), "use a shorter one",
				"the image has %d characters: must have at most %d", n, longestImage)
		}
	}
	b.checkWords(at.Append(fieldpath.Field("command")), t.Command)
	b.checkWords(at.Append(fieldpath.Field("args")), t.Args)
	if t.NumNodes != nil && *t.NumNodes < 1 {
		b.reject(codes.BadValue, at.Append(fieldpath.Field("numNodes")),
			"use 1 or more, or remove the field",
			"invalid value %d: must be at least 1", *t.NumNodes)
	}
	list := at.Append(fieldpath.Field("env"))
	if len(t.Env) > mostVariables {
		b.reject(codes.BadValue, list, "keep the values in a ConfigMap, and mount it",
			"there are %d variables: must be at most %d", len(t.Env), mostVariables)
	}
	seen := map[string]bool{}
	for i, v := range t.Env {
		item := list.Append(fieldpath.Item("name", v.Name))
		if v.Name == "" {
			b.reject(codes.EnvWithoutName, list.Append(fieldpath.Index(i)), "name it",
				"a variable has no name")
			continue
		}
		for _, problem := range validation.IsRelaxedEnvVarName(v.Name) {
			b.reject(codes.Env, item, "name it as shells do, such as NCCL_DEBUG",
				"invalid name %q: %s", v.Name, problem)
		}
		if seen[v.Name] {
			b.reject(codes.DuplicateItem, item, "set it once", "duplicate variable %s", v.Name)
		}
		seen[v.Name] = true
		if v.ValueFrom != nil && !known(v.ValueFrom) {
			b.reject(codes.Env, item.Append(fieldpath.Field("valueFrom")), sourcesHelp(),
				"the variable %s has a source that the SDK lacks", v.Name)
		}
	}
}

func (b *builder) checkWords(path fieldpath.Path, words []string) {
	if len(words) > mostWords {
		b.reject(codes.BadValue, path, "put them into a script",
			"there are %d words: must be at most %d", len(words), mostWords)
	}
	for i, word := range words {
		if len(word) > longestWord {
			b.reject(codes.BadValue, path.Append(fieldpath.Index(i)), "put it into a file",
				"the word has %d bytes: must have at most %d", len(word), longestWord)
		}
	}
}

// KnownSources returns the members of a variable's valueFrom that the SDK supports. The SDK does
// not know fileKeyRef, and the Trainer's controller would lose it.
func KnownSources() []string {
	return []string{"configMapKeyRef", "secretKeyRef", "fieldRef", "resourceFieldRef"}
}

func known(s *corev1.EnvVarSource) bool {
	return s.ConfigMapKeyRef != nil || s.SecretKeyRef != nil || s.FieldRef != nil ||
		s.ResourceFieldRef != nil
}

func sourcesHelp() string {
	sources := KnownSources()
	last := len(sources) - 1
	return "use one of " + strings.Join(sources[:last], ", ") + " and " + sources[last]
}
