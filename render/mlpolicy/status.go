package mlpolicy

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/render/runtimepatch"
)

// StatusServer is the part of the controller that Pods report their progress to under the feature
// gate TrainJobStatus. The zero value is the controller of the stock manifests.
type StatusServer struct {
	// URL is the scheme, host and port; "" means the URL of the stock manifests.
	URL string
	// CA is the PEM certificate of the server's issuer: ca.crt in the controller's webhook Secret.
	// If it is empty, Companions omits the ConfigMap with the certificate.
	CA string
}

const (
	stockStatusServer = "https://kubeflow-trainer-controller-manager.kubeflow-system.svc:10443"

	statusVolume    = "kubeflow-trainer-token"
	statusMountPath = "/var/run/secrets/kubeflow/trainer"
	statusCA        = "ca.crt"
	statusToken     = "token"
)

// status gives the containers of the first trainer job a token and an address for their reports.
// Init containers get neither (Trainer v2.3.0 pkg/runtime/framework/plugins/trainjobstatus). If the
// feature gate is on, it acts in every runtime, even without a policy.
func status(j *Job) bool {
	set := j.trainerSet()
	if set == nil {
		return true
	}
	by := Writer{Layer: runtimepatch.PolicyLayer(statusName)}
	url := cmp.Or(j.StatusServer.URL, stockStatusServer)
	for i := range set.Containers() {
		c := set.In("containers", &set.Containers()[i])
		j.UpsertEnv(by, c,
			corev1.EnvVar{Name: "KUBEFLOW_TRAINER_SERVER_URL",
				Value: url + "/apis/" + j.statusResource()},
			corev1.EnvVar{Name: "KUBEFLOW_TRAINER_SERVER_CA_CERT",
				Value: statusMountPath + "/" + statusCA},
			corev1.EnvVar{Name: "KUBEFLOW_TRAINER_SERVER_TOKEN",
				Value: statusMountPath + "/" + statusToken},
		)
		j.upsertMounts(
			by, c, corev1.VolumeMount{Name: statusVolume, MountPath: statusMountPath,
				ReadOnly: true})
	}
	j.upsertVolumes(
		by, set, corev1.Volume{
			Name: statusVolume,
			VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
						Audience: j.statusResource(), ExpirationSeconds: new(int64(3600)),
						Path: statusToken,
					}},
					{ConfigMap: &corev1.ConfigMapProjection{
						LocalObjectReference: corev1.LocalObjectReference{
							Name: j.statusConfigName()},
						Items: []corev1.KeyToPath{{Key: statusCA, Path: statusCA}},
					}},
				},
			}}})
	return true
}

// statusResource returns the TrainJob's status resource. It is both the path below /apis for
// reports, and the audience of the token.
func (j *Job) statusResource() string {
	return fmt.Sprintf("trainer.kubeflow.org/v1alpha1/namespaces/%s/trainjobs/%s/status",
		j.TrainJob.Namespace, j.TrainJob.Name)
}

func (j *Job) statusConfigName() string { return j.TrainJob.Name + "-tls-config" }

// statusConfig returns the ConfigMap with the server's certificate. The controller makes it for
// every TrainJob, even without a trainer job.
func (j *Job) statusConfig() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: j.statusConfigName(), Namespace: j.TrainJob.Namespace},
		Data:       map[string]string{statusCA: j.StatusServer.CA},
	}
}
