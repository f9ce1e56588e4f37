package strategic

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/merge"
)

// compose holds the example of docs/library.md.
func compose(defaults *appsv1.Deployment, security appsapply.DeploymentApplyConfiguration,
	use func(result *merge.Result[appsv1.Deployment],
		web appsapply.DeploymentApplyConfiguration)) error {
	web := appsapply.DeploymentApplyConfiguration{
		Spec: appsapply.DeploymentSpec().WithReplicas(3).WithTemplate(
			coreapply.PodTemplateSpec().WithSpec(coreapply.PodSpec().WithContainers(
				coreapply.Container().WithName("server").WithImage("server:1.5"))))}
	result, err := merge.Strategic(defaults, []merge.Patch{
		{Manager: "web", Value: &web},
		{Manager: "security", Value: &security},
	})
	if err == nil {
		use(result, web)
	}
	return err
}

// TestApplyConfigurations merges client-go's apply configurations. They set what their builders
// name, and so null nothing.
func TestApplyConfigurations(t *testing.T) {
	defaults := &appsv1.Deployment{}
	defaults.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "server"}}
	defaults.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "server", Image: "server:1.4"}}
	security := appsapply.DeploymentApplyConfiguration{
		Spec: appsapply.DeploymentSpec().WithTemplate(coreapply.PodTemplateSpec().WithSpec(
			coreapply.PodSpec().WithNodeSelector(
				map[string]string{"pool": "hardened"}).WithContainers(
				coreapply.Container().WithName("proxy").WithImage("proxy:2"))))}
	err := compose(defaults, security,
		func(result *merge.Result[appsv1.Deployment], web appsapply.DeploymentApplyConfiguration) {
			if err := conflict.Find(result.History).Err(); err != nil || len(result.Notes) > 0 {
				t.Errorf("conflicts %v, nulls %v", err, result.Notes)
			}
			want, err := any(defaults), error(nil)
			for _, patch := range []any{web, security} {
				if want, err = strategicMerge(reflect.TypeFor[appsv1.Deployment](), want,
					patch); err != nil {
					t.Fatal(err)
				}
			}
			if got := string(Encode(result.Value)); got != string(Encode(want)) {
				t.Errorf("Apply = %s, want %s", got, Encode(want))
			}
		})
	if err != nil {
		t.Fatal(err)
	}
}
