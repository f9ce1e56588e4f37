package render

import (
	"regexp"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/schema"
)

// placeholder matches an image that another program still has to write: a variable of a shell, of
// Flux or of Tekton, an action of a template, or a program that ko builds.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_]|\{\{.*\}\}|^ko://`)
})

// Images returns an error for each image of a JobSet that no kubelet can pull, since its name does
// not parse. The API server accepts such an image. An image with a placeholder is a note. Images
// skips a missing image, and one with a space at an end: the Pod API rejects them. A finding has
// the last claim on its image if the owners are not nil.
func Images(js *jobset.JobSet, owners *merge.History) finding.List {
	var found finding.List
	for i := range js.Spec.ReplicatedJobs {
		job := &js.Spec.ReplicatedJobs[i]
		pod := &job.Template.Spec.Template.Spec
		at := fieldpath.Fields("spec", "replicatedJobs").
			Append(fieldpath.Item("name", job.Name)).
			Append(fieldpath.Fields("template", "spec", "template", "spec")...)
		check := func(image string, path fieldpath.Path) {
			if f := unpullable(image); f != nil {
				f.Object = fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name}
				f.Path = path
				found = append(found, *f)
			}
		}
		containers := func(list string, all []corev1.Container) {
			for i := range all {
				item := at.Append(fieldpath.Field(list), fieldpath.Item("name", all[i].Name))
				check(all[i].Image, item.Append(fieldpath.Field("image")))
			}
		}
		containers("initContainers", pod.InitContainers)
		containers("containers", pod.Containers)
		for i := range pod.Volumes {
			if v := &pod.Volumes[i]; v.Image != nil {
				item := at.Append(fieldpath.Field("volumes"), fieldpath.Item("name", v.Name))
				check(v.Image.Reference, item.Append(fieldpath.Fields("image", "reference")...))
			}
		}
	}
	if found == nil || owners == nil {
		return found
	}
	last := map[string]merge.Claim{}
	for path, claims := range owners.All() {
		if len(claims) > 0 {
			last[path.String()] = claims[len(claims)-1]
		}
	}
	for i := range found {
		if claim, ok := last[found[i].Path.String()]; ok {
			found[i].Claims = []merge.Claim{claim}
		}
	}
	return found
}

// unpullable returns a finding on an image whose name does not parse, or nil.
func unpullable(image string) *finding.Finding {
	if image == "" || image != strings.TrimSpace(image) {
		return nil
	}
	_, err := schema.ParseImage(image)
	if err == nil {
		return nil
	}
	f := &finding.Finding{
		Code: codes.ImageName, Severity: finding.Error, Message: "InvalidImageName: " + err.Error(),
		Remedy: finding.Remedy{Text: "use a name such as registry.example.com/team/image:1.0"},
	}
	scheme, _, isURL := strings.Cut(image, "://")
	_, errLower := schema.ParseImage(strings.ToLower(image))
	switch {
	case placeholder().MatchString(image):
		f.Severity = finding.Note
		f.Message = "the image is a placeholder: no kubelet can pull it before another program " +
			"replaces it"
		f.Remedy.Text = "check the objects after the replacement"
	case isURL:
		f.Remedy.Text = "remove " + scheme + "://"
	case errLower == nil:
		f.Remedy.Text = "write the name in lower case"
	}
	return f
}
