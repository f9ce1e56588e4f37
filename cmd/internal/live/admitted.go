package live

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Admitted lets the defaults of different images look alike in a live Job and the rendered one.
// Both are results of [Plain].
func Admitted(live, rendered metav1.Object) {
	l, isJob := live.(*batchv1.Job)
	if r, isToo := rendered.(*batchv1.Job); isJob && isToo {
		pullPolicies(&l.Spec.Template.Spec, &r.Spec.Template.Spec)
	}
}

// pullPolicies lets equal pull policies of different images look alike. Plain has removed a
// default, which follows the image.
func pullPolicies(live, rendered *corev1.PodSpec) {
	policyOf := func(c corev1.Container) corev1.PullPolicy {
		c = corev1.Container{Image: c.Image, ImagePullPolicy: c.ImagePullPolicy}
		defaults().Fill(&c)
		return c.ImagePullPolicy
	}
	for _, lists := range [][2][]corev1.Container{{live.InitContainers, rendered.InitContainers},
		{live.Containers, rendered.Containers}} {
		for i := range lists[0] {
			l := &lists[0][i]
			for _, r := range lists[1] {
				if r.Name == l.Name && policyOf(r) == policyOf(*l) {
					l.ImagePullPolicy = r.ImagePullPolicy
				}
			}
		}
	}
}
