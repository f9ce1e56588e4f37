package schema

import trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

// CheckBySchema is Check without the look that spares most inputs the walk by the schema.
func CheckBySchema(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) Findings {
	c := checker{}
	c.template(template)
	c.object.Kind = TrainJobKind
	c.managers(patches)
	for i := range patches {
		c.patch(template, patches, i)
	}
	return c.findings
}

// AreClean tells whether Check has nothing to walk.
func AreClean(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) bool {
	clean := isCleanTemplate(&template.Spec)
	for i := range patches {
		clean = clean && isCleanPatch(&template.Spec, &patches[i])
	}
	return clean
}
