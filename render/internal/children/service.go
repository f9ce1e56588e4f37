package children

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// Service returns the headless Service for the Pods' DNS names, or nil if they have none. If a
// Service of that name exists, the cluster keeps it unchanged.
func (f *Family) Service() *corev1.Service {
	if f.subdomain == "" {
		return nil
	}
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: f.subdomain, Namespace: f.Namespace,
			OwnerReferences: f.owner()},
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			Selector:                 map[string]string{jobset.JobSetNameKey: f.Name},
			PublishNotReadyAddresses: *f.Spec.Network.PublishNotReadyAddresses,
		},
	}
}
