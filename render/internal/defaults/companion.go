package defaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainweld/trainweld/render/mlpolicy"
)

// Companion fills in the API server's defaults for a companion. They are the defaults of Volcano's
// CRD and the type of a Secret. ConfigMaps and the PodGroup of scheduler-plugins have no defaults.
func Companion(object mlpolicy.Object) {
	switch o := object.(type) {
	case *corev1.Secret:
		Set(&o.Type, corev1.SecretTypeOpaque)
	case *unstructured.Unstructured:
		if spec, ok := o.Object["spec"].(map[string]any); ok && spec["queue"] == nil &&
			o.GetAPIVersion() == volcano.SchemeGroupVersion.String() {
			spec["queue"] = "default"
		}
	}
}
