package defaults

import (
	corev1 "k8s.io/api/core/v1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainweld/trainweld/render/mlpolicy"
)

// Companion fills in the API server's defaults for a companion. They are the defaults of Volcano's CRD and the type
// of a Secret. ConfigMaps and the PodGroup of scheduler-plugins have no defaults.
func Companion(object mlpolicy.Object) {
	switch o := object.(type) {
	case *corev1.Secret:
		Set(&o.Type, corev1.SecretTypeOpaque)
	case *volcano.PodGroup:
		Set(&o.Spec.Queue, "default")
		if topology := o.Spec.NetworkTopology; topology != nil {
			Set(&topology.Mode, volcano.HardNetworkTopologyMode)
			SetPointer(&topology.HighestTierAllowed, 1)
		}
	}
}
