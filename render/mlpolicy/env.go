package mlpolicy

import corev1 "k8s.io/api/core/v1"

// Env converts environment variables of a TrainJob as the controller does (Trainer v2.3.0 pkg/apply
// EnvVar). If a variable has both value and valueFrom, the controller drops the value. It keeps
// only the path of a fieldRef. It drops a fileKeyRef, which leaves an empty valueFrom.
func Env(env []corev1.EnvVar) []corev1.EnvVar {
	out := make([]corev1.EnvVar, 0, len(env))
	for _, e := range env {
		if e.ValueFrom == nil {
			out = append(out, corev1.EnvVar{Name: e.Name, Value: e.Value})
			continue
		}
		from := &corev1.EnvVarSource{
			ConfigMapKeyRef: e.ValueFrom.ConfigMapKeyRef.DeepCopy(),
			SecretKeyRef:    e.ValueFrom.SecretKeyRef.DeepCopy(),
		}
		if ref := e.ValueFrom.FieldRef; ref != nil {
			from.FieldRef = &corev1.ObjectFieldSelector{FieldPath: ref.FieldPath}
		}
		if ref := e.ValueFrom.ResourceFieldRef; ref != nil {
			from.ResourceFieldRef = ref.DeepCopy()
		}
		out = append(out, corev1.EnvVar{Name: e.Name, ValueFrom: from})
	}
	return out
}
