package render

import (
	"regexp"
	"strings"
	"sync"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/patched"
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
	check := func(image string, path fieldpath.Path) {
		if f := unpullable(image); f != nil {
			f.Object = fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name}
			f.Path = path
			found = append(found, *f)
		}
	}
	jobs := js.Spec.ReplicatedJobs
	for i := range jobs {
		for c := range patched.Containers(jobs[i : i+1]) {
			check(c.Image, c.Path().Append(fieldpath.Field("image")))
		}
		for _, v := range jobs[i].Template.Spec.Template.Spec.Volumes {
			if v.Image != nil {
				check(v.Image.Reference, fieldpath.Fields("spec", "replicatedJobs").
					Append(fieldpath.Item("name", jobs[i].Name)).
					Append(fieldpath.Fields("template", "spec", "template", "spec", "volumes")...).
					Append(fieldpath.Item("name", v.Name)).
					Append(fieldpath.Fields("image", "reference")...))
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
