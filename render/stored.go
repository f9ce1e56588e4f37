package render

import (
	corev1 "k8s.io/api/core/v1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainweld/trainweld/render/policy"
)

// defaultCompanion fills in what the API server fills in when a companion is stored: the defaults of
// Volcano's CRD and the type of a Secret. ConfigMaps and the PodGroup of scheduler-plugins have none.
func defaultCompanion(object policy.Object) {
	switch o := object.(type) {
	case *corev1.Secret:
		setDefault(&o.Type, corev1.SecretTypeOpaque)
	case *volcano.PodGroup:
		setDefault(&o.Spec.Queue, "default")
		if topology := o.Spec.NetworkTopology; topology != nil {
			setDefault(&topology.Mode, volcano.HardNetworkTopologyMode)
			setDefaultPointer(&topology.HighestTierAllowed, 1)
		}
	}
}
